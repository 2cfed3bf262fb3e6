"""Curves of test-time matching over its iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.lazy import pandas as pd
from core.figures.margins import MarginsData, at_threshold, margins_figure
from core.figures.style import COVERAGE_COLOUR, PRECISION_COLOUR, SERIES, THRESHOLD_COLOUR, layout
from core.figures.text import label_and_meaning
from core.metrics.groups import GLOBAL, GROUP_SCORE, METRICS, ThresholdCurve, description_of


class TTMData(NamedTuple):
    """What a run recorded. Arrays over iterations 0..t, NaN where a step has none (iteration 0 selects nothing)."""

    iteration: np.ndarray
    metrics: dict[str, np.ndarray]  # name -> (t + 1, 4): value, low, high, chance in percent
    coverage: np.ndarray  # percent
    precision: np.ndarray  # percent
    loss: np.ndarray
    threshold: np.ndarray
    total: int  # planned iterations: the figure's width is known before the run ends
    fitted: np.ndarray  # percent of the pseudo-labels trained on that then pass GroupScore's strict test


def ttm_data(steps: Sequence[Mapping[str, Any]], total: int) -> TTMData:
    """From the records of a run's steps (`TTMStep.record`)."""

    def column(name: str, factor: float = 1.0) -> np.ndarray:
        values = [step.get(name) for step in steps]
        return np.array([np.nan if v is None else factor * v for v in values], dtype=float)

    names = [n for n in (*METRICS, *GLOBAL) if steps and n in (steps[0].get("metrics") or {})]
    fields = ("value", "low", "high", "chance")
    metrics = {n: np.array([[s["metrics"][n][f] for f in fields] for s in steps], dtype=float) for n in names}
    iteration = np.array([step["iteration"] for step in steps], dtype=int)
    shares = column("coverage", 100.0), column("precision", 100.0)
    fitted = column("fitted", 100.0)
    return TTMData(iteration, metrics, *shares, column("loss"), column("threshold"), total, fitted)


def transfer_data(steps: Sequence[Mapping[str, Any]], total: int) -> dict[str, TTMData]:
    """Of a transfer check: the curves of the adapted and of the untouched groups, by part; {} for any other run."""
    names = list(steps[0].get("parts") or ()) if steps else []
    return {
        name: ttm_data([{**s, "metrics": s["parts"][name]["metrics"]} for s in steps], total)
        for name in names
    }


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
    """Every metric per iteration; bands are 95 % intervals, dotted lines chance levels, both of the main ones."""
    figure = go.Figure()
    for name, values in data.metrics.items():
        entry = description_of(name)
        main, colour = entry.headline, entry.colour
        if main:
            band(figure, data.iteration, values[:, 1], values[:, 2], colour)
            figure.add_hline(y=values[0, 3], line={"color": colour, "width": 1.5, "dash": "dot"})
        figure.add_scatter(
            x=data.iteration,
            y=values[:, 0],
            name=entry.label,
            mode="lines+markers",
            line={"color": colour, "width": 3 if main else 1.4, "dash": entry.dash},
            marker={"symbol": entry.marker, "size": 9 if main else 6},
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
    "fitted": [("fitted", METRICS[GROUP_SCORE].colour, "solid", "square", "%{y:.1f} %")],
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
    percent = panel in ("selection", "fitted")
    return steps_axis(figure, data.total, height, "" if percent else panel, percent)


def schedule_data(thresholds: np.ndarray, curve: ThresholdCurve | None) -> TTMData:
    """The thresholds of a planned run, and the share of groups that today's margins would put above each."""
    count = len(thresholds)
    nothing = np.full(count, np.nan)
    coverage = nothing if curve is None else np.array([at_threshold(curve, tau)[0] for tau in thresholds])
    return TTMData(
        np.arange(1, count + 1), {}, coverage, nothing, nothing, np.asarray(thresholds), count, nothing
    )


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
    return steps_axis(figure, total, height, label_and_meaning(metric)[0], percent=True)


def step_margins(step: Mapping[str, Any]) -> MarginsData | None:
    """The margins after an iteration, from its record; None where the record has none or truth is unknown."""
    found = step.get("margins")
    if not found or found["right"] is None:
        return None
    right = np.array(found["right"])
    return MarginsData(np.array(found["edges"]), right, np.array(found["counts"]) - right, found["tied"])


def step_margins_figure(step: Mapping[str, Any], height: int = 300) -> go.Figure:
    """The margins after an iteration, right and wrong, and the threshold that it used."""
    data = step_margins(step)
    if data is not None:
        return margins_figure(data, step.get("threshold"), height)
    found = step["margins"]
    edges = np.array(found["edges"])
    figure = go.Figure()
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=found["counts"],
        width=np.diff(edges),
        marker_color=COVERAGE_COLOUR,
        hovertemplate="%{y} groups",
        name="groups",
    )
    return layout(figure, height, "margin of the induced matching", "groups")


class SpreadData(NamedTuple):
    """Several seeds as one: arrays over iterations 0..t, percent; the deviation is NaN where one seed is alone."""

    iteration: np.ndarray
    metrics: dict[str, np.ndarray]  # name -> (t + 1, 3): mean, standard deviation, chance
    seeds: np.ndarray  # int, how many have finished that iteration
    total: int


def spread_data(rows: Sequence[Mapping[str, Any]], total: int, part: str = "") -> SpreadData:
    """From the rows of `core.ttm.seeds.summary`; `part` of a transfer check."""
    found = [row["parts"][part] if part else row["metrics"] for row in rows]
    names = [n for n in (*METRICS, *GLOBAL) if found and all(n in each for each in found)]
    return SpreadData(
        np.array([row["iteration"] for row in rows], dtype=int),
        {
            n: np.array([[e[n][f] for f in ("mean", "std", "chance")] for e in found], dtype=float)
            for n in names
        },
        np.array([row["seeds"] for row in rows], dtype=int),
        total,
    )


def spread_figure(data: SpreadData, height: int = 360) -> go.Figure:
    """The main metrics per iteration: means over seeds, bands of one standard deviation, dotted chance levels."""
    figure = go.Figure()
    for name, values in data.metrics.items():
        entry = description_of(name)
        if not entry.headline:
            continue
        colour, std = entry.colour, np.nan_to_num(values[:, 1])
        band(figure, data.iteration, values[:, 0] - std, values[:, 0] + std, colour)
        figure.add_hline(y=values[0, 2], line={"color": colour, "width": 1.5, "dash": "dot"})
        figure.add_scatter(
            x=data.iteration,
            y=values[:, 0],
            name=entry.label,
            mode="lines+markers",
            line={"color": colour, "width": 3},
            marker={"symbol": entry.marker, "size": 9},
            customdata=np.column_stack([std, values[:, 2], data.seeds]),
            hovertemplate="%{y:.1f} ± %{customdata[0]:.1f} % (%{customdata[2]:.0f} seeds), "
            "chance %{customdata[1]:.1f}",
        )
    return steps_axis(figure, data.total, height, "", percent=True)


def mean_curves(data: SpreadData) -> TTMData:
    """Means over seeds in place of a run's values, one standard deviation in place of its intervals."""
    nothing = np.full(len(data.iteration), np.nan)
    found = {}
    for name, values in data.metrics.items():
        mean, std, chance = values[:, 0], np.nan_to_num(values[:, 1]), values[:, 2]
        found[name] = np.column_stack([mean, mean - std, mean + std, chance])
    return TTMData(data.iteration, found, *(nothing,) * 4, data.total, nothing)


def spread_table(data: SpreadData) -> pd.DataFrame:
    """Means and deviations as a table, one row per iteration."""
    columns: dict[str, Any] = {"iteration": data.iteration, "seeds": data.seeds}
    for name, values in data.metrics.items():
        columns |= {f"{name}_mean": values[:, 0], f"{name}_sd": values[:, 1]}
    return pd.DataFrame(columns)
