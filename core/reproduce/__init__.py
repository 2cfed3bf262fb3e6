"""A table cell by cell: the paper's number, yours from the finished runs, what is missing, and how long that takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from core import datasets
from core.jobs import is_over, kind_of, load_groups
from core.pace import expected_seconds
from core.reproduce.measured import measured
from core.reproduce.tables import SEEDS, TABLES, Cell, Line, lines
from core.runs import Run, RunStore, resume
from core.seeds import Spread, launch_seeds, new_group, seed_of, spread
from core.weights import weights_state

__all__ = ["SEEDS", "TABLES", "Cell", "Plan", "Status", "plan", "start", "work_through"]

# Settings that change how a run goes and not what it computes.
_FREE = ("seed", "micro_batch")
_NEEDS = "needs: "  # begins the state of data and weights that are not here


class Status(NamedTuple):
    """A line as it stands in this store."""

    line: Line
    state: str  # "done", "running", "stopped" (resumable), "ready" or "missing"
    missing: tuple[str, ...]  # data and weights that are not here, each with the next step
    values: tuple[Spread | None, ...]  # yours, one per cell, over the seeds that are complete
    shipped: tuple[Spread | None, ...]  # what Crossmatch brings along of it, one per cell
    complete: tuple[int, ...]  # seeds
    runs: dict[str, str]  # id -> status, of all runs that belong to it
    seconds: float | None  # that the seeds to come will take; None where no earlier run says
    pace: str  # where that is known from

    def record(self) -> dict[str, Any]:
        """JSON-safe, with one entry per cell: paper, shipped and yours, with their deviations and seeds."""
        triples = zip(self.line.cells, self.values, self.shipped, strict=True)
        cells = [_cell_record(*triple) for triple in triples]
        return {
            "line": self.line.label,
            "state": self.state,
            "missing": list(self.missing),
            "seeds": list(self.complete),
            "seconds": None if self.seconds is None else round(self.seconds, 1),
            "pace": self.pace,
            "runs": self.runs,
            "cells": cells,
        }


class Plan(NamedTuple):
    """A table in this store."""

    name: str
    title: str
    seeds: int
    lines: list[Status]

    @property
    def seconds(self) -> float | None:
        """What everything that can run will take, as far as it is known; None where nothing is."""
        known = [s.seconds for s in self.lines if s.seconds is not None and s.state != "missing"]
        return sum(known) if known else None

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        found = [status.record() for status in self.lines]
        return {
            "table": self.name,
            "title": self.title,
            "seeds": self.seeds,
            "seconds": self.seconds,
            "lines": found,
        }


def _cell_record(cell: Cell, value: Spread | None, shipped: Spread | None) -> dict[str, Any]:
    yours = {} if value is None else value._asdict()
    ours = {} if shipped is None else shipped._asdict()
    return {
        "method": cell.method,
        "metric": cell.metric,
        "part": cell.part,
        "paper": cell.paper,
        "paper_std": cell.std,
        "note": cell.note,
        "shipped": ours.get("mean"),
        "shipped_std": ours.get("std"),
        "shipped_seeds": ours.get("seeds", 0),
        "yours": yours.get("mean"),
        "yours_std": yours.get("std"),
        "seeds": yours.get("seeds", 0),
    }


def plan(store: RunStore, name: str, seeds: int = SEEDS, owner: str | None = None) -> Plan:
    """Where a table stands: every cell's numbers, and what the lines that are not complete need.

    name : a key of `TABLES`. A run counts for a line where data, split, model and every setting are the line's; which
    seeds it has does not matter. Raises InputError for an unknown table.
    """
    chosen = lines(name)
    runs = store.list(owner=owner)
    return Plan(name, TABLES[name][0], seeds, [_status(store, line, runs, seeds) for line in chosen])


def _status(store: RunStore, line: Line, runs: Sequence[Run], seeds: int) -> Status:
    mine = [] if line.job is None else [run for run in runs if matches(run.config, line.job)]
    # Of one seed the newest complete run counts; `runs` has the newest first.
    records = {}
    for run in mine:
        if run.status == "finished" and seed_of(run) not in records:
            steps = store.steps(run.id)
            if is_over(run.config, steps):
                records[seed_of(run)] = steps
    values = tuple(_spread(cell, list(records.values())) for cell in line.cells)
    shipped = _shipped(line)
    missing: tuple[str, ...] = () if line.job is not None else (line.why,)
    seconds, pace = None, ""
    if line.job is not None:
        missing = _missing(line.job)
        if len(records) < seeds:
            seconds, pace = _time(store, line.job, seeds - len(records))
    live, stopped = any(run.live for run in mine), any(run.resumable for run in mine)
    state = "done" if len(records) >= seeds else "running" if live else "missing" if missing else "ready"
    if state == "ready" and stopped:
        state = "stopped"
    ids = {run.id: run.status for run in mine}
    return Status(line, state, missing, values, shipped, tuple(sorted(records)), ids, seconds, pace)


def _shipped(line: Line) -> tuple[Spread | None, ...]:
    """The shipped numbers of a line's cells."""
    own = () if line.job is None else [m for m in measured() if matches(m.job, line.job)]
    return tuple(next((m.read(cell) for m in own), None) for cell in line.cells)


def matches(config: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Whether a run's description is the job's, whatever its seed."""
    kind = kind_of(job)
    if kind not in config or config.get("embeddings"):
        return False
    same = all(
        (config.get(name) or None) == (job.get(name) or None)
        for name in ("benchmark", "split", "model", "groups", "oracle", "adapt_on", "split_seed")
    )
    settings = {name: value for name, value in job[kind].items() if name not in _FREE}
    return same and all(config[kind].get(name) == value for name, value in settings.items())


def _spread(cell: Cell, runs: Sequence[Sequence[Mapping[str, Any]]]) -> Spread | None:
    values = [value for records in runs if (value := cell.read(records)) is not None]
    return spread(values) if values else None


def _missing(job: Mapping[str, Any]) -> tuple[str, ...]:
    states = {
        f"data of {job['benchmark']}": datasets.state(job["benchmark"]),
        f"weights of {job['model']}": weights_state(job["model"]),
    }
    needs = {what: state for what, state in states.items() if state.startswith(_NEEDS)}
    return tuple(f"{what}: {state.removeprefix(_NEEDS)}" for what, state in needs.items())


def _time(store: RunStore, job: Mapping[str, Any], seeds: int) -> tuple[float | None, str]:
    entry = datasets.entry(job["benchmark"])
    groups = (
        next(iter(entry.counts.get("test", ())), None) if entry else _count(job["benchmark"], job["split"])
    )
    seconds, pace = expected_seconds(store, job, groups) if groups else (None, "")
    return None if seconds is None else seconds * seeds, pace


@cache
def _count(benchmark: str, split: str) -> int:
    """Groups of a built-in set; they do not change while a process lives."""
    return len(load_groups({"benchmark": benchmark, "split": split}))


def start(store: RunStore, status: Status, seeds: int = SEEDS, owner: str | None = None) -> list[Run]:
    """Launch what a line still needs, in the background: resume what was cut short, start the seeds that are missing.

    Returns the runs that were launched; none for a line that is done, running or lacks data or weights.
    """
    return [launch_one() for launch_one in _launches(store, status, seeds, owner)]


def _launches(
    store: RunStore, status: Status, seeds: int, owner: str | None = None
) -> list[Callable[[], Run]]:
    """What `start` would launch, each as a function that does."""
    job = status.line.job
    if job is None or status.state in ("done", "missing"):
        return []
    runs = [store.get(run_id) for run_id in status.runs]
    taken = set(status.complete) | {seed_of(run) for run in runs if run.live}
    again: dict[int, Run] = {}
    for run in runs:
        if run.resumable and seed_of(run) not in taken:
            again.setdefault(seed_of(run), run)
    group = next((run.config["group"] for run in runs if run.config.get("group")), None)
    kind = kind_of(job)
    wanted = [s for s in range(seeds) if s not in taken and s not in again]
    if group is None and wanted:
        group = new_group()

    def fresh(seed: int) -> Run:
        each = {**job, kind: {**job[kind], "seed": seed}}
        return launch_seeds(store, status.line.label, each, 1, owner, group)[1][0]

    def go_on(run: Run) -> Run:
        return resume(store, run.id)

    return [*(partial(go_on, run) for run in again.values()), *(partial(fresh, seed) for seed in wanted)]


def work_through(
    store: RunStore,
    name: str,
    seeds: int = SEEDS,
    at_once: int = 2,
    tell: Callable[[str], None] | None = None,
    pause: float = 1.0,
) -> Plan:
    """Run everything of a table that can run, a few runs at a time, and wait for it; the table as it stands then.

    Cut short, it goes on where it was when called again. at_once : runs that are launched at a time; how many of them
    work is the device queue's business. tell : called with a line of text for every run that is launched or ends. A run
    that fails is told and not tried again.
    """
    say = tell or (lambda text: None)
    waiting = [
        launch for status in plan(store, name, seeds).lines for launch in _launches(store, status, seeds)
    ]
    working = {run.id for status in plan(store, name, seeds).lines for run in _live(store, status)}
    while waiting or working:
        while waiting and len(working) < at_once:
            run = waiting.pop(0)()
            working.add(run.id)
            say(f"started {run.id}  {run.title}")
        for run in [store.get(run_id) for run_id in working]:
            if not run.live:
                working.discard(run.id)
                say(f"{run.status} {run.id}  {run.title}" + (f": {run.error}" if run.error else ""))
        if working:
            time.sleep(pause)
    return plan(store, name, seeds)


def _live(store: RunStore, status: Status) -> list[Run]:
    return [run for run_id in status.runs if (run := store.get(run_id)).live]
