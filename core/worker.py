"""The process of one run, `python -m core.worker ROOT RUN ATTEMPT [AT_ONCE]`.

`python -m core.worker --standby` imports what a run needs and then takes those words from its standard input.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from core.base import processes
from core.base.errors import InputError, unknown_name
from core.base.limits import _bound_own_memory
from core.base.public_mode import is_public
from core.run_kinds import _FORETOLD, RUN_KINDS
from core.runs.attempt import RunAttempt, heartbeats
from core.runs.open_store import open_store
from core.runs.store import AttemptSuperseded, RunStore, parallel_runs

log = logging.getLogger("crossmatch.worker")

# What a worker on standby imports: torch, transformers' models and the rooms of a run, of the first kind above all.
PRELOADED = (
    "core.runs.resume",
    "core.ttm.run",
    "core.ttm.loop",
    "core.scorers.contrastive",
    "transformers.models.clip.modeling_clip",
    "transformers.models.siglip.modeling_siglip",
)


def work(job: RunAttempt, at_once: int | None = None) -> tuple[str, str | None]:
    """Wait for a slot, then do what the run describes; the final status, and the sentence if it failed."""
    try:
        if job.run.kind not in RUN_KINDS:
            raise unknown_name("kind of run", job.run.kind, RUN_KINDS)
        if not job.wait_for_turn(at_once or _slots(job.run.config)):
            return "stopped", None
        from core.runs.resume import carry_out  # pydantic

        _bound_own_memory()  # once those before it have given back theirs
        run = resolve_name(RUN_KINDS[job.run.kind]).read(job.run.config)
        done = carry_out(job, run, lambda iteration: _foretell(job, run, iteration.record))
        return ("finished" if done else "stopped"), None
    except AttemptSuperseded:
        raise
    except InputError as error:
        log.exception("failed")
        return "failed", str(error)
    except Exception as error:
        log.exception("failed")
        if is_public():
            return "failed", "The run failed because of an internal error; the server's log has the details."
        return "failed", ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])


def _foretell(job: RunAttempt, run: Any, record: Mapping[str, Any]) -> None:
    """Tell an attempt from its first iteration on how long such runs take here, where its store knows of others."""
    known = _FORETOLD.get(job.run.kind)
    if known and job.expected is None and isinstance(job.store, RunStore):
        job.expected = resolve_name(known)(job.store, run, record)


def _slots(config: Mapping[str, Any]) -> int | None:
    """How many runs may work on the device when this one begins; None for as many as ever.

    A run on a file of embeddings loads no model and is over in seconds: it goes beside one that works, except on a
    public server, whose memory is shared out.
    """
    return parallel_runs() + 1 if config.get("embeddings") and not is_public() else None


def _stand_by() -> list[str]:
    """Import what every run of a model needs, then wait for the arguments of one; [] when the server is gone.

    From then on what is written goes to the log of that run.
    """
    for name in PRELOADED:
        import_module(name)
    line = sys.stdin.readline()
    if not line:
        return []
    arguments: list[str] = json.loads(line)
    root, run_id, *_ = arguments
    log_file = open_store(root).folder(run_id) / "log.txt"
    with open(log_file, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as output:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(output.fileno(), stream.fileno())
    return arguments


def main(arguments: Sequence[str]) -> int:
    """Claim the run, work, and leave a last word in the store."""
    os.umask(0o077)  # what a run writes is its owner's alone
    if is_public() and hasattr(os, "nice"):
        os.nice(5)  # on a server that everybody shares, pages come before runs
    if list(arguments) == ["--standby"]:
        arguments = _stand_by()
        if not arguments:
            return 0
    root, run_id, attempt, *at_once = arguments
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        store = open_store(root)
        job = RunAttempt(store, run_id, int(attempt))
        signal.signal(signal.SIGTERM, job.ask_to_stop)
        store.claim(run_id, job.attempt, processes.ProcessIdentity.of(os.getpid()))
        with heartbeats(job):
            status, error = work(job, *map(int, at_once))
        store.conclude(run_id, job.attempt, status, error)
    except AttemptSuperseded:
        log.info("this run was deleted, stopped or restarted; nothing left to do")
    except InputError as error:  # not even the store can be written: whoever looks finds the run interrupted
        log.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    # At once: the next run in the queue loads already, and a tidy end with torch takes seconds on a busy machine.
    code = main(sys.argv[1:])
    logging.shutdown()
    os._exit(code)
