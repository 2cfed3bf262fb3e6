"""Figures: `*_data()` computes a typed tuple, `*_figure(data)` draws it with Plotly. One palette for all of them.

Backgrounds are transparent and texts take the page's colour; every colour here is a middle tone that keeps a
contrast of 3:1 or better on the light and on the dark page. Right, wrong and tie also differ by symbol and pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.matching import Matches
from core.metrics import METRICS, Estimate, Outcome, ThresholdCurve

OUTCOME_COLOURS = {"right": "#2f7fd0", "wrong": "#d9730d", "tie": "#868c9b"}
OUTCOME_SYMBOLS = {"right": "✓", "wrong": "✗", "tie": "="}
METRIC_COLOURS = {
    "group_match": "#6c63e0",
    "group_score": "#1a9382",
    "text_score": "#c0569f",
    "image_score": "#93801c",
    "individual_match": "#7a8296",
}
METRIC_MARKERS = {
    "group_match": "circle",
    "group_score": "square",
    "text_score": "triangle-up",
    "image_score": "triangle-down",
    "individual_match": "diamond",
}
COVERAGE_COLOUR, PRECISION_COLOUR, THRESHOLD_COLOUR = "#7a8296", "#2f7fd0", "#8a5be0"
THRESHOLD_LINE = {"color": THRESHOLD_COLOUR, "width": 3}
MARK_COLOUR = "#c67c12"  # intervals on bars, the model's cells in a score matrix
# Runs or models that share a figure: colour and dash together.
SERIES = [("#6c63e0", "solid"), ("#c67c12", "dash"), ("#1a9382", "dot"), ("#c0569f", "dashdot")]
SHADES = (
    (233, 231, 251),
    (143, 135, 230),
    (47, 40, 128),
)  # a score matrix, from its lowest to its highest score
MAX_STEPS = 1500  # a step curve with more points than this has several in one pixel


def shade(level: float) -> str:
    """The colour of a score at `level` in [0, 1] between the lowest and the highest of its matrix."""
    steps = np.linspace(0, 1, len(SHADES))
    return "#" + "".join(
        f"{round(np.interp(level, steps, channel)):02x}" for channel in zip(*SHADES, strict=True)
    )


def _layout(figure: go.Figure, height: int, x: str, y: str, percent: bool = False) -> go.Figure:
    """The look that all figures share: no background, horizontal legend, no drag zoom on a phone."""
    figure.update_layout(
        height=height,
        margin={"l": 4, "r": 14, "t": 12, "b": 4},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "title": None},
        hovermode="x unified",
        dragmode=False,
        bargap=0.05,
    )
    axis = {"automargin": True, "fixedrange": True, "zeroline": False}
    figure.update_xaxes(title=x or None, **axis)
    figure.update_yaxes(title=y or None, rangemode="tozero", **axis)
    figure.update_traces(cliponaxis=False, selector={"type": "scatter"})  # whole markers at 0 and at 100 %
    if percent:
        figure.update_yaxes(range=[0, 104], ticksuffix=" %", dtick=25)
    return figure


# --- accuracies with interval and chance level ---------------------------------------------------------------


class BarsData(NamedTuple):
    """Estimates in percent: each array is (metrics, rows)."""

    rows: list[str]
    metrics: list[str]
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    chance: np.ndarray
    ties: np.ndarray


def bars_data(rows: Mapping[str, Mapping[str, Estimate]], metrics: Sequence[str]) -> BarsData:
    """Estimates by row (a set, a model, a slice) and metric, for `bars_figure`."""
    table = np.array([[rows[row][name] for row in rows] for name in metrics])  # (metrics, rows, 5)
    return BarsData(list(rows), list(metrics), *np.moveaxis(table, -1, 0))


def bars_figure(data: BarsData, height: int = 340) -> go.Figure:
    """Grouped bars with 95 % intervals; a dotted line across each bar marks its chance level."""
    figure = go.Figure()
    count = len(data.metrics)
    width = 0.8 / count
    places = np.arange(len(data.rows), dtype=float)
    for i, name in enumerate(data.metrics):
        x = places + (i - (count - 1) / 2) * width
        up, down = data.high[i] - data.value[i], data.value[i] - data.low[i]
        figure.add_bar(
            x=x,
            y=data.value[i],
            width=0.9 * width,
            name=METRICS[name].label,
            marker_color=METRIC_COLOURS[name],
            error_y={"array": up, "arrayminus": down, "thickness": 1.6, "width": 4, "color": MARK_COLOUR},
            customdata=np.stack([data.low[i], data.high[i], data.chance[i], data.ties[i]], axis=-1),
            hovertemplate="%{y:.1f} % (95 % interval %{customdata[0]:.1f}–%{customdata[1]:.1f}), "
            "chance %{customdata[2]:.1f}, %{customdata[3]:.0f} ties",
        )
        figure.add_scatter(
            x=x,
            y=np.maximum(data.high[i], data.chance[i]),
            text=[f"{v:.1f}" for v in data.value[i]],
            mode="text",
            textposition="top center",
            hoverinfo="skip",
            showlegend=False,
        )
    figure.add_scatter(**_chance_marks(data, places, width))
    _layout(figure, height, "", "", percent=True)
    figure.update_yaxes(range=[0, 112])
    if len(data.rows) == 1:  # the metrics label themselves
        places = (np.arange(count) - (count - 1) / 2) * width
        labels = [METRICS[name].label.replace("M", "<br>M").replace("S", "<br>S") for name in data.metrics]
        figure.update_layout(showlegend=False)
        figure.update_xaxes(tickvals=places, ticktext=labels, showgrid=False)
        return figure
    labels = [row.replace("-", "<br>").replace(" ", "<br>", 1) if len(row) > 10 else row for row in data.rows]
    figure.update_xaxes(tickvals=places, ticktext=labels, showgrid=False)
    return figure


def _chance_marks(data: BarsData, places: np.ndarray, width: float) -> dict[str, Any]:
    """One broken line through the chance level of every bar."""
    x: list[float | None] = []
    y: list[float | None] = []
    count = len(data.metrics)
    for i in range(count):
        for place, level in zip(places + (i - (count - 1) / 2) * width, data.chance[i], strict=True):
            x += [place - width / 2, place + width / 2, None]
            y += [level, level, None]
    line = {"color": OUTCOME_COLOURS["tie"], "width": 3, "dash": "2px,2px"}
    return {"x": x, "y": y, "mode": "lines", "line": line, "name": "chance level", "hoverinfo": "skip"}


# --- margins -------------------------------------------------------------------------------------------------


class MarginsData(NamedTuple):
    """A histogram of margins: counts of groups whose induced matching is right or wrong, and the tied ones."""

    edges: np.ndarray  # (bins + 1,)
    right: np.ndarray  # (bins,)
    wrong: np.ndarray  # (bins,)
    tied: int  # their margin is 0; they are in no bin


def margins_data(matches: Matches, outcome: Outcome, bins: int = 24) -> MarginsData:
    """`outcome` is GroupMatch's, which says whose induced matching is right."""
    right = (outcome.value == 1) & ~matches.tied
    wrong = (outcome.value < 1) & ~matches.tied
    top = float(matches.margin.max()) or 1.0
    edges = np.linspace(0, top, bins + 1)
    counts = [np.histogram(matches.margin[mask], edges)[0] for mask in (right, wrong)]
    return MarginsData(edges, counts[0], counts[1], int(matches.tied.sum()))


def margins_figure(data: MarginsData, threshold: float | None = None, height: int = 300) -> go.Figure:
    """Stacked histogram; everything right of the threshold becomes a pseudo-label."""
    figure = go.Figure()
    centres, width = (data.edges[:-1] + data.edges[1:]) / 2, np.diff(data.edges)
    for name, counts, shape in (("right", data.right, ""), ("wrong", data.wrong, "/")):
        figure.add_bar(
            x=centres,
            y=counts,
            width=width,
            name=f"{OUTCOME_SYMBOLS[name]} matching {name}",
            marker={
                "color": OUTCOME_COLOURS[name],
                "line": {"width": 0},
                "pattern": {
                    "shape": shape,
                    "fillmode": "overlay",
                    "fgcolor": "rgba(255,255,255,0.6)",
                    "size": 7,
                },
            },
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
    _layout(figure, height, "margin of the induced matching", "groups")
    if threshold is not None:
        figure.add_vline(x=threshold, line=THRESHOLD_LINE)
    return figure.update_layout(barmode="stack")


# --- thresholds: coverage and precision ----------------------------------------------------------------------


class ThresholdData(NamedTuple):
    """Exact steps over ascending thresholds: percent of groups selected, and percent of those that are right."""

    threshold: np.ndarray
    coverage: np.ndarray
    precision: np.ndarray


def threshold_data(curve: ThresholdCurve) -> ThresholdData:
    """From `metrics.threshold_curve`. Between two margins the values are those of the higher one.

    Curves of more than MAX_STEPS steps keep the first hundred (where precision jumps) and evenly spaced others:
    what is left out lies in the same pixel. Numbers beside a figure come from the whole curve.
    """
    keep = np.arange(len(curve.threshold))
    if len(keep) > MAX_STEPS:
        keep = np.unique(np.r_[keep[:100], np.linspace(100, len(keep) - 1, MAX_STEPS - 100).astype(int)])
    arrays = [np.asarray(a)[keep][::-1] for a in curve]
    return ThresholdData(arrays[0], 100 * arrays[1], 100 * arrays[2])


def at_threshold(curve: ThresholdCurve, threshold: float) -> tuple[float, float | None]:
    """Exact coverage and precision in percent; no precision where nothing is selected."""
    last = int((curve.threshold >= threshold).sum()) - 1
    if last < 0:
        return 0.0, None
    return 100 * float(curve.coverage[last]), 100 * float(curve.precision[last])


def threshold_figure(data: ThresholdData, threshold: float | None = None, height: int = 300) -> go.Figure:
    """Coverage falls and precision (one hopes) rises with the threshold."""
    figure = go.Figure()
    x = np.r_[0.0, data.threshold].astype(np.float32)
    lines = (
        ("precision: right among the selected", data.precision, PRECISION_COLOUR, "solid"),
        ("coverage: selected groups", data.coverage, COVERAGE_COLOUR, "dash"),
    )
    for name, values, colour, dash in lines:
        y = np.r_[values[:1], values].astype(np.float32)
        line = {"color": colour, "width": 2.5, "dash": dash, "shape": "vh"}
        figure.add_scatter(x=x, y=y, name=name, mode="lines", line=line, hovertemplate="%{y:.1f} %")
    _layout(figure, height, "threshold τ on the margin", "", percent=True)
    return figure if threshold is None else figure.add_vline(x=threshold, line=THRESHOLD_LINE)


# --- test-time matching, iteration by iteration --------------------------------------------------------------


class TTMData(NamedTuple):
    """What a run recorded. Arrays over iterations 0..t, NaN where a step has none (iteration 0 selects nothing)."""

    iteration: np.ndarray
    metrics: dict[str, np.ndarray]  # name -> (t + 1, 4): value, low, high, chance in percent
    coverage: np.ndarray  # percent
    precision: np.ndarray  # percent
    loss: np.ndarray
    threshold: np.ndarray
    total: int  # planned iterations: the figure's width is known before the run ends


def ttm_data(steps: Sequence[Mapping[str, Any]], total: int) -> TTMData:
    """From the records of a run's steps (`TTMStep.record`)."""

    def column(name: str, factor: float = 1.0) -> np.ndarray:
        values = [step.get(name) for step in steps]
        return np.array([np.nan if v is None else factor * v for v in values], dtype=float)

    names = [n for n in METRICS if steps and n in (steps[0].get("metrics") or {})]
    fields = ("value", "low", "high", "chance")
    metrics = {n: np.array([[s["metrics"][n][f] for f in fields] for s in steps], dtype=float) for n in names}
    iteration = np.array([step["iteration"] for step in steps], dtype=int)
    shares = column("coverage", 100.0), column("precision", 100.0)
    return TTMData(iteration, metrics, *shares, column("loss"), column("threshold"), total)


def ttm_table(data: TTMData) -> pd.DataFrame:
    """The curves as a table, one row per iteration."""
    columns = {
        name: getattr(data, name) for name in ("iteration", "threshold", "coverage", "precision", "loss")
    }
    for name, values in data.metrics.items():
        columns |= {name: values[:, 0], f"{name}_low": values[:, 1], f"{name}_high": values[:, 2]}
    return pd.DataFrame(columns)


def _steps_axis(figure: go.Figure, total: int, height: int, y: str, percent: bool) -> go.Figure:
    _layout(figure, height, "iteration", y, percent)
    figure.update_xaxes(range=[-0.3, total + 0.3], dtick=max(1, round(total / 10)))
    return figure


def _band(figure: go.Figure, x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    figure.add_scatter(
        x=np.r_[x, x[::-1]],
        y=np.r_[high, low[::-1]],
        fill="toself",
        fillcolor=f"rgba({red},{green},{blue},0.16)",
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
    )


def ttm_metrics_figure(data: TTMData, height: int = 360) -> go.Figure:
    """Every group metric per iteration; bands are 95 % intervals, dotted lines chance levels of the two main ones."""
    figure = go.Figure()
    for name, values in data.metrics.items():
        main, colour = name in ("group_match", "group_score"), METRIC_COLOURS[name]
        if main:
            _band(figure, data.iteration, values[:, 1], values[:, 2], colour)
            figure.add_hline(y=values[0, 3], line={"color": colour, "width": 1.5, "dash": "dot"})
        figure.add_scatter(
            x=data.iteration,
            y=values[:, 0],
            name=METRICS[name].label,
            mode="lines+markers",
            line={"color": colour, "width": 3 if main else 1.4},
            marker={"symbol": METRIC_MARKERS[name], "size": 9 if main else 6},
            customdata=values[:, 1:],
            hovertemplate="%{y:.1f} % (%{customdata[0]:.1f}–%{customdata[1]:.1f}), chance %{customdata[2]:.1f}",
        )
    return _steps_axis(figure, data.total, height, "", percent=True)


# What the small panels show: field of TTMData, colour, dash, marker, format of a value.
PANELS = {
    "selection": [
        ("precision", PRECISION_COLOUR, "solid", "circle", "%{y:.1f} %"),
        ("coverage", COVERAGE_COLOUR, "dash", "square", "%{y:.1f} %"),
    ],
    "loss": [("loss", COVERAGE_COLOUR, "solid", "circle", "%{y:.3f}")],
    "threshold": [("threshold", THRESHOLD_COLOUR, "solid", "circle", "%{y:.3f}")],
}


def ttm_panel_figure(data: TTMData, panel: str, height: int = 240) -> go.Figure:
    """A panel beside the accuracies: what was selected (and how much of it is right), the loss, the threshold."""
    figure = go.Figure()
    for name, colour, dash, symbol, text in PANELS[panel]:
        if not len(data.iteration) or np.isnan(getattr(data, name)).all():
            continue
        figure.add_scatter(
            x=data.iteration,
            y=getattr(data, name),
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"symbol": symbol, "size": 8},
            hovertemplate=text,
        )
    percent = panel == "selection"
    return _steps_axis(figure, data.total, height, "" if percent else panel, percent)


def schedule_data(thresholds: np.ndarray, curve: ThresholdCurve | None) -> TTMData:
    """The thresholds of a planned run, and the share of groups that today's margins would put above each."""
    count = len(thresholds)
    nothing = np.full(count, np.nan)
    coverage = nothing if curve is None else np.array([at_threshold(curve, tau)[0] for tau in thresholds])
    return TTMData(np.arange(1, count + 1), {}, coverage, nothing, nothing, np.asarray(thresholds), count)


def ttm_compare_figure(runs: Mapping[str, TTMData], metric: str, height: int = 360) -> go.Figure:
    """One metric of several runs, laid over each other with their 95 % intervals."""
    figure = go.Figure()
    for (name, data), (colour, dash) in zip(runs.items(), SERIES, strict=False):
        if metric not in data.metrics:
            continue
        values = data.metrics[metric]
        _band(figure, data.iteration, values[:, 1], values[:, 2], colour)
        figure.add_scatter(
            x=data.iteration,
            y=values[:, 0],
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 3, "dash": dash},
            customdata=values[:, 1:],
            hovertemplate="%{y:.1f} % (%{customdata[0]:.1f}–%{customdata[1]:.1f})",
        )
    total = max((data.total for data in runs.values()), default=1)
    return _steps_axis(figure, total, height, METRICS[metric].label, percent=True)
