"""Two-tower models of `transformers`, from a folder in its own format: CLIP, SigLIP, SigLIP 2, FLAVA and BLIP's ITC."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from core.base.errors import InputError
from core.scorers._cropping import Cropping, processor_cropping
from core.scorers._input_loading import Vision
from core.scorers._pretrained import ModelParts, load_parts, save_parts
from core.scorers._similarity import cosines, symmetric_cross_entropy
from core.scorers.contrastive import ContrastiveModel
from core.scorers.hub import locate
from core.scorers.model_folder import read_config


class TransformersModel(ContrastiveModel):
    """CLIPModel, and what the other classes share with it."""

    def __init__(self, parts: ModelParts) -> None:
        super().__init__(parts.name, parts.module, parts.device, parts.key)
        self.processor, self.tokenizer = parts.processor, parts.processor.tokenizer
        self.config = parts.module.config
        self.context = self.config.text_config.max_position_embeddings
        vision = getattr(self.config, "vision_config", None) or self.config.image_config
        size = getattr(vision, "image_size", None)
        self.side = max(size) if isinstance(size, list | tuple) else size

    def _preprocess(self, images: list[Image.Image]) -> Vision:
        return dict(self.processor.image_processor(images, return_tensors="pt"))

    def _cropping(self, factor: float) -> Cropping:
        return processor_cropping(self.processor.image_processor, factor, self.side)

    def _tokenize(self, captions: list[str]) -> torch.Tensor:
        # What a caption's embedding is read from stands before the padding: nothing needs the context's length.
        return self._padded_tokens(captions, padding=True, padding_side="right")

    def _padded_tokens(self, captions: list[str], **padding: Any) -> torch.Tensor:
        settings: dict[str, Any] = {"truncation": True, "max_length": self.context, "return_tensors": "pt"}
        return self.tokenizer(captions, **settings, **padding)["input_ids"]

    def _token_count(self, caption: str) -> int:
        return len(self.tokenizer(caption, verbose=False)["input_ids"])

    def _lengths(self, ids: torch.Tensor) -> torch.Tensor:
        # As CLIPTextModel pools: at the highest id for configurations older than transformers 4.31, whose end token
        # is wrongly 2, else at the first end token. Attention is causal, so nothing after that place matters.
        end = self.config.text_config.eos_token_id
        places = ids if end == 2 else (ids == end).int()
        return places.argmax(dim=1) + 1

    def _embed_images(self, inputs: Vision) -> torch.Tensor:
        return self.module.get_image_features(**inputs).pooler_output

    def _embed_captions(self, ids: torch.Tensor) -> torch.Tensor:
        # No attention mask: CLIP's is causal, and SigLIP was trained to attend to its padding.
        return self.module.get_text_features(input_ids=ids).pooler_output

    def save(self, folder: Path) -> None:
        """Write the whole model as `from_pretrained` reads it."""
        save_parts(self.module, self.processor, folder)

    def check(self, folder: Path) -> None:
        """Raise InputError where model and tokenizer do not belong together."""
        end = self.config.text_config.eos_token_id
        ids = self._tokenize(["a"])
        if type(self) is TransformersModel and end != 2 and not (ids == end).any():
            raise InputError(
                f"The tokenizer in {folder} does not end captions with token {end}, where the model reads them "
                "(eos_token_id in config.json): every caption would look the same; fix one of the two."
            )
        if int(ids.max()) >= self.config.text_config.vocab_size:
            raise InputError(
                f"The tokenizer in {folder} makes token ids that the model does not have; it is another model's."
            )


class SiglipTowers(TransformersModel):
    """SiglipModel and Siglip2Model."""

    def _tokenize(self, captions: list[str]) -> torch.Tensor:
        # SigLIP reads the last place, padding or not, and saw only captions of this length, in lower case.
        return self._padded_tokens([caption.lower() for caption in captions], padding="max_length")

    def _lengths(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.full((len(ids),), ids.shape[1])


class _MaskedTowers(TransformersModel):
    """Towers whose text encoder looks both ways, and at no padding."""

    def _lengths(self, ids: torch.Tensor) -> torch.Tensor:
        return (ids != self.tokenizer.pad_token_id).sum(dim=1).clamp(min=1)

    def _mask(self, ids: torch.Tensor) -> torch.Tensor:
        return (torch.arange(ids.shape[1], device=ids.device) < self._lengths(ids)[:, None]).long()


class BlipTowers(_MaskedTowers):
    """ITC of BlipForImageTextRetrieval: the plain cosine of its image and caption embeddings.

    Its checkpoints keep no temperature; the loss (Li et al. 2022, section 3.2) divides by the configuration's initial
    one (1 / exp(logit_scale_init_value), 0.07 as released).
    """

    @property
    def scale(self) -> torch.Tensor:
        """No factor on the cosine."""
        return torch.zeros((), device=self.device)

    def _embed_images(self, inputs: Vision) -> torch.Tensor:
        return self.module.vision_proj(self.module.vision_model(**inputs).last_hidden_state[:, 0])

    def _embed_captions(self, ids: torch.Tensor) -> torch.Tensor:
        return blip_caption_embeddings(self.module, ids, self._mask(ids))

    def contrast(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """ITC loss of embeddings (b, d) and (b, d) that belong together row by row: a scalar."""
        return blip_contrast(self.config, images, captions)


class FlavaTowers(_MaskedTowers):
    """The two unimodal encoders of FlavaModel or FlavaForPreTraining with their contrastive projections."""

    @property
    def flava(self) -> Any:
        """The FlavaModel, inside the model with heads or by itself."""
        return getattr(self.module, "flava", self.module)

    @property
    def scale(self) -> torch.Tensor:
        return self.flava.logit_scale

    def _preprocess(self, images: list[Image.Image]) -> Vision:
        return {"pixel_values": super()._preprocess(images)["pixel_values"]}

    def _embed_images(self, inputs: Vision) -> torch.Tensor:
        return self.flava.image_projection(self.flava.image_model(**inputs).last_hidden_state[:, 0])

    def _embed_captions(self, ids: torch.Tensor) -> torch.Tensor:
        out = self.flava.text_model(ids, attention_mask=self._mask(ids))
        return self.flava.text_projection(out.last_hidden_state[:, 0])


def blip_caption_embeddings(module: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """BLIP's embeddings (b, d) of captions alone."""
    return module.text_proj(module.text_encoder(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0])


def blip_contrast(config: Any, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
    """BLIP's ITC loss of embeddings (b, d) and (b, d): a scalar."""
    with torch.autocast(images.device.type, enabled=False):
        return symmetric_cross_entropy(cosines(images, captions) * exp(config.logit_scale_init_value))


# Model type -> its class here, and that of transformers.
CLASSES: dict[str, tuple[type[TransformersModel], str]] = {
    "clip": (TransformersModel, "AutoModel"),
    "siglip": (SiglipTowers, "AutoModel"),
    "siglip2": (SiglipTowers, "AutoModel"),
    "blip": (BlipTowers, "BlipForImageTextRetrieval"),
    "flava": (FlavaTowers, "FlavaForPreTraining"),
}


def load(name: str, source: str, device: str = "auto", kind: str | None = None) -> TransformersModel:
    """The two towers of the model in a folder, built in or on the hub.

    kind : "itc" for BLIP and FLAVA, which give other scores too. Raises InputError where weights are missing,
    incomplete, damaged or not safetensors, or no two-tower model's.
    """
    folder = locate(source)
    config = read_config(folder)
    model_class, auto = CLASSES[str(config["model_type"])]
    if "FlavaModel" in (config.get("architectures") or ()):
        auto = "FlavaModel"
    model = model_class(load_parts(name, folder, device, kind, auto))
    model.check(folder)
    return model
