"""`crossmatch report`."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from core import datasets
from core.base.errors import InputError
from core.cli import options
from core.cli._evaluation import load_evaluation, read_score_file
from core.cli._given_options import _benchmarks_argument, refuse_unused
from core.cli._output import ProgressPrinter, print_note
from core.datasets.shapes import of_shape
from core.exchange.report import ReportSection, evaluate_all, report_html, write_page
from core.exchange.run_report import _report_of_runs, _shows_groups
from core.metrics.paired import in_order_of
from core.runs.store import RunStore
from core.ttm.seeds import SeedGroup

_EXAMPLES = 6


def report(
    name: options.Positional = None,
    *,
    out: Annotated[Path, typer.Option(help="The HTML file.")],
    model: options.Models = None,
    benchmark: options.Benchmarks = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            help="A run, or a group of seeds (g-...), before and after; a second one is compared with the first."
        ),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="A score file, as of `evaluate`; repeat for more, which are compared with the first."
        ),
    ] = None,
    split: options.Split = "test",
    examples: Annotated[int, typer.Option(help="Groups shown per model and benchmark.")] = _EXAMPLES,
    images: Annotated[
        bool | None,
        typer.Option("--images/--no-images", help="Show images (default: built-in and your own sets only)."),
    ] = None,
    device: options.Device = "auto",
) -> None:
    """Models on benchmarks, your own scores, or one or two runs, as one HTML file that opens without network.

    Scores beside one benchmark are measured by its truth, and shown with its images and captions. Runs may be groups of
    seeds.
    """
    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{out} cannot be written; a report is a web page, so its name must end in .html.")
    if examples < 0:
        raise InputError(f"{examples} examples cannot be shown; ask for 0 or more.")
    if examples == 0:
        refuse_unused("without examples", "images")
    benchmark = _benchmarks_argument(name, benchmark)
    if not (scores or run) and not (model and benchmark):
        raise InputError("Give --model NAME and --benchmark NAME, --scores FILE, or --run RUN.")
    if run:
        refuse_unused("with --run", "model", "name", "benchmark", "scores", "split", "device")
        _write(out, _page_of_runs(run, examples, images))
        return
    if scores:
        refuse_unused("with --scores", "model", "device")
        if not benchmark:
            refuse_unused("with --scores alone", "images")
        sections = sections_of_files(scores, benchmark or [], split)
    else:
        sections = evaluate_all(model or (), benchmark or (), split, device, ProgressPrinter())
    again = _again(out, model or [], benchmark or [], scores or [], split, examples, images)
    _write(out, report_html(sections, examples, images, command=again))


def _again(
    out: Path,
    models: list[str],
    benchmarks: list[str],
    scores: list[Path],
    split: str,
    examples: int,
    images: bool | None,
) -> str:
    """The command that writes this page again, with bare names of files: the folders of this machine are nobody else's.
    "" where two files have one name."""
    files = [path.name for path in scores]
    if len({*files}) < len(files):
        return ""
    words = ["crossmatch", "report"]
    for option, values in (("--scores", files), ("--model", models), ("--benchmark", benchmarks)):
        words += [word for value in values for word in (option, value)]
    words += ["--split", split] if split != "test" else []
    words += ["--examples", str(examples)] if examples != _EXAMPLES else []
    words += [] if images is None else ["--images" if images else "--no-images"]
    where = f"# in the folder with {' and '.join(files)}\n" if files else ""
    return where + shlex.join([*words, "--out", out.name])


def _write(out: Path, page: str) -> None:
    folder = out.resolve().parent
    made = "" if folder.is_dir() else f"; made the folder {folder}"
    print_note(f"wrote {write_page(out, page).resolve()}{made}")


def _page_of_runs(names: list[str], examples: int, images: bool | None) -> str:
    """The page of one run or group of seeds, or of two compared."""
    if len(names) > 2:
        raise InputError(
            f"--run is given {len(names)} times; a report compares two runs, so name one or two."
        )
    if len({*names}) < len(names):
        raise InputError(f"{names[0]} beside itself is no comparison; give another run for one of the two.")
    store = RunStore()
    runs = [SeedGroup.named(store, name) for name in names]
    if not _shows_groups(runs):
        refuse_unused("on runs of several seeds, or on different groups, compared", "examples", "images")
    return _report_of_runs(runs, store, examples=examples, pictures=images)


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
