"""Accuracies as bars, with interval and chance level."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.text import _pct, counted
from core.figures._style import OUTCOME_COLOURS, SERIES, _closest, hatched, layout, outlined_whiskers
from core.metrics.groups import GLOBAL, METRICS, description_of
from core.metrics.statistics import Estimate

_LABEL_GAP = 1.5  # percent between a bar's interval or chance level and its number


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
    """Estimates by row (a set, a model, a slice) and metric, for `bars_figure`; the metrics in their table's order.
    Each interval is the one to quote, as on a card (`Estimate.bounds`)."""
    known = {**METRICS, **GLOBAL}
    metrics = sorted(dict.fromkeys(metrics), key=list(known).index)
    # (metrics, rows, 5); ties that nobody counted are NaN
    table = np.array([[_numbers(rows[row][name]) for row in rows] for name in metrics], dtype=np.float64)
    return BarsData(list(rows), list(metrics), *np.moveaxis(table, -1, 0))


def _numbers(found: Estimate) -> tuple[float | None, ...]:
    return found.value, *found.bounds, found.chance, found.ties


def bars_figure(data: BarsData, height: int = 340) -> go.Figure:
    """Grouped bars, one group per row, metrics by colour: value, 95 % interval, chance level as a dotted line."""
    colours = [description_of(name).colour for name in data.metrics]
    labels = [description_of(name).label for name in data.metrics]
    figure = _grouped_bars(data, labels, data.rows, [{"color": colour} for colour in colours], height)
    if len(data.rows) == 1:  # the metrics label themselves
        places = (np.arange(len(labels)) - (len(labels) - 1) / 2) * 0.8 / len(labels)
        figure.update_layout(showlegend=False)
        return figure.update_xaxes(tickvals=places, ticktext=[_two_lines(label) for label in labels])
    names = ["<br>".join(textwrap.wrap(row, 11)) if len(row) > 10 else row for row in data.rows]
    return figure.update_xaxes(tickvals=np.arange(len(names), dtype=float), ticktext=names)


def paired_bars_figure(data: BarsData, coloured: Sequence[str] = ()) -> go.Figure:
    """Grouped bars, one group per metric, rows (models that are compared) by colour and hatching, side by side.

    coloured : the rows in the order of their colours, where it is not their own.
    """
    by_metric = data._replace(**{f: getattr(data, f).T for f in ("value", "low", "high", "chance", "ties")})
    looks = [hatched(colour, shape) for (colour, _), shape in zip(SERIES, ("", "/", ".", "x"), strict=True)]
    looks = [looks[coloured.index(name)] for name in data.rows] if coloured else looks
    labels = [description_of(name).label for name in data.metrics]
    figure = _grouped_bars(by_metric, data.rows, labels, looks, 340)
    texts = list(map(_two_lines, labels))
    return figure.update_xaxes(tickvals=np.arange(len(labels), dtype=float), ticktext=texts)


def _grouped_bars(
    data: BarsData,
    names: Sequence[str],
    places_named: Sequence[str],
    looks: Sequence[dict[str, Any]],
    height: int,
) -> go.Figure:
    """Bars of arrays (series, places) with the names of both and the looks of the series."""
    figure = go.Figure()
    count, length = data.value.shape
    width, places = 0.8 / count, np.arange(length, dtype=float)
    whiskers = []
    for i, (name, look) in enumerate(zip(names, looks, strict=False)):
        x = places + (i - (count - 1) / 2) * width
        up, down = data.high[i] - data.value[i], data.value[i] - data.low[i]
        figure.add_bar(
            x=x,
            y=data.value[i],
            width=0.9 * width,
            name=html.escape(name),  # it may be that of a file, and Plotly acts upon some tags
            marker=look,
            hovertext=[
                _said(data, i, j, filter(None, (place, name))) for j, place in enumerate(places_named)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
        whiskers.append((x, data.value[i], up, down))
        figure.add_scatter(
            x=x,
            y=np.maximum(data.high[i], data.chance[i]) + _LABEL_GAP,
            text=[_pct(v) for v in data.value[i]],
            mode="text",
            textposition="top center",
            hoverinfo="skip",
            showlegend=False,
        )
    marks = _chance_marks(data, places, width)
    edge = {"color": "rgba(255,255,255,0.7)", "width": 4}  # else grey dots are lost on a violet or red bar
    figure.add_scatter(**{**marks, "line": edge, "name": "", "showlegend": False})
    figure.add_scatter(**marks)
    for each in whiskers:  # above the chance level: its dots hid where an interval ends
        outlined_whiskers(figure, *each)
    layout(figure, height, "", "", percent=True)
    figure.update_yaxes(range=[0, 114])
    _closest(figure)  # the bars' places are no numbers that anybody reads
    return figure.update_xaxes(showgrid=False)


def _said(data: BarsData, i: int, j: int, of: Iterable[str]) -> str:
    """What is said of a bar that is pointed at: `GroupScore, builtin/clip`, and below it its numbers."""
    value, low, high, chance, ties = (each[i, j] for each in data[2:])
    tied = "" if np.isnan(ties) else f", {counted(int(ties), 'tie')}"
    lines = (
        html.escape(", ".join(of)),
        f"{_pct(value)} %",
        f"95 %: {_pct(low)}–{_pct(high)}",
        f"chance {_pct(chance)} %{tied}",
    )
    return "<br>".join(lines)  # a narrow label, which leaves the neighbours' numbers in sight


def _two_lines(label: str) -> str:
    """`GroupMatch` as `Group<br>Match`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "<br>", label)


def _chance_marks(data: BarsData, places: np.ndarray, width: float) -> dict[str, Any]:
    """One broken line through the chance level of every bar."""
    x: list[float | None] = []
    y: list[float | None] = []
    count = len(data.value)
    for i in range(count):
        for place, level in zip(places + (i - (count - 1) / 2) * width, data.chance[i], strict=True):
            x += [place - width / 2, place + width / 2, None]
            y += [level, level, None]
    line = {"color": OUTCOME_COLOURS["tie"], "width": 3, "dash": "2px,2px"}
    return {"x": x, "y": y, "mode": "lines", "line": line, "name": "chance level", "hoverinfo": "skip"}
