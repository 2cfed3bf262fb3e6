"""Metrics on groups: scores measured against truth, with chance levels, tie counts and intervals (METHODS 2).

Every "correct" test is strict: a tie counts as wrong, and is counted. What each metric is says `core.metrics.table`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from core.base.errors import InputError
from core.groups import check_truth
from core.matching.blocks import Scratch, in_blocks
from core.matching.global_match import AllPairs, Rows, match_global_blocks
from core.matching.groups import Matches, check_form, empty_matches, match_global
from core.metrics import comparisons
from core.metrics.comparisons import view_of
from core.metrics.table import (
    GLOBAL,
    GLOBAL_MATCH,
    GROUP_MATCH,
    GROUP_SCORE,
    IMAGE_SCORE,
    IMAGE_TO_TEXT,
    INDIVIDUAL_MATCH,
    METRICS,
    TEXT_SCORE,
    TEXT_TO_IMAGE,
    Rule,
    described,
    entry,
    headlines,
    of_shape,
    yes_or_no,
)

__all__ = [
    "GLOBAL",
    "GLOBAL_MATCH",
    "GROUP_MATCH",
    "GROUP_SCORE",
    "IMAGE_SCORE",
    "IMAGE_TO_TEXT",
    "INDIVIDUAL_MATCH",
    "METRICS",
    "TEXT_SCORE",
    "TEXT_TO_IMAGE",
    "Comparison",
    "Estimate",
    "Outcome",
    "ThresholdCurve",
    "bootstrap",
    "chance",
    "compare",
    "described",
    "entry",
    "estimate",
    "evaluate",
    "global_match",
    "global_match_blocks",
    "headlines",
    "of_shape",
    "oracle_mask",
    "outcomes",
    "precision",
    "solve",
    "threshold_curve",
    "yes_or_no",
]

RESAMPLES = 10_000
_DENSE = 4_000_000  # scores of a matrix that is assigned as a whole; a larger one by blocks of its rows


class Outcome(NamedTuple):
    """A metric's outcome per group, and bool (n,) where only a tie made it less.

    value : bool (n,) where a metric holds or not, float64 (n,) in [0, 1] where it is a share. Metrics that coincide on
    a shape (all but ImageScore on one image) may share their arrays: read them, do not write to them.
    """

    value: np.ndarray
    tied: np.ndarray


class Estimate(NamedTuple):
    """A mean over groups in percent, its 95 % interval, its chance level in percent and its count of tied groups.

    ties : None where nobody counted them, which is another thing than none.
    """

    value: float
    low: float
    high: float
    chance: float
    ties: int | None


def chance(name: str, m: int, k: int) -> float:
    """Probability in [0, 1] that a metric holds for uniform i.i.d. scores ([TTM] Propositions 1-4)."""
    return entry(name, m, k).chance(m, k)


def outcomes(
    scores: np.ndarray,
    truth: np.ndarray,
    names: Sequence[str] | None = None,
    matches: Matches | None = None,
) -> dict[str, Outcome]:
    """Each metric's outcome for every group.

    Parameters
    ----------
    scores : float (n, m, k). truth : int (n, m), the caption of each image.
    names : of metrics; by default all that groups of this shape have.
    matches : the induced matchings of these scores where they are at hand already.

    Raises InputError for a wrong shape, a non-finite score or a wrong truth (naming the group), an unknown metric or
    one that groups of this shape do not have.
    """
    return _solve(scores, truth, names, matches)[1]


def solve(
    scores: np.ndarray, truth: np.ndarray, names: Sequence[str] | None = None
) -> tuple[Matches, dict[str, Outcome]]:
    """Induced matchings, exact margins and each metric's outcome in one pass over the scores.

    The same as `match` and `outcomes`, which say what goes in and out; a block of groups is read once for both.
    """
    return _solve(scores, truth, names, None)


def _solve(
    scores: np.ndarray, truth: np.ndarray, names: Sequence[str] | None, matches: Matches | None
) -> tuple[Matches, dict[str, Outcome]]:
    array = check_form(scores)
    n, m, k = array.shape
    truth = np.asarray(truth)
    if truth.shape != (n, m) or not np.issubdtype(truth.dtype, np.integer):
        check_truth(truth, n, m, k)  # raises
    known = of_shape(m, k)
    rules = {name: entry(name, m, k).rule(m, k) for name in (known if names is None else names)}
    held = {METRICS[name].rule(m, k) for name in yes_or_no(known)}  # or not: no shares
    found = empty_matches(array.shape) if matches is None else matches
    # One image has no rival for its caption: known without looking.
    asked = {rule for rule in rules.values() if m > 1 or rule is not comparisons.columns}
    room = {rule: np.empty(n, dtype=bool if rule in held else np.float64) for rule in asked}
    draws: dict[Rule, list[tuple[slice, np.ndarray]]] = {rule: [] for rule in asked}

    def work(part: slice, scratch: Scratch) -> None:
        ours, wanted = Matches(*(a[part] for a in found)), matches is None
        into = {rule: values[part] for rule, values in room.items()}
        view = view_of(array, truth, part, ours, wanted, scratch)
        for rule, values in into.items():
            value, tied = rule(view)
            if value is not values:
                np.copyto(values, value)
            if value.dtype == np.uint8:
                np.divide(values, m, out=values)
            if tied is not None:
                draws[rule].append((part, tied))

    in_blocks(array, work)
    done = {rule: Outcome(value, _drawn(draws[rule], n)) for rule, value in room.items()}
    return found, {name: done[rule] if rule in done else _no_rival(n) for name, rule in rules.items()}


def _drawn(draws: list[tuple[slice, np.ndarray]], n: int) -> np.ndarray:
    """Where only a tie made an outcome less, bool (n,), from the blocks that hold one; most often there is none."""
    if not draws:
        return np.broadcast_to(np.False_, n)
    tied = np.zeros(n, dtype=bool)
    for part, drawn in draws:
        tied[part] = drawn
    return tied


def _no_rival(n: int) -> Outcome:
    return Outcome(np.broadcast_to(np.True_, n), np.broadcast_to(np.False_, n))


def evaluate(
    scores: np.ndarray,
    truth: np.ndarray,
    names: Sequence[str] | None = None,
    matches: Matches | None = None,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Every metric over all groups with interval, chance level and tie count, in percent.

    >>> evaluate(np.array([[[2.0, 1.9], [1.5, 1.6]]]), np.array([[0, 1]]))["group_match"].value
    100.0
    """
    m, k = np.asarray(scores).shape[1:] if np.ndim(scores) == 3 else (0, 0)
    found = outcomes(scores, truth, names, matches)
    return {
        name: estimate(o.value, 100 * chance(name, m, k), int(o.tied.sum()), seed)
        for name, o in found.items()
    }


def estimate(values: np.ndarray, chance_percent: float, ties: int | None = 0, seed: int = 0) -> Estimate:
    """Mean of per-group outcomes in [0, 1] as a percentage with its 95 % percentile bootstrap interval."""
    low, high = bootstrap(values, seed=seed)
    return Estimate(100 * float(np.mean(values)), 100 * low, 100 * high, chance_percent, ties)


def bootstrap(
    values: np.ndarray, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval for the mean of `values` (n,) over groups.

    Outcomes take few distinct values, so a resample is one multinomial draw of their counts: exactly the same
    distribution as drawing groups with replacement, without touching the groups.
    """
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise InputError(f"A bootstrap needs one value per group, got shape {array.shape}.")
    levels, counts = _levels(array)
    draws = np.random.default_rng(seed).multinomial(len(array), counts / len(array), size=resamples)
    low, high = np.quantile(draws @ levels / len(array), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _levels(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, float64, ascending, and how often each occurs."""
    if values.dtype == bool:
        right = np.count_nonzero(values)
        counts = np.array([len(values) - right, right])
        return np.flatnonzero(counts).astype(np.float64), counts[counts > 0]
    return np.unique(values.astype(np.float64), return_counts=True)


class Comparison(NamedTuple):
    """Two runs on the same groups: difference second minus first in percentage points, and McNemar's exact p."""

    difference: float
    low: float
    high: float
    fixed: int  # groups only the second has right
    broken: int  # groups only the first has right
    p_value: float


def compare(first: np.ndarray, second: np.ndarray, seed: int = 0) -> Comparison:
    """Paired comparison of 0/1 outcomes (n,) on the same groups: paired bootstrap and exact McNemar test."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise InputError(
            f"Two runs can only be compared on the same groups; they have {a.shape} and {b.shape}."
        )
    low, high = bootstrap(b - a, seed=seed)
    fixed, broken = int(((a < 1) & (b == 1)).sum()), int(((a == 1) & (b < 1)).sum())
    p = float(binomtest(fixed, fixed + broken).pvalue) if fixed + broken else 1.0
    return Comparison(100 * float((b - a).mean()), 100 * low, 100 * high, fixed, broken, p)


class ThresholdCurve(NamedTuple):
    """Selection by margin, exact at every threshold (no grid): three arrays, one entry per distinct margin.

    threshold : descending margins. coverage : share of groups with margin >= threshold.
    precision : share of those whose induced matching is the true one.
    """

    threshold: np.ndarray
    coverage: np.ndarray
    precision: np.ndarray


def threshold_curve(matches: Matches, truth: np.ndarray) -> ThresholdCurve:
    """Coverage and precision of the pseudo-labels over every threshold; tied groups are never selected."""
    right = (matches.matching == truth).all(axis=1)
    order = np.argsort(-matches.margin, kind="stable")
    order = order[~matches.tied[order]]
    margin, hits = matches.margin[order], np.cumsum(right[order])
    last = np.flatnonzero(np.append(np.diff(margin) != 0, True)) if len(order) else np.array([], dtype=int)
    return ThresholdCurve(margin[last], (last + 1) / len(right), hits[last] / (last + 1))


def precision(matching: np.ndarray, selected: np.ndarray, truth: np.ndarray) -> float | None:
    """Share of the selected groups (bool (n,)) whose matching (n, m) is the true one; None if none is selected."""
    if not selected.any():
        return None
    return float((matching[selected] == truth[selected]).all(axis=1).mean())


def oracle_mask(truth: np.ndarray) -> Callable[[Matches], np.ndarray]:
    """The skyline's selector: exactly the groups whose induced matching is right ([TTM] section 4.5).

    The only way in which test-time matching learns anything from truth; pages label it so.
    """
    return lambda matches: (matches.matching == truth).all(axis=1)


def global_match(scores: np.ndarray, truth: np.ndarray, per_group: int = 1, seed: int = 0) -> Estimate:
    """Share of images that the one global assignment gives their own caption, in percent ([TTM] 3.2.1).

    scores : float (N, M), N <= M; truth : int (N,), the column that belongs to each image. `per_group` consecutive
    images form one group, the unit that the interval resamples. Chance level 1/M. Columns are shuffled (seeded)
    before they are assigned, so that ties fall at random and never to the file's order; they are not counted
    (finding them means solving N further assignments).
    """
    order = np.random.default_rng(seed).permutation(scores.shape[1])
    right = order[match_global(scores[:, order])] == np.asarray(truth)
    return estimate(right.reshape(-1, per_group).mean(axis=1), 100 / scores.shape[1], None, seed)


def global_match_of(pairs: AllPairs, truth: np.ndarray, per_group: int = 1, seed: int = 0) -> Estimate:
    """`global_match`, by blocks where the matrix is large. truth : int (N,), the caption of each image."""
    if pairs.images * pairs.captions <= _DENSE:
        return global_match(pairs.whole(), truth, per_group, seed)
    return global_match_blocks(pairs.rows, pairs.images, truth, pairs.captions, per_group, seed)


def global_match_blocks(
    rows: Rows, images: int, truth: np.ndarray, captions: int, per_group: int = 1, seed: int = 0
) -> Estimate:
    """The same as `global_match` from blocks of score rows: the whole matrix is never held.

    rows : gives the scores of some images with all captions, float (b, M), as
    `core.matching.global_match.match_global_blocks`
    takes them. truth : int (N,). Of several best matchings this may find another one than `global_match` does.
    """
    order = np.random.default_rng(seed).permutation(captions)
    found = match_global_blocks(lambda part: np.asarray(rows(part))[:, order], images, captions)
    right = order[found.matching] == np.asarray(truth)
    return estimate(right.reshape(-1, per_group).mean(axis=1), 100 / captions, None, seed)
