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
    out: Annotated[
        Path | None, typer.Option(help="JSON file for the record: every rung, control and step.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Where a two-tower model loses the binding: tokens, pooled vectors, one linear map, its scores, the metric."""
    from core.ladder.ladder import Ladder  # torch

    record = Ladder.measured(benchmark, model, device, seed, ProgressPrinter())
    if out is not None:
        with storage_errors(out):
            write_json(out, record)
        print_note(f"wrote {out}")
    show_json(record) if as_json else print(_format_ladder(record))


def _format_ladder(record: Mapping[str, Any]) -> str:
    """A ladder as text: every rung with both metrics, every step, the verdict."""
    lines = [
        f"{record['model']} on {record['benchmark']}, {counted(record['n_groups'], 'group')} of {record['shape']}\n"
    ]
    lines.append(f"{'':<36}{'GroupMatch':>32}{'GroupScore':>34}")
    for row in record["rungs"]:
        if "missing" in row:
            lines.append(f"{row['label']:<36}  {row['missing']}")
            continue
        cells = [_cell(row[metric]) for metric in (GROUP_MATCH, GROUP_SCORE)]
        lines.append(f"{row['label']:<36}{cells[0]:>32}{cells[1]:>34}")
    lines.append(f"\n{'step':<36}{'points':>10}{'95 % interval':>18}{'p (Holm)':>12}")
    for step in record["steps"]:
        interval = f"[{step['low']:+.1f}, {step['high']:+.1f}]"
        label = f"{step['before']} -> {step['after']}"
        lines.append(f"{label:<36}{step['difference']:>+10.1f}{interval:>18}{p_digits(step['p_holm']):>12}")
    return "\n".join([*lines, "", *record["verdict"]])


def _cell(e: Mapping[str, Any]) -> str:
    return f"{e['value']:.1f} [{e['low']:.1f}, {e['high']:.1f}], chance {e['chance']:.1f}"
