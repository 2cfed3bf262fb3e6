"""Shifted pictures: what another camera, lamp, weather or file would make of them, as functions of the picture alone.

A model that is tested on the pictures it was trained on has little to learn from what it is sure of; these take it off
its distribution and keep what the captions say: places, shapes, and colours as far as a person would still name them.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image, ImageFilter

from core.groups import ImageRef

_VERSION = "crossmatch-shifts-1"  # part of every image's key: change it whenever pixels change
_STRENGTHS = ("-weak", "", "-strong")
_SIDE = 64  # pixels a side that a blur's radius is given for


# Each: pixels float64 (H, W, 3) in 0 ... 255, a strength, a generator of the picture's own -> the same shape


def _tinted(pixels: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    return pixels * (1 - strength * np.array([0.0, 0.6, 1.0]))


def _dark(pixels: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    return pixels * (1 - strength)


def _noisy(pixels: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    return pixels + rng.normal(0, strength, pixels.shape)


def _contrast(pixels: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    return 128 + (1 - strength) * (pixels - 128)


def _fog(pixels: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Light grey, the thicker the farther up, where the floor is farther away."""
    veil = strength * np.linspace(1, 0.4, len(pixels))[:, None, None]
    return (1 - veil) * pixels + veil * 205


def _lamp(pixels: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """A warm lamp at one side, and the other side in the dark; which side is the picture's own lot."""
    ramp = np.linspace(1 + strength / 2, 1 - strength, pixels.shape[1])
    ramp = ramp if rng.random() < 0.5 else ramp[::-1]
    return pixels * ramp[None, :, None] * np.array([1.0, 1 - 0.15 * strength, 1 - 0.35 * strength])


def _blur(pixels: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    radius = strength * pixels.shape[1] / _SIDE
    return np.asarray(_image(pixels).filter(ImageFilter.GaussianBlur(radius)), dtype=np.float64)


def _jpeg(pixels: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    file = io.BytesIO()
    _image(pixels).save(file, "JPEG", quality=int(strength))
    return np.asarray(Image.open(file).convert("RGB"), dtype=np.float64)


_Function = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]
# Name -> the function, what is told of it, and its strength when weak, as it is and strong.
_KINDS: dict[str, tuple[_Function, str, tuple[float, float, float]]] = {
    "tinted": (_tinted, "green times {:.2g}, blue times {:.2g}", (0.25, 0.5, 0.75)),
    "dark": (_dark, "times {:.2g}", (0.3, 0.5, 0.7)),
    "noisy": (_noisy, "noise of {:.2g} grey levels", (10, 25, 50)),
    "contrast": (_contrast, "contrast times {:.2g}", (0.4, 0.6, 0.8)),
    "fog": (_fog, "up to {:.0f} % fog", (0.3, 0.5, 0.7)),
    "lamp": (_lamp, "a lamp at one side, strength {:.2g}", (0.3, 0.5, 0.7)),
    "blur": (_blur, "out of focus by {:.2g} of 64 pixels", (0.5, 1.0, 1.5)),
    "jpeg": (_jpeg, "a JPEG of quality {:.0f}", (30, 15, 6)),
}


@dataclass(frozen=True)
class Shift:
    """One change of pictures at one strength."""

    name: str  # "tinted", "tinted-weak", "tinted-strong"
    kind: str
    strength: float

    @property
    def description(self) -> str:
        text = _KINDS[self.kind][1]
        values = [1 - self.strength if self.kind in ("dark", "contrast") else self.strength]
        if self.kind == "fog":
            values = [100 * self.strength]
        if self.kind == "tinted":
            values = [1 - 0.6 * self.strength, 1 - self.strength]
        return text.format(*values)

    def __call__(self, picture: Image.Image, seed: bytes) -> Image.Image:
        """The picture after it, RGB of the same size; `seed` decides what is drawn by lot."""
        rng = np.random.default_rng(np.frombuffer(seed, dtype=np.uint32))
        pixels = np.asarray(picture.convert("RGB"), dtype=np.float64)
        return _image(_KINDS[self.kind][0](pixels, self.strength, rng))


def _image(pixels: np.ndarray) -> Image.Image:
    return Image.fromarray(np.rint(pixels).clip(0, 255).astype(np.uint8))


SHIFTS: dict[str, Shift] = {
    f"{kind}{suffix}": Shift(f"{kind}{suffix}", kind, strength)
    for kind, (_, _, strengths) in _KINDS.items()
    for suffix, strength in zip(_STRENGTHS, strengths, strict=True)
}


@dataclass(frozen=True)
class ShiftedImage:
    """An image as a shift leaves it, changed when somebody opens it."""

    image: ImageRef
    shift: Shift

    @cached_property
    def key(self) -> str:
        """Hash (hex) of the image's own key and the shift: scores of it are cached under its content."""
        text = f"{_VERSION} {self.shift.kind} {self.shift.strength!r} {self.image.key}"
        return hashlib.sha256(text.encode()).hexdigest()

    def open(self, size: int | None = None) -> Image.Image:
        """RGB, as the image itself opens."""
        seed = hashlib.sha256(f"{self.shift.kind} {self.image.key}".encode()).digest()
        return self.shift(self.image.open(size), seed)
