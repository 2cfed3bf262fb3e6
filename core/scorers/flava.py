"""FLAVA's two unimodal encoders as a contrastive model that can be trained ([Cola] rows h to l of Table 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from PIL import Image

from core.scorers.contrastive import ContrastiveModel, Vision
from core.scorers.hub import key_of_unchanged, model_files, read_json, saved_json
from core.scorers.lora import merged_state
from core.scorers.pairwise import ModelParts, load_parts


class FlavaModel(ContrastiveModel):
    """FlavaModel or FlavaForPreTraining of `transformers`: scaled cosine of its image and text projections."""

    label = "FLAVA"

    def __init__(self, parts: ModelParts, key: Any) -> None:
        super().__init__(parts.name, parts.module, parts.device, key)
        self.processor, self.tokenizer = parts.processor, parts.processor.tokenizer
        self.config = parts.module.config
        self.context = self.config.text_config.max_position_embeddings
        self.side = self.config.image_config.image_size

    @property
    def _flava(self) -> Any:
        return getattr(self.module, "flava", self.module)

    @property
    def scale(self) -> torch.Tensor:
        return self._flava.logit_scale

    def _preprocess(self, images: list[Image.Image]) -> Vision:
        return {"pixel_values": self.processor.image_processor(images, return_tensors="pt")["pixel_values"]}

    def _tokenize(self, captions: list[str]) -> torch.Tensor:
        settings: dict[str, Any] = {"truncation": True, "max_length": self.context, "return_tensors": "pt"}
        return self.processor.tokenizer(captions, padding=True, padding_side="right", **settings)["input_ids"]

    def _token_count(self, caption: str) -> int:
        return len(self.processor.tokenizer(caption, verbose=False)["input_ids"])

    def _lengths(self, ids: torch.Tensor) -> torch.Tensor:
        return (ids != self.processor.tokenizer.pad_token_id).sum(dim=1).clamp(min=1)

    def _embed_images(self, inputs: Vision) -> torch.Tensor:
        return self._flava.image_projection(self._flava.image_model(**inputs).last_hidden_state[:, 0])

    def _embed_captions(self, ids: torch.Tensor) -> torch.Tensor:
        mask = torch.arange(ids.shape[1], device=ids.device) < self._lengths(ids)[:, None]
        out = self._flava.text_model(ids, attention_mask=mask.long())
        return self._flava.text_projection(out.last_hidden_state[:, 0])

    def save(self, folder: Path) -> None:
        """Write config, safetensors, preprocessing and tokenizer as `from_pretrained` reads them."""
        with saved_json(folder) as aside:
            self.module.save_pretrained(aside, state_dict=merged_state(self.module))  # type: ignore[operator]
            self.processor.save_pretrained(aside)


def load_flava(name: str, folder: Path, device: str = "auto") -> FlavaModel:
    """The contrastive towers of the FLAVA model in a folder. Raises InputError where it does not load."""
    small = "FlavaModel" in (read_json(folder / "config.json").get("architectures") or ())
    key = key_of_unchanged(model_files(folder), "contrastive towers")
    parts = load_parts(name, folder, device, "itc", "FlavaModel" if small else "FlavaForPreTraining")
    return FlavaModel(parts, key)
