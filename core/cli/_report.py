"""`crossmatch report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.base.errors import InputError
from core.cli import options
from core.cli._given_options import refuse_unused
from core.cli._output import ProgressPrinter, print_note
from core.exchange.report import evaluate_all, write_report


def report(
    model: options.Models,
    benchmark: options.Benchmarks,
    out: Annotated[Path, typer.Option(help="The HTML file.")],
    split: options.Split = "test",
    examples: Annotated[int, typer.Option(help="Groups shown per model and benchmark.")] = 6,
    images: Annotated[
        bool | None,
        typer.Option("--images/--no-images", help="Show images (default: built-in and your own sets only)."),
    ] = None,
    device: options.Device = "auto",
) -> None:
    """Models on benchmarks as one HTML file that opens without network: metrics, charts, tags, groups, sources."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{out} cannot be written; a report is a web page, so its name must end in .html.")
    if examples < 0:
        raise InputError(f"{examples} examples cannot be shown; ask for 0 or more.")
    if examples == 0:
        refuse_unused("without examples", "images")
    sections = evaluate_all(model, benchmark, split, device, ProgressPrinter())
    print_note(f"wrote {write_report(sections, out, examples, images)}")
