"""open_clip's models: an architecture with published weights, with a weights file, or a saved folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from core.base.errors import InputError, unknown_name
from core.base.paths import is_folder
from core.scorers._cropping import Cropping
from core.scorers._input_loading import Vision
from core.scorers._model_io import key_while_unchanged, load_errors, replaced_files
from core.scorers.contrastive import ContrastiveModel
from core.scorers.devices import pick_device
from core.scorers.hub import snapshot
from core.scorers.lora import merged_state
from core.scorers.model_folder import (
    OPEN_CLIP_WEIGHTS,
    TOKENIZER_FILES,
    files_key,
    model_files,
    read_config,
)


class OpenClipModel(ContrastiveModel):
    """Any open_clip model with `encode_image`, `encode_text` and `logit_scale`."""

    def __init__(
        self,
        name: str,
        module: Any,
        tokenizer: Any,
        config: dict[str, Any],
        device: torch.device,
        key: Callable[[], str | None],
    ) -> None:
        """`config` : the model's own configuration, `model_cfg` of an open_clip_config.json."""
        import open_clip
        from open_clip.transform import PreprocessCfg, image_transform_v2

        super().__init__(name, module, device, key)
        self.config = config
        self.tokenizer = tokenizer
        self.context = tokenizer.context_length or module.context_length
        size = module.visual.image_size
        self.side = max(size) if isinstance(size, list | tuple) else size
        self._transform = image_transform_v2(PreprocessCfg(**module.visual.preprocess_cfg), is_train=False)
        # Only this class keeps its text tower in the open; its subclasses and the other classes pad to the context.
        self._causal = type(module) is open_clip.CLIP and module.attn_mask is not None
        self._causal = self._causal and module.text_pool_type in ("argmax", "eos")
        self._pooled_at_end = self._causal and module.text_pool_type == "eos"
        self._end = int(getattr(module, "text_eos_id", 0))

    def _preprocess(self, images: list[Image.Image]) -> Vision:
        return {"pixel_values": torch.stack([self._transform(image) for image in images])}

    def _cropping(self, factor: float) -> Cropping:
        from open_clip.transform import PreprocessCfg, image_transform_v2
        from torchvision.transforms.functional import pil_to_tensor

        settings = PreprocessCfg(**self.module.visual.preprocess_cfg)
        crop = (settings.size, settings.size) if isinstance(settings.size, int) else tuple(settings.size)
        larger = tuple(int(side * factor) for side in crop)
        steps = image_transform_v2(replace(settings, size=larger), is_train=False).transforms
        # What pads to a square belongs to the resizing; a centre crop does not.
        steps = steps[: 2 if settings.resize_mode == "longest" else 1]

        def resize(pictures: list[Image.Image]) -> list[torch.Tensor]:
            return [pil_to_tensor(reduce(lambda image, step: step(image), steps, p)) for p in pictures]

        def normalise(crops: torch.Tensor) -> torch.Tensor:
            return self._transform.transforms[-1](crops.float() / 255)

        return Cropping(self.side, max(larger), crop, resize, normalise)

    def _tokenize(self, captions: list[str]) -> torch.Tensor:
        return self.tokenizer(captions)

    def _token_count(self, caption: str) -> int:
        if hasattr(self.tokenizer, "encode"):
            return len(self.tokenizer.encode(caption)) + 2  # begin and end
        return len(self.tokenizer.tokenizer(caption, verbose=False)["input_ids"])

    def _lengths(self, ids: torch.Tensor) -> torch.Tensor:
        if not self._causal:
            return torch.full((len(ids),), ids.shape[1])
        # As open_clip pools: at the highest id, or at the first end token; attention is causal.
        places = torch.eq(ids, self._end).int() if self._pooled_at_end else ids
        return places.argmax(dim=1) + 1

    def _embed_images(self, inputs: Vision) -> torch.Tensor:
        return self.module.encode_image(inputs["pixel_values"])

    def _embed_captions(self, ids: torch.Tensor) -> torch.Tensor:
        if not self._causal:
            return self.module.encode_text(ids)
        return _encode_trimmed(self.module, ids)

    def save(self, folder: Path) -> None:
        """Write open_clip_config.json, open_clip_model.safetensors and a tokenizer that is not open_clip's own."""
        from safetensors.torch import save_file

        with replaced_files(folder) as staging:
            if hasattr(self.tokenizer, "save_pretrained"):
                self.tokenizer.save_pretrained(staging)
            weights = {name: tensor.contiguous().cpu() for name, tensor in merged_state(self.module).items()}
            save_file(weights, staging / OPEN_CLIP_WEIGHTS[0])
            names = ("mean", "std", "interpolation", "resize_mode", "fill_color")
            preprocessing = {name: self.module.visual.preprocess_cfg[name] for name in names}
            settings = {"model_cfg": self.config, "preprocess_cfg": preprocessing}
            (staging / "open_clip_config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")


def _encode_trimmed(module: Any, ids: torch.Tensor) -> torch.Tensor:
    """`open_clip.CLIP.encode_text` for captions that are not padded to the context, which it insists on."""
    from open_clip.transformer import text_global_pool

    length = ids.shape[1]
    x = module.token_embedding(ids) + module.positional_embedding[:length]  # (b, length, width)
    x = module.transformer(x, attn_mask=module.attn_mask[:length, :length])
    x = text_global_pool(module.ln_final(x), ids, module.text_pool_type, eos_token_id=module.text_eos_id)
    if module.text_projection is None:
        return x
    linear = isinstance(module.text_projection, torch.nn.Linear)
    return module.text_projection(x) if linear else x @ module.text_projection


def load(name: str, source: str, device: str = "auto", kind: str | None = None) -> OpenClipModel:
    """An open_clip model.

    source : a folder with open_clip_config.json, or `ARCHITECTURE/PRETRAINED`, where PRETRAINED is a tag that open_clip
    lists for the architecture or the path of a safetensors file.
    Raises InputError, in one sentence, for everything that cannot be loaded.
    """
    target = pick_device(device)
    folder = Path(source).expanduser()
    if is_folder(folder):
        return _from_folder(name, folder, target)
    architecture, _, pretrained = source.partition("/")
    return _from_architecture(name, architecture, pretrained, target)


def _from_folder(name: str, folder: Path, device: torch.device) -> OpenClipModel:
    config = read_config(folder, "open_clip_config.json").get("model_cfg")
    if not isinstance(config, dict):
        raise InputError(f"{folder / 'open_clip_config.json'} has no model_cfg; fetch the model again.")
    # open_clip itself would go on to pickles where neither is there.
    if not any((folder / weights).is_file() for weights in OPEN_CLIP_WEIGHTS):
        raise InputError(
            f"{folder} has no {OPEN_CLIP_WEIGHTS[0]}; other weight files are never loaded, because they can run "
            "code: fetch the model again or convert its weights."
        )
    key = key_while_unchanged(model_files(folder))
    with load_errors(folder):
        import open_clip

        module = open_clip.create_model(f"local-dir:{folder}", precision="fp32", require_pretrained=True)
        tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
        return OpenClipModel(name, module, tokenizer, config, device, key)


def _from_architecture(name: str, architecture: str, pretrained: str, device: torch.device) -> OpenClipModel:
    import open_clip
    from open_clip.pretrained import get_pretrained_cfg

    config = open_clip.get_model_config(architecture) if architecture else None
    if config is None:
        raise unknown_name("open_clip architecture", architecture, open_clip.list_models())
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if not pretrained:
        raise InputError(
            f"{name!r} names no weights; write open_clip:{architecture}/PRETRAINED with a safetensors file or one of "
            f"{', '.join(tags[:5]) or 'your own files'}."
        )
    published = get_pretrained_cfg(architecture, pretrained)
    weights = (
        _published_weights(name, published) if published else _weights_file(pretrained, tags, architecture)
    )
    # Given a file, open_clip forgets what goes with a tag: its preprocessing and its activation function.
    settings = {k: published[k] for k in ("mean", "std", "interpolation", "resize_mode") if k in published}
    quick = bool(published.get("quick_gelu")) or bool(config.get("quick_gelu"))
    with load_errors(weights):
        module = open_clip.create_model(
            architecture,
            pretrained=str(weights),
            precision="fp32",
            force_quick_gelu=quick,
            force_preprocess_cfg=settings,
        )
        tokenizer = tokenizer_of(architecture, config["text_cfg"])
        config["quick_gelu"] = quick
        preprocessing = json.dumps([architecture, config, module.visual.preprocess_cfg], sort_keys=True)
        key = key_while_unchanged([weights], partial(files_key, settings=preprocessing))
        return OpenClipModel(name, module, tokenizer, config, device, key)


def _weights_file(path: str, tags: list[str], architecture: str) -> Path:
    file = Path(path).expanduser()
    if not file.is_file():
        raise unknown_name(f"file or pretrained tag of {architecture}", path, tags)
    if file.suffix != ".safetensors":
        raise InputError(
            f"{file} is not a safetensors file; others are never loaded, because they can run code."
        )
    return file


def _published_weights(name: str, published: dict[str, Any]) -> Path:
    """The safetensors file of a tag, fetched from the hub if need be."""
    repository, _, file = str(published.get("hf_hub", "")).rpartition("/")
    names = [str(Path(file).with_suffix(".safetensors"))] if file else list(OPEN_CLIP_WEIGHTS)
    if repository:
        folder = snapshot(repository, names, "*.safetensors")
        for path in (folder / w for w in names):
            if path.is_file():
                return path
    raise InputError(
        f"The weights of {name!r} are published only in a format that can run code, which is never loaded; choose "
        "another tag, or fetch them yourself and convert them with `crossmatch convert FILE --arch ARCHITECTURE`."
    )


def tokenizer_of(architecture: str, text: dict[str, Any]) -> Any:
    """The architecture's tokenizer; one from the hub comes by way of the hub's cache, so that it never hangs."""
    import open_clip
    from open_clip.tokenizer import HFTokenizer

    repository = text.get("hf_tokenizer_name")
    if not repository:
        return open_clip.get_tokenizer(architecture)
    return HFTokenizer(
        str(snapshot(repository, TOKENIZER_FILES, "*")),
        context_length=text.get("context_length", 77),
        tokenizer_mode=text.get("tokenizer_mode"),
        **deepcopy(text.get("tokenizer_kwargs") or {}),
    )
