"""Which coverage an interval of a share can have at all, and which of six intervals has what: summed over all counts.

Nothing is drawn. An interval says of each share p which counts out of n it holds p for; its coverage at p is how likely
one of these counts is. `benchmarks.results.coverage` writes the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import betainc, ndtri
from scipy.stats import binom

INSIDE = (0.93, 0.97)
_TAIL = 0.025
_Z = -ndtri(_TAIL)
_GRID = np.arange(1, 2000) / 2000


def _clopper_pearson(count: np.ndarray, n: int, p: np.ndarray) -> np.ndarray:
    return (binom.sf(count - 1, n, p) > _TAIL) & (binom.cdf(count, n, p) > _TAIL)


def _mid_p(count: np.ndarray, n: int, p: np.ndarray) -> np.ndarray:
    half = binom.pmf(count, n, p) / 2
    return (binom.sf(count, n, p) + half > _TAIL) & (binom.cdf(count, n, p) - half > _TAIL)


def _blaker(count: np.ndarray, n: int, p: np.ndarray) -> np.ndarray:
    """Canadian J. Statistics 28, 2000: p is held unless counts with as small a tail are rarer than 5 %."""
    tail = np.minimum(binom.sf(count - 1, n, p), binom.cdf(count, n, p))
    order = np.argsort(tail, axis=0)
    sorted_tail = np.take_along_axis(tail, order, axis=0)
    total = np.cumsum(np.take_along_axis(binom.pmf(count, n, p), order, axis=0), axis=0)
    held = np.empty(tail.shape, dtype=bool)
    for i in range(tail.shape[1]):
        last = np.searchsorted(sorted_tail[:, i], tail[:, i] * (1 + 1e-9), side="right") - 1
        held[:, i] = total[last, i] > 2 * _TAIL
    return held


def _wilson(count: np.ndarray, n: int, p: np.ndarray) -> np.ndarray:
    return np.abs(count - n * p) <= _Z * np.sqrt(n * p * (1 - p))


def _agresti_coull(count: np.ndarray, n: int, p: np.ndarray) -> np.ndarray:
    more = n + _Z**2
    middle = (count + _Z**2 / 2) / more
    return np.abs(middle - p) <= _Z * np.sqrt(middle * (1 - middle) / more)


def _jeffreys(count: np.ndarray, n: int, p: np.ndarray) -> np.ndarray:
    below = betainc(count + 0.5, n - count + 0.5, p)
    return ((below >= _TAIL) | (count == 0)) & ((below <= 1 - _TAIL) | (count == n))


INTERVALS: dict[str, Callable[[np.ndarray, int, np.ndarray], np.ndarray]] = {
    "Clopper-Pearson": _clopper_pearson, "Blaker": _blaker, "mid-P": _mid_p, "Wilson": _wilson,
    "Agresti-Coull": _agresti_coull, "Jeffreys": _jeffreys,
}  # fmt: skip


def attainable(n: int, p: float, likeliest: bool = False) -> tuple[float, float]:
    """The coverages that come closest to 93 to 97 % at p, from below and from above; twice the same inside.

    Of every run of neighbouring counts, or of those only that leave out no count likelier than one they hold.
    """
    chances = binom.pmf(np.arange(n + 1), n, p)
    if likeliest:
        levels = np.unique(chances.round(14))
        found = np.array([chances[chances >= level - 1e-13].sum() for level in levels])
    else:
        ends = np.concatenate([[0.0], np.cumsum(chances)])
        found = (ends[None, :] - ends[:, None])[np.triu_indices(n + 2, 1)]
    low, high = INSIDE
    inside = found[(found >= low) & (found <= high)]
    if len(inside):
        closest = float(inside[np.abs(inside - 0.95).argmin()])
        return closest, closest
    return float(found[found < low].max(initial=0.0)), float(found[found > high].min(initial=1.0))


def cells_table(sizes: Sequence[int], shares: Sequence[float]) -> str:
    """One row per setting with p up to 0.5 (above, right and wrong change places): attainable and had, percent."""
    heads = ["n", "p", "any run of counts", "likeliest counts", *INTERVALS]
    lines = [heads, ["---"] * len(heads)]
    for n in sizes:
        for p in (share for share in shares if share <= 0.5):
            near = [_near(attainable(n, p, likeliest)) for likeliest in (False, True)]
            held = [_covered(n, np.array([p]), holds)[0] for holds in INTERVALS.values()]
            lines.append([str(n), str(p), *near, *(f"{100 * share:.1f}" for share in held)])
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def methods_table(sizes: Sequence[int], shares: Sequence[float]) -> str:
    """One row per interval: settings inside, least and mean there, and over all p; how often it errs to one side."""
    heads = ["interval", "settings inside", "below 93", "least", "mean", "least over all p", "mean over all p",
             "above p, at most", "mean width at n 30"]  # fmt: skip
    lines = [heads, ["---"] * len(heads)]
    for name, holds in INTERVALS.items():
        here = np.concatenate([_covered(n, np.array(shares), holds) for n in sizes])
        everywhere = [_covered(n, _GRID, holds) for n in sizes]
        above = max(_above(n, _GRID, holds).max() for n in sizes)
        numbers = (here.min(), here.mean(), np.min(everywhere), np.mean(everywhere), above, _width(30, holds))
        inside = ((here >= INSIDE[0]) & (here <= INSIDE[1])).sum()
        counts = (f"{inside} of {len(here)}", str((here < INSIDE[0]).sum()))
        lines.append([name, *counts, *(f"{100 * x:.1f}" for x in numbers)])
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def count_attainable(sizes: Sequence[int], shares: Sequence[float], likeliest: bool) -> int:
    """At how many settings a coverage of 93 to 97 % can be had at all."""
    return sum(INSIDE[0] <= attainable(n, p, likeliest)[0] for n in sizes for p in shares)


def _near(found: tuple[float, float]) -> str:
    low, high = (f"{100 * share:.1f}" for share in found)
    return low if low == high else f"**{low} or {high}**"


def _covered(n: int, p: np.ndarray, holds: Callable[..., np.ndarray]) -> np.ndarray:
    """Coverage at each p, float64 like p."""
    counts = np.arange(n + 1)[:, None]
    return (binom.pmf(counts, n, p) * holds(counts, n, p)).sum(axis=0)


def _above(n: int, p: np.ndarray, holds: Callable[..., np.ndarray]) -> np.ndarray:
    """How often the whole interval lies above p: what says "better than guessing" of a system that guesses."""
    counts = np.arange(n + 1)[:, None]
    return (binom.pmf(counts, n, p) * (~holds(counts, n, p) & (counts > n * p))).sum(axis=0)


def _width(n: int, holds: Callable[..., np.ndarray]) -> float:
    """Mean width over p, from how many p of a grid each count is held for."""
    counts = np.arange(n + 1)[:, None]
    widths = holds(counts, n, _GRID).mean(axis=1)
    return float((binom.pmf(counts, n, _GRID) * widths[:, None]).sum(axis=0).mean())
