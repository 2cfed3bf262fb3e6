"""Metrics on groups: the one reader of truth, with chance levels, tie counts and intervals (METHODS 2).

Every "correct" test is strict: a tie counts as wrong, and is counted. Sources: [TTM] Eq. 1, sections 3.1 and 4.5,
appendix B; Winoground (Thrush et al. 2022) for the text and image scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial, perm
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from core.errors import InputError, unknown_name
from core.groups import check_truth
from core.matching import Matches, check_scores, match, match_global, rounding

RESAMPLES = 10_000


class Outcome(NamedTuple):
    """A metric's outcome per group: float64 (n,) in [0, 1], and bool (n,) where only a tie made it less."""

    value: np.ndarray
    tied: np.ndarray


class Estimate(NamedTuple):
    """A mean over groups in percent, its 95 % interval, its chance level in percent and its count of tied groups."""

    value: float
    low: float
    high: float
    chance: float
    ties: int


class _View(NamedTuple):
    """What the metrics compare: everything re-indexed by truth once. Shapes (n, m) unless said."""

    true: np.ndarray  # score of each image's own caption
    row_rival: np.ndarray  # best other caption of that image
    column_rival: np.ndarray  # best other image of that caption; -inf when m = 1
    matches: Matches
    right: np.ndarray  # (n,) the induced matching is the true one
    almost: np.ndarray  # (n,) the true matching's total equals the best total, but is not alone there


def _view(scores: np.ndarray, truth: np.ndarray, matches: Matches | None) -> _View:
    n, m, _ = scores.shape
    groups, images = np.arange(n)[:, None], np.arange(m)[None, :]
    true = scores[groups, images, truth]
    others = scores.copy()
    others[groups, images, truth] = -np.inf
    columns = scores[groups[:, :, None], images[:, :, None], truth[:, None, :]]  # (n, image, true caption)
    columns[:, np.arange(m), np.arange(m)] = -np.inf
    found = match(scores) if matches is None else matches
    right = (found.matching == truth).all(axis=1)
    almost = found.tied & _total_is_best(scores, truth)
    return _View(true, others.max(axis=2), columns.max(axis=1), found, right, almost)


def _total_is_best(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Where raising the true matching by a hair more than rounding would make it the only best one, (n,)."""
    n, m, _ = scores.shape
    lifted = scores.astype(np.float64)
    hair = 4 * rounding(scores)[:, None] + np.finfo(np.float64).tiny
    lifted[np.arange(n)[:, None], np.arange(m)[None, :], truth] += hair
    return (match(lifted).matching == truth).all(axis=1)


def _rows(v: _View) -> Outcome:
    return _all(v.true > v.row_rival, v.true >= v.row_rival)


def _columns(v: _View) -> Outcome:
    return _all(v.true > v.column_rival, v.true >= v.column_rival)


def _both(v: _View) -> Outcome:
    strict = (v.true > v.row_rival) & (v.true > v.column_rival)
    loose = (v.true >= v.row_rival) & (v.true >= v.column_rival)
    return _all(strict, loose)


def _matched(v: _View) -> Outcome:
    return Outcome(v.right.astype(float), v.almost)


def _single(v: _View) -> Outcome:
    strict, loose = v.true > v.row_rival, v.true >= v.row_rival
    return Outcome(strict.mean(axis=1), (strict != loose).any(axis=1))


def _all(strict: np.ndarray, loose: np.ndarray) -> Outcome:
    value, almost = np.asarray(strict.all(axis=1)), np.asarray(loose.all(axis=1))
    return Outcome(value.astype(float), almost & ~value)


def _chance_both(m: int, k: int) -> float:
    return factorial(k - 1) / factorial(2 * k - 1) if m == k else k**-m


@dataclass(frozen=True)
class Metric:
    """A group metric that can explain itself on a page."""

    label: str
    formula: str  # LaTeX
    meaning: str
    reference: str
    outcome: Callable[[_View], Outcome]
    chance: Callable[[int, int], float]  # (m, k) -> probability for i.i.d. continuous scores


# For m < k GroupScore asks for the rows alone ([TTM] B.2); the columns of its images are then an extension.
METRICS: dict[str, Metric] = {
    "text_score": Metric(
        "TextScore",
        r"\forall i:\; s_{i\pi^*(i)} > \max_{j\neq\pi^*(i)} s_{ij}",
        "For every image, its own caption scores strictly highest.",
        "Winoground text score; [TTM] B.2 for m < k",
        _rows,
        lambda m, k: k**-m,
    ),
    "image_score": Metric(
        "ImageScore",
        r"\forall i:\; s_{i\pi^*(i)} > \max_{l\neq i} s_{l\pi^*(i)}",
        "For every true caption, its own image scores strictly highest.",
        "Winoground image score = Cola multi-object accuracy; an extension for m < k",
        _columns,
        lambda m, k: m**-m,
    ),
    "group_score": Metric(
        "GroupScore",
        r"\text{TextScore} \wedge \text{ImageScore}",
        "Both at once: each true score is strictly the largest of its row and of its column.",
        "[TTM] Eq. 1; Winoground group score",
        _both,
        _chance_both,
    ),
    "group_match": Metric(
        "GroupMatch",
        r"\sum_i s_{i\pi^*(i)} > \sum_i s_{i\pi(i)} \;\; \forall \pi\neq\pi^*",
        "The true matching has the strictly highest total of all matchings.",
        "[TTM] section 3.1",
        _matched,
        lambda m, k: 1 / perm(k, m),
    ),
    "individual_match": Metric(
        "IndividualMatch",
        r"\tfrac1m\sum_i [\, s_{i\pi^*(i)} > \max_{j\neq\pi^*(i)} s_{ij} \,]",
        "Share of single images whose own caption scores strictly highest.",
        "[TTM] section 4.5",
        _single,
        lambda m, k: 1 / k,
    ),
}


def chance(name: str, m: int, k: int) -> float:
    """Probability in [0, 1] that a metric holds for uniform i.i.d. scores ([TTM] Propositions 1-4)."""
    if name not in METRICS:
        raise unknown_name("metric", name, METRICS)
    return METRICS[name].chance(m, k)


def outcomes(
    scores: np.ndarray,
    truth: np.ndarray,
    names: Sequence[str] = tuple(METRICS),
    matches: Matches | None = None,
) -> dict[str, Outcome]:
    """Each metric's outcome for every group.

    Parameters
    ----------
    scores : float (n, m, k). truth : int (n, m), the caption of each image.
    matches : the induced matchings of these scores where they are at hand already.
    """
    array = check_scores(scores)
    n, m, k = array.shape
    view = _view(array, check_truth(truth, n, m, k), matches)
    found = {}
    for name in names:
        if name not in METRICS:
            raise unknown_name("metric", name, METRICS)
        rows_only = name == "group_score" and m < k
        found[name] = _rows(view) if rows_only else METRICS[name].outcome(view)
    return found


def evaluate(
    scores: np.ndarray,
    truth: np.ndarray,
    names: Sequence[str] = tuple(METRICS),
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


def estimate(values: np.ndarray, chance_percent: float, ties: int = 0, seed: int = 0) -> Estimate:
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
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise InputError(f"A bootstrap needs one value per group, got shape {array.shape}.")
    levels, counts = np.unique(array, return_counts=True)
    draws = np.random.default_rng(seed).multinomial(len(array), counts / len(array), size=resamples)
    low, high = np.quantile(draws @ levels / len(array), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


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

    The only place where training learns anything from truth; pages label it so.
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
    return estimate(right.reshape(-1, per_group).mean(axis=1), 100 / scores.shape[1], seed=seed)
