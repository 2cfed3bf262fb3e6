"""The finished run that ships with Crossmatch, so that a link to a run lands on one before anybody has started any.

`assets/runs/example.zip` is an archive of `export_run`; `python -m benchmarks.results.example_run` makes it.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock

from core.base.errors import InputError
from core.base.paths import assets
from core.exchange.runs import import_run
from core.runs.store import EXAMPLE_ID, Run, RunStore

EXAMPLE = "example"  # in an address, in place of an id
ARCHIVE = assets() / "runs" / "example.zip"

_import_lock = Lock()


def example_run(store: RunStore) -> Run:
    """The run in this store, imported the first time that it is asked for; it belongs to nobody."""
    with _import_lock:
        with suppress(InputError):
            return store.get(EXAMPLE_ID)
        return import_run(RunStore(store.root), ARCHIVE, run_id=EXAMPLE_ID)
