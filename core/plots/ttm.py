"""Curves of test-time matching over its iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.metrics import METRICS, ThresholdCurve
from core.plots.margins import at_threshold
from core.plots.style import (
    COVERAGE_COLOUR,
    METRIC_COLOURS,
    METRIC_MARKERS,
    PRECISION_COLOUR,
    SERIES,
    THRESHOLD_COLOUR,
    layout,
)


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


def steps_axis(figure: go.Figure, total: int, height: int, y: str, percent: bool) -> go.Figure:
    layout(figure, height, "iteration", y, percent)
    figure.update_xaxes(range=[-0.3, total + 0.3], dtick=max(1, round(total / 10)))
    return figure


def band(figure: go.Figure, x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
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
            band(figure, data.iteration, values[:, 1], values[:, 2], colour)
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
    return steps_axis(figure, data.total, height, "", percent=True)


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
    return steps_axis(figure, data.total, height, "" if percent else panel, percent)


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
        band(figure, data.iteration, values[:, 1], values[:, 2], colour)
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
    return steps_axis(figure, total, height, METRICS[metric].label, percent=True)
