"""The finished run that ships with Crossmatch, so that a link to a run lands on one before anybody has started any.

`assets/runs/example.zip` is an archive of `export_run`, `example_controls.zip` one of its controls;
`python -m benchmarks.results.example_run` makes both.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from threading import Lock
from typing import Any
from zipfile import ZipFile

from core.base.errors import InputError
from core.base.paths import assets
from core.exchange.runs import import_run
from core.runs.store import _EXAMPLE_CONTROLS_ID, EXAMPLE_ID, Run, RunStore

EXAMPLE = "example"  # in an address, in place of an id
ARCHIVE = assets() / "runs" / "example.zip"
_CONTROLS = assets() / "runs" / "example_controls.zip"
_SHIPPED = {_EXAMPLE_CONTROLS_ID: _CONTROLS, EXAMPLE_ID: ARCHIVE}

_import_lock = Lock()


def example_run(store: RunStore) -> Run:
    """The run in this store, imported the first time that it is asked for, its controls, too; they belong to nobody."""
    all_of = RunStore(store.root)
    with _import_lock:
        for run_id, archive in _SHIPPED.items():
            try:
                all_of.get(run_id)
            except InputError:
                import_run(all_of, archive, run_id=run_id)
    return store.get(EXAMPLE_ID)


@cache
def _controls_config() -> dict[str, Any]:
    """What the controls that ship are of, read from their archive: no store need have them."""
    with ZipFile(_CONTROLS) as archive:
        name = min((name for name in archive.namelist() if name.endswith("run.json")), key=len)
        config: dict[str, Any] = json.loads(archive.read(name))["config"]
    return config


def _import_controls(store: RunStore) -> Run:
    """Those controls in a store that has no run yet."""
    return import_run(store, _CONTROLS, run_id=_EXAMPLE_CONTROLS_ID)


def _shipped_with(store: RunStore, run: Run) -> list[Run]:
    """Of the run that ships its controls, of these the run, unless it was deleted; lists of visitors lack them."""
    others = [each for each in _SHIPPED if run.is_example and each != run.id]
    with suppress(InputError):
        return [store.get(each) for each in others]
    return []
