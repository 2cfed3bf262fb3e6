"""What every architecture shares, and what the training loop asks of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from core.pretrain._recipes import Recipe, TowerSize
from core.pretrain._tokens import BOS, EOS, PAD
from core.scenes.render import MODEL_SIZE


class Batch(NamedTuple):
    """Matched pictures and captions. The last 2 * pairs rows are twins: all first ones, then all second ones."""

    pixels: torch.Tensor  # (b, 3, H, W), normalised
    ids: torch.Tensor  # (b, length)
    pairs: int


class TextStates(NamedTuple):
    """Captions that a text tower read beside pictures: p pairs of rows of the batch."""

    states: torch.Tensor  # (p, length, d), each word after looking at the picture
    ids: torch.Tensor  # (p, length), which words they are
    images: torch.Tensor  # (p,), whose picture
    captions: torch.Tensor  # (p,), whose caption


class ForwardResult(NamedTuple):
    """A forward pass in training."""

    loss: torch.Tensor  # scalar
    pooled: torch.Tensor | None = None  # (b, d), the vision tower's summary
    patches: torch.Tensor | None = None  # (b, patches, d), its tokens
    caption: torch.Tensor | None = None  # (b, d), the text tower's summary
    words: TextStates | None = None


Score = Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class ModelFamily:
    """An architecture: how it is built, what its training loss is, how it scores pairs, what is saved with it."""

    build: Callable[[Recipe, int], Any]  # (recipe, vocabulary size) -> module with random weights
    loss: Callable[[Any, Batch], ForwardResult]
    # Each kind of score, the first one first: (module, pixels (b, m, 3, H, W), ids (b, k, length)) -> (b, m, k).
    scores: dict[str, Score]
    processor: Callable[[Any], Any]  # tokenizer -> what is saved beside the weights
    pooled: Callable[[Recipe], int] = lambda recipe: recipe.vision.width  # width of the towers' summaries
    sees: bool = True  # whether pictures play a part
    asks: bool = False  # whether captions become questions


def text_settings(recipe: Recipe, words: int) -> dict[str, Any]:
    """A text tower by transformers' names. words : size of the vocabulary."""
    ids = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    return _tower(recipe.text) | ids | {"vocab_size": words, "max_position_embeddings": recipe.length}


def vision_settings(recipe: Recipe) -> dict[str, Any]:
    """A vision tower by transformers' names."""
    return _tower(recipe.vision) | {"image_size": MODEL_SIZE, "patch_size": recipe.patch}


def _tower(size: TowerSize) -> dict[str, int]:
    return {
        "hidden_size": size.width,
        "intermediate_size": 4 * size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
    }


def set_positions(positions: torch.Tensor, patches: torch.Tensor, recipe: Recipe) -> None:
    """Start from positions that mean places, and from patches about as loud as they: small data need both.

    positions : (patches, d), without the class token's. patches : the patch embedding's kernels.
    """
    with torch.no_grad():
        positions.copy_(0.5 * _sincos_grid(MODEL_SIZE // recipe.patch, recipe.vision.width))
        torch.nn.init.normal_(patches, std=2.0 * patches[0].numel() ** -0.5)


def _sincos_grid(side: int, width: int) -> torch.Tensor:
    """Sine and cosine of both coordinates of a side x side grid, float32 (side * side, width)."""
    octaves = torch.arange(width // 4) / (width // 4)
    frequency = 1.0 / 100**octaves  # a grid of few cells needs few octaves
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    angles = [coordinate.flatten()[:, None] * frequency[None] for coordinate in (y, x)]
    return torch.cat([wave(angle) for angle in angles for wave in (torch.sin, torch.cos)], dim=1)


def contrastive_loss(logits: torch.Tensor) -> torch.Tensor:
    """Cross-entropy over the rows and the columns of a batch's similarities (Radford et al. 2021)."""
    own = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2


def cosines(images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
    """Of every image (..., m, d) with every caption (..., k, d) beside it, (..., m, k)."""
    return F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).transpose(-1, -2)


def trimmed(ids: torch.Tensor) -> torch.Tensor:
    """Without the columns that are padding in every row."""
    return ids[..., : int((ids != PAD).sum(dim=-1).max())]
