"""Figures of the lessons: repeated random draws, captions by their scores, a transfer check round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.figures._style import (
    COVERAGE_COLOUR,
    OUTCOME_COLOURS,
    OUTCOME_SYMBOLS,
    SERIES,
    THRESHOLD_LINE,
    _closest,
    hatched,
    layout,
    line,
)
from core.metrics.statistics import Estimate


class _DrawsData(NamedTuple):
    """Accuracies of repeated draws, percent (d,), and whether each interval contains the chance level, bool (d,)."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    contains: np.ndarray
    chance: float


def draws_data(draws: Sequence[Estimate]) -> _DrawsData:
    """draws : the same metric on random scores, drawn several times."""
    value, low, high, chance, _ = np.array([draw[:5] for draw in draws], dtype=np.float64).T
    return _DrawsData(value, low, high, (low <= chance) & (chance <= high), float(chance[0]))


def draws_figure(data: _DrawsData) -> go.Figure:
    """One dot with its 95 % interval per draw; the dotted line is the exact chance level."""
    figure, number = go.Figure(), np.arange(1, len(data.value) + 1)
    for kind, mask, name, marker in (
        ("right", data.contains, "contains the chance level", "circle"),
        ("wrong", ~data.contains, "misses it", "x"),
    ):
        figure.add_scatter(
            x=number[mask],
            y=data.value[mask],
            mode="markers",
            name=f"interval {name}",
            marker={"color": OUTCOME_COLOURS[kind], "symbol": marker, "size": 9},
            error_y={
                "array": (data.high - data.value)[mask],
                "arrayminus": (data.value - data.low)[mask],
                "thickness": 2,
                "width": 4,
            },
            customdata=np.stack([data.low[mask], data.high[mask]], axis=-1),
            hovertemplate="%{y:.1f} % (95 % interval %{customdata[0]:.1f}–%{customdata[1]:.1f})",
        )
    figure.add_hline(y=data.chance, line={"color": OUTCOME_COLOURS["tie"], "width": 3, "dash": "dot"})
    layout(figure, 320, "draw", "")
    _closest(figure)
    figure.update_yaxes(ticksuffix=" %", rangemode="normal")
    return figure.update_xaxes(dtick=1 if len(number) <= 12 else 5, range=[0.3, len(number) + 0.7])


class _CaptionBarsData(NamedTuple):
    """Captions of one image with their scores, highest first, and which is the true one."""

    captions: list[str]
    scores: np.ndarray  # (k,)
    true: np.ndarray  # bool (k,)


def caption_bars_data(captions: Sequence[str], scores: np.ndarray, true: int) -> _CaptionBarsData:
    """scores : (k,) of one image with its captions; true : the index of its own."""
    order = np.argsort(-np.asarray(scores, dtype=np.float64), kind="stable")
    return _CaptionBarsData([captions[j] for j in order], np.asarray(scores)[order], order == true)


def caption_bars_figure(data: _CaptionBarsData) -> go.Figure:
    """How far each caption's score lies above the lowest, as horizontal bars; the true caption has a tick, a
    wrong one a cross."""
    places = np.arange(len(data.captions), dtype=float)
    ahead = data.scores - data.scores.min()
    figure = go.Figure()
    for kind, mask, shape in (("right", data.true, ""), ("wrong", ~data.true, "/")):
        figure.add_bar(
            x=ahead[mask],
            y=places[mask],
            width=0.5,
            orientation="h",
            marker=hatched(OUTCOME_COLOURS[kind], shape),
            name=f"{OUTCOME_SYMBOLS[kind]} {'true' if kind == 'right' else 'wrong'} caption",
            customdata=data.scores[mask],
            hovertemplate="score %{customdata:.3f}",
        )
    figure.update_layout(showlegend=False)  # every bar says which it is
    layout(figure, 70 + 56 * len(places), "score above the lowest", "")
    for place, caption, true, lead in zip(places, data.captions, data.true, ahead, strict=True):
        mark = OUTCOME_SYMBOLS["right" if true else "wrong"]
        number = f"+{lead:.2f}" if lead else "lowest"  # whose bar has no length
        figure.add_annotation(  # above its bar: on a phone there is no room beside it
            x=0,
            y=place - 0.42,
            xref="paper",
            text=f"{mark} {caption} · {number}",
            showarrow=False,
            xanchor="left",
        )
    _closest(figure, barmode="overlay")
    figure.update_xaxes(range=[0, 1.08 * (float(ahead.max()) or 1.0)])
    return figure.update_yaxes(
        range=[len(places) - 0.5, -0.75], showticklabels=False, showgrid=False, rangemode="normal"
    )


class _RoundsData(NamedTuple):
    """A metric of each part of a transfer check, percent (rounds,), and its chance level."""

    value: dict[str, np.ndarray]
    chance: float


def rounds_data(parts: Mapping[str, Sequence[Estimate]]) -> _RoundsData:
    """parts : of each part its metric before training and after every round."""
    values = {name: np.array([each.value for each in rounds]) for name, rounds in parts.items()}
    return _RoundsData(values, next(iter(parts.values()))[0].chance)


def rounds_figure(data: _RoundsData, now: int) -> go.Figure:
    """A curve per part over the rounds of training; the vertical line marks round `now`."""
    figure = go.Figure()
    count = max(len(values) for values in data.value.values())
    for (name, values), (colour, dash) in zip(data.value.items(), SERIES, strict=False):
        line(figure, np.arange(len(values)), values, name, colour, dash=dash)
    line(figure, [0, count - 1], [data.chance] * 2, "chance level", COVERAGE_COLOUR, dash="dot", width=2)
    figure.add_vline(x=now, line=THRESHOLD_LINE)
    return layout(figure, 320, "round of training", "", percent=True)
