"""The binding ladder of the built-in models on the built-in sets whose pictures differ by one exchange (issue 22 C).

    python -m benchmarks.results.ladder [MODEL ...]    the ladders that are missing, then the page
    python -m benchmarks.results.ladder table          benchmarks/LADDER.md, from what is there

Writes assets/results/ladder.jsonl, a line per model and set: the record of `crossmatch ladder SET --model MODEL
--json`. A line is appended when its ladder is measured, so the script may be killed and started again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from core.ladder.ladder import RUNGS, SETS, Ladder
from core.scoring.load import scorer_key

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "assets" / "results" / "ladder.jsonl"
PAGE = ROOT / "benchmarks" / "LADDER.md"
MODELS = tuple(
    f"builtin/{name}"
    for name in ("clip", "siglip", "clip-early", "blip-itm", "blip-vqa", "blip-caption", "blind-lm")
)


def load() -> list[dict[str, Any]]:
    return [json.loads(line) for line in OUT.read_text().splitlines()] if OUT.exists() else []


def measure(benchmark: str, model: str) -> dict[str, Any]:
    """One line: measured anew, whatever the cache of this machine holds."""
    start = time.process_time()
    record = {**Ladder.measure(benchmark, model).record(), "key": scorer_key(model)}
    return record | {"cpu_seconds": round(time.process_time() - start, 1)}


def page() -> str:
    found = load()
    seconds = [record["cpu_seconds"] for record in found]
    return f"""# Where the binding is lost

Written by `python -m benchmarks.results.ladder`; every interval, tie, control and paired test is in
`assets/results/ladder.jsonl`, what the rungs mean in `core/ladder/ladder.py`. 300 test groups of a set, probes and map
trained on {found[0]["trained_on"]:,} fresh groups of the training split; seed {found[0]["seed"]}. GroupMatch in
percent with its 95 % interval; its chance level is 50 %, of triples 16.7 %. A dash: the model has no such rung.
{max(seconds):.0f} seconds of one core a ladder at most.

{_rungs(found)}

The same on combinations of colours and shapes that no training scene holds (seen by neither model nor probe), and the
two controls: labels dealt at random, and an untrained model of the same architecture.

{_controls(found)}

## In words

{_verdicts(found)}
"""


def _rungs(records: Sequence[dict[str, Any]]) -> str:
    heads = ["set", "model", *(rung.label for rung in RUNGS.values()), "GroupScore of its scores"]
    lines = [_row(heads), _row(["---"] * len(heads))]
    for record in records:
        rungs = {row["name"]: row for row in record["rungs"]}
        values = [_value(row.get("group_match")) for row in rungs.values()]
        lines.append(_row([*_name(record), *values, _value(rungs["own"]["group_score"])]))
    return "\n".join(lines)


def _controls(records: Sequence[dict[str, Any]]) -> str:
    names = [name for name in RUNGS if name not in ("own", "ttm")]
    heads = ["set", "model", "control", *(RUNGS[name].label for name in names)]
    lines = [_row(heads), _row(["---"] * len(heads))]
    for record in records:
        rungs = {row["name"]: row for row in record["rungs"]}
        for kind, which in (("combinations", "unseen"), ("controls", "shuffled"), ("controls", "untrained")):
            values = [_value(rungs[n].get(kind, {}).get(which, {}).get("group_match")) for n in names]
            if any(value != "–" for value in values):
                lines.append(_row([*_name(record), which, *values]))
    return "\n".join(lines)


def _verdicts(records: Sequence[dict[str, Any]]) -> str:
    return "\n".join(
        f"- **{model}** on {benchmark}: {' '.join(record['verdict'])}"
        for record in records
        for benchmark, model in [_name(record)]
    )


def _name(record: dict[str, Any]) -> tuple[str, str]:
    return record["benchmark"].removeprefix("scenes/"), record["model"].removeprefix("builtin/")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _value(estimate: dict[str, Any] | None) -> str:
    return (
        "–"
        if estimate is None
        else f"{estimate['value']:.1f} [{estimate['low']:.0f}, {estimate['high']:.0f}]"
    )


def main() -> None:
    if sys.argv[1:] != ["table"]:
        torch.set_num_threads(1)
        there = {(record["benchmark"], record["model"]) for record in load()}
        for benchmark in SETS:
            for model in sys.argv[1:] or MODELS:
                if (benchmark, model) not in there:
                    record = measure(benchmark, model)
                    with OUT.open("a") as file:
                        file.write(json.dumps(record) + "\n")
                    print(benchmark, model, record["cpu_seconds"], *record["verdict"], flush=True)
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
