"""Null images: Gaussian noise in a model's own pixel space, for estimating log P_train(t) ([VGPT] section 4)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    import torch

# Mean and standard deviation of null images in the model's normalised pixel space ([VGPT] appendix B; appendix D for
# LLaVA), by model type; a model's config.json may hold its own pair as `null_images`.
_PIXELS = {"blip": (1.0, 0.25), "blip-2": (1.0, 0.25), "instructblip": (1.0, 0.25)}
# Null images per prior ([VGPT] appendix B), by benchmark; 3 elsewhere, 1 for LLaVA in its Table 4.
NULL_COUNTS = {"winoground": 100, "eqben": 30, "imagenet": 1}
DEFAULT_NULL_COUNT = 3
MASS_NULL_COUNT = 1  # MASS takes one null image (arXiv 2501.11469)


@dataclass(frozen=True)
class NullImage:
    """An image of independent Gaussian pixels; a model that gets it skips resizing and normalising.

    mean, std : in normalised pixels (BLIP 1.0 and 0.25, LLaVA 0 and 0.25; [VGPT] appendices B and D).
    seed, index : which one of a sample; equal fields mean equal pixels. It is an `ImageRef`, so its scores are cached.
    """

    mean: float
    std: float
    seed: int = 0
    index: int = 0

    @property
    def key(self) -> str:
        """Hash (hex) of the four fields."""
        return hashlib.sha256(
            f"null {self.mean!r} {self.std!r} {self.seed} {self.index}".encode()
        ).hexdigest()

    def draw(self, shape: Sequence[int]) -> torch.Tensor:
        """Normalised pixels of this shape, float32."""
        import torch

        rng = np.random.default_rng([self.seed, self.index])
        return torch.from_numpy(rng.normal(self.mean, self.std, tuple(shape)).astype(np.float32))

    def open(self, size: int | None = None) -> Image.Image:
        """What it looks like: with mean and standard deviation of natural images at 0.45 and 0.27 of the range."""
        side = size or 224
        pixels = 0.45 + 0.27 * self.draw((3, side, side)).numpy().transpose(1, 2, 0)
        return Image.fromarray((255 * pixels.clip(0, 1)).astype(np.uint8))


def null_images(count: int, mean: float, std: float, seed: int = 0) -> list[NullImage]:
    """A sample of `count` null images; a larger sample of the same seed begins with the smaller one."""
    return [NullImage(mean, std, seed, index) for index in range(count)]


def null_pixels(config: dict[str, Any]) -> tuple[float, float]:
    """Mean and standard deviation of a model's null images, from its configuration."""
    mean, std = config.get("null_images") or _PIXELS.get(str(config.get("model_type", "")), (0.0, 0.25))
    return float(mean), float(std)


def null_count(benchmark: str) -> int:
    """How many null images the paper takes for a benchmark, by its name (`winoground/all` counts as `winoground`)."""
    name = benchmark.lower().replace("-", "")
    return next((n for key, n in NULL_COUNTS.items() if name.startswith(key)), DEFAULT_NULL_COUNT)


def blind_key(captioner: str, nulls: Sequence[NullImage]) -> str:
    """The key of a captioner on null images: a hash (hex) of its own key and of theirs."""
    return hashlib.sha256(f"{captioner} {' '.join(image.key for image in nulls)}".encode()).hexdigest()
