"""A sweep's cells in the run store: which run is whose, and carrying out the others; the sweeps started here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from core.base import files
from core.base.errors import InputError
from core.runs.engine import Place, PlannedRun, run_all, runs_that_count
from core.runs.store import Run, RunStore
from core.sweeps._plan import KINDS, SweepCell, SweepPlan, plan_of


class CellState(NamedTuple):
    """A cell and the run that counts for it: a finished one, else one at work, else the newest that can go on."""

    cell: SweepCell
    run: Run | None

    @property
    def status(self) -> str:
        return "missing" if self.run is None else self.run.status

    @property
    def done(self) -> bool:
        return self.status == "finished"


def states(store: RunStore, plan: SweepPlan) -> list[CellState]:
    """Every cell with its run. A run counts wherever it was started from: what decides is the job's content."""
    kinds = {cell.kind for cell in plan.cells}
    counting = runs_that_count((run for run in store.list() if run.kind in kinds), _key_of)
    return [CellState(cell, counting.get(cell.key)) for cell in plan.cells]


def _key_of(run: Run) -> str | None:
    """The key of the cell that a run is; None where it is none, or where nobody knows what its model's folder held."""
    if run.kind not in KINDS or run.config.get("embeddings"):
        return None
    if Path(run.config["model"]).is_absolute():
        return run.config.get("cell")
    with suppress(InputError):  # of another version, or imported
        return KINDS[run.kind].read(run.config).key
    return None


def run_sweep(
    store: RunStore,
    plan: SweepPlan,
    place: Place,
    report: Callable[[str], None] | None = None,
    pause: float = 0.5,
    after_pause: Callable[[], None] | None = None,
) -> list[CellState]:
    """Carry out the cells that are not finished, as `core.runs.engine.run_all`; the states as they stand then."""
    _save_plan(store, plan)
    before = states(store, plan)
    if report is not None:
        live = sum(state.run is not None and state.run.live for state in before)
        report(f"{sum(state.done for state in before)} of {len(before)} cells are done, {live} at work")
    planned = [PlannedRun(state.cell.title, state.cell.job, state.run) for state in before]
    run_all(store, planned, place, report, pause, after_pause)
    return states(store, plan)


# ---- which sweeps there are


def _save_plan(store: RunStore, plan: SweepPlan) -> None:
    """Keep a sweep's file beside the runs, so that its table can be shown without it."""
    path = _folder(store) / f"{_file_name(plan.name)}.json"
    with files.storage_errors(path):
        path.parent.mkdir(exist_ok=True)
        files.write_json(path, dict(plan.source))


def saved_plans(store: RunStore) -> dict[str, SweepPlan]:
    """The sweeps that were started here, by name; one whose file can no longer be read is left out."""
    plans = {}
    for path in sorted(_folder(store).glob("*.json")):
        try:
            source: Mapping[str, Any] = json.loads(path.read_text())
            plan = plan_of(source, path.name, path.stem)
        except (OSError, ValueError, KeyError, TypeError, InputError):
            continue
        plans[plan.name] = plan
    return plans


def _folder(store: RunStore) -> Path:
    return store.root / "sweeps"


def _file_name(name: str) -> str:
    """A file name for a sweep's: readable, and different for different names."""
    return f"{re.sub(r'[^A-Za-z0-9-]+', '-', name)[:40]}-{sha256(name.encode()).hexdigest()[:8]}"
