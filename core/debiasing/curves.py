"""Every group metric as an exact function of alpha, with the best interval and the validation protocol ([VGPT] 3, 4).

A member of the metrics family: it reads truth. For one image with true caption t and another caption j, the true one
wins where d > alpha * q, with d the difference of their scores and q that of their priors: one crossing point d/q for
each pair. So a row, and any "all of them" outcome, is right on one open interval of alpha; a metric is a sum of
indicators of intervals, a step function, and its steps come from sorting the ends once: no grid, but where
`validate_alpha` keeps to the paper's. R@1 from image to text over a retrieval set (Tables 3, 7 and 8) is one, too.
Source: [VGPT] Eq. 7, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sys import float_info
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from core.base.arrays import Array, _divisor, as_array, as_float64, like, to_numpy
from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.text import _KEPT, _pct, _signed, _signed_range, _true_minus, counted
from core.debiasing.debias import check_prior, debias
from core.groups import check_truth
from core.matching.groups import check_scores
from core.metrics.alpha_intervals import AlphaInputs, AlphaIntervals
from core.metrics.group_metrics import metric_entry
from core.metrics.statistics import Comparison, Estimate

_REPEATS, _STEP = 10, 0.001  # the validation protocol of [VGPT] section 5
_DECIMALS = 3  # of an alpha, at least
_NEAR = 0.05  # apart, alphas are one in a sentence
_EDGE = 0.005  # a best alpha that near to 0 or to 1, a step of the page's slider, may have better ones beyond
_HAIR = 2 * float_info.epsilon  # an alpha so near to an edge is that edge: 0.1 + 0.2 is 0.3


class AlphaCurve(NamedTuple):
    """A metric over alpha in [0, 1], exact: constant between neighbouring edges, and evaluated on the edges themselves.

    edges : float64 (e,), ascending, first 0 and last 1; every interior one is a crossing point.
    values : float64 (e - 1,), percent, on the open interval from edge i to edge i + 1.
    at : float64 (e,), percent, exactly on the edges. A crossing point is a tie, and a tie counts as wrong.
    ties : int64 (e,), units (groups; for IndividualMatch images) that miss on the edge only by a tie.
    squares : float64 (e - 1,), mean square of the groups' outcomes in [0, 1]: what the interval is made of.
    parts : of how many yes-or-no answers a group's outcome is the mean (IndividualMatch: m).
    """

    edges: Array
    values: Array
    at: Array
    ties: Array
    squares: Array
    parts: int = 1

    def __repr__(self) -> str:
        at = [float(self.at[0]), float(to_numpy(self.values).max()), float(self.at[-1])]
        ends = "{} % at alpha 0, {} % at the best, {} % at 1".format(*map(_pct, at))
        return f"<curve with {counted(len(self.values), 'piece')}: {ends}>"

    def value(self, alpha: float | Array) -> Array:
        """The metric in percent at any alphas in [0, 1]."""
        xp, wanted = (
            array_namespace(self.edges),
            like(np.asarray(to_numpy(alpha), dtype=np.float64), self.edges),
        )
        right = xp.searchsorted(self.edges, wanted - _HAIR, side="left")
        on_edge = self.edges[right] <= wanted + _HAIR
        return xp.where(on_edge, self.at[right], self.values[xp.clip(right - 1, 0)])

    def on_grid(self) -> Array:
        """The metric at alpha 0, 0.001, ..., 1 ([VGPT] section 5)."""
        return self.value(_alpha_grid())

    def interval(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """95 % interval over n groups on every piece of the curve, percent, two arrays (e - 1,)."""
        moments = np.stack([to_numpy(self.values) / 100, to_numpy(self.squares)])
        # Few values occur many times over.
        distinct, where = np.unique(moments.round(12), axis=1, return_inverse=True)
        mean, square = distinct
        low, high = Estimate.interval_of_moments(mean, square, n, self.parts)
        return 100 * low[where], 100 * high[where]

    def record(self) -> dict[str, list]:
        """JSON-safe: `values`, percent, hold on the open interval from one of `edges` to the next, `at` on the edge."""
        return {
            "edges": to_numpy(self.edges).tolist(),
            "values": to_numpy(self.values).round(4).tolist(),
            "at": to_numpy(self.at).round(4).tolist(),
        }

    def table(self, metric: str, more: Mapping[str, np.ndarray] | None = None) -> pd.DataFrame:
        """A row for every open step from `alpha_from` to `alpha_to`, and one for every edge, where both are the same.

        `ends` : open or closed. On an edge two scores are equal, and a tie counts as wrong. more : further columns, of
        the steps and then of the edges.
        """
        edges, steps = to_numpy(self.edges), to_numpy(self.values)
        columns = {
            "metric": metric,
            "alpha_from": np.append(edges[:-1], edges),
            "alpha_to": np.append(edges[1:], edges),
            "percent": np.append(steps, to_numpy(self.at)),
            **(more or {}),
            "ends": ["open"] * len(steps) + ["closed"] * len(edges),
        }
        return pd.DataFrame(columns).sort_values(["alpha_from", "alpha_to"], ignore_index=True)

    def best(self) -> BestAlpha:
        """The highest value with every interval that reaches it; a point alone never beats its neighbours."""
        values = to_numpy(self.values)
        intervals = to_numpy(self.edges)[_best_runs(values)]
        low, high = intervals[np.diff(intervals).argmax()].tolist()
        return BestAlpha(float(values.max()), low, high, (low + high) / 2, intervals)


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

    @property
    def _written(self) -> float:
        """The alpha that a page writes and then uses: the middle to three decimals, which a slider can be set to, or to
        as many more as lie in the interval; the metric is the same there."""
        return _shortest_within(self.low, self.high)

    def __repr__(self) -> str:
        return f"<{_pct(self.value)} % at alpha {_spans_text(self.intervals)}, tuned on test>"


def _shortest_within(low: float, high: float) -> float:
    """The middle of an open interval, rounded to the fewest decimals, three at least, that lie within.

    >>> _shortest_within(0.8, 0.999), _shortest_within(0.1231, 0.1234)
    (0.899, 0.1232)
    """
    middle = (low + high) / 2
    found = (round(middle, digits) for digits in range(_DECIMALS, 16))
    return next((alpha for alpha in found if low < alpha < high), middle)


def _alpha_text(alpha: float) -> str:
    """An alpha with three decimals, or with all that it has.

    >>> _alpha_text(0.9), _alpha_text(0.1232)
    ('0.900', '0.1232')
    """
    return max(f"{alpha:.{_DECIMALS}f}", f"{alpha:.15g}", key=len)


def _span_text(low: float, high: float, digits: int = 3) -> str:
    """From one alpha to another, or one within where both are the same as they are written.

    >>> _span_text(0.9991, 0.9994), _span_text(0.2, 0.216)
    ('0.9992', '0.200–0.216')
    """
    first, last = f"{low:.{digits}f}", f"{high:.{digits}f}"
    if first != last:
        return f"{first}–{last}"
    return first if digits < _DECIMALS else _alpha_text(_shortest_within(low, high))


def _spans_text(intervals: Iterable[Sequence[float]], most: int = 4, digits: int = 3) -> str:
    """Every span of alpha on which a metric is highest. Of more than `most` spans the one at 0, where nothing is taken
    out, and the widest, and how many more there are.

    intervals : (low, high) each, ascending, as in `BestAlpha.intervals`.

    >>> _spans_text([(0.0, 0.0032), (0.0248, 0.0386), (0.1009, 0.1359)])
    '0.000–0.003, 0.025–0.039 and 0.101–0.136'
    >>> _spans_text([(0.0, 0.0032), (0.0248, 0.0386), (0.1009, 0.1359)], most=2)
    '0.000–0.003, 0.101–0.136 and 1 more'
    """
    spans = [(float(low), float(high)) for low, high in intervals]
    widest = max(spans, key=lambda span: span[1] - span[0])
    shown = spans if len(spans) <= most else [span for span in spans if span[0] == 0 or span == widest]
    texts = [_span_text(*span, digits) for span in _joined(shown, digits)]
    texts += [f"{len(spans) - len(shown)} more"] if len(shown) < len(spans) else []
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _joined(spans: Iterable[tuple[float, float]], digits: int) -> list[tuple[float, float]]:
    """Spans, ascending, of which those that touch as they are written are one.

    >>> _joined([(0.17, 0.18), (0.1961, 0.2), (0.2032, 0.218), (0.2211, 0.224)], 2)
    [(0.17, 0.18), (0.1961, 0.224)]
    """
    found: list[tuple[float, float]] = []
    for low, high in spans:
        if found and f"{low:.{digits}f}" <= f"{found[-1][1]:.{digits}f}":
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found


def _around_text(intervals: Iterable[Sequence[float]], most: int = 4) -> str:
    """Where a metric is highest in a sentence: `around 0.21` where all spans are within a few hundredths of it (and not
    at 0) and one is there, else every span with two decimals, as in `_spans_text`. Files have three.

    >>> _around_text([(0.2007, 0.2163)]), _around_text([(0.0, 0.25), (0.75, 1.0)])
    ('around 0.21', '0.00–0.25 and 0.75–1.00')
    >>> _around_text([(0.0837, 0.0842), (0.1152, 0.1160)])
    '0.08 and 0.12'
    """
    spans = [(float(low), float(high)) for low, high in intervals]
    first, last = spans[0][0], spans[-1][1]
    middle = round((first + last) / 2, 2)
    is_one = any(low - 0.005 <= middle <= high + 0.005 for low, high in spans)  # else it is none of them
    if first > 0 and last < 1 and last - first <= _NEAR and is_one:
        return f"around {middle:.2f}"
    return _spans_text(spans, most, digits=2)


def _edge_text(value: float, intervals: Iterable[Sequence[float]]) -> str:
    """That the best alpha may lie beyond 0 or 1, where it is found at or within a step of it; "" where it is not, where
    nothing can be better, and where every alpha is as good.

    value : percent, on all of the `intervals`, as in `BestAlpha`.

    >>> _edge_text(50.0, [(0.2, 0.3), (0.992, 0.998)])
    'The best reaches the edge of 0 to 1, the range of the paper: a better one may lie above 1.'
    >>> _edge_text(50.0, [(0.2, 0.3)]), _edge_text(50.0, [(0.0, 1.0)]), _edge_text(100.0, [(0.9, 1.0)])
    ('', '', '')
    """
    spans = [(float(low), float(high)) for low, high in intervals]
    beyond = ["below 0"] * any(low <= _EDGE for low, _ in spans)
    beyond += ["above 1"] * any(high >= 1 - _EDGE for _, high in spans)
    if not beyond or value >= 100 or spans == [(0.0, 1.0)]:
        return ""
    return f"The best reaches the edge of 0 to 1, the range of the paper: a better one may lie {' or '.join(beyond)}."


class ValidatedAlpha(NamedTuple):
    """alpha chosen on one half of the groups and measured on the other, over random halvings; metrics in percent.

    alphas, values : float64 (repeats,). zero, one : the same held-out halves at alpha 0 and 1, (repeats,).
    The standard deviations divide by the number of repeats less 1, as those over seeds do; NaN of a single one.
    """

    alphas: np.ndarray
    values: np.ndarray
    zero: np.ndarray
    one: np.ndarray

    def __repr__(self) -> str:
        means = {name: f"{mean:.3g} ± {std:.2g}" for name, (mean, std) in self.summary.items()}
        return "<alpha {alphas}: {values} %; at 0 {zero} %, at 1 {one} %>".format(**means)

    @property
    def summary(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each of the four."""
        return {name: _mean_and_sd(x) for name, x in self._asdict().items()}

    @property
    def _gain(self) -> tuple[float, float]:
        """Mean and standard deviation of the gain on the held-out halves over alpha 0 on the same ones, in points."""
        return _mean_and_sd(self.values - self.zero)

    def _gained(self) -> str:
        """`_gain` in a sentence, for a headline that has its two ends, and the single ones."""
        mean, std = self._gain
        gained = f"Held-out gain: {_signed(mean)} points (± {_pct(std)} SD over splits)."
        return f"{_true_minus(gained)} {self._paired()}"

    def _paired(self) -> str:
        """The gains of the single halvings, each against alpha 0 on the same groups: how far they lie apart."""
        gains = self.values - self.zero
        ends = _signed_range(float(gains.min()), float(gains.max()))
        return _true_minus(f"The {len(gains)} paired gains: {ends} points.")

    def _to_quote(self, metric: str, label: str) -> dict[str, Any]:
        """`_gain`, the line that says it, and the line of both its ends, `held_out`: means over the same held-out
        halves, which are others than those of all groups."""
        mean, std = self._gain
        does, points = "gains" if mean >= 0 else "loses", f"{_pct(abs(mean))} points of {label}"
        quoted = f"quote this (± {_pct(std)}, SD of ten splits)"
        line = f"Chosen on one half of the data, α {does} {points} on the other: {quoted}."
        zero, value = (self.summary[name][0] for name in ("zero", "values"))
        ends = (
            f"Held out: {label} {_pct(zero)} % at α = 0 → {_pct(value)} % at the chosen α. {self._paired()}"
        )
        found = {"metric": metric, "mean": round(mean, _KEPT), "std": round(std, _KEPT)}
        found |= {"alpha_0": round(zero, _KEPT), "value": round(value, _KEPT)}
        return {**found, "line": line, "held_out": ends}

    def record(self) -> dict[str, Any]:
        """JSON-safe, with how the paper's protocol makes it."""
        alpha, value, zero, one = (
            {"mean": round(mean, _KEPT), "std": round(std, _KEPT)} for mean, std in self.summary.values()
        )
        rest = {"value": value, "alpha_0": zero, "alpha_1": one}
        return {"label": "held out", "repeats": _REPEATS, "step": _STEP, "alpha": alpha, **rest}


def _mean_and_sd(values: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of a sample, n - 1; NaN of a single value.

    >>> _mean_and_sd([1.0, 3.0, 5.0])
    (3.0, 2.0)
    """
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else float("nan")


def alpha_curve(scores: Array, prior: Array, truth: Array, metric: str) -> AlphaCurve:
    """The exact curve of a metric over alpha in [0, 1].

    Parameters
    ----------
    scores : float (n, m, k), log P(t|i). prior : float (n, k), log P_train(t). truth : int (n, m).
    metric : a name of `core.metrics.groups.METRICS`; its own alpha rule is followed.

    250,000 groups take well under a second. GroupMatch on square groups and ImageScore are constant. Raises InputError
    for shapes that do not fit, non-finite values, an unknown metric or one that such groups do not have.
    Source: [VGPT] Eq. 7.

    >>> curve = alpha_curve(np.array([[[-2.0, -1.0]]]), np.array([[-4.0, -1.0]]), np.array([[0]]), "text_score")
    >>> curve.edges.round(4).tolist(), curve.values.tolist()  # right once the common caption's lead of 3 counts 1/3
    ([0.0, 0.3333, 1.0], [0.0, 100.0])
    """
    return _curve(_intervals(scores, prior, truth, metric))


def _intervals(scores: Array, prior: Array, truth: Array, metric: str) -> AlphaIntervals:
    """The intervals of alpha on which each group, or each part of one that counts by itself, is right."""
    array = as_float64(check_scores(scores))
    rule, own = metric_entry(metric, *array.shape[1:]).alpha, check_truth(truth, *array.shape)
    return rule.spans(AlphaInputs.of(array, check_prior(prior, array), like(own, array)))


def _curve(s: AlphaIntervals) -> AlphaCurve:
    xp, n = array_namespace(s.low), len(s.low)
    u = 1 if s.disjoint else s.low.shape[1]
    live = (s.low < s.high) & (s.low < 1) & (s.high > 0)
    closed = (s.tied_low <= s.tied_high) & (s.tied_low <= 1) & (s.tied_high >= 0)
    spans, loose = (s.low[live], s.high[live]), (s.tied_low[closed], s.tied_high[closed])
    ends = xp.concat([*spans, *loose])
    ends = xp.concat([ends[(ends > 0) & (ends < 1)], like(np.array([0.0, 1.0]), ends)])
    ends = xp.sort(ends, stable=False)  # which numpy does ten times faster
    edges = ends[xp.concat([ends[:1] == ends[:1], ends[1:] != ends[:-1]])]
    between, at = _covered(edges[:-1], *spans, "right"), _covered(edges, *spans, "left")
    ties = _covered(edges, *loose, "closed") - at
    between, at = as_float64(between), as_float64(at)
    squares = between / _divisor(n, between) if u == 1 else _second_moment(edges[:-1], s, "right")
    parts = _divisor(n * u, between)
    return AlphaCurve(edges, 100 * between / parts, 100 * at / parts, ties, squares, u)


def _covered(edges: Array, low: Array, high: Array, where: str) -> Array:
    """How many open intervals cover each edge ("left") or what follows it up to the next edge ("right"), int64 (e,).

    The same of closed intervals with their ends ("closed"). Between two edges no interval begins or ends.
    """
    xp = array_namespace(edges)
    sides = {"left": ("left", "right"), "right": ("right", "right"), "closed": ("right", "left")}[where]
    # All are sorted: places of sorted numbers are found many times faster.
    begun, ended = (
        xp.searchsorted(xp.sort(x, stable=False), edges, side=side)
        for x, side in zip((low, high), sides, strict=True)
    )
    return begun - ended


def _second_moment(edges: Array, s: AlphaIntervals, where: str) -> Array:
    """Mean over groups of (share of right images)^2: pairs of images are right together on an interval, too. where : of
    each edge, as of `_covered`."""
    xp, (n, u) = array_namespace(edges), s.low.shape
    total = xp.zeros_like(edges)
    for i in range(u):
        for j in range(i, u):
            low, high = xp.maximum(s.low[:, i], s.low[:, j]), xp.minimum(s.high[:, i], s.high[:, j])
            live = (low < high) & (low < 1) & (high > 0)
            total += (1 if i == j else 2) * _covered(edges, low[live], high[live], where)
    return total / _divisor(n * u * u, total)


def _sure_table(s: AlphaIntervals, metric: str, chance: float) -> pd.DataFrame:
    """`AlphaCurve.table` with what stands beside each percentage: `alpha`, the middle of every step, the 95 % interval
    over the groups as `low` and `high`, `chance` in percent, and the `ties`."""
    curve, n = _curve(s), len(s.low)
    between, at = to_numpy(curve.values), to_numpy(curve.at)
    squares = at / 100 if curve.parts == 1 else to_numpy(_second_moment(curve.edges, s, "left"))
    moments = np.append(between, at) / 100, np.append(to_numpy(curve.squares), squares)
    low, high = (100 * end for end in Estimate.interval_of_moments(*moments, n, curve.parts))
    middles = (curve.edges[:-1] + curve.edges[1:]) / 2
    loose = s.tied_low <= s.tied_high
    tied = to_numpy(_covered(middles, s.tied_low[loose], s.tied_high[loose], "closed"))
    ties = np.append(tied - np.rint(between / 100 * n * curve.parts), to_numpy(curve.ties)).astype(np.int64)
    more = {
        "low": low.round(4),
        "high": high.round(4),
        "chance": np.full(len(ties), round(chance, 4)),
        "ties": ties,
    }
    table = curve.table(metric, more)
    table.insert(1, "alpha", (table["alpha_from"] + table["alpha_to"]) / 2)
    return table


def _best_runs(values: np.ndarray) -> np.ndarray:
    """The runs of the largest value, int (r, 2): where each begins, and where it has ended."""
    best = np.concatenate([[False], values == values.max(), [False]])
    return np.flatnonzero(np.diff(best)).reshape(-1, 2)


def _centre_of_longest_best(values: np.ndarray) -> int:
    """Index at the centre of the longest run of the largest value; of equally long runs, the one nearest the middle.

    Deterministic and without a preference for small or large alphas, unlike an argmax.
    """
    starts, stops = _best_runs(values).T
    centres = (starts + stops - 1) / 2
    order = np.lexsort((np.abs(centres - (len(values) - 1) / 2), starts - stops))
    return int(centres[order[0]])


def _alpha_grid(step: float = _STEP) -> np.ndarray:
    """Alphas from 0 to 1 inclusive; `step` divides 1 (0.001 in [VGPT])."""
    count = round(1 / step)
    return np.arange(count + 1) / count


def validate_alpha(
    scores: Array,
    prior: Array,
    truth: Array,
    metric: str,
    repeats: int = _REPEATS,
    step: float = _STEP,
    seed: int = 0,
) -> ValidatedAlpha:
    """alpha* from a random half of the groups, the metric on the other half, `repeats` times ([VGPT] section 5).

    Arguments as in `alpha_curve`; alpha* is searched on the grid 0, step, ..., 1, and of several best grid points the
    centre of their longest run is taken. Seeded; an odd group is held out. Raises InputError for fewer than two groups.
    """
    return _validated(_intervals(scores, prior, truth, metric), repeats, step, seed)


def _outcomes_over_alpha(s: AlphaIntervals) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of groups at alpha 0, (n,), and in the middle of up to 100 steps of their curve, (n, a).

    Steps are taken evenly by their number, whatever the metric does on them, as a test over all of them asks.
    """
    edges = to_numpy(_curve(s).edges)
    most = max(10, min(100, 5_000_000 // len(s.low)))
    some = np.unique(np.linspace(0, len(edges) - 2, most).astype(int))
    low, high = to_numpy(s.low), to_numpy(s.high)

    def right(alpha: float) -> np.ndarray:
        found = (low < alpha) & (alpha < high)
        return np.asarray(found.any(axis=1) if s.disjoint else found.mean(axis=1))

    middles = (edges[some] + edges[some + 1]) / 2
    return right(0.0), np.stack([right(alpha) for alpha in middles], axis=1).astype(np.float32)


def _validated(all_spans: AlphaIntervals, repeats: int, step: float, seed: int) -> ValidatedAlpha:
    alphas, n, rng, rows = _alpha_grid(step), len(all_spans.low), np.random.default_rng(seed), []
    if n < 2:
        raise InputError(f"{n} group cannot be split into a validation half and a held-out half; use more.")
    for _ in range(repeats):
        order = rng.permutation(n)
        halves = (all_spans.select(np.sort(half)) for half in (order[: n // 2], order[n // 2 :]))
        validation, held_out = map(_curve, halves)
        chosen = alphas[_centre_of_longest_best(to_numpy(validation.value(alphas)))]
        rows.append((chosen, *to_numpy(held_out.value(np.array([chosen, 0.0, 1.0])))))
    return ValidatedAlpha(*np.array(rows).T)


class RecallCurve:
    """R@1 from image to text over alpha, exact: an `AlphaCurve` of images; those without a caption are left out."""

    def __init__(self, intervals: AlphaIntervals) -> None:
        self._intervals = intervals
        self.curve = _curve(intervals)
        self.count = len(intervals.low)  # images

    def gain(self, alpha: float) -> tuple[Comparison, float, float, int, float]:
        """R@1 at the best alpha against alpha 0, p over all alphas, and what they rest on: `Comparison.of_best`."""
        return Comparison.of_best(*_outcomes_over_alpha(self._intervals), self.hits(alpha))

    def hits(self, alpha: float) -> np.ndarray:
        """Which images are right at one alpha, bool (count,)."""
        return self._intervals.right_at(alpha)

    def validated(self, repeats: int = _REPEATS, step: float = _STEP, seed: int = 0) -> ValidatedAlpha:
        """alpha* from a random half of the images, R@1 of the other half; all captions stay. As `validate_alpha`."""
        return _validated(self._intervals, repeats, step, seed)


def recall_curve(scores: Array, prior: Array, relevant: Array) -> RecallCurve:
    """R@1 from image to text at every alpha in [0, 1], exactly.

    scores : float (N, M), log P(t|i). prior : float (M,). relevant : bool (M, N). Numpy arrays or torch tensors; the
    curve is numpy's. Each of an image's captions is above all others on one interval, from a crossing point per other
    caption, and the image is right on their union. Raises InputError for shapes that do not fit and values that are
    not finite.
    """
    array, belongs = to_numpy(as_float64(as_array(scores))), to_numpy(relevant)
    debias(scores, prior, 1.0)  # looks at both
    if belongs.shape != array.T.shape or not belongs.any():
        raise InputError(
            f"What belongs together, of shape {belongs.shape} (captions, images), gives scores of shape "
            f"{array.shape} (images, captions) nothing to retrieve; check the set."
        )
    return RecallCurve(AlphaIntervals.of_retrieval(array, to_numpy(as_float64(as_array(prior))), belongs))
