"""What every architecture shares: batches, tower settings, first positions."""

from __future__ import annotations

from typing import NamedTuple

import torch

from core.pretrain.recipes import Recipe, TowerSize
from core.pretrain.tokens import PAD
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
    told: torch.Tensor | None = None  # (b, d), the text tower's summary
    words: TextStates | None = None


def sincos_grid(side: int, width: int) -> torch.Tensor:
    """Sine and cosine of both coordinates of a side x side grid, float32 (side * side, width)."""
    frequency = 1.0 / 100 ** (
        torch.arange(width // 4) / (width // 4)
    )  # a grid of few cells needs few octaves
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    angles = [coordinate.flatten()[:, None] * frequency[None] for coordinate in (y, x)]
    return torch.cat([wave(angle) for angle in angles for wave in (torch.sin, torch.cos)], dim=1)


def place(positions: torch.Tensor, patches: torch.Tensor, recipe: Recipe) -> None:
    """Start from positions that mean places, and from patches about as loud as they: small data need both.

    positions : (1 + patches, d), the first one the class token's. patches : the patch embedding's kernels.
    """
    with torch.no_grad():
        positions[1:] = 0.5 * sincos_grid(MODEL_SIZE // recipe.patch, recipe.vision.width)
        torch.nn.init.normal_(patches, std=2.0 * patches[0].numel() ** -0.5)


def tower(size: TowerSize) -> dict[str, int]:
    """A transformer's settings by transformers' names."""
    return {
        "hidden_size": size.width,
        "intermediate_size": 4 * size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
    }


def trimmed(ids: torch.Tensor) -> torch.Tensor:
    """Without the columns that are padding in every row."""
    return ids[..., : int((ids != PAD).sum(dim=-1).max())]
