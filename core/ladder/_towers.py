"""What the two towers of a model make of the pictures and captions of groups: tokens and pooled vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from types import MappingProxyType
from typing import Any, NamedTuple

import torch

from core.base.errors import InputError
from core.base.limits import check_memory
from core.groups import GroupSet
from core.scorers.base import Prepared, TwoTower
from core.scorers.cola_features import Features, base_of

_BLOCK = 128
_CPU = torch.device("cpu")
_Progress = Callable[[float], None]

# What a rung reads, by its name.
_PARTS = {
    "image-tokens": "image tokens",
    "image-pooled": "pooled image vector",
    "caption-tokens": "caption tokens",
    "caption-pooled": "pooled caption vector",
    "map": "two vectors that one linear map could bring together",
}
_TOKENS_UNKNOWN = (
    "Crossmatch reads the {} of CLIP, SigLIP and FLAVA models of transformers alone, and this is none."
)
_TOGETHER = "This model reads a caption only together with the image, patch by patch: it has no {}."
_NO_TOWERS = "This model has no image tower that Crossmatch could read by itself, and so no {}."


class Towers(NamedTuple):
    """Of n groups of m pictures and m captions, float32 on the CPU; None where a model has no such thing.

    image_tokens, caption_tokens : (n, m, length, h), what the last layer reads, from which the pooled vector comes; of
    a model without one what reads image and caption together gets. mask : bool (n, m, length), False where a caption's
    token is padding. image_pooled, caption_pooled : (n, m, d), projected, not normalised. missing : why there is none,
    by the name of the rung.
    """

    image_tokens: torch.Tensor | None = None
    image_pooled: torch.Tensor | None = None
    caption_tokens: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    caption_pooled: torch.Tensor | None = None
    missing: Mapping[str, str] = MappingProxyType({})

    @classmethod
    @torch.no_grad()
    def of(cls, model: Any, groups: GroupSet, progress: _Progress = lambda share: None) -> Towers:
        """Every picture and caption encoded."""
        images = [image for group in groups for image in group.images]
        every = [caption for group in groups for caption in group.captions]
        captions = list(dict.fromkeys(every))  # each is read once, however many groups have it
        place = {caption: i for i, caption in enumerate(captions)}
        again = torch.tensor([place[caption] for caption in every])
        n = len(groups)
        if has_tokens(model):
            data, base = model.prepare(images, captions), base_of(model)
            seen = _joined(map(base.images, _blocks(model, data, len(images), progress)), len(images))
            ids = data.tokens["input_ids"].split(_BLOCK)
            read = _joined((base.captions(part.to(model.device)) for part in ids), len(every)).rows(again)
            parts = (seen.tokens, seen.pooled, read.tokens, read.mask, read.pooled)
            patches, pictures, words, mask, texts = (part.reshape(n, -1, *part.shape[1:]) for part in parts)
            return cls(patches, pictures, words, mask, texts)
        if isinstance(model, TwoTower):
            return cls._vectors(model, model.prepare(images, every), len(images), n)
        if not hasattr(getattr(model, "module", None), "vision_model"):
            return cls(missing=_missing(_NO_TOWERS, *_PARTS))
        data, tower = model.prepare(images, captions[:1]), model.module.vision_model
        blocks = _blocks(model, data, len(images), progress)
        states = [tower(**block).last_hidden_state for block in blocks]
        tokens = torch.cat([part.float().cpu() for part in states])
        missing = _missing(_TOGETHER, *(name for name in _PARTS if name != "image-tokens"))
        return cls(tokens.reshape(n, -1, *tokens.shape[1:]), missing=missing)

    @classmethod
    def _vectors(cls, model: TwoTower, data: Prepared, count: int, n: int) -> Towers:
        """Of two towers whose tokens are not known: pooled vectors alone."""
        pairs = [model.embed(model.batch(data, rows, rows)) for rows in torch.arange(count).split(_BLOCK)]
        sides = (torch.cat([part.float().cpu() for part in side]) for side in zip(*pairs, strict=True))
        images, captions = (side.reshape(n, -1, side.shape[1]) for side in sides)
        missing = _missing(_TOKENS_UNKNOWN, "image-tokens", "caption-tokens")
        return cls(image_pooled=images, caption_pooled=captions, missing=missing)


def untrained(model: Any, seed: int) -> Any:
    """A twin of a model with the same architecture and weights drawn at random."""
    twin = copy(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        twin.module = type(model.module)(model.module.config).float().to(model.device).eval()
    return twin


def has_tokens(model: Any) -> bool:
    """Whether tokens and pooled vectors of both towers are read."""
    try:
        base_of(model)
    except (InputError, AttributeError):
        return False
    return True


def _blocks(model: Any, data: Prepared, count: int, progress: _Progress) -> Iterator[dict[str, torch.Tensor]]:
    """The vision tower's inputs on the model's device, some images at a time."""
    for k, block in enumerate(data.blocks(torch.arange(count), _BLOCK)):
        progress(k * _BLOCK / count)
        yield {name: tensor.to(model.device) for name, tensor in block.items()}


def _joined(blocks: Iterator[Features], count: int) -> Features:
    """Features of blocks in a row, on the CPU. Raises InputError where the tokens of all do not fit into memory."""
    found: list[Features] = []
    for block in blocks:
        if not found:
            check_memory(
                f"The tokens of {count:,} inputs", 2 * block.tokens.nbytes * count // len(block.tokens)
            )
        found.append(block.to(_CPU))
    return Features.concatenate(found)


def _missing(why: str, *names: str) -> dict[str, str]:
    return {name: why.format(_PARTS[name]) for name in names}
