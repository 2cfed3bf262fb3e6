"""`crossmatch reproduce`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from core import papers
from core.base.errors import InputError
from core.base.text import _pct, duration
from core.cli._given_options import refuse_unused
from core.cli._output import print_note, show_json
from core.cli.options import Json
from core.runs.store import RunStore

if TYPE_CHECKING:
    from core.papers import LineStatus, TablePlan

_STATES = {
    "done": "done",
    "running": "running",
    "stopped": "interrupted; --run resumes it",
    "ready": "ready to run",
    "missing": "cannot run yet",
    "printed": "published numbers only",
}


def reproduce(
    table: Annotated[
        str, typer.Argument(help="ttm/1 ... ttm/9, vgpt/1a ..., cola/1 ..., world/... (`list tables`).")
    ],
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Seeds per line that is trained (default: 4, on the built-in world of Cola 3); other lines run once."
        ),
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(help="Only this row, by its label or how it begins: 'Winoground, SigLIP-B16'."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Say what each row needs and, where it trains, how long it will take: by one short iteration on 8 "
            "groups.",
        ),
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Run what can run, and wait; if interrupted, it resumes next time.")
    ] = False,
    as_json: Json = False,
) -> None:
    """A paper's table cell by cell: its numbers and yours, what is missing, and how long the rest will take."""
    if seeds is not None and seeds < 1:
        raise InputError(f"{seeds} seeds were asked for; ask for 1 or more.")
    store = RunStore()
    if seeds is not None:
        asked = [status.line for status in papers.table_plan(store, table, seeds, row).lines]
        if all(line.job is None or line.seeds == 1 for line in asked):
            where = table if row is None else f"{row!r} of {table}"
            refuse_unused(f"on {where}, where nothing is trained and every line is measured once", "seeds")
    if dry_run:
        refuse_unused("with --dry-run, which runs no row to its end", "run")
    count, given = seeds or papers.SEEDS, seeds is not None
    plan = (
        papers.run_table(store, table, count, report=print_note, row=row, all_lines=given)
        if run
        else papers.table_plan(store, table, count, row, all_lines=given)
    )
    if dry_run:
        plan = plan.with_trials(report=print_note)
    show_json(plan.record()) if as_json else print(_format_plan(plan, dry_run))


def _format_plan(plan: TablePlan, needs: bool) -> str:
    """A plan as text, one block a line of the table, then what is missing, each once. needs : say what each reads."""
    missing = _numbered_missing(plan.lines)
    blocks = [_format_line(status, needs, [*missing]) for status in plan.lines]
    left = plan.seconds
    beside = f", {plan.at_once} runs of built-in models at a time" if plan.at_once > 1 else ""
    end = f"what can run takes about {duration(left)}{beside}" if left else "nothing can run now"
    done = all(status.state in ("done", "printed") for status in plan.lines)
    head = f"{plan.name}: {plan.title}; {plan.seeds_text}; ± of yours: {plan.deviation}"
    first = [f"[{number}] {what}: {step}" for number, (what, step) in enumerate(missing.items(), 1)]
    lacks = ["\n".join(["To get first:", *first])] if first else []
    return "\n\n".join([head, *blocks, *lacks, *filter(None, [plan.remark]), "all done" if done else end])


def _numbered_missing(lines: Sequence[LineStatus]) -> dict[str, str]:
    """What the lines wait for, in the order of their numbers, with the ways to get it: `data of X` -> `run ...`."""
    steps: dict[str, dict[str, None]] = {}
    for text in (text for status in lines for text in status.missing):
        what, _, step = text.partition(": ")
        steps.setdefault(what, {})[step] = None
    return {what: "; ".join(of) for what, of in steps.items()}


def _format_line(status: LineStatus, needs: bool, missing: Sequence[str]) -> str:
    """missing : of the whole table, in the order of their numbers."""
    state = _STATES[status.state]
    if status.complete:
        state += f", {len(status.complete)} of {status.seeds_needed} seeds complete"
    if status.seconds is not None and status.state != "done":
        state += f", about {duration(status.seconds)} ({status.time_source})"
    lines = [f"{status.line.label}: {state}"]
    for cell, value, shipped in zip(status.line.cells, status.values, status.shipped, strict=True):
        paper = "" if cell.paper is None else f"paper {_number(cell.paper, cell.std):<16}"
        if shipped is not None:  # of the built-in world
            paper += f"shipped {_number(shipped.mean, shipped.std):<16}"
        yours = "-" if value is None else _number(value.mean, value.std)
        where = f" on the {cell.part}" if cell.part else ""
        name = cell.head if cell.head is not None else f"{cell.method} {cell.metric}{where}"
        lines.append(f"  {name:<42}{paper}yours {yours}")
    if needs and status.needs:
        lines.append(f"  needs {_joined_needs(status.needs)}")
    numbers = dict.fromkeys(missing.index(text.partition(": ")[0]) + 1 for text in status.missing)
    waits = ["  waits for " + " ".join(f"[{number}]" for number in numbers)] if numbers else []
    return "\n".join([*lines, *waits])


def _joined_needs(needs: Sequence[str]) -> str:
    """Sets and models that a line reads, each once."""
    return "; ".join(dict.fromkeys(part for each in needs for part in each.split("; ")))


def _number(mean: float, std: float | None) -> str:
    return _pct(mean, 2) + ("" if std is None else f" ± {_pct(std, 2)}")
