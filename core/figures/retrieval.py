"""Figures and tables of Cola's retrieval: curves of a strategy's run, strategies side by side, the paper's numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.base.lazy import pandas as pd
from core.base.text import _change_in_points, _pct, _signed, _signed_range
from core.datasets.paper_results import reference
from core.figures._style import OUTCOME_COLOURS, SERIES, _closest, layout, line, whiskers
from core.figures.text import _part_text
from core.metrics.groups import IMAGE_SCORE, TEXT_SCORE
from core.metrics.retrieval import COLA_MAP, METRICS, QUERY_ALL_MAP
from core.metrics.statistics import Comparison
from core.scorers.cola_config import GROUP_RESULTS, STRATEGIES

_PARTS = ("all", "seen", "unseen")
_ARTICLES = {"a", "an", "the"}
# How assets/results/cola.csv was made: said beside it, because it decides what comes out.
BUDGET = (
    "a small base model that read all words of the queries (builtin/clip-details), the same queries "
    "with exchanged attributes for every strategy, and 250 steps an epoch"
)
# What the table of strategies shows: metric, part, heading.
_COLUMNS = (
    (COLA_MAP, "all", "Cola mAP, all"),
    (COLA_MAP, "seen", "seen"),
    (COLA_MAP, "unseen", "unseen"),
    (QUERY_ALL_MAP, "unseen", "QueryAll mAP, unseen"),
    ("multi_object", "all", "multi-object accuracy"),
    ("crepe", "all", "CREPE accuracy"),
    (COLA_MAP, "colours alone", "queries of colours alone"),
    (COLA_MAP, "sizes", "queries that name a size"),
    (COLA_MAP, "materials", "queries that name a material"),
    ("forgetting", "all", "groups it was not trained on"),
)
# Where the paper's numbers of the same kind stand: heading -> dataset, subset, metric.
_PAPER = {
    "GQA, all": ("Cola GQA", "all", COLA_MAP),
    "GQA, seen": ("Cola GQA", "seen", COLA_MAP),
    "GQA, unseen": ("Cola GQA", "unseen", COLA_MAP),
    "CLEVR, all": ("Cola CLEVR", "all", COLA_MAP),
    "CLEVR, seen": ("Cola CLEVR", "seen", COLA_MAP),
    "CLEVR, unseen": ("Cola CLEVR", "unseen", COLA_MAP),
    "PACO, all": ("Cola PACO", "all", COLA_MAP),
    "multi-object accuracy": ("Cola multi-object", "", IMAGE_SCORE),
    "CREPE accuracy": ("CREPE", "1x2", TEXT_SCORE),
}


class _CurveData(NamedTuple):
    """A run over its epochs: arrays over epochs 0..t."""

    epoch: np.ndarray
    parts: dict[str, np.ndarray]  # part -> (t + 1, 4): value, low, high, chance in percent
    loss: np.ndarray  # NaN before the first step
    total: int


def curve_data(steps: Sequence[Mapping[str, Any]], total: int) -> _CurveData:
    """From the records of a run of kind `adapt` (`core.cola.run.execute`)."""
    fields = ("value", "low", "high", "chance")
    known = [s for s in steps if s["validation"]]
    first = known[0]["validation"][COLA_MAP] if known else {}
    parts = {
        part: np.array([[s["validation"][COLA_MAP][part][f] for f in fields] for s in steps], dtype=float)
        for part in _PARTS
        if part in first
    }
    loss = np.array([np.nan if s["loss"] is None else s["loss"] for s in steps], dtype=float)
    return _CurveData(np.array([s["iteration"] for s in steps], dtype=int), parts, loss, total)


def curve_figure(data: _CurveData, height: int = 320) -> go.Figure:
    """Validation mAP per epoch, seen and unseen; the dotted line is the chance level of all queries."""
    figure = go.Figure()
    for (colour, dash), (part, values) in zip(SERIES, data.parts.items(), strict=False):
        hover = "%{y:.1f} % (%{customdata[0]:.1f}–%{customdata[1]:.1f}), chance %{customdata[2]:.1f}"
        more = values[:, 1:]
        line(figure, data.epoch, values[:, 0], part, colour, hover, dash=dash, marker={}, customdata=more)
    if "all" in data.parts:
        level = np.full(len(data.epoch), data.parts["all"][0, 3])
        grey = OUTCOME_COLOURS["tie"]
        line(figure, data.epoch, level, "chance (all)", grey, "%{y:.1f} %", dash="dash", width=1.5)
    _epochs(figure, data, height)
    if not data.parts:
        return figure
    step = 10 if (top := max(values[:, 0].max() for values in data.parts.values())) <= 50 else 20
    # To a labelled line above every point: no value is read off where there is none.
    return figure.update_yaxes(ticksuffix=" %", dtick=step, range=[0, step * np.ceil(top / step) + 1])


def loss_figure(data: _CurveData, height: int = 320) -> go.Figure:
    """Mean training loss per epoch."""
    figure = go.Figure()
    line(figure, data.epoch[1:], data.loss[1:], "loss", SERIES[1][0], "%{y:.4f}", marker={})
    return _epochs(figure, data, height)


def _epochs(figure: go.Figure, data: _CurveData, height: int) -> go.Figure:
    layout(figure, height, "epoch", "")
    return figure.update_xaxes(range=[-0.2, data.total + 0.2], dtick=max(1, round(data.total / 8)))


class StrategiesData(NamedTuple):
    """Strategies by measure: arrays (measures, strategies) in percent, NaN where nothing is known.

    `low`, `high` : 95 % interval over seeds and queries or groups, where rows have it (`mean_low`, `mean_high`); else
    over queries, mean over seeds. `spread` : deviation over seeds, NaN for one. `seeds` :
    (measures, strategies, most seeds), every seed's value.
    """

    strategies: list[str]
    measures: list[str]
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    spread: np.ndarray
    chance: np.ndarray
    seeds: np.ndarray
    ties: np.ndarray  # mean over seeds


def strategies_data(rows: pd.DataFrame) -> StrategiesData:
    """Means over seeds from the rows of `core.cola.table.run_jobs` (assets/results/cola.csv)."""
    wanted = [name for name in ("base", *STRATEGIES) if name in set(rows["strategy"])]
    most = max((rows[rows["strategy"] == name]["seed"].nunique() for name in wanted), default=1)
    data = _empty(wanted, most)
    for i, (metric, part, _) in enumerate(_COLUMNS):
        for j, name in enumerate(wanted):
            seeds = rows[(rows["strategy"] == name) & (rows["metric"] == metric) & (rows["part"] == part)]
            if not len(seeds):
                continue
            for field in _MEANS:
                own = f"mean_{field}" if f"mean_{field}" in seeds else field
                getattr(data, field)[i, j] = seeds[own].mean()
            data.spread[i, j] = seeds["value"].std(ddof=1) if len(seeds) > 1 else np.nan
            data.seeds[i, j, : len(seeds)] = seeds.sort_values("seed")["value"]
    return data


_MEANS = ("value", "low", "high", "chance", "ties")


def _empty(strategies: list[str], seeds: int) -> StrategiesData:
    shape = (len(_COLUMNS), len(strategies))
    value, low, high, spread, chance, ties = (np.full(shape, np.nan) for _ in range(6))
    every = np.full((*shape, seeds), np.nan)
    return StrategiesData(
        strategies, [title for _, _, title in _COLUMNS], value, low, high, spread, chance, every, ties
    )


def paper_data(model: str = "CLIP") -> StrategiesData:
    """The paper's numbers of the same measures, of one base on GQA (Tables 1 and 2a)."""
    table = paper_table(model)
    data = _empty(["base", *(name for name, strategy in STRATEGIES.items() if strategy.row)], 1)
    for i, (metric, part, title) in enumerate(_COLUMNS):
        column = f"GQA, {part}" if metric == COLA_MAP else title
        if column in table:
            data.value[i] = table[column].to_numpy(dtype=float)
    return data


def label(strategy: str) -> str:
    """A strategy's name for people; the base is the model before."""
    return STRATEGIES[strategy].label if strategy in STRATEGIES else "before"


_DRAWN = (1, 2, 4)  # of the measures, those that have bars
_SEED = {"size": 4, "color": "#ffffff", "line": {"width": 1, "color": "#444a58"}}  # the dot of one


def strategies_figure(
    data: StrategiesData,
    beside: StrategiesData | None = None,
    measures: Sequence[int] = _DRAWN,
) -> go.Figure:
    """Bars of some measures by strategy: a line for the 95 % interval, a dot for every seed, chance levels dotted, each
    named in the legend where there are any.

    beside : of a figure next to it, which then has the same height of a percent. measures : which have bars.
    """
    figure = go.Figure()
    width = 0.8 / len(measures)
    places = np.arange(len(data.strategies), dtype=float)
    for place, (i, (colour, _)) in enumerate(zip(measures, SERIES, strict=False)):
        x = places + (place - (len(measures) - 1) / 2) * width
        _bars(figure, data, i, x, 0.9 * width, colour)
        level = _level(data, i)
        if not np.isnan(level):
            figure.add_scatter(
                x=[places[0] - 0.5, places[-1] + 0.5],
                y=[level, level],
                mode="lines",
                line={"color": colour, "width": 1.5, "dash": "dot"},
                showlegend=False,
                hoverinfo="skip",
            )
    _name_marks(figure, data)
    kinds = ["mAP" if _COLUMNS[i][0] in (COLA_MAP, QUERY_ALL_MAP) else "accuracy" for i in measures]
    drawn = " or ".join(dict.fromkeys(kinds))
    layout(figure, 360, f"{drawn}, in percent, by strategy", "")  # aside it would take room
    _closest(figure)
    figure.update_yaxes(ticksuffix=" %")
    rows, every = list(measures), [data, *([] if beside is None else [beside])]
    most = max(
        (
            float(np.nanmax(ends))
            for d in every
            for ends in (d.value[rows], d.high[rows], d.seeds[rows])
            if not np.isnan(ends).all()
        ),
        default=100.0,
    )
    # The axis ends at a line above every whisker, of which the legend stands clear.
    figure.update_yaxes(range=[0, min(100.0, 20 * np.ceil(most / 20)) + 2], dtick=20)
    # Upright and on two lines: turned by Plotly where there is little room, the last one would be dropped.
    names = [label(name).replace("-", "-<br>").replace(" ", "<br>") for name in data.strategies]
    # So small, and with so little on both sides, that eight of them stand apart on a phone.
    ends = [-0.52, len(names) - 0.48]
    figure.update_xaxes(
        tickvals=places, ticktext=names, tickangle=0, tickfont_size=10.5, showgrid=False, range=ends
    )
    return figure


def _bars(figure: go.Figure, data: StrategiesData, i: int, x: np.ndarray, width: float, colour: str) -> None:
    """One measure: its bars, their intervals, and the seeds where there are several."""
    known = ~np.isnan(data.value[i])
    error = None
    hover = "%{y:.1f} %"
    if not np.isnan(data.low[i]).all():
        arms = [np.nan_to_num(side) for side in (data.high[i] - data.value[i], data.value[i] - data.low[i])]
        error = whiskers(arms[0], arms[1], OUTCOME_COLOURS["tie"])
        hover += " (%{customdata[0]:.1f}–%{customdata[1]:.1f}), ± %{customdata[2]:.1f} over seeds"
        hover += ", chance %{customdata[3]:.1f}"
    figure.add_bar(
        x=x[known],
        y=data.value[i][known],
        width=width,
        name=data.measures[i],
        marker_color=colour,
        error_y=error,
        customdata=np.stack(
            [data.low[i], data.high[i], np.nan_to_num(data.spread[i]), data.chance[i]], axis=-1
        )[known],
        hovertemplate=hover,
    )
    seeds = data.seeds[i]
    if seeds.shape[1] > 1:
        rows, _ = np.nonzero(~np.isnan(seeds))
        figure.add_scatter(
            x=x[rows],
            y=seeds[~np.isnan(seeds)],
            mode="markers",
            marker=_SEED,
            name="one seed",
            showlegend=False,
            hovertemplate="one seed: %{y:.1f} %<extra></extra>",
        )


def _name_marks(figure: go.Figure, data: StrategiesData) -> None:
    """Entries of the legend for the dots of single seeds and the dotted lines, of no measure's colour."""
    grey = OUTCOME_COLOURS["tie"]
    marks: list[dict[str, Any]] = []
    if data.seeds.shape[-1] > 1:
        marks.append({"mode": "markers", "marker": _SEED, "name": "one seed"})
    if not np.isnan(data.chance).all():
        marks.append(
            {"mode": "lines", "line": {"color": grey, "width": 1.5, "dash": "dot"}, "name": "chance level"}
        )
    for mark in marks:
        figure.add_scatter(x=[None], y=[None], hoverinfo="skip", **mark)


def _level(data: StrategiesData, measure: int) -> float:
    """The chance level of a measure; NaN where it was not measured."""
    known = data.chance[measure][~np.isnan(data.chance[measure])]
    return float(known.mean()) if len(known) else np.nan


def strategies_table(data: StrategiesData, paper: StrategiesData | None = None) -> pd.DataFrame:
    """The same as text: mean ± deviation over seeds with the interval; the paper's numbers in the row below; chance
    last."""
    rows = []
    for j, name in enumerate(data.strategies):
        values = {measure: _accuracy(data, i, j) for i, measure in enumerate(data.measures)}
        rows.append(
            {"strategy": label(name), **values, "seeds": str(int((~np.isnan(data.seeds[0, j])).sum()))}
        )
        if paper is not None and name in paper.strategies:
            printed = paper.value[:, paper.strategies.index(name)]
            numbers = {
                m: "" if np.isnan(v) else _pct(v) for m, v in zip(paper.measures, printed, strict=True)
            }
            rows.append({"strategy": f"{label(name)}, in the paper", **numbers})
    levels = {m: _number(_level(data, i)) for i, m in enumerate(data.measures)}
    return pd.DataFrame([*rows, {"strategy": "chance", **levels}]).fillna("")


def _accuracy(data: StrategiesData, i: int, j: int) -> str:
    if np.isnan(data.value[i, j]):
        return "–"
    spread, ties = data.spread[i, j], data.ties[i, j]
    text = _pct(data.value[i, j]) + ("" if np.isnan(spread) else f" ± {_pct(spread)}")
    text += f" ({_pct(data.low[i, j])}–{_pct(data.high[i, j])})"
    return text + (f", {ties:.0f} tied" if ties > 0 else "")


def _number(value: float) -> str:
    return "–" if np.isnan(value) else _pct(value)


def paper_table(model: str = "CLIP") -> pd.DataFrame:
    """The paper's Tables 1 and 2a for one base: a row per strategy, in percent."""
    rows = []
    for name in ("zero-shot", *(s.row for s in STRATEGIES.values() if s.row)):
        rows_of_strategy = reference("Cola", model=model, method=name)
        cells: dict[str, Any] = {"strategy": "before" if name == "zero-shot" else name}
        for title, (dataset, subset, metric) in _PAPER.items():
            hit = rows_of_strategy[
                (rows_of_strategy["dataset"] == dataset)
                & (rows_of_strategy["subset"] == subset)
                & (rows_of_strategy["metric"] == metric)
                & rows_of_strategy["table"].isin(["Table 1", "Table 2a"])
            ]["value"]
            cells[title] = float(hit.iloc[0]) if len(hit) else np.nan
        rows.append(cells)
    return pd.DataFrame(rows)


class _WordsData(NamedTuple):
    """How many queries name each object and each attribute, the most frequent first."""

    objects: dict[str, int]
    attributes: dict[str, int]


def _words_data(queries: Sequence[str]) -> _WordsData:
    """What single-object queries ask for ([Cola] Figure 6): the last word is the object, those before it attributes."""
    objects: Counter[str] = Counter()
    attributes: Counter[str] = Counter()
    for query in queries:
        *said, noun = re.findall(r"[^\s,.]+", query) or [""]
        objects[noun] += 1
        attributes.update(word for word in dict.fromkeys(said) if word not in _ARTICLES)
    return _WordsData(dict(objects.most_common()), dict(attributes.most_common()))


def words_figure(queries: Sequence[str], most: int = 20) -> tuple[go.Figure, str]:
    """A bar for each of the most frequent words of queries, objects and attributes apart; and how many there are."""
    figure, data = go.Figure(), _words_data(queries)
    shown = {
        "object": dict(list(data.objects.items())[:most]),
        "attribute": dict(list(data.attributes.items())[:most]),
    }
    for (colour, _), (name, counts) in zip(SERIES, shown.items(), strict=False):
        figure.add_bar(
            x=list(counts),
            y=list(counts.values()),
            name=name,
            marker_color=colour,
            hovertemplate="%{y} queries",
        )
    layout(figure, 300, "", "queries")
    _closest(figure)
    figure.update_xaxes(tickangle=-45)
    count = f"{len(data.objects)} objects and {len(data.attributes)} attributes"
    return figure, f"{len(queries)} queries name {count}; the last word of a query is its object."


def results_table(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    changes: Mapping[tuple[str, str], Comparison] | None = None,
) -> pd.DataFrame:
    """A run's test results before and after, one row per metric and part; percent or ranks.

    changes : paired, by metric and part; a row without one has the plain difference.
    """
    rows, changes = [], changes or {}
    for name, parts in after["retrieval"].items():
        for part, now in parts.items():
            cells = _cells(before["retrieval"][name][part], now, changes.get((name, part)))
            rows.append({"metric": METRICS[name].label, "part": _part_text(part), **cells})
    for name, title in GROUP_RESULTS.items():
        if name in after and name in before:
            cells = _cells(before[name], after[name], changes.get((name, "all")))
            rows.append({"metric": title[0].upper() + title[1:], "part": "all", **cells})
    return pd.DataFrame(rows)


def _cells(first: Mapping[str, Any], now: Mapping[str, Any], change: Comparison | None) -> dict[str, Any]:
    texts = [f"{_pct(e['value'])} ({_pct(e['low'])}–{_pct(e['high'])})" for e in (first, now)]
    difference = _signed(_change_in_points(first["value"], now["value"]))
    if change is not None:
        difference += f" ({_signed_range(change.low, change.high)})"
    return {
        "before": texts[0],
        "after": texts[1],
        "change": difference.replace("-", "−"),
        "chance": _pct(now["chance"]),
        "queries": now.get("queries", now.get("groups")),
        "skipped": now.get("skipped", 0),
        "ties": now["ties"],
    }
