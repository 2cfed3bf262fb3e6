"""Results that are numbers alone: CLIP_benchmark's files, and tables of a paper.

Source: `clip_benchmark/cli.py` and `clip_benchmark/metrics/image_caption_selection.py` of CLIP_benchmark 1.6.2. It
compares `argmax` with `arange(min(images, captions))`, so ties go to the first, which is the true one, and with one
image `image_acc` is 100 by construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.metrics.group_metrics import METRICS
from core.rejudge._submission import CLIP_BENCHMARK, TABLE, Submission

_SYSTEMS = ("model", "system")
_BENCHMARKS = ("benchmark", "dataset", "subset")


def is_clip_benchmark(value: Any) -> bool:
    """Whether a JSON value is a result of CLIP_benchmark."""
    return isinstance(value, dict) and {"dataset", "model", "task", "metrics"} <= value.keys()


def read_clip_benchmark(path: Path, value: dict[str, Any]) -> Submission:
    """The numbers of a task of choosing captions and images."""
    metrics = value["metrics"]
    reported = {
        name: 100 * float(metrics[name]) for name in ("text_acc", "image_acc", "acc") if name in metrics
    }
    if not reported:
        raise InputError(
            f"{path} is of CLIP_benchmark's task {value['task']}, which has no groups; choose image_caption_selection."
        )
    model = " ".join(filter(None, (str(value["model"]), str(value.get("pretrained") or ""))))
    findings = [
        "CLIP_benchmark gives a tie to the first caption and image, which are the true ones; how many it had, it does "
        "not say."
    ]
    if reported.get("image_acc") == 100 and reported.get("acc") == reported.get("text_acc"):
        findings.insert(
            0,
            "image_acc is 100 by construction where there is one image (the best of one image is that image), and acc "
            "is then text_acc.",
        )
    name = str(value["dataset"])
    return Submission(path, CLIP_BENCHMARK, model, name, reported=reported, findings=tuple(findings))


def _names_systems(columns: Any) -> bool:
    """Whether a table has a column of systems."""
    return not {str(name) for name in columns}.isdisjoint(_SYSTEMS)


def is_report(columns: Any) -> bool:
    """Whether a table's columns are those of results: a system, and metric and value or a column for each metric."""
    names = {str(name) for name in columns}
    return not names.isdisjoint(_SYSTEMS) and ({"metric", "value"} <= names or not names.isdisjoint(METRICS))


def read_report(path: Path, table: pd.DataFrame) -> Iterator[Submission]:
    """A paper's table: columns `model` (or `system`), `metric`, `value` in percent, or a column for each metric of
    groups; optional `benchmark` (or `dataset` and `subset`) and `groups`, how many were measured."""
    rows = _long(table)
    values = pd.to_numeric(rows["value"], errors="coerce")
    if values.isna().any():
        row = rows.iloc[int(values.isna().to_numpy().argmax())]
        raise InputError(
            f"{path}: the value of {row['metric']} of {row['model']} is {row['value']!r}; write a number."
        )
    named = [name for name in _BENCHMARKS if name in rows]
    benchmark = (
        ["/".join(filter(None, map(str, row))) for row in rows[named].itertuples(index=False)]
        if named
        else ""
    )
    rows = rows.assign(value=values, benchmark=benchmark)
    for (model, name), part in rows.groupby(["model", "benchmark"], sort=False):
        counts = set(pd.to_numeric(part["groups"], errors="coerce").dropna()) if "groups" in part else set()
        count = int(counts.pop()) if len(counts) == 1 else None
        reported = {str(r["metric"]): float(r["value"]) for r in part.to_dict("records")}
        yield Submission(path, TABLE, str(model), str(name), reported=reported, count=count)


def _long(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a row for each number: columns `model`, `metric`, `value`; empty cells of metrics are left out."""
    if "model" not in table:
        table = table.rename(columns={"system": "model"})
    if {"metric", "value"} <= set(table):
        return table
    metrics = [name for name in table if name in METRICS]
    rows = table.melt([name for name in table if name not in metrics], metrics, "metric", "value")
    return rows[rows["value"].notna() & rows["value"].ne("")].reset_index(drop=True)
