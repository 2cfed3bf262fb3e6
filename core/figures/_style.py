"""The look that all figures share: one palette, one layout.

Backgrounds are transparent and texts take the page's colour; every colour here is a middle tone that keeps a
contrast of 3:1 or better on the light and on the dark page. Right, wrong and tie also differ by symbol and pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.metrics.group_metrics import SYMBOLS

OUTCOME_COLOURS = {"right": "#2f7fd0", "wrong": "#d9730d", "tie": "#868c9b"}
OUTCOME_SYMBOLS = SYMBOLS
COVERAGE_COLOUR, PRECISION_COLOUR, THRESHOLD_COLOUR = "#7a8296", "#2f7fd0", "#8a5be0"
THRESHOLD_LINE = {"color": THRESHOLD_COLOUR, "width": 3}
MARK_COLOUR = "#c67c12"  # intervals on bars, the model's cells in a score matrix
# Runs or models that share a figure: colour and dash together.
SERIES = [("#6c63e0", "solid"), ("#c67c12", "dash"), ("#1a9382", "dot"), ("#c0569f", "dashdot")]
# More than four, as dots: a shape and a colour of its own each.
MARKS = [
    *zip(("circle", "diamond", "square", "triangle-up"), (colour for colour, _ in SERIES), strict=True),
    ("star", "#5b7fd6"),
    ("hexagon", "#93801c"),
]
# A score matrix, from its lowest to its highest score.
_SHADES = ((233, 231, 251), (143, 135, 230), (47, 40, 128))
MAX_STEPS = 1200  # a step curve with more points than this has several in one pixel: pages are 1,240 wide


def score_colour(level: float) -> str:
    """The colour of a score at `level` in [0, 1] between the lowest and the highest of its matrix."""
    steps = np.linspace(0, 1, len(_SHADES))
    return "#" + "".join(
        f"{round(np.interp(level, steps, channel)):02x}" for channel in zip(*_SHADES, strict=True)
    )


def faint(colour: str, opacity: float) -> str:
    """A colour "#rrggbb" that lets through what lies behind it."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def line(
    figure: go.Figure,
    x: Any,
    y: Any,
    name: str,
    colour: str,
    hover: str = "%{y:.1f} %",
    *,
    dash: str = "solid",
    width: float = 3,
    shape: str | None = None,
    marker: dict[str, Any] | None = None,
    error: np.ndarray | None = None,
    **more: Any,
) -> None:
    """A curve; with markers where `marker` says which, and with bars of one standard deviation, `error` (n,).

    shape : of its steps, as Plotly names them. more : what else Plotly's scatter takes.
    """
    look = {"color": colour, "width": width, "dash": dash, **({"shape": shape} if shape else {})}
    more = {"mode": "lines" if marker is None else "lines+markers", "line": look, **more}
    if marker:
        more["marker"] = marker
    if error is not None:
        more["error_y"] = {"array": np.nan_to_num(error), "thickness": 1.6, "width": 5, "color": colour}
    figure.add_scatter(x=x, y=y, name=name, hovertemplate=hover, **more)


def band(figure: go.Figure, x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: str) -> None:
    """The area between two curves: an interval, or one standard deviation to either side."""
    figure.add_scatter(
        x=np.r_[x, x[::-1]],
        y=np.r_[high, low[::-1]],
        fill="toself",
        fillcolor=faint(colour, 0.16),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
    )


def whiskers(up: np.ndarray, down: np.ndarray, colour: str = MARK_COLOUR) -> dict[str, Any]:
    """The look of intervals: how far each goes up and down from its mark, (n,) each."""
    return {"array": up, "arrayminus": down, "thickness": 1.6, "width": 4, "color": colour}


def outlined_whiskers(
    figure: go.Figure, x: np.ndarray, y: np.ndarray, up: np.ndarray, down: np.ndarray, along: str = "y"
) -> None:
    """Intervals that are seen on a bar of any colour and on both pages: dark, with a white edge.

    x, y, up, down : (n,), the ends of the bars and how far each interval goes along the axis `along`.
    """
    for width, colour in ((4.5, "#ffffff"), (1.6, "#1c1e26")):
        error = {**whiskers(up, down, colour), "thickness": width, "width": 4 if width < 2 else 5}
        figure.add_scatter(
            x=x, y=y, mode="markers", marker={"opacity": 0}, hoverinfo="skip", showlegend=False,
            **{f"error_{along}": error},
        )  # fmt: skip


def hatched(colour: str, shape: str) -> dict[str, Any]:
    """The look of bars, with Plotly's pattern `shape` or none (""): right and wrong differ by more than colour."""
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.6)", "size": 7}
    return {"color": colour, "line": {"width": 0}, "pattern": pattern}


LEFT = 18  # pixels left of an axis that begins at 0 with nothing beside it: Plotly leaves out a label that has no room
_TOOLBAR = 32  # pixels that the buttons of a figure take above it


def _closest(figure: go.Figure, **more: Any) -> go.Figure:
    """What is nearest to the pointer says what it is in one label: Plotly would put the name of its marks beside the
    label, in a box of its own that lies on the figure. more : what else the layout takes."""
    for trace in figure.data:
        said = trace.hovertemplate
        if isinstance(said, str) and "<extra>" not in said:
            name = f"{trace.name}<br>" if trace.name and len(figure.data) > 1 else ""
            trace.hovertemplate = f"{name}{said}<extra></extra>"
    return figure.update_layout(hovermode="closest", **more)


def rows_axis(figure: go.Figure, names: Sequence[str]) -> go.Figure:
    """Names down the left side, the first on top: of marks at the heights 0, 1, ..."""
    _closest(figure)
    return figure.update_yaxes(
        tickvals=np.arange(len(names), dtype=float),
        ticktext=[name.removeprefix("scenes/") for name in names],
        range=[len(names) - 0.5, -0.5],
        rangemode="normal",
    )


_CHANCE_NEAR = 15  # points: a chance level as near as this below the curves is on their axis


def _percent_floor(lowest: float) -> float:
    """Where a percent axis begins, so that small steps can be seen; the axis says so by its numbers."""
    return max(0.0, 5 * (lowest // 5) - 5)


def _percent_ends(values: np.ndarray, chances: Sequence[float]) -> tuple[float, float]:
    """The ends of a percent axis: all curves and bands, and each chance level unless it is so far below them that it
    would press them together."""
    lowest, highest = float(np.nanmin(values)), float(np.nanmax(values))
    near = [chance for chance in chances if lowest - chance < _CHANCE_NEAR]
    return _percent_floor(min([lowest, *near])), min(104.0, 5 * np.ceil(max([highest, *chances]) / 5) + 5)


def layout(figure: go.Figure, height: int, x: str, y: str, percent: bool = False) -> go.Figure:
    """The look that all figures share: no background, horizontal legend, no drag zoom on a phone."""
    axis: dict[str, Any] = {"automargin": True, "fixedrange": True, "zeroline": False}
    upright = {"range": [0, 104], "ticksuffix": " %", "dtick": 25} if percent else {}
    named = sum(trace.showlegend is not False for trace in figure.data)
    has_legend = named > 1 and figure.layout.showlegend is not False
    figure.update_layout(
        overwrite=True,  # to merge with what is there takes twenty times as long; nothing is
        height=height,
        # Without a legend above the plot the toolbar would lie on its last points.
        margin={"l": 4, "r": 14, "t": 12 if has_legend else _TOOLBAR, "b": 4},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={
            "orientation": "h",
            "yanchor": "bottom",
            "y": 1.02,
            "x": 0,
            "title": None,
            "traceorder": "normal",
        },
        hovermode="x unified",
        dragmode=False,
        bargap=0.05,
        xaxis={"title": {"text": x or None}, **axis},
        yaxis={"title": {"text": y or None}, "rangemode": "tozero", **axis, **upright},
    )
    for trace in figure.select_traces({"type": "scatter"}):
        trace.cliponaxis = False  # whole markers at 0 and at 100 %
    return figure
