"""`crossmatch add`, `remove` and `fetch`: your own sets, and the public ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.errors import InputError
from core.base.table_formats import open_table
from core.base.text import counted
from core.cli._output import ProgressPrinter, print_note, show_json
from core.cli.options import Json
from core.datasets import user_sets
from core.exchange.fetch import fetch_benchmark
from core.exchange.import_hub import fetch_parts, list_parts
from core.exchange.importing import ColumnMapping, stage_import

if TYPE_CHECKING:
    from core.exchange.importing import Staged

_SHOWN = 20  # problems printed


def add(
    source: Annotated[str, typer.Argument(help="Folder, CSV, JSONL, Parquet file or zip; or hf:USER/NAME.")],
    name: Annotated[str, typer.Option(help="The benchmark will be mine/NAME.")],
    manifest: Annotated[
        str | None, typer.Option(help="Which table (or split), where there are several.")
    ] = None,
    image: Annotated[list[str] | None, typer.Option(help="Column of an image; repeat for more.")] = None,
    caption: Annotated[list[str] | None, typer.Option(help="Column of a caption; repeat for more.")] = None,
    answer: Annotated[str, typer.Option(help="Column with each image's caption number, from 0.")] = "",
    group: Annotated[str, typer.Option(help="Column of the group, where a row is one image.")] = "",
    title: Annotated[str, typer.Option(help="Title, as pages show it.")] = "",
    licence: Annotated[str, typer.Option(help="Licence of the data.")] = "",
    citation: Annotated[str, typer.Option(help="How to cite it.")] = "",
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave groups with problems out.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only report problems and what would be added.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check your own images and captions row by row and make them a benchmark, mine/NAME."""
    user_sets.checked_name(name)
    table, where = _table(source, manifest)
    staged = stage_import(
        table, _columns(table, image, caption, answer, group), manifest if where is None else None
    )
    facts = {"title": title, "licence": licence, "citation": citation, "source": where or ""}
    try:
        record: dict[str, Any] = {"name": name, "groups": staged.groups, "shapes": staged.shapes, **facts}
        record |= {"problems": staged.total, "left_out": staged.fatal, "rows": staged.problem_rows()}
        if not as_json:
            _print_problems(staged)
        if check:
            record["could_be_added"] = staged.check_addable(name, skip_bad)
        else:
            record["benchmarks"] = staged.add_benchmark(name, skip_bad, **facts)
    finally:
        staged.discard()
    if as_json:
        show_json(record)
    elif check:
        _print_plan(record, name)
    else:
        print(f"added {', '.join(record['benchmarks'])}: {counted(staged.groups, 'group')}")
    if check and not record["could_be_added"]:
        raise typer.Exit(1)


def _print_plan(record: Mapping[str, Any], name: str) -> None:
    """What --check found would be added."""
    facts = [f"{key} {record[key]!r}" for key in ("title", "licence", "citation") if record[key]]
    usable, wrong = record["groups"], record["left_out"]
    said = f"could be added: {', '.join([counted(usable, 'group'), *facts])}"
    if not record["could_be_added"]:
        rest = f", or --skip-bad adds the {counted(usable, 'usable group')}" if usable else ""
        said = f"cannot be added yet: {counted(wrong, 'problem')}; fix {'it' if wrong == 1 else 'them'}{rest}"
    print(f"mine/{name.removeprefix('mine/')} {said}")


def _table(source: str, manifest: str | None) -> tuple[Any, str | None]:
    """What `stage_import` takes, and the address of a set of the hub."""
    if not source.startswith("hf:"):
        return Path(source).expanduser(), None

    name = source.removeprefix("hf:")
    known = [part.name for part in list_parts(name)]
    if manifest is None and len(known) > 1:
        raise InputError(f"{name} has the splits {', '.join(known[:12])}; choose one with --manifest.")
    progress = ProgressPrinter()
    files = fetch_parts(name, manifest or known[0], progress=progress)
    return open_table(files), f"https://huggingface.co/datasets/{name}"


def _columns(
    source: Any, image: list[str] | None, caption: list[str] | None, answer: str, group: str
) -> ColumnMapping | None:
    """What the user said the columns mean; None where nothing was said."""
    if not (image or caption or answer or group):
        return None
    if not image or not caption:
        raise InputError("Name the columns of both: --image COLUMN and --caption COLUMN.")
    return ColumnMapping(tuple(image), tuple(caption), answer, "", group)


def _count_problems(staged: Staged) -> str:
    """As the page Your data says it: `2 problems to fix, 6 warnings`; `no problems found`."""
    if not staged.total:
        return "no problems found"
    return f"{counted(staged.fatal, 'problem')} to fix, {counted(staged.total - staged.fatal, 'warning')}"


def _print_problems(staged: Staged) -> None:
    shapes = ", ".join(f"{count} of {shape}" for shape, count in sorted(staged.shapes.items()))
    usable = f"{counted(staged.groups, 'usable group')} ({shapes})" if shapes else "no usable group"
    print_note(f"{staged.source}: {usable}; {_count_problems(staged)}")
    for row in staged.problem_rows()[:_SHOWN]:
        where = f"row {row['row']}" if row["row"] else "the file"
        column = f", column {row['column']}" if row["column"] else ""
        print_note(f"  {where}{column}: {row['what is wrong']}; {row['what to do']} ({row['effect']})")
    if staged.total > _SHOWN:
        print_note(f"  ... and {staged.total - _SHOWN} more (--json lists up to 1000)")


def remove(name: Annotated[str, typer.Argument(help="A set of your own: mine/NAME.")]) -> None:
    """Delete a set of your own and its images."""
    user_sets.remove(name)
    print_note(f"removed mine/{name.removeprefix('mine/')}")


def fetch(
    name: Annotated[str, typer.Argument(help="A benchmark or family: sugarcrepe, whatsup/a-1x4, ...")],
    folder: Annotated[
        Path | None,
        typer.Option(help="Target folder (default: a folder for the family in the first data folder)."),
    ] = None,
) -> None:
    """Download a public benchmark: resumable and verified; none of its code is run, and manual steps are listed."""
    for path in fetch_benchmark(name, folder, ProgressPrinter()):
        print_note(f"available: {path}")
