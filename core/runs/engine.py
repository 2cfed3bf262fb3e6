"""The one engine: runs are started, waited for and collected here, on this machine or elsewhere.

A sweep's cell and a seed of a table's line are each a `PlannedRun`: a description, and the run of the store that counts
for it, if there is one. `run_all` takes any number of them to a `Place`: processes of this machine, or a cluster
(`core.sweeps.ray`). What one run does in its process is `core.worker`.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from core.base import processes
from core.base.errors import InputError
from core.runs import standby
from core.runs.store import AttemptSuperseded, Run, RunStore, parallel_runs

if TYPE_CHECKING:  # pydantic
    from core.runs.description import RunDescription

_Key = TypeVar("_Key")


class PlannedRun(NamedTuple):
    """Something to compute: a run of the store that goes on, or one that is written down when its turn comes."""

    title: str
    job: RunDescription
    run: Run | None = None

    def write_down(self, store: RunStore) -> Run:
        """The run in the store, made where there is none yet."""
        return self.run or store.create(self.job.kind, self.title, self.job.written())


class Place(Protocol):
    """Where runs are carried out."""

    def has_room(self, working: int) -> bool:
        """Whether it takes another run beside these many."""

    def start(self, store: RunStore, run: Run) -> str:
        """Take up a new run, or one that goes on; what was done with it, in a word."""

    def holds(self, run_id: str) -> bool:
        """Whether it has not done with a run yet, whatever the store says of it."""

    def wait(self, seconds: float) -> None:
        """Let some time pass, and take in what has ended."""


class ThisMachine(NamedTuple):
    """Runs are processes of their own, which stay when whoever started them goes; the store knows all about them.

    at_once : how many work at a time, whatever else the queue of their device lets in; None for `_together`.
    """

    at_once: int | None = None

    def has_room(self, working: int) -> bool:
        return working < (self.at_once or _together())

    def start(self, store: RunStore, run: Run) -> str:
        launch(store, run.id, at_once=self.at_once or _together())
        return "resumed" if run.attempt else "started"

    def holds(self, run_id: str) -> bool:
        return False

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


def _together() -> int:
    """How many runs of one command work at a time: `$CROSSMATCH_PARALLEL_RUNS`, else two, one on a graphics card.

    A small model keeps one core busy, however many it is given (measured: 0.9 of two); a card's memory is for one run.
    """
    return parallel_runs(2 if shutil.which("nvidia-smi") is None else 1)


def launch(store: RunStore, run_id: str, module: str = "core.worker", *, at_once: int | None = None) -> Run:
    """Start a run in a process of its own, or go on with one after its last finished iteration.

    It may wait in the queue of its device first, until fewer than `at_once` work there (None: `parallel_runs`).
    `module` is what the process runs (tests have their own).
    """
    attempt = store.queue_up(run_id)
    arguments = [str(store.root), run_id, str(attempt), *([str(at_once)] if at_once else [])]
    try:
        # A worker that waits in the queue is to be small, so the large one is for a run whose turn it is.
        worker = None if store.is_busy(run_id) else standby.hand_over(module, arguments)
        worker = worker or processes.start_module(module, arguments, store.folder(run_id) / "log.txt")
    except OSError as error:
        sentence = f"The worker of run {run_id} cannot be started ({error}); free some memory and disk, then resume it."
        store.conclude(run_id, attempt, "failed", sentence)
        raise InputError(sentence) from error
    # The worker claims the run too: this is for one that dies before its first word.
    with suppress(AttemptSuperseded):
        store.claim(run_id, attempt, worker)
    return store.get(run_id)


def prepare(store: RunStore) -> None:
    """Have a worker on standby for the next run; none where others work, as that run would wait for them anyway."""
    (standby.close if store.is_busy() else standby.prepare)()


def start(store: RunStore, title: str, job: RunDescription, *, check: bool = True) -> Run:
    """Write a run down and start its process.

    check : refuse one whose data or model are not on this machine; False where that was done.
    """
    if check:
        job.check_ready()
    return launch(store, PlannedRun(title, job).write_down(store).id)


def runs_that_count(runs: Iterable[Run], key: Callable[[Run], _Key]) -> dict[_Key, Run]:
    """Per key the run that counts: a finished one, else one at work, else the newest. `runs` : the newest first.

    The example that ships is nobody's result.
    """
    counting: dict[_Key, Run] = {}
    for run in runs:
        if run.is_example:
            continue
        other = counting.get(key(run))
        if other is None or _rank(run) < _rank(other):
            counting[key(run)] = run
    return counting


def _rank(run: Run) -> int:
    return 0 if run.status == "finished" else 1 if run.live else 2


def run_all(
    store: RunStore,
    planned: Sequence[PlannedRun],
    place: Place,
    report: Callable[[str], None] | None = None,
    pause: float = 0.5,
    after_pause: Callable[[], None] | None = None,
) -> None:
    """Carry out what is planned, in this order, and wait until nothing of it works any more.

    What is finished is never repeated, what is at work is waited for, what was interrupted, stopped or has failed goes
    on after its last iteration, once. report : gets a line of text for every run that is taken up or ends. pause :
    seconds between two looks at the store, each followed by `after_pause`.
    """
    say = report or (lambda text: None)
    waiting = [each for each in planned if each.run is None or each.run.resumable]
    working = [each.run.id for each in planned if each.run is not None and each.run.live]
    while waiting or working:
        while waiting and place.has_room(len(working)):
            run = waiting.pop(0).write_down(store)
            say(f"{place.start(store, run)} {run.id}  {run.title}")
            working.append(run.id)
        for run_id in [each for each in working if not place.holds(each)]:
            run_now = _find(store, run_id)
            if run_now is not None and run_now.live:
                continue
            working.remove(run_id)
            if run_now is not None:  # else it was deleted
                error = f": {run_now.error}" if run_now.error else ""
                say(f"{run_now.status} {run_id}  {run_now.title}{error}")
        if working:
            place.wait(pause)
        if after_pause is not None:
            after_pause()


def _find(store: RunStore, run_id: str) -> Run | None:
    with suppress(InputError):
        return store.get(run_id)
    return None
