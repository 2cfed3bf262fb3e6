"""Where test-time matching helps: the built-in models on shifted pictures of the built-in sets (issue 19 B and C).

    python -m benchmarks.results.shifts [--minutes M] [--jobs J] [MODEL ...]    the runs that are missing
    python -m benchmarks.results.shifts tables         what is there as benchmarks/SHIFTS.md

Of every model, or of those named; no run begins that would not end within M minutes; J of them at once share the cores
(two on two cores take less time than one after the other).

Writes assets/results/ttm_shifts.csv: per run, before and after, all groups and those of seen and of unseen compositions
apart; and assets/results/ttm_signals.csv: per iteration of a run what can be seen without labels (`core.ttm._signals`:
agreements before adaptation alone), with GroupMatch beside it. A run's rows are appended when it ends, so the script
may be killed and started again: a run that is there is not repeated. What matters most comes first (`cells`), so that a
table that is cut short covers the core sets. The last iteration is the result.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.results import ablations
from benchmarks.results._several import several
from core import datasets
from core.base.text import _change_in_points, _exact_differences
from core.datasets import SHIFTS
from core.groups import GroupSet
from core.matching.groups import match
from core.metrics.evaluation import Evaluation
from core.scoring.cache import ScoreCache
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups
from core.ttm._augmentation import augmented
from core.ttm._pseudolabels import prepare
from core.ttm._signals import first_signals, moved
from core.ttm.run import TTMRun

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "assets" / "results" / "ttm_shifts.csv"
SIGNALS = OUT.with_name("ttm_signals.csv")
PAGE = ROOT / "benchmarks" / "SHIFTS.md"
FIRST_MODELS = ("builtin/clip", "builtin/siglip")
MODELS = (*FIRST_MODELS, "itc:builtin/blip-itm")
CORE = ("attribute-swap", "left-right", "front-behind", "relations-1x4", "size-swap", "material-swap")
FIRST_SETS = ("attribute-swap", "relations-1x4", "left-right")
SETS = (*CORE, "triples", "two-of-four", "replace", "swap", "add", "word-order")
MIDDLE = ("", *(name for name in SHIFTS if "-" not in name))
SEEDS = (0, 1, 2, 3)
METRICS = ("group_score", "group_match")
KEY = ("model", "benchmark", "shift", "seed")
SETTINGS = ("lr", "epochs", "iterations", "coverage_first")  # of the preset that a run took
COLUMNS = (*KEY, *SETTINGS, "when", "part", "groups", "seconds", *(
    f"{metric}{end}" for metric in METRICS for end in ("", "_low", "_high", "_chance", "_ties")
))  # fmt: skip
OTHERS = ("builtin/clip", "builtin/siglip", "builtin/clip-early")  # whose agreement is recorded
AGREEMENTS = tuple(
    f"{name}{end}" for name in ("views", "clip", "siglip", "clip-early") for end in ("", "_sure")
)
SEEN = ("chance", "consistency", "tied", "margin", "margin_low", "margin_high")
STEPS = (*KEY, *SETTINGS, "iteration", "coverage", "fitted", "loss", "moved", "moved_first", *SEEN, *AGREEMENTS,
         "group_score", "group_match")  # fmt: skip


class Cell(NamedTuple):
    """One run; no shift is the set as it is."""

    model: str
    benchmark: str
    shift: str
    seed: int

    @property
    def set(self) -> str:
        """The name of the set with its shift."""
        return f"{self.benchmark}~{self.shift}" if self.shift else self.benchmark


def cells() -> list[Cell]:
    """All runs, in the order of what is missed most: three core sets and the first model over all middle strengths with
    every seed, then all core sets and the first models; then the other sets, models and strengths. All of one seed come
    before the next.

    Sets as they are are none of them: with the same settings they are in the study of `benchmarks.results.ablations`.
    """
    rest = tuple(name for name in SHIFTS if name not in MIDDLE)
    blocks: tuple[tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[int]], ...] = (
        (FIRST_SETS, FIRST_MODELS[:1], MIDDLE[1:], SEEDS),
        (CORE, FIRST_MODELS, MIDDLE[1:], SEEDS),
        (SETS, FIRST_MODELS, MIDDLE[1:], SEEDS),
        (SETS, MODELS, MIDDLE[1:], SEEDS),
        (SETS, MODELS, rest, SEEDS),
    )
    found = [
        Cell(model, f"scenes/{name}", shift, seed)
        for sets, models, shifts, seeds in blocks
        for seed in seeds
        for shift in shifts
        for name in sets
        for model in models
    ]
    return list(dict.fromkeys(found))


def measure(cell: Cell) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of one run, for either file."""
    job = TTMRun.of(cell.set, cell.model, options={"seed": cell.seed})
    own = {**cell._asdict(), **{name: getattr(job.settings, name) for name in SETTINGS}}
    groups = job.load_groups()
    steps = list(job.execute())
    scores = [step.arrays["scores"] for step in steps]
    unseen = np.array([group.tags.get("unseen") == "yes" for group in groups.groups])
    seconds = round(sum(step.record["seconds"] for step in steps), 1)
    parts = {"all": unseen | True, "seen": ~unseen, "unseen": unseen}
    rows = [
        {**own, "when": when, "part": part, "groups": int(mask.sum()), "seconds": seconds}
        | dict(_numbers(Evaluation.of(found[mask], groups.truth[mask]).metrics))
        for when, found in (("before", scores[0]), ("after", scores[-1]))
        for part, mask in parts.items()
        if mask.any()
    ]
    return rows, [own | row for row in _signals(cell, job, groups.blind(), steps, scores)]


def _numbers(found: Any) -> Iterator[tuple[str, Any]]:
    ends = {"": "value", "_low": "low", "_high": "high", "_chance": "chance", "_ties": "ties"}
    for metric in METRICS:
        record = found[metric].record()
        for end, key in ends.items():
            yield f"{metric}{end}", _short(record[key])


def _signals(
    cell: Cell, job: TTMRun, groups: GroupSet, steps: Sequence[Any], scores: Sequence[np.ndarray]
) -> Iterator[dict[str, Any]]:
    """What can be seen without labels, an iteration at a time; and what was to be forecast."""
    matches = [match(each) for each in scores]
    for t, step in enumerate(steps):
        record = step.record
        row = {name: _short(record[name]) for name in ("iteration", "coverage", "fitted", "loss")}
        row |= {name: _short(record["metrics"][name]["value"]) for name in METRICS}
        seen = first_signals(scores[t]) if t else first_of(cell.model, cell.set, job, groups, scores[0])
        if t:
            seen |= {"moved": moved(matches[t - 1], matches[t]), "moved_first": moved(matches[0], matches[t])}
        yield row | {name: _short(value) for name, value in seen.items()}


def first_of(model: str, name: str, job: TTMRun, groups: GroupSet, scores: np.ndarray) -> dict[str, float]:
    """The signals before adaptation, with those of two views and of other models."""
    others = {
        other.removeprefix("builtin/"): scores_of(other, name, job.split)
        for other in OTHERS
        if other != model
    }
    return first_signals(scores, _views(model, name, job, groups), others)


_VIEWS: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = {}  # the same for every seed


def _views(model: str, name: str, job: TTMRun, groups: GroupSet) -> tuple[np.ndarray, np.ndarray]:
    """Scores of all groups in two jittered views, each (n, m, k)."""
    if (model, name) not in _VIEWS:
        scorer: Any = load_scorer(model, "cpu")
        inputs = prepare(scorer, groups, job.settings)
        generator = torch.Generator().manual_seed(0)
        data = augmented(inputs.data, "jitter", generator, torch.device("cpu"))
        one, other = (scorer.score_prepared(data, inputs.pairs)[inputs.place] for _ in range(2))
        _VIEWS[model, name] = one, other
    return _VIEWS[model, name]


@lru_cache(maxsize=256)
def scores_of(model: str, name: str, split: str = "test") -> np.ndarray:
    """Scores of another model, (n, m, k); kept on disk as the pages' are."""
    return score_groups(load_scorer(model, "cpu"), datasets.load(name, split).blind(), ScoreCache())


def _short(value: Any) -> Any:
    return round(value, 5) if isinstance(value, float) else value


def load(path: Path | None = None) -> list[dict[str, str]]:
    """The rows of a file, of the runs where none is named."""
    path = path or OUT
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, columns: Sequence[str], rows: list[dict[str, Any]]) -> None:
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(rows)


class Line(NamedTuple):
    """What was measured of one model, set and shift: GroupMatch in percent."""

    key: tuple[str, str, str]
    part: str
    groups: int
    score: float  # GroupScore before
    before: tuple[float, float, float]  # value and 95 % interval over groups
    after: list[float]  # by seed
    interval: tuple[float, float]  # over groups, of the first seed's
    score_after: list[float]

    @property
    def gain(self) -> float:
        return _change_in_points(self.before[0], float(np.mean(self.after)))

    @property
    def told(self) -> str:
        """After: mean and standard deviation over seeds; of a single one its interval over groups."""
        if len(self.after) > 1:
            return f"{np.mean(self.after):.1f} ± {np.std(self.after, ddof=1):.1f}"
        return f"{self.after[0]:.1f} [{self.interval[0]:.0f}, {self.interval[1]:.0f}]"


def lines(part: str = "all") -> dict[tuple[str, str, str], Line]:
    """What is there, by model, set and shift; of sets as they are what the ablations have, where nothing else is."""
    rows = [row for row in load() if row["part"] == part]
    found = {}
    for key in dict.fromkeys((row["model"], row["benchmark"], row["shift"]) for row in rows):
        own = [row for row in rows if (row["model"], row["benchmark"], row["shift"]) == key]
        first, *_ = (row for row in own if row["when"] == "before")
        last = [row for row in own if row["when"] == "after"]
        before, interval = (
            tuple(float(row[f"group_match{end}"]) for end in ends)
            for row, ends in ((first, ("", "_low", "_high")), (last[0], ("_low", "_high")))
        )
        after, score = ([float(row[name]) for row in last] for name in ("group_match", "group_score"))
        found[key] = Line(
            key, part, int(first["groups"]), float(first["group_score"]), before, after, interval, score
        )  # type: ignore[arg-type]
    return {**(plain_lines() if part == "all" else {}), **found}


def plain_lines() -> dict[tuple[str, str, str], Line]:
    """The runs of the ablations with the preset on the sets as they are."""
    found: dict[tuple[str, str, str], list[list[dict[str, str]]]] = {}
    rows = [row for row in ablations.load() if row["part"] == "all"]
    for model in MODELS:
        for name in SETS:
            cell = ("ttm", model, f"scenes/{name}", "preset")
            runs = list(ablations.runs_of(rows, cell).values())
            if runs:
                found[model, f"scenes/{name}", ""] = runs
    ends = ("group_match", "group_match_low", "group_match_high")
    return {
        key: Line(
            key,
            "all",
            int(runs[0][0]["groups"]),
            float(runs[0][0]["group_score"]),
            tuple(float(runs[0][0][end]) for end in ends),  # type: ignore[arg-type]
            [float(run[-1]["group_match"]) for run in runs],
            (float(runs[0][-1][ends[1]]), float(runs[0][-1][ends[2]])),
            [float(run[-1]["group_score"]) for run in runs],
        )
        for key, runs in found.items()
    }


def page() -> str:
    """benchmarks/SHIFTS.md: a line per model, set and shift, seen and unseen compositions apart."""
    parts = {part: lines(part) for part in ("all", "seen", "unseen")}
    head = ["set", "shift", "seeds", "GroupScore before", "after", "GroupMatch before", "after", "gain",
            "gain, seen", "gain, unseen"]  # fmt: skip
    written = [*TITLE, "", *AT_A_GLANCE, "", in_short(), "", short_table()]
    for model in dict.fromkeys(key[0] for key in parts["all"]):
        written += ["", f"## {model}", "", f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
        for key, line in sorted(parts["all"].items(), key=lambda item: _place(item[0])):
            if key[0] == model:
                value, low, high = line.before
                cells = [key[1].removeprefix("scenes/"), key[2] or "none", str(len(line.after))]
                cells += [f"{line.score:.1f}", f"{np.mean(line.score_after):.1f}"]
                cells += [f"{value:.1f} [{low:.0f}, {high:.0f}]", line.told]
                cells += [f"{parts[p][key].gain:+.1f}" if key in parts[p] else "" for p in parts]
                written.append(f"| {' | '.join(cells)} |")
    return "\n".join([*written, ""])


def _place(key: tuple[str, str, str]) -> tuple[int, ...]:
    names = [*MIDDLE, *SHIFTS]
    return SETS.index(key[1].removeprefix("scenes/")), names.index(key[2])


TITLE = (
    "# Test-time matching on shifted pictures",
    "",
    "Percent of 300 test groups (about four fifths of compositions that the models saw in training, the rest unseen). "
    "Before: with its 95 % interval. After: the last iteration; one seed with its 95 % interval over groups, several "
    "as mean and standard deviation over seeds. The shifts: `crossmatch list shifts`. Written by `python -m "
    "benchmarks.results.shifts tables`; the numbers of every run are in assets/results/ttm_shifts.csv, of pictures as "
    "they are (shift none) in ttm_ablations.csv. "
    f"{_exact_differences()}",
)
AT_A_GLANCE = (
    "## At a glance",
    "",
    "GroupMatch before → after, on the same groups. “As they are”: the built-in pictures; “shifted”: the same pictures "
    "in another light, weather, camera or file. Bold: every seed ends above the 95 % interval of the value before; "
    "italics: every seed ends below it. Chance is 50, on relations-1x4 25. It depends mostly on the set: left-right "
    "and front-behind nearly always gain, attribute-swap with CLIP where little is right before; relations-1x4 gains "
    "where 30 % or less are right before and loses where more are; on size-swap, near its chance level before, CLIP "
    "falls and SigLIP mostly rises, on material-swap it goes up or down by a few points. Deviations over seeds are 0.3 "
    "to 4.4 points. The marks ask much: of single seeds' means more lie above and below the value before.",
)


def short_table() -> str:
    """At a glance: GroupMatch before and after on the core sets, and how much of them is measured.

    Pictures as they are: a line per set, a column per model. Shifted ones: a line per model and set, a column per
    shift, of those with anything to show.
    """
    found = lines()
    keys = [(model, f"scenes/{name}", shift) for model in FIRST_MODELS for name in CORE for shift in MIDDLE]
    shown = {key: found[key] for key in keys if key in found}
    shifts = [shift for shift in MIDDLE if shift and any(key[2] == shift for key in shown)]
    models = [model for model in FIRST_MODELS if any(key[0] == model for key in shown)]
    short = [model.removeprefix("builtin/") for model in models]

    def table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
        return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]

    def cells(wanted: Iterable[tuple[str, str, str]]) -> list[str]:
        return [_cell(shown[key]) if key in shown else "" for key in wanted]

    plain = [[name, *cells((model, f"scenes/{name}", "") for model in models)] for name in CORE]
    shifted = [
        [f"{model.removeprefix('builtin/')}, {name}", *row]
        for model in models
        for name in CORE
        if any(row := cells((model, f"scenes/{name}", shift) for shift in shifts))
    ]
    told = []
    for what, own in (
        ("as they are", [key for key in keys if not key[2]]),
        ("shifted", [key for key in keys if key[2]]),
    ):
        seeds = [len(shown[key].after) for key in own if key in shown]
        each = " to ".join(map(str, dict.fromkeys((min(seeds, default=0), max(seeds, default=0)))))
        told.append(
            f"{what} {len(seeds)} of {len(own)} cells ({each} {'seed' if each == '1' else 'seeds'} each)"
        )
    return "\n".join(
        [
            *table(["as they are", *short], (row for row in plain if any(row[1:]))),
            "",
            *table(["shifted", *shifts], shifted),
            "",
            f"Measured so far: {', '.join(told)}.",
        ]
    )


def in_short() -> str:
    """What the first model comes to on three sets and all shifts of middle strength."""
    return _summary(lines())


def _summary(found: Mapping[tuple[str, str, str], Line]) -> str:
    """How many of these cells end above or below the interval before in every seed, and the two that change
    most."""
    cells = {
        f"{name}, {shift}": line
        for shift in MIDDLE[1:]
        for name in FIRST_SETS
        if (line := found.get((FIRST_MODELS[0], f"scenes/{name}", shift))) is not None
    }
    marks = [_mark(line) for line in cells.values()]
    gains = {name: float(np.mean(line.after)) - line.before[0] for name, line in cells.items()}
    ends = (max(gains, key=gains.__getitem__), min(gains, key=gains.__getitem__))
    most, least = (f"{name} {_spread(cells[name])}".replace("*", "") for name in ends)
    return (
        f"{FIRST_MODELS[0].removeprefix('builtin/')} in short: "
        f"of {len(cells)} cells, {len(MIDDLE) - 1} shifts of {len(FIRST_SETS)} sets, {marks.count('**')} end above the "
        f"95 % interval of the value before in every seed and {marks.count('*')} below it; of the "
        f"others at least one seed ends inside. Largest gain: {most}; largest loss: {least} (mean ± standard deviation "
        "over seeds; chance is 50, on relations-1x4 25)."
    )


def _spread(line: Line | None) -> str:
    if line is None:
        return ""
    sure = f" ± {np.std(line.after, ddof=1):.1f}" if len(line.after) > 1 else " (1 seed)"
    mark = _mark(line)
    return f"{line.before[0]:.1f} → {mark}{np.mean(line.after):.1f}{mark}{sure}"


def _cell(line: Line) -> str:
    """Bold where every seed ends above the interval before, in italics where every seed ends below it."""
    mark = _mark(line)
    return f"{mark}{line.before[0]:.0f} → {np.mean(line.after):.0f}{mark}"


def _mark(line: Line) -> str:
    _, low, high = line.before
    return "**" if min(line.after) > high else "*" if max(line.after) < low else ""


def main(arguments: Sequence[str]) -> None:
    if [*arguments] == ["tables"]:
        PAGE.write_text(page(), encoding="utf-8")
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=MODELS)
    options = parser.parse_args(arguments)
    there = {Cell(row["model"], row["benchmark"], row["shift"], int(row["seed"])) for row in load()}
    missing = [cell for cell in cells() if cell.model in options.models and cell not in there]
    started, found = time.monotonic(), several(measure, missing, options.jobs, options.minutes)
    for count, (cell, (rows, steps)) in enumerate(found, 1):
        append(SIGNALS, STEPS, steps)
        append(OUT, COLUMNS, rows)
        before, after = (row["group_match"] for row in rows if row["part"] == "all")
        each = (time.monotonic() - started) / count
        print(
            f"{cell}: {before:.1f} -> {after:.1f}; a run every {each:.0f} s, {len(missing) - count} left",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
