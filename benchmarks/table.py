"""Every built-in model on every built-in set: `python -m benchmarks.table` measures and rewrites README's table."""

from __future__ import annotations

import csv
from pathlib import Path

from core.datasets import load, names
from core.evaluation import Evaluation, percent_record
from core.scorers import builtin_models, load_scorer
from core.scores import ScoreCache, score_groups

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "assets" / "results" / "builtin.csv"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
COLUMNS = ["model", "benchmark", "shape", "groups", "metric", "value", "low", "high", "chance", "ties"]


def measure() -> list[dict[str, object]]:
    """One row per model, set and metric, on the test split."""
    rows: list[dict[str, object]] = []
    for model in builtin_models():
        scorer = load_scorer(model)
        for name in names():
            if not name.startswith("scenes/"):
                continue
            groups = load(name, "test")
            found = Evaluation.of(score_groups(scorer, groups, ScoreCache()), groups.truth, groups.ids)
            what = {
                "model": model,
                "benchmark": name,
                "shape": "x".join(map(str, found.shape)),
                "groups": len(groups),
            }
            rows += [{**what, "metric": metric, **percent_record(e)} for metric, e in found.metrics.items()]
    return rows


def markdown(rows: list[dict[str, object]]) -> str:
    """GroupScore and GroupMatch side by side, with intervals and chance levels."""
    lines = [
        "| model | set | shape | GroupScore | chance | GroupMatch | chance |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    by_key = {(r["model"], r["benchmark"], r["metric"]): r for r in rows}
    for model, name in dict.fromkeys((r["model"], r["benchmark"]) for r in rows):
        score, match = by_key[model, name, "group_score"], by_key[model, name, "group_match"]
        cells = [cell(score), f"{score['chance']:.1f}", cell(match), f"{match['chance']:.1f}"]
        lines.append(f"| {model} | {name} | {score['shape']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(row: dict[str, object]) -> str:
    ties = f", {row['ties']} tied" if row["ties"] else ""
    return f"{row['value']:.1f} [{row['low']:.1f}, {row['high']:.1f}]{ties}"


def main() -> None:
    rows = measure()
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    readme.write_text(f"{before}{BEGIN}\n{markdown(rows)}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
