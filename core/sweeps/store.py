"""Which run of the store is a cell's, and the sweeps that were started here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from core.base import files
from core.base.errors import InputError
from core.runs.store import Run, RunStore
from core.sweeps.plan import KINDS, SweepCell, SweepPlan, plan_of

MISSING = "missing"  # the state of a cell that has no run


class CellState(NamedTuple):
    """A cell and the run that counts for it: a finished one, else one at work, else the newest that can go on."""

    cell: SweepCell
    run: Run | None

    @property
    def status(self) -> str:
        return MISSING if self.run is None else self.run.status

    @property
    def done(self) -> bool:
        return self.status == "finished"


def states(store: RunStore, plan: SweepPlan) -> list[CellState]:
    """Every cell with its run. A run counts wherever it was started from: what decides is the job's content."""
    wanted = {cell.key for cell in plan.cells}
    kinds = {cell.kind for cell in plan.cells}
    found: dict[str, Run] = {}
    for run in store.list():  # the newest first
        key = key_of(run) if run.kind in kinds else None
        if key in wanted and (key not in found or _rank(run) < _rank(found[key])):
            found[key] = run
    return [CellState(cell, found.get(cell.key)) for cell in plan.cells]


def key_of(run: Run) -> str | None:
    """The key of the cell that a run is; None where it is none, or where nobody knows what its model's folder held."""
    if run.kind not in KINDS or run.config.get("embeddings"):
        return None
    if Path(run.config["model"]).is_absolute():
        return run.config.get("cell")
    with suppress(InputError):  # of another version, or imported
        return KINDS[run.kind].read(run.config).key
    return None


def _rank(run: Run) -> int:
    return 0 if run.status == "finished" else 1 if run.live else 2


def new_run(store: RunStore, cell: SweepCell, sweep: str) -> Run:
    """Write a cell's run down; nothing starts it yet."""
    return store.create(cell.kind, cell.title, {**cell.job.written(), "sweep": sweep})


def is_active(store: RunStore, run_id: str) -> bool:
    """Whether a run waits or works; False for one that was deleted."""
    with suppress(InputError):
        return store.get(run_id).live
    return False


# ---- which sweeps there are


def save_plan(store: RunStore, plan: SweepPlan) -> None:
    """Keep a sweep's file beside the runs, so that its table can be shown without it."""
    path = _folder(store) / f"{_slug(plan.name)}.json"
    with files.storage_errors(path):
        path.parent.mkdir(exist_ok=True)
        files.write_json(path, dict(plan.source))


def saved_plans(store: RunStore) -> dict[str, SweepPlan]:
    """The sweeps that were started here, by name; one whose file can no longer be read is left out."""
    found = {}
    for path in sorted(_folder(store).glob("*.json")):
        try:
            source: Mapping[str, Any] = json.loads(path.read_text())
            plan = plan_of(source, path.name, path.stem)
        except (OSError, ValueError, KeyError, TypeError, InputError):
            continue
        found[plan.name] = plan
    return found


def _folder(store: RunStore) -> Path:
    return store.root / "sweeps"


def _slug(name: str) -> str:
    """A file name for a sweep's: readable, and different for different names."""
    return f"{re.sub(r'[^A-Za-z0-9-]+', '-', name)[:40]}-{sha256(name.encode()).hexdigest()[:8]}"
