"""What a scorer is, and what a scorer that can be adapted at test time must offer besides (METHODS 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

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


@runtime_checkable
class Trainable(Scorer, Protocol):
    """A scorer with weights that can be adapted: what `core/ttm.py` and `core/train.py` work on."""

    module: torch.nn.Module
    device: torch.device

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
