"""Test-time matching and SimpleMatch of the built-in models, ablated.

    python -m benchmarks.results.ablations [STUDY ...]    the runs that are missing, of every study or of some
    python -m benchmarks.results.ablations tables         what is there as benchmarks/ABLATIONS.md and README's table

Writes assets/results/ttm_ablations.csv: one row per iteration (or round) of every run, and of a transfer check one per
part of the groups besides. A run's rows are appended when it ends, so the script may be killed and started again: a
run that is there is not repeated. The final iteration is the result.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from benchmarks.results.readme import put_table
from core.base.text import _change_in_points, _exact_differences
from core.ttm.run import RUNS, AdaptationRun

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "assets" / "results" / "ttm_ablations.csv"
PAGE = ROOT / "benchmarks" / "ABLATIONS.md"
SEEDS = (0, 1, 2, 3)
LEFT_RIGHT, FRONT_BEHIND = "scenes/left-right", "scenes/front-behind"
# Of the sets without groups, as `core.papers` runs them: at first the surer half of the pairs, at the end all.
GLOBAL = "variant=global threshold_mode=relative tau_first=0.5 tau_last=0.0"
SQUARES = ("attribute-swap", "left-right", "front-behind", "size-swap", "material-swap", "triples")
FLAT = (
    "left-right",
    "front-behind",
    "attribute-swap",
    "size-swap",
    "material-swap",
    "triples",
    "two-of-four",
    "relations-1x4",
)
OTHERS = ("two-of-four", "relations-1x4", "replace", "swap", "add", "word-order")
SETS = tuple(f"scenes/{name}" for name in (*SQUARES, *OTHERS))
SHARES = (0.1, 0.3, 0.5, 0.7)  # of the groups, that tau_1 selects; the preset's is 0.2
RUN = ("kind", "model", "benchmark", "setting", "seed")  # what a run is known by
STEP = ("iteration", "threshold", "coverage", "precision", "fitted", "loss", "seconds")
METRICS = ("group_score", "group_match", "global_match")
ESTIMATES = [f"{name}{end}" for name in METRICS for end in ("", "_low", "_high")]
COLUMNS = [*RUN, *STEP, "part", "groups", "chance", "ties", *ESTIMATES]


class Cell(NamedTuple):
    """One run: `setting` holds options of the job (`core.ttm.run`) as `name=value` with spaces, or `preset`
    for none."""

    kind: str
    model: str
    benchmark: str
    setting: str
    seed: int


def over_seeds(
    settings: tuple[str, ...] = ("preset",),
    sets: tuple[str, ...] = (LEFT_RIGHT,),
    model: str = "builtin/clip",
    kind: str = "ttm",
) -> list[Cell]:
    """A run per seed, setting and set; all of one seed first, so that a study that is cut short covers everything."""
    return [Cell(kind, model, name, each, seed) for seed in SEEDS for name in sets for each in settings]


STUDIES: dict[str, list[Cell]] = {
    "schedules": over_seeds(("preset", "schedule=cosine", "schedule=constant", "schedule=ascending")),
    "first": over_seeds(("oracle=1", *(f"coverage_first={share}" for share in SHARES))),
    "iterations": over_seeds(tuple(f"iterations={count}" for count in (1, 3, 5))),
    "transfer": over_seeds(("adapt_on=0.5",), SETS),
    "clip": over_seeds(sets=SETS),
    "variants": over_seeds(
        (
            *(f"variant=global threshold_mode={mode}" for mode in ("absolute", "relative")),
            *("keep_optimizer=1", "augmentation=none"),
        )
    ),
    "global": over_seeds((GLOBAL,), tuple(f"scenes/{name}@global" for name in FLAT)),
    "early": over_seeds(model="builtin/clip-early"),
    "blip-itc": over_seeds(sets=SETS, model="itc:builtin/blip-itm"),
    "blip-itm": over_seeds(sets=SETS, model="builtin/blip-itm"),
    # Where the preset loses: whether right pseudo-labels alone would help tells noise from forgetting.
    "oracle": over_seeds(("oracle=1",), ("scenes/attribute-swap", "scenes/relations-1x4")),
    "simplematch": over_seeds(sets=SETS, kind="simplematch"),
    "siglip": over_seeds(sets=SETS, model="builtin/siglip"),
    "simplematch-siglip": over_seeds(sets=SETS, model="builtin/siglip", kind="simplematch"),
    "simplematch-blip-itc": over_seeds(sets=SETS, model="itc:builtin/blip-itm", kind="simplematch"),
    "simplematch-blip-itm": over_seeds(sets=SETS, model="builtin/blip-itm", kind="simplematch"),
    "first-front-behind": over_seeds(("oracle=1", *(f"coverage_first={s}" for s in SHARES)), (FRONT_BEHIND,)),
}


def job_of(cell: Cell) -> AdaptationRun:
    """The run of a cell."""
    options: dict[str, Any] = {"seed": cell.seed}
    for part in () if cell.setting == "preset" else cell.setting.split():
        name, _, value = part.partition("=")
        options[name] = _value(name, value)
    own = {name: options.pop(name) for name in ("oracle", "adapt_on") if name in options}
    return RUNS[cell.kind].of(cell.benchmark, cell.model, options=options, **own)


def _value(name: str, text: str) -> object:
    if name in ("oracle", "keep_optimizer"):
        return text == "1"
    if name == "iterations":
        return int(text)
    return float(text) if name in ("coverage_first", "adapt_on", "tau_first", "tau_last") else text


def measure(cell: Cell) -> list[dict[str, object]]:
    """The rows of one run."""
    return [row for done in job_of(cell).execute() for row in rows_of(cell, done.record)]


def rows_of(cell: Cell, record: dict[str, Any]) -> Iterator[dict[str, object]]:
    """One iteration: all groups, and then the adapted and the untouched ones of a transfer check."""
    step = {**cell._asdict(), **{name: _short(record[name]) for name in STEP}}
    parts = {"all": record, **record.get("parts", {})}
    for part, found in parts.items():
        metrics = found["metrics"]
        match = metrics["group_match"]
        row = {
            **step,
            "part": part,
            "groups": found["n_groups"],
            "chance": match["chance"],
            "ties": match["ties"],
        }
        for name in (each for each in METRICS if each in metrics):
            row |= {f"{name}{end}": metrics[name][key] for end, key in _ENDS.items()}
        yield row


_ENDS = {"": "value", "_low": "low", "_high": "high"}


def _short(value: object) -> object:
    return round(value, 5) if isinstance(value, float) else value


def load() -> list[dict[str, str]]:
    if not OUT.exists():
        return []
    with OUT.open(newline="") as file:
        return list(csv.DictReader(file))


def append(rows: list[dict[str, object]]) -> None:
    """Add the rows of whole runs; the header first where there is no file yet."""
    fresh = not OUT.exists()
    OUT.parent.mkdir(parents=True, exist_ok=True)
    with OUT.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows(rows)


def measured() -> set[Cell]:
    """The runs that are there."""
    return {Cell(*(row[name] for name in RUN[:-1]), int(row["seed"])) for row in load()}  # type: ignore[misc]


def tables() -> str:
    """Every study as a section with a table: a line per model, set and setting, with what its finished seeds gave."""
    rows = [row for row in load() if row["part"] == "all"]
    parts = {part: [row for row in load() if row["part"] == part] for part in ("adapted", "untouched")}
    lines: list[str] = []
    for name, cells in STUDIES.items():
        body: list[str] = []
        for key in dict.fromkeys(cell[:-1] for cell in cells):
            body += _line(rows, key, "")
            for part, own in parts.items():
                body += _line(own, key, f", {part}")
        lines += ["", f"## {name}", "", *_HEAD, *body] if body else []
    return "\n".join([*_TITLE, *lines, ""])


SHOWN = (LEFT_RIGHT, FRONT_BEHIND, "scenes/attribute-swap", "scenes/relations-1x4")  # in README


def short_table() -> str:
    """README's table: the built-in CLIP with its preset on a few sets."""
    lines = [
        "| set | GroupMatch before | after | gain | gain of one more run | GroupScore before | after |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    rows = [row for row in load() if row["part"] == "all"]
    for name in SHOWN:
        runs = list(runs_of(rows, ("ttm", "builtin/clip", name, "preset")).values())
        starts, ends = [run[0] for run in runs], [run[-1] for run in runs]
        gains = _gains(starts, ends)
        cells = [spread(starts[:1], "group_match"), spread(ends, "group_match")]
        after = float(np.mean([float(row["group_match"]) for row in ends]))
        gain = _change_in_points(float(starts[0]["group_match"]), after)
        cells += [f"{gain:+.1f}", "{:+.1f} to {:+.1f}".format(*one_more(gains))]
        cells += [spread(starts[:1], "group_score"), spread(ends, "group_score")]
        lines.append(f"| {name.removeprefix('scenes/')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def one_more(values: Sequence[float]) -> tuple[float, float]:
    """Where one more run's value lies in 95 of 100 cases, if it differs from these as they do from each other.

    The prediction interval of a normal distribution: mean ± t s sqrt(1 + 1/n), with t of n - 1 degrees of freedom.
    """
    n = len(values)
    reach = stdtrit(n - 1, 0.975) * np.std(values, ddof=1) * np.sqrt(1 + 1 / n)
    return float(np.mean(values) - reach), float(np.mean(values) + reach)


def _gains(starts: list[dict[str, str]], ends: list[dict[str, str]]) -> list[float]:
    """Points of GroupMatch by seed."""
    return [float(e["group_match"]) - float(s["group_match"]) for s, e in zip(starts, ends, strict=True)]


_TITLE = (
    "# Test-time matching and SimpleMatch of the built-in models, setting by setting",
    "",
    "Percent of 300 test groups. Before: with its 95 % interval and chance level. After: the last iteration (or",
    "round) of each run, mean ± standard deviation over seeds; ties are the most that a seed ended with. Precision is",
    "that of the pseudo-labels, chosen by truth for the oracle alone. Written by `python -m",
    "benchmarks.results.ablations tables` from `assets/results/ttm_ablations.csv`; what follows from it is in",
    f"[LOG.md](LOG.md). {_exact_differences()}",
)
_HEAD = (
    "| run | seeds | GroupMatch before | after | gain by seed | ties | GroupScore before | after "
    "| precision, first to last |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
)


def runs_of(rows: list[dict[str, str]], key: tuple[str, ...]) -> dict[str, list[dict[str, str]]]:
    """Seed -> the rows of its run; key : a cell without its seed."""
    runs: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if tuple(row[name] for name in RUN[:-1]) == key:
            runs.setdefault(row["seed"], []).append(row)
    return runs


def _line(rows: list[dict[str, str]], key: tuple[str, ...], what: str) -> list[str]:
    """The line of one setting; none where nothing was measured."""
    runs = runs_of(rows, key)
    if not runs:
        return []
    starts, ends = [run[0] for run in runs.values()], [run[-1] for run in runs.values()]
    low, high = float(starts[0]["group_match_low"]), float(starts[0]["group_match_high"])
    # All seeds start from one model; the split of a transfer check has a seed of its own and is the same for all.
    before = f"{float(starts[0]['group_match']):.1f} [{low:.1f}, {high:.1f}], chance {float(starts[0]['chance']):.1f}"
    pairs = zip(starts, ends, strict=True)
    gains = [_change_in_points(float(s["group_match"]), float(e["group_match"])) for s, e in pairs]
    cells = [f"{' '.join(key)}{what}", str(len(runs)), before, spread(ends, "group_match")]
    cells += [
        " ".join(f"{gain:+.1f}" for gain in gains),
        max((row["ties"] for row in ends), key=lambda ties: int(ties or -1)) or "-",
        spread(starts[:1], "group_score"),
        spread(ends, "group_score"),
    ]
    first = [run[1] for run in runs.values() if len(run) > 1]
    cells.append(" to ".join(spread(each, "precision", 100) for each in (first, ends)))
    return ["| " + " | ".join(cells) + " |"]


def spread(rows: list[dict[str, str]], name: str, factor: float = 1.0) -> str:
    """Mean, and standard deviation where there are several; a dash for none."""
    values = [factor * float(row[name]) for row in rows if row[name]]
    if not values:
        return "-"
    return f"{np.mean(values):.1f}" + (f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else "")


def main() -> None:
    if sys.argv[1:] == ["tables"]:
        PAGE.write_text(tables(), encoding="utf-8")
        put_table("ttm", short_table())
        return
    wanted = sys.argv[1:] or list(STUDIES)
    unknown = [name for name in wanted if name not in STUDIES]
    if unknown:
        sys.exit(f"no study {unknown[0]!r}; known: {', '.join(STUDIES)}")
    for cell in (cell for name in wanted for cell in STUDIES[name]):
        if cell not in measured():
            rows = measure(cell)
            append(rows)
            last = [row for row in rows if row["part"] == "all"][-1]
            print(*cell, "GroupMatch", rows[0]["group_match"], "->", last["group_match"], flush=True)


if __name__ == "__main__":
    main()
