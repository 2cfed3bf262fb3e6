"""A table worked through in a process of its own: `python -m core.papers.background ROOT TABLE SEEDS`.

It launches a few runs at a time and stays when whoever started it has gone; interrupted, it goes on when started again.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from core.base import files, processes
from core.base.errors import InputError
from core.base.public_mode import is_public
from core.papers import run_table, table_plan
from core.runs.store import RunStore

log = logging.getLogger("crossmatch.reproduce")


def start_table(store: RunStore, name: str, seeds: int) -> None:
    """Run everything of a table that can run here; nothing happens where that is under way already.

    Raises InputError for an unknown table, and in public mode.
    """
    _check_allowed()
    table_plan(store, name, seeds)
    if is_working(store, name):
        return
    path = _path(store, name)
    with files.storage_errors(path):
        path.parent.mkdir(exist_ok=True)
        arguments = [str(store.root), name, str(seeds)]
        process = processes.start_module(__name__, arguments, path.with_suffix(".log"))
        files.write_json(path, process._asdict())


def is_working(store: RunStore, name: str) -> bool:
    """Whether a process works through this table."""
    with suppress(OSError, ValueError, TypeError):
        return processes.ProcessIdentity(**json.loads(_path(store, name).read_text())).is_alive() is not False
    return False


def stop_table(store: RunStore, name: str, seeds: int) -> None:
    """Launch nothing more of this table, and ask its runs to stop; they can be resumed."""
    _check_allowed()
    with suppress(OSError, ValueError, TypeError):
        processes.ProcessIdentity(**json.loads(_path(store, name).read_text())).terminate()
    for status in table_plan(store, name, seeds).lines:
        for run_id in status.runs:
            if store.get(run_id).live:
                store.request_stop(run_id)


def _check_allowed() -> None:
    """A table takes hours: on a public server its owner starts and stops it, with `crossmatch reproduce`."""
    if is_public():
        raise InputError("Tables are not run or stopped from here; run Crossmatch yourself.")


def _path(store: RunStore, name: str) -> Path:
    """Who works through a table; outside of the folders of runs."""
    return store.root / "tables" / f"{name.replace('/', '-')}.json"


def _main(arguments: Sequence[str]) -> None:
    """Work through the table, and log what is launched and what ends."""
    root, name, seeds = arguments
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    run_table(RunStore(Path(root)), name, int(seeds), log.info)


if __name__ == "__main__":
    _main(sys.argv[1:])
