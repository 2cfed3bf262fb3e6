"""Models as features: pooled vectors, patch tokens and word tokens of CLIP, SigLIP and FLAVA ([Cola] 4, 11.1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch

from core.base.errors import InputError
from core.scorers.contrastive import ContrastiveModel, Vision

# Whose patch tokens FT late, MM-Pred and MM-Adapter see, and FT late's text tokens: the second-last layer's ([Cola]
# 11.1, FT Late). The words of the other two are the last layer's, projected.
LAYER = -2


class Features(NamedTuple):
    """What a base says of n images or n captions; all on one device.

    pooled : (n, d) projected, as the base compares them; not normalised.
    tokens : (n, length, h) states of the second-last layer: image patches, or words.
    mask : bool (n, length), False where a token is padding.
    words : (n, length, d) projected states of the last layer; captions alone (images: empty (n, 0, d)).
    """

    pooled: torch.Tensor
    tokens: torch.Tensor
    mask: torch.Tensor
    words: torch.Tensor

    def rows(self, index: torch.Tensor) -> Features:
        """The features of some images or captions, in this order."""
        return Features(*(part[index] for part in self))

    def to(self, device: torch.device) -> Features:
        """The same on another device."""
        return Features(*(part.to(device) for part in self))


class FeatureBase(ABC):
    """A two-tower model seen as features. `model` prepares inputs and owns the weights."""

    family: str

    def __init__(self, model: ContrastiveModel) -> None:
        self.model = model

    @property
    def module(self) -> Any:
        return self.model.module

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, int, int]:
        """Width of patch tokens, of word tokens, and d of pooled features."""

    @property
    @abstractmethod
    def word_table(self) -> torch.nn.Parameter:
        """The table of word embeddings, (vocabulary, h)."""

    @abstractmethod
    def images(self, inputs: Vision) -> Features:
        """Features of preprocessed images, with gradients where weights have them."""

    @abstractmethod
    def captions(self, ids: torch.Tensor) -> Features:
        """Features of token ids (n, length)."""


class ClipBase(FeatureBase):
    """CLIPModel of `transformers`."""

    family = "CLIP"

    @property
    def sizes(self) -> tuple[int, int, int]:
        config = self.module.config
        return config.vision_config.hidden_size, config.text_config.hidden_size, config.projection_dim

    @property
    def word_table(self) -> torch.nn.Parameter:
        return self.module.text_model.embeddings.token_embedding.weight

    def images(self, inputs: Vision) -> Features:
        out = self.module.vision_model(**inputs, output_hidden_states=True)
        tokens = out.hidden_states[LAYER][:, 1:]  # without the class token
        return _images(self.module.visual_projection(out.pooler_output), tokens)

    def captions(self, ids: torch.Tensor) -> Features:
        out = self.module.text_model(input_ids=ids, output_hidden_states=True)
        lengths = self.model._lengths(ids)
        words = self.module.text_projection(out.last_hidden_state)
        pooled = words[torch.arange(len(ids), device=ids.device), lengths.to(ids.device) - 1]
        return Features(pooled, out.hidden_states[LAYER], _mask(ids, lengths), words)


class SiglipBase(FeatureBase):
    """SiglipModel of `transformers`: captions padded to the context, which the model reads but queries do not count."""

    family = "SigLIP"

    @property
    def sizes(self) -> tuple[int, int, int]:
        config = self.module.config
        width = config.text_config.projection_size or config.text_config.hidden_size
        return config.vision_config.hidden_size, config.text_config.hidden_size, width

    @property
    def word_table(self) -> torch.nn.Parameter:
        return self.module.text_model.embeddings.token_embedding.weight

    def images(self, inputs: Vision) -> Features:
        out = self.module.vision_model(**inputs, output_hidden_states=True)
        return _images(out.pooler_output, out.hidden_states[LAYER])

    def captions(self, ids: torch.Tensor) -> Features:
        out = self.module.text_model(input_ids=ids, output_hidden_states=True)
        pad = self.model.processor.tokenizer.pad_token_id  # type: ignore[attr-defined]
        mask = ids != pad
        mask[:, 0] = True  # an empty caption still is one token
        return Features(
            out.pooler_output, out.hidden_states[LAYER], mask, self.module.text_model.head(out[0])
        )


class FlavaBase(FeatureBase):
    """The two unimodal encoders of FLAVA with its contrastive projections."""

    family = "FLAVA"

    @property
    def _flava(self) -> Any:
        return getattr(self.module, "flava", self.module)

    @property
    def sizes(self) -> tuple[int, int, int]:
        config = self._flava.config
        return config.image_config.hidden_size, config.text_config.hidden_size, config.projection_dim

    @property
    def word_table(self) -> torch.nn.Parameter:
        return self._flava.text_model.embeddings.word_embeddings.weight

    def images(self, inputs: Vision) -> Features:
        out = self._flava.image_model(**inputs, output_hidden_states=True)
        pooled = self._flava.image_projection(out.last_hidden_state[:, 0])
        return _images(pooled, out.hidden_states[LAYER][:, 1:])

    def captions(self, ids: torch.Tensor) -> Features:
        mask = _mask(ids, self.model._lengths(ids))
        out = self._flava.text_model(ids, attention_mask=mask.long(), output_hidden_states=True)
        words = self._flava.text_projection(out.last_hidden_state)
        return Features(words[:, 0], out.hidden_states[LAYER], mask, words)


def _images(pooled: torch.Tensor, tokens: torch.Tensor) -> Features:
    mask = torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
    return Features(pooled, tokens, mask, pooled.new_empty((len(pooled), 0, pooled.shape[1])))


def _mask(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.arange(ids.shape[1], device=ids.device) < lengths.to(ids.device)[:, None]


_BASES: dict[str, type[FeatureBase]] = {"clip": ClipBase, "siglip": SiglipBase, "flava": FlavaBase}


def base_of(model: Any) -> FeatureBase:
    """The features of a loaded model; InputError for one that has no patch and word tokens to give."""
    kind = getattr(getattr(model, "config", None), "model_type", "")
    if kind not in _BASES or not isinstance(model, ContrastiveModel):
        raise InputError(
            f"The strategies of Cola adapt CLIP, SigLIP and FLAVA models of transformers; {model.name!r} is none."
        )
    return _BASES[kind](model)
