"""A table cell by cell: the paper's number, yours from the finished runs, what is missing, and how long that takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from statistics import fmean
from typing import Any, NamedTuple

from core.base.errors import unknown_name
from core.cola.run import StrategyRun
from core.metrics.group_metrics import GROUP_MATCH
from core.papers import _cola, _runs, _shipped_results, _table_rows, _tables
from core.papers._runs import missing_data
from core.papers._tables import SEEDS, TABLES, lines
from core.runs import engine
from core.runs.description import RunDescription
from core.runs.engine import PlannedRun, ThisMachine, _together, run_all, runs_that_count
from core.runs.store import Run, RunStore
from core.ttm.run import AdaptationRun
from core.ttm.seeds import SeedSpread, _new_group, seed_of, spread

__all__ = [
    "SEEDS",
    "TABLES",
    "LineStatus",
    "TablePlan",
    "lines",
    "missing_data",
    "run_table",
    "table_plan",
]


class LineStatus(NamedTuple):
    """A line as it stands in this store."""

    line: _tables.TableLine
    state: str  # "done", "running", "stopped" (resumable), "ready", "missing" or "printed" (no run at all)
    missing: tuple[str, ...]  # data and weights that are not here, each with the next step
    values: tuple[SeedSpread | None, ...]  # yours, one per cell, over the seeds that are complete
    # 95 % intervals of yours over groups (low, high): the mean of the seeds' bounds; None for gains.
    intervals: tuple[tuple[float, float] | None, ...]
    shipped: tuple[SeedSpread | None, ...]  # what Crossmatch brings along of it, one per cell
    shipped_intervals: tuple[tuple[float, float] | None, ...]  # those of the shipped numbers
    shipped_over: tuple[str, ...]  # what each of them is over, in words; "" where there is none
    chances: tuple[float | None, ...]  # in percent, one per cell; None where nothing says
    complete: tuple[int, ...]  # seeds
    runs: dict[str, str]  # id -> status, of all runs that belong to it
    seconds: float | None  # that the seeds to come will take; None where no earlier run says
    time_source: str  # the earlier run or trial that says so
    seeds_needed: int  # seeds that the line needs

    def record(self) -> dict[str, Any]:
        """JSON-safe, with one entry per cell: paper, shipped and yours, with deviations, intervals and seeds."""
        numbers = (self.values, self.intervals, self.shipped, self.shipped_intervals)
        parts = zip(self.line.cells, *numbers, strict=True)
        more = zip(self.shipped_over, self.chances, strict=True)
        cells = [
            {**_cell_record(*each), "shipped_over": over, "chance": chance}
            for each, (over, chance) in zip(parts, more, strict=True)
        ]
        return {
            "line": self.line.label,
            "state": self.state,
            "served": self.is_served,
            "needs": self.needs,
            "missing": list(self.missing),
            "seeds": list(self.complete),
            "wanted": self.seeds_needed,
            "seconds": None if self.seconds is None else round(self.seconds, 1),
            "pace": self.time_source,
            "runs": self.runs,
            "cells": cells,
        }

    @property
    def is_served(self) -> bool:
        """Whether an endpoint gives its scores: the model has no weights that one could download or train."""
        return any(job.model.startswith("api:") for job in self.line.jobs)

    @property
    def needs(self) -> list[str]:
        """What each of its runs reads, once."""
        return list(dict.fromkeys(_runs.needs_of(job) for job in self.line.jobs))

    def start(self, store: RunStore) -> None:
        """Launch what the line still needs, in the background: resume what was interrupted, start the missing seeds.

        Nothing is launched for a line that is done, or lacks data or weights.
        """
        for each in _planned(store, self):
            if each.run is None or each.run.resumable:
                engine.launch(store, each.write_down(store).id)


class TablePlan(NamedTuple):
    """A table in this store."""

    name: str
    title: str
    seeds: int
    lines: list[LineStatus]

    @property
    def deviation(self) -> str:
        """Which standard deviation over seeds stands behind yours: the paper's own, where it has some."""
        population = any(cell.population for status in self.lines for cell in status.line.cells)
        return "population (divided by n), as the paper's" if population else "sample (divided by n − 1)"

    @property
    def seconds(self) -> float | None:
        """What everything that can run will take, as far as it is known; None where nothing is.

        Runs that lines share count once. Those of built-in models work side by side, each on one core; larger models
        use them all, one after the other.
        """
        alone: dict[tuple[str, ...], float] = {}
        beside: dict[tuple[str, ...], float] = {}
        longest = 0.0
        for status in self.lines:
            if status.seconds is None or status.state == "missing":
                continue
            jobs = status.line.jobs
            is_small = all(job.model.startswith("builtin/") for job in jobs)
            known, key = (beside if is_small else alone), tuple(job.key for job in jobs)
            known[key] = max(status.seconds, known.get(key, 0.0))
            if is_small:
                runs = (status.seeds_needed - len(status.complete)) * len(jobs)
                longest = max(longest, status.seconds / max(1, runs))
        if not alone and not beside:
            return None
        return sum(alone.values()) + max(longest, sum(beside.values()) / _together())

    @property
    def at_once(self) -> int:
        """How many runs of built-in models work side by side where it is run; 1 where it has not so many."""
        waiting = [s for s in self.lines if s.state in ("ready", "stopped") and s.seconds is not None]
        small = [s for s in waiting if all(job.model.startswith("builtin/") for job in s.line.jobs)]
        return min(_together(), sum(s.seeds_needed - len(s.complete) for s in small)) if small else 1

    @property
    def remark(self) -> str:
        """What a reader of some of its lines must know; "" where there is nothing."""
        return _cola.remark([status.line for status in self.lines])

    @property
    def seeds_text(self) -> str:
        """How many seeds its lines have: "3 seeds per line", "1 or 3 seeds per line"."""
        numbers = sorted({status.seeds_needed for status in self.lines if status.line.jobs}) or [self.seeds]
        *most, last = map(str, numbers)
        text = " or ".join(filter(None, (", ".join(most), last)))
        return f"{text} {'seed' if text == '1' else 'seeds'} per line"

    def record(self) -> dict[str, Any]:
        """JSON-safe."""
        lines = [status.record() for status in self.lines]
        return {
            "table": self.name,
            "title": self.title,
            "seeds": self.seeds,
            "deviation": self.deviation,
            "remark": self.remark,
            "seconds": self.seconds,
            "lines": lines,
        }

    def with_trials(self, report: Callable[[str], None] | None = None) -> TablePlan:
        """The same plan, where every line that can run says how long it takes by a trial: one epoch on a few groups."""

        def timed(status: LineStatus) -> LineStatus:
            jobs = [job for job in status.line.jobs if isinstance(job, AdaptationRun | StrategyRun)]
            if status.state not in ("ready", "stopped") or not jobs:
                return status
            if report is not None:
                report(f"trying {status.line.label}")
            left = status.seeds_needed - len(status.complete)
            return status._replace(seconds=left * sum(map(_runs.trial_seconds, jobs)), time_source="a trial")

        return self._replace(lines=[timed(status) for status in self.lines])


def _cell_record(
    cell: _table_rows.TableCell,
    value: SeedSpread | None,
    interval: tuple[float, float] | None,
    shipped: SeedSpread | None,
    shipped_interval: tuple[float, float] | None,
) -> dict[str, Any]:
    yours = {} if value is None else value._asdict()
    shipped_record = {} if shipped is None else shipped._asdict()
    return {
        "method": cell.method,
        "metric": cell.metric,
        "part": cell.part,
        "head": cell.head,
        "paper": cell.paper,
        "paper_std": cell.std,
        "note": cell.note,
        "shipped": shipped_record.get("mean"),
        "shipped_std": shipped_record.get("std"),
        "shipped_low": None if shipped_interval is None else shipped_interval[0],
        "shipped_high": None if shipped_interval is None else shipped_interval[1],
        "shipped_seeds": shipped_record.get("seeds", 0),
        "yours": yours.get("mean"),
        "yours_std": yours.get("std"),
        "yours_low": None if interval is None else interval[0],
        "yours_high": None if interval is None else interval[1],
        "seeds": yours.get("seeds", 0),
    }


def table_plan(
    store: RunStore, name: str, seeds: int = SEEDS, row: str | None = None, *, all_lines: bool = False
) -> TablePlan:
    """Where a table stands: every cell's numbers, and what the lines that are not complete need.

    name : a key of `TABLES`. A run counts for a line where data, split, model and every setting are the line's; which
    seeds it has does not matter. A line that trains nothing is measured once, whatever `seeds` says. row : only the
    lines whose label is this, or begins with it. all_lines : `seeds` counts for lines that are trained with a number of
    seeds of their own, too. Raises InputError for an unknown table or row.
    """
    chosen = _chosen(lines(name), name, row)
    runs = [run for run in store.list() if not run.is_example]
    # Lines share data and weights, and looking for those on the disk takes the most of the time.
    missing = cache(_runs.missing_of)
    of_line = [line.seeds if line.seeds == 1 or not all_lines else None for line in chosen]
    statuses = [
        _status(store, line, runs, own or seeds, missing) for line, own in zip(chosen, of_line, strict=True)
    ]
    return TablePlan(name, TABLES[name][0], seeds, statuses)


def _chosen(every: Sequence[_tables.TableLine], table: str, row: str | None) -> Sequence[_tables.TableLine]:
    if row is None:
        return every
    labels = {line.label.lower(): line for line in every}
    label = row.strip().lower()
    matching = [labels[label]] if label in labels else [x for k, x in labels.items() if k.startswith(label)]
    if not matching:
        raise unknown_name(f"row of {table}", row, [line.label for line in every])
    return matching


def _status(
    store: RunStore,
    line: _tables.TableLine,
    runs: Sequence[Run],
    seeds_needed: int,
    missing_of: Callable[[str, str, bool, tuple[str, ...]], tuple[str, ...]],
) -> LineStatus:
    job_runs = [[run for run in runs if job.same(run.config)] for job in line.jobs]
    # Per job: seed -> records.
    records = [_runs.records_of(store, *pair) for pair in zip(job_runs, line.jobs, strict=True)]
    complete = set.intersection(*map(set, records)) if records else set()
    all_runs = {run.id: run for runs_of_job in job_runs for run in runs_of_job}
    needs = (
        missing_of(job.benchmark, job.model, job.kind == "adapt", _runs.splits_of(job)) for job in line.jobs
    )
    of_measures = map(_runs.missing_data, line.measures)
    missing = tuple(dict.fromkeys(chain.from_iterable((*needs, *of_measures))))
    if not line.jobs and line.why:
        missing = (line.why,)
    times = [
        _runs.expected_time(store, job, seeds_needed - len(by_seed))
        for job, by_seed in zip(line.jobs, records, strict=True)
        if len(by_seed) < seeds_needed
    ]
    known = [seconds for seconds, _ in times if seconds is not None]
    time_source = ", ".join(dict.fromkeys(source for _, source in times))
    return LineStatus(
        line,
        _state(line, len(complete) >= seeds_needed, bool(missing), list(all_runs.values())),
        missing,
        tuple(_spread(cell, records) for cell in line.cells),
        tuple(_interval(cell, records) for cell in line.cells),
        *_shipped(line),
        _chances(line, records),
        tuple(sorted(complete)),
        {name: run.status for name, run in all_runs.items()},
        sum(known) if times and len(known) == len(times) else None,
        time_source,
        seeds_needed,
    )


def _state(line: _tables.TableLine, complete: bool, missing: bool, runs: Sequence[Run]) -> str:
    if not line.jobs:
        return "missing" if missing else "printed"
    if complete:
        return "done"
    if any(run.live for run in runs):
        return "running"
    if missing:
        return "missing"
    return "stopped" if any(run.resumable for run in runs) else "ready"


def _shipped(
    line: _tables.TableLine,
) -> tuple[tuple[SeedSpread | None, ...], tuple[tuple[float, float] | None, ...], tuple[str, ...]]:
    """The shipped numbers of a line's cells, their intervals, and what these are over."""
    shipped = _shipped_results.of_line(line)
    found = [
        next(
            ((value, m.interval(cell), m.over(cell)) for m in shipped if (value := m.read(cell)) is not None),
            (None, None, ""),
        )
        for cell in line.cells
    ]
    values, intervals, over = (tuple(each[i] for each in found) for i in range(3))
    return values, intervals, over  # type: ignore[return-value]


def _chances(
    line: _tables.TableLine, records: Sequence[Mapping[int, _table_rows.Records]]
) -> tuple[float | None, ...]:
    """The chance levels of a line's cells: of its groups' shape, else what shipped results or runs say."""
    by_metric, shipped = _runs.chances(line), _shipped_results.of_line(line)

    def level(cell: _table_rows.TableCell) -> float | None:
        memorised = _table_rows._is_memorised(cell.method, cell.metric)
        said = [
            by_metric.get(GROUP_MATCH if memorised else cell.metric),
            *(each.chance(cell) for each in shipped),
        ]
        said += [cell.chance(each) for each in _by_seed(cell, records)]
        return next((each for each in said if each is not None), None)

    return tuple(map(level, line.cells))


def _spread(
    cell: _table_rows.TableCell, records: Sequence[Mapping[int, _table_rows.Records]]
) -> SeedSpread | None:
    """A cell over the seeds that all of its jobs have; `found` is per job seed -> records."""
    values = [value for each in _by_seed(cell, records) if (value := cell.read_mean(each)) is not None]
    return spread(values, cell.population) if values else None


def _interval(
    cell: _table_rows.TableCell, records: Sequence[Mapping[int, _table_rows.Records]]
) -> tuple[float, float] | None:
    """A cell's 95 % interval over groups: the mean of the seeds' bounds, about that of their mean or wider."""
    bounds = [bound for each in _by_seed(cell, records) if (bound := cell.interval(each)) is not None]
    return (fmean(low for low, _ in bounds), fmean(high for _, high in bounds)) if bounds else None


def _by_seed(
    cell: _table_rows.TableCell, records: Sequence[Mapping[int, _table_rows.Records]]
) -> list[dict[int, _table_rows.Records]]:
    """The records of a cell's jobs, by job, of every seed that all of them have."""
    if not cell.source or not records:
        return []
    seeds = sorted(set.intersection(*(set(records[job]) for job, _ in cell.source)))
    return [{job: records[job][seed] for job, _ in cell.source} for seed in seeds]


def _planned(store: RunStore, status: LineStatus) -> list[PlannedRun]:
    """What a line still needs: its runs that are at work or can go on, and the seeds that have none."""
    if status.state in ("done", "missing", "printed"):
        return []
    runs = [store.get(run_id) for run_id in status.runs]
    return [
        each
        for job in status.line.jobs
        for each in _planned_of(store, status, job, [run for run in runs if job.same(run.config)])
    ]


def _planned_of(
    store: RunStore, status: LineStatus, job: RunDescription, runs: Sequence[Run]
) -> list[PlannedRun]:
    complete = _runs.records_of(store, runs, job)
    usable = [run for run in runs if run.status != "finished" or seed_of(run) in complete]
    by_seed = runs_that_count(usable, seed_of)
    group = next((run.config["group"] for run in runs if run.config.get("group")), None) or _new_group()
    title = status.line.label if len(status.line.jobs) == 1 else f"{status.line.label}, {job.benchmark}"
    begun = [PlannedRun(run.title, job, run) for run in by_seed.values()]
    missing = [seed for seed in range(status.seeds_needed) if seed not in by_seed]
    return begun + [PlannedRun(f"{title} · seed {seed}", job.with_seed(seed, group)) for seed in missing]


def run_table(
    store: RunStore,
    name: str,
    seeds: int = SEEDS,
    report: Callable[[str], None] | None = None,
    pause: float = 1.0,
    row: str | None = None,
    *,
    all_lines: bool = False,
) -> TablePlan:
    """Run everything of a table (or row) that can run, a few runs at a time, and wait; the table as it stands then.

    If interrupted, it goes on where it was when called again. all_lines : as of `table_plan`. report and pause as in
    `core.runs.engine.run_all`. A run that fails is reported and not tried again.
    """
    plan = table_plan(store, name, seeds, row, all_lines=all_lines)
    planned = [each for status in plan.lines for each in _planned(store, status)]
    # Lines may share runs.
    unique = {each.job.key if each.run is None else each.run.id: each for each in planned}
    run_all(store, list(unique.values()), ThisMachine(), report, pause)
    return table_plan(store, name, seeds, row, all_lines=all_lines)
