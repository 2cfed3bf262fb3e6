"""A run in this process: written down among the runs as one in the background is, each iteration seen as it ends."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from core.base import processes
from core.base.errors import InputError
from core.base.text import counted
from core.cli._output import print_note
from core.runs.attempt import RunAttempt, heartbeats
from core.runs.description import Iteration, RunDescription
from core.runs.engine import PlannedRun
from core.runs.resume import carry_out
from core.runs.store import AttemptSuperseded, RunStore
from core.ttm.seeds import _new_group, seeded

_Seen = Callable[[Iteration], None]
_NOTHING = "nothing was computed yet, so no run is stored"
_AT_ONCE = 10_000  # somebody waits for it at a terminal: it does not queue behind runs in the background


class _Foreground(NamedTuple):
    """The runs of one command, a seed each.

    store : where they are written down; None where that is not asked for or not possible.
    """

    jobs: list[Any]
    store: RunStore | None
    group: str | None  # of several seeds
    title: str = ""  # of the run; by default the benchmark and the model

    @classmethod
    def of(cls, job: RunDescription, seeds: int = 1, is_stored: bool = True, title: str = "") -> _Foreground:
        """A description over so many seeds."""
        group = _new_group() if is_stored and seeds > 1 else None
        return cls(seeded(job, seeds, group), RunStore() if is_stored else None, group, title)

    def carry_out(
        self, job: RunDescription, seen: _Seen, announce: Callable[[float, str], None] | None = None
    ) -> str | None:
        """One of the jobs, every iteration handed to `seen`; the run's id in the store, None where there is none.

        announce : gets the share that is done, and what is being done. Raises InputError for a run that somebody
        stopped. What ends before its first iteration leaves no run.
        """
        attempt = None if self.store is None else self._attempt(self.store, job, announce)
        if attempt is None:
            for each in job.execute(progress=announce):
                seen(each)
            return None
        with _concluded(attempt) as conclude, heartbeats(attempt), _asked_to_stop(attempt):
            attempt.wait_for_turn(_AT_ONCE)
            conclude("finished" if carry_out(attempt, job, seen) else "stopped")
        return attempt.run.id

    def say(self, stored: list[str | None]) -> None:
        """A last line: which runs there are, or that there are none."""
        if None in stored:
            print_note(
                "not stored; without --no-store the result is kept among the runs (`crossmatch runs list`)"
            )
        elif self.group is not None:
            runs = counted(len(stored), "run")
            print_note(f"stored as group {self.group}, {runs}; see `crossmatch runs seeds {self.group}`")
        else:
            print_note(f"stored as run {stored[0]}; see `crossmatch runs show {stored[0]}`")

    def _attempt(
        self, store: RunStore, job: RunDescription, announce: Callable[[float, str], None] | None
    ) -> RunAttempt | None:
        """The first attempt at a new run, by this process; None, with a remark, where nothing can be written."""
        title = (self.title or f"{job.benchmark} · {job.model}") + (
            f" · seed {job.seed}" if self.group else ""
        )
        try:
            run = PlannedRun(title, job).write_down(store)
            attempt = _Announced(store, run.id, store.queue_up(run.id))
        except InputError as error:
            print_note(f"not stored: {error}")
            return None
        attempt.announce = announce
        store.claim(run.id, attempt.attempt, processes.ProcessIdentity.of(os.getpid()))
        return attempt


class _Announced(RunAttempt):
    """An attempt whose progress somebody sees here, too."""

    announce: Callable[[float, str], None] | None = None

    def progress(self, fraction: float, message: str) -> None:
        super().progress(fraction, message)
        if self.announce is not None:
            self.announce(fraction, message)


@contextmanager
def _concluded(attempt: RunAttempt) -> Iterator[Callable[[str], None]]:
    """The last word of a run in the store, whatever ends it; without an iteration it is removed."""
    store, run_id, ends = attempt.store, attempt.run.id, list[str]()
    try:
        yield ends.append
    except AttemptSuperseded:
        raise
    except BaseException as error:
        if not isinstance(error, Exception):  # Ctrl-C
            _end(attempt, "stopped")
        else:
            said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            _end(attempt, "failed", said)
        if store.steps(run_id):
            print_note(f"what it had done is stored; `crossmatch runs resume {run_id}` goes on after it")
        elif not isinstance(error, Exception):
            print_note(_NOTHING)
        raise
    _end(attempt, ends[-1])
    if ends[-1] == "stopped":
        done = store.steps(run_id)
        after = (
            f" after iteration {done[-1]['iteration']}; `crossmatch runs resume {run_id}` goes on"
            if done
            else f": {_NOTHING}"
        )
        raise InputError(f"Run {run_id} was stopped{after}.")


def _end(attempt: RunAttempt, status: str, error: str | None = None) -> None:
    attempt.store.conclude(attempt.run.id, attempt.attempt, status, error)
    if not attempt.store.steps(attempt.run.id):
        RunStore(attempt.folder.parent).delete(attempt.run.id)


@contextmanager
def _asked_to_stop(attempt: RunAttempt) -> Iterator[None]:
    """While this is open, whoever stops the run from elsewhere ends it after its current step, and not the process."""
    if threading.current_thread() is not threading.main_thread():  # which alone gets signals
        yield
        return
    before = signal.signal(signal.SIGTERM, attempt.ask_to_stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
