"""Pictures as they lie on people's disks: progressive, CMYK, turned by EXIF, 16 bits, a GIF named .jpg, cut short."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
from PIL import Image

SIDE, LARGE, LONG = 500, (6000, 4000), (10_000, 4000)  # pixels
# The first of each set are of these kinds, one each; then every tenth is one of the cheap ones.
_CHEAP = ("progressive", "cmyk", "turned", "grey", "palette", "alpha", "deep", "gif")
_LARGE = {"large": LARGE, "long": LONG}
_FORMATS = {"palette": "PNG", "alpha": "PNG", "deep": "PNG", "gif": "GIF"}


def pictures(seed: int, large: bool = True) -> Iterator[bytes]:
    """Encoded pictures without end, each of another content: smooth noise of 500 x 300 to 500 pixels, JPEG mostly.

    large : whether one of 6,000 x 4,000 pixels and one of 10,000 x 4,000 are among the first ten.
    """
    rng, first = np.random.default_rng(seed), [*_CHEAP, *(_LARGE if large else ())]
    for i in count():
        odd = first[i] if i < len(first) else _CHEAP[i // 10 % len(_CHEAP)] if i % 10 == 0 else ""
        yield picture(rng, odd)


def picture(rng: np.random.Generator, kind: str = "", size: tuple[int, int] | None = None) -> bytes:
    """A picture as an encoded file; kind : "", one of those above, or "truncated", a JPEG without its second half."""
    size = size or _LARGE.get(kind) or (SIDE, int(rng.integers(300, SIDE + 1)))
    small = Image.fromarray(rng.integers(0, 256, size=(12, 16, 3), dtype=np.uint8))
    data = _encoded(small.resize(size, Image.Resampling.BICUBIC), kind)
    return data[: len(data) // 2] if kind == "truncated" else data


def _encoded(image: Image.Image, kind: str) -> bytes:
    made, more = io.BytesIO(), {}
    if kind == "deep":  # 16 bits of grey, as microscopes, depth cameras and renderers write them
        image = Image.fromarray(np.asarray(image.convert("L"), dtype=np.uint16) * 257)
    elif kind in ("palette", "gif"):
        image = image.quantize(64)
    elif kind == "alpha":
        image = image.convert("RGBA")
    else:
        image = image.convert({"cmyk": "CMYK", "grey": "L"}.get(kind, "RGB"))
        more = _jpeg_options(kind)
    image.save(made, _FORMATS.get(kind, "JPEG"), **more)
    return made.getvalue()


def _jpeg_options(kind: str) -> dict[str, Any]:
    if kind != "turned":
        return {"quality": 90, "progressive": kind == "progressive"}
    exif = Image.Exif()
    exif[0x0112] = 6
    return {"quality": 90, "exif": exif}
