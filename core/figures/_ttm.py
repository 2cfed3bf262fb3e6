"""Curves of test-time matching over its iterations, of one run or of several seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.lazy import pandas as pd
from core.figures._margins import _MARGIN_AXIS, MarginsData, at_threshold, margins_figure
from core.figures._style import (
    COVERAGE_COLOUR,
    MARKS,
    PRECISION_COLOUR,
    SERIES,
    THRESHOLD_COLOUR,
    _percent_ends,
    band,
    layout,
    line,
)
from core.figures.text import label_and_meaning
from core.metrics.groups import (
    GLOBAL,
    GROUP_SCORE,
    METRICS,
    ThresholdCurve,
    description_of,
    metrics_of_shape,
)


class TTMData(NamedTuple):
    """What a run recorded. Arrays over iterations 0..t, NaN where a step has none (iteration 0 selects nothing)."""

    iteration: np.ndarray
    metrics: dict[str, np.ndarray]  # name -> (t + 1, 4): value, low, high, chance in percent
    coverage: np.ndarray  # percent
    precision: np.ndarray  # percent
    loss: np.ndarray
    threshold: np.ndarray
    total: int  # the axis ends there: iterations planned, known before the run ends; of one that is over those that ran
    fitted: np.ndarray  # percent of the pseudo-labels trained on that then pass GroupScore's strict test
    # Of several seeds, how many have finished that iteration: values are then their means, `low` and `high` one
    # standard deviation to either side (NaN for one seed), and of the rest nothing is known.
    seeds: np.ndarray | None = None

    @classmethod
    def unmeasured(cls, m: int, k: int, total: int) -> TTMData:
        """Of a run on (m, k) groups before anything of it is measured: axes with chance levels, and no point."""
        nothing, unknown = np.full(1, np.nan), [np.nan] * 3
        chances = {name: 100 * METRICS[name].chance(m, k) for name in metrics_of_shape(m, k)}
        metrics = {name: np.array([[*unknown, chance]]) for name, chance in chances.items()}
        return cls(np.zeros(1, dtype=int), metrics, *(nothing,) * 4, total, nothing)


def ttm_data(steps: Sequence[Mapping[str, Any]], total: int) -> TTMData:
    """From the records of a run's steps (`TTMStep.record`)."""

    def column(name: str, factor: float = 1.0) -> np.ndarray:
        values = [step.get(name) for step in steps]
        return np.array([np.nan if v is None else factor * v for v in values], dtype=float)

    # Of a run that an older version began and this one resumed, the metrics that all steps have.
    measured = [step.get("metrics") or {} for step in steps]
    names = [n for n in (*METRICS, *GLOBAL) if steps and all(n in each for each in measured)]
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


def spread_data(rows: Sequence[Mapping[str, Any]], total: int, part: str = "") -> TTMData:
    """Several seeds as one, from the rows of `core.ttm.seeds.summary`; `part` of a transfer check."""
    summaries = [row["parts"][part] if part else row["metrics"] for row in rows]
    metrics = {}
    for name in (*METRICS, *GLOBAL):
        if summaries and all(name in each for each in summaries):
            fields = [[e[name][f] for f in ("mean", "std", "chance")] for e in summaries]
            mean, std, chance = np.array(fields, dtype=float).T
            metrics[name] = np.column_stack([mean, mean - std, mean + std, chance])
    iteration, nothing = np.array([row["iteration"] for row in rows], dtype=int), np.full(len(rows), np.nan)
    seeds = np.array([row["seeds"] for row in rows], dtype=int)
    return TTMData(iteration, metrics, *(nothing,) * 4, total, nothing, seeds)


def schedule_data(thresholds: np.ndarray, curve: ThresholdCurve | None) -> TTMData:
    """The thresholds of a planned run, and the share of groups that today's margins would put above each."""
    count = len(thresholds)
    nothing = np.full(count, np.nan)
    coverage = nothing if curve is None else np.array([at_threshold(curve, tau)[0] for tau in thresholds])
    iteration = np.arange(1, count + 1)
    return TTMData(iteration, {}, coverage, nothing, nothing, np.asarray(thresholds), count, nothing)


def ttm_table(data: TTMData) -> pd.DataFrame:
    """The curves as a table, one row per iteration; means and deviations in percent."""
    if data.seeds is not None:
        columns: dict[str, np.ndarray] = {"iteration": data.iteration, "seeds": data.seeds}
        for name, values in data.metrics.items():
            columns |= {f"{name}_mean": values[:, 0], f"{name}_sd": values[:, 2] - values[:, 0]}
            columns[f"{name}_chance"] = values[:, 3]
        return pd.DataFrame(columns)
    fields = ("iteration", "threshold", "coverage", "precision", "loss")
    columns = {name: getattr(data, name) for name in fields}
    for name, values in data.metrics.items():
        columns |= {name: values[:, 0], f"{name}_low": values[:, 1], f"{name}_high": values[:, 2]}
    return pd.DataFrame(columns)


def steps_axis(figure: go.Figure, total: int, height: int, y: str, percent: bool) -> go.Figure:
    """Iterations from left to right, to the last one that is planned or, of what is over, that ran."""
    layout(figure, height, "iteration", y, percent)
    figure.update_xaxes(range=[-0.3, total + 0.3], dtick=max(1, round(total / 10)))
    return figure


def ttm_metrics_figure(data: TTMData, height: int = 360) -> go.Figure:
    """Every metric per iteration; bands and dotted chance levels of the main ones.

    Bands are 95 % intervals, of several seeds one standard deviation.
    """
    figure = go.Figure()
    for name, values in data.metrics.items():
        entry, colour = description_of(name), description_of(name).colour
        if entry.headline:
            _interval(figure, data, name, colour)
            figure.add_hline(y=values[0, 3], line={"color": colour, "width": 1.5, "dash": "dot"})
        width, size = (3, 9) if entry.headline else (1.4, 6)
        marker = {"symbol": entry.marker, "size": size}
        hover, more = _hover(data, name)
        line(
            figure, data.iteration, values[:, 0], entry.label, colour, hover,
            dash=entry.dash, width=width, marker=marker, customdata=more,
        )  # fmt: skip
    return steps_axis(figure, data.total, height, "", percent=True)


def _interval(figure: go.Figure, data: TTMData, name: str, colour: str) -> None:
    value, *edges = data.metrics[name].T[:3]
    low, high = (np.where(np.isnan(edge), value, edge) for edge in edges)
    band(figure, data.iteration, low, high, colour)


def _hover(data: TTMData, name: str) -> tuple[str, np.ndarray]:
    """What is said under the pointer, and the numbers for it."""
    values = data.metrics[name]
    if data.seeds is None:
        return "%{y:.1f} % (%{customdata[0]:.1f}–%{customdata[1]:.1f}), chance %{customdata[2]:.1f}", values[
            :, 1:
        ]
    std = np.nan_to_num(values[:, 2] - values[:, 0])
    text = "%{y:.1f} ± %{customdata[0]:.1f} % (%{customdata[2]:.0f} seeds), chance %{customdata[1]:.1f}"
    return text, np.column_stack([std, values[:, 3], data.seeds])


# What the small panels show: field of TTMData, colour, dash, marker, format of a value.
_PANELS = {
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
    for name, colour, dash, symbol, hover in _PANELS[panel]:
        values, marker = getattr(data, name), {"symbol": symbol, "size": 8}
        if not np.isnan(values).all():
            line(figure, data.iteration, values, name, colour, hover, dash=dash, width=2.5, marker=marker)
    percent = panel in ("selection", "fitted")
    return steps_axis(figure, data.total, height, "" if percent else panel, percent)


# Lines of eight runs: six colours, and the first two once more with other dashes.
_EIGHT = [
    *SERIES,
    *zip((colour for _, colour in MARKS[len(SERIES) :]), ("solid", "dash"), strict=True),
    *zip((colour for colour, _ in SERIES[:2]), ("dot", "solid"), strict=True),
]


def ttm_compare_figure(runs: Mapping[str, TTMData], metric: str, height: int = 360) -> go.Figure:
    """One metric of at most eight runs, laid over each other, up to three with their 95 % intervals; dotted: the chance
    level of each, unless it lies far below the curves, which the axis fits."""
    figure = go.Figure()
    drawn = [data.metrics[metric] for data in runs.values() if metric in data.metrics]
    chances = {float(values[0, 3]) for values in drawn}
    for chance in chances:
        figure.add_hline(y=chance, line={"color": COVERAGE_COLOUR, "width": 1.5, "dash": "dot"})
    for (name, data), (colour, dash) in zip(runs.items(), _EIGHT, strict=False):
        if metric in data.metrics:
            values = data.metrics[metric]
            if len(runs) <= 3:
                _interval(figure, data, metric, colour)
            hover = "%{y:.1f} % (%{customdata[0]:.1f}–%{customdata[1]:.1f})"
            more = np.where(np.isnan(values[:, 1:]), values[:, :1], values[:, 1:])
            line(
                figure,
                data.iteration,
                values[:, 0],
                name,
                colour,
                hover,
                dash=dash,
                marker={},
                customdata=more,
            )
    total = max((data.total for data in runs.values()), default=1)
    steps_axis(figure, total, height, label_and_meaning(metric)[0], percent=True)
    ends = 3 if len(runs) <= 3 else 1  # with their bands, where they have any
    seen = [values[:, :ends].ravel() for values in drawn]
    if seen:
        bottom, top = _percent_ends(np.concatenate(seen), [*chances])
        figure.update_yaxes(
            range=[bottom, top], dtick=25 if top - bottom > 80 else 10 if top - bottom > 30 else 5
        )
    return figure


def step_margins_figure(step: Mapping[str, Any]) -> go.Figure:
    """The margins after an iteration, right and wrong where truth is known, and the threshold that it used."""
    histogram = step["margins"]
    edges, counts = np.array(histogram["edges"]), np.array(histogram["counts"])
    if histogram["right"] is not None:
        right = np.array(histogram["right"])
        data = MarginsData(edges, right, counts - right, histogram["tied"])
        return margins_figure(data, step.get("threshold"), 300)
    figure = go.Figure()
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=histogram["counts"],
        width=np.diff(edges),
        marker_color=COVERAGE_COLOUR,
        hovertemplate="%{y} groups",
        name="groups",
    )
    return layout(figure, 300, _MARGIN_AXIS, "groups")
