"""The strategies as modules over a base's features ([Cola] 4, 5.2, 11.1).

A head encodes images and captions once each (`image`, `caption`) and scores pairs of those (`pairs`, `table`).
Two-tower heads compare vectors, joint heads run their fusion on every pair.
"""

from __future__ import annotations

from abc import abstractmethod
from math import exp, log
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from core.scorers.cola_config import AdaptConfig
from core.scorers.cola_features import FeatureBase, Features
from core.scorers.cola_fusion import encoder, make_fusion


class EncodedInputs(NamedTuple):
    """n encoded images or captions: tokens (n, length, d), their mask, and what a score compares them by."""

    tokens: torch.Tensor
    mask: torch.Tensor
    anchor: (
        torch.Tensor
    )  # (n, d) of unit length (two towers); (n, d) mean of frozen word features (MM-Adapter)

    def rows(self, index: torch.Tensor) -> EncodedInputs:
        return EncodedInputs(*(part[index] for part in self))


class Calibration(nn.Module):
    """exp(log_scale) * score + bias: two numbers that the sigmoid loss needs and no ranking of a query sees."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(log(scale)))
        self.bias = nn.Parameter(torch.tensor(0.0))

    def forward(self, scores: torch.Tensor) -> torch.Tensor:
        return self.log_scale.exp() * scores + self.bias


class Head(nn.Module):
    """What every strategy offers."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.calibration = Calibration(scale)

    @abstractmethod
    def image(self, features: Features) -> EncodedInputs: ...

    @abstractmethod
    def caption(self, features: Features) -> EncodedInputs: ...

    @abstractmethod
    def pairs(self, images: EncodedInputs, captions: EncodedInputs) -> torch.Tensor:
        """Scores before calibration of images and captions row by row, (p,)."""

    @abstractmethod
    def table(self, images: EncodedInputs, captions: EncodedInputs) -> torch.Tensor:
        """Scores before calibration of all images with all captions, (a, b)."""


class TwoTowerHead(Head):
    """Cosine of an image's and a caption's vector."""

    def pairs(self, images: EncodedInputs, captions: EncodedInputs) -> torch.Tensor:
        return (images.anchor * captions.anchor).sum(dim=-1)

    def table(self, images: EncodedInputs, captions: EncodedInputs) -> torch.Tensor:
        return images.anchor @ captions.anchor.T

    def image(self, features: Features) -> EncodedInputs:
        return _vector(features.pooled)

    def caption(self, features: Features) -> EncodedInputs:
        return _vector(features.pooled)


class LinearHead(TwoTowerHead):
    """One d x d map per modality, from the identity on: at first the base's own scores."""

    def __init__(self, size: int, scale: float) -> None:
        super().__init__(scale)
        self.image_map, self.caption_map = nn.Linear(size, size), nn.Linear(size, size)
        for layer in (self.image_map, self.caption_map):
            nn.init.eye_(layer.weight)
            nn.init.zeros_(layer.bias)

    def image(self, features: Features) -> EncodedInputs:
        return _vector(self.image_map(F.normalize(features.pooled, dim=-1)))

    def caption(self, features: Features) -> EncodedInputs:
        return _vector(self.caption_map(F.normalize(features.pooled, dim=-1)))


class LateHead(TwoTowerHead):
    """A transformer encoder per modality on the second-last layer's tokens, averaged: attention without meeting."""

    def __init__(self, sizes: tuple[int, int, int], config: AdaptConfig, width: int) -> None:
        super().__init__(10.0)
        patches, words, _ = sizes
        self.image_in, self.caption_in = nn.Linear(patches, width), nn.Linear(words, width)
        self.of_patches, self.of_words = (encoder(width, config.layers, config.heads) for _ in range(2))

    def image(self, features: Features) -> EncodedInputs:
        return _vector(self.of_patches(self.image_in(_levelled(features.tokens))).mean(dim=1))

    def caption(self, features: Features) -> EncodedInputs:
        states = self.of_words(
            self.caption_in(_levelled(features.tokens)), src_key_padding_mask=~features.mask
        )
        return _vector(_mean(states, features.mask))


class JointHead(Head):
    """MM-Pred and MM-Adapter: a fusion over patches and words, scored by a linear layer or by the frozen words."""

    def __init__(self, sizes: tuple[int, int, int], config: AdaptConfig, width: int) -> None:
        two = config.fusion.startswith("fiber")
        adapter = config.strategy == "mm-adapter"
        super().__init__(10.0 if two and adapter else 1.0)  # of a cosine, or of what has no unit
        patches, _, d = sizes
        same = width == d  # as in the paper; then words and CLS need no map
        self.image_in = nn.Linear(patches, width)
        self.word_in = nn.Identity() if same else nn.Linear(d, width)
        self.fusion = make_fusion(config.fusion, width, config.layers, config.heads)
        self.predict = None if adapter else nn.Linear(width * self.fusion.outputs, 1, bias=False)
        self.out = nn.Identity() if same or two or not adapter else nn.Linear(width, d)

    def image(self, features: Features) -> EncodedInputs:
        tokens = self.image_in(_levelled(features.tokens))
        return EncodedInputs(tokens, features.mask, tokens[:, 0])

    def caption(self, features: Features) -> EncodedInputs:
        # The mean of inner products with the words is the inner product with their mean.
        words = F.normalize(features.words, dim=-1)
        return EncodedInputs(self.word_in(_levelled(words)), features.mask, _mean(words, features.mask))

    def pairs(self, images: EncodedInputs, captions: EncodedInputs) -> torch.Tensor:
        cls = self.fusion(images.tokens, captions.tokens, captions.mask)  # (p, outputs, d)
        if self.predict is not None:
            return self.predict(cls.flatten(1)).squeeze(-1)
        if self.fusion.outputs == 2:
            return F.cosine_similarity(cls[:, 0], cls[:, 1], dim=-1)
        return (self.out(cls[:, 0]) * captions.anchor).sum(dim=-1)

    def table(self, images: EncodedInputs, captions: EncodedInputs) -> torch.Tensor:
        a, b = len(images.mask), len(captions.mask)
        device = images.mask.device
        first = torch.arange(a, device=device).repeat_interleave(b)
        second = torch.arange(b, device=device).repeat(a)
        return self.pairs(images.rows(first), captions.rows(second)).view(a, b)


def _vector(pooled: torch.Tensor) -> EncodedInputs:
    unit = F.normalize(pooled, dim=-1)
    nothing = unit.new_empty((len(unit), 0))
    return EncodedInputs(nothing, nothing, unit)


def _levelled(tokens: torch.Tensor) -> torch.Tensor:
    """Tokens with mean 0 and variance 1 each: layers and encoders differ in scale; a fresh layer should not care."""
    return F.layer_norm(tokens, tokens.shape[-1:])


def _mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over the places that the mask keeps, (n, d)."""
    return (states * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)


def make_head(base: FeatureBase, config: AdaptConfig) -> Head:
    """The module of a strategy over a base, drawn from the run's seed."""
    scale = min(exp(float(base.model.scale.detach())), 100.0)
    width = config.inner(base.sizes[2])
    with torch.random.fork_rng([]):
        torch.manual_seed(config.seed)
        if config.strategy == "linear":
            return LinearHead(base.sizes[2], scale)
        if config.strategy in ("prompt-tune", "ft-all"):
            return TwoTowerHead(scale)
        if config.strategy == "ft-late":
            return LateHead(base.sizes, config, width)
        return JointHead(base.sizes, config, width)
