"""A sweep as data frames: every cell with its state and results, and the same over seeds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from core.runs.store import ACTIVE_STATUSES, RunStore
from core.sweeps._plan import SweepPlan
from core.sweeps.cells import CellState, states

if TYPE_CHECKING:
    import pandas as pd

_WHAT = ("kind", "model", "benchmark", "setting")
# A row over seeds shows the first of these states that any of its seeds is in.
_ATTENTION = ("failed", "running", "stopping", "queued", "interrupted", "stopped", "missing", "finished")


class SweepProgress(NamedTuple):
    """How far a sweep is: cells by state, share of the work done in [0, 1], seconds left (None: nobody knows)."""

    cells: int
    finished: int
    live: int
    failed: int
    share: float
    seconds_left: float | None


def cells_table(store: RunStore, plan: SweepPlan) -> pd.DataFrame:
    """One row per cell: kind, model, benchmark, setting, seed, state, share (of the work, 0 to 1), seconds, run, error.

    And of every metric of a finished cell: NAME (percent), NAME_low and NAME_high (its 95 % interval over groups),
    NAME_chance, NAME_ties (groups) and, where something was adapted, NAME_before. The result is the last iteration,
    never the best one. Missing values where a cell is not finished.
    """
    import pandas as pd

    return pd.DataFrame([_row(store, state) for state in states(store, plan)])


def _row(store: RunStore, state: CellState) -> dict[str, Any]:
    cell, run = state.cell, state.run
    row: dict[str, Any] = {name: getattr(cell, name) for name in (*_WHAT, "seed")}
    share = 0.0 if run is None else run.fraction
    seconds = None if run is None or run.started is None else (run.ended or time.time()) - run.started
    row |= {"state": state.status, "share": share, "seconds": seconds}
    row |= {"run": run and run.id, "error": run and run.error}
    steps = store.steps(run.id) if run is not None and state.done else []
    return row | (_metrics(steps) if steps else {})


def _metrics(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, now in steps[-1]["metrics"].items():
        columns |= {name: now["value"], f"{name}_low": now["low"], f"{name}_high": now["high"]}
        columns |= {f"{name}_chance": now["chance"], f"{name}_ties": now["ties"]}
        if len(steps) > 1 and name in steps[0]["metrics"]:
            columns[f"{name}_before"] = steps[0]["metrics"][name]["value"]
    return columns


def summary_table(cells: pd.DataFrame) -> pd.DataFrame:
    """`cells_table` over seeds: one row per model, benchmark and setting, in the order of the file.

    seeds, finished : how many there are and how many have ended. state : the one that needs the most attention.
    share : of the work. Of every metric, over the finished seeds: NAME (mean), NAME_sd (of a sample, n - 1; missing
    for one seed), NAME_low and NAME_high (the 95 % interval over groups, its ends averaged over seeds), NAME_chance,
    NAME_ties (the most of any seed), NAME_before (mean).
    """
    import pandas as pd

    rows = []
    for what, seeds in cells.groupby(list(_WHAT), sort=False, dropna=False):
        done = seeds[seeds["state"] == "finished"]
        row = dict(zip(_WHAT, what, strict=True))
        row |= {"seeds": len(seeds), "finished": len(done), "share": float(seeds["share"].mean())}
        row["state"] = min(seeds["state"], key=_ATTENTION.index)
        for name in _metrics_of(cells):
            row[name] = done[name].mean()
            row[f"{name}_sd"] = done[name].std(ddof=1)
            for end in ("low", "high", "chance", "before"):
                if f"{name}_{end}" in done:
                    row[f"{name}_{end}"] = done[f"{name}_{end}"].mean()
            row[f"{name}_ties"] = done[f"{name}_ties"].max()
        rows.append(row)
    return pd.DataFrame(rows)


def _metrics_of(table: pd.DataFrame) -> list[str]:
    """The metrics that a table has columns of."""
    return [name.removesuffix("_chance") for name in table.columns if str(name).endswith("_chance")]


def progress_of(store: RunStore, plan: SweepPlan) -> SweepProgress:
    """How far a sweep is.

    A running cell estimates its own time left; any other cell is expected to take the mean time of the finished ones on
    its benchmark, or of all where there are none. As many cells as run now are taken to share the work.
    """
    cells = states(store, plan)
    live = [s for s in cells if s.status in ACTIVE_STATUSES]
    running = [s.run for s in live if s.run is not None and s.run.status != "queued"]
    durations: dict[str, list[float]] = {}  # of a benchmark's finished cells
    for s in cells:
        if s.done and s.run is not None and s.run.started and s.run.ended:
            durations.setdefault(s.cell.benchmark, []).append(s.run.ended - s.run.started)
    all_durations = [seconds for of_benchmark in durations.values() for seconds in of_benchmark]
    left, known = 0.0, True
    for s in cells:
        if s.done:
            continue
        similar = durations.get(s.cell.benchmark) or all_durations
        own_estimate = s.run.seconds_left if s.run is not None and s.run in running else None
        if own_estimate is None and not similar:
            known = False
        else:
            left += own_estimate if own_estimate is not None else sum(similar) / len(similar)
    share = sum(1.0 if s.done else s.run.fraction if s.run else 0.0 for s in cells) / len(cells)
    seconds = left / max(1, len(running)) if known else None
    failed = sum(s.status == "failed" for s in cells)
    return SweepProgress(len(cells), sum(s.done for s in cells), len(live), failed, share, seconds)
