"""Metrics over alpha, log P(t) of true and false captions, stability of priors, retrieval inside the training set."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.text import _pct
from core.debiasing.curves import AlphaCurve
from core.debiasing.study import PriorStability
from core.figures._margins import with_threshold_line
from core.figures._style import (
    MAX_STEPS,
    OUTCOME_COLOURS,
    SERIES,
    _percent_ends,
    _percent_floor,
    band,
    faint,
    hatched,
    layout,
    line,
)
from core.metrics.groups import IMAGE_TO_TEXT, METRICS
from core.metrics.statistics import Estimate

_SEEN = 0.005  # of alpha: three pixels of the strip
_AT_ZERO = 0.012  # of alpha: a mark at 0 that the slider's line, there at first, does not hide
_STRIP = 7  # pixels: the height of the strip that shows where a metric is highest
_BEHIND = 0.9  # opacity of the other curves: below 0.86 the greens have less than 3 : 1 on the light page
_LETTERS, _LABEL = (
    16,
    0.3,
)  # the numbers of the peak: pixels of their line, and the share of the axis on a small screen
_AROUND_PEAK = {
    "right": (0, 1),
    "left": (-1, 0),
}  # of `_LABEL`, by the side of the numbers
_AROUND = 90  # pixels of the figure's height above and below its axes, about


class _AlphaData(NamedTuple):
    """Metrics over alpha as steps: `x` the edges of the pieces (e,), `y` percent on each piece (e - 1,), per metric.

    bands : 95 % interval on each piece, (e - 1,) twice. best : where `shaded` is highest, (r, 2), each low and high.
    peak : 0 where that is among these, else the middle of the widest, and the percentage there.
    held : `shaded` on groups that did not choose alpha, percent; None where nobody knows it.
    """

    x: dict[str, np.ndarray]
    y: dict[str, np.ndarray]
    bands: dict[str, tuple[np.ndarray, np.ndarray]]
    chance: dict[str, float]
    shaded: str
    best: np.ndarray
    peak: tuple[float, float]
    held: float | None = None


def alpha_data(
    curves: Mapping[str, AlphaCurve], n: int, chance: Mapping[str, float], shaded: str
) -> _AlphaData:
    """Exact curves of n groups for `alpha_figure`; `shaded` names the metric of which it is shown where it is highest.

    A curve of more than MAX_STEPS pieces keeps the first one that begins in each pixel; numbers beside the figure come
    from the whole curve.
    """
    x, y, bands = {}, {}, {}
    for name, curve in curves.items():
        low, high = curve.interval(n)
        keep = np.arange(len(curve.values))
        if len(keep) > MAX_STEPS:
            keep = np.flatnonzero(np.diff((curve.edges[:-1] * MAX_STEPS).astype(int), prepend=-1))
        x[name] = np.append(curve.edges[keep], 1.0)
        y[name] = curve.values[keep]
        bands[name] = low[keep], high[keep]
    best = curves[shaded].best()
    peak = 0.0 if best.intervals[0, 0] == 0 else best._written
    return _AlphaData(x, y, bands, dict(chance), shaded, best.intervals, (peak, best.value))


def alpha_figure(data: _AlphaData, alpha: float | None = None, height: int = 380) -> go.Figure:
    """Steps of every metric, faint but for one: of it also its 95 % band, its chance level, a mark where it is highest
    and a strip below. The axis is that of the curves; a chance level far below them has no line, the legend has its
    number."""
    figure = go.Figure()
    name = data.shaded
    low, high = data.bands[name]
    for edge, fill in ((low, None), (high, "tonexty")):
        x, y = _steps(data.x[name], edge)
        figure.add_scatter(
            x=x,
            y=y,
            fill=fill,
            fillcolor=faint(METRICS[name].colour, 0.14),
            line={"width": 0, "shape": "hv"},
            mode="lines",
            hoverinfo="skip",
            showlegend=fill is not None,
            name="95 % band",
        )
    for metric, values in data.y.items():
        entry = METRICS[metric]
        width, opacity = (3.4, 1.0) if metric == name else (2.0, _BEHIND)
        x, y = _steps(data.x[metric], values)
        line(
            figure, x, y, entry.label, entry.colour, dash=entry.dash, width=width, shape="hv", opacity=opacity
        )
    chance, (bottom, top) = data.chance[name], _percent_range(data)
    figure.add_hline(
        y=chance,
        line={"color": OUTCOME_COLOURS["tie"], "width": 2, "dash": "2px,3px"},
        name=f"chance {_pct(chance)} %" + ("" if _chance_is_on_axis(data) else " ↓"),
        showlegend=True,
    )
    _mark_peak(figure, data, height)
    layout(figure, height, "alpha: how much of the language prior is removed", "", percent=True)
    figure.update_xaxes(range=[-0.01, 1.01], dtick=0.25, hoverformat=".3f")  # the digits of the slider
    figure.update_yaxes(range=[bottom, top], dtick=25 if top - bottom > 80 else 10)
    _strip(figure, data, height)
    return figure if alpha is None else with_threshold_line(figure, alpha)


def _percent_range(data: _AlphaData) -> tuple[float, float]:
    """The ends of the percent axis: all curves and the band, and the chance level unless it is so far below them that
    it would press them together."""
    bands, chance = data.bands[data.shaded], data.chance[data.shaded]
    return _percent_ends(np.concatenate([*data.y.values(), *bands]), [chance])


def _has_star(data: _AlphaData) -> bool:
    """Whether the highest point is marked: none where the metric never changes, or alpha 0, which removes nothing, is
    as good as the best."""
    alpha, value = data.peak
    return alpha > 0 and data.y[data.shaded].min() < value


def _has_strip(data: _AlphaData) -> bool:
    """Whether the strip can be seen: not where the metric is highest at alpha 0 alone, at the edge."""
    return float(np.ptp(data.best, axis=1).sum()) > _SEEN


def _chance_is_on_axis(data: _AlphaData) -> bool:
    """Whether the chance level has a line, or lies so far below the curves that it has a number alone."""
    return data.chance[data.shaded] >= _percent_range(data)[0]


def _mark_peak(figure: go.Figure, data: _AlphaData, height: int) -> None:
    """A point on the curve where the shaded metric is highest, with its numbers where no curve runs through them: its
    value, tuned on these groups, and below it the one to quote, of groups that did not choose alpha."""
    if not _has_star(data):
        return
    alpha, value = data.peak
    entry = METRICS[data.shaded]
    side = _peak_side(data)
    figure.add_scatter(
        x=[alpha, alpha],
        y=[value, _free_height(data, side, height)],
        mode="markers+text",
        marker={
            "color": entry.colour,
            "size": 13,
            "opacity": [1, 0],  # the second keeps the numbers as far from the line at alpha as from a star
            "symbol": "star",
            "line": {"color": "white", "width": 1},
        },
        text=["", "<br>".join(_peak_lines(data))],
        textposition=f"middle {side}",
        name=f"{entry.label}: highest",
        hoverinfo="skip",
        showlegend=False,
    )


def _name_chance(figure: go.Figure, data: _AlphaData, height: int, drawn: Collection[str]) -> go.Figure:
    """The chance level by name in the plot, where no curve runs through it, in place of its entry in the legend; and a
    second time, unseen, for a page whose line at alpha runs through the first (`ui.moving_line`).

    drawn : the metrics whose curves the figure has; one that is left out keeps no room.
    """
    for level in figure.layout.shapes:
        if level.type == "line":
            level.showlegend = False
            first = _chance_place(data, height, drawn)
            second = _chance_place(data, height, drawn, first)
            for (x, y, anchor), opacity in [(first, 1), (second, 0)][: 1 + (second != first)]:
                figure.add_annotation(
                    text=level.name,
                    x=x,
                    xanchor=anchor,
                    y=y,
                    yanchor="middle",
                    showarrow=False,
                    font={"size": 12},
                    opacity=opacity,
                )
    return figure


def _chance_place(
    data: _AlphaData, height: int, drawn: Collection[str], taken: tuple[float, float, str] | None = None
) -> tuple[float, float, str]:
    """Alpha, percent and the side that is anchored there, of the chance level's name: as near to its line as neither
    a curve nor the numbers of the peak lie, right of the middle before left of it. taken : a place at whose alphas it
    shall not be; where there is no other, that one."""
    bottom, top = _percent_range(data)
    line = _LETTERS * (top - bottom) / (height - _AROUND)
    floor = bottom + _STRIP * (top - bottom) / (height - _AROUND) + 0.6 * line  # the strip is below it
    level, peak = max(data.chance[data.shaded], bottom), _peak_numbers(data, height)
    ends = {
        "right": (0.99, -_LABEL, 0.0),
        "left": (0.01, 0.0, _LABEL),
        "center": (0.5, -_LABEL / 2, _LABEL / 2),
    }
    if taken is not None:
        ends = {a: end for a, end in ends.items() if a != taken[2] and "center" not in (a, taken[2])} or {
            a: end for a, end in ends.items() if a != taken[2]
        }
    steps = np.arange(0.7, 40, 0.1) * line
    for y in np.stack([level + steps, level - steps], axis=1).ravel():
        for anchor, (x, first, last) in ends.items():
            here = [_values_within(data, name, x + first, x + last) for name in drawn]
            is_beside = _has_star(data) and peak[0] < x + last and peak[1] > x + first
            here += [_peak_heights(data, peak[2], line)] * is_beside
            far = np.abs(np.concatenate(here) - y).min(initial=np.inf) > 0.9 * line
            if far and floor <= y <= top - 0.5 * line:
                return x, float(y), anchor
    return taken or (0.99, float(max(level + 0.7 * line, floor)), "right")


def _peak_numbers(data: _AlphaData, height: int) -> tuple[float, float, float]:
    """From which alpha to which, and at which percent, the numbers of the peak stand."""
    side = _peak_side(data)
    low, high = _AROUND_PEAK[side]
    alpha = data.peak[0]
    return alpha + low * _LABEL, alpha + high * _LABEL, _free_height(data, side, height)


def _peak_heights(data: _AlphaData, middle: float, line: float) -> np.ndarray:
    """The percentages at which the lines of the peak's numbers stand. line : the height of one, percent."""
    count = len(_peak_lines(data))
    return middle + line * (np.arange(count) - (count - 1) / 2)


def _peak_lines(data: _AlphaData) -> list[str]:
    """The numbers of the peak, a line each."""
    held = [] if data.held is None else [f"{_pct(data.held)} % held out"]
    return [f"{_pct(data.peak[1])} % " + ("tuned" if held else "(tuned)"), *held]


def _peak_side(data: _AlphaData) -> str:
    """On which side of the peak its numbers stand: beside it, since a page's line at alpha opens on it."""
    return "right" if data.peak[0] <= 0.5 else "left"


def _free_height(data: _AlphaData, side: str, height: int) -> float:
    """Where the numbers of the peak stand, percent: the height nearest to its mark, above it before below it, at which
    neither a curve nor the chance level crosses them; where there is none, right above."""
    (alpha, value), (bottom, top) = data.peak, _percent_range(data)
    # its lines of text in percent
    line = len(_peak_lines(data)) * _LETTERS * (top - bottom) / (height - _AROUND)
    low, high = _AROUND_PEAK[side]
    first, last = alpha + low * _LABEL, alpha + high * _LABEL
    level = [data.chance[data.shaded]]  # its dotted line struck a number through
    crossed = np.concatenate([*(_values_within(data, name, first, last) for name in data.y), level])
    steps = np.arange(1.1, 8, 0.25) * line
    near = 8 // len(_peak_lines(data))  # steps
    for place in np.concatenate([value + steps[:near], value - steps, value + steps[near:]]):
        clear = np.abs(crossed - place).min(initial=np.inf) > 0.75 * line
        if clear and bottom + line < place < top - 0.5 * line:
            return float(place)
    return float(value + steps[0])


def _values_within(data: _AlphaData, metric: str, first: float, last: float) -> np.ndarray:
    """The values that a curve has from one alpha to another; its upright steps are between them."""
    edges, values = data.x[metric], data.y[metric]
    here = values[(edges[:-1] < last) & (edges[1:] > first)]
    return np.linspace(here.min(), here.max(), 50) if len(here) else here


def _strip(figure: go.Figure, data: _AlphaData, height: int) -> None:
    """Where the shaded metric is highest, along the lower edge: fragments of a few thousandths are ticks there, where
    bands as high as the figure hid the curves."""
    colour = METRICS[data.shaded].colour
    share = _STRIP / (height - _AROUND)
    for i, (low, high) in enumerate(data.best.tolist()):
        figure.add_shape(
            type="rect",
            x0=low,
            x1=max(high, _AT_ZERO) if low <= 0 else high,
            yref="paper",
            y0=0,
            y1=share,
            fillcolor=colour,
            line={"color": colour, "width": 1},  # else a narrow span would not be seen
            layer="above",
            legendgroup="highest",
            name="highest",
            showlegend=i == 0,
        )


def _steps(edges: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x and y of a line of shape `hv`, in the precision of a screen: half as much to send."""
    return edges.astype(np.float32), np.append(values, values[-1]).astype(np.float32)


class _FrequencyData(NamedTuple):
    """Histograms of log P(t): percent of the true and of the false captions per bin; `false` is empty without any."""

    edges: np.ndarray
    true: np.ndarray
    false: np.ndarray


def frequency_data(true: np.ndarray, false: np.ndarray, bins: int = 30) -> _FrequencyData:
    """log P(t) of captions that belong to an image and of those that do not, over common bins."""
    both = np.concatenate([true, false])
    low, high = float(both.min()), float(both.max())
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    shares = [100 * np.histogram(v, edges)[0] / len(v) if len(v) else np.zeros(0) for v in (true, false)]
    return _FrequencyData(edges, *shares)


def frequency_figure(data: _FrequencyData) -> go.Figure:
    """The two histograms over each other."""
    figure = go.Figure()
    centres, width = (data.edges[:-1] + data.edges[1:]) / 2, np.diff(data.edges)
    for name, shares, kind, shape in (
        ("✓ captions of an image", data.true, "right", ""),
        ("✗ captions of no image", data.false, "wrong", "/"),
    ):
        if not len(shares):
            continue
        figure.add_bar(
            x=centres,
            y=shares,
            width=width,
            name=name,
            marker=hatched(OUTCOME_COLOURS[kind], shape),
            opacity=0.62,
            hovertemplate="%{y:.1f} %",
        )
    whose = "% of the captions of each kind" if len(data.false) else "% of the captions"
    layout(figure, 300, "log P(t), the language prior", whose)
    return figure.update_layout(barmode="overlay")


def stability_figure(rows: Mapping[str, Sequence[PriorStability]], what: str = "value") -> go.Figure:
    """A metric at its best alpha (`what` "value"), or that alpha ("alpha"), over the number of images.

    rows : by the name of the images that priors were drawn from. Bars: one standard deviation over draws.
    """
    figure = go.Figure()
    for (name, stabilities), (colour, dash) in zip(rows.items(), SERIES, strict=False):
        mean, std = np.array([getattr(row, what) for row in stabilities]).T
        line(
            figure, [row.size for row in stabilities], mean, name, colour, "%{y:.2f}",
            dash=dash, width=2.4, marker={"size": 8}, error=std,
        )  # fmt: skip
    title = {"value": "TextScore at its best alpha, %", "alpha": "best alpha"}[what]
    layout(figure, 280, "images that the prior is sampled from", title)
    figure.update_xaxes(type="log", tickvals=sorted({row.size for sizes in rows.values() for row in sizes}))
    return figure.update_yaxes(rangemode="normal")


class _TrainsetData(NamedTuple):
    """R@1 from image to text over alpha for every size of the set, percent; and the best alphas."""

    alpha: np.ndarray
    values: dict[int, np.ndarray]
    best: dict[int, tuple[float, float]]
    unit: str = "pairs"


def trainset_data(records: Sequence[Mapping[str, Any]], unit: str = "pairs") -> _TrainsetData:
    """Records of `benchmarks.results.training_set.training_retrieval`; `unit` is what their sizes count."""
    return _TrainsetData(
        np.array(records[0]["curve"]["alpha"]),
        {int(r["size"]): np.array(r["curve"]["value"]) for r in records},
        {int(r["size"]): (float(r["alpha"]), float(r["best"]["value"])) for r in records},
        unit,
    )


def trainset_figure(data: _TrainsetData) -> go.Figure:
    """One curve per size, its best alpha marked."""
    figure = go.Figure()
    for (size, values), (colour, dash) in zip(data.values.items(), SERIES, strict=False):
        line(figure, data.alpha, values, f"{size} {data.unit}", colour, dash=dash, width=2.4)
        x, y = data.best[size]
        figure.add_scatter(
            x=[x],
            y=[y],
            mode="markers",
            marker={"color": colour, "size": 12, "symbol": "star"},
            showlegend=False,
            hovertemplate=f"best alpha {x:.3f}: %{{y:.1f}} %",
        )
    layout(figure, 340, "alpha", "R@1, image to text", percent=True)
    lowest = min(float(values.min()) for values in data.values.values())
    # At every 25 % two of four curves ran below the lowest number.
    figure.update_yaxes(range=[_percent_floor(lowest), 104], dtick=10)
    return figure.update_xaxes(range=[-0.01, 1.01], dtick=0.25, hoverformat=".3f")


class _RetrievalData(NamedTuple):
    """R@1 from image to text over alpha with the 95 % interval of its images, percent, and its chance level.

    marks : what is pointed at, by its name in the legend: alpha, percent and the symbol.
    """

    alpha: np.ndarray
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    chance: float
    marks: dict[str, tuple[float, float, str]]


def _retrieval_data(stored: Mapping[str, Any]) -> _RetrievalData:
    """From a record as `benchmarks.results.alpha retrieval` stores it: the band is Clopper and Pearson's of the
    share of its images, as in `RetrievalStudy.curve_table`."""
    shares = np.array(stored["curve"]["value"]) / 100
    low, high = Estimate.interval_of_moments(shares, shares, stored["images"])
    named = {
        "alpha_0": ("α = 0", "circle"),
        "alpha_1": ("α = 1", "circle"),
        "from_validation": ("α of validation", "diamond-open"),
        "best": ("best α, tuned", "star"),
    }
    marks = {
        name: (stored[row]["alpha"], stored[row]["metrics"][IMAGE_TO_TEXT]["value"], symbol)
        for row, (name, symbol) in named.items()
    }
    chance = stored["alpha_0"]["metrics"][IMAGE_TO_TEXT]["chance"]
    return _RetrievalData(
        np.array(stored["curve"]["alpha"]), 100 * shares, 100 * low, 100 * high, chance, marks
    )


def _retrieval_figure(data: _RetrievalData) -> go.Figure:
    """The curve with its band and its chance level, both ends marked, and beside the alpha that is tuned on these
    images the one that other images chose."""
    figure, (colour, _) = go.Figure(), SERIES[0]
    band(figure, data.alpha, data.low, data.high, colour)
    figure.data[-1].update(showlegend=True, name="95 % band")
    line(figure, data.alpha, data.values, "R@1", colour, width=2.4, showlegend=False)
    figure.add_hline(
        y=data.chance,
        line={"color": OUTCOME_COLOURS["tie"], "width": 2, "dash": "2px,3px"},
        name=f"chance {_pct(data.chance)} %",
        showlegend=True,
    )
    for name, (x, y, symbol) in data.marks.items():
        figure.add_scatter(
            x=[x],
            y=[y],
            mode="markers",
            name=name,
            showlegend=symbol != "circle",
            marker={
                "color": colour,
                "size": 15 if symbol == "diamond-open" else 12 if symbol == "star" else 8,
                "symbol": symbol,
                "line": {"width": 2 if symbol == "diamond-open" else 0, "color": colour},
            },
            hoverinfo="skip",
        )
    layout(figure, 340, "alpha", "R@1, image to text", percent=True)
    lowest, highest = min(float(data.low.min()), data.chance), float(data.high.max())
    figure.update_yaxes(range=[_percent_floor(lowest), min(104.0, 5 * np.ceil(highest / 5) + 5)], dtick=10)
    return figure.update_xaxes(range=[-0.01, 1.01], dtick=0.25, hoverformat=".3f")
