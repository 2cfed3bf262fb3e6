"""The process of one run, `python -m core.worker ROOT RUN ATTEMPT`. What it adapts, and how, is in `jobs.py`.

Torch, numpy and the rest are imported inside functions: a worker that waits in the queue is 20 MB, not 400.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.base import files, processes
from core.base.errors import InputError, unknown_name
from core.base.public_mode import RUN_SECONDS, public
from core.runs.checkpoints import (
    drop_checkpoints,
    is_published,
    load_record,
    newest_checkpoint,
    publish_model,
    save_checkpoint,
)
from core.runs.store import RunStore, Superseded, parallel_runs
from core.ttm.records import coverage_ahead, step_arrays
from core.ttm.run import execute, is_over, total_of, ttm_job

__all__ = ["KINDS", "Job", "execute_ttm", "main", "run_job", "ttm_job"]

BEAT = 1.0  # seconds between heartbeats; core.runs.store.SILENCE is many of them
execute_ttm = execute  # the name under which benchmarks know it

log = logging.getLogger("crossmatch.worker")


# ---- the process


class Job:
    """One attempt at a run: what the function of its kind gets to read and to report with."""

    def __init__(self, store: RunStore, run_id: str, attempt: int) -> None:
        self.store, self.run, self.attempt = store, store.get(run_id), attempt
        self.folder = store.folder(run_id)
        self.phase = "queued"
        # Plain values, set by a signal or by the heartbeat: an Event must not be set from a signal handler.
        self.asked, self.lost = False, False
        self._progress: dict[str, Any] = {}
        # When, and at which fraction, this attempt began to work.
        self._since: tuple[float, float] | None = None

    def stopping(self) -> bool:
        """Whether the run should end now; cheap enough to be asked before every training step."""
        return self.asked or self.lost

    def ask_to_stop(self, *_: object) -> None:
        """As a signal handler: remember it, the work notices."""
        self.asked = True

    def progress(self, fraction: float, message: str) -> None:
        """Share of the run that is done, in [0, 1]; reaches the store with the next heartbeat."""
        now = time.monotonic()
        if self._since is None:
            self._since = (now, fraction)
        began, first = self._since
        left = (now - began) * (1 - fraction) / (fraction - first) if fraction > first else None
        self._progress = {"fraction": fraction, "message": message, "seconds_left": left}

    def plan(self, total: int) -> None:
        """Say how many iterations there will be."""
        self.store.beat(self.run.id, self.attempt, self.phase, total=total)

    def append(self, record: dict[str, Any]) -> None:
        """Write a finished iteration down."""
        self.store.append_step(self.run.id, record, self.attempt, **self._progress)
        log.info("iteration %s done", record["iteration"])

    def beat(self) -> None:
        """One heartbeat; learns from the store whether to stop."""
        try:
            status = self.store.beat(self.run.id, self.attempt, self.phase, **self._progress)
        except Superseded:
            self.lost = True
        except InputError as error:  # a full disk may have room again at the next beat
            log.warning("%s", error)
        else:
            self.asked = self.asked or status not in ("queued", "running") or self._too_long()

    def _too_long(self) -> bool:
        """Public mode bounds how long a run may work; what it has finished by then stays."""
        if not public() or self._since is None or time.monotonic() - self._since[0] < RUN_SECONDS:
            return False
        self._progress["message"] = f"stopped: a run works {RUN_SECONDS // 60} minutes at most here"
        return True

    def wait_for_turn(self) -> bool:
        """Wait in the queue of the device; False if the run was stopped there."""
        limit = parallel_runs()
        while not self.stopping():
            ahead = self.store.try_start(self.run.id, self.attempt, limit)
            if not ahead:
                self.phase, self._progress = "running", {"message": "loading"}
                return True
            self._progress = {"message": f"waiting for {ahead} run{'s' if ahead > 1 else ''} to end"}
            # The far end of a long queue asks less often.
            pause_until = time.monotonic() + min(0.5 * ahead, 5.0)
            while time.monotonic() < pause_until and not self.stopping():
                time.sleep(0.1)
        return False


@contextmanager
def heartbeats(job: Job) -> Iterator[None]:
    """Beat from a thread of its own, whatever the work is busy with."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            job.beat()

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Plan:
    """How the work spreads over the iterations: training takes time in proportion to what is selected.

    The first iterations of a falling threshold are the short ones; a plain share of iterations would promise an end
    several times too early.
    """

    SCORING = 0.05  # of the time that training on every group takes

    def __init__(self, total: int) -> None:
        self.work = [1.0] * total
        self.shown = 0.0

    def update(self, past: Sequence[float], ahead: Sequence[float]) -> None:
        """past : coverage of the iterations that are done. ahead : what the others would select by today's scores."""
        self.work = [self.SCORING + share for share in (*past, *ahead)]

    def fraction(self, share: float) -> float:
        """Share of the work that is done when `share` of the iterations is; never falls."""
        whole = min(int(share * len(self.work)), len(self.work) - 1)
        part = (share * len(self.work) - whole) * self.work[whole]
        self.shown = max(self.shown, (sum(self.work[:whole]) + part) / sum(self.work))
        return self.shown


def run_job(job: Job) -> bool:
    """Test-time matching or SimpleMatch; True when it came to its end and the model is saved."""
    config, folder = job.run.config, job.folder
    plan = Plan(total_of(config))
    job.plan(len(plan.work))
    if is_published(folder):  # killed between the model and its last word
        return True
    checkpoint, note = newest_checkpoint(folder)
    records: list[dict[str, Any]] = []
    if checkpoint is not None:  # written before its record: that one may be missing
        job.append(load_record(checkpoint))
        records = job.store.steps(job.run.id)
    if not is_over(config, records):
        steps = execute(
            config, checkpoint, job.stopping, lambda f, text: job.progress(plan.fraction(f), text)
        )
        for record, step in steps:
            record["note"], note = " ".join(filter(None, (note, record["note"]))), ""
            with files.storage(folder):
                files.write_arrays(job.store.arrays_path(job.run.id, step.iteration), step_arrays(step))
                save_checkpoint(folder, step, record)
            job.append(record)
            records.append(record)
            ahead = coverage_ahead(config, step)
            if ahead:
                plan.update([done["coverage"] for done in records[1:]], ahead)
    if not is_over(config, records):
        return False
    with files.storage(folder):
        publish_model(folder, config, job.store.steps(job.run.id))
    drop_checkpoints(folder)
    return True


def run_adapt(job: Job) -> bool:
    """One of Cola's strategies (`core/cola`)."""
    from core.cola.background import run_adapt as run

    return run(job)


def run_evaluate(job: Job) -> bool:
    """A benchmark scored and measured (`core/sweeps`)."""
    from core.sweeps.evaluate import run_evaluate as run

    return run(job)


def run_measure(job: Job) -> bool:
    """A scorer measured as the papers do, with and without its language prior (`core/papers`)."""
    from core.papers.measure import run_measure as run

    return run(job)


# What a run can be. A function gets its Job and returns whether it came to its end (False: it was stopped).
KINDS: dict[str, Callable[[Job], bool]] = {
    "ttm": run_job,
    "simplematch": run_job,
    "adapt": run_adapt,
    "evaluate": run_evaluate,
    "measure": run_measure,
}


def work(job: Job) -> tuple[str, str | None]:
    """Wait for a slot, then do what the run's kind does; the final status, and the sentence if it failed."""
    try:
        if job.run.kind not in KINDS:
            raise unknown_name("kind of run", job.run.kind, KINDS)
        if not job.wait_for_turn():
            return "stopped", None
        return ("finished" if KINDS[job.run.kind](job) else "stopped"), None
    except Superseded:
        raise
    except InputError as error:
        log.exception("failed")
        return "failed", str(error)
    except Exception as error:
        log.exception("failed")
        first = str(error).strip().splitlines()[:1]
        return "failed", ": ".join([type(error).__name__, *first])


def main(arguments: Sequence[str]) -> int:
    """Claim the run, work, and leave a last word in the store."""
    root, run_id, attempt = arguments
    os.umask(0o077)  # what a run writes is its owner's alone
    if public() and hasattr(os, "nice"):
        os.nice(5)  # on a server that everybody shares, pages come before runs
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        job = Job(RunStore(Path(root)), run_id, int(attempt))
        signal.signal(signal.SIGTERM, job.ask_to_stop)
        job.store.claim(run_id, job.attempt, processes.identify(os.getpid()))
        with heartbeats(job):
            status, error = work(job)
        job.store.conclude(run_id, job.attempt, status, error)
    except Superseded:
        log.info("this run was deleted, stopped or started anew; nothing left to do")
    except InputError as error:  # not even the store can be written: whoever looks finds the run interrupted
        log.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
