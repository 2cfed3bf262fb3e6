"""One attempt at a run: its heartbeat, its place in the queue, and the word to stop. Knows no kind of run."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.base.errors import InputError
from core.base.public_mode import RUN_SECONDS, is_public
from core.runs.open_store import AttemptStore
from core.runs.store import AttemptSuperseded, parallel_runs

log = logging.getLogger("crossmatch.worker")

HEARTBEAT_SECONDS = 1.0  # seconds between heartbeats; core.runs.store.HEARTBEAT_TIMEOUT is many of them


class RunAttempt:
    """One attempt at a run: what the function of its kind gets to read and to report with."""

    def __init__(self, store: AttemptStore, run_id: str, attempt: int) -> None:
        self.store, self.run, self.attempt = store, store.get(run_id), attempt
        self.folder = store.folder(run_id)
        self.phase = "queued"
        # Plain values, set by a signal or by the heartbeat: an Event must not be set from a signal handler.
        self.asked, self.lost = False, False
        self._progress: dict[str, Any] = {}
        self._began: float | None = None  # when this attempt began to work
        # From when, and from which fraction, its pace is measured: what comes before the fraction rises is preparation.
        self._since: tuple[float, float] | None = None
        self.expected: float | None = None  # seconds of the whole run, by others of its kind

    def stopping(self) -> bool:
        """Whether the run should end now; cheap enough to be asked before every training step."""
        return self.asked or self.lost

    def ask_to_stop(self, *_: object) -> None:
        """As a signal handler: remember it, the work notices."""
        self.asked = True

    def progress(self, fraction: float, message: str) -> None:
        """Share of the run that is done, in [0, 1]; reaches the store with the next heartbeat. How long the rest takes
        is reckoned by the share of the work, where the fraction knows it (`_Share`)."""
        now, work = time.monotonic(), getattr(fraction, "work", float(fraction))
        if self._began is None:
            self._began = now
        if self._since is None or work <= self._since[1]:
            self._since = (now, work)
        began, first = self._since
        seen = (now - began) * (1 - work) / (work - first) if work > first else None
        left = _blended(seen, self.expected and self.expected * (1 - work), work - first)
        self._progress = {"fraction": float(fraction), "message": message, "seconds_left": left}

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
        except AttemptSuperseded:
            self.lost = True
        except InputError as error:  # a full disk may have room again at the next beat
            log.warning("%s", error)
        else:
            self.asked = self.asked or status not in ("queued", "running") or self._too_long()

    def _too_long(self) -> bool:
        """Public mode bounds how long a run may work; what it has finished by then stays."""
        if not is_public() or self._began is None or time.monotonic() - self._began < RUN_SECONDS:
            return False
        self._progress["message"] = (
            f"stopped: a run may take at most {RUN_SECONDS // 60} minutes on this server"
        )
        return True

    def wait_for_turn(self, at_once: int | None = None) -> bool:
        """Wait until fewer than `at_once` runs work on the device, or take part there; False if stopped before.

        Where nobody says how many, `parallel_runs` does.
        """
        limit = at_once or parallel_runs()
        while not self.stopping():
            ahead = self.store.try_start(self.run.id, self.attempt, limit)
            if not ahead:
                self.phase, self._progress = "running", {"message": "loading the libraries"}
                return True
            self._progress = {"message": f"waiting for {ahead} run{'s' if ahead > 1 else ''} to end"}
            # The far end of a long queue asks less often.
            pause_until = time.monotonic() + min(0.5 * ahead, 5.0)
            while time.monotonic() < pause_until and not self.stopping():
                time.sleep(0.1)
        return False


def _blended(seen: float | None, expected: float | None, share: float) -> float | None:
    """Seconds left, by the pace that was seen on this share of the work and by what was expected before: in the
    beginning the pace is that of seconds, and foretold a quarter or three times of what was to come. From half of the
    work on the pace alone counts."""
    if not seen or not expected:
        return expected if seen is None else seen
    trust = min(1.0, 2 * share)
    return math.exp(trust * math.log(seen) + (1 - trust) * math.log(expected))


@contextmanager
def heartbeats(job: RunAttempt) -> Iterator[None]:
    """Beat from a thread of its own, whatever the work is busy with."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(HEARTBEAT_SECONDS):
            job.beat()

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
