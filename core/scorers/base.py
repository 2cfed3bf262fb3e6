"""What a scorer is, and what a scorer that can be adapted at test time must offer besides (METHODS 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
import torch

from core.groups import ImageRef

# Batch of pixels (b, 3, H, W) and a generator -> augmented pixels of the same shape.
Augment = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


@runtime_checkable
class Scorer(Protocol):
    """Scores image-caption pairs. Never sees groups, and so never truth."""

    name: str  # as the user wrote it: "builtin/clip", "openai/clip-vit-base-patch32", a folder

    @property
    def key(self) -> str:
        """Hash of weights and settings: together with image and caption it identifies a score."""
        ...

    def score(self, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray) -> np.ndarray:
        """Scores of the wanted pairs, float32 (p,).

        images, captions : distinct ones; each is encoded once.
        pairs : int (p, 2), columns are indices into `images` and `captions`.
        """
        ...


@dataclass
class Prepared:
    """Images and captions as the model's own input tensors: made once per run, indexed ever after."""

    pixels: torch.Tensor  # (images, 3, H, W) float32, preprocessed; kept on the CPU
    tokens: dict[str, torch.Tensor]  # each (captions, length); padded as the model's family needs


@dataclass
class Batch:
    """Matched pairs as a two-tower model's inputs, on its device: pair b is image b with caption b."""

    images: dict[str, torch.Tensor]  # each (b, ...), augmented
    captions: dict[str, torch.Tensor]  # each (b, ...)

    def __len__(self) -> int:
        return len(next(iter(self.images.values())))

    def split(self, size: int) -> list[Batch]:
        """The same pairs in order, at most `size` in each part."""
        return [self._part(slice(start, start + size)) for start in range(0, len(self), size)]

    def _part(self, rows: slice) -> Batch:
        return Batch(
            {k: t[rows] for k, t in self.images.items()}, {k: t[rows] for k, t in self.captions.items()}
        )


@runtime_checkable
class Trainable(Scorer, Protocol):
    """A scorer with weights that can be adapted: what `core/ttm/loop.py` and `core/ttm/train.py` work on."""

    device: torch.device

    @property
    def module(self) -> torch.nn.Module:
        """The weights; training changes them in place."""
        ...

    def prepare(self, images: Sequence[ImageRef], captions: Sequence[str]) -> Prepared:
        """Decode and preprocess every image, tokenise every caption, once."""
        ...

    def score_prepared(self, data: Prepared, pairs: np.ndarray, batch: int = 256) -> np.ndarray:
        """As `score`, on prepared input, in evaluation mode without gradients: float32 (p,).

        Each image and caption is encoded once and multiplied in float32, whatever `pairs` repeats.
        """
        ...

    def loss(
        self,
        data: Prepared,
        images: torch.Tensor,
        captions: torch.Tensor,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """The model's own contrastive loss over matched pairs (images[b], captions[b]), indices int64 (b,).

        CLIP: symmetric cross-entropy over the batch; SigLIP: pairwise sigmoid. A scalar with gradients.
        """
        ...

    def copy(self) -> Self:
        """An independent copy: a cached model is never trained."""
        ...

    def save(self, folder: Path) -> None:
        """Write the model in its own format (weights as safetensors); `load_scorer(folder)` reads it again."""
        ...


class TwoTower(Trainable, Protocol):
    """A trainable whose loss needs nothing of a pair but its two embeddings: `loss` is the three in a row.

    So the loss of a large batch can be had in parts (`core/scorers/gradient_caching.py`).
    """

    def batch(
        self,
        data: Prepared,
        images: torch.Tensor,
        captions: torch.Tensor,
        augment: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> Batch:
        """The inputs of these pairs, augmented once; arguments as for `loss`."""
        ...

    def embed(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings of a batch's images and captions, (b, d) each, with gradients; no pair looks at another."""
        ...

    def contrast(self, images: torch.Tensor, captions: torch.Tensor) -> torch.Tensor:
        """The contrastive loss of embeddings (b, d) and (b, d): a scalar with gradients."""
        ...


def has_two_towers(model: Trainable) -> TypeGuard[TwoTower]:
    """Whether a trainable is a `TwoTower`, by its class: asked at every step.

    `isinstance` would read every property, up to Python 3.11 also the key, which is a hash of all weights.
    """
    return all(hasattr(type(model), name) for name in ("batch", "embed", "contrast"))
