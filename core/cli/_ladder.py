"""`crossmatch ladder`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.files import storage_errors, write_json
from core.base.text import counted, p_digits
from core.cli import options
from core.cli._output import ProgressPrinter, print_note, show_json
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS


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

    record = Ladder.measured(benchmark, model, device, seed, runs, ProgressPrinter())
    if out is not None:
        with storage_errors(out):
            write_json(out, record)
        print_note(f"wrote {out}")
    show_json(record) if as_json else print(_format_ladder(record))


def _format_ladder(record: Mapping[str, Any]) -> str:
    """A ladder as text: every rung with both metrics, every step, the verdict."""
    from core.ladder.ladder import MORE, RUNGS, Ladder  # torch
    from core.metrics.statistics import Estimate  # scipy

    groups = counted(record["n_groups"], "group")
    means = f"means over {counted(record.get('runs', 1), 'run')} of the probes"
    lines = [f"{record['model']} on {record['benchmark']}, {groups} of {record['shape']}; {means}"]
    for row in record["rungs"]:
        if "missing" in row:
            lines.append(f"\n{row['label']}: {row['missing']}")
            continue
        lines.append(f"\n{row['label']}")
        if row["name"] == "ttm":  # whose ties are not counted: why
            lines.append(f"  {RUNGS['ttm'].meaning}")
        lines += [f"  {METRICS[m].label:<14}{Estimate.of_record(row[m])}" for m in (GROUP_MATCH, GROUP_SCORE)]
        lines += [
            f"  {f'GroupMatch, {name}':<34}{Estimate.of_record(row[kind][which][GROUP_MATCH])}"
            for kind, which, name in MORE
            if which in row.get(kind, {})
        ]
    lines.append(f"\n{'step, in points of GroupMatch':<36}{'points':>8}{'95 % interval':>18}{'p (Holm)':>12}")
    for step in record["steps"]:
        points = {"difference": Ladder.points(record, step)}
        lines.append(_step(f"{step['before']} -> {step['after']}", {**step, **points}))
    if record.get("recovery"):
        points = {"difference": Ladder.points(record, record["recovery"])}
        lines.append(_step("own -> ttm", {**record["recovery"], **points}))
    return "\n".join([*lines, "", *record["verdict"]])


def _step(label: str, step: Mapping[str, Any]) -> str:
    """A paired difference, and by cluster where groups hang together."""
    rows = {label: step} | ({f"  by {c['by']}": c} if (c := step.get("clustered")) else {})
    lines = []
    for name, each in rows.items():
        points = f"{each['difference']:+.1f}" if "difference" in each else ""
        interval = f"[{each['low']:+.1f}, {each['high']:+.1f}]"
        lines.append(f"{name:<36}{points:>8}{interval:>18}{p_digits(each['p_holm']):>12}")
    return "\n".join(lines)
