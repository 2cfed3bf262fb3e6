"""What a run costs elsewhere, measured in a process of its own: `python -m core.cola.cost_process RUN`.

It stays when whoever started it leaves the page, and leaves its table in the run's folder.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from core.base import files, processes
from core.base.errors import InputError
from core.base.public_mode import is_public
from core.cola.forgetting import run_table
from core.runs.store import RunStore

log = logging.getLogger("crossmatch.cost")

_INTERRUPTED = "the measurement was interrupted."
_starting = Lock()  # two tabs of one server start one process


class _CostWork(NamedTuple):
    """A measurement that is under way, or why it has ended without a table."""

    share: float = 0.0  # done, in [0, 1]
    seconds_left: float | None = None
    error: str = ""  # "" as long as it is under way


def _start_cost(store: RunStore, run_id: str) -> None:
    """Measure what a finished run costs; nothing happens where that is under way already.

    Raises InputError in public mode.
    """
    if is_public():
        raise InputError("Costs are not measured on this server; run Crossmatch on your own machine.")
    path = _path(store, run_id)
    with _starting, files.storage_errors(path):
        work = _cost_work(store, run_id)
        if work is not None and not work.error:
            return
        process = processes.start_module(__name__, [run_id], path.with_name("cost.log"))
        files.write_json(path, {"process": process._asdict()})


def _cost_work(store: RunStore, run_id: str) -> _CostWork | None:
    """How far the measurement of a run is; None where none was begun, or the last one has come to its end."""
    try:
        known = json.loads(_path(store, run_id).read_text())
        if "error" in known:
            return _CostWork(error=str(known["error"]))
        if processes.ProcessIdentity(**known["process"]).is_alive() is False:
            # It may have come to its end since the file was read.
            return _CostWork(error=_INTERRUPTED) if _path(store, run_id).is_file() else None
        return _CostWork(float(known.get("share", 0.0)), known.get("left"))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _stop_cost(store: RunStore, run_id: str) -> None:
    """End the measurement of a run; the scores that it has computed stay in the cache."""
    path = _path(store, run_id)
    with suppress(OSError, ValueError, TypeError, KeyError):
        processes.ProcessIdentity(**json.loads(path.read_text())["process"]).kill_tree()
    path.unlink(missing_ok=True)


def _path(store: RunStore, run_id: str) -> Path:
    """Who measures what a run costs, and how far that is."""
    return store.folder(run_id) / "cost-work.json"


def _main(arguments: Sequence[str]) -> None:
    """Measure, say how far that is, and leave the table or a last word."""
    (run_id,) = arguments
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    path, began, told = _path(RunStore(), run_id), time.monotonic(), 0.0
    process = processes.ProcessIdentity.of(os.getpid())._asdict()

    def tell(share: float) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told < 1:
            return
        told = now
        left = (now - began) / share * (1 - share) if share > 0.1 else None
        files.write_json(path, {"process": process, "share": share, "left": left})

    try:
        run_table(run_id, say=log.info, progress=tell)
    except InputError as error:
        log.exception("failed")
        files.write_json(path, {"error": str(error)})
    except Exception as error:
        log.exception("failed")
        files.write_json(path, {"error": ": ".join([type(error).__name__, *str(error).splitlines()[:1]])})
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    os.umask(0o077)  # what it writes is its owner's alone
    _main(sys.argv[1:])
