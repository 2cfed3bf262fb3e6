"""Models as features: pooled vectors, patch tokens and word tokens of CLIP, SigLIP and FLAVA ([Cola] 4, 11.1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from core.base.errors import InputError
from core.scorers._input_loading import Vision
from core.scorers.contrastive import ContrastiveModel

# Whose patch tokens FT late, MM-Pred and MM-Adapter see, and FT late's text tokens: the second-last layer's ([Cola]
# 11.1, FT Late). The words of the other two are the last layer's, projected.
_LAYER = -2


class Features(NamedTuple):
    """What a base, or a head over it, says of n images or n captions; all on one device.

    pooled : (n, d) projected, what a score compares; of a base not normalised.
    tokens : (n, length, h) states of the second-last layer: image patches, or words.
    mask : bool (n, length), False where a token is padding.
    words : (n, length, d) projected states of the last layer; of a base's captions alone, elsewhere empty.
    """

    pooled: torch.Tensor
    tokens: torch.Tensor
    mask: torch.Tensor
    words: torch.Tensor

    @classmethod
    def of(
        cls, pooled: torch.Tensor, tokens: torch.Tensor | None = None, mask: torch.Tensor | None = None
    ) -> Features:
        """Features without words; without tokens: of a vector alone. No mask: every token counts."""
        tokens = pooled.new_empty((len(pooled), 0, 0)) if tokens is None else tokens
        mask = torch.ones(tokens.shape[:2], dtype=torch.bool, device=pooled.device) if mask is None else mask
        return cls(pooled, tokens, mask, pooled.new_empty((len(pooled), 0, pooled.shape[1])))

    def rows(self, index: torch.Tensor) -> Features:
        """The features of some images or captions, in this order."""
        return Features(*(part[index] for part in self))

    def to(self, device: torch.device) -> Features:
        """The same on another device."""
        return Features(*(part.to(device) for part in self))

    def cut(self) -> Features:
        """The same without the padding that every one of them has."""
        longest = int(self.mask.sum(dim=1).max())
        return Features(
            self.pooled, self.tokens[:, :longest], self.mask[:, :longest], self.words[:, :longest]
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Features]) -> Features:
        """Features of blocks in a row; captions of different lengths are padded to the longest of all."""
        width = max(part.mask.shape[1] for part in parts)

        def padded(tensor: torch.Tensor, length: int) -> torch.Tensor:
            missing = width - length if tensor.shape[1] == length else 0  # images have no words
            return F.pad(tensor, (*(0, 0) * (tensor.ndim - 2), 0, missing)) if missing else tensor

        rows = [(p.pooled, *(padded(tensor, p.mask.shape[1]) for tensor in p[1:])) for p in parts]
        return cls(*(torch.cat(columns) for columns in zip(*rows, strict=True)))


class FeatureBase(ABC):
    """A two-tower model seen as features. `model` prepares inputs and owns the weights."""

    family: str

    def __init__(self, model: ContrastiveModel) -> None:
        self.model, self.module = model, model.module

    def is_tuned_by(self, strategy: str) -> bool:
        """Whether a strategy changes weights of the base itself."""
        return strategy in ("ft-all", "prompt-tune")

    def take_multimodal(self) -> torch.nn.Module | None:
        """A pretrained encoder over both modalities, which FT late tunes instead of new ones; None: there is none."""
        return None

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, int, int]:
        """Width of patch tokens, of word tokens, and d of pooled features."""

    @property
    def word_table(self) -> torch.nn.Parameter:
        """The table of word embeddings, (vocabulary, h)."""
        return self.module.text_model.embeddings.token_embedding.weight

    @abstractmethod
    def images(self, inputs: Vision) -> Features:
        """Features of preprocessed images, with gradients where weights have them."""

    @abstractmethod
    def captions(self, ids: torch.Tensor) -> Features:
        """Features of token ids (n, length)."""

    @property
    def frame(self) -> tuple[bool, bool]:
        """Whether the tokens that a caption's mask keeps begin with a begin token, and end with an end token.

        Of CLIP and FLAVA both; SigLIP begins with a word, and where its end token is its padding ends with one.
        """
        tokenizer: Any = self.model.tokenizer  # type: ignore[attr-defined]
        ids = self.model.tokens(["a"])
        kept = ids[0][self._mask(ids)[0]].tolist()
        begin, end = tokenizer.bos_token_id, tokenizer.eos_token_id
        return kept[0] in (begin, tokenizer.cls_token_id), kept[-1] in (end, tokenizer.sep_token_id)

    def _mask(self, ids: torch.Tensor) -> torch.Tensor:
        """bool (n, length): the tokens of token ids (n, length) that are no padding."""
        lengths = self.model._lengths(ids).to(ids.device)
        return torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]


class _ClipBase(FeatureBase):
    """CLIPModel of `transformers`."""

    family = "CLIP"

    @property
    def sizes(self) -> tuple[int, int, int]:
        config = self.module.config
        return config.vision_config.hidden_size, config.text_config.hidden_size, config.projection_dim

    def images(self, inputs: Vision) -> Features:
        out = self.module.vision_model(**inputs, output_hidden_states=True)
        tokens = out.hidden_states[_LAYER][:, 1:]  # without the class token
        return Features.of(self.module.visual_projection(out.pooler_output), tokens)

    def captions(self, ids: torch.Tensor) -> Features:
        out = self.module.text_model(input_ids=ids, output_hidden_states=True)
        words, mask = self.module.text_projection(out.last_hidden_state), self._mask(ids)
        pooled = words[torch.arange(len(ids), device=ids.device), mask.sum(dim=1) - 1]
        return Features(pooled, out.hidden_states[_LAYER], mask, words)


class _SiglipBase(FeatureBase):
    """SiglipModel of `transformers`: captions padded to the context, which the model reads but queries do not count."""

    family = "SigLIP"

    @property
    def sizes(self) -> tuple[int, int, int]:
        config = self.module.config
        width = config.text_config.projection_size or config.text_config.hidden_size
        return config.vision_config.hidden_size, config.text_config.hidden_size, width

    def images(self, inputs: Vision) -> Features:
        out = self.module.vision_model(**inputs, output_hidden_states=True)
        return Features.of(out.pooler_output, out.hidden_states[_LAYER])

    def captions(self, ids: torch.Tensor) -> Features:
        out = self.module.text_model(input_ids=ids, output_hidden_states=True)
        words = self.module.text_model.head(out.last_hidden_state)
        return Features(out.pooler_output, out.hidden_states[_LAYER], self._mask(ids), words)

    def _mask(self, ids: torch.Tensor) -> torch.Tensor:
        mask = ids != self.model.tokenizer.pad_token_id  # type: ignore[attr-defined]
        mask[:, 0] = True  # an empty caption still is one token
        return mask


class _FlavaBase(FeatureBase):
    """The two unimodal encoders of FLAVA with its contrastive projections."""

    family = "FLAVA"

    def __init__(self, model: ContrastiveModel) -> None:
        super().__init__(model)
        self.flava: Any = model.flava  # type: ignore[attr-defined]

    @property
    def sizes(self) -> tuple[int, int, int]:
        config = self.flava.config
        return config.image_config.hidden_size, config.text_config.hidden_size, config.projection_dim

    @property
    def word_table(self) -> torch.nn.Parameter:
        return self.flava.text_model.embeddings.word_embeddings.weight

    def images(self, inputs: Vision) -> Features:
        out = self.flava.image_model(**inputs, output_hidden_states=True)
        pooled = self.flava.image_projection(out.last_hidden_state[:, 0])
        return Features.of(pooled, out.hidden_states[_LAYER][:, 1:])

    def captions(self, ids: torch.Tensor) -> Features:
        mask = self._mask(ids)
        out = self.flava.text_model(ids, attention_mask=mask.long(), output_hidden_states=True)
        words = self.flava.text_projection(out.last_hidden_state)
        return Features(words[:, 0], out.hidden_states[_LAYER], mask, words)


class _FlavaLateBase(_FlavaBase):
    """FLAVA for FT late: tokens as its multimodal encoder takes them, the first of the image its class token."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        width = self.flava.config.multimodal_config.hidden_size
        return width, width, self.flava.config.projection_dim

    def images(self, inputs: Vision) -> Features:
        out = self.flava.image_model(**inputs, output_hidden_states=True)
        pooled = self.flava.image_projection(out.last_hidden_state[:, 0])
        return Features.of(pooled, self.flava.image_to_mm_projection(out.hidden_states[-1]))

    def captions(self, ids: torch.Tensor) -> Features:
        mask = self._mask(ids)
        out = self.flava.text_model(ids, attention_mask=mask.long(), output_hidden_states=True)
        pooled = self.flava.text_projection(out.last_hidden_state[:, 0])
        return Features.of(pooled, self.flava.text_to_mm_projection(out.hidden_states[-1]), mask)

    def is_tuned_by(self, strategy: str) -> bool:
        return True  # the encoder that is taken is the base's

    def take_multimodal(self) -> torch.nn.Module:
        """The pretrained multimodal encoder, which from then on belongs to whoever took it."""
        encoder = self.flava.multimodal_model
        self.flava.multimodal_model = None
        return encoder


_BASES: dict[str, type[FeatureBase]] = {"clip": _ClipBase, "siglip": _SiglipBase, "flava": _FlavaBase}


def base_of(model: Any, strategy: str = "") -> FeatureBase:
    """The features of a loaded model as a strategy wants them; InputError for one without patch and word tokens."""
    kind = getattr(getattr(model, "config", None), "model_type", "")
    base = getattr(model, "base_name", None)
    if base is not None:
        raise InputError(
            f"{model.name!r} is {base} adapted by a strategy of Cola already; adapt {base} itself, or train this one "
            "further without labels by `crossmatch ttm`."
        )
    if kind not in _BASES or not isinstance(model, ContrastiveModel):
        raise InputError(
            f"The strategies of Cola adapt CLIP, SigLIP and FLAVA models of transformers; {model.name!r} is none."
        )
    return _FlavaLateBase(model) if (kind, strategy) == ("flava", "ft-late") else _BASES[kind](model)
