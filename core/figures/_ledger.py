"""What a gain is made of: the parts of a ledger end to end, and what is left of the gain under each control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.text import _pct, _signed
from core.figures._style import (
    COVERAGE_COLOUR,
    LEFT,
    SERIES,
    _closest,
    faint,
    hatched,
    layout,
    outlined_whiskers,
)
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS

_SUM = ("task", "set", "size")  # what `training` is the sum of
_PARTS = {
    "metric": "metric",
    "bijections": "bijections",
    "training": "training",
    **dict.fromkeys(_SUM, "detail"),
}


class _LedgerData(NamedTuple):
    """Bars from the top down, in percent, each array (b,): where it starts and ends, and the interval of its end."""

    label: list[str]
    kind: list[str]  # "score", "metric", "bijections", "training", "detail" (of training), "match", "control"
    row: list[str]  # the name of the ledger's row, "" for a metric of a model
    start: np.ndarray
    end: np.ndarray
    low: np.ndarray
    high: np.ndarray
    frozen: float  # GroupMatch before training
    chance: float  # of GroupMatch


def ledger_data(record: Mapping[str, Any]) -> _LedgerData:
    """From a ledger's record. Below training stand the parts that it is the sum of, as far as they are known."""
    rows = {row["name"]: row for row in record["rows"]}
    text = {row["name"]: f"{row['label']}: {_points(row)}" for row in record["rows"]}
    figures = record["figures"]
    frozen, match = figures["frozen"][GROUP_SCORE], figures["frozen"][GROUP_MATCH]
    label = f"{METRICS[GROUP_SCORE].label}, frozen model: {_pct(frozen['value'])} %"
    bars = [(label, "score", "", 0.0, *_interval(frozen))]
    at = frozen["value"]
    for name, kind in _PARTS.items():
        if name in rows:
            row = rows[name]
            at = match["value"] if name == _SUM[0] else at
            ends = (at + row[end] for end in ("difference", "low", "high"))
            bars.append((text[name], kind, name, at, *ends))
            at += row["difference"]
    if "adapted" in figures:
        adapted = figures["adapted"][GROUP_MATCH]
        label = f"{METRICS[GROUP_MATCH].label}, adapted model"
        bars.append((f"{label}: {_pct(adapted['value'])} %", "match", "", 0.0, *_interval(adapted)))
    for row in record["rows"]:
        if row["kind"] == "control":
            name = row["name"]
            bars.append((text[name], "control", name, match["value"], *_interval(row["after"])))
    labels, kinds, names, *numbers = zip(*bars, strict=True)
    starts, values, lows, highs = (np.array(column, dtype=float) for column in numbers)
    return _LedgerData(
        list(labels), list(kinds), list(names), starts, values, lows, highs, match["value"], match["chance"]
    )


def _points(row: Mapping[str, Any]) -> str:
    """A difference with its sign, which is no hyphen."""
    return _signed(row["difference"]).replace("-", "−")


def _interval(estimate: Mapping[str, float]) -> tuple[float, float, float]:
    return estimate["value"], estimate["low"], estimate["high"]


_INDENT = 18  # pixels, of what training is the sum of
_LOOKS = {
    "score": ("GroupScore, frozen", METRICS[GROUP_SCORE].colour, ""),
    "metric": ("an easier metric", COVERAGE_COLOUR, "/"),
    "bijections": ("one caption per image", SERIES[1][0], ""),
    "training": ("training", SERIES[0][0], ""),
    "detail": ("of training", faint(SERIES[0][0], 0.55), ""),
    "match": ("GroupMatch, adapted", METRICS[GROUP_MATCH].colour, ""),
    "control": ("control: GroupMatch from the frozen model's on", SERIES[2][0], "."),
}


def ledger_figure(record: Mapping[str, Any]) -> go.Figure:
    """The parts as bars that start where the one before ends, below training what it is the sum of, then the controls
    from the frozen model's GroupMatch on.

    record : a ledger's. Whiskers are 95 % intervals of what a bar adds. Dashed: GroupMatch of the frozen model; dotted:
    its chance level.
    """
    data, figure = ledger_data(record), go.Figure()
    # Room between the parts and the controls.
    places = np.arange(len(data.kind)) + np.array([0.6 * (kind == "control") for kind in data.kind])
    for kind, (name, colour, shape) in _LOOKS.items():
        mask = np.array([each == kind for each in data.kind])
        if mask.any():
            figure.add_bar(
                x=(data.end - data.start)[mask],
                base=data.start[mask],
                y=places[mask],
                width=0.42,
                orientation="h",
                name=name,
                marker=hatched(colour, shape),
                customdata=np.stack([data.start, data.end, data.low, data.high], axis=-1)[mask],
                hovertemplate="%{customdata[0]:.1f} to %{customdata[1]:.1f} % "
                "(%{customdata[2]:.1f}–%{customdata[3]:.1f})",
            )
    outlined_whiskers(figure, data.end, places, data.high - data.end, data.end - data.low, along="x")
    layout(figure, 60 + round(46 * (places[-1] + 1)), "", "")
    for place, label, kind in zip(places, data.label, data.kind, strict=True):
        figure.add_annotation(  # above its bar: on a phone there is no room beside it
            x=0, y=place - 0.42, xref="paper", text=label, showarrow=False, xanchor="left",
            xshift=_INDENT * (kind == "detail"),
        )  # fmt: skip
    for x, dash in (
        (data.frozen, "dash"),
        (data.chance, "dot"),
    ):  # in pieces beside the bars: no label is crossed
        figure.add_scatter(
            x=np.tile([x, x, np.nan], len(places)),
            y=(places[:, None] + [-0.21, 0.31, np.nan]).ravel(),
            mode="lines",
            line={"color": COVERAGE_COLOUR, "width": 1.5, "dash": dash},
            hoverinfo="skip",
        )
    _closest(figure, barmode="overlay", showlegend=False, margin_l=LEFT)
    figure.update_xaxes(range=[min(0.0, float(data.low.min())), max(104.0, float(data.high.max()))])
    figure.update_xaxes(ticksuffix=" %", dtick=25)
    return figure.update_yaxes(
        range=[places[-1] + 0.5, -0.75], showticklabels=False, showgrid=False, rangemode="normal"
    )
