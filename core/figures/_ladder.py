"""The binding ladder: what is solved from every rung, from the tokens of each tower to the model's own scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.text import _pct
from core.figures._style import (
    COVERAGE_COLOUR,
    LEFT,
    MARKS,
    OUTCOME_COLOURS,
    SERIES,
    _closest,
    hatched,
    layout,
    outlined_whiskers,
)
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS


class _LadderData(NamedTuple):
    """Rungs from the top down, in percent, each array (r,); NaN where there is no such thing.

    side : "image", "caption" or "both". value, low, high : GroupMatch. score : GroupScore. seen, unseen : GroupMatch on
    combinations by whether training had them. untrained : GroupMatch of the control. chance : of GroupMatch and of
    GroupScore.
    """

    label: list[str]
    side: list[str]
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    score: np.ndarray
    unseen: np.ndarray
    untrained: np.ndarray
    chance: tuple[float, float]


def _ladder_data(record: Mapping[str, Any]) -> _LadderData:
    rows = record["rungs"]
    sides = [side if (side := row["name"].partition("-")[0]) in _LOOKS else "both" for row in rows]
    match = [row.get(GROUP_MATCH, {}) for row in rows]
    values = {name: _column(m.get(name) for m in match) for name in ("value", "low", "high")}
    shown = [f": {_pct(m['value'])} %" if m else ": –" for m in match]
    own = next(row for row in rows if row["name"] == "own")
    return _LadderData(
        [row["label"] + text for row, text in zip(rows, shown, strict=True)],
        sides,
        **values,
        score=_column(row.get(GROUP_SCORE, {}).get("value") for row in rows),
        unseen=_column(_part(row, "combinations", "unseen") for row in rows),
        untrained=_column(_part(row, "controls", "untrained") for row in rows),
        chance=(own[GROUP_MATCH]["chance"], own[GROUP_SCORE]["chance"]),
    )


def _column(values: Any) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _part(row: Mapping[str, Any], kind: str, name: str) -> float | None:
    found = row.get(kind, {}).get(name)
    return found and found[GROUP_MATCH]["value"]


_LOOKS = {
    "image": ("image tower, caption known", SERIES[0][0], ""),
    # No colour of a mark: GroupScore's is that of the third series.
    "caption": ("caption tower, image known", MARKS[-1][1], "."),
    "both": ("image with caption", SERIES[3][0], "/"),
}

# Heights within a rung, which has 44 pixels on a phone: label, bar, marks; the next label begins below them. Marks on
# different heights lie clear of each other wherever they stand.
_LABEL_ABOVE, _HALF_BAR, _MARKS_BELOW, _RUNG_ENDS = 0.315, 0.14, (0.235, 0.42), 0.5
_MARK_WIDTH = 4.0  # points of accuracy that a mark takes on a phone


def ladder_figure(record: Mapping[str, Any]) -> go.Figure:
    """GroupMatch of every rung as bars with 95 % intervals; GroupScore, unseen combinations and the control as marks.

    record : a ladder's, of which rungs that are missing take no place. Marks that meet stand on two heights.
    Dotted, between the labels: the chance level of GroupMatch.
    """
    data = _ladder_data({**record, "rungs": [row for row in record["rungs"] if "missing" not in row]})
    figure = go.Figure()
    places = np.arange(len(data.label), dtype=float)
    for side, (name, colour, shape) in _LOOKS.items():
        mask = np.array([each == side for each in data.side]) & ~np.isnan(data.value)
        if mask.any():
            figure.add_bar(
                x=data.value[mask],
                y=places[mask],
                width=2 * _HALF_BAR,
                orientation="h",
                name=name,
                marker=hatched(colour, shape),
                customdata=np.stack([data.low, data.high], axis=-1)[mask],
                hovertemplate="%{x:.1f} % (95 % interval %{customdata[0]:.1f}–%{customdata[1]:.1f})",
            )
    outlined_whiskers(figure, data.value, places, data.high - data.value, data.value - data.low, along="x")
    _add_marks(figure, data, places)
    layout(figure, 110 + 48 * len(places), "", "")
    for place, label in zip(places, data.label, strict=True):
        figure.add_annotation(  # above its bar: on a phone there is no room beside it
            x=0, y=place - _LABEL_ABOVE, xref="paper", text=label, showarrow=False, xanchor="left"
        )
        _add_chance(figure, data.chance[0], place)
    _closest(figure, barmode="overlay", margin_l=LEFT)
    figure.update_xaxes(range=[0, 104], ticksuffix=" %", dtick=25)
    return figure.update_yaxes(
        range=[places[-1] + 0.55, -0.7], showticklabels=False, showgrid=False, rangemode="normal"
    )


def _add_chance(figure: go.Figure, chance: float, place: float) -> None:
    """The chance level of a rung: beside the labels, not through them; seen on bars and on both pages."""
    for look in ({"color": "#ffffff", "width": 3.5}, {"color": "#1c1e26", "width": 1.8, "dash": "dot"}):
        figure.add_shape(
            type="line", x0=chance, x1=chance, y0=place - _HALF_BAR, y1=place + _RUNG_ENDS, line=look
        )


def _add_marks(figure: go.Figure, data: _LadderData, places: np.ndarray) -> None:
    """What else was measured of each rung, on two heights below its bar; a kind that no rung has is left out."""
    values = np.stack([data.score, data.unseen, data.untrained])
    looks = (
        (f"{METRICS[GROUP_SCORE].label}, stricter", "diamond", METRICS[GROUP_SCORE].colour),
        ("GroupMatch, unseen combinations", "circle-open", OUTCOME_COLOURS["wrong"]),
        ("GroupMatch, untrained model", "x-thin-open", COVERAGE_COLOUR),
    )
    for (name, symbol, colour), of, below in zip(looks, values, _mark_heights(values), strict=True):
        if not np.isnan(of).all():
            figure.add_scatter(
                x=of,
                y=places + below,
                mode="markers",
                name=name,
                marker={
                    "symbol": symbol,
                    "size": 8,
                    "color": colour,
                    "line": {"width": 2.5, "color": colour},
                },
                hovertemplate="%{x:.1f} %",
            )


def _mark_heights(values: np.ndarray) -> np.ndarray:
    """How far below its rung's place each mark stands, of values (kinds, rungs): the first two kinds on one height and
    the third below them; where the first two would meet, from left to right by turns."""
    heights = np.array([[0], [0], [1]]).repeat(values.shape[1], axis=1)
    for rung, of in enumerate(values.T):
        if abs(of[0] - of[1]) < _MARK_WIDTH:
            heights[np.argsort(of, kind="stable"), rung] = (
                np.arange(len(of)) % 2
            )  # NaN, of which no mark is drawn, last
    return np.array(_MARKS_BELOW)[heights]
