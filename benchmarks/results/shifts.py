"""Where test-time matching helps: the built-in models on shifted pictures of the built-in sets (issue 19 B).

    python -m benchmarks.results.shifts [MODEL ...]    the runs that are missing, of every model or of some
    python -m benchmarks.results.shifts table          what is there, as a table in Markdown

Writes assets/results/ttm_shifts.csv: per run, before and after, all groups and those of seen and of unseen compositions
apart. A run's rows are appended when it ends, so the script may be killed and started again: a run that is there is not
repeated. Everything of one seed comes first, the middle strengths before the others, so that a table that is cut short
covers every set. The last iteration is the result.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.datasets import SHIFTS
from core.metrics.evaluation import Evaluation
from core.ttm.run import TTMRun

OUT = Path(__file__).resolve().parents[2] / "assets" / "results" / "ttm_shifts.csv"
MODELS = ("builtin/clip", "builtin/siglip", "itc:builtin/blip-itm")
SETS = ("attribute-swap", "left-right", "front-behind", "relations-1x4", "size-swap", "material-swap", "triples",
        "two-of-four", "replace", "swap", "add", "word-order")  # fmt: skip
SEEDS = (0, 1, 2, 3)
METRICS = ("group_score", "group_match")
COLUMNS = ("model", "benchmark", "shift", "seed", "when", "part", "groups", "seconds", *(
    f"{metric}{end}" for metric in METRICS for end in ("", "_low", "_high", "_chance", "_ties")
))  # fmt: skip


class Cell(NamedTuple):
    """One run; no shift is the set as it is."""

    model: str
    benchmark: str
    shift: str
    seed: int


def cells(models: tuple[str, ...] = MODELS) -> list[Cell]:
    middle = ("", *(name for name in SHIFTS if "-" not in name))
    strengths = (middle, tuple(name for name in SHIFTS if "-" in name))
    return [
        Cell(model, f"scenes/{name}", shift, seed)
        for seed in SEEDS
        for shifts in strengths
        for shift in shifts
        for name in SETS
        for model in models
    ]


def measure(cell: Cell) -> list[dict[str, Any]]:
    """The rows of one run."""
    name = f"{cell.benchmark}~{cell.shift}" if cell.shift else cell.benchmark
    job = TTMRun.of(name, cell.model, options={"seed": cell.seed})
    groups = job.load_groups()
    steps = list(job.execute())
    unseen = np.array([group.tags.get("unseen") == "yes" for group in groups.groups])
    seconds = round(sum(step.record["seconds"] for step in steps), 1)
    rows = []
    for when, step in (("before", steps[0]), ("after", steps[-1])):
        for part, mask in (("all", unseen | True), ("seen", ~unseen), ("unseen", unseen)):
            if mask.any():
                found = Evaluation.of(step.arrays["scores"][mask], groups.truth[mask]).metrics
                row = {
                    **cell._asdict(),
                    "when": when,
                    "part": part,
                    "groups": int(mask.sum()),
                    "seconds": seconds,
                }
                rows.append(row | dict(_numbers(found)))
    return rows


def _numbers(found: Any) -> Iterator[tuple[str, Any]]:
    for metric in METRICS:
        record = found[metric].record()
        for end, key in (
            ("", "value"),
            ("_low", "low"),
            ("_high", "high"),
            ("_chance", "chance"),
            ("_ties", "ties"),
        ):
            yield f"{metric}{end}", record[key]


def load() -> list[dict[str, str]]:
    if not OUT.exists():
        return []
    with OUT.open(newline="") as file:
        return list(csv.DictReader(file))


def append(rows: list[dict[str, Any]]) -> None:
    fresh = not OUT.exists()
    with OUT.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(rows)


def table() -> str:
    """A line per model, set and shift: GroupMatch before and after over seeds, of all, seen and unseen compositions."""
    rows = load()
    lines = [
        "| model | set | shift | seeds | GroupScore before | GroupMatch before | after | gain | seen | unseen |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for key in dict.fromkeys((row["model"], row["benchmark"], row["shift"]) for row in rows):
        own = [row for row in rows if (row["model"], row["benchmark"], row["shift"]) == key]
        of = {part: _gain(own, part) for part in ("all", "seen", "unseen")}
        first = next(row for row in own if (row["when"], row["part"]) == ("before", "all"))
        before = "{} [{}, {}]".format(
            *(f"{float(first[f'group_match{end}']):.1f}" for end in ("", "_low", "_high"))
        )
        after = [float(r["group_match"]) for r in own if (r["when"], r["part"]) == ("after", "all")]
        score = f"{float(first['group_score']):.1f}"
        told = f"{np.mean(after):.1f} ± {np.std(after, ddof=1):.1f}" if len(after) > 1 else f"{after[0]:.1f}"
        cells = [*key[:2], key[2] or "none", str(len(after)), score, before, told, *of.values()]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _gain(rows: list[dict[str, str]], part: str) -> str:
    """Smallest and largest gain over seeds."""
    ends = {(row["when"], row["seed"]): float(row["group_match"]) for row in rows if row["part"] == part}
    gains = [after - ends["before", seed] for (when, seed), after in ends.items() if when == "after"]
    return f"{min(gains):+.1f} to {max(gains):+.1f}" if gains else "–"


def main() -> None:
    if sys.argv[1:] == ["table"]:
        print(table())
        return
    there = {Cell(row["model"], row["benchmark"], row["shift"], int(row["seed"])) for row in load()}
    for cell in cells(tuple(sys.argv[1:]) or MODELS):
        if cell not in there:
            rows = measure(cell)
            append(rows)
            before, after = (row["group_match"] for row in rows if row["part"] == "all")
            print(f"{cell}: {before:.1f} -> {after:.1f}", flush=True)


if __name__ == "__main__":
    main()
