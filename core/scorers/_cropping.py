"""Pictures enlarged before they are cropped ([TTM] C.1): from the original, by the model's own preprocessing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image

from core.base.errors import InputError
from core.groups import ImageRef


@dataclass(frozen=True)
class Cropping:
    """How a model's pictures are enlarged, and how a crop of them becomes its input."""

    side: int | None  # what the model asks images that are rendered on demand for
    larger: int  # what it asks them for to crop from
    crop: tuple[int, int]  # height and width of its input
    resize: Callable[[list[Image.Image]], list[torch.Tensor]]  # RGB images -> uint8 (3, h, w) each
    normalise: Callable[[torch.Tensor], torch.Tensor]  # uint8 (b, 3, *crop) -> float32, as preprocessing ends

    def enlarged(self, images: Sequence[ImageRef], opened: Sequence[Image.Image]) -> list[torch.Tensor]:
        """uint8 (3, h, w) each, of images that were just opened for the model itself, so that each is decoded once.

        One of exactly the model's size may have been rendered for it: it is opened again, at the larger size.
        """
        size = (self.side, self.side)
        pairs = zip(images, opened, strict=True)
        return self.resize([image.open(self.larger) if p.size == size else p for image, p in pairs])


@dataclass(frozen=True)
class EnlargedPictures:
    """A run's pictures at more than the model's size, in uint8; kept where there is room, else read when needed."""

    load: Callable[[torch.Tensor], list[torch.Tensor]]  # indices (b,) -> uint8 (3, h, w) each
    cropping: Cropping

    def random_crops(self, index: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """A crop of each of some pictures (b,) at a random place, every place equally likely: uint8 (b, 3, H, W)."""
        height, width = self.cropping.crop
        pictures = self.load(index)
        room = torch.tensor([[p.shape[1] - height + 1, p.shape[2] - width + 1] for p in pictures])
        places = (torch.rand(room.shape, generator=generator, dtype=torch.float64) * room).long().tolist()
        return torch.stack(
            [p[:, y : y + height, x : x + width] for p, (y, x) in zip(pictures, places, strict=True)]
        )


def processor_cropping(processor: Any, factor: float, side: int | None) -> Cropping:
    """As an image processor of `transformers` resizes and normalises; sizes are rounded down, as the authors do.

    Raises InputError for one whose images have no size of their own, but come in patches.
    """
    size = {name: value for name, value in dict(getattr(processor, "size", None) or {}).items() if value}
    if not size:
        raise InputError("This model reads images of any size in patches; set augmentation to 'none'.")
    crop = processor.crop_size if processor.do_center_crop else processor.size
    larger = {name: int(value * factor) for name, value in size.items()}
    unfinished = {"do_center_crop": False, "do_rescale": False, "do_normalize": False}

    def resize(pictures: list[Image.Image]) -> list[torch.Tensor]:
        return [torch.as_tensor(p) for p in processor(pictures, size=larger, **unfinished)["pixel_values"]]

    def normalise(crops: torch.Tensor) -> torch.Tensor:
        finished = processor(list(crops), do_resize=False, do_center_crop=False, return_tensors="pt")
        return finished["pixel_values"]

    return Cropping(side, max(larger.values()), (crop["height"], crop["width"]), resize, normalise)
