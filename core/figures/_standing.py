"""One's own results among the published ones of the same set and metric, on one axis."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.text import _pct
from core.figures._style import MARK_COLOUR, OUTCOME_COLOURS, SERIES, layout, rows_axis, whiskers

# Pixels of a row, of a line of its name, and of the axis and what stands above the rows.
_ROW, _LINE, _AROUND = 36, 15, 64
_BEYOND = 6  # points that the axis goes beyond the highest number
_NAME = 22  # letters of a line of a name, for which a phone has room beside the figure


class _Mark(NamedTuple):
    """A number in percent, with its 95 % interval where it has one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


def _standing_figure(others: Sequence[_Mark], own: Sequence[_Mark], chance: float | None) -> go.Figure:
    """Published numbers as rings on one line, below it one's own, each with its interval; an upright line at chance."""
    figure = go.Figure()
    figure.add_scatter(
        x=[mark.value for mark in others],
        y=np.zeros(len(others)),
        name="published",
        mode="markers",
        marker={"symbol": "circle-open", "size": 11, "color": SERIES[0][0], "line": {"width": 2}},
        text=[mark.name for mark in others],
        hovertemplate="%{text}: %{x:.2f} %<extra></extra>",
    )
    values = np.array([mark.value for mark in own])
    ends = np.array([[mark.value if end is None else end for end in mark[2:]] for mark in own])
    figure.add_scatter(
        x=values,
        y=1.0 + np.arange(len(own)),
        error_x=whiskers(ends[:, 1] - values, values - ends[:, 0]),
        name="yours",
        mode="markers",
        marker={"symbol": "diamond", "size": 12, "color": MARK_COLOUR},
        text=[_hover(mark) for mark in own],
        hovertemplate="%{text}<extra></extra>",
    )
    if chance is not None:
        line = {"color": OUTCOME_COLOURS["tie"], "width": 2, "dash": "dash"}
        said = f"chance {_pct(chance)} %"
        figure.add_vline(x=chance, line=line, annotation_text=said, annotation_position="top")
    figure.update_layout(showlegend=False)  # the rows are named
    names = ["yours"] if len(own) == 1 else [_in_lines(mark.name) for mark in own]
    row = max(_ROW, *(_LINE * (1 + name.count("<br>")) for name in names))
    layout(figure, _AROUND + row * (1 + len(own)), "", "")
    rows_axis(figure, ["published", *names])
    highest = max([*(mark.value for mark in others), *ends[:, 1], chance or 0])
    return figure.update_xaxes(range=[0, min(102, highest + _BEYOND)], ticksuffix=" %", rangemode="normal")


def _hover(mark: _Mark) -> str:
    interval = "" if mark.low is None or mark.high is None else f" [{mark.low:.2f}, {mark.high:.2f}]"
    return f"{mark.name}: {mark.value:.2f} %{interval}"


def _in_lines(name: str) -> str:
    """The whole name: of several one's own rows, two that begin alike were cut to the same letters."""
    return "<br>".join(html.escape(line, quote=False) for line in textwrap.wrap(name, _NAME))
