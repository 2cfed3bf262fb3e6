"""`crossmatch audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core import datasets
from core.audit import Audit
from core.base.errors import InputError
from core.cli import options
from core.cli._output import ProgressPrinter, print_note, show_json
from core.datasets.shapes import of_shape
from core.metrics.group_filters import with_tags
from core.runs.models import run_source
from core.scorers.vocabulary import vocabulary_note


def audit(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="A benchmark by name, such as scenes/left-right; or one of several files, such as sugarcrepe."
        ),
    ],
    split: options.Split = "test",
    shape: options.PlainShape = None,
    tag: options.Tag = None,
    blind: Annotated[
        list[str] | None,
        typer.Option(
            help="A text-only model to try, such as builtin/blind-lm or lm:NAME; repeat for more (default: those whose "
            "scores are at hand).",
            **options.named,
        ),
    ] = None,
    training: Annotated[
        Path | None,
        typer.Option(help="Text file of a training set's captions, one a line: which compositions are new?"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the audit: .json or .html.")] = None,
    as_json: options.Json = False,
) -> None:
    """Is a benchmark sound? Solved without looking, duplicates, contradictions, size: each with a verdict."""
    if Path(benchmark).is_file():
        raise InputError(
            f"{benchmark} is a file; an audit looks at captions and images, so name the benchmark that its groups are "
            "from, such as scenes/left-right."
        )
    files = [name for name in datasets.names() if name.startswith(f"{benchmark}/")] or [benchmark]
    sets = [with_tags(of_shape(datasets.load(name, split, images=False), shape), tag or ()) for name in files]
    captions = [caption for groups in sets for group in groups for caption in group.captions]
    for name in blind or ():
        note = vocabulary_note(name, run_source(name), benchmark, captions)
        if note is not None:
            print_note(note)
    more = split, blind or (), training, ProgressPrinter()
    found = Audit.of(sets[0], *more) if files == [benchmark] else Audit.of_files(benchmark, sets, *more)
    if out is not None:
        print_note(f"wrote {found.write(out)}")
    if as_json:
        show_json(found.record())
    else:
        print(found.text())
