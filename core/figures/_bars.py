"""Accuracies as bars, with interval and chance level."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.figures._style import MARK_COLOUR, OUTCOME_COLOURS, layout
from core.metrics.groups import Estimate, description_of


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
    # (metrics, rows, 5); ties that nobody counted are NaN
    table = np.array([[rows[row][name] for row in rows] for name in metrics], dtype=np.float64)
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
            name=description_of(name).label,
            marker_color=description_of(name).colour,
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
    layout(figure, height, "", "", percent=True)
    figure.update_yaxes(range=[0, 112])
    if len(data.rows) == 1:  # the metrics label themselves
        places = (np.arange(count) - (count - 1) / 2) * width
        labels = [_two_lines(description_of(name).label) for name in data.metrics]
        figure.update_layout(showlegend=False)
        figure.update_xaxes(tickvals=places, ticktext=labels, showgrid=False)
        return figure
    labels = [row.replace("-", "<br>").replace(" ", "<br>", 1) if len(row) > 10 else row for row in data.rows]
    figure.update_xaxes(tickvals=places, ticktext=labels, showgrid=False)
    return figure


def _two_lines(label: str) -> str:
    """`GroupMatch` as `Group<br>Match`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "<br>", label)


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
