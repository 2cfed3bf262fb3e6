"""`crossmatch ladder`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any

import typer

from core.base.files import storage_errors, write_json
from core.base.text import _exact_differences, _p_text, _pct, _signed, _signed_end, counted, tie_count
from core.cli import options
from core.cli._files import _refuse_file
from core.cli._output import ProgressPrinter, print_note, show_json
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE


def ladder(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            help="A built-in set whose pictures differ by one exchange, such as scenes/attribute-swap.",
        ),
    ],
    model: options.Model = "builtin/clip",
    device: options.Device = "auto",
    seed: options.Seed = 0,
    runs: Annotated[
        int,
        typer.Option(
            min=1, max=20, help="How often probes are trained anew, on training groups of their own."
        ),
    ] = 5,
    out: Annotated[
        Path | None, typer.Option(help="JSON file for the record: every rung, control and step.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Where a two-tower model loses the binding: tokens, pooled vectors, one linear map, its scores, the metric."""
    from core.ladder.ladder import Ladder  # torch

    _refuse_file(benchmark, "a ladder looks at the layers of a model on a set, which it takes by name")
    record = Ladder.measured(benchmark, model, device, seed, runs, ProgressPrinter())
    if out is not None:
        with storage_errors(out):
            write_json(out, record)
        print_note(f"wrote {out}")
    show_json(record) if as_json else print(_format_ladder(record))


_WIDTH = 80
# The rungs in the table of steps, where two of them share a line.
_SHORT = {
    "image-tokens": "image tokens",
    "image-pooled": "image vector",
    "caption-tokens": "caption tokens",
    "caption-pooled": "caption vector",
    "map": "linear map",
    "own": "own scores",
    "ttm": "after matching",
}


def _format_ladder(record: Mapping[str, Any]) -> str:
    """A ladder as text of 80 columns: what it says, every rung with both metrics, what each step to the next loses."""
    groups = counted(record["n_groups"], "group")
    head = f"{record['model']} on {record['benchmark']}, {groups} of {record['shape']}"
    runs = counted(record.get("runs", 1), "run")
    means = f"Rungs, bottom first: in percent with 95 % intervals, means over {runs} of the probes."
    conclusion = [_bullet(sentence) for sentence in record["verdict"]]
    parts = [
        [head],
        ["What this says:", *chain(*conclusion)],
        [*wrap(means, _WIDTH), *_rungs(record)],
        _steps(record),
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def _bullet(sentence: str) -> list[str]:
    """No line ends between a number and its unit."""
    lines = wrap(sentence.replace(" %", "\u00a0%"), _WIDTH, initial_indent="- ", subsequent_indent="  ")
    return [line.replace("\u00a0", " ") for line in lines]


def _rungs(record: Mapping[str, Any]) -> list[str]:
    """A row for every rung, and below it the same by cluster, on parts of the groups, and under the controls."""
    from core.ladder.ladder import MORE, RUNGS  # torch
    from core.metrics.statistics import Estimate  # scipy

    lines = [f"{'':<34}{'GroupMatch':<18}{'ties':>4} {'GroupScore':<18}{'ties':>4}"]
    levels: list[float] = []
    for row in record["rungs"]:
        if "missing" in row:
            lines += wrap(f"{row['label']}: {row['missing']}", _WIDTH, subsequent_indent="  ")
            continue
        both = [Estimate.of_record(row[metric]) for metric in (GROUP_MATCH, GROUP_SCORE)]
        levels = [each.chance for each in both]
        lines.append(f"{row['label']:<34}{_cells(both)}".rstrip())
        if row["name"] == "ttm":  # whose ties are not counted: why
            lines += wrap(RUNGS["ttm"].meaning, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        lines += _by_cluster(both)
        for kind, which, name in MORE:
            if which in row.get(kind, {}):
                part = Estimate.of_record(row[kind][which][GROUP_MATCH])
                lines += [f"  {name:<32}{_cells([part])}".rstrip(), *_by_cluster([part])]
    return [*lines, f"{'chance':<34}{_pct(levels[0]):<23}{_pct(levels[1])}"] if levels else lines


def _cells(found: Sequence[Any]) -> str:
    """`95.9 [93.8, 97.5]    0` of every metric."""
    return " ".join(
        f"{f'{_pct(e.value)} [{_pct(e.low)}, {_pct(e.high)}]':<19}{tie_count(e.ties):>3}" for e in found
    )


def _by_cluster(found: Sequence[Any]) -> list[str]:
    """The intervals with groups that hang together as one, where they do."""
    known = [each.clustered for each in found]
    if None in known:
        return []
    intervals = " ".join(f"{f'     [{_pct(c.low)}, {_pct(c.high)}]':<22}" for c in known)
    return [
        f"{'    by ' + known[0].by:<34}{intervals}".rstrip(),
        *wrap(known[0].dominated, _WIDTH, initial_indent="    ", subsequent_indent="    "),
    ]


def _steps(record: Mapping[str, Any]) -> list[str]:
    from core.ladder.ladder import Ladder  # torch

    lines = [f"{'From one rung to the next':<36}{'points':>8}{'95 % interval':>18}{'p (Holm)':>12}"]
    steps = [*record["steps"]]
    if record.get("recovery"):
        steps.append({"before": "own", "after": "ttm", **record["recovery"]})
    for step in steps:
        points = {"difference": Ladder.points(record, step)}
        lines += _step(f"{_SHORT[step['before']]} -> {_SHORT[step['after']]}", {**step, **points})
    note = "Points of GroupMatch, paired over the same groups; p corrected for all steps (Holm). "
    note += _exact_differences()
    return [*lines, *wrap(note, _WIDTH)] if steps else []


def _step(label: str, step: Mapping[str, Any]) -> list[str]:
    """A paired difference, and by cluster where groups hang together."""
    rows = {label: step} | ({f"    by {c['by']}": c} if (c := step.get("clustered")) else {})
    lines = []
    for name, each in rows.items():
        points = _signed(each["difference"]) if "difference" in each else ""
        interval = f"[{_signed_end(each['low'])}, {_signed_end(each['high'])}]"
        lines.append(f"{name:<36}{points:>8}{interval:>18}{_p_text(each['p_holm']):>12}")
    return lines
