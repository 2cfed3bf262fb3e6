"""The binding ladder of the built-in models on the built-in sets whose pictures differ by one exchange (issue 22 C).

    python -m benchmarks.results.ladder [SET ...]    the ladders that are missing, or have too few runs; then the page
    python -m benchmarks.results.ladder table        benchmarks/LADDER.md, from what is there, and what the records say
                                                     in words, which the code of today writes from their numbers

Writes assets/results/ladder.jsonl, a line per model and set: the record of `crossmatch ladder SET --model MODEL
--json`. Every run of a ladder is kept in the cache, one run of all models after the other, as they see the same
pictures; so the script may be killed and started again. `--runs N` for fewer than the usual five.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch

from core.base.text import _exact_differences, _p_text
from core.ladder._runs import Run
from core.ladder.ladder import _STEPS, RUNGS, RUNS, SETS, Ladder
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


def measure(benchmark: str, runs: int) -> Iterator[dict[str, Any]]:
    """The records of all models on a set."""
    for seed, model in product(range(runs), MODELS):
        start = time.process_time()
        Run.of(benchmark, model, "cpu", seed, lambda what, share: None)
        print(benchmark, model, "run", seed, round(time.process_time() - start, 1), flush=True)
    for model in MODELS:
        yield {**Ladder.measure(benchmark, model, runs=runs).record(), "key": scorer_key(model)}


def save(record: dict[str, Any]) -> None:
    """In the place of an older one, in the order of the page."""
    found = {(each["benchmark"], each["model"]): each for each in [*load(), record]}
    lines = [json.dumps(found[place]) for place in product(SETS, MODELS) if place in found]
    OUT.write_text("\n".join(lines) + "\n")


def refresh() -> None:
    """The words of every record as the code of today says them; its numbers stay."""
    where = {name: step.where for name, step in _STEPS.items()}
    for record in Ladder.shipped():
        save(record | {"steps": [step | {"where": where[step["name"]]} for step in record["steps"]]})


def page() -> str:
    found = Ladder.shipped()
    return f"""# Where the binding is lost

Written by `python -m benchmarks.results.ladder`; every interval, tie, control and paired test is in
`assets/results/ladder.jsonl`, what the rungs mean in `core/ladder/ladder.py`. 300 test groups of a set, probes and map
trained on {found[0]["trained_on"]:,} fresh groups of the training split, once in every run. GroupMatch in percent,
the mean over runs, with its 95 % interval; of several runs it knows runs and groups as two sources of variance, of one
run groups alone. Its chance level is 50 %, of triples 16.7 %. `blind-lm` sees no
image and ties everywhere, and a tie is wrong. A dash: the model has no such rung, or no run of
test-time matching on that set ships.

{_rungs(found)}

## Steps

GroupMatch of a rung minus that of the one before; p is the largest over groups, over runs, and by cluster, after Holm's
correction for the steps of a ladder. The map reads the pooled vectors of both towers; its step (`map`) starts from the
one of them with the lower GroupMatch, which *from* names: {_starts(found)}.
After test-time matching: its runs ship with how many groups are right, not which; interval and p assume the smallest
overlap with the groups that the model's own scores have right, the case in which a change is hardest to show.
{_exact_differences()}

{_steps(found)}

## Controls

The same on combinations of colours and shapes that no training scene holds (seen by neither model nor probe), and the
two controls: labels dealt at random in every run, and an untrained model of the same architecture, drawn once.

{_controls(found)}

## In words

{_verdicts(found)}
"""


def _rungs(records: Sequence[dict[str, Any]]) -> str:
    heads = ["set", "model", "runs", *(rung.label for rung in RUNGS.values()), "GroupScore of its scores"]
    lines = [_row(heads), _row(["---"] * len(heads))]
    for record in records:
        rungs = {row["name"]: row for row in record["rungs"]}
        values = [_value(row.get("group_match")) for row in rungs.values()]
        runs = str(record.get("runs", 1))
        lines.append(_row([*_name(record), runs, *values, _value(rungs["own"]["group_score"])]))
    return "\n".join(lines)


def _steps(records: Sequence[dict[str, Any]]) -> str:
    heads = ["set", "model", "runs", "from", "to", "points", "95 % interval (alone)", "p (Holm)", "told"]
    lines = [_row(heads), _row(["---"] * len(heads))]
    for record in records:
        steps = list(record["steps"])
        if record.get("recovery"):
            steps.append({"before": "own", "after": "ttm", **record["recovery"]})
        for step in steps:
            way, p = ("lost" if step["difference"] < 0 else "gained"), Ladder.p_value(step)
            interval = f"{step['low']:+.1f} to {step['high']:+.1f}"
            told = way if p < 0.05 else "cannot tell"
            cells = [
                step["before"],
                step["after"],
                f"{Ladder.points(record, step):+.1f}",
                interval,
                _p_text(p),
                told,
            ]
            lines.append(_row([*_name(record), str(record.get("runs", 1)), *cells]))
    return "\n".join(lines)


def _starts(records: Sequence[dict[str, Any]]) -> str:
    """`the image's in 8 of the 18 steps, the caption's in 10`."""
    before = Counter(
        step["before"] for record in records for step in record["steps"] if step["after"] == "map"
    )
    image, caption = before["image-pooled"], before["caption-pooled"]
    return f"the image's in {image} of the {before.total()} steps, the caption's in {caption}"


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args()
    if options.sets != ["table"]:
        torch.set_num_threads(1)
        for benchmark in options.sets or SETS:
            runs = {r["model"]: r.get("runs", 1) for r in load() if r["benchmark"] == benchmark}
            if any(runs.get(model, 0) < options.runs for model in MODELS):
                for record in measure(benchmark, options.runs):
                    save(record)
    refresh()
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
