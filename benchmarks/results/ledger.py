"""Where the gain of test-time matching comes from, on built-in sets and tinted ones (issue 19 D).

    python -m benchmarks.results.ledger [MODEL ...]    the ledgers that are missing, then the page
    python -m benchmarks.results.ledger frozen:builtin/clip    of one trainable map per modality on its embeddings
    python -m benchmarks.results.ledger table          the section of benchmarks/RESULTS.md, from what is there

Writes assets/results/ledger.jsonl, a line per model, set and seed: a ledger's record (`crossmatch ledger --json`). The
whole model is trained for five iterations of the preset `builtin`, the maps for ten of the preset `embeddings`. A line
is appended when its eight runs are over, so the script may be killed and started again: a ledger that is there is not
measured again. The last iteration is the result.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from core import datasets
from core.base.text import _exact_differences
from core.teaching.lessons import _frozen
from core.ttm.run import LedgerRun

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "assets" / "results" / "ledger.jsonl"
PAGE = ROOT / "benchmarks" / "RESULTS.md"
BEGIN = "<!-- ledger: begin -->"
MODELS = ("builtin/clip",)
FROZEN = "frozen:"  # before a model whose embeddings stay as they are
SETS = (
    *("attribute-swap~tinted", "left-right~tinted", "attribute-swap", "relations-1x4", "front-behind"),
    *("left-right", "front-behind~tinted", "relations-1x4~tinted"),
)
SEEDS = (0, 1)
ITERATIONS = 5  # of the whole model: the paper's T of 10 takes twice as long
PARTS = ("metric", "bijections", "training", "task", "set", "size")
CONTROLS = ("random-matchings", "no-right-caption", "one-right-caption", "other-images", "per-image")


class Cell(NamedTuple):
    """One ledger."""

    model: str
    benchmark: str
    seed: int


def cells(models: Sequence[str] = MODELS) -> Iterator[Cell]:
    for seed in SEEDS:
        for model in models:
            yield from (Cell(model, f"scenes/{name}", seed) for name in SETS)


def measure(cell: Cell) -> dict[str, Any]:
    """The record of one ledger."""
    with tempfile.TemporaryDirectory() as folder:
        job, steps = _job(cell, Path(folder) / "frozen"), []
        for step in job.execute():
            steps.append(step)
            if step.record["iteration"] % job.settings.iterations == 0:
                print(f"  {cell.benchmark}: {len(steps) - 1} of {job.total} iterations", flush=True)
    found = job.ledger(job.load_groups(), lambda i: steps[i].arrays["scores"], len(steps) - 1)
    seconds = round(sum(step.record["seconds"] for step in steps), 1)
    return {**cell._asdict(), "settings": job.describe(), "seconds": seconds, **found.record()}


def _job(cell: Cell, folder: Path) -> LedgerRun:
    """The description of a cell; of frozen features, their model is written into the folder first."""
    seed = {"seed": cell.seed}
    if not cell.model.startswith(FROZEN):
        return LedgerRun.of(cell.benchmark, cell.model, options={**seed, "iterations": ITERATIONS})
    place = folder / cell.model.rpartition("/")[2]
    place.mkdir(parents=True)
    _frozen(cell.model.removeprefix(FROZEN), datasets.load(cell.benchmark, "test")).save(place)
    return LedgerRun.of(cell.benchmark, str(place), preset="embeddings", options=seed)


def load() -> list[dict[str, Any]]:
    return [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []


def section() -> str:
    """The ledger's part of RESULTS.md."""
    found = load()
    if not found:
        return ""
    order = list(cells(tuple(dict.fromkeys(record["model"] for record in found))))
    found = sorted(found, key=lambda r: order.index(Cell(r["model"], r["benchmark"], r["seed"])))
    return f"""{BEGIN}

## Where the gain of test-time matching comes from

Written by `python -m benchmarks.results.ledger`; every figure with its interval, chance level and ties is in
`assets/results/ledger.jsonl`, what the parts mean in `core/ttm/_ledger.py`. 300 groups of a set; the built-in CLIP, the
whole model for five iterations of the preset `builtin`, and one map per modality on its frozen features for ten of the
preset `embeddings`. Points of accuracy with paired 95 % intervals over groups; another seed is another line. GroupScore
of the frozen model and the first three parts add up to GroupMatch of the adapted one; the last three to training.
{_exact_differences()}

{_table(found, "parts", PARTS)}

What is left of the gain of GroupMatch when one assumption is taken away, each a run of its own:

{_table(found, "controls", CONTROLS)}

GroupScore before, after the run itself, and after training on random matchings, which takes it towards its chance
level from either side.

{_scores(found)}
"""


def _table(records: Sequence[dict[str, Any]], kind: str, names: Sequence[str]) -> str:
    ends = ("GroupScore frozen", "GroupMatch adapted") if kind == "parts" else ("the run itself", None)
    heads = ["set", "seed", ends[0], *(name.replace("-", " ") for name in names), *filter(None, ends[1:])]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for record in records:
        rows, figures = {row["name"]: row for row in record["rows"]}, record["figures"]
        first = _value(figures["frozen"]["group_score"]) if kind == "parts" else _points(rows["training"])
        last = [_value(figures["adapted"]["group_match"])] if kind == "parts" else []
        cells_of = [_points(rows[name]) if name in rows else "–" for name in names]
        lines.append(f"| {' | '.join([_name(record), str(record['seed']), first, *cells_of, *last])} |")
    return "\n".join(lines)


def _scores(records: Sequence[dict[str, Any]]) -> str:
    shown = ("frozen", "adapted", "random-matchings")
    lines = [f"| set | seed | chance | {' | '.join(shown)} |", "| --- | --- | --- | --- | --- | --- |"]
    for record in records:
        if record["shape"].startswith("1x"):
            continue  # GroupScore is GroupMatch there
        of = [record["figures"][name]["group_score"] for name in shown]
        values = " | ".join(map(_value, of))
        lines.append(f"| {_name(record)} | {record['seed']} | {of[0]['chance']:.1f} | {values} |")
    return "\n".join(lines)


def _name(record: dict[str, Any]) -> str:
    own = record["benchmark"].removeprefix("scenes/")
    return own if record["model"] == MODELS[0] else f"{own}, frozen features"


def _value(estimate: dict[str, Any]) -> str:
    return f"{estimate['value']:.1f} [{estimate['low']:.0f}, {estimate['high']:.0f}]"


def _points(row: dict[str, Any]) -> str:
    return f"{row['difference']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"


def write_page() -> None:
    page = PAGE.read_text()
    PAGE.write_text(f"{page.partition(BEGIN)[0].rstrip()}\n\n{section()}")


def main() -> None:
    if sys.argv[1:] != ["table"]:
        there = {Cell(record["model"], record["benchmark"], record["seed"]) for record in load()}
        for cell in cells(tuple(sys.argv[1:]) or MODELS):
            if cell not in there:
                record = measure(cell)
                with OUT.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                figures = record["figures"]
                print(
                    f"{cell}: {figures['frozen']['group_match']['value']:.1f} -> "
                    f"{figures['adapted']['group_match']['value']:.1f}, {record['seconds']:.0f} s",
                    flush=True,
                )
    write_page()


if __name__ == "__main__":
    main()
