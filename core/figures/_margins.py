"""Margins of right and wrong matchings, and what a threshold selects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.figures._style import (
    COVERAGE_COLOUR,
    MAX_STEPS,
    OUTCOME_COLOURS,
    OUTCOME_SYMBOLS,
    PRECISION_COLOUR,
    THRESHOLD_LINE,
    _closest,
    band,
    hatched,
    layout,
    line,
)
from core.matching.groups import Matches
from core.metrics.groups import Outcome, ThresholdCurve
from core.metrics.statistics import _clopper_pearson


class MarginsData(NamedTuple):
    """A histogram of margins: counts of groups whose induced matching is right or wrong, and the tied ones.

    has_rest : whether the last bin holds the few margins that are far above the others, and is drawn as wide as these.
    """

    edges: np.ndarray  # (bins + 1,)
    right: np.ndarray  # (bins,)
    wrong: np.ndarray  # (bins,)
    tied: int  # their margin is 0; they are in no bin
    has_rest: bool = False

    @property
    def _drawn_edges(self) -> np.ndarray:
        """Where the bars begin and end in a figure."""
        return np.r_[self.edges[:-1], self.edges[-2] + self.edges[1]] if self.has_rest else self.edges

    def _place(self, margin: float) -> float:
        """Where a margin stands in a figure: within the last bar, if that one holds what is far above."""
        begin, end = self.edges[-2:]
        if not self.has_rest or margin <= begin:
            return margin
        return float(begin + (margin - begin) / (end - begin) * (self._drawn_edges[-1] - begin))

    @property
    def _rest_text(self) -> str:
        """What the last bar holds; "" where it is one like the others."""
        return (
            f"last bar: all above {self.edges[-2]:.2g}, up to {self.edges[-1]:.2g}" if self.has_rest else ""
        )


_MARGIN_AXIS = "margin: lead over the next best matching"
_FAR = 4.0  # times the margin that 95 % of the groups do not exceed: with a wider one the others were in a bar or two


def margins_data(matches: Matches, outcome: Outcome, bins: int = 24) -> MarginsData:
    """`outcome` is GroupMatch's, which says whose induced matching is right."""
    right = (outcome.value == 1) & ~matches.tied
    wrong = (outcome.value < 1) & ~matches.tied
    top = float(matches.margin.max()) or 1.0
    edges = np.linspace(0, top, bins + 1)
    usual = float(f"{np.quantile(matches.margin[~matches.tied], 0.95):.2g}") if (right | wrong).any() else top
    if has_rest := 0 < _FAR * usual < top:
        edges = np.r_[np.linspace(0, usual, bins), top]
    counts = [np.histogram(matches.margin[mask], edges)[0] for mask in (right, wrong)]
    return MarginsData(edges, counts[0], counts[1], int(matches.tied.sum()), has_rest)


def margins_figure(data: MarginsData, threshold: float | None = None, height: int = 300) -> go.Figure:
    """Stacked histogram; everything right of the threshold becomes a pseudo-label."""
    figure = go.Figure()
    edges = data._drawn_edges
    centres, width = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
    for name, counts, shape in (("right", data.right, ""), ("wrong", data.wrong, "/")):
        figure.add_bar(
            x=centres,
            y=counts,
            width=width,
            name=f"{OUTCOME_SYMBOLS[name]} matching {name}",
            marker=hatched(OUTCOME_COLOURS[name], shape),
            hovertemplate="%{y} groups",
        )
    if data.tied:
        figure.add_bar(
            x=[-width[0]],
            y=[data.tied],
            width=[width[0]],
            name=f"{OUTCOME_SYMBOLS['tie']} tie",
            marker_color=OUTCOME_COLOURS["tie"],
            hovertemplate="%{y} tied groups",
        )
        figure.add_annotation(  # left of 0, where no margin can be: it says what it is
            x=-width[0], y=data.tied, text="tied", showarrow=False, yanchor="bottom", xanchor="center"
        )  # fmt: skip
    title = f"margin; {data._rest_text}" if data.has_rest else _MARGIN_AXIS
    layout(figure, height, title, "groups")
    if data.has_rest:
        figure.add_annotation(
            x=centres[-1], y=int(data.right[-1] + data.wrong[-1]), text=f"> {data.edges[-2]:.2g}",
            showarrow=False, yanchor="bottom", xanchor="right", xshift=8,
        )  # fmt: skip
    left = -1.6 if data.tied else -0.1  # in bins: room for the bar of ties
    figure.update_xaxes(range=[left * width[0], edges[-1] + 0.1 * width[0]])
    _closest(figure, barmode="stack")
    return figure if threshold is None else with_threshold_line(figure, data._place(threshold))


def reliability_figure(bins: Sequence[Any]) -> go.Figure:
    """Share of right matchings by margin, with 95 % intervals: `core.metrics.statistics.margin_reliability`."""
    figure = go.Figure()
    x, right = [b.mean for b in bins], [b.right for b in bins]
    up, down = [e.high - e.value for e in right], [e.value - e.low for e in right]
    line(figure, x, [e.value for e in right], "right matchings", PRECISION_COLOUR, mode="lines+markers")
    figure.data[-1].error_y = {
        "array": up,
        "arrayminus": down,
        "symmetric": False,
        "thickness": 1.5,
        "width": 4,
    }
    figure.add_hline(y=right[0].chance, line={"color": OUTCOME_COLOURS["tie"], "width": 2, "dash": "2px,3px"})
    return layout(figure, 280, "margin (mean of a bin)", "", percent=True)


def with_threshold_line(figure: go.Figure, x: float) -> go.Figure:
    """The figure with a threshold, or an alpha, marked by a line from top to bottom; the one that is given stays."""
    return type(figure)(figure).add_vline(x=x, line=THRESHOLD_LINE)


class ThresholdData(NamedTuple):
    """Exact steps over ascending thresholds: percent of groups selected, and percent of those that are right, with the
    95 % interval (Clopper-Pearson) of the latter at each threshold by itself."""

    threshold: np.ndarray
    coverage: np.ndarray
    precision: np.ndarray
    low: np.ndarray
    high: np.ndarray


def threshold_data(curve: ThresholdCurve) -> ThresholdData:
    """From `metrics.threshold_curve`. Between two margins the values are those of the higher one.

    Curves of more than MAX_STEPS steps keep the first hundred (where precision jumps) and evenly spaced others:
    what is left out lies in the same pixel. Numbers beside a figure come from the whole curve.
    """
    keep = np.arange(len(curve.threshold))
    if len(keep) > MAX_STEPS:
        keep = np.unique(np.r_[keep[:100], np.linspace(100, len(keep) - 1, MAX_STEPS - 100).astype(int)])
    threshold, coverage, precision, selected = (np.asarray(a)[keep][::-1] for a in curve)
    low, high = _clopper_pearson(precision, selected)
    return ThresholdData(threshold, *(100 * each for each in (coverage, precision, low, high)))


def at_threshold(curve: ThresholdCurve, threshold: float) -> tuple[float, float | None]:
    """Exact coverage and precision in percent; no precision where nothing is selected."""
    last = int((curve.threshold >= threshold).sum()) - 1
    if last < 0:
        return 0.0, None
    return 100 * float(curve.coverage[last]), 100 * float(curve.precision[last])


def threshold_figure(data: ThresholdData, threshold: float | None = None, height: int = 300) -> go.Figure:
    """Coverage falls and precision (one hopes) rises with the threshold; shaded: the interval of the precision."""
    figure = go.Figure()
    x = np.r_[0.0, data.threshold].astype(np.float32)
    band(figure, np.repeat(x, 2)[1:-1], np.repeat(data.low, 2), np.repeat(data.high, 2), PRECISION_COLOUR)
    lines = (
        ("precision: right among the selected", data.precision, PRECISION_COLOUR, "solid"),
        ("coverage: selected groups", data.coverage, COVERAGE_COLOUR, "dash"),
    )
    for name, values, colour, dash in lines:
        y = np.r_[values[:1], values].astype(np.float32)
        line(figure, x, y, name, colour, dash=dash, width=2.5, shape="vh")
    layout(figure, height, "threshold τ on the margin", "", percent=True)
    figure.update_xaxes(range=[0, 1.01 * float(x.max()) or 1.0])
    return figure if threshold is None else with_threshold_line(figure, threshold)
