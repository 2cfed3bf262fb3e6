"""`crossmatch sweep`."""

from __future__ import annotations

import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.errors import InputError, unknown_name
from core.base.text import _pct, _time_left, tie_count
from core.cli._given_options import refuse_unused
from core.cli._output import print_note, show_json
from core.cli.options import Json
from core.metrics.groups import headline_metrics
from core.runs.engine import ThisMachine
from core.runs.store import RunStore
from core.sweeps import read_plan
from core.sweeps.cells import run_sweep
from core.sweeps.ray import run_on_ray
from core.sweeps.table import cells_table, progress_of, summary_table
from core.worker import work

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.store import RunStore
    from core.sweeps import SweepPlan
    from core.sweeps.table import SweepProgress

_EVERY = 10.0  # seconds between lines of progress
_PLACES = ("here", "ray")


def sweep(
    file: Annotated[Path, typer.Argument(help="YAML: kind, models, benchmarks, seeds, settings, gpus, ...")],
    on: Annotated[str, typer.Option("--on", help="here, or ray: a Ray cluster.")] = "here",
    address: Annotated[
        str | None, typer.Option(help="Of the Ray cluster: auto, or HOST:PORT (default: start one here).")
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            help="Runs that work at a time, of a sweep here (default: 2, or 1 with a GPU).",
            show_default=False,
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show the table as it fills.")] = False,
    table: Annotated[
        bool, typer.Option("--table", help="Print the table as it stands and run nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Models x benchmarks x seeds x settings; finished cells are never repeated, interrupted ones resume."""
    if on not in _PLACES:
        raise unknown_name("place for a sweep", on, _PLACES)
    if at_once is not None and at_once < 1:
        raise InputError(f"--at-once is {at_once}; launch 1 run or more at a time.")
    if table:
        refuse_unused("with --table, which runs nothing", "on", "address", "at_once", "watch")
    elif on == "here":
        refuse_unused("without --on ray", "address")
    else:
        refuse_unused("with --on ray: the cluster decides how many run at a time", "at_once")
    plan, store = read_plan(file), RunStore()
    if not table:
        if on == "here":
            _tell_cluster_keys(plan)
        _run(store, plan, on, address, at_once, watch)
    cells, progress = cells_table(store, plan), progress_of(store, plan)
    if as_json:
        show_json({"name": plan.name, "progress": progress._asdict(), "cells": _rows(cells)})
    else:
        print(f"{plan.name}: {_format_progress(progress)}\n\n{_format_table(summary_table(cells))}")
        for row in _rows(cells[cells["error"].notna()]):
            print(f"\n{row['run']}  {row['model']} on {row['benchmark']}: {row['error']}")
    if not table and progress.finished < progress.cells:
        raise typer.Exit(1)


def _tell_cluster_keys(plan: SweepPlan) -> None:
    """A file may go to a cluster later, so what only a cluster heeds is said and not refused."""
    idle = [key for key in ("gpus", "cpus", "retries") if key in plan.source]
    if idle:
        print_note(f"{' and '.join(idle)} of {plan.name} are used only on a Ray cluster (--on ray)")


def _run(
    store: RunStore, plan: SweepPlan, on: str, address: str | None, at_once: int | None, watch: bool
) -> None:
    if watch:
        with _live_table(store, plan) as look:
            _work(store, plan, on, address, at_once, None, look)
    else:
        _work(store, plan, on, address, at_once, print_note, _ticker(store, plan))


def _work(
    store: RunStore,
    plan: SweepPlan,
    on: str,
    address: str | None,
    at_once: int | None,
    report: Any,
    after_pause: Any,
) -> None:
    if on == "ray":
        with redirect_stdout(sys.stderr):  # where Ray speaks of lost nodes; standard output is ours
            run_on_ray(store, plan, work, address, report, after_pause=after_pause)
    else:
        run_sweep(store, plan, ThisMachine(at_once), report, after_pause=after_pause)


class _Ticker:
    """Calls something at most once in so many seconds."""

    def __init__(self, what: Any, every: float) -> None:
        self.what, self.every, self.last = what, every, time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() - self.last >= self.every:
            self.what()
            self.last = time.monotonic()


def _ticker(store: RunStore, plan: SweepPlan) -> _Ticker:
    return _Ticker(lambda: print_note(_format_progress(progress_of(store, plan))), _EVERY)


class _live_table:
    """The table on the terminal, drawn anew every second."""

    def __init__(self, store: RunStore, plan: SweepPlan) -> None:
        from rich.console import Console
        from rich.live import Live

        self.store, self.plan = store, plan
        self.live = Live(self.draw(), auto_refresh=False, console=Console(stderr=True))

    def draw(self) -> Any:
        from rich.text import Text

        table = summary_table(cells_table(self.store, self.plan))
        return Text(f"{_format_progress(progress_of(self.store, self.plan))}\n\n{_format_table(table)}")

    def __enter__(self) -> _Ticker:
        self.live.__enter__()
        return _Ticker(lambda: self.live.update(self.draw(), refresh=True), 1.0)

    def __exit__(self, *error: Any) -> None:
        self.live.update(self.draw(), refresh=True)
        self.live.__exit__(*error)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON-safe data: null for what is missing."""
    import json

    return json.loads(table.to_json(orient="records"))


def _format_progress(progress: SweepProgress) -> str:
    """One line of text: cells, share of the work, time left."""
    parts = [
        f"{progress.share:.0%}",
        f"{progress.finished} of {progress.cells} cells done",
        f"{progress.live} running",
    ]
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.finished < progress.cells and progress.seconds_left is not None:
        parts.append(f"about {_time_left(progress.seconds_left)}")
    return ", ".join(parts)


def _format_table(table: pd.DataFrame) -> str:
    """One line per model, benchmark and setting: state, seeds, and the main metrics with interval and chance."""
    lines = []
    for row in _rows(table):
        head = " · ".join(filter(None, (row["benchmark"], row["model"], row["setting"])))
        lines.append(f"{head}: {row['state']}, {row['finished']} of {row['seeds']} ({row['share']:.0%})")
        lines += [f"  {_format_metric(name, row)}" for name in headline_metrics(row) if row[name] is not None]
    return "\n".join(lines)


def _format_metric(name: str, row: dict[str, Any]) -> str:
    """`group_match 79.60 ± 1.52 [74.90, 84.10], before 66.70, chance 50.00, ties 0`."""

    std = "" if row.get(f"{name}_sd") is None else f" ± {_pct(row[f'{name}_sd'], 2)}"
    parts = [
        f"{name} {_pct(row[name], 2)}{std} [{_pct(row[f'{name}_low'], 2)}, {_pct(row[f'{name}_high'], 2)}]"
    ]
    if row.get(f"{name}_before") is not None:
        parts.append(f"before {_pct(row[f'{name}_before'], 2)}")
    return ", ".join(
        [*parts, f"chance {_pct(row[f'{name}_chance'], 2)}", f"ties {tie_count(row[f'{name}_ties'])}"]
    )
