"""A paper's checkpoint as a model folder of open_clip, and the activation function that goes with its weights.

OpenAI trained CLIP with QuickGELU (x * sigmoid(1.702 x)), open_clip's own models have GELU. An architecture's name says
which (`ViT-B-32-quickgelu`), a checkpoint does not, and a model with the other one still runs: it only scores worse. So
whoever converts one measures both (`crossmatch convert`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError, unknown_name
from core.scorers.devices import pick_device

if TYPE_CHECKING:
    import torch

    from core.scorers._openclip import OpenClipModel

# What training wraps a model in, or an older version of a library wrote beside it.
_NO_WEIGHTS = (
    "position_ids",
    "attn_mask",
    "input_resolution",
    "context_length",
    "vocab_size",
    "num_batches_tracked",
)


@dataclass(frozen=True)
class Checkpoint:
    """The weights of an open_clip architecture, as a checkpoint has them."""

    architecture: str
    weights: dict[str, torch.Tensor]  # by the architecture's own names
    prefix: str  # that stood before all of them: "module."
    left_out: int  # tensors that are not the model's: an optimizer's, a second model's
    config: dict[str, Any]  # `model_cfg` of an open_clip_config.json
    preprocessing: dict[str, Any]

    @classmethod
    def read(cls, path: Path, architecture: str) -> Checkpoint:
        """The checkpoint in a file: safetensors, or a pickle of tensors, which a process apart reads.

        Raises InputError, in one sentence, for an unknown architecture, a file that is no checkpoint or holds code, and
        weights of another architecture.
        """
        import open_clip
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        from core.scorers._checkpoint import unpickled  # torch

        config = open_clip.get_model_config(architecture)
        if config is None:
            raise unknown_name("open_clip architecture", architecture, open_clip.list_models())
        if not path.is_file():
            raise InputError(f"There is no file {path}; check the path to the checkpoint.")
        with TemporaryDirectory() as folder:
            plain = path
            if path.suffix != ".safetensors":
                plain = Path(folder) / "tensors.safetensors"
                unpickled(path, plain)
            try:
                tensors = load_file(plain)
            except (OSError, SafetensorError) as error:
                raise InputError(
                    f"{path} is no complete checkpoint ({error}); save or fetch it again."
                ) from None
            expected = _module(architecture, False).state_dict()
            prefix, weights = _own_weights(path, architecture, tensors, expected)
        tags = open_clip.list_pretrained_tags_by_model(architecture)
        published = open_clip.get_pretrained_cfg(architecture, tags[0]) if tags else {}
        shown = {k: published[k] for k in ("mean", "std", "interpolation", "resize_mode") if k in published}
        return cls(architecture, weights, prefix, len(tensors) - len(weights), config, shown)

    @property
    def named_quick(self) -> bool:
        """Whether the architecture's name says QuickGELU."""
        return bool(self.config.get("quick_gelu"))

    def model(self, name: str, quick_gelu: bool, device: str = "auto") -> OpenClipModel:
        """The model with either activation function; `save` writes it as a folder that is scored by its path."""
        from core.scorers._openclip import OpenClipModel, tokenizer_of  # torch

        module = _module(self.architecture, quick_gelu, self.preprocessing)
        module.load_state_dict(self.weights)
        config = {**self.config, "quick_gelu": quick_gelu}
        tokenizer = tokenizer_of(self.architecture, self.config["text_cfg"])
        return OpenClipModel(name, module, tokenizer, config, pick_device(device), lambda: None)


def _module(architecture: str, quick_gelu: bool, preprocessing: Mapping[str, Any] | None = None) -> Any:
    """An open_clip model with weights that nobody trained; nothing is fetched."""
    import open_clip

    logging.disable(logging.WARNING)  # that no weights were loaded is what was asked for
    try:
        return open_clip.create_model(
            architecture,
            pretrained=None,
            pretrained_hf=False,
            pretrained_image=False,
            precision="fp32",
            quick_gelu=quick_gelu,
            force_preprocess_cfg=dict(preprocessing or {}),
        )
    finally:
        logging.disable(logging.NOTSET)


def _own_weights(
    path: Path, architecture: str, tensors: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]
) -> tuple[str, dict[str, torch.Tensor]]:
    """The architecture's tensors among a checkpoint's, and what stood before their names.

    The prefix is the one under which most of the architecture's names are found, whatever a training called it.
    """
    ends = {name.rpartition(".")[2] for name in expected}
    prefixes = {""} | {
        key[: -len(name)]
        for key in tensors
        if key.rpartition(".")[2] in ends
        for name in _tails(key)
        if name in expected
    }
    prefix = max(sorted(prefixes), key=lambda start: sum(f"{start}{name}" in tensors for name in expected))
    missing = [
        name for name in expected if f"{prefix}{name}" not in tensors and not name.endswith(_NO_WEIGHTS)
    ]
    if missing:
        known = next(iter(tensors), "no tensors")
        raise InputError(
            f"{path} lacks {len(missing)} of the {len(expected)} tensors of {architecture}, such as {missing[0]} (it "
            f"has {known}, ...); give the architecture that was trained, in open_clip's format."
        )
    found = {name: tensors[f"{prefix}{name}"] for name in expected if f"{prefix}{name}" in tensors}
    other = next((name for name in found if found[name].shape != expected[name].shape), None)
    if other is not None:
        raise InputError(
            f"In {path} {other} is of shape {tuple(found[other].shape)}, where {architecture} has "
            f"{tuple(expected[other].shape)}; give the architecture that was trained."
        )
    return prefix, {name: tensor.to(expected[name].dtype) for name, tensor in found.items()}


def _tails(key: str) -> list[str]:
    """A name, and what is left of it without its first part, its first two parts, and so on."""
    parts = key.split(".")
    return [".".join(parts[i:]) for i in range(len(parts))]
