"""The whole table: every strategy with several seeds.

Each run's results are kept under the user's cache, by base weights, settings and test set: a table that was cut short
goes on where it stopped. Nothing is chosen by test results; learning rates come from validation queries
(benchmarks/results/cola.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base import files, paths
from core.base.text import _half_up
from core.cola.run import StrategyRun, _base_source
from core.cola.tasks import AdaptationTask
from core.metrics.retrieval import COLA_MAP, QUERY_ALL_MAP
from core.scorers.cola_config import GROUP_RESULTS, KIND, STRATEGIES
from core.scoring.load import scorer_key

if TYPE_CHECKING:
    import pandas as pd

SEEDS = (0, 1, 2)
BASE = "base"  # the strategy column of the model before
# Columns of a row that are no metric.
_FACTS = ("strategy", "fusion", "mix", "seed", "lr", "trained", "model", "base_key")
# What stands in the short table: metric and part.
_HEADLINES = (
    (COLA_MAP, "all"),
    (COLA_MAP, "seen"),
    (COLA_MAP, "unseen"),
    (QUERY_ALL_MAP, "all"),
    (QUERY_ALL_MAP, "unseen"),
    ("multi_object", "all"),
    ("crepe", "all"),
)


def _cached_result(job: StrategyRun, cache: Path | None = None) -> dict[str, Any]:
    """One run's record: settings, curve, test results before and after, and per-query outcomes, from cache if there."""
    root = paths.home() / "cache" / "adapt" if cache is None else cache
    folder, base = root / _address(job), root / _base_address(job)
    path, known = folder / "result.json", base / "result.json"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        base.mkdir(parents=True, exist_ok=True)
        curve: list[dict[str, Any]] = []
        for last in job.execute(before=not known.is_file()):
            curve.append({k: last.record[k] for k in ("iteration", "loss", "seconds", "validation")})
            if "test" in last.record and not curve[-1]["iteration"]:
                files.write_arrays(base / "arrays.npz", last.arrays)
                files.write_json(known, last.record["test"])
        files.write_arrays(folder / "arrays.npz", last.arrays)
        assert last.model is not None
        last.model.save(folder / "model")
        record = {"job": job.written(), "curve": curve, "parameters": last.record["parameters"]}
        files.write_json(path, {**record, "lr": last.record["lr"], "after": last.record["test"]})
    result = json.loads(path.read_text(encoding="utf-8"))
    before = json.loads(known.read_text(encoding="utf-8"))
    arrays = {"after": folder / "arrays.npz", "before": base / "arrays.npz"}
    return {**result, "before": before, "model": str(folder / "model"), "arrays": arrays}


def _address(job: StrategyRun) -> str:
    """What a run's results depend on, as a folder's name."""
    settings = job.settings
    named = {k: v for k, v in job.written().items() if k != "device"} | {"base": _base_key(job.model)}
    named |= _data_of(job)
    named[KIND] = {**settings.to_dict(), "lr": settings.lr or STRATEGIES[settings.strategy].lr}
    return f"{settings.strategy}-{settings.seed}-{_digest(named)}"


def _base_address(job: StrategyRun) -> str:
    """What a base's results depend on."""
    named = {k: v for k, v in job.written().items() if k not in ("device", KIND)}
    named |= {"base": _base_key(job.model), **_data_of(job)}
    return f"base-{_digest(named)}"


def _data_of(job: StrategyRun) -> dict[str, Any]:
    """The files of a benchmark's data; nothing of the built-in set, which has none."""
    facts = AdaptationTask._data_facts(job.benchmark, job.folder)
    return {"data": facts} if facts else {}


def _digest(named: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]


def _base_key(model: str) -> str:
    """The hash of a base's weights."""
    return scorer_key(_base_source(model)) or model


def jobs(
    benchmark: str = "scenes/retrieval",
    model: str = "builtin/clip",
    images: int | None = None,
    strategies: Sequence[str] | None = None,
    seeds: Sequence[int] = SEEDS,
    options: Mapping[str, Any] | None = None,
    **source: Any,
) -> list[StrategyRun]:
    """The descriptions of every strategy (None: all) with every seed.

    options : settings of all; a fusion and a form of the adapter are of the strategies that have one. source : folder
    and device, as in `StrategyRun.of`.
    """
    return [
        StrategyRun.of(
            benchmark, model, images=images, **source, options={**_options_of(name, options), "seed": seed}
        )
        for name in strategies or STRATEGIES
        for seed in seeds
    ]


def _options_of(strategy: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings of one strategy among several."""
    merged = {**(options or {}), "strategy": strategy}
    foreign = {
        *(() if STRATEGIES[strategy].joint else ("fusion",)),
        *(() if strategy == "mm-adapter" else ("adapter",)),
    }
    return {name: value for name, value in merged.items() if name not in foreign}


def run_jobs(
    descriptions: Sequence[StrategyRun], say: Callable[[str], None] | None = None, cache: Path | None = None
) -> pd.DataFrame:
    """The runs of these descriptions: one row per run, metric and part (columns of `_rows_of`), the base's once."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for job in descriptions:
        if say is not None:
            say(f"{job.settings.strategy}, seed {job.seed}")
        rows += _rows_of(_cached_result(job, cache))
    return pd.DataFrame(rows).drop_duplicates([*_FACTS[:4], "metric", "part"], ignore_index=True)


def _rows_of(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A run's test results as rows, and those of its base (strategy `base`, seed -1) before it."""
    job, settings = result["job"], result["job"][KIND]
    facts = {name: settings[name] for name in ("strategy", "fusion", "mix", "seed")}
    facts |= {"lr": result["lr"], "trained": result["parameters"]["trained"]}
    facts |= {"model": job["model"], "base_key": _base_key(job["model"])[:12]}
    untrained = {**facts, "strategy": BASE, "seed": -1, "lr": None, "trained": 0}
    rows = []
    for start, results in ((untrained, result["before"]), (facts, result["after"])):
        for metric, parts in results["retrieval"].items():
            rows += [{**start, "metric": metric, "part": part, **value} for part, value in parts.items()]
        for metric in GROUP_RESULTS:
            if metric in results:
                value = dict(results[metric])
                count = value.pop("groups")
                rows.append(
                    {**start, "metric": metric, "part": "all", **value, "queries": count, "skipped": 0}
                )
    return rows


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds of the headline numbers, one row per strategy."""
    import pandas as pd

    out = []
    for strategy in (BASE, *STRATEGIES):
        of_strategy = rows[rows["strategy"] == strategy]
        if of_strategy.empty:
            continue
        row: dict[str, Any] = {
            "strategy": strategy,
            "seeds": of_strategy["seed"].nunique(),
            "trained": of_strategy["trained"].max(),
        }
        for metric, part in _HEADLINES:
            values = of_strategy[(of_strategy["metric"] == metric) & (of_strategy["part"] == part)]["value"]
            if len(values):
                row[f"{metric} {part}"] = _half_up(values.mean(), 2)
                row[f"{metric} {part} sd"] = _half_up(values.std(ddof=1), 2) if len(values) > 1 else None
        out.append(row)
    return pd.DataFrame(out)
