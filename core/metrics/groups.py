"""Metrics on groups: scores measured against truth, with chance levels, tie counts and intervals (METHODS 2).

Every "correct" test is strict: a tie counts as wrong, and is counted. What each metric is says `core.metrics.table`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
from array_api_compat import array_namespace, device

from core.base.arrays import Array, like, to_numpy
from core.base.errors import InputError
from core.groups import check_truth
from core.matching.blocks import map_blocks
from core.matching.comparisons import View, labels_of
from core.matching.global_match import AllPairs, match_global
from core.matching.groups import Matches, check_form, match_block
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
    description_of,
    headline_metrics,
    metric_entry,
    metrics_of_shape,
    yes_or_no,
)

_RESAMPLES = 10_000


class Outcome(NamedTuple):
    """A metric's outcome per group, and bool (n,) where only a tie made it less.

    value : bool (n,) where a metric holds or not, float64 (n,) in [0, 1] where it is a share. Metrics that coincide on
    a shape (all of them on groups of one image) may share their arrays: read them, do not write to them.
    """

    value: Array
    tied: Array

    def kind(self, index: int) -> str:
        """`right`, `wrong` or `tie`: whether it holds for a group, or misses only by a tie."""
        if self.value[index] == 1:
            return "right"
        return "tie" if self.tied[index] else "wrong"


class Estimate(NamedTuple):
    """A mean over groups in percent, its 95 % interval, its chance level in percent and its count of tied groups.

    ties : None where nobody counted them, which is another thing than none.
    """

    value: float
    low: float
    high: float
    chance: float
    ties: int | None

    def record(self) -> dict[str, Any]:
        """JSON-safe: value, low, high and chance to 4 decimals, and ties."""
        return {name: round(getattr(self, name), 4) for name in self._fields[:4]} | {"ties": self.ties}


def chance(name: str, m: int, k: int) -> float:
    """Probability in [0, 1] that a metric holds for uniform i.i.d. scores ([TTM] Propositions 1-4)."""
    return metric_entry(name, m, k).chance(m, k)


def outcomes(scores: Array, truth: Array, names: Sequence[str] | None = None) -> dict[str, Outcome]:
    """Each metric's outcome for every group; arguments and errors as of `match_and_evaluate`."""
    return match_and_evaluate(scores, truth, names)[1]


def match_and_evaluate(
    scores: Array, truth: Array, names: Sequence[str] | None = None
) -> tuple[Matches, dict[str, Outcome]]:
    """Induced matchings, exact margins and each metric's outcome in one pass over the scores.

    Parameters
    ----------
    scores : float (n, m, k), a numpy array or a torch tensor. truth : int (n, m), the caption of each image.
    names : of metrics; by default all that groups of this shape have.

    Raises InputError for a wrong shape, a non-finite score or a wrong truth (naming the group), an unknown metric or
    one that groups of this shape do not have.
    """
    array = check_form(scores)
    xp, where, (n, m, k) = array_namespace(array), device(array), array.shape
    truth = like(truth, array)
    if truth.shape != (n, m) or not xp.isdtype(truth.dtype, "integral"):
        check_truth(truth, n, m, k)  # raises
    known = metrics_of_shape(m, k)
    rules = {name: metric_entry(name, m, k).rule(m, k) for name in (known if names is None else names)}
    held = {METRICS[name].rule(m, k) for name in yes_or_no(known)}  # or not: no shares
    matches, none = Matches.empty(array), xp.broadcast_to(xp.asarray(False, device=where), (n,))
    room = {
        rule: Outcome(xp.empty(n, dtype=xp.bool if rule in held else xp.float64, device=where), none)
        for rule in rules.values()
    }
    ties: list[tuple[Rule, slice, Array]] = []  # few blocks hold one

    def work(part: slice, columns: Array) -> None:
        found, place = match_block(array, part, columns, matches)
        own = labels_of(truth[part], k)
        if own is None:
            check_truth(truth, n, m, k)  # raises
        assert own is not None
        view = View.of(array[part], columns, truth[part], own, found, place)
        for rule, outcome in room.items():
            value, tied = rule(view)
            into = outcome.value[part]
            into[...] = value
            if xp.isdtype(value.dtype, "unsigned integer"):
                into /= m
            if tied is not None:
                ties.append((rule, part, tied))

    map_blocks(array, work)
    for rule, part, tied in ties:
        if room[rule].tied is none:
            room[rule] = room[rule]._replace(tied=xp.zeros_like(none))
        room[rule].tied[part] = tied
    return matches, {name: room[rule] for name, rule in rules.items()}


def evaluate(
    scores: Array, truth: Array, names: Sequence[str] | None = None, seed: int = 0
) -> dict[str, Estimate]:
    """Every metric over all groups with interval, chance level and tie count, in percent.

    >>> evaluate(np.array([[[2.0, 1.9], [1.5, 1.6]]]), np.array([[0, 1]]))["group_match"].value
    100.0
    """
    _, m, k = check_form(scores).shape
    found = outcomes(scores, truth, names)
    return {
        name: estimate(o.value, 100 * chance(name, m, k), int(o.tied.sum()), seed)
        for name, o in found.items()
    }


def estimate(values: Array, chance_percent: float, ties: int | None = 0, seed: int = 0) -> Estimate:
    """Mean of per-group outcomes in [0, 1] as a percentage with its 95 % percentile bootstrap interval."""
    array = to_numpy(values)
    low, high = bootstrap(array, seed=seed)
    return Estimate(100 * float(np.mean(array)), 100 * low, 100 * high, chance_percent, ties)


def bootstrap(
    values: Array, level: float = 0.95, resamples: int = _RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval for the mean of `values` (n,) over groups.

    Outcomes take few distinct values, so a resample is one multinomial draw of their counts: exactly the same
    distribution as drawing groups with replacement, without touching the groups.
    """
    array = to_numpy(values)
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
    """Two runs on the same groups: difference second minus first in percentage points, and an exact p.

    The p value is that of the sign test over the groups where the two differ, which for outcomes of 0 and 1 is
    McNemar's exact test (a group that a metric counts in parts, as IndividualMatch, is better, worse or equal).
    """

    difference: float
    low: float
    high: float
    fixed: int  # groups where the second is better: only it has them right
    broken: int  # groups where the first is better
    p_value: float


def compare(first: Array, second: Array, seed: int = 0) -> Comparison:
    """Paired comparison of outcomes (n,), 0 to 1, on the same groups: paired bootstrap and exact sign test."""
    a, b = (to_numpy(values).astype(np.float64) for values in (first, second))
    if a.shape != b.shape:
        raise InputError(
            f"Two runs can only be compared on the same groups; they have {a.shape} and {b.shape}."
        )
    low, high = bootstrap(b - a, seed=seed)
    fixed, broken = int((b > a).sum()), int((a > b).sum())
    p = float(scipy.stats.binomtest(fixed, fixed + broken).pvalue) if fixed + broken else 1.0
    return Comparison(100 * float((b - a).mean()), 100 * low, 100 * high, fixed, broken, p)


class ThresholdCurve(NamedTuple):
    """Selection by margin, exact at every threshold (no grid): three arrays, one entry per distinct margin.

    threshold : descending margins. coverage : share of groups with margin >= threshold.
    precision : share of those whose induced matching is the true one.
    """

    threshold: Array
    coverage: Array
    precision: Array


def threshold_curve(matches: Matches, truth: Array) -> ThresholdCurve:
    """Coverage and precision of the pseudo-labels over every threshold; tied groups are never selected."""
    xp, right = array_namespace(matches.margin), _is_true(matches.matching, truth)
    order = xp.argsort(matches.margin, descending=True, stable=False)
    order = order[~matches.tied[order]]
    margin, hits = matches.margin[order], xp.cumulative_sum(xp.astype(right[order], xp.int64))
    (last,) = xp.nonzero(xp.concat([margin[1:] != margin[:-1], xp.ones_like(order[:1], dtype=xp.bool)]))
    chosen = xp.astype(last + 1, xp.float64)
    return ThresholdCurve(margin[last], chosen / len(right), hits[last] / chosen)


def precision(matching: Array, selected: Array, truth: Array) -> float | None:
    """Share of the selected groups (bool (n,)) whose matching (n, m) is the true one; None if none is selected."""
    right = _is_true(matching, truth)[selected]
    return float(to_numpy(right).mean()) if len(right) else None


def oracle_mask(truth: Array) -> Callable[[Matches], Array]:
    """The skyline's selector: exactly the groups whose induced matching is right ([TTM] section 4.5).

    The only way in which test-time matching learns anything from truth; pages label it so.
    """
    return lambda matches: _is_true(matches.matching, truth)


def _is_true(matching: Array, truth: Array) -> Array:
    """Where a matching int (n, m) is the true one, bool (n,)."""
    return array_namespace(matching).all(matching == like(truth, matching), axis=1)


def global_match(scores: Array | AllPairs, truth: Array, per_group: int = 1, seed: int = 0) -> Estimate:
    """Share of images that the one global assignment gives their own caption, in percent ([TTM] 3.2.1).

    scores : float (N, M), N <= M, or `AllPairs`; truth : int (N,), the column that belongs to each image. `per_group`
    consecutive images form one group, the unit that the interval resamples. Chance level 1/M. Columns are shuffled
    (seeded) before they are assigned, so that ties fall at random and never to the file's order; they are not counted
    (finding them means solving N further assignments).
    """
    pairs = AllPairs.of(scores)
    order = np.random.default_rng(seed).permutation(pairs.captions)
    right = order[to_numpy(match_global(pairs.permute_captions(order)))] == to_numpy(truth)
    return estimate(right.reshape(-1, per_group).mean(axis=1), 100 / pairs.captions, None, seed)
