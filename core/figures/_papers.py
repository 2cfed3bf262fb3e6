"""A table of a paper beside one's own numbers: one row of the figure per line of the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.datasets.paper_results import UNITS
from core.figures._style import MARK_COLOUR, layout, rows_axis
from core.figures.text import label_and_meaning
from core.metrics.groups import METRICS

_MARKER_STYLES = (
    (MARK_COLOUR, "diamond"),
    ("#c0569f", "triangle-up"),
    ("#93801c", "triangle-down"),
    ("#5b7fd6", "star"),
    ("#2f9e8f", "pentagon"),
    ("#8a8f98", "hexagon"),
)


class PapersData(NamedTuple):
    """Results of a table in percent: each array is (lines, results), NaN where there is no number."""

    lines: list[str]
    results: list[str]  # "SimpleMatch GroupMatch", ...
    metrics: list[str]  # of each result
    paper: np.ndarray  # or, of the built-in world, what ships with Crossmatch
    paper_std: np.ndarray
    yours: np.ndarray
    yours_std: np.ndarray
    whose: str  # "paper" or "shipped"


def papers_data(plan: Mapping[str, Any]) -> PapersData:
    """From `core.papers.TablePlan.record()`: what is in percent; gains follow from it, ranks and counts have
    no place."""
    names: dict[str, str] = {}
    cells = [cell for line in plan["lines"] for cell in line["cells"] if _drawn(cell)]
    for cell in cells:
        names.setdefault(result_name(cell), cell["metric"])
    whose = "paper" if any(cell["paper"] is not None for cell in cells) else "shipped"
    fields = (whose, f"{whose}_std", "yours", "yours_std")
    values = np.full((len(fields), len(plan["lines"]), len(names)), np.nan)
    for i, line in enumerate(plan["lines"]):
        for cell in line["cells"]:
            if _drawn(cell):
                numbers = [np.nan if cell[f] is None else cell[f] for f in fields]
                values[:, i, list(names).index(result_name(cell))] = numbers
    labels = [line["line"] for line in plan["lines"]]
    paper, paper_std, yours, yours_std = values
    results, metrics = list(names), list(names.values())
    return PapersData(labels, results, metrics, paper, paper_std, yours, yours_std, whose)


def _drawn(cell: Mapping[str, Any]) -> bool:
    return UNITS.get(cell["metric"], "percent") == "percent"


def result_name(cell: Mapping[str, Any]) -> str:
    """What a cell's column is headed: its own heading, or method and metric, `SimpleMatch GroupMatch`."""
    if cell.get("head") is not None:
        return cell["head"]
    method = "TTM" if cell["method"].startswith("TTM T=") else cell["method"]
    where = f", {cell['part']} groups" if cell.get("part") else ""
    return f"{method} {label_and_meaning(cell['metric'])[0]}{where}"


def papers_figure(data: PapersData) -> go.Figure:
    """Hollow marks: the paper's (or the shipped) numbers, filled ones: yours; bars: standard deviations over seeds."""
    figure = go.Figure()
    y = np.arange(len(data.lines), dtype=float)
    for j, name in enumerate(data.results):
        colour, symbol = _marker_style(data, j)
        offset = 0.32 * ((j + 0.5) / len(data.results) - 0.5)
        sides = (
            (data.whose, data.paper, data.paper_std, f"{symbol}-open", offset - 0.14),
            ("yours", data.yours, data.yours_std, symbol, offset + 0.14),
        )
        for whose, values, deviations, mark, shift in sides:
            known = ~np.isnan(values[:, j])
            if not known.any():
                continue
            figure.add_scatter(
                x=values[known, j],
                y=y[known] + shift,
                error_x={"array": deviations[known, j], "thickness": 1.6, "color": colour},
                name=f"{name}, {whose}",
                mode="markers",
                marker={"symbol": mark, "size": 11, "color": colour, "line": {"width": 2, "color": colour}},
                text=[data.lines[i] for i in np.flatnonzero(known)],
                hovertemplate="%{text}: %{x:.2f} %",
            )
    layout(figure, 90 + 46 * len(data.lines), "", "")
    figure.update_xaxes(range=[0, 104], ticksuffix=" %", dtick=25)
    return rows_axis(figure, [line.replace(", ", "<br>", 1) for line in data.lines])


def _marker_style(data: PapersData, j: int) -> tuple[str, str]:
    """Colour and mark of a result: the metric's own where it is the first with that metric, else one that is free."""
    first = [m in METRICS and data.metrics.index(m) == i for i, m in enumerate(data.metrics)]
    metric = data.metrics[j]
    if first[j]:
        return METRICS[metric].colour, METRICS[metric].marker
    taken = {METRICS[m].marker for m, is_first in zip(data.metrics, first, strict=True) if is_first}
    free = [style for style in _MARKER_STYLES if style[1] not in taken]
    return free[first[:j].count(False) % len(free)]
