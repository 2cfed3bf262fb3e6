"""Intervals of alpha on which the parts of a metric are right: what the alpha rule of a metric is made of.

A member of the metrics family: it reads truth. A metric's rule (`Metric.alpha` in `core.metrics.group_metrics`) takes
an `AlphaInputs` of many groups and combines its parts with `all_of`; `core.debiasing.curves` makes the curve of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import permutations
from math import inf, perm
from operator import and_, or_

import numpy as np
import scipy
from array_api_compat import array_namespace

from core.base.arrays import Array, like, to_numpy
from core.matching.blocks import columns_of
from core.matching.comparisons import labels_of, strict_tests
from core.matching.groups import MAX_ENUMERATED, among_best, match


@dataclass(frozen=True)
class AlphaIntervals:
    """Where each unit is right: on the open interval (low, high) of alpha. Arrays (n, u), all float64.

    A unit is a group (u = 1), or a part of a group that counts by itself, such as an image (IndividualMatch, u = m): a
    group's outcome is the share of its units that are right. The interval is empty where low >= high. On the closed
    interval [tied_low, tied_high] the unit is right or misses only by a tie.
    disjoint : the units have no point in common, and a group is right where any of them is.
    """

    low: Array
    high: Array
    tied_low: Array
    tied_high: Array
    disjoint: bool = False

    @property
    def parts(self) -> tuple[Array, ...]:
        """The four arrays, in order."""
        return self.low, self.high, self.tied_low, self.tied_high

    @classmethod
    def of_retrieval(cls, scores: np.ndarray, prior: np.ndarray, relevant: np.ndarray) -> AlphaIntervals:
        """Where each image has one of its captions strictly above all others: R@1 from image to text, numpy.

        scores : float64 (N, M), prior : float64 (M,), relevant : bool (M, N). Images without a caption are left out.
        Decimals count as what they are on paper (`_whole_numbers`).
        """
        scores, prior = _whole_numbers(scores, prior)
        images = np.flatnonzero(relevant.any(axis=0))
        found = [cls._of_image(scores[i], prior, relevant[:, i]) for i in images]
        width = max(each.low.shape[1] for each in found)
        low, high, tied_low, tied_high = (
            np.concatenate([np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=none) for p in part])
            for none, part in zip(
                (inf, -inf, inf, -inf), zip(*(each.parts for each in found), strict=True), strict=True
            )
        )
        return cls(low, high, tied_low, tied_high, disjoint=True)

    @classmethod
    def _of_image(cls, scores: np.ndarray, prior: np.ndarray, true: np.ndarray) -> AlphaIntervals:
        """The same of one image: float64 (M,), with its captions, bool (M,)."""
        zero, one = scores[~true], (scores - prior)[~true]
        order = np.lexsort((-one, -zero))
        # Scores are lines over alpha: a caption that another one beats at 0 and at 1 is beaten between them, too.
        rivals = order[one[order] > np.maximum.accumulate(np.append(-np.inf, one[order]))[:-1]]
        others = np.flatnonzero(~true)[rivals]
        if not len(others):
            return _constant(*[np.ones((1, 1), dtype=bool)] * 2)
        d, q = (x[true][:, None] - x[others] for x in (scores, prior))
        return _any_of(_intersect_half_lines(d[None], q[None]))

    def right_at(self, alpha: float) -> np.ndarray:
        """Which groups are right at one alpha, bool (n,), where units have no point in common."""
        assert self.disjoint
        return to_numpy(((self.low < alpha) & (alpha < self.high)).any(axis=1))

    def select(self, groups: Array) -> AlphaIntervals:
        """The spans of some groups."""
        low, high, tied_low, tied_high = (part[like(groups, part)] for part in self.parts)
        return AlphaIntervals(low, high, tied_low, tied_high, self.disjoint)


# Numbers of up to so many decimals are computed with exactly.
_DECIMALS, _EXACT = 6, 2.0**48


def _whole_numbers(scores: Array, prior: Array) -> tuple[Array, Array]:
    """Scores and priors times the power of ten that makes whole numbers of them, if one does; alphas stay the same.

    Of 0.3 and 0.1 the difference is not 0.2 in binary, so that crossings that are one on paper come apart by rounding.
    Differences and totals of whole numbers are exact, and equal fractions of them round to one number. Where only one
    of the two has so few decimals, it alone becomes whole; where neither has, both stay as they are.
    """
    found = [_decimals(each) for each in (scores, prior)]
    known = [digits for digits in found if digits is not None]
    if not any(known):  # whole already, or unrounded
        return scores, prior
    scale = 10.0 ** max(known)
    xp = array_namespace(scores)
    return tuple(
        each * scale if digits is None else xp.round(each * scale)
        for each, digits in zip((scores, prior), found, strict=True)
    )  # type: ignore[return-value]


def _decimals(array: Array) -> int | None:
    """With how many decimals all of these numbers are written, up to `_DECIMALS`; None with more."""
    xp = array_namespace(array)
    flat = xp.reshape(array, (-1,))
    if not len(flat):
        return 0
    few, highest = flat[:64], float(xp.max(xp.abs(flat)))  # most unrounded numbers are told by these
    for digits in range(_DECIMALS + 1):
        scale = 10.0**digits
        if highest * scale < _EXACT and all(
            bool(xp.all(xp.round(some * scale) / scale == some)) for some in (few, flat)
        ):
            return digits
    return None


def _both(a: AlphaIntervals, b: AlphaIntervals) -> AlphaIntervals:
    """Where both hold, unit by unit."""
    xp = array_namespace(a.low)
    narrower = (xp.maximum, xp.minimum, xp.maximum, xp.minimum)
    return AlphaIntervals(*(keep(x, y) for keep, x, y in zip(narrower, a.parts, b.parts, strict=True)))


def all_of(*spans: AlphaIntervals) -> AlphaIntervals:
    """Right where all units of all of these are right: (n, u) each -> (n, 1)."""
    assert not any(s.disjoint for s in spans)
    # Unit by unit: a few times faster than a reduction along a short last axis.
    units = (
        AlphaIntervals(*(part[:, u : u + 1] for part in s.parts))
        for s in spans
        for u in range(s.low.shape[1])
    )
    return reduce(_both, units)


def _any_of(s: AlphaIntervals) -> AlphaIntervals:
    """Right where any unit of a group is: (n, u) -> (n, u), disjoint."""
    return AlphaIntervals(
        *_merged(s.low, s.high), *_merged(s.tied_low, s.tied_high, closed=True), disjoint=True
    )


def _merged(low: Array, high: Array, closed: bool = False) -> tuple[Array, Array]:
    """The union of each row's intervals, (n, u) each, as disjoint ones; what is left over is empty."""
    xp = array_namespace(low)
    empty = low > high if closed else low >= high
    low, high = xp.where(empty, inf, low), xp.where(empty, -inf, high)
    order = xp.argsort(low, axis=1)
    low, high = (xp.take_along_axis(x, order, axis=1) for x in (low, high))
    begun, ended, parts = low[:, 0], high[:, 0], []
    for i in range(1, low.shape[1]):
        joined = low[:, i] <= ended if closed else low[:, i] < ended
        parts.append((xp.where(joined, inf, begun), xp.where(joined, -inf, ended)))
        begun = xp.where(joined, begun, low[:, i])
        ended = xp.where(joined, xp.maximum(ended, high[:, i]), high[:, i])
    lows, highs = zip(*parts, (begun, ended), strict=True)
    return xp.stack(lows, axis=1), xp.stack(highs, axis=1)


def _constant(right: Array, loose: Array) -> AlphaIntervals:
    """Spans of units that alpha cannot change. right, loose : bool (n, u), the unit is right, it is right or ties."""
    xp = array_namespace(right)
    low, tied_low = (xp.astype(xp.where(x, -inf, inf), xp.float64) for x in (right, loose))
    return AlphaIntervals(low, -low, tied_low, -tied_low)


def _intersect_half_lines(d: Array, q: Array) -> AlphaIntervals:
    """Where all differences are positive, over the last axis: the intersection of { alpha : d > alpha * q }.

    d : lead of the true side at alpha = 0. q : what alpha = 1 takes from that lead.
    """
    xp = array_namespace(d)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossing = d / q
    low = _along_last(xp.maximum, xp.where(q < 0, crossing, -inf))
    high = _along_last(xp.minimum, xp.where(q > 0, crossing, inf))
    flat = q == 0
    lost, drawn = (_along_last(or_, flat & x) for x in (d < 0, d == 0))
    tied_low = xp.where(lost, inf, low)
    return AlphaIntervals(xp.where(lost | drawn, inf, low), high, tied_low, high)


def _along_last(keep: Callable[[Array, Array], Array], array: Array) -> Array:
    return reduce(keep, [array[..., j] for j in range(array.shape[-1])])


@dataclass(frozen=True)
class AlphaInputs:
    """What the alpha rules of metrics combine, over n groups of m images and k captions; computed when asked for.

    scores : float64 (n, m, k), log P(t|i). prior : float64 (n, k), log P_train(t). truth : int64 (n, m), checked; of
    groups of one image (n, t) where t captions are true.
    """

    scores: Array
    prior: Array
    truth: Array

    @classmethod
    def of(cls, scores: Array, prior: Array, truth: Array) -> AlphaInputs:
        """Decimals count as what they are on paper (`_whole_numbers`)."""
        return cls(*_whole_numbers(scores, prior), truth)

    @property
    def shape(self) -> tuple[int, int]:
        """(m, k)."""
        return self.scores.shape[1], self.scores.shape[2]

    @property
    def rows(self) -> AlphaIntervals:
        """Each image's own caption against its other captions, (n, m).

        Where several captions are true of the one image, each of them against those that are not, (n, 1).
        """
        return all_of(self._true_ones) if self.truth.shape[1] > self.shape[0] else self._true_ones

    @cached_property
    def _true_ones(self) -> AlphaIntervals:
        """Each true caption against those that are not true of its image, as `truth`: a crossing point per pair."""
        xp, (m, k) = array_namespace(self.scores), self.shape
        own, several = self.truth[:, :, None], self.truth.shape[1] > m
        scores = xp.broadcast_to(self.scores, own.shape[:2] + (k,)) if several else self.scores
        d = xp.take_along_axis(scores, own, axis=2) - scores  # (n, m, k)
        q = xp.take_along_axis(self.prior, self.truth, axis=1)[:, :, None] - self.prior[:, None, :]
        rival = own != like(np.arange(k), own)
        if several:
            rival = xp.broadcast_to(xp.all(rival, axis=1, keepdims=True), d.shape)
        return _intersect_half_lines(xp.where(rival, d, inf), xp.where(rival, q, 0.0))

    @cached_property
    def columns(self) -> AlphaIntervals:
        """Each true caption's own image against the other images, (n, m): alpha takes the same from all of them."""
        xp, own = array_namespace(self.scores), labels_of(self.truth, self.shape[1])
        assert own is not None
        _, tests = strict_tests(columns_of(self.scores), own)
        loose = [test.strict if test.loose is None else test.loose for test in tests]
        return _constant(xp.stack([test.strict for test in tests], axis=1), xp.stack(loose, axis=1))

    @cached_property
    def matching(self) -> AlphaIntervals:
        """The total of the true matching against every other matching's, (n, 1).

        Constant for m = k: every bijection uses every caption, so alpha takes the same from all totals.
        """
        m, k = self.shape
        if self.truth.shape[1] > m:
            return _any_of(self._true_ones)
        if m == k:
            return _bijections(self.scores, self.truth)
        if perm(k, m) <= MAX_ENUMERATED:
            return reduce(_both, _rivals(self.scores, self.prior, self.truth))
        groups = zip(*map(to_numpy, (self.scores, self.prior, self.truth)), strict=True)
        found = zip(*(_crossings(*group) for group in groups), strict=True)
        return AlphaIntervals(*(like(np.array(part)[:, None], self.scores) for part in found))


def _bijections(scores: Array, truth: Array) -> AlphaIntervals:
    """`AlphaInputs.matching` for m = k."""
    found, xp = match(scores), array_namespace(scores)
    right = loose = xp.all(found.matching == truth, axis=1)
    if xp.any(found.tied):
        loose = right | (found.tied & among_best(scores, truth))
    return _constant(right[:, None], loose[:, None])


def _rivals(scores: Array, prior: Array, truth: Array) -> Iterator[AlphaIntervals]:
    """The true matching of every group against each matching, (n, 1); everywhere where that is the true one itself."""
    xp, (_, m, k) = array_namespace(scores), scores.shape
    true_score = xp.take_along_axis(scores, truth[:, :, None], axis=2)[:, :, 0]
    true_prior = xp.take_along_axis(prior, truth, axis=1)
    for option in permutations(range(k), m):
        # Differences edge by edge, then summed: the edges that a matching shares with the true one cancel exactly.
        d = sum(true_score[:, i] - scores[:, i, j] for i, j in enumerate(option))
        q = sum(true_prior[:, i] - prior[:, j] for i, j in enumerate(option))
        same = reduce(and_, [truth[:, i] == j for i, j in enumerate(option)])
        yield _intersect_half_lines(xp.where(same, inf, d)[:, None, None], q[:, None, None])


def _crossings(scores: np.ndarray, prior: np.ndarray, truth: np.ndarray) -> tuple[float, float, float, float]:
    """The span of one group too large to enumerate, as `AlphaIntervals` fields.

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
        found.append(scipy.optimize.linear_sum_assignment(forbidden, maximize=True)[1])
    return max(found, key=lambda matching: scores[rows, matching].sum())
