"""Blocks of groups as long vectors: the arithmetic under matchings and metrics. Never receives truth.

Groups are worked on in blocks that fit the processor's cache, one block on each core at a time. A block is held as
columns (m, k, b): one vector over its groups for each image and caption, so that every operation runs along groups.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import combinations, permutations
from math import factorial
from typing import Any, Generic, TypeVar

import numpy as np

from core.base.interrupt import between_blocks

Value = TypeVar("Value")
# Numbers of a block's columns, and the fewest and most groups. Where groups need few operations a block lies in the
# cache that the cores share: in one that fits a core's own every operation would be so short that threads mostly wait
# for the interpreter (measured: 2.5 times slower). Other groups are worked on by one thread, in a quarter of that.
_CACHED, _FEWEST, _MOST = 1_048_576, 2_048, 122_880
_LARGEST = 8_388_608  # numbers of a block of large groups: 64 MiB in float64
_MAX_THREADS = 8


class once(Generic[Value]):
    """A property computed when first asked for, like `functools.cached_property`, but without its lock.

    Up to Python 3.11 all instances share that lock: threads that work on blocks of their own would take turns.
    """

    def __init__(self, work: Callable[[Any], Value]) -> None:
        self._work, self.__doc__ = work, work.__doc__

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, _: type) -> Value:
        value: Value = self._work(instance)
        instance.__dict__[self._name] = value
        return value


class Scratch:
    """Vectors that one thread uses again for every block; nothing in them outlives the block."""

    def __init__(self, m: int, k: int, size: int, dtype: np.dtype) -> None:
        self._shape, self._dtype = (m, k, size), dtype

    @once
    def _columns(self) -> np.ndarray:
        # Float32 stays as it is where totals are at most one addition, which is done in float64: half the memory.
        narrow = self._dtype == np.float32 and _simple(*self._shape[:2])
        return np.empty(self._shape, dtype=np.float32 if narrow else np.float64)

    @once
    def _vectors(self) -> np.ndarray:
        m, k, size = self._shape
        return np.empty((2 if k == 2 else m + 3, size), dtype=self._columns.dtype if m == 1 else np.float64)

    def columns(self, block: np.ndarray) -> np.ndarray:
        """A block of scores (b, m, k) as columns (m, k, b), in float64 or as exact in float32."""
        columns = self._columns[:, :, : len(block)]
        np.copyto(columns, block.transpose(1, 2, 0))
        return columns

    def vectors(self, size: int) -> np.ndarray:
        """The working vectors of `best_two`, (v, size)."""
        return self._vectors[:, :size]


def reordered(columns: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Columns (m, k, b) with the captions of each group in an order of its own, int (b, k); may overwrite `columns`."""
    m, k, size = columns.shape
    if k == 2:  # swap by bits where the second caption comes first: a few times faster than fetching
        bits = np.int32 if columns.itemsize == 4 else np.int64
        swap = np.negative(order[:, 0], dtype=bits, casting="unsafe")
        for i in range(m):
            first, second = columns[i].view(bits)
            differ = (first ^ second) & swap
            first ^= differ
            second ^= differ
        return columns
    found, groups = np.empty_like(columns), np.arange(size)
    for p in range(k):
        place = order[:, p].astype(np.int64) * size + groups  # in int8 or int16 it would not fit
        for i in range(m):
            np.take(columns[i].reshape(-1), place, out=found[i, p], mode="clip")
    return found


def block_size(m: int, k: int) -> int:
    """Groups of a block."""
    size = max(_FEWEST, min(_MOST, _CACHED // (m * k)) // (1 if _simple(m, k) else 4))
    return max(1, min(size, _LARGEST // (m * k)))


def _simple(m: int, k: int) -> bool:
    """Whether a total is at most one addition and few are compared."""
    return m == 1 or m == k == 2


def in_blocks(scores: np.ndarray, work: Callable[[slice, Scratch], None]) -> None:
    """Call work(groups, scratch) for blocks of scores (n, m, k), on all cores; the first error is raised.

    numpy lets go of the interpreter inside its loops, so threads run side by side and share the arrays: a gain where
    a block needs few and long operations.
    """
    n, m, k = scores.shape
    threads = max(1, min(_cores(), n // _FEWEST)) if _simple(m, k) else 1
    blocks = -(-n // (threads * block_size(m, k)))  # of each thread
    size = -(-n // (threads * blocks))
    each = blocks * size

    def run(first: int) -> None:
        scratch = Scratch(m, k, size, scores.dtype)
        for start in range(first, min(n, first + each), size):
            between_blocks()
            work(slice(start, min(n, start + size)), scratch)

    here, *others = range(0, n, each)
    with ThreadPoolExecutor(max(1, len(others))) as pool:  # starts no thread before it is asked for one
        waiting = [pool.submit(run, first) for first in others]
        run(here)
        for one in waiting:
            one.result()


def _cores() -> int:
    """Cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, _MAX_THREADS)


def peak(block: np.ndarray) -> float:
    """The largest magnitude in a block; nan or infinite where a score is."""
    return max(abs(float(block.max())), abs(float(block.min())))


@lru_cache(maxsize=32)
def matchings(m: int, k: int) -> np.ndarray:
    """All injective maps from m images to k captions, int64 (P, m), in the order in which `best_two` counts them."""
    if not in_halves(m, k):
        return np.array(list(permutations(range(k), m)), dtype=np.int64)
    found = []
    for upper in combinations(range(k), m // 2):
        rest = [j for j in range(k) if j not in upper]
        found += [top + bottom for top in permutations(upper) for bottom in permutations(rest)]
    return np.array(found, dtype=np.int64)


def in_halves(m: int, k: int) -> bool:
    """Whether the upper and the lower images are added up on their own first."""
    return 3 <= m == k <= 6


def best_two(columns: np.ndarray, vectors: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Best total minus second best over all matchings into `margin` (b,); returns which of `matchings` is best (b,).

    columns : (m, k, b). vectors : `Scratch.vectors`, overwritten. Square groups of 3 to 6 are solved in halves;
    else all matchings are tried, with partial sums shared: 4 operations for each and fewer than 2 additions.
    """
    m, k, size = columns.shape
    if m <= k == 2:  # two matchings: their difference says it all
        first, other = columns[0] if m == 1 else _diagonals(columns, vectors)
        np.subtract(first, other, out=margin, dtype=np.float64)
        winner = np.less(margin, 0.0).view(np.uint8)
        np.abs(margin, out=margin)
        return winner
    top = TopTwo(vectors[:3], np.zeros(size, dtype=np.uint16))
    if in_halves(m, k):
        _halves(columns, top)
    else:
        for p, total in enumerate(_totals(columns, vectors[3:])):
            top.add(total, p)
    np.subtract(top.best, top.second, out=margin, dtype=np.float64)
    return top.place


class TopTwo:
    """The best and second best of totals that come one after another, and the place of the best; vectors (b,)."""

    def __init__(self, vectors: np.ndarray, place: np.ndarray) -> None:
        self.best, self.second, self._lower = vectors
        self.place, self._started = place, False

    def add(self, total: np.ndarray, place: int | np.ndarray, second: np.ndarray | None = None) -> None:
        """One more total with its place, or the two best of many; places only grow from one call to the next."""
        if not self._started:
            self._started = True
            self.best[:], self.second[:], self.place[:] = total, -np.inf if second is None else second, place
            return
        better = np.greater(total, self.best)
        np.minimum(total, self.best, out=self._lower)
        np.maximum(self.second, self._lower, out=self.second)
        np.maximum(self.best, total, out=self.best)
        if second is not None:
            np.maximum(self.second, second, out=self.second)
        # Places only grow, so the last place that was better is the largest one.
        here = np.multiply(better.view(np.uint8), np.asarray(place, dtype=self.place.dtype))
        np.maximum(self.place, here, out=self.place)


# The best and second best total of some images over the ways to give them some captions, and which way is best.
Two = tuple[np.ndarray, np.ndarray | None, np.ndarray]


def _halves(columns: np.ndarray, top: TopTwo) -> None:
    """All matchings of k x k groups: for every choice of captions for the upper half, each half on its own.

    comb(k, k // 2) times 9 operations and the two halves, of 4 (two images) or 24 (three), instead of 5 k! in all.
    """
    m, k, _ = columns.shape
    h = m // 2
    upper, lower = _half(columns[:h]), _half(columns[h:])
    for p, chosen in enumerate(combinations(range(k), h)):
        first, runner_up, way = upper(chosen)
        last, other, way2 = lower(tuple(j for j in range(k) if j not in chosen))
        assert other is not None
        second = first + other
        if runner_up is not None:
            np.maximum(second, runner_up + last, out=second)
        place = np.uint16(p * factorial(h)) + way.astype(np.uint16)
        top.add(first + last, place * np.uint16(factorial(m - h)) + way2, second)


def _half(rows: np.ndarray) -> Callable[[tuple[int, ...]], Two]:
    """How to solve 1, 2 or 3 images for as many captions; ways are counted in lexicographic order."""
    if len(rows) == 1:
        return lambda chosen: (rows[0, chosen[0]], None, np.zeros(1, dtype=np.uint8))
    if len(rows) == 2:
        return lambda chosen: _pair(rows, chosen)
    couples: Iterator[tuple[int, ...]] = combinations(range(rows.shape[1]), 2)
    pairs = {two: _pair(rows[1:], two) for two in couples}
    return lambda chosen: _triple(rows[0], pairs, chosen)


def _pair(rows: np.ndarray, captions: tuple[int, ...]) -> Two:
    i, j = captions
    total, other = rows[0, i] + rows[1, j], rows[0, j] + rows[1, i]
    return np.maximum(total, other), np.minimum(total, other), np.greater(other, total).view(np.uint8)


def _triple(row: np.ndarray, pairs: dict[tuple[int, ...], Two], captions: tuple[int, ...]) -> Two:
    top = TopTwo(np.empty((3, row.shape[1])), np.empty(row.shape[1], dtype=np.uint8))
    for place, j in enumerate(captions):
        best, second, way = pairs[tuple(c for c in captions if c != j)]
        top.add(row[j] + best, np.uint8(2 * place) + way, row[j] + second)
    return top.best, top.second, top.place


def _diagonals(columns: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The totals of the two matchings of 2 x 2 groups."""
    first = np.add(columns[0, 0], columns[1, 1], out=vectors[0], dtype=np.float64)
    return first, np.add(columns[0, 1], columns[1, 0], out=vectors[1], dtype=np.float64)


def _totals(columns: np.ndarray, sums: np.ndarray) -> Iterator[np.ndarray]:
    """The total of every matching, in the order of `matchings`; sums : float64 (m, b), one partial sum per image."""
    m, k, _ = columns.shape

    def extend(i: int, sofar: np.ndarray | None, free: tuple[int, ...]) -> Iterator[np.ndarray]:
        for j in free:
            total = columns[i, j] if sofar is None else np.add(sofar, columns[i, j], out=sums[i])
            if i == m - 1:
                yield total
            else:
                yield from extend(i + 1, total, tuple(c for c in free if c != j))

    return extend(0, None, tuple(range(k)))


def name_captions(winner: np.ndarray, m: int, k: int, matching: np.ndarray) -> None:
    """The captions of the winning matchings into `matching`, int64 (b, m)."""
    if m == 1:
        np.copyto(matching[:, 0], winner)
    elif m == k == 2:
        # Two bytes at once: 0, 1 where the first matching wins, 1, 0 where the second does.
        first, second = (int(np.array(pair, dtype=np.uint8).view(np.uint16)[0]) for pair in ([0, 1], [1, 0]))
        pairs = winner.astype(np.int16)
        np.multiply(pairs, np.int16(second - first), out=pairs)
        np.add(pairs, np.int16(first), out=pairs)
        np.copyto(matching.reshape(-1), pairs.view(np.uint8))
    else:
        np.take(matchings(m, k), winner, axis=0, out=matching, mode="clip")
