"""What adaptation costs, as a figure: the change on every set that a model was not adapted on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.lazy import pandas as pd
from core.figures._style import MARK_COLOUR, MARKS, OUTCOME_COLOURS, layout, rows_axis
from core.metrics.groups import TEXT_SCORE


class CostData(NamedTuple):
    """Changes in points by model (or strategy) and set; arrays (models, sets), NaN where a set was not measured."""

    metric: str
    models: list[str]
    sets: list[str]
    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray


def cost_data(table: pd.DataFrame, metric: str, by: str | None = None) -> CostData:
    """From the rows of `core.cola.forgetting.cost_table`; `by` names a column that tells models apart (`strategy`).

    A 1 x k set has no GroupMatch: its TextScore, which is all it has, stands in ([TTM] B.2).
    """
    sets = list(dict.fromkeys(table["set"]))
    models = [""] if by is None else list(dict.fromkeys(table[by]))
    arrays = [np.full((len(models), len(sets)), np.nan) for _ in range(3)]
    for i, model in enumerate(models):
        rows_of_model = table if by is None else table[table[by] == model]
        for j, name in enumerate(sets):
            rows = rows_of_model[rows_of_model["set"] == name]
            changes = rows[rows["metric"] == metric]
            if changes.empty:
                changes = rows[(rows["metric"] == TEXT_SCORE) & rows["shape"].str.startswith("1x")]
            if len(changes):
                for array, column in zip(arrays, ("difference", "low", "high"), strict=True):
                    array[i, j] = changes[column].iloc[0]
    return CostData(metric, [str(m) for m in models], [str(s) for s in sets], *arrays)


def cost_figure(data: CostData) -> go.Figure:
    """A dot per set with its paired interval; the line at 0 is the model before. Filled: the interval leaves 0 out."""
    figure = go.Figure()
    y = np.arange(len(data.sets), dtype=float)
    for i, model in enumerate(data.models):
        colour = MARKS[i % len(MARKS)][1]
        known = ~np.isnan(data.difference[i])
        value, low, high = (array[i][known] for array in (data.difference, data.low, data.high))
        settled = (low > 0) | (high < 0)
        shift = 0.0 if len(data.models) == 1 else 0.6 * ((i + 0.5) / len(data.models) - 0.5)
        figure.add_scatter(
            x=value,
            y=y[known] + shift,
            mode="markers",
            name=model or "change",
            showlegend=len(data.models) > 1,
            error_x={
                "array": high - value,
                "arrayminus": value - low,
                "thickness": 1.8,
                "color": colour if len(data.models) > 1 else MARK_COLOUR,
            },
            marker={
                "size": 10,
                "color": colour,
                "symbol": np.where(settled, "circle", "circle-open").tolist(),
                "line": {"width": 2, "color": colour},
            },
            customdata=np.stack([low, high], axis=-1),
            text=[data.sets[j] for j in np.flatnonzero(known)],
            hovertemplate="%{text}: %{x:+.1f} points (%{customdata[0]:+.1f} to %{customdata[1]:+.1f})",
        )
    layout(figure, 64 + (24 if len(data.models) == 1 else 58) * len(y), "points", "")
    figure.add_vline(x=0, line={"color": OUTCOME_COLOURS["tie"], "width": 2})
    return rows_axis(figure, data.sets)
