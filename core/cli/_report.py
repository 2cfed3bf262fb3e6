"""`crossmatch report`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from core import datasets
from core.base.errors import InputError
from core.cli import options
from core.cli._evaluation import load_evaluation, read_score_file
from core.cli._given_options import refuse_unused
from core.cli._output import ProgressPrinter, print_note
from core.datasets.shapes import of_shape
from core.exchange.report import ReportSection, evaluate_all, write_report
from core.metrics.paired import in_order_of


def report(
    out: Annotated[Path, typer.Option(help="The HTML file.")],
    model: options.Models = None,
    benchmark: options.Benchmarks = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="A score file, as of `evaluate`; repeat for more, which are compared with the first."
        ),
    ] = None,
    split: options.Split = "test",
    examples: Annotated[int, typer.Option(help="Groups shown per model and benchmark.")] = 6,
    images: Annotated[
        bool | None,
        typer.Option("--images/--no-images", help="Show images (default: built-in and your own sets only)."),
    ] = None,
    device: options.Device = "auto",
) -> None:
    """Models on benchmarks, or your own scores, as one HTML file that opens without network.

    Scores beside one benchmark are measured by its truth, and shown with its images and captions.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{out} cannot be written; a report is a web page, so its name must end in .html.")
    if examples < 0:
        raise InputError(f"{examples} examples cannot be shown; ask for 0 or more.")
    if examples == 0:
        refuse_unused("without examples", "images")
    if not scores and not (model and benchmark):
        raise InputError("Give --model NAME and --benchmark NAME, or --scores FILE.")
    if scores:
        refuse_unused("with --scores", "model", "device")
        if not benchmark:
            refuse_unused("with --scores alone", "images")
        sections = sections_of_files(scores, benchmark or [], split)
    else:
        sections = evaluate_all(model or (), benchmark or (), split, device, ProgressPrinter())
    folder = out.resolve().parent
    made = "" if folder.is_dir() else f"; made the folder {folder}"
    print_note(f"wrote {write_report(sections, out, examples, images).resolve()}{made}")


def sections_of_files(paths: list[Path], benchmarks: list[str], split: str) -> list[ReportSection]:
    """A section for each score file, those with the groups of the first one in its order."""
    first, *others = (_section_of(path, benchmarks, split) for path in paths)
    ids = first.evaluation.ids
    alike = [set(each.evaluation.ids) == set(ids) for each in others]
    return [first] + [
        replace(each, evaluation=in_order_of(each.evaluation, ids), groups=first.groups) if same else each
        for each, same in zip(others, alike, strict=True)
    ]


def _section_of(path: Path, benchmarks: list[str], split: str) -> ReportSection:
    """What a score file holds, by its own truth or by that of one benchmark."""
    if len(benchmarks) > 1:
        raise InputError("--scores takes the truth of one benchmark; name one at a time.")
    file = read_score_file(path)
    if not benchmarks:
        found = load_evaluation(None, path, None, "", split, None)
        about = {"title": path.name, "source": f"the file {path.name}", "licence": "yours"}
        return ReportSection(path.name, file.groups(path.name, **about), found, "", "")
    shape = "x".join(map(str, file.scores.shape[1:]))
    found = load_evaluation(None, path, benchmarks[0], "", split, shape)
    groups = of_shape(datasets.load(benchmarks[0], split), shape)
    groups = groups.select(np.isin(groups.ids, found.ids))
    return ReportSection(path.name, groups, found, benchmarks[0], split)
