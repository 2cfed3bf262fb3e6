"""CLIP, SigLIP and SigLIP 2 of `transformers`, from a folder in its own format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from core.base.errors import InputError
from core.scorers.contrastive import ContrastiveModel, Vision, pick_device
from core.scorers.hub import (
    VOCABULARIES,
    check_weights,
    first_sentence,
    key_of_unchanged,
    model_files,
    saved_json,
)
from core.scorers.lora import merged_state


class TransformersModel(ContrastiveModel):
    """CLIPModel, SiglipModel or Siglip2Model of `transformers`."""

    def __init__(
        self, name: str, module: Any, processor: Any, device: torch.device, key: Callable[[], str | None]
    ) -> None:
        super().__init__(name, module, device, key)
        self.processor = processor
        self.config = module.config
        self.label = {"clip": "CLIP", "siglip": "SigLIP", "siglip2": "SigLIP 2"}[self.config.model_type]
        self.context = self.config.text_config.max_position_embeddings
        size = getattr(self.config.vision_config, "image_size", None)
        self.side = max(size) if isinstance(size, list | tuple) else size

    def _preprocess(self, images: list[Image.Image]) -> Vision:
        return dict(self.processor.image_processor(images, return_tensors="pt"))

    def _tokenize(self, captions: list[str]) -> torch.Tensor:
        settings: dict[str, Any] = {"truncation": True, "max_length": self.context, "return_tensors": "pt"}
        if self.bias is None:
            # The end token sits before the padding, and only it is read: nothing of CLIP needs the context's length.
            settings |= {"padding": True, "padding_side": "right"}
        else:
            # SigLIP reads the last place, padding or not, and saw only captions of this length, in lower case.
            settings |= {"padding": "max_length"}
            captions = [caption.lower() for caption in captions]
        return self.processor.tokenizer(captions, **settings)["input_ids"]

    def _token_count(self, caption: str) -> int:
        return len(self.processor.tokenizer(caption, verbose=False)["input_ids"])

    def _lengths(self, ids: torch.Tensor) -> torch.Tensor:
        if self.bias is not None:
            return torch.full((len(ids),), ids.shape[1])
        # As CLIPTextModel pools: at the highest id for configurations older than transformers 4.31, whose end token
        # is wrongly 2, else at the first end token. Attention is causal, so nothing after that place matters.
        end = self.config.text_config.eos_token_id
        places = ids if end == 2 else (ids == end).int()
        return places.argmax(dim=1) + 1

    def _embed_images(self, inputs: Vision) -> torch.Tensor:
        return self.module.get_image_features(**inputs).pooler_output  # type: ignore[operator]

    def _embed_captions(self, ids: torch.Tensor) -> torch.Tensor:
        # No attention mask: CLIP's is causal, and SigLIP was trained to attend to its padding.
        return self.module.get_text_features(input_ids=ids).pooler_output  # type: ignore[operator]

    def save(self, folder: Path) -> None:
        """Write config, safetensors, preprocessing and tokenizer as `from_pretrained` reads them."""
        with saved_json(folder) as aside:
            self.module.save_pretrained(aside, state_dict=merged_state(self.module))  # type: ignore[operator]
            self.processor.save_pretrained(aside)

    def check(self, folder: Path) -> None:
        """Raise InputError where model and tokenizer do not belong together."""
        end = self.config.text_config.eos_token_id
        ids = self._tokenize(["a"])
        if self.bias is None and end != 2 and not (ids == end).any():
            raise InputError(
                f"The tokenizer in {folder} does not end captions with token {end}, where the model reads them "
                "(eos_token_id in config.json): every caption would look the same; fix one of the two."
            )
        if int(ids.max()) >= self.config.text_config.vocab_size:
            raise InputError(
                f"The tokenizer in {folder} makes token ids that the model does not have; it is another model's."
            )


def load_transformers(name: str, folder: Path, device: str = "auto") -> TransformersModel:
    """The CLIP, SigLIP or SigLIP 2 model in a folder.

    Raises InputError where weights are missing, incomplete, damaged or not safetensors, or no two-tower model's.
    """
    place = pick_device(device)
    check_weights(folder)
    # Without one, transformers makes an empty tokenizer and says nothing.
    if not any((folder / file).is_file() for file in VOCABULARIES):
        raise InputError(f"{folder} has no tokenizer ({', '.join(VOCABULARIES)}); fetch the model again.")
    key = key_of_unchanged(model_files(folder))
    with first_sentence(folder):
        from transformers import AutoModel, AutoProcessor
        from transformers.utils import logging

        logging.disable_progress_bar()
        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        module, report = AutoModel.from_pretrained(
            folder, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **local
        )
        if report["missing_keys"]:
            raise ValueError(f"no weights for {min(report['missing_keys'])}")
        processor = AutoProcessor.from_pretrained(folder, **local)
        for part in ("image_processor", "tokenizer"):
            if not hasattr(processor, part):
                raise ValueError(f"no files of its {part.replace('_', ' ')}")
        model = TransformersModel(name, module, processor, place, key)
    model.check(folder)
    return model
