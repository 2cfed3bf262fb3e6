"""Figures and tables of Cola's retrieval: curves of a strategy's run, strategies side by side, the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.adapt.config import STRATEGIES
from core.papers import reference
from core.plots.style import MARK_COLOUR, OUTCOME_COLOURS, SERIES, layout
from core.retrieval import METRICS

PARTS = ("all", "seen", "unseen")
# What the table of strategies shows: metric, part, heading.
COLUMNS = (
    ("cola_map", "all", "Cola mAP, all"),
    ("cola_map", "seen", "seen"),
    ("cola_map", "unseen", "unseen"),
    ("query_all_map", "unseen", "QueryAll mAP, unseen"),
    ("multi_object", "all", "multi-object accuracy"),
    ("crepe", "all", "CREPE accuracy"),
)
# Where the paper's numbers of the same kind stand: heading -> dataset, subset, metric.
PAPER = {
    "GQA, all": ("Cola GQA", "all", "cola_map"),
    "GQA, seen": ("Cola GQA", "seen", "cola_map"),
    "GQA, unseen": ("Cola GQA", "unseen", "cola_map"),
    "CLEVR, all": ("Cola CLEVR", "all", "cola_map"),
    "CLEVR, seen": ("Cola CLEVR", "seen", "cola_map"),
    "CLEVR, unseen": ("Cola CLEVR", "unseen", "cola_map"),
    "PACO, all": ("Cola PACO", "all", "cola_map"),
    "multi-object accuracy": ("Cola multi-object", "", "image_score"),
    "CREPE accuracy": ("CREPE", "1x2", "text_score"),
}


class CurveData(NamedTuple):
    """A run over its epochs: arrays over epochs 0..t."""

    epoch: np.ndarray
    parts: dict[str, np.ndarray]  # part -> (t + 1, 4): value, low, high, chance in percent
    loss: np.ndarray  # NaN before the first step
    total: int


def curve_data(steps: Sequence[Mapping[str, Any]], total: int) -> CurveData:
    """From the records of a run of kind `adapt` (`core.adapt.jobs.execute`)."""
    fields = ("value", "low", "high", "chance")
    known = [s for s in steps if s["validation"]]
    found = known[0]["validation"]["cola_map"] if known else {}
    parts = {
        part: np.array([[s["validation"]["cola_map"][part][f] for f in fields] for s in steps], dtype=float)
        for part in PARTS
        if part in found
    }
    loss = np.array([np.nan if s["loss"] is None else s["loss"] for s in steps], dtype=float)
    return CurveData(np.array([s["iteration"] for s in steps], dtype=int), parts, loss, total)


def curve_figure(data: CurveData, height: int = 320) -> go.Figure:
    """Validation mAP per epoch, seen and unseen; the dotted line is the chance level of all queries."""
    figure = go.Figure()
    for (colour, dash), (part, values) in zip(SERIES, data.parts.items(), strict=False):
        figure.add_scatter(
            x=data.epoch,
            y=values[:, 0],
            name=part,
            mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 3},
            customdata=values[:, 1:],
            hovertemplate="%{y:.1f} % (%{customdata[0]:.1f}–%{customdata[1]:.1f}), chance %{customdata[2]:.1f}",
        )
    if "all" in data.parts:
        figure.add_hline(
            y=data.parts["all"][0, 3], line={"color": OUTCOME_COLOURS["tie"], "width": 2, "dash": "dot"}
        )
    layout(figure, height, "epoch", "")
    figure.update_xaxes(range=[-0.2, data.total + 0.2], dtick=max(1, round(data.total / 8)))
    figure.update_yaxes(ticksuffix=" %")
    return figure


def loss_figure(data: CurveData, height: int = 320) -> go.Figure:
    """Mean training loss per epoch."""
    figure = go.Figure()
    figure.add_scatter(
        x=data.epoch[1:],
        y=data.loss[1:],
        mode="lines+markers",
        name="loss",
        line={"color": SERIES[1][0], "width": 3},
        hovertemplate="%{y:.4f}",
    )
    layout(figure, height, "epoch", "")
    figure.update_xaxes(range=[-0.2, data.total + 0.2], dtick=max(1, round(data.total / 8)))
    return figure


class StrategiesData(NamedTuple):
    """Strategies by measure: arrays (measures, strategies); `spread` is the deviation over seeds, NaN for one."""

    strategies: list[str]
    measures: list[str]
    value: np.ndarray
    spread: np.ndarray
    chance: np.ndarray


def strategies_data(rows: pd.DataFrame, fusion: str = "mdetr", mix: str = "multi") -> StrategiesData:
    """Means over seeds from the rows of `core.adapt.table.run_all` (assets/results/cola.csv)."""
    wanted = [name for name in ("base", *STRATEGIES) if name in set(rows["strategy"])]
    base = rows["strategy"] == "base"
    mine = rows[base | ((rows["fusion"] == fusion) & (rows["mix"] == mix))]
    shape = (len(COLUMNS), len(wanted))
    value, spread, chance = (np.full(shape, np.nan) for _ in range(3))
    for i, (metric, part, _) in enumerate(COLUMNS):
        for j, name in enumerate(wanted):
            found = mine[(mine["strategy"] == name) & (mine["metric"] == metric) & (mine["part"] == part)]
            if len(found):
                value[i, j], chance[i, j] = found["value"].mean(), found["chance"].mean()
                spread[i, j] = found["value"].std(ddof=1) if len(found) > 1 else np.nan
    return StrategiesData(wanted, [title for _, _, title in COLUMNS], value, spread, chance)


def label(strategy: str) -> str:
    """A strategy's name for people; the base is the model before."""
    return STRATEGIES[strategy].label if strategy in STRATEGIES else "before"


def strategies_figure(
    data: StrategiesData, measures: Sequence[int] = (1, 2, 4), height: int = 360
) -> go.Figure:
    """Bars of some measures by strategy with the deviation over seeds; a dotted line marks each chance level."""
    figure = go.Figure()
    width = 0.8 / len(measures)
    places = np.arange(len(data.strategies), dtype=float)
    for place, (i, (colour, _)) in enumerate(zip(measures, SERIES, strict=False)):
        x = places + (place - (len(measures) - 1) / 2) * width
        figure.add_bar(
            x=x,
            y=data.value[i],
            width=0.9 * width,
            name=data.measures[i],
            marker_color=colour,
            error_y={
                "array": np.nan_to_num(data.spread[i]),
                "thickness": 1.6,
                "width": 4,
                "color": MARK_COLOUR,
            },
            customdata=np.stack([np.nan_to_num(data.spread[i]), data.chance[i]], axis=-1),
            hovertemplate="%{y:.1f} % ± %{customdata[0]:.1f} over seeds, chance %{customdata[1]:.1f}",
        )
        level = _level(data, i)
        figure.add_scatter(
            x=[places[0] - 0.5, places[-1] + 0.5],
            y=[level, level],
            mode="lines",
            line={"color": colour, "width": 1.5, "dash": "dot"},
            showlegend=False,
            hoverinfo="skip",
        )
    layout(figure, height, "", "")
    figure.update_yaxes(ticksuffix=" %")
    figure.update_xaxes(tickvals=places, ticktext=[label(name) for name in data.strategies], showgrid=False)
    return figure


def _level(data: StrategiesData, measure: int) -> float:
    """The chance level of a measure; NaN where it was not measured."""
    known = data.chance[measure][~np.isnan(data.chance[measure])]
    return float(known.mean()) if len(known) else np.nan


def strategies_table(data: StrategiesData, seeds: int) -> pd.DataFrame:
    """The same as text: mean ± deviation over seeds, and the chance level in the last row."""
    rows = []
    for j, name in enumerate(data.strategies):
        cells = {"strategy": label(name)}
        for i, measure in enumerate(data.measures):
            spread = data.spread[i, j]
            cells[measure] = "–" if np.isnan(data.value[i, j]) else f"{data.value[i, j]:.1f}"
            cells[measure] += "" if np.isnan(spread) else f" ± {spread:.1f}"
        rows.append(cells)
    levels = {m: f"{_level(data, i):.1f}".replace("nan", "–") for i, m in enumerate(data.measures)}
    return pd.DataFrame([*rows, {"strategy": "chance", **levels}]).assign(seeds=[*_seeds(data, seeds), ""])


def _seeds(data: StrategiesData, seeds: int) -> list[str]:
    return ["1" if name == "base" else str(seeds) for name in data.strategies]


def paper_table(model: str = "CLIP") -> pd.DataFrame:
    """The paper's Tables 1 and 2a for one base: a row per strategy, in percent."""
    rows = []
    for name in ("zero-shot", *(s.row for s in STRATEGIES.values())):
        found = reference("Cola", model=model, method=name)
        cells: dict[str, Any] = {"strategy": "before" if name == "zero-shot" else name}
        for title, (dataset, subset, metric) in PAPER.items():
            hit = found[
                (found["dataset"] == dataset)
                & (found["subset"] == subset)
                & (found["metric"] == metric)
                & found["table"].isin(["Table 1", "Table 2a"])
            ]["value"]
            cells[title] = float(hit.iloc[0]) if len(hit) else np.nan
        rows.append(cells)
    return pd.DataFrame(rows)


def results_table(before: Mapping[str, Any], after: Mapping[str, Any]) -> pd.DataFrame:
    """A run's test results before and after, one row per metric and part; percent or ranks."""
    rows = []
    for name, parts in after["retrieval"].items():
        for part, now in parts.items():
            rows.append(
                {"metric": METRICS[name].label, "part": part, **_cells(before["retrieval"][name][part], now)}
            )
    for name, title in (("multi_object", "Multi-object accuracy"), ("crepe", "CREPE accuracy")):
        if name in after:
            rows.append({"metric": title, "part": "all", **_cells(before[name], after[name])})
    return pd.DataFrame(rows)


def _cells(first: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    texts = [f"{e['value']:.1f} ({e['low']:.1f}–{e['high']:.1f})" for e in (first, now)]
    return {
        "before": texts[0],
        "after": texts[1],
        "change": round(now["value"] - first["value"], 1),
        "chance": round(now["chance"], 1),
        "queries": now.get("queries", now.get("groups")),
        "skipped": now.get("skipped", 0),
        "ties": now["ties"],
    }
