"""Every group metric as an exact function of alpha, with the best interval and the validation protocol (METHODS 5).

A member of the metrics family: it reads truth. For one image with true caption t and another caption j, the true one
wins where d > alpha * q, with d the difference of their scores and q that of their priors: one crossing point d/q for
each pair. So a row, and any "all of them" outcome, is right on one open interval of alpha; a metric is a sum of
indicators of intervals, a step function, and its steps come from sorting the ends once: no grid, but in
`validate_alpha`, which keeps to the paper's.
Source: [VGPT] Eq. 7, section 5.
"""

from __future__ import annotations

from functools import cached_property, reduce
from itertools import permutations
from math import perm
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom, norm

from core.debiasing.debias import check_prior, grid, longest_best, split_halves
from core.groups import check_truth
from core.matching.groups import MAX_ENUMERATED, check_scores
from core.metrics.groups import outcomes
from core.metrics.spans import NARROWER, AlphaView, Spans, constant, half_lines
from core.metrics.table import GROUP_MATCH, entry


class AlphaCurve(NamedTuple):
    """A metric over alpha in [0, 1], exact: constant between neighbouring edges, and evaluated on the edges themselves.

    edges : float64 (e,), ascending, first 0 and last 1; every interior one is a crossing point.
    values : float64 (e - 1,), percent, on the open interval from edge i to edge i + 1.
    at : float64 (e,), percent, exactly on the edges. A crossing point is a tie, and a tie counts as wrong.
    ties : int64 (e,), units (groups; for IndividualMatch images) that miss on the edge only by a tie.
    squares : float64 (e - 1,), mean square of the groups' outcomes in [0, 1]: what the interval is made of.
    """

    edges: np.ndarray
    values: np.ndarray
    at: np.ndarray
    ties: np.ndarray
    squares: np.ndarray

    def value(self, alpha: float | np.ndarray) -> np.ndarray:
        """The metric in percent at any alphas in [0, 1]."""
        wanted = np.asarray(alpha, dtype=np.float64)
        right = np.searchsorted(self.edges, wanted, side="left")
        between = self.values[np.clip(right - 1, 0, len(self.values) - 1)]
        return np.where(self.edges[np.minimum(right, len(self.edges) - 1)] == wanted, self.at[right], between)


class BestAlpha(NamedTuple):
    """Where a curve is highest. It is an optimum on the very groups it was computed from: label it "tuned on test".

    value : percent. low, high : the widest interval that reaches it (open at crossing points). alpha : its middle.
    intervals : float64 (r, 2), all intervals that reach it, neighbours merged.
    """

    value: float
    low: float
    high: float
    alpha: float
    intervals: np.ndarray


class Validated(NamedTuple):
    """alpha chosen on one half of the groups and measured on the other, over random halvings; metrics in percent.

    alphas, values : float64 (repeats,). zero, one : the same held-out halves at alpha 0 and 1, (repeats,).
    The standard deviations divide by the number of repeats, as numpy does.
    """

    alphas: np.ndarray
    values: np.ndarray
    zero: np.ndarray
    one: np.ndarray

    @property
    def summary(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each of the four."""
        return {name: (float(x.mean()), float(x.std())) for name, x in self._asdict().items()}


def spans(scores: np.ndarray, prior: np.ndarray, truth: np.ndarray, metric: str) -> Spans:
    """The intervals of alpha on which each group, or each part of one that counts by itself, is right.

    scores : float (n, m, k), log P(t|i). prior : float (n, k). truth : int (n, m). metric : a name of `METRICS`, whose
    alpha rule is asked.
    """
    array = check_scores(scores).astype(np.float64)
    rule = entry(metric, *array.shape[1:]).alpha
    return rule.spans(_View(array, check_prior(prior, array), check_truth(truth, *array.shape)))


class _View(AlphaView):
    """The parts of `AlphaView`, computed."""

    @cached_property
    def rows(self) -> Spans:
        """From a crossing point per true/other pair."""
        n, m, k = self.scores.shape
        groups, images = np.arange(n)[:, None], np.arange(m)[None, :]
        d = self.scores[groups, images, self.truth][:, :, None] - self.scores  # (n, m, k)
        q = np.take_along_axis(self.prior, self.truth, axis=1)[:, :, None] - self.prior[:, None, :]
        own = np.zeros((n, m, k), dtype=bool)
        own[groups, images, self.truth] = True
        d[own], q[own] = np.inf, 0.0  # its own caption is no rival
        return half_lines(d, q)

    @cached_property
    def columns(self) -> Spans:
        """Constant: what alpha subtracts from a caption is the same for all images."""
        m = self.shape[0]
        columns = np.take_along_axis(self.scores, self.truth[:, None, :], axis=2)  # (n, image, true caption)
        lead = np.einsum("nii->ni", columns)[:, None, :] - columns
        lead[:, range(m), range(m)] = np.inf
        least = reduce(np.minimum, lead.transpose(1, 0, 2))
        return constant(least > 0, least >= 0)

    @cached_property
    def matching(self) -> Spans:
        """Constant for m = k: every bijection uses every caption, so alpha takes the same from all totals."""
        m, k = self.shape
        if m < k:
            return _matching_spans(self.scores, self.prior, self.truth)
        value, tied = outcomes(self.scores, self.truth, [GROUP_MATCH])[GROUP_MATCH]
        return constant(value[:, None], (value | tied)[:, None])


def _matching_spans(scores: np.ndarray, prior: np.ndarray, truth: np.ndarray) -> Spans:
    """The matching for m < k: the true one's total against every other injective matching's."""
    n, m, k = scores.shape
    if perm(k, m) > MAX_ENUMERATED:
        rows = [_crossings(*group) for group in zip(scores, prior, truth, strict=True)]
        return Spans(*(np.array(part)[:, None] for part in zip(*rows, strict=True)))
    true_score = np.take_along_axis(scores, truth[:, :, None], axis=2)[:, :, 0]
    true_prior = np.take_along_axis(prior, truth, axis=1)
    found = [np.full(n, fill) for fill in (-np.inf, np.inf, -np.inf, np.inf)]
    for option in permutations(range(k), m):
        # Differences edge by edge, then summed: the edges that a matching shares with the true one cancel exactly.
        d, q, own = np.zeros(n), np.zeros(n), np.ones(n, dtype=bool)
        for i, j in enumerate(option):
            d += true_score[:, i] - scores[:, i, j]
            q += true_prior[:, i] - prior[:, j]
            own &= truth[:, i] == j
        d[own] = np.inf
        for part, new, keep in zip(found, half_lines(d[:, None], q[:, None]).parts, NARROWER, strict=True):
            keep(part, new, out=part)
    return Spans(*(part[:, None] for part in found))


def _crossings(scores: np.ndarray, prior: np.ndarray, truth: np.ndarray) -> tuple[float, float, float, float]:
    """The span of one group too large to enumerate, as `Spans` fields.

    The margin of the true matching over its best rival is concave in alpha: a minimum of lines, one per rival. So it is
    above zero on one interval; walk to its ends from 0 and from 1, and look whether it is above zero between them.
    """
    tiny = 1e-12 * (np.abs(scores).max() + np.abs(prior).max() + 1)
    low, high = (_walk(scores, prior, truth, way, tiny) for way in (1, -1))
    middle = (max(low, 0.0) + min(high, 1.0)) / 2
    if low < high and _lead(scores, prior, truth, middle)[0] > tiny:
        return low, high, low, high
    return np.inf, -np.inf, np.inf, -np.inf


def _walk(scores: np.ndarray, prior: np.ndarray, truth: np.ndarray, way: int, tiny: float) -> float:
    """The end of the interval that is met first from 0 upwards (way 1) or from 1 downwards (way -1); infinite if none.

    Each step goes to where the line of the current best rival crosses zero: a finite number of them.
    """
    start = alpha = (1 - way) / 2
    while True:
        gap, d, q = _lead(scores, prior, truth, alpha)
        if gap > tiny and alpha == start:
            return -way * np.inf
        if gap >= -tiny:
            return alpha
        crossing = d / q if q * way < 0 else np.inf
        if not 0 <= crossing <= 1:
            return way * np.inf
        alpha = crossing


def _lead(
    scores: np.ndarray, prior: np.ndarray, truth: np.ndarray, alpha: float
) -> tuple[float, float, float]:
    """The true matching's lead over its best rival at alpha, and that rival's d and q."""
    rows, rival = np.arange(len(truth)), _best_rival(scores - alpha * prior, truth)
    d = float((scores[rows, truth] - scores[rows, rival]).sum())
    q = float((prior[truth] - prior[rival]).sum())
    return d - alpha * q, d, q


def _best_rival(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The best injective matching other than the true one: it avoids at least one true edge, so forbid each in turn."""
    rows = np.arange(len(truth))
    found = []
    for i in rows:
        forbidden = scores.copy()
        forbidden[i, truth[i]] = -np.inf
        found.append(linear_sum_assignment(forbidden, maximize=True)[1])
    return max(found, key=lambda matching: scores[rows, matching].sum())


def alpha_curve(scores: np.ndarray, prior: np.ndarray, truth: np.ndarray, metric: str) -> AlphaCurve:
    """The exact curve of a metric over alpha in [0, 1].

    Parameters
    ----------
    scores : float (n, m, k), log P(t|i). prior : float (n, k), log P_train(t). truth : int (n, m).
    metric : a name of `core.metrics.groups.METRICS`; its own alpha rule is followed.

    250,000 groups take well under a second. GroupMatch on square groups and ImageScore are constant. Raises InputError
    for shapes that do not fit, non-finite values, an unknown metric or one that such groups do not have.
    Source: [VGPT] Eq. 7; METHODS 5.

    >>> curve = alpha_curve(np.array([[[-2.0, -1.0]]]), np.array([[-4.0, -1.0]]), np.array([[0]]), "text_score")
    >>> curve.edges.round(4).tolist(), curve.values.tolist()  # right once the common caption's lead of 3 counts 1/3
    ([0.0, 0.3333, 1.0], [0.0, 100.0])
    """
    return _curve(spans(scores, prior, truth, metric))


def _curve(s: Spans) -> AlphaCurve:
    n, u = s.low.shape
    live, closed = s.low < s.high, s.tied_low <= s.tied_high
    ends = np.concatenate([s.low[live], s.high[live], s.tied_low[closed], s.tied_high[closed]])
    inside = ends[(ends > 0) & (ends < 1)]
    edges = np.unique(np.concatenate([[0.0], inside, [1.0]]))
    between, at = _counts(edges, s.low[live], s.high[live])
    _, loose = _counts(edges, s.tied_low[closed], s.tied_high[closed], closed=True)
    squares = between / n if u == 1 else _second_moment(edges, s)
    return AlphaCurve(edges, 100 * between / (n * u), 100 * at / (n * u), loose - at, squares)


def _counts(
    edges: np.ndarray, low: np.ndarray, high: np.ndarray, closed: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """How many intervals cover each piece between edges (e - 1,) and each edge (e,); ends are edges or outside."""
    e, near = len(edges), (low <= 1) & (high >= 0)
    # Each end counts by itself, so both are sorted: places of sorted numbers are found many times faster.
    low, high = np.sort(low[near]), np.sort(high[near])
    begin = np.searchsorted(edges, low, side="left")  # first edge that is not left of the interval
    end = np.searchsorted(edges, high, side="right") - 1  # last edge that is not right of it
    between = _running(begin, end, e)[: e - 1]
    open_begin = begin + ((low >= 0) & (not closed))
    open_end = end - ((high <= 1) & (not closed))
    return between, _running(open_begin, open_end + 1, e)


def _running(begin: np.ndarray, stop: np.ndarray, e: int) -> np.ndarray:
    """Coverage of places 0 to e - 1 by half-open index ranges [begin, stop), their ends in any order."""
    change = np.bincount(begin, minlength=e + 1) - np.bincount(stop, minlength=e + 1)
    return np.cumsum(change[:e])


def _second_moment(edges: np.ndarray, s: Spans) -> np.ndarray:
    """Mean over groups of (share of right images)^2: pairs of images are right together on an interval, too."""
    n, u = s.low.shape
    total = np.zeros(len(edges) - 1)
    for i in range(u):
        for j in range(i, u):
            low, high = np.maximum(s.low[:, i], s.low[:, j]), np.minimum(s.high[:, i], s.high[:, j])
            live = low < high
            total += (1 if i == j else 2) * _counts(edges, low[live], high[live])[0]
    return total / (n * u * u)


def interval(curve: AlphaCurve, n: int, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Percentile bootstrap interval over n groups on every piece of the curve, percent, two arrays (e - 1,).

    No resampling: for outcomes of 0 and 1 the bootstrap's mean is binomial, so its quantiles are exact. For
    IndividualMatch, whose outcomes lie between, the normal quantiles of the same bootstrap, cut at 0 and 100.
    """
    share, tail = curve.values / 100, (1 - level) / 2
    if np.allclose(curve.squares, share, rtol=1e-9, atol=0):  # outcomes of 0 and 1 are their own squares
        # Few shares occur many times over.
        shares, where = np.unique(np.round(share * n) / n, return_inverse=True)
        low, high = (100 * binom.ppf(q, n, shares)[where] / n for q in (tail, 1 - tail))
        return low, high
    reach = norm.ppf(1 - tail) * np.sqrt(np.maximum(curve.squares - share**2, 0) / n)
    return 100 * np.clip(share - reach, 0, 1), 100 * np.clip(share + reach, 0, 1)


def best_alpha(curve: AlphaCurve) -> BestAlpha:
    """The highest value of a curve with every interval that reaches it; a point alone never beats its neighbours."""
    best = curve.values.max()
    reached = np.concatenate([[False], curve.values == best, [False]]).astype(int)
    starts, stops = np.flatnonzero(np.diff(reached) == 1), np.flatnonzero(np.diff(reached) == -1)
    intervals = np.column_stack([curve.edges[starts], curve.edges[stops]])
    width = intervals[:, 1] - intervals[:, 0]
    low, high = intervals[width.argmax()]
    return BestAlpha(float(best), float(low), float(high), float((low + high) / 2), intervals)


def validate_alpha(
    scores: np.ndarray,
    prior: np.ndarray,
    truth: np.ndarray,
    metric: str,
    repeats: int = 10,
    step: float = 0.001,
    seed: int = 0,
) -> Validated:
    """alpha* from a random half of the groups, the metric on the other half, `repeats` times ([VGPT] section 5).

    Arguments as in `alpha_curve`; alpha* is searched on the grid 0, step, ..., 1, and of several best grid points the
    centre of their longest run is taken. Seeded. Raises InputError for fewer than two groups.
    """
    all_spans = spans(scores, prior, truth, metric)
    alphas = grid(step)
    rows = []
    for validation, held_out in split_halves(len(all_spans.low), repeats, seed):
        chosen = alphas[longest_best(_curve(all_spans.select(validation)).value(alphas))]
        rows.append((chosen, *_curve(all_spans.select(held_out)).value(np.array([chosen, 0.0, 1.0]))))
    return Validated(*np.array(rows).T)
