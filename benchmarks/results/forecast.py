"""Fit and judge the forecast of test-time matching (`core/ttm/forecast.py`; issue 19 C).

    python -m benchmarks.results.forecast            fit, judge on what is left out, write ttm_forecast.json
    python -m benchmarks.results.forecast --judge    judge alone

Reads the signals before adaptation and the changes of GroupMatch in assets/results/ttm_signals.csv
(`benchmarks.results.shifts`), and the changes on the sets as they are in ttm_ablations.csv (same preset; signals from
the shipped scores). One row is one model on one set with one shift, its seeds averaged: runs of one cell
share their signals. Left out are whole sets, whole shifts and whole models; within each fold the interval comes from
sets that were left out of the remaining ones, so nothing that is judged has touched it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from benchmarks.results import ablations
from benchmarks.results.shifts import KEY, MODELS, OUT, SETTINGS, SIGNALS, load, scores_of
from core.ttm._signals import first_signals
from core.ttm.config import PRESETS
from core.ttm.forecast import Forecast

HERE = OUT.with_name("ttm_forecast.json")
FEATURES = ("consistency", "other_sure", "margin_high", "chance")
PENALTY = 1.0  # of the ridge, on standardised signals
LEVEL = 0.8  # of the interval


class Cells(NamedTuple):
    """One row per model, set and shift."""

    keys: list[tuple[str, str, str]]
    x: np.ndarray  # (c, signals)
    gain: np.ndarray  # (c,) points of GroupMatch, mean over seeds
    seeds: np.ndarray  # (c,)

    def select(self, mask: np.ndarray) -> Cells:
        return Cells([key for key, keep in zip(self.keys, mask, strict=True) if keep], self.x[mask],
                     self.gain[mask], self.seeds[mask])  # fmt: skip


class Fit(NamedTuple):
    """A ridge regression on standardised signals."""

    centre: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    intercept: float

    @classmethod
    def of(cls, cells: Cells) -> Fit:
        centre, scale = cells.x.mean(axis=0), cells.x.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        z, middle = (cells.x - centre) / scale, cells.gain.mean()
        weights = np.linalg.solve(z.T @ z + PENALTY * np.eye(z.shape[1]), z.T @ (cells.gain - middle))
        return cls(centre, scale, weights, float(middle))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.intercept + (x - self.centre) / self.scale @ self.weights


def read_runs() -> dict[tuple[str, ...], list[dict[str, str]]]:
    """The iterations of every run that took today's preset, by model, set, shift and seed."""
    config: Any = PRESETS["builtin"].config
    runs: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in load(SIGNALS):
        if all(float(row[name]) == getattr(config, name) for name in SETTINGS):
            runs.setdefault(tuple(row[name] for name in KEY), []).append(row)
    return runs


def cells_of(runs: Mapping[tuple[str, ...], Sequence[Mapping[str, str]]]) -> Cells:
    """The mean change over seeds of each model, set and shift, with its signals."""
    gains: dict[tuple[str, str, str], list[float]] = {}
    signals: dict[tuple[str, str, str], list[float]] = {}
    for (model, benchmark, shift, _), rows in runs.items():
        key, other = (model, benchmark, shift), Forecast.partner(model).removeprefix("builtin/")
        gains.setdefault(key, []).append(change(rows))
        own = {**rows[0], **{f"other{end}": rows[0][f"{other}{end}"] for end in ("", "_sure")}}
        signals[key] = [float(own[name]) for name in FEATURES]
    for (model, benchmark), found in plain_changes().items():
        key = (model, benchmark, "")
        gains.setdefault(key, []).extend(found)
        if key not in signals:
            own_scores, others = scores_of(model, benchmark), scores_of(Forecast.partner(model), benchmark)
            seen = first_signals(own_scores, None, {"other": others})
            signals[key] = [seen[name] for name in FEATURES]
    x, mean = np.array([signals[key] for key in gains]), np.array([np.mean(each) for each in gains.values()])
    return Cells(list(gains), x, mean, np.array([len(each) for each in gains.values()]))


def measured(cells: Cells) -> dict[str, dict[str, dict[str, float]]]:
    """The mean change over so many runs, by model and by the set's name with its shift."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for (model, benchmark, shift), gain, runs in zip(cells.keys, cells.gain, cells.seeds, strict=True):
        name = f"{benchmark}~{shift}" if shift else benchmark
        found.setdefault(model, {})[name] = {"change": round(float(gain), 2), "runs": int(runs)}
    return found


def change(rows: Sequence[Mapping[str, str]]) -> float:
    """Points of GroupMatch from the first iteration to the last."""
    return float(rows[-1]["group_match"]) - float(rows[0]["group_match"])


def plain_changes() -> dict[tuple[str, str], list[float]]:
    """The changes of the ablations' runs with the preset on sets as they are, by model and set: one per seed."""
    runs: dict[tuple[str, str, str], list[dict[str, str]]] = {}
    for row in ablations.load():
        if (row["kind"], row["setting"], row["part"]) == ("ttm", "preset", "all") and row["model"] in MODELS:
            runs.setdefault((row["model"], row["benchmark"], row["seed"]), []).append(row)
    found: dict[tuple[str, str], list[float]] = {}
    for (model, benchmark, _), rows in runs.items():
        found.setdefault((model, benchmark), []).append(change(rows))
    return found


def traces_of(runs: Mapping[tuple[str, ...], Sequence[Mapping[str, str]]]) -> list[Trace]:
    """Every run iteration by iteration."""

    def column(rows: Sequence[Mapping[str, str]], name: str) -> np.ndarray:
        return np.array([float(row[name]) for row in rows[1:]])

    return [
        Trace((key[0], key[1], key[2]), column(rows, "group_match"), {n: column(rows, n) for n in _STEERING})
        for key, rows in runs.items()
    ]


def residuals(cells: Cells, place: int) -> np.ndarray:
    """What each cell changed by beyond its forecast, fitted without its set (1), shift (2) or model (0); (c,)."""
    found, names = np.empty(len(cells.keys)), np.array([key[place] for key in cells.keys])
    for name in np.unique(names):
        own = names == name
        found[own] = cells.gain[own] - Fit.of(cells.select(~own))(cells.x[own])
    return found


def ends(cells: Cells) -> tuple[float, float]:
    """How far below and above a forecast the changes of left-out sets lay: the interval's ends."""
    left = residuals(cells, 1)
    tail = (1 - LEVEL) / 2
    n = len(left)
    share = min(1.0, (1 - tail) * (n + 1) / n)  # as many as a new cell would need
    return float(np.quantile(left, 1 - share)), float(np.quantile(left, share))


def judge(cells: Cells, place: int) -> dict[str, float]:
    """What the forecast is worth on what is left out: sets (1), shifts (2) or models (0)."""
    names = np.array([key[place] for key in cells.keys])
    forecast, constant = np.empty(len(names)), np.empty(len(names))
    low, high = np.empty(len(names)), np.empty(len(names))
    for name in np.unique(names):
        own = names == name
        rest = cells.select(~own)
        forecast[own], constant[own] = Fit.of(rest)(cells.x[own]), rest.gain.mean()
        below, above = ends(rest)
        low[own], high[own] = forecast[own] + below, forecast[own] + above
    gain, best = cells.gain, np.maximum(cells.gain, 0)
    told = (low > 0) | (high < 0)
    agreed = ((low > 0) & (gain > 0)) | ((high < 0) & (gain < 0))
    regret: Callable[[np.ndarray], float] = lambda adapt: float((best - np.where(adapt, gain, 0)).mean())  # noqa: E731
    return {
        "cells": len(gain),
        "inside the interval": float(((low <= gain) & (gain <= high)).mean()),
        "width": float((high - low).mean()),
        "rank correlation": float(stats.spearmanr(forecast, gain).statistic),
        "mean error": float(np.abs(gain - forecast).mean()),
        "mean error, constant": float(np.abs(gain - constant).mean()),
        "says something": float(told.mean()),
        "of that right": float(agreed[told].mean()) if told.any() else float("nan"),
        "regret": regret(forecast > 0),
        "regret, adapt unless likely to harm": regret(high >= 0),
        "regret, always": regret(gain == gain),
        "regret, never": regret(gain != gain),
        "regret, constant": regret(constant > 0),
    }


# ---- when to stop


_STEERING = ("moved", "consistency")  # what a rule may look at


class Trace(NamedTuple):
    """One run, iteration by iteration from 1 on."""

    key: tuple[str, str, str]
    match: np.ndarray  # (T,) GroupMatch after each iteration, percent
    signals: dict[str, np.ndarray]  # (T,) of each


# Label-free reasons to stop after an iteration: signal, whether it stops at or above a level, and the levels.
RULES = {
    "few matchings moved": ("moved", False, (0.0, 0.01, 0.02, 0.03, 0.05, 0.1)),
    "many matchings moved": ("moved", True, (0.1, 0.15, 0.2, 0.3, 0.4, 1.1)),
    "consistent with itself": ("consistency", True, (0.8, 0.9, 0.95, 0.98, 1.0, 1.1)),
}


def stopped(run: Trace, rule: str, level: float) -> int:
    """The iteration after which a rule stops a run, from 1; T where it never does."""
    name, above, _ = RULES[rule]
    values = run.signals[name]
    hit = values >= level if above else values <= level
    return int(hit.argmax()) + 1 if hit.any() else len(values)


def judge_rule(runs: Sequence[Trace], rule: str) -> dict[str, float]:
    """A rule whose level was chosen without each set: GroupMatch against that of all iterations, and what it saves."""
    change, spent = [], []
    for name in {run.key[1] for run in runs}:
        rest, own = [r for r in runs if r.key[1] != name], [r for r in runs if r.key[1] == name]
        level = max(
            RULES[rule][2],
            key=lambda v: np.mean([r.match[stopped(r, rule, v) - 1] - r.match[-1] for r in rest]),
        )
        for run in own:
            last = stopped(run, rule, level)
            change.append(run.match[last - 1] - run.match[-1])
            spent.append(last / len(run.match))
    return {
        "change of GroupMatch, points": float(np.mean(change)),
        "worst": float(np.min(change)),
        "share of iterations": float(np.mean(spent)),
    }


def main(arguments: Sequence[str]) -> None:
    runs = read_runs()
    cells, traces = cells_of(runs), traces_of(runs)
    judged = {name: judge(cells, place) for place, name in ((1, "sets"), (2, "shifts"), (0, "models"))
              if len({key[place] for key in cells.keys}) > 2 or place == 0}  # fmt: skip
    for name, found in judged.items():
        print(f"left out: {name}", *(f"  {what}: {value:.2f}" for what, value in found.items()), sep="\n")
    rules = {rule: judge_rule(traces, rule) for rule in RULES} if len({t.key[1] for t in traces}) > 1 else {}
    for rule, found in rules.items():
        print(f"stop: {rule}", *(f"  {what}: {value:.2f}" for what, value in found.items()), sep="\n")
    fit, (below, above) = Fit.of(cells), ends(cells)
    named = lambda values: {n: round(float(v), 5) for n, v in zip(FEATURES, values, strict=True)}  # noqa: E731
    print(
        f"intercept {fit.intercept:.2f}, weights {named(fit.weights)}, interval {below:+.1f} to {above:+.1f}"
    )
    if list(arguments) == ["--judge"]:
        return
    written = {
        "command": "python -m benchmarks.results.forecast",
        "models": sorted({key[0] for key in cells.keys}),
        "signals": list(FEATURES),
        "centre": named(fit.centre),
        "scale": named(fit.scale),
        "weights": named(fit.weights),
        "intercept": round(fit.intercept, 5),
        "below": round(below, 3),
        "above": round(above, 3),
        "coverage": round(judged["sets"]["inside the interval"], 4),
        "range": {
            name: [round(float(v), 5) for v in (x.min(), x.max())]
            for name, x in zip(FEATURES, cells.x.T, strict=True)
        },
        "measured": measured(cells),
        "cells": len(cells.keys),
        "runs": int(cells.seeds.sum()),
        "stopping": {rule: {k: round(v, 4) for k, v in found.items()} for rule, found in rules.items()},
        "judged": {
            name: {k: None if np.isnan(v) else round(v, 4) for k, v in found.items()}
            for name, found in judged.items()
        },
    }
    HERE.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
