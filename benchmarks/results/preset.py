"""The preset of the built-in models, chosen on validation groups: what each setting gains there.

    python -m benchmarks.results.preset [--minutes M]    the runs that are missing
    python -m benchmarks.results.preset table            what is there, as a table in Markdown

Writes assets/results/ttm_preset.csv, a row per run: GroupMatch of the 300 validation groups before and after, plain and
tinted. The test groups are not looked at. A run that is there is not repeated.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.results.shifts import OUT, append, load
from core.ttm.run import TTMRun

HERE = OUT.with_name("ttm_preset.csv")
SETS = ("attribute-swap", "attribute-swap~tinted", "left-right", "left-right~tinted")
MODELS = ("builtin/clip", "builtin/siglip")
# lr, epochs, coverage_first: today's preset against the one that the issue found, then what lies around them.
FIRST = ((3e-4, 5, 0.2), (1e-4, 5, 0.2))
GRID = (*FIRST, (2e-4, 5, 0.2), (1e-4, 3, 0.2), (1e-4, 5, 0.4), (2e-4, 3, 0.2))
NAMES = ("lr", "epochs", "coverage_first")
KEY = ("model", "benchmark", *NAMES, "seed")
COLUMNS = (
    *KEY,
    "group_match_before",
    "group_match_after",
    "group_score_before",
    "group_score_after",
    "seconds",
)


def cells() -> list[tuple[Any, ...]]:
    """Model, set, settings and seed of every run: the first two settings side by side before the others."""
    found = [
        (model, f"scenes/{name}", *setting, 0)
        for settings in (FIRST, GRID)
        for model in MODELS
        for name in SETS
        for setting in settings
    ]
    return list(dict.fromkeys(found))


def measure(cell: tuple[Any, ...]) -> dict[str, Any]:
    """The row of one run."""
    own = dict(zip(KEY, cell, strict=True))
    options = {name: own[name] for name in (*NAMES, "seed")}
    job = TTMRun.of(own["benchmark"], own["model"], split="validation", preset="builtin", options=options)
    records = [step.record for step in job.execute()]
    for when, record in (("before", records[0]), ("after", records[-1])):
        for metric in ("group_match", "group_score"):
            own[f"{metric}_{when}"] = round(record["metrics"][metric]["value"], 3)
    return own | {"seconds": round(sum(record["seconds"] for record in records), 1)}


def table() -> str:
    """A line per model and setting: the change of GroupMatch on every set, and its mean."""
    rows = load(HERE)
    lines = [f"| model | lr | epochs | first coverage | {' | '.join(SETS)} | mean | seconds |"]
    lines.append("|" + " --- |" * (6 + len(SETS)))
    for key in dict.fromkeys((row["model"], *(row[name] for name in NAMES)) for row in rows):
        own = [row for row in rows if (row["model"], *(row[name] for name in NAMES)) == key]
        gains = {
            row["benchmark"]: float(row["group_match_after"]) - float(row["group_match_before"])
            for row in own
        }
        shown = [f"{gains[f'scenes/{name}']:+.1f}" if f"scenes/{name}" in gains else "" for name in SETS]
        seconds = np.mean([float(row["seconds"]) for row in own])
        lines.append(
            f"| {' | '.join([*key, *shown])} | {np.mean(list(gains.values())):+.1f} | {seconds:.0f} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["table"]:
        print(table())
        return
    minutes, started = float(arguments[1]) if arguments[:1] == ["--minutes"] else 1e9, time.monotonic()
    there = {tuple(row[name] for name in KEY) for row in load(HERE)}
    for cell in cells():
        if tuple(map(str, cell)) not in there and time.monotonic() - started < 60 * minutes:
            row = measure(cell)
            append(HERE, COLUMNS, [row])
            print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
