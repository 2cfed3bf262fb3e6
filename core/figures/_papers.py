"""A table of a paper beside one's own numbers: one row of the figure per line of the table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.text import _pct
from core.datasets.paper_results import UNITS
from core.figures._style import MARK_COLOUR, faint, layout, rows_axis
from core.figures.text import _method_and_metric, label_and_meaning
from core.metrics.groups import METRICS

_MARKER_STYLES = (
    (MARK_COLOUR, "diamond"),
    ("#c0569f", "triangle-up"),
    ("#93801c", "triangle-down"),
    ("#5b7fd6", "star"),
    ("#2f9e8f", "pentagon"),
    ("#8a8f98", "hexagon"),
)
# Where those do not suffice: a colour for each data set, a mark for each metric and part. As many of one as of the
# other, so that `_diagonal` never gives a pair twice.
_COLOURS = ("#6c63e0", MARK_COLOUR, "#1a9382", "#c0569f", "#5a9a32", "#8a8f98", "#b5513f")
_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "star", "triangle-down", "cross")
# Whose numbers -> what the mark's name ends in, and how far it lies below its line's middle where yours are there, too.
_WHOSE = {"paper": "paper", "shipped": "ours", "yours": "yours"}  # of a mark, in the legend
_SIDES = {"paper": ("-open", -0.14), "shipped": ("-open", -0.14), "yours": ("", 0.14)}
_CHANCE, _CHANCES = "#868c9b", 3  # the colour of chance levels, and how many a figure may have
_UPRIGHT = 11  # pixels of a chance level's line, above and below its row's middle
# On a phone: how far the results of a row lie apart, as a part of it; pixels of a line of its legend.
_SPREAD, _LEGEND_LINE = 0.84, 19
# Lines that are seen at once; of more some are shown, where at least so many are spared.
_FEW_LINES, _FEW_LESS = 8, 3
_FEW = 4  # results that lie on one line and can still be told apart
_RANDOM, _HUMAN = "random, chance", "human"  # lines of a table that are no model
# Pixels. On a laptop's screen of 768 a table's figure has `_ROWS` for its rows, where these are many and of one column
# `_MANY_ROWS`; below the least their names touch, or marks of several columns. A name has two lines where its row has
# room for them: on rows of 30 pixels four names read as one block.
_ROWS, _MANY_ROWS, _LEAST, _LEAST_SEVERAL, _MOST, _TWO_LINES = 264, 336, 17, 20, 30, 36
_LONG_NAME = 30  # letters: on a phone, a longer name would leave little to the figure
_ABOVE, _BELOW, _APART = (
    30,
    24,
    14,
)  # pixels of the legend, of the axis, and between the legend and what is below it
_TALL = 480  # pixels from which the axis stands above the rows: below them it would be out of sight


_HERE = "here: "  # begins the lines of the built-in world below a paper's
_BESIDE = "here, "  # begins a column of the built-in world beside a paper's
_NUMBERS = ("paper", "paper_std", "shipped", "shipped_std", "yours", "yours_std", "chance")


class PapersData(NamedTuple):
    """Results of a table in percent: each array is (lines, results), NaN where there is no number."""

    lines: list[str]  # those with a number
    results: list[str]  # "TTM GroupMatch", ...
    metrics: list[str]  # of each result
    kinds: list[tuple[str, str]]  # of each result: what its heading says of data set or method, and its part
    methods: bool  # whether results differ by method, and not by the data set that a heading names
    paper: np.ndarray
    paper_std: np.ndarray
    shipped: np.ndarray  # of the built-in world: what ships with Crossmatch
    shipped_std: np.ndarray
    yours: np.ndarray
    yours_std: np.ndarray
    chance: np.ndarray

    @property
    def has_numbers(self) -> bool:
        return bool((~np.isnan([self.paper, self.shipped, self.yours])).any())

    @property
    def has_few(self) -> bool:
        """Whether so few results lie in a row that they are told apart on one line."""
        return len(self.results) <= _FEW

    def _main(self) -> PapersData | None:
        """Of many printed results those of unseen combinations, which are what the paper asks about, where they are
        few, and what is measured here beside them; None where there are none."""
        own = np.array([name.startswith(_BESIDE) for name in self.results], bool)
        printed = ~np.isnan(self.paper) | (~np.isnan(self.shipped) & own)
        kept = [j for j, (_, part) in enumerate(self.kinds) if part == "unseen" and printed[:, j].any()]
        if self.has_few or not 0 < len(kept) <= _FEW:
            return None
        rows = printed[:, kept].any(axis=1)
        results, metrics = ([of[j] for j in kept] for of in (self.results, self.metrics))
        lines = [line for line, is_kept in zip(self.lines, rows, strict=True) if is_kept]
        kinds = [self.kinds[j] for j in kept]
        numbers = {name: getattr(self, name)[rows][:, kept] for name in self._fields[5:]}
        return self._replace(lines=lines, results=results, metrics=metrics, kinds=kinds, **numbers)

    def _choices(self) -> dict[str, PapersData]:
        """What the figure may show of a table whose columns are data sets, by name: its main columns where there are
        such, each column, then all of them; empty of a table whose columns are methods, or that has one column."""
        if self.methods or len(self.results) < 2 or not self.has_numbers:
            return {}
        main = self._main()
        first = {} if main is None or len(main.results) < 2 else {"unseen combinations": main}
        own = [j for j in range(len(self.results)) if self._stands_beside(j) is None]
        names = _short_names([self.results[j] for j in own])
        beside = {j: [i for i in range(len(self.results)) if self._stands_beside(i) == j] for j in own}
        columns = {name: self._columns([j, *beside[j]]) for name, j in zip(names, own, strict=True)}
        whole = self if len(own) == len(self.results) else self._columns(own)
        return {**first, **columns, "all": whole}

    def _stands_beside(self, j: int) -> int | None:
        """The paper's column that a column of the built-in world stands beside, where it is of one alone."""
        part = self.kinds[j][1]
        is_ours = self.results[j].startswith(_BESIDE) and part in self.results
        return self.results.index(part) if is_ours else None

    def _columns(self, js: Sequence[int]) -> PapersData:
        """Some columns, in the lines that have a number there. Of one column of the paper, its line that says what
        chance gives is its chance level."""
        numbers = {name: getattr(self, name)[:, list(js)].copy() for name in self._fields[5:]}
        is_random = np.array([line == _RANDOM for line in self.lines])
        printed = numbers["paper"][is_random]
        is_one = sum(self._stands_beside(j) is None for j in js) == 1
        if is_one and np.isfinite(printed).any() and not is_random.all():
            levels = numbers["chance"][:, 0]
            levels[np.isnan(levels)] = printed[0, 0]
        else:
            is_random[:] = False
        known = [(~np.isnan(numbers[whose])).any(axis=1) for whose in _SIDES]
        kept = np.any(known, axis=0) & ~is_random
        lines = [line for line, is_kept in zip(self.lines, kept, strict=True) if is_kept]
        numbers = {name: each[kept] for name, each in numbers.items()}
        results, metrics = ([of[j] for j in js] for of in (self.results, self.metrics))
        kinds = [self.kinds[j] for j in js]
        return self._replace(lines=lines, results=results, metrics=metrics, kinds=kinds, **numbers)

    def _headline(self, names: str, highest: bool) -> PapersData:
        """Of many lines those that a claim is about, and any that has a number of yours; all where these are few, or
        few would be spared. names : what their names match. highest : with the highest of each column, which the figure
        names."""
        kept = np.array([bool(re.search(names, line)) for line in self.lines], bool)
        if len(kept) <= _FEW_LINES or not kept.any():
            return self
        kept |= (~np.isnan(self.yours)).any(axis=1)
        compared = np.array([line not in (_HUMAN, _RANDOM) for line in self.lines])
        for values in (self.paper.T, self.shipped.T) if highest else ():
            for column in np.where(compared, values, np.nan):
                if not np.isnan(column).all():
                    kept |= column == np.nanmax(column)
        if len(kept) - kept.sum() < _FEW_LESS:
            return self
        lines = [line for line, is_kept in zip(self.lines, kept, strict=True) if is_kept]
        return self._replace(lines=lines, **{name: getattr(self, name)[kept] for name in self._fields[5:]})

    @property
    def is_one_sided(self) -> bool:
        """Whether nobody has measured anything yet: the numbers stand for themselves."""
        return bool(np.isnan(self.yours).all())


def papers_data(plan: Mapping[str, Any], here: Sequence[Mapping[str, Any]] = ()) -> PapersData:
    """From `core.papers.TablePlan.record()`: what is in percent; gains follow from it, ranks and counts have
    no place. Beside a paper's numbers, of what ships only what is of a metric that the paper has there.

    here : lines of a table of the built-in world that answers the same question; where it has all of the paper's
    columns, what ships of them stands below the paper's lines.
    """
    data = _data_of(plan)
    if not here or not data.has_numbers:
        return data
    own = _data_of({"lines": here})
    if not {*data.results} <= {*own.results}:
        return data
    places = [own.results.index(name) for name in data.results]
    measured = {name: getattr(own, name)[:, places] for name in ("shipped", "shipped_std", "chance")}
    none = np.full_like(measured["shipped"], np.nan)
    numbers: dict[str, Any] = {
        name: np.concatenate([getattr(data, name), measured.get(name, none)]) for name in _NUMBERS
    }
    return data._replace(lines=[*data.lines, *map(_here, own.lines)], **numbers)


def _here(line: str) -> str:
    """`here: left-right, clip`, of a line of the built-in world."""
    return f"{_HERE}{line.replace('scenes/', '').replace('builtin/', '')}"


def _data_of(plan: Mapping[str, Any]) -> PapersData:
    """The numbers of a plan's lines by its columns."""
    names: dict[str, tuple[str, tuple[str, str]]] = {}
    cells = [cell for line in plan["lines"] for cell in line["cells"] if _drawn(cell)]
    for cell in cells:
        names.setdefault(result_name(cell), (cell["metric"], (_subject(cell), cell["part"])))
    printed = {cell["metric"] for cell in cells if cell["paper"] is not None}
    fields = (*(f"{whose}{std}" for whose in _SIDES for std in ("", "_std")), "chance")
    values = np.full((len(fields), len(plan["lines"]), len(names)), np.nan)
    for i, line in enumerate(plan["lines"]):
        for cell in line["cells"]:
            if _drawn(cell):
                has_shipped = cell["paper"] is None and (not printed or cell["metric"] in printed)
                known = [f for f in fields if has_shipped or not f.startswith("shipped")]
                given = [cell.get(field) for field in fields]
                numbers = [
                    np.nan if f not in known or g is None else g for f, g in zip(fields, given, strict=True)
                ]
                values[:, i, list(names).index(result_name(cell))] = numbers
    kept = (~np.isnan(values[:-1])).any(axis=(0, 2))
    kept = kept if kept.any() else ~kept  # of a table without any number its lines stand alone
    labels = [line["line"] for line, is_kept in zip(plan["lines"], kept, strict=True) if is_kept]
    metrics, kinds = [metric for metric, _ in names.values()], [kind for _, kind in names.values()]
    methods = all(cell.get("head") is None for cell in cells)
    return PapersData(labels, list(names), metrics, kinds, methods, *values[:, kept])


def _subject(cell: Mapping[str, Any]) -> str:
    """What a column's heading says besides its metric and its part: the data set, or the method."""
    said = cell["metric"].replace("_", "")
    words = (re.sub(r"\W", "", word) for word in result_name(cell).split())
    return " ".join(word for word in words if word.lower() not in said and word != cell["part"])


def _short_names(results: Sequence[str]) -> list[str]:
    """What tells columns apart: their headings without the words that all begin and end with."""
    words = [name.split() for name in results]
    spare = min(map(len, words)) - 1
    alike = [len({*column}) == 1 for column in zip(*words, strict=False)][:spare]
    begin = alike.index(False) if False in alike else len(alike)
    alike = [len({*column}) == 1 for column in zip(*(each[::-1] for each in words), strict=False)]
    alike = alike[: spare - begin]
    end = alike.index(False) if False in alike else len(alike)
    return [" ".join(each[begin : len(each) - end]).rstrip(",") for each in words]


def _drawn(cell: Mapping[str, Any]) -> bool:
    return UNITS.get(cell["metric"], "percent") == "percent"


def result_name(cell: Mapping[str, Any]) -> str:
    """What a cell's column is headed: its own heading, or method and metric, `TTM GroupMatch`."""
    if cell.get("head") is not None:
        return cell["head"]
    where = f", {cell['part']} groups" if cell.get("part") else ""
    return f"{_method_and_metric(cell, label_and_meaning(cell['metric'])[0])}{where}"


def papers_figure(data: PapersData, highest: bool = False, least: float = 0) -> go.Figure:
    """Hollow marks: the paper's (or the shipped) numbers, filled ones: yours; bars: standard deviations over seeds;
    small upright lines: chance levels.

    A few results without any of yours lie on their line; those of several methods are joined, metric by metric.
    highest : the highest reference of each result has its number beside it; a line of what humans do is not compared.
    least : pixels of a row at the least, as of a phone, whose screen a figure need not fit; several results of a row
    lie below each other there, and its legend has no levels of chance, which `_chance_said` names.
    """
    figure = go.Figure()
    y = np.arange(len(data.lines), dtype=float)
    is_mixed = any(line.startswith(_HERE) for line in data.lines)
    on_one_line = data.is_one_sided and data.has_few
    row = max(_row_height(data, on_one_line, _MOST if least else _most(data)), least)
    apart = bool(least) and len(data.results) > 1  # a phone is so narrow that marks of a row would overlap
    on_one_line, spread = on_one_line and not apart, _SPREAD if apart else 0.32
    if on_one_line and data.methods and data.has_numbers:
        _join(figure, data, y)
    for j, (name, (colour, symbol)) in enumerate(zip(data.results, _looks(data), strict=True)):
        offset = 0.0 if on_one_line else spread * ((j + 0.5) / len(data.results) - 0.5)
        for whose, (ending, shift) in _SIDES.items():
            values, deviations = getattr(data, whose)[:, j], getattr(data, f"{whose}_std")[:, j]
            known = ~np.isnan(values)
            if not known.any():
                continue
            at = y + offset + (0.0 if on_one_line or (apart and data.is_one_sided) else shift)
            figure.add_scatter(
                x=values[known],
                y=at[known],
                error_x={"array": deviations[known], "thickness": 1.6, "color": colour},
                name=name if is_mixed and whose != "yours" else f"{name}, {_WHOSE[whose]}",
                showlegend=not (is_mixed and whose == "shipped" and (~np.isnan(data.paper[:, j])).any()),
                mode="markers",
                marker={
                    "symbol": symbol + ending,
                    "size": 11 if row >= _LEAST_SEVERAL and not apart else 9,
                    "color": colour,
                    "line": {"width": 2, "color": colour},
                },
                text=[data.lines[i] for i in np.flatnonzero(known)],
                hovertemplate="%{text}: %{x:.2f} %",
            )
            if highest and whose != "yours":
                _name_highest(figure, data, values, at)
    if data.has_numbers:
        _mark_chance(figure, data, y, row, named=not least)
    if is_mixed:
        first = next(i for i, line in enumerate(data.lines) if line.startswith(_HERE))
        figure.add_hline(y=first - 0.5, line={"color": _CHANCE, "width": 1})
    _laid_out(figure, data, row, two_lines=row >= _TWO_LINES and not least)
    return _on_phone(figure) if least else figure


def _on_phone(figure: go.Figure) -> go.Figure:
    """The legend as wide as the screen, at the top, with room of its own: beside the names of the rows it took five
    lines, and the room of the rows."""
    named = sum(trace.showlegend is not False for trace in figure.data)
    # plotly sets two in a line only where both fit beside the names of the rows: on a phone they never do
    legend = _LEGEND_LINE * named + _APART // 2 if figure.layout.showlegend and named > 1 else 0
    figure.update_layout(height=figure.layout.height - _ABOVE + legend, margin={"t": legend + 2})
    wide = {"xref": "container", "yref": "container", "x": 0, "y": 1, "yanchor": "top", "font": {"size": 12}}
    return figure.update_layout(legend=wide)


def _chance_said(data: PapersData) -> str:
    """`Upright lines: chance, GroupScore 16.7 to 25 %, by row; GroupMatch 50 %.`, below a phone's figure."""
    columns = _chances(data)
    levels = [
        f"{_whose_chance(data, columns, of)} {_span(np.array([level for level in at if level >= 0]))}"
        for at, of in columns.items()
    ]
    return f"Upright lines: chance, {'; '.join(levels)}." if levels else ""


def _most(data: PapersData) -> int:
    """Pixels of a line of the table at the most: room for a name in two lines where one is long."""
    return _TWO_LINES if any(len(line) > _LONG_NAME for line in data.lines) else _MOST


def _row_height(data: PapersData, on_one_line: bool, most: int) -> float:
    """Pixels of a line of the table: as many as leave all of them, with legend and axis, on a laptop's screen; more
    where yours stand below the paper's, or many beside each other."""
    if not on_one_line:
        return 46 if len(data.results) > 1 else 30
    lines = max(len(data.lines), 1)
    is_one = sum(not name.startswith(_BESIDE) for name in data.results) == 1
    least = min(_LEAST, _MANY_ROWS / lines) if is_one else _LEAST_SEVERAL
    return float(np.clip(_ROWS / lines, least, most))


def _name_highest(figure: go.Figure, data: PapersData, values: np.ndarray, at: np.ndarray) -> None:
    """The number of the highest model, or of all that share it, right of its mark, or left of it at the axis' end."""
    compared = np.where([line == _HUMAN for line in data.lines], np.nan, values)
    if np.isnan(compared).all():
        return
    for top in np.flatnonzero(compared == np.nanmax(compared)):
        is_end = values[top] > 90
        figure.add_annotation(
            x=values[top],
            y=float(at[top]),
            xanchor="right" if is_end else "left",
            xshift=-9 if is_end else 9,
            text=f"<b>{_pct(values[top])}</b>",
            showarrow=False,
        )


def _laid_out(figure: go.Figure, data: PapersData, row: float, two_lines: bool) -> go.Figure:
    """Axis, legend and the names of the lines. two_lines : of letters, where a name is long and there is room: not on a
    phone, whose legend takes the rows' room."""
    rows = row * len(data.lines)
    layout(figure, round(rows + _ABOVE + _BELOW + _APART), "", "")
    is_tall = rows > _TALL
    figure.update_xaxes(range=[0, 104], ticksuffix=" %", dtick=25, side="top" if is_tall else "bottom")
    above = (_APART + (_BELOW if is_tall else 0)) / max(rows, 1)
    figure.update_layout(showlegend=data.has_numbers, margin={"t": 2, "b": 2}, legend={"y": 1 + above})
    names = [
        line.replace(", ", "<br>", 1) if two_lines and len(line) > _LONG_NAME else line for line in data.lines
    ]
    return rows_axis(figure, names)


def _join(figure: go.Figure, data: PapersData, y: np.ndarray) -> None:
    """A pale bar between the results of one metric: what a method adds. Of one result there is none."""
    values = np.where(np.isnan(data.paper), data.shipped, data.paper)
    for metric in dict.fromkeys(data.metrics):
        of = [j for j, each in enumerate(data.metrics) if each == metric]
        if len(of) > 1:
            known = (~np.isnan(values[:, of])).sum(axis=1) > 1
            low, high = (over(values[known][:, of], axis=1) for over in (np.nanmin, np.nanmax))
            gap = np.full(len(low), np.nan)
            colour = faint(METRICS[metric].colour if metric in METRICS else MARK_COLOUR, 0.25)
            figure.add_scatter(
                x=np.stack([low, high, gap], axis=1).ravel(),
                y=np.stack([y[known], y[known], gap], axis=1).ravel(),
                mode="lines",
                line={"width": 9, "color": colour},
                showlegend=False,
                hoverinfo="skip",
            )


def _chances(data: PapersData) -> dict[tuple[float, ...], list[int]]:
    """Chance levels by line of the table, -1 for none, and the results that have them; empty where they are so many
    that nobody could tell which is whose."""
    columns: dict[tuple[float, ...], list[int]] = {}
    for j, levels in enumerate(np.nan_to_num(data.chance, nan=-1.0).T):
        if (levels >= 0).any():
            columns.setdefault(tuple(levels), []).append(j)
    columns = _without_parts(columns)
    return {} if len(columns) > _CHANCES else columns


def _mark_chance(figure: go.Figure, data: PapersData, y: np.ndarray, row: float, named: bool) -> None:
    """A small upright line at each chance level of a line of the table, named by its metric and value; nothing where
    none is known. Drawn as lines, whose sign in the legend lies flat: marks there stood upright, on a phone on top of
    the figure's own. named : in the legend."""
    columns = _chances(data)
    half = min(_UPRIGHT / row, 0.46)
    for levels, of in columns.items():
        known = np.array(levels) >= 0
        x = np.array(levels)[known]
        gap = np.full(len(x), np.nan)
        metrics = list(dict.fromkeys(data.metrics[j] for j in of))
        is_ours = all(data.results[j].startswith(_BESIDE) for j in of)  # beside the paper's own level
        is_own = len(metrics) == 1 and metrics[0] in METRICS and not is_ours
        colour = METRICS[metrics[0]].colour if is_own else _CHANCE
        figure.add_scatter(
            x=np.stack([x, x, x, gap], axis=1).ravel(),  # its middle, too: there one points at it
            y=np.stack([y[known] - half, y[known], y[known] + half, gap], axis=1).ravel(),
            name=f"chance: {_whose_chance(data, columns, of)} {_span(x)}",
            mode="lines",
            showlegend=named,
            line={"width": 2, "color": colour},
            text=np.repeat([data.lines[i] for i in np.flatnonzero(known)], 4),
            hovertemplate="%{text}: chance %{x:.2f} %",
        )


def _without_parts(columns: Mapping[tuple[float, ...], list[int]]) -> dict[tuple[float, ...], list[int]]:
    """Chance levels by line of the table, -1 for none, and the results that have them: of two that agree wherever
    both are known, one with both's results."""
    merged: dict[tuple[float, ...], list[int]] = {}
    for levels, of in columns.items():
        for other in merged:
            pairs = [(a, b) for a, b in zip(levels, other, strict=True) if a >= 0 and b >= 0]
            if pairs and all(a == b for a, b in pairs):
                both = tuple(max(a, b) for a, b in zip(levels, other, strict=True))
                merged[both] = [*merged.pop(other), *of]
                break
        else:
            merged[levels] = list(of)
    return merged


def _whose_chance(data: PapersData, columns: Mapping[tuple[float, ...], list[int]], of: list[int]) -> str:
    """The metrics that have a chance level; where one has another level, too, or the heading of its
    column another name, the results."""
    if all(data.results[j].startswith(_BESIDE) for j in of):
        return "here"
    metrics = list(dict.fromkeys(data.metrics[j] for j in of))
    others = {
        data.metrics[j]
        for js in columns.values()
        if js is not of
        for j in js
        if not data.results[j].startswith(_BESIDE)
    }
    labels = [label_and_meaning(metric)[0] for metric in metrics]
    is_said = all(any(label in data.results[j] for label in labels) for j in of)
    if others & {*metrics} or (
        len(of) == 1 and not is_said
    ):  # a paper calls ImageScore "multi-object accuracy"
        return "; ".join(data.results[j] for j in of)
    return ", ".join(labels)


def _span(levels: np.ndarray) -> str:
    """`16.7 %`, of levels that differ by line `1.7 to 25 %, by row`."""
    low, high = (f"{level:.1f}".removesuffix(".0") for level in (levels.min(), levels.max()))
    return f"{low} %" if low == high else f"{low} to {high} %, by row"


def _looks(data: PapersData) -> list[tuple[str, str]]:
    """Colour and mark of each result, no pair twice: the metric's own of the first with that metric, and of the others
    what is free; of more results than that serves, a colour for each data set and a mark for each metric and part."""
    first = [m in METRICS and data.metrics.index(m) == i for i, m in enumerate(data.metrics)]
    own = [METRICS[m] if is_first else None for m, is_first in zip(data.metrics, first, strict=True)]
    taken = {metric.marker for metric in own if metric}
    free = [style for style in _MARKER_STYLES if style[1] not in taken]
    if first.count(False) <= len(free):
        others = iter(free)
        return [(metric.colour, metric.marker) if metric else next(others) for metric in own]
    by_part = [
        (subject, (metric, part)) for metric, (subject, part) in zip(data.metrics, data.kinds, strict=True)
    ]
    by_metric = [(kind, metric) for metric, kind in zip(data.metrics, data.kinds, strict=True)]
    for pairs in (
        by_part,
        by_metric,
    ):  # a part is of the queries, as in Cola, or a set's own, as in Winoground
        colours, marks = (list(dict.fromkeys(each)) for each in zip(*pairs, strict=True))
        most, is_grid = max(len(colours), len(marks)), len(set(pairs)) == len(pairs)
        if is_grid and most <= len(_COLOURS) and most < len(pairs):  # else no two have anything in common
            return [(_COLOURS[colours.index(c)], _SYMBOLS[marks.index(m)]) for c, m in pairs]
    return [_diagonal(j) for j in range(len(data.results))]


def _diagonal(j: int) -> tuple[str, str]:
    """The j-th of 49 pairs, of which neighbours differ in both colour and mark."""
    n = len(_COLOURS)
    return _COLOURS[j % n], _SYMBOLS[(j + j // n) % n]
