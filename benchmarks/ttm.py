"""Test-time matching of the built-in CLIP on the test groups, four seeds a set: `python -m benchmarks.ttm`.

Writes assets/results/ttm_builtin.csv, one row per set, seed and iteration, and rewrites README's table. A run whose
rows are there already is not repeated (delete the file to start over). The final iteration is the result.
"""

from __future__ import annotations

import csv
import statistics
import sys
from pathlib import Path

from core.ttm.run import execute as execute_ttm
from core.ttm.run import ttm_job

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "assets" / "results" / "ttm_builtin.csv"
BEGIN, END = "<!-- ttm: begin -->", "<!-- ttm: end -->"
SETS = ("scenes/left-right", "scenes/front-behind", "scenes/attribute-swap", "scenes/relations-1x4")
SEEDS = (0, 1, 2, 3)
METRICS = ("group_score", "group_match")
COLUMNS = ["benchmark", "seed", "iteration", "threshold", "coverage", "precision", "seconds", *METRICS]


def run(benchmark: str, seed: int) -> list[dict[str, object]]:
    """One run with the built-in preset, as rows."""
    rows = []
    for done in execute_ttm(ttm_job(benchmark, "builtin/clip", options={"seed": seed})):
        record = done.record
        found = {name: record["metrics"][name]["value"] for name in METRICS}
        rows.append({"benchmark": benchmark, "seed": seed, **{k: record[k] for k in COLUMNS[2:7]}, **found})
    return rows


def load() -> list[dict[str, str]]:
    if not OUT.exists():
        return []
    with OUT.open(newline="") as file:
        return list(csv.DictReader(file))


def save(rows: list[dict[str, str]]) -> None:
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def ends(rows: list[dict[str, str]], benchmark: str, metric: str) -> tuple[list[float], list[float]]:
    """The metric before and after, one value per seed."""
    mine = [r for r in rows if r["benchmark"] == benchmark]
    last = max(int(r["iteration"]) for r in mine)
    at = {i: [float(r[metric]) for r in mine if int(r["iteration"]) == i] for i in (0, last)}
    return at[0], at[last]


def markdown(rows: list[dict[str, str]]) -> str:
    lines = [
        "| set | GroupMatch before | after | gain, smallest to largest | GroupScore before | after | seconds a run |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in dict.fromkeys(r["benchmark"] for r in rows):
        match, score = ends(rows, name, "group_match"), ends(rows, name, "group_score")
        gains = [after - before for before, after in zip(*match, strict=True)]
        times = [
            sum(float(r["seconds"]) for r in rows if (r["benchmark"], r["seed"]) == (name, str(s)))
            for s in SEEDS
        ]
        cells = [f"{match[0][0]:.1f}", spread(match[1]), f"{min(gains):+.1f} to {max(gains):+.1f}"]
        cells += [f"{score[0][0]:.1f}", spread(score[1]), f"{statistics.median(times):.0f}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def spread(values: list[float]) -> str:
    """Mean ± standard deviation over seeds."""
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"


def main() -> None:
    for name in sys.argv[1:] or SETS:
        for seed in SEEDS:
            rows = load()
            if not any((r["benchmark"], r["seed"]) == (name, str(seed)) for r in rows):
                save([*rows, *run(name, seed)])  # type: ignore[list-item]
                print(f"{name} seed {seed} done", flush=True)
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    readme.write_text(f"{before}{BEGIN}\n{markdown(load())}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
