"""Every score of every built-in model on every built-in test set: `python -m benchmarks.results.table`.

With `tables` the pages alone are written, from the results that are there.
Rewrites assets/results/builtin.csv (all metrics, all parts) and benchmarks/RESULTS.md (every set and score). Group
scores come from assets/scores where they are current (`python -m benchmarks.results.shipped_scores` first, then no
model is loaded for them); the flattened sets are scored here, by contrastive models alone: others read each of the up
to 110,000 pairs of a set by itself.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from benchmarks.results.ledger import section
from core.datasets import load, names
from core.groups import GroupSet
from core.metrics.evaluation import Evaluation, tags_frame
from core.metrics.groups import GROUP_SCORE
from core.scenes.sets import FLAT, SETS
from core.scoring.cache import ScoreCache
from core.scoring.load import lazy_scorer, scorer_names
from core.scoring.scores import score_all, score_groups

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "assets" / "results" / "builtin.csv"
PAGE = ROOT / "benchmarks" / "RESULTS.md"
COLUMNS = [
    *("model", "kind", "benchmark", "shape", "part", "groups"),
    *("metric", "value", "low", "high", "chance", "ties"),
]
# Values of the tag `unseen`: whether a caption names a composition that no training scene holds.
PARTS = {"no": "seen", "yes": "unseen"}
# Left out of the tables: the captioner with its eyes shut, and VQAScore's logarithm.
ASIDE = ("blind", "vqa-log")
METRICS_SHOWN = ("group_score", "group_match")
Row = dict[str, Any]


def measure() -> list[Row]:
    """One row per scorer, set, part of the set (all, seen, unseen) and metric, on the test split."""
    rows: list[Row] = []
    sets = {name: load(name, "test") for name in names() if name in (*SETS, *FLAT)}
    for model, kind in scorer_names().items():
        scorer = lazy_scorer(model)
        for name, groups in sets.items():
            if name in FLAT and kind != "itc":
                continue
            what = {"model": model, "kind": kind, "benchmark": name}
            rows += [{**what, **row} for row in measured(scorer, groups)]
    return rows


def measured(scorer: Any, groups: GroupSet) -> list[Row]:
    """All metrics of one scorer on one set; of a flattened one those without groups, and GroupScore beside them."""
    found = score_groups(scorer, groups, ScoreCache())
    wide = score_all(scorer, groups, ScoreCache()) if groups.name in FLAT else None
    tags = tags_frame([g.tags for g in groups])
    whole = Evaluation.of(found, groups.truth, groups.ids, tags=tags, global_scores=wide)
    if wide is not None:
        own = {n: e for n, e in whole.metrics.items() if n not in whole.outcomes or n == GROUP_SCORE}
        return rows_of(whole, "all", own)
    parts = {PARTS[value]: part for value, part in whole.slices("unseen")["unseen"].items()}
    return [row for part, e in {"all": whole, **parts}.items() for row in rows_of(e, part, e.metrics)]


def rows_of(found: Evaluation, part: str, metrics: dict[str, Any]) -> list[Row]:
    what = {"shape": "x".join(map(str, found.shape)), "part": part, "groups": len(found.scores)}
    return [{**what, "metric": metric, **e.record()} for metric, e in metrics.items()]


TOLD = (
    "GroupScore, below it GroupMatch, in percent with 95 % intervals; one number where a group has one image: both "
    "metrics are the same there."
)


def results_page(rows: list[Row]) -> str:
    """Every set and score: groups, then the flattened sets."""
    shown = [r for r in rows if r["part"] == "all" and r["kind"] not in ASIDE]
    plain = pivot([r for r in shown if r["benchmark"] not in FLAT], METRICS_SHOWN)
    flat = pivot([r for r in shown if r["benchmark"] in FLAT], ("global_match",))
    return f"""# Built-in models on the built-in test sets

Written by `python -m benchmarks.results.table`; all metrics, the language priors, and seen and unseen compositions
apart are in `assets/results/builtin.csv`. Intervals are exact (Clopper and Pearson); what they cover, and how often
verdicts err, is in [COVERAGE.md](COVERAGE.md).

{TOLD}

{plain}

The flattened sets, all images with all captions and no groups given: share of images that the best assignment gives
their own caption.

{flat}
"""


def pivot(rows: list[Row], metrics: tuple[str, ...]) -> str:
    """A Markdown table: a row per set, a column per scorer, a line in the cell per metric."""
    at = {(r["benchmark"], r["model"], r["metric"]): r for r in rows}
    heads = {r["model"]: heading(r) for r in rows}
    lines = [f"| set | chance | {' | '.join(heads.values())} |", "| --- |" + " --- |" * (len(heads) + 1)]
    for name, shape in dict.fromkeys((r["benchmark"], r["shape"]) for r in rows):
        told = metrics[:1] if shape.startswith("1x") else metrics
        first = next(iter(heads))
        chances = "<br>".join(f"{at[name, first, m]['chance']:.1f}" for m in told)
        cells = ["<br>".join(cell(at[name, model, m]) for m in told) for model in heads]
        label = f"{name.removeprefix('scenes/')}, {shape.replace('x', '×')}"
        lines.append(f"| {label} | {chances} | {' | '.join(cells)} |")
    return "\n".join(lines)


def heading(row: Row) -> str:
    """`clip`; with the kind of score where it is no embedding's."""
    name = row["model"].rpartition(":")[2].removeprefix("builtin/")
    return name if row["kind"] == "itc" and ":" not in row["model"] else f"{name}, {row['kind'].upper()}"


def cell(row: Row) -> str:
    ties = f", {row['ties']} tied" if row["ties"] else ""
    return f"{row['value']:.1f} [{row['low']:.0f}, {row['high']:.0f}]{ties}"


def measured_rows() -> list[Row]:
    """The rows of assets/results/builtin.csv."""
    kinds = {"groups": int, "ties": int, **dict.fromkeys(("value", "low", "high", "chance"), float)}
    with OUT.open(newline="") as file:
        return [
            {name: kinds.get(name, str)(text) if text else None for name, text in row.items()}
            for row in csv.DictReader(file)
        ]


def main() -> None:
    if sys.argv[1:] != ["tables"]:
        rows = measure()
        OUT.parent.mkdir(parents=True, exist_ok=True)
        with OUT.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    rows = measured_rows()
    PAGE.write_text("\n".join(filter(None, (results_page(rows), section()))))
    print(f"{len(rows)} rows in {OUT.relative_to(ROOT)}, tables in {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
