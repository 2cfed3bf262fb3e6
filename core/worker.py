"""The process of one run, `python -m core.worker ROOT RUN ATTEMPT`, and which function does which kind of run."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from core.base import processes
from core.base.errors import InputError, unknown_name
from core.base.public_mode import is_public
from core.runs.attempt import RunAttempt, heartbeats
from core.runs.store import AttemptSuperseded, RunStore

log = logging.getLogger("crossmatch.worker")


# Numpy, torch and the rest are imported once a run's turn has come: a worker that waits in the queue is 20 MB, not 400.


def _ttm(job: RunAttempt) -> bool:
    from core.ttm.background import run_job  # numpy, then torch

    return run_job(job)


def _adapt(job: RunAttempt) -> bool:
    from core.cola.background import run_adapt  # numpy, then torch

    return run_adapt(job)


def _evaluate(job: RunAttempt) -> bool:
    from core.sweeps.evaluate import run_evaluate  # numpy, then torch

    return run_evaluate(job)


def _measure(job: RunAttempt) -> bool:
    from core.papers.evaluation_run import run_measure  # numpy, then torch

    return run_measure(job)


# What a run can be. A function gets its Job and returns whether it came to its end (False: it was stopped).
KINDS: dict[str, Callable[[RunAttempt], bool]] = {
    "ttm": _ttm,
    "simplematch": _ttm,
    "adapt": _adapt,
    "evaluate": _evaluate,
    "measure": _measure,
}


def work(job: RunAttempt) -> tuple[str, str | None]:
    """Wait for a slot, then do what the run's kind does; the final status, and the sentence if it failed."""
    try:
        if job.run.kind not in KINDS:
            raise unknown_name("kind of run", job.run.kind, KINDS)
        if not job.wait_for_turn():
            return "stopped", None
        return ("finished" if KINDS[job.run.kind](job) else "stopped"), None
    except AttemptSuperseded:
        raise
    except InputError as error:
        log.exception("failed")
        return "failed", str(error)
    except Exception as error:
        log.exception("failed")
        if is_public():
            return (
                "failed",
                "The run failed because of an internal error; the server's log has the details.",
            )
        first = str(error).strip().splitlines()[:1]
        return "failed", ": ".join([type(error).__name__, *first])


def main(arguments: Sequence[str]) -> int:
    """Claim the run, work, and leave a last word in the store."""
    root, run_id, attempt = arguments
    os.umask(0o077)  # what a run writes is its owner's alone
    if is_public() and hasattr(os, "nice"):
        os.nice(5)  # on a server that everybody shares, pages come before runs
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        job = RunAttempt(RunStore(Path(root)), run_id, int(attempt))
        signal.signal(signal.SIGTERM, job.ask_to_stop)
        job.store.claim(run_id, job.attempt, processes.identify(os.getpid()))
        with heartbeats(job):
            status, error = work(job)
        job.store.conclude(run_id, job.attempt, status, error)
    except AttemptSuperseded:
        log.info("this run was deleted, stopped or restarted; nothing left to do")
    except InputError as error:  # not even the store can be written: whoever looks finds the run interrupted
        log.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
