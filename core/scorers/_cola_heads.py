"""The strategies as modules over a base's features ([Cola] 4, 5.2, 10.1, 11.1).

A head encodes images and captions once each (`image`, `caption`) and scores pairs of those (`pairs`, `table`).
Two-tower heads compare vectors, pair heads run attention over every pair. MM-Adapter comes in two forms, since the
paper's text and the authors' README describe two: 7.8 million weights each with CLIP ViT-B/32, so that the counts of
the paper's Table 5 do not tell which was measured.
"""

from __future__ import annotations

from abc import abstractmethod
from math import exp, log
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from core.base.errors import InputError
from core.scorers.cola_config import AdaptConfig
from core.scorers.cola_features import FeatureBase, Features

# Pairs that pass a joint head at once.
_PAIRS = 1024
# Numbers in the tokens of pairs that a training step passes through a joint head at once: 70 pairs of CLIP ViT-B/32.
_MICRO = 1 << 21


class _Calibration(nn.Module):
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
        self.calibration = _Calibration(scale)

    @abstractmethod
    def image(self, features: Features) -> Features:
        """Encoded images; `pooled` is what a score compares them by."""

    @abstractmethod
    def caption(self, features: Features) -> Features:
        """Encoded captions, likewise."""

    @abstractmethod
    def pairs(self, images: Features, captions: Features) -> torch.Tensor:
        """Scores before calibration of encoded images and captions row by row, (p,)."""

    @abstractmethod
    def table(self, images: Features, captions: Features) -> torch.Tensor:
        """Scores before calibration of all images with all captions, (a, b)."""

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Sigmoid cross-entropy, averaged over all pairs; logits and labels (a, b), 1 for those that match."""
        return F.binary_cross_entropy_with_logits(logits, labels)

    def scores(self, images: Features, captions: Features, index: torch.Tensor) -> torch.Tensor:
        """Calibrated scores of pairs int64 (p, 2), float32 (p,) on the CPU; each pair by itself."""
        parts = [
            self.calibration(self.pairs(images.rows(part[:, 0]), captions.rows(part[:, 1]))).float().cpu()
            for part in index.split(_PAIRS)
        ]
        return torch.cat(parts)


class _TwoTowerHead(Head):
    """Cosine of an image's and a caption's vector."""

    def pairs(self, images: Features, captions: Features) -> torch.Tensor:
        return (images.pooled * captions.pooled).sum(dim=-1)

    def table(self, images: Features, captions: Features) -> torch.Tensor:
        return images.pooled @ captions.pooled.T

    def image(self, features: Features) -> Features:
        return _vector(features.pooled)

    def caption(self, features: Features) -> Features:
        return _vector(features.pooled)


class _LinearHead(_TwoTowerHead):
    """One d x d map per modality, from the identity on: at first the base's own scores."""

    def __init__(self, size: int, scale: float) -> None:
        super().__init__(scale)
        self.image_map, self.caption_map = nn.Linear(size, size), nn.Linear(size, size)
        for layer in (self.image_map, self.caption_map):
            nn.init.eye_(layer.weight)
            nn.init.zeros_(layer.bias)

    def image(self, features: Features) -> Features:
        return _vector(self.image_map(F.normalize(features.pooled, dim=-1)))

    def caption(self, features: Features) -> Features:
        return _vector(self.caption_map(F.normalize(features.pooled, dim=-1)))


class _LateHead(_TwoTowerHead):
    """A transformer encoder per modality on the second-last layer's tokens, averaged: attention without meeting."""

    def __init__(self, sizes: tuple[int, int, int], config: AdaptConfig, width: int) -> None:
        super().__init__(10.0)
        patches, words, _ = sizes
        self.image_in, self.caption_in = nn.Linear(patches, width), nn.Linear(words, width)
        self.of_patches, self.of_words = (_encoder(width, config.layers, config.heads) for _ in range(2))

    def image(self, features: Features) -> Features:
        return _vector(self.of_patches(self.image_in(_levelled(features.tokens))).mean(dim=1))

    def caption(self, features: Features) -> Features:
        tokens = self.caption_in(_levelled(features.tokens))
        states = self.of_words(tokens, src_key_padding_mask=~features.mask)
        return _vector(_mean(states, features.mask))


class _PairHead(Head):
    """A score that needs both modalities' tokens at once."""

    def table(self, images: Features, captions: Features) -> torch.Tensor:
        a, b = len(images.mask), len(captions.mask)
        device = images.mask.device
        first = torch.arange(a, device=device).repeat_interleave(b)
        second = torch.arange(b, device=device).repeat(a)
        each = (images.tokens.shape[1] + captions.tokens.shape[1]) * images.tokens.shape[2]
        size = max(1, _MICRO // max(1, each))
        if a * b <= size:
            return self.pairs(images.rows(first), captions.rows(second)).view(a, b)

        def part(rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
            return self.pairs(images.rows(rows), captions.rows(columns))

        # A few pairs at a time; their activations are computed again on the way back, so that none are kept.
        parts = zip(first.split(size), second.split(size), strict=True)
        return torch.cat([checkpoint(part, *pair, use_reentrant=False) for pair in parts]).view(a, b)


class _PretrainedLateHead(_PairHead):
    """FT late on FLAVA: its own multimodal encoder, of which the last layers are tuned; a linear layer scores its CLS
    token ([Cola] 6.1, "tuning the last two multimodal layers")."""

    def __init__(self, encoder: nn.Module, layers: int) -> None:
        super().__init__(1.0)
        multimodal: Any = encoder.requires_grad_(False)
        multimodal.encoder.layer[-layers:].requires_grad_(True)
        self.multimodal = multimodal
        self.predict = nn.Linear(multimodal.config.hidden_size, 1, bias=False)

    def image(self, features: Features) -> Features:
        return Features.of(features.tokens[:, 0], features.tokens, features.mask)

    caption = image

    def pairs(self, images: Features, captions: Features) -> torch.Tensor:
        # The encoder's own CLS token comes first.
        mask = torch.cat([images.mask[:, :1], images.mask, captions.mask], dim=1)
        both = torch.cat([images.tokens, captions.tokens], dim=1)
        states = self.multimodal(both, attention_mask=mask.long()).last_hidden_state
        return self.predict(states[:, 0]).squeeze(-1)


class _ReadmeAdapterHead(_PairHead):
    """MM-Adapter as the authors' README has it (github.com/arijitray1993/COLA).

    One transformer encoder layer over projected patches and raw second-last text states, one whole decoder layer for a
    learnt query; the score is the mean of its inner products with those text states, BOS and EOS left out where a
    base has them (`frame`, as of `FeatureBase`). Layers are post-norm with dropout 0.1 in training. Unlike there,
    padding is masked in the attention: a score must not depend on the longest query of its batch.
    """

    def __init__(
        self, sizes: tuple[int, int, int], config: AdaptConfig, frame: tuple[bool, bool] = (True, True)
    ) -> None:
        super().__init__(1.0)
        self.frame = frame
        patches, width, _ = sizes
        if width % config.heads or config.width not in (None, width):
            raise InputError(
                f"The adapter `readme` is as wide as the base's text tokens, {width}, shared by {config.heads} heads; "
                "leave the width out, and choose heads that divide it."
            )
        self.image_in = nn.Linear(patches, width)
        self.transformer = nn.Transformer(width, config.heads, 1, 1, 4 * width, 0.1, batch_first=True)
        self.transformer.encoder.use_nested_tensor = False  # a prototype, which warns
        self.query = nn.Parameter(torch.rand(1, 1, width))

    def image(self, features: Features) -> Features:
        tokens = self.image_in(features.tokens)
        return Features.of(tokens[:, 0], tokens, features.mask)

    def caption(self, features: Features) -> Features:
        begins, ends = self.frame
        inner = features.mask.clone()
        if ends:
            inner &= features.mask.roll(-1, dims=1)  # without the last token that is kept
            inner[:, -1] = False
        if begins:
            inner[:, 0] = False
        count = inner.sum(dim=1, keepdim=True).clamp(min=1)  # of a query of BOS and EOS alone the score is 0
        mean = (features.tokens * inner[..., None]).sum(dim=1) / count
        return Features.of(mean, features.tokens, features.mask)

    def pairs(self, images: Features, captions: Features) -> torch.Tensor:
        pad = ~torch.cat([images.mask, captions.mask], dim=1)
        both = torch.cat([images.tokens, captions.tokens], dim=1)
        states = self.transformer.encoder(both, src_key_padding_mask=pad)
        query = self.query.expand(len(both), -1, -1)
        out = self.transformer.decoder(query, states, memory_key_padding_mask=pad)
        return (out[:, 0] * captions.pooled).sum(dim=-1)


class _JointHead(_PairHead):
    """MM-Pred, and MM-Adapter by the paper's text: a fusion, scored by a linear layer or by the frozen words."""

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

    def image(self, features: Features) -> Features:
        tokens = self.image_in(_levelled(features.tokens))
        return Features.of(tokens[:, 0], tokens, features.mask)

    def caption(self, features: Features) -> Features:
        # The mean of inner products with the words is the inner product with their mean.
        words = F.normalize(features.words, dim=-1)
        return Features.of(_mean(words, features.mask), self.word_in(_levelled(words)), features.mask)

    def pairs(self, images: Features, captions: Features) -> torch.Tensor:
        cls = self.fusion(images.tokens, captions.tokens, captions.mask)  # (p, outputs, d)
        if self.predict is not None:
            return self.predict(cls.flatten(1)).squeeze(-1)
        if self.fusion.outputs == 2:
            return F.cosine_similarity(cls[:, 0], cls[:, 1], dim=-1)
        return (self.out(cls[:, 0]) * captions.pooled).sum(dim=-1)


class _TokenMapHead(_PairHead):
    """One linear map from word tokens to patch tokens; the score is the mean over words of the best patch's cosine.

    After LABCLIP (Koishigarina et al., arXiv 2502.03566): what an encoder knows of whose attribute is whose is there,
    and the alignment of the two loses it. Theirs maps the pooled text; here tokens meet, so that pooling loses nothing
    either. It is trained with the contrastive loss; swapped queries come with the mix.
    """

    def __init__(self, sizes: tuple[int, int, int]) -> None:
        super().__init__(10.0)
        patches, words, _ = sizes
        self.map = nn.Linear(words, patches, bias=False)

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Softmax cross-entropy over the queries of each image and over the images of each query, right ones alike."""
        each = [(logits, labels), (logits.T, labels.T)]
        return torch.stack(
            [F.cross_entropy(x, y / y.sum(dim=1, keepdim=True).clamp(min=1)) for x, y in each]
        ).mean()

    def image(self, features: Features) -> Features:
        tokens = F.normalize(_levelled(features.tokens), dim=-1)
        return Features.of(tokens[:, 0], tokens, features.mask)

    def caption(self, features: Features) -> Features:
        tokens = F.normalize(self.map(_levelled(features.tokens)), dim=-1)
        return Features.of(tokens[:, 0], tokens, features.mask)

    def pairs(self, images: Features, captions: Features) -> torch.Tensor:
        cosines = captions.tokens @ images.tokens.mT  # (p, words, patches)
        best = cosines.masked_fill(~images.mask[:, None], -1.0).amax(dim=-1)
        return (best * captions.mask).sum(dim=1) / captions.mask.sum(dim=1)


def _vector(pooled: torch.Tensor) -> Features:
    return Features.of(F.normalize(pooled, dim=-1))


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
            return _LinearHead(base.sizes[2], scale)
        if config.strategy == "token-map":
            return _TokenMapHead(base.sizes)
        if config.strategy in ("prompt-tune", "ft-all"):
            return _TwoTowerHead(scale)
        if config.strategy == "ft-late":
            encoder = base.take_multimodal()
            if encoder is not None:
                return _PretrainedLateHead(encoder, config.layers)
            return _LateHead(base.sizes, config, width)
        if config.strategy == "mm-adapter" and config.adapter == "readme":
            return _ReadmeAdapterHead(base.sizes, config, base.frame)
        return _JointHead(base.sizes, config, width)


# ---- fusions


def _encoder(size: int, layers: int, heads: int) -> nn.TransformerEncoder:
    """Self-attention layers with a last norm; the inner width is four times the outer one, as in the paper's counts.

    Layers are pre-norm, of which the paper says nothing.
    """
    layer = nn.TransformerEncoderLayer(size, heads, 4 * size, 0.0, "relu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, layers, nn.LayerNorm(size), enable_nested_tensor=False)


class _CrossAttentionLayer(nn.Module):
    """A transformer decoder layer: `queries` attend to themselves, then to `memory`; `pad` marks what is padding."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(
            size, heads, 4 * size, 0.0, "relu", batch_first=True, norm_first=True
        )
        self.norm = nn.LayerNorm(size)

    def forward(
        self,
        queries: torch.Tensor,
        memory: torch.Tensor,
        pad: torch.Tensor | None,
        memory_pad: torch.Tensor | None,
    ) -> torch.Tensor:
        out = self.layer(queries, memory, tgt_key_padding_mask=pad, memory_key_padding_mask=memory_pad)
        return self.norm(out)


class Fusion(nn.Module):
    """How patches (p, a, d), words (p, b, d) and the words' mask (p, b) meet: CLS tokens (p, outputs, d) with a mask.

    One CLS token, or for the FIBER styles two, that of the words first.
    """

    outputs = 1

    def __init__(self, size: int, layers: int, heads: int) -> None:
        super().__init__()
        self.cls = nn.Parameter(0.02 * torch.randn(self.outputs, size))

    def _with_cls(self, tokens: torch.Tensor, which: int = 0) -> torch.Tensor:
        """The tokens after a CLS token."""
        return torch.cat([self.cls[which].expand(len(tokens), 1, -1), tokens], dim=1)

    @staticmethod
    def _pad(mask: torch.Tensor, before: int) -> torch.Tensor:
        """Padding of words, True, after `before` places that are none."""
        return F.pad(~mask, (before, 0), value=False)


class _Mdetr(Fusion):
    """Self-attention over [patches; words], then CLS cross-attends to all of them: MM-Adapter by the paper's text."""

    def __init__(self, size: int, layers: int, heads: int) -> None:
        super().__init__(size, layers, heads)
        self.self_attention = _encoder(size, layers, heads)
        self.cross = nn.MultiheadAttention(size, heads, batch_first=True)
        self.norm = nn.LayerNorm(size)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        pad = self._pad(mask, patches.shape[1])
        states = self.self_attention(torch.cat([patches, words], dim=1), src_key_padding_mask=pad)
        cls = self.cls[0].expand(len(states), 1, -1)
        attended, _ = self.cross(cls, states, states, key_padding_mask=pad, need_weights=False)
        return self.norm(cls + attended)


class _Flava(Fusion):
    """CLS inside the self-attention; one layer more than the others, which gives the paper's 9.9 million."""

    def __init__(self, size: int, layers: int, heads: int) -> None:
        super().__init__(size, layers, heads)
        self.self_attention = _encoder(size, layers + 1, heads)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        both = self._with_cls(torch.cat([patches, words], dim=1))
        pad = self._pad(mask, 1 + patches.shape[1])
        return self.self_attention(both, src_key_padding_mask=pad)[:, :1]


class _Albef(Fusion):
    """Each modality attends to itself; then words and CLS attend to patches."""

    def __init__(self, size: int, layers: int, heads: int) -> None:
        super().__init__(size, layers, heads)
        self.of_patches, self.of_words = (_encoder(size, max(1, layers - 1), heads) for _ in range(2))
        self.cross = _CrossAttentionLayer(size, heads)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        patches = self.of_patches(patches)
        words = self.of_words(words, src_key_padding_mask=~mask)
        return self.cross(self._with_cls(words), patches, self._pad(mask, 1), None)[:, :1]


class _Fiber(Fusion):
    """As ALBEF, and patches with a CLS token of their own attend to words; the two CLS tokens are compared."""

    outputs = 2

    def __init__(self, size: int, layers: int, heads: int) -> None:
        super().__init__(size, layers, heads)
        self._add_self_attention(size, max(1, layers - 1), heads)
        self.to_patches, self.to_words = (_CrossAttentionLayer(size, heads) for _ in range(2))

    def _add_self_attention(self, size: int, layers: int, heads: int) -> None:
        self.of_patches, self.of_words = (_encoder(size, layers, heads) for _ in range(2))

    def _attended(
        self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.of_patches(patches), self.of_words(words, src_key_padding_mask=~mask)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        patches, words = self._attended(patches, words, mask)
        read = self.to_patches(self._with_cls(words), patches, self._pad(mask, 1), None)
        look = self.to_words(self._with_cls(patches, 1), words, None, ~mask)
        return torch.cat([read[:, :1], look[:, :1]], dim=1)


class _FiberMM(_Fiber):
    """As FIBER, but the self-attention before runs over patches and words together."""

    def _add_self_attention(self, size: int, layers: int, heads: int) -> None:
        self.together = _encoder(size, layers, heads)

    def _attended(
        self, patches: torch.Tensor, words: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        count = patches.shape[1]
        both = self.together(torch.cat([patches, words], dim=1), src_key_padding_mask=self._pad(mask, count))
        return both[:, :count], both[:, count:]


_FUSIONS = {"mdetr": _Mdetr, "flava": _Flava, "albef": _Albef, "fiber": _Fiber, "fiber-mm": _FiberMM}


def make_fusion(name: str, size: int, layers: int, heads: int) -> Fusion:
    """A fusion by name (`core.scorers.cola_config.FUSIONS`); InputError where the heads cannot share the width."""
    if size % heads:
        raise InputError(f"A width of {size} cannot be shared by {heads} heads; choose a divisor of it.")
    return _FUSIONS[name](size, layers, heads)
