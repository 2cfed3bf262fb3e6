"""`core.kernels` and `core.comparisons` in machine code, where numba is installed (`crossmatch[fast]`).

A part of matching and of metrics: the captions of each image are known to `compare` alone. The results are the same to
the last bit: the same sums in the same order. What is gained is threads that do not wait for the interpreter between
operations. Without numba this file runs as plain Python, which only tests do. Groups are worked on in lanes: some at a
time, each score a vector over them.

No loop reads in one arm of a condition once it has written: of such loops LLVM 22 made wrong code for AVX-512
(`a[g] = b[g] if swap else x; b[g] = x if swap else b[g]`). They read all of it first.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from core import compiled_pairs
from core.kernels import in_halves, matchings
from core.machine import jit

_LANES = 128


class Sums(NamedTuple):
    """How to add up all matchings of m x k groups. Numbers below m k name scores, later ones earlier partial sums.

    partial : int64 (s, 2), the terms of each partial sum. total : int64 (P, 2), those of each matching, in the order
    of `matchings`; where there is one image the second is m k + s, which names zero. captions : int64 (P, m),
    `matchings` themselves.
    """

    partial: np.ndarray
    total: np.ndarray
    captions: np.ndarray


@lru_cache(maxsize=32)
def sums(m: int, k: int) -> Sums:
    """The additions that `kernels.best_two` does, in its order of terms: halves or one image after another."""
    places: dict[tuple[tuple[int, int], ...], int] = {
        ((i, j),): i * k + j for i in range(m) for j in range(k)
    }
    partial: list[tuple[int, int]] = []

    def place(terms: tuple[tuple[int, int], ...]) -> int:
        if terms not in places:
            partial_sum = tuple(place(part) for part in split(terms))
            places[terms] = m * k + len(partial)
            partial.append((partial_sum[0], partial_sum[1]))
        return places[terms]

    def split(terms: tuple[tuple[int, int], ...]) -> tuple[tuple[tuple[int, int], ...], ...]:
        # In halves three images are one and a pair.
        cut = (m // 2 if len(terms) == m else 1) if in_halves(m, k) else len(terms) - 1
        return terms[:cut], terms[cut:]

    total = []
    for captions in matchings(m, k).tolist():
        terms = tuple(enumerate(captions))
        total.append((place(terms), k) if m == 1 else tuple(place(part) for part in split(terms)))
    return Sums(
        np.array(partial, dtype=np.int64).reshape(-1, 2), np.array(total, dtype=np.int64), matchings(m, k)
    )


@jit
def _load(given: np.ndarray, scores: np.ndarray, highest: np.ndarray, finite: np.ndarray) -> None:
    """Some groups' scores (size, m k) as lanes; their largest magnitudes, and nan where one is not finite."""
    size = len(given)
    for q in range(given.shape[1]):
        lane, column = scores[q], given[:, q]
        for g in range(size):
            lane[g] = column[g]
        for g in range(size):
            magnitude, known = abs(lane[g]), highest[g]
            highest[g] = magnitude if magnitude > known else known
            finite[g] += lane[g] * 0.0  # nan from here on where it is not finite


@jit
def _two(
    sums: np.ndarray,
    pairs: int,
    partial: np.ndarray,
    total: np.ndarray,
    best: np.ndarray,
    second: np.ndarray,
    place: np.ndarray,
) -> None:
    """The best and the second best total of each group in the lanes, and which matching is best."""
    for p in range(len(partial)):
        first, other, both = sums[partial[p, 0]], sums[partial[p, 1]], sums[pairs + p]
        for g in range(_LANES):
            both[g] = first[g] + other[g]
    first, other = sums[total[0, 0]], sums[total[0, 1]]
    for g in range(_LANES):
        best[g] = first[g] + other[g]
    second[:], place[:] = -np.inf, 0
    for p in range(1, len(total)):
        first, other = sums[total[p, 0]], sums[total[p, 1]]
        for g in range(_LANES):
            this, leader, runner_up, leading = first[g] + other[g], best[g], second[g], place[g]
            lower = this if this < leader else leader
            second[g] = lower if lower > runner_up else runner_up
            place[g] = p if this > leader else leading
            best[g] = this if this > leader else leader


@jit
def _name(
    place: np.ndarray, captions: np.ndarray, best: np.ndarray, second: np.ndarray, out: Any, margin: Any
) -> None:
    """Captions of the winning matchings into `out` (size, m), and margins."""
    size = len(margin)
    for g in range(size):
        margin[g] = best[g] - second[g]
    for i in range(out.shape[1]):
        caption, chosen = captions[:, i], out[:, i]
        for g in range(size):
            chosen[g] = caption[place[g]]


@jit
def _keep(place: np.ndarray, winner: np.ndarray) -> None:
    for g in range(len(winner)):
        winner[g] = place[g]


def match(scores: np.ndarray, matching: np.ndarray, margin: np.ndarray) -> float:
    """What `kernels.best_two` and `name_captions` do, for scores (b, m, k) into `matching` (b, m) and `margin` (b,).

    Returns the largest magnitude, nan where a score is not finite.
    """
    _, m, k = scores.shape
    if m == k == 2:
        return float(compiled_pairs.match(scores, matching, margin))
    return float(_match(scores, *sums(m, k), matching, margin))


def solve(
    scores: np.ndarray,
    order: np.ndarray,
    matching: np.ndarray,
    margin: np.ndarray,
    winner: np.ndarray,
    seen: np.ndarray,
    share: np.ndarray,
    wanted: bool,
) -> tuple[float, bool]:
    """`match` (where `wanted`) and the comparisons of `core.comparisons.View` in one pass over scores (b, m, k).

    order : int64 (b, k), or (1, k) for all groups: each group's captions, those of its images first.
    winner : uint16 (b,), which matching is best. seen : bool (5, b): all images strictly right, all right or level, the
    same for their captions, any image level.
    share : float64 (b,), of the images that are right, or empty where nobody asks.
    Returns what `match` does, and whether any comparison ties.
    """
    _, m, k = scores.shape
    if not wanted:  # somebody else's, of any layout, and nobody writes them
        matching, margin = np.empty((0, m), dtype=np.int64), np.empty(0)
    into = (matching, margin, winner, seen, share, wanted)
    if m == k == 2:
        highest, tied = compiled_pairs.solve(scores, order, *into)
    else:
        highest, tied = _solve(scores, order, *sums(m, k), *into)
    return float(highest), bool(tied)


@jit
def _match(
    scores: np.ndarray,
    partial: np.ndarray,
    total: np.ndarray,
    captions: np.ndarray,
    matching: np.ndarray,
    margin: np.ndarray,
) -> float:
    """`match`, by the table of `sums`."""
    n, m, k = scores.shape
    table, sums = scores.reshape(n, m * k), np.zeros((m * k + len(partial) + 1, _LANES))
    best, second, place = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES, dtype=np.int64)
    highest, finite = np.zeros(_LANES), np.zeros(_LANES)
    for start in range(0, n, _LANES):
        # Slices instead of start + g: an index that could be negative costs a test each time.
        part = slice(start, min(n, start + _LANES))
        _load(table[part], sums, highest, finite)
        _two(sums, m * k, partial, total, best, second, place)
        _name(place, captions, best, second, matching[part], margin[part])
    return highest.max() + finite.sum()


@jit
def _compare(
    score: np.ndarray, lane: np.ndarray, counts: np.ndarray, row: np.ndarray, column: np.ndarray
) -> None:
    """How many images of each group are strictly right, right or level, and the same for their captions: counts (4, L).

    lane : int64 (m, k), which of `score` an image's own caption (j = i) and its others are.
    """
    m, k = lane.shape
    counts[:] = 0
    right, right_or_level, first, first_or_level = counts[0], counts[1], counts[2], counts[3]
    for i in range(m):
        row[:], column[:] = -np.inf, -np.inf
        for j in range(k):
            if j != i:
                rival = score[lane[i, j]]
                for g in range(_LANES):
                    this, strongest = rival[g], row[g]
                    row[g] = this if this > strongest else strongest
        for r in range(m):
            if r != i:
                rival = score[lane[r, i]]
                for g in range(_LANES):
                    this, strongest = rival[g], column[g]
                    column[g] = this if this > strongest else strongest
        own = score[lane[i, i]]
        for g in range(_LANES):
            right[g] += own[g] > row[g]
        for g in range(_LANES):
            right_or_level[g] += own[g] >= row[g]
        for g in range(_LANES):
            first[g] += own[g] > column[g]
        for g in range(_LANES):
            first_or_level[g] += own[g] >= column[g]


@jit
def _arrange(sums: np.ndarray, order: np.ndarray, m: int, score: np.ndarray) -> None:
    """Scores with each group's captions in an order of its own (size, k)."""
    size, k = order.shape
    for i in range(m):
        for j in range(k):
            into = score[i * k + j]
            for g in range(size):
                into[g] = sums[i * k + order[g, j], g]


@jit
def _tell(counts: np.ndarray, m: int, seen: np.ndarray, share: np.ndarray) -> int:
    """Write what the counts say of some groups; returns how many comparisons tie."""
    right, right_or_level, first, first_or_level = counts[0], counts[1], counts[2], counts[3]
    size, ties = seen.shape[1], 0
    for c in range(4):
        outcome, count = seen[c], counts[c]
        for g in range(size):
            outcome[g] = count[g] == m
    drawn = seen[4]
    for g in range(size):
        drawn[g] = right[g] != right_or_level[g]
    for g in range(len(share)):
        share[g] = right[g] / m
    for g in range(size):
        ties += right_or_level[g] - right[g] + first_or_level[g] - first[g]
    return ties


@jit
def _solve(
    scores: np.ndarray,
    order: np.ndarray,
    partial: np.ndarray,
    total: np.ndarray,
    captions: np.ndarray,
    matching: np.ndarray,
    margin: np.ndarray,
    winner: np.ndarray,
    seen: np.ndarray,
    share: np.ndarray,
    wanted: bool,
) -> tuple[float, int]:
    """`solve`, by the table of `sums`; returns how many comparisons tie."""
    n, m, k = scores.shape
    table, sums = scores.reshape(n, m * k), np.zeros((m * k + len(partial) + 1, _LANES))
    score, fixed, ties = np.zeros((m * k, _LANES)), len(order) == 1, 0
    lane = np.arange(m * k).reshape(m, k)
    if fixed:
        score = sums
        for i in range(m):
            lane[i] = i * k + order[0]
    best, second, place = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES, dtype=np.int64)
    row, column, counts = np.empty(_LANES), np.empty(_LANES), np.zeros((4, _LANES), dtype=np.int64)
    highest, finite = np.zeros(_LANES), np.zeros(_LANES)
    for start in range(0, n, _LANES):
        part = slice(start, min(n, start + _LANES))
        _load(table[part], sums, highest, finite)
        if wanted:
            _two(sums, m * k, partial, total, best, second, place)
            _name(place, captions, best, second, matching[part], margin[part])
            _keep(place, winner[part])
        if not fixed:
            _arrange(sums, order[part], m, score)
        _compare(score, lane, counts, row, column)
        ties += _tell(counts, m, seen[:, part], share[part])
    return highest.max() + finite.sum(), ties


@jit
def constant(captions: np.ndarray) -> bool:
    """Whether all rows of an int64 (b, m) are the same."""
    flat, m = captions.reshape(captions.size), captions.shape[1]
    differ = 0
    for start in range(0, len(flat) - m, 4096):
        here = flat[start : min(len(flat) - m, start + 4096)]
        after = flat[start + m : start + m + len(here)]
        for q in range(len(here)):
            differ |= here[q] ^ after[q]
        if differ:
            break
    return differ == 0
