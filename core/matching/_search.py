"""All matchings of a block of groups: which is best, and by how much. Never receives truth."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from itertools import combinations
from math import perm
from operator import add
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace

from core.base.arrays import Array


def best_two(columns: Array, margin: Array) -> Array:
    """Best total minus second best over all matchings into `margin`; which of `matchings` is best, (b,).

    columns : (m, k, b). Totals and margin, (b,), are float64.
    """
    xp = array_namespace(columns)
    m, k, _ = columns.shape
    if m <= k == 2:  # two matchings: their difference says it all
        one = xp.astype(columns[0, 0], xp.float64)
        margin[...] = columns[0, 1]
        if m == 2:
            one += columns[1, 1]
            margin += columns[1, 0]
        margin -= one
        place = xp.astype(margin > 0, xp.uint8)
        margin[...] = xp.abs(margin)
        return place
    best, second, place, _ = _Search(columns).over(_Part(0, m, tuple(range(k))))
    margin[...] = best
    margin -= second
    return place


@lru_cache(maxsize=32)
def matchings(m: int, k: int) -> np.ndarray:
    """All injective maps from m images to k captions, int64 (P, m), in the order in which `best_two` counts them."""

    def ways(part: _Part) -> list[tuple[int, ...]]:
        if part.last - part.first == 1:
            return [(j,) for j in part.captions]
        return [x + y for upper, lower in part.halves() for x in ways(upper) for y in ways(lower)]

    return np.array(ways(_Part(0, m, tuple(range(k)))), dtype=np.int64)


class _Part(NamedTuple):
    """Images from `first` up to `last`, and captions for them: as many or more."""

    first: int
    last: int
    captions: tuple[int, ...]

    def halves(self) -> Iterator[tuple[_Part, _Part]]:
        """The upper images with each choice of captions for them, and the lower images with all others."""
        middle = (self.first + self.last) // 2
        for upper in combinations(self.captions, middle - self.first):
            lower = tuple(j for j in self.captions if j not in upper)
            yield _Part(self.first, middle, upper), _Part(middle, self.last, lower)


class _Two(NamedTuple):
    """The best and second best total (b,) of some images over `ways` ways to give them captions.

    place : which way is best, (b,). With one way there is neither a second total nor a place.
    """

    best: Array
    second: Array | None
    place: Array | None
    ways: int


class _Search:
    """All matchings of a block: for every choice of captions for the upper images each half is solved by itself.

    A half is solved once for all choices that leave it the same captions.
    """

    def __init__(self, columns: Array) -> None:
        m, k, _ = columns.shape
        self.xp, self.columns = array_namespace(columns), columns
        self.places = self.xp.uint8 if perm(k, m) <= 2**8 else self.xp.int16
        self.solved: dict[_Part, _Two] = {}

    def over(self, part: _Part) -> _Two:
        """The best two of all ways to give the images of a part captions."""
        if part not in self.solved:
            self.solved[part] = reduce(self.either, self.options(part))
        return self.solved[part]

    def options(self, part: _Part) -> Iterator[_Two]:
        if part.last - part.first == 1:
            return (_Two(self.columns[part.first, j], None, None, 1) for j in part.captions)
        return (self.together(self.over(upper), self.over(lower)) for upper, lower in part.halves())

    def together(self, a: _Two, b: _Two) -> _Two:
        """Two sets of images, each with captions of its own."""
        seconds = [
            x + y for x, y in ((a.second, b.best), (a.best, b.second)) if x is not None and y is not None
        ]
        places = [place * ways for place, ways in ((a.place, b.ways), (b.place, 1)) if place is not None]
        second = reduce(self.xp.maximum, seconds) if seconds else None
        return _Two(a.best + b.best, second, reduce(add, places) if places else None, a.ways * b.ways)

    def either(self, a: _Two, b: _Two) -> _Two:
        """The same images, with captions by a way of one or of the other."""
        xp, seconds = self.xp, [second for second in (a.second, b.second) if second is not None]
        second = reduce(xp.maximum, seconds, xp.minimum(a.best, b.best))
        # Places only grow, so where the other is better its place is the larger one.
        place = xp.astype(b.best > a.best, self.places) * (a.ways if b.place is None else b.place + a.ways)
        place = place if a.place is None else xp.maximum(a.place, place)
        return _Two(xp.maximum(a.best, b.best), second, place, a.ways + b.ways)
