"""Which images are copies of each other: encoded again, of another size, cut at the edges or to a square, mirrored or
turned, in grey, brighter or darker.

Seen in colour: thumbnails in Lab, one moved and scaled upon the other (Lucas and Kanade, IJCAI 1981), and the largest
difference that is left at any place. So one object of another colour, size or place makes two images, however much of
the picture they share. Copies that are mirrored, turned or of other tones are looked for by their whole
frame alone, neither moved nor scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import scipy
from PIL import Image, ImageCms

_SIDE = 32  # cells of a thumbnail
_NEAR = 8.0  # of Lab: what is left between copies, at most; benchmarks/AUDITS.md has the rates
_OVERALL = 16.0  # as much at most before one is moved upon the other, at a quarter of the cells
_MOVED = 0.12  # of a side, at most
_SLACK = 0.03  # of half a side, by which a cut picture may seem to reach beyond the whole one
_STEPS = {8: 4, 16: 3, 32: 4}  # at so many cells a side
_REJECTED = {8: 36.0, 16: 32.0, 32: _NEAR}  # more left there: no copy
_AT_ONCE = 512  # pairs
_ROWS_AT_ONCE = 256  # images, compared with all
_DETAIL = 128  # pixels a side, where copies of the whole frame are told from pictures that are alike
_SAME = 30.0  # of RGB, means of 3 x 3 pixels: JPEG of quality 10 leaves 27 in photographs
# So much at a place, and more than `_SAME` in fewer than these parts of the picture, is one thing of another size or
# place: a cut moves everything. Drawings as JPEG leave 75, photographs cut by 1 % differ in a third of the parts.
_OTHER, _PARTS, _FEW_PARTS = 100.0, 8, 0.2
# Of lightness less its mean by its deviation: root mean square between copies of other tones, and at any place.
_TONES, _TONES_AT_A_PLACE = 0.4, 2.0
_CONTRAST = 4.0  # of lightness
_GREY = 12.0  # of RGB, between its channels: JPEG gives a grey picture some colour
_BLACK, _WHITE = 8, 247  # beyond them values may have been cut
_GAIN = 2.5
_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)
_NOT_SQUARE = 0.02  # of the logarithm of width by height
_MOST = 20_000  # pairs that are moved upon each other, the likeliest; some seconds


@lru_cache(1)
def _to_lab() -> ImageCms.ImageCmsTransform:
    return ImageCms.buildTransform(
        ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB"
    )


def thumbnail(picture: Image.Image) -> np.ndarray:
    """Uint8 (32, 32, 3), in Lab as Pillow has it: a quarter of the memory of what `_lab` makes of it."""
    small = picture.convert("RGB").resize((_SIDE, _SIDE), Image.Resampling.BOX)
    lab = ImageCms.applyTransform(small, _to_lab())
    assert lab is not None
    return np.array(lab)


def _lab(thumbnails: np.ndarray) -> np.ndarray:
    """Float32 (..., 3): lightness (0 to 100), and how red and yellow it is (-128 to 127)."""
    lightness = thumbnails[..., :1] * np.float32(100 / 255)
    return np.concatenate([lightness, thumbnails[..., 1:].view(np.int8)], axis=-1, dtype=np.float32)


def copies(thumbnails: np.ndarray) -> np.ndarray:
    """Pairs of images that are copies of each other, int (p, 2), each with the smaller index first.

    thumbnails : uint8 (n, 32, 32, 3), of `thumbnail`. Of pictures that are nearly all alike, such as drawings on white
    paper, the likeliest pairs alone are looked at.
    """
    flat = _all_cells(thumbnails, 8).reshape(len(thumbnails), -1)
    pairs = _alike(flat, flat, _OVERALL)
    found = pairs[:0]
    for start in range(0, len(pairs), _AT_ONCE):
        some = pairs[start : start + _AT_ONCE]
        # Of a cut one and a whole one the cut one fits better upon the whole one; nobody knows which is which.
        both = [_checked(thumbnails, some), _checked(thumbnails, some[:, ::-1])[:, ::-1]]
        found = np.concatenate([found, *both])
    return np.unique(found, axis=0)


def detail(picture: Image.Image) -> np.ndarray:
    """Uint8 (128, 128, 3)."""
    return np.asarray(picture.convert("RGB").resize((_DETAIL, _DETAIL), Image.Resampling.BILINEAR))


class Likeness(Enum):
    """SAME: another encoding or size of one picture. ALIKE: perhaps a copy that is cut at the edges, perhaps another
    picture. OTHER: they differ in a place or two, as in the size of one thing."""

    SAME, ALIKE, OTHER = range(3)

    @classmethod
    def of(cls, one: np.ndarray, two: np.ndarray) -> Likeness:
        """By two details whose thumbnails are copies."""
        rest = scipy.ndimage.uniform_filter(one.astype(np.float32) - two, size=(3, 3, 1), mode="nearest")
        squares = (rest**2).sum(axis=-1)
        if squares.max() <= _SAME**2:
            return cls.SAME
        step = _DETAIL // _PARTS
        parts = squares.reshape(_PARTS, step, _PARTS, step).max(axis=(1, 3))
        few = (parts > _SAME**2).mean() < _FEW_PARTS
        return cls.OTHER if few and squares.max() > _OTHER**2 else cls.ALIKE


# --- mirrored, turned, cut to a square


def _turned(places: np.ndarray, turns: int, mirrored: bool) -> np.ndarray:
    """Pictures (..., s, s, 3), mirrored left and right or not, and then turned by so many quarters."""
    return np.rot90(places[..., ::-1, :] if mirrored else places, turns, axes=(-3, -2))


# The orientations of a picture beside its own.
TURNS: tuple[Callable[[np.ndarray], np.ndarray], ...] = tuple(
    partial(_turned, turns=turns, mirrored=mirrored)
    for mirrored in (True, False)
    for turns in range(4)
    if mirrored or turns
)


def turned_copies(thumbnails: np.ndarray, progress: Callable[[float], None] | None = None) -> np.ndarray:
    """Pairs whose second image, mirrored or turned, is the first, int (p, 3): two images, and which of `TURNS`."""
    cells = _all_cells(thumbnails, 8)
    flat = cells.reshape(len(cells), -1)
    found = [np.zeros((0, 3), dtype=np.int64)]
    for turn, turned in enumerate(TURNS):
        pairs = _alike(flat, turned(cells).reshape(flat.shape), _NEAR)
        for start in range(0, len(pairs), _AT_ONCE):
            some = pairs[start : start + _AT_ONCE]
            one, two = (_lab(thumbnails[some[:, i]]) for i in (0, 1))
            some = some[_largest(one - turned(two)) <= _NEAR]
            found.append(np.column_stack([some, np.full(len(some), turn)]))
        if progress is not None:
            progress((turn + 1) / len(TURNS))
    return np.concatenate(found)


# --- in grey, of another brightness or contrast


def toned_copies(thumbnails: np.ndarray) -> np.ndarray:
    """Pairs int (p, 2) whose lightness is the same but for brightness and contrast, as of a copy in grey.

    Pictures that are of one lightness in much of their frame, as drawings on paper, are left out: so is any of two.
    """
    values = thumbnails[..., 0] * np.float32(100 / 255)  # (n, s, s)
    some = np.flatnonzero([_has_structure(each) for each in values])
    values = values[some]
    values = (values - values.mean(axis=(1, 2), keepdims=True)) / values.std(axis=(1, 2), keepdims=True)
    coarse = values.reshape(-1, 8, _SIDE // 8, 8, _SIDE // 8).mean(axis=(2, 4)).reshape(len(some), 64)
    pairs = _alike(coarse, coarse, _TONES * 3**0.5)
    apart = np.array([np.abs(values[a] - values[b]).max() for a, b in pairs.tolist()])
    return some[pairs[apart <= _TONES_AT_A_PLACE]] if len(pairs) else pairs


def _has_structure(lightness: np.ndarray) -> bool:
    """Whether no band of 4 of 100 holds a third of the places (s, s), and contrast is more than noise."""
    bands = np.histogram(lightness, 25, (0, 100))[0]
    return bool(bands.max() < lightness.size / 3 and lightness.std() > _CONTRAST)


def differ_in_tones_alone(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether one detail is the other in grey, or brighter, darker, of more or less contrast: v' = gain v + offset,
    one of each for a picture, and cut at black and white."""
    step = _DETAIL // _SIDE
    blocks = (each.reshape(_SIDE, step, _SIDE, step, 3) for each in (one, two))
    a, b = (each.mean(axis=(1, 3), dtype=np.float32) for each in blocks)
    grey = [bool((np.ptp(each, axis=-1) <= _GREY).all()) for each in (a, b)]
    if grey[0] != grey[1]:
        a, b = (each @ _LUMA for each in (a, b))
    return min(_rest_of_tones(a, b), _rest_of_tones(b, a)) <= _SAME / 3**0.5


def _rest_of_tones(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of a value that gain and offset leave; infinite for a gain that is none of a copy."""
    free = (np.minimum(a, b) > _BLACK) & (np.maximum(a, b) < _WHITE)
    x, y = a[free], b[free]
    if len(x) < a.size / 2 or x.std() < 1:
        return float("inf")
    gain = float(((x - x.mean()) * (y - y.mean())).mean() / x.var())
    if not 1 / _GAIN <= gain <= _GAIN:
        return float("inf")
    return float(np.abs(np.clip(gain * (a - x.mean()) + y.mean(), 0, 255) - b).max())


def centre(picture: Image.Image) -> Image.Image:
    """Its middle, cut to a square."""
    side = min(picture.size)
    left, top = ((length - side) // 2 for length in picture.size)
    return picture.crop((left, top, left + side, top + side))


def differ_in_shape(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Whether the frames are of different proportions, by their logarithms."""
    return np.abs(one - two) > _NOT_SQUARE


def clusters(n: int, pairs: np.ndarray) -> np.ndarray:
    """The cluster of each of n images, int (n,), joined by pairs int (p, 2)."""
    joined = scipy.sparse.coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(n, n))
    return scipy.sparse.csgraph.connected_components(joined, directed=False)[1]


def _cells(thumbnails: np.ndarray, side: int) -> np.ndarray:
    """Means of blocks, so that `side` cells a side are left: float32 (n, side, side, 3)."""
    step = _SIDE // side
    return _lab(thumbnails).reshape(-1, side, step, side, step, 3).mean(axis=(2, 4))


def _all_cells(thumbnails: np.ndarray, side: int) -> np.ndarray:
    """As `_cells`, of as many as there are."""
    parts = (thumbnails[start : start + _AT_ONCE] for start in range(0, len(thumbnails), _AT_ONCE))
    return np.concatenate([_cells(part, side) for part in parts])


def _alike(flat: np.ndarray, other: np.ndarray, overall: float) -> np.ndarray:
    """Pairs int (p, 2) of an earlier row (n, d) and a later one of the other, whose root mean square difference in Lab
    is at most `overall`; if they are many, those with the least, and never many more at a time."""
    squares, others = (flat**2).sum(axis=1), (other**2).sum(axis=1)
    most = overall**2 * flat.shape[1] / 3
    pairs, distances = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.float32)
    for start in range(0, len(flat), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        apart = squares[rows, None] + others[start:] - 2 * flat[rows] @ other[start:].T
        apart[:, : len(apart)][np.tri(len(apart), dtype=bool)] = np.inf
        some = np.flatnonzero(apart.min(axis=1) <= most)
        apart = apart[some]
        close = np.flatnonzero(apart <= most)
        if len(close) > _MOST:
            close = np.sort(close[np.argpartition(apart.ravel()[close], _MOST)[:_MOST]])
        one, two = np.unravel_index(close, apart.shape)
        pairs = np.concatenate([pairs, np.stack([some[one], two], axis=1) + start])
        distances = np.concatenate([distances, apart[one, two]])
        if len(pairs) > _MOST:
            least = np.argsort(distances, kind="stable")[:_MOST]
            pairs, distances = pairs[least], distances[least]
            most = distances[-1]
    return pairs[np.argsort(distances, kind="stable")]


def _checked(thumbnails: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Those pairs whose images are copies: from few cells to many, so that most are rejected at little cost."""
    moved = np.zeros((len(pairs), 4), dtype=np.float32)
    for side, most in _REJECTED.items():
        if not len(pairs):
            break
        one, two = (_cells(thumbnails[pairs[:, i]], side) for i in (0, 1))
        best = _aligned(one, two, moved, _STEPS[side])
        keep = best.left <= most
        pairs, moved = pairs[keep], best.moved[keep]
    return pairs[_is_cut(moved)]


def _is_cut(moved: np.ndarray) -> np.ndarray:
    """Whether the frame of one image is inside the other's, bool (p,): a thing that stands a little elsewhere in a
    frame of its own makes another picture."""
    scale, shift = 1 + moved[:, ::2], np.abs(moved[:, 1::2])
    return (scale + shift <= 1 + _SLACK).all(axis=1) | (scale - shift >= 1 - _SLACK).all(axis=1)


class _Aligned(NamedTuple):
    """moved : float32 (p, 4), scale and shift along x, then along y, in parts of half a side. left : float (p,), the
    largest difference that is left at a place."""

    moved: np.ndarray
    left: np.ndarray


def _aligned(one: np.ndarray, two: np.ndarray, moved: np.ndarray, steps: int) -> _Aligned:
    """The second images (p, s, s, 3) moved and scaled upon the first, by Gauss-Newton steps from `moved`."""
    least, best, left = np.full(len(one), np.inf, dtype=np.float32), moved, np.zeros(len(one))
    for step in range(steps + 1):
        there, seen = _warped(two, moved)
        rest = (one - there) * seen[..., None]
        error = (rest**2).sum(axis=(1, 2, 3)) / seen.sum(axis=(1, 2))
        better = error < least
        least, best = np.where(better, error, least), np.where(better[:, None], moved, best)
        left = np.where(better, _largest(rest), left)
        if step < steps:
            moved = np.clip(moved + _step(there, rest, seen), -2 * _MOVED, 2 * _MOVED)
    return _Aligned(best, left)


def _places(side: int) -> np.ndarray:
    """Of the cells, from -1 to 1."""
    return np.linspace(-1, 1, side, dtype=np.float32)


def _warped(images: np.ndarray, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The images read at moved places, between cells by proportion, and which places were inside: (p, s, s)."""
    side = images.shape[1]
    half, u = (side - 1) / 2, _places(side)
    x, y = (((1 + moved[:, [i]]) * u + moved[:, [i + 1]] + 1) * half for i in (0, 2))  # (p, s), in cells
    across, down = (
        np.maximum(0, 1 - np.abs(p[..., None] - np.arange(side, dtype=np.float32))) for p in (x, y)
    )
    there = down @ images.reshape(len(images), side, -1)
    there = across[:, None] @ there.reshape(images.shape)
    inside = [(p > -0.01) & (p < side - 0.99) for p in (x, y)]
    return there, (inside[1][:, :, None] & inside[0][:, None, :]).astype(np.float32)


def _step(there: np.ndarray, rest: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The Gauss-Newton step (p, 4) that explains the rest by a move and a scaling along each axis."""
    side = there.shape[1]
    half, u = (side - 1) / 2, _places(side)
    dx, dy = (np.gradient(there, axis=axis) * half * seen[..., None] for axis in (2, 1))
    powers = np.stack([u**2, u, np.ones_like(u)])  # of the place, for scale, both, shift
    xx, xy, yy, xr, yr = (
        (a * b).sum(axis=-1) for a, b in ((dx, dx), (dx, dy), (dy, dy), (dx, rest), (dy, rest))
    )
    along_x, along_y = xx.sum(axis=1) @ powers.T, yy.sum(axis=2) @ powers.T  # (p, 3)
    cross = powers[1:] @ xy @ powers[1:].T  # (p, y's, x's)
    hessian = np.empty((len(there), 4, 4), dtype=np.float32)
    hessian[:, :2, :2] = along_x[:, [[0, 1], [1, 2]]]
    hessian[:, 2:, 2:] = along_y[:, [[0, 1], [1, 2]]]
    hessian[:, 2:, :2], hessian[:, :2, 2:] = cross, cross.transpose(0, 2, 1)
    slope = np.concatenate([xr.sum(axis=1) @ powers[1:].T, yr.sum(axis=2) @ powers[1:].T], axis=1)
    steady = np.eye(4, dtype=np.float32) * side**2  # where a picture is flat nothing is moved
    return np.linalg.solve(hessian + steady, slope[..., None])[..., 0]


def _largest(rest: np.ndarray) -> np.ndarray:
    """The largest difference at a place, (p,); of many cells a mean of 3 x 3, without what sampling leaves."""
    if rest.shape[1] == _SIDE:
        rest = scipy.ndimage.uniform_filter(rest, size=(1, 3, 3, 1), mode="nearest")
    return np.sqrt((rest**2).sum(axis=-1)).max(axis=(1, 2))
