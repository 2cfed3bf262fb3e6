"""`core.compiled` for groups of 2x2, the shape of most benchmarks: two matchings, and every score has a name.

A part of matching and of metrics. A group is

    a  b    the scores of its first image with both captions
    c  d    and of its second

and lanes hold some groups at a time, a vector for each of the four. Helpers are written into their caller
(`inline`), so that the compiler sees vectors of its own, which nothing else overlaps. As in `core.compiled` no loop
reads in one arm of a condition once it has written. Unsigned indices spare a test for negative ones, and with it
everything that keeps loops from running several groups at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.machine import jit, unsigned

_LANES = 128


@jit(inline="always")
def _load(given: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> None:
    """Some groups' scores, one after another (4 size,), into the lanes."""
    for g in range(unsigned(len(given) // 4)):
        i = unsigned(4) * g
        a[g], b[g], c[g], d[g] = (
            given[i],
            given[i + unsigned(1)],
            given[i + unsigned(2)],
            given[i + unsigned(3)],
        )


@jit(inline="always")
def _bound(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, highest: np.ndarray, finite: np.ndarray
) -> None:
    """Each lane's largest magnitude so far, and nan from where a score of it is not finite.

    Lanes that a last, shorter load has left hold groups that were counted before.
    """
    for g in range(_LANES):
        first, second, third, fourth, known = abs(a[g]), abs(b[g]), abs(c[g]), abs(d[g]), highest[g]
        upper = first if first > second else second
        lower = third if third > fourth else fourth
        largest = upper if upper > lower else lower
        highest[g] = largest if largest > known else known
    for g in range(_LANES):
        finite[g] += (a[g] * 0 + b[g] * 0) + (c[g] * 0 + d[g] * 0)


@jit(inline="always")
def _name(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, matching: np.ndarray, margin: np.ndarray
) -> None:
    """Winning captions, one group after another (2 size,), and margins (size,)."""
    for g in range(unsigned(len(margin))):
        difference = (np.float64(a[g]) + np.float64(d[g])) - (np.float64(b[g]) + np.float64(c[g]))
        other, i = np.int64(difference < 0.0), g * unsigned(2)
        margin[g] = abs(difference)
        matching[i] = other
        matching[i + unsigned(1)] = 1 - other


@jit(inline="always")
def _keep(matching: np.ndarray, winner: np.ndarray) -> None:
    """Which matching wins is what its first image gets."""
    for g in range(unsigned(len(winner))):
        winner[g] = matching[g * unsigned(2)]


@jit(inline="always")
def _own_first(own: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> None:
    """Swap the captions of the groups whose first image has the second one; own : (2 size,), or (2,) for all."""
    for g in range(unsigned(len(a) if len(own) == 2 else len(own) // 2)):
        swap = own[unsigned(0) if len(own) == 2 else g * unsigned(2)] == 1
        first, second, third, fourth = a[g], b[g], c[g], d[g]
        a[g] = second if swap else first
        b[g] = first if swap else second
        c[g] = fourth if swap else third
        d[g] = third if swap else fourth


@jit(inline="always")
def _tell(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, seen: np.ndarray, share: np.ndarray
) -> int:
    """What `core.compiled.solve` says of some groups, own captions first; returns 1 where a comparison ties."""
    rows, rows_or_level, columns, columns_or_level, drawn = seen[0], seen[1], seen[2], seen[3], seen[4]
    size = unsigned(len(rows))
    tied: Any = 0
    for g in range(size):
        rows[g] = (a[g] > b[g]) & (d[g] > c[g])
        columns[g] = (a[g] > c[g]) & (d[g] > b[g])
    for g in range(unsigned(len(share))):
        share[g] = 0.5 * (np.float64(a[g] > b[g]) + np.float64(d[g] > c[g]))
    for g in range(size):
        tied |= np.int64((a[g] == b[g]) | (d[g] == c[g]) | (a[g] == c[g]) | (d[g] == b[g]))
    if tied == 0:
        rows_or_level[:], columns_or_level[:], drawn[:] = rows, columns, False
        return tied
    for g in range(size):
        rows_or_level[g] = (a[g] >= b[g]) & (d[g] >= c[g])
        columns_or_level[g] = (a[g] >= c[g]) & (d[g] >= b[g])
    for g in range(size):
        drawn[g] = (a[g] == b[g]) | (d[g] == c[g])
    return tied


@jit
def match(scores: np.ndarray, matching: np.ndarray, margin: np.ndarray) -> Any:
    """What `core.compiled.match` does."""
    n, kind = len(scores), scores.dtype
    a, b, c, d = (
        np.zeros(_LANES, kind),
        np.zeros(_LANES, kind),
        np.zeros(_LANES, kind),
        np.zeros(_LANES, kind),
    )
    highest, finite = np.zeros(_LANES, kind), np.zeros(_LANES, kind)
    given, named = scores.reshape(-1), matching.reshape(-1)
    for start in range(0, n, _LANES):
        stop = min(n, start + _LANES)
        _load(given[4 * start : 4 * stop], a, b, c, d)
        _bound(a, b, c, d, highest, finite)
        _name(a, b, c, d, named[2 * start : 2 * stop], margin[start:stop])
    return highest.max() + finite.sum()


@jit
def solve(
    scores: np.ndarray,
    order: np.ndarray,
    matching: np.ndarray,
    margin: np.ndarray,
    winner: np.ndarray,
    seen: np.ndarray,
    share: np.ndarray,
    wanted: bool,
) -> Any:
    """What `core.compiled.solve` does."""
    n, kind = len(scores), scores.dtype
    a, b, c, d = (
        np.zeros(_LANES, kind),
        np.zeros(_LANES, kind),
        np.zeros(_LANES, kind),
        np.zeros(_LANES, kind),
    )
    highest, finite = np.zeros(_LANES, kind), np.zeros(_LANES, kind)
    given, named, own, tied = scores.reshape(-1), matching.reshape(-1), order.reshape(-1), 0
    fixed = len(order) == 1
    for start in range(0, n, _LANES):
        stop = min(n, start + _LANES)
        part = slice(start, stop)
        _load(given[4 * start : 4 * stop], a, b, c, d)
        _bound(a, b, c, d, highest, finite)
        if wanted:
            mine = named[2 * start : 2 * stop]
            _name(a, b, c, d, mine, margin[part])
            _keep(mine, winner[part])
        if not fixed:
            _own_first(own[2 * start : 2 * stop], a, b, c, d)
        elif own[0] == 1:
            _own_first(own, a, b, c, d)
        tied |= _tell(a, b, c, d, seen[:, part], share[part])
    return highest.max() + finite.sum(), tied
