"""Augmentation: a run's prepared input whose pictures come changed, drawn anew at every read ([TTM] C.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch.nn import functional as F

from core.base.errors import InputError
from core.scorers.base import Prepared
from core.ttm.config import AUGMENTATIONS

_NO_PIXELS = "Augmentation needs pixels of one size and this model has none; set augmentation to 'none'."
Inputs = dict[str, torch.Tensor]  # the vision tower's, each (b, ...)
Draw = Callable[[torch.Tensor], Inputs]  # indices (b,) -> inputs


@dataclass(kw_only=True)
class AugmentedInputs(Prepared):
    """Prepared input whose images are drawn instead of read."""

    draw: Draw

    def images(self, index: torch.Tensor) -> Inputs:
        return self.draw(index)


def augmented(
    data: Prepared, augmentation: str, generator: torch.Generator, device: torch.device
) -> Prepared:
    """The same input with augmented images, drawn from `generator`; captions stay as they are."""
    chosen = _DRAWS[augmentation]
    if chosen is None:
        return data
    draw = partial(chosen, data, generator, device)
    return AugmentedInputs(data.pixels, data.tokens, data.extra, data.enlarged, draw=draw)


def drawn_once(data: Prepared, index: torch.Tensor) -> Prepared:
    """The same input with the images of `index` drawn now: whatever reads one of them again sees the same picture."""
    if not isinstance(data, AugmentedInputs):
        return data
    known = index.unique()
    inputs = data.images(known)

    def draw(wanted: torch.Tensor) -> Inputs:
        rows = torch.searchsorted(known, wanted)
        return {name: part[rows] for name, part in inputs.items()}

    return replace(data, draw=draw)


def _resize_crop(
    data: Prepared, generator: torch.Generator, device: torch.device, index: torch.Tensor
) -> Inputs:
    """Crops at random places of the enlarged originals, normalised after that ([TTM] C.1)."""
    if data.enlarged is None:
        raise InputError(_NO_PIXELS)
    crops = data.enlarged.random_crops(index, generator)
    return {"pixel_values": data.enlarged.cropping.normalise(crops.to(device, non_blocking=True))}


def jitter(data: Prepared, generator: torch.Generator, device: torch.device, index: torch.Tensor) -> Inputs:
    """Shift by up to 5 % of the side, change brightness and add noise: left and right and colours stay."""
    inputs = data.images(index)
    pixels = inputs["pixel_values"].to(device, non_blocking=True)
    return {**inputs, "pixel_values": jittered(pixels, generator)}


def jittered(pixels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """`jitter` of pixels (b, 3, H, W): another shift, brightness and noise for every image.

    Brightness (same for the three channels) and noise are in units of the model's normalised pixels.
    """
    if pixels.ndim != 4:
        raise InputError(_NO_PIXELS)
    height, width = pixels.shape[2:]
    reach = max(1, round(height / 20))
    shifted = _random_crops(F.pad(pixels, (reach,) * 4, mode="replicate"), height, width, generator)
    light = 0.4 * torch.rand((len(pixels), 1, 1, 1), generator=generator) - 0.2
    # Noise is drawn on the pixels' own device, from a generator that the run's generator seeds.
    seed = int(torch.randint(2**62, (), generator=generator))
    local = torch.Generator(pixels.device).manual_seed(seed)
    noise = torch.randn(pixels.shape, generator=local, device=pixels.device, dtype=pixels.dtype)
    return shifted + light.to(pixels) + 0.05 * noise


def _random_crops(pixels: torch.Tensor, height: int, width: int, generator: torch.Generator) -> torch.Tensor:
    count, _, tall, wide = pixels.shape
    top = torch.randint(tall - height + 1, (count,), generator=generator).to(pixels.device)
    left = torch.randint(wide - width + 1, (count,), generator=generator).to(pixels.device)
    windows = pixels.unfold(2, height, 1).unfold(3, width, 1)  # a view, (b, 3, dy, dx, H, W)
    return windows[torch.arange(count, device=pixels.device), :, top, left]


_DRAWS = dict(zip(AUGMENTATIONS, (None, _resize_crop, jitter), strict=True))
