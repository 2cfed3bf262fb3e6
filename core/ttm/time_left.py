"""How long a run will take, from the runs that this machine has finished, or from a rehearsal here."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from statistics import median
from typing import Any, NamedTuple

from core.base import paths
from core.base.text import duration
from core.runs.store import Run, RunStore
from core.scoring.weights import weights_bytes
from core.ttm.run import AdaptationRun, SimpleMatchRun

# What `crossmatch doctor --rehearse` has measured (core/doctor/rehearsal.py writes it), in the folder of caches:
# records by model, benchmark, device and machine.
REHEARSALS = "rehearsals.json"
# Seconds per group and epoch where no earlier run says better, on two cores; a run trains on 60 % of its groups on
# average while its threshold falls.
_DEFAULT_SECONDS = {"builtin/": 0.006, "embeddings": 0.0001}
_DEFAULT_START = (
    3.0  # seconds of its process until it trains, and at its end; a run on embeddings is hardly more
)
# SimpleMatch ends when all pseudo-labels pass GroupScore's test, long before its 30 rounds: the built-in model on
# scenes/left-right after 6 rounds of 5 epochs, whatever the seed.
_EPOCHS_OF_SIMPLEMATCH = 30
_LAST_RUNS = 5  # the newest, whose median is taken
_SURE = 60  # seconds: what is expected to take less is mostly the start of a process, which a busy machine triples


class _TimeEstimate(NamedTuple):
    """Seconds for one group in one epoch, averaged over a run; and where that is known from.

    A rehearsal tells apart what the others have in it, or leave out: scoring a group after each iteration, preparing
    and scoring it before the first, and the start of the process.
    """

    seconds: float
    source: str  # "this model and set", "this model", "another model, by size", "a rough estimate", "a rehearsal ..."
    scoring: float = 0.0
    before: float = 0.0
    start: float = 0.0
    epochs: int = 0  # in all, of an earlier run that may have ended before its last round; 0 where none says


def _seconds_per_iteration(store: RunStore, wanted: AdaptationRun) -> _TimeEstimate | None:
    """The pace of the finished runs that are most like this description; None where none is. Of several it is the
    median of the newest ones: one alone may have had a busy machine, or a quiet one.

    Of runs of the same kind on the same device: of this model on this set, of this model; else a rehearsal; else of
    another one whose weights are here too, scaled by their sizes. For what is built in, a guess. The run that ships
    ran on another machine.
    """
    model = wanted.model
    done = [
        run
        for run in store.list(wanted.kind)
        if run.status == "finished" and run.device == wanted.device and not run.is_example
    ]
    same = {
        "this model and set": lambda run: (
            (run.config["benchmark"], run.config["model"]) == (wanted.benchmark, model)
        ),
        "this model": lambda run: run.config["model"] == model,
    }
    for source, fits in same.items():
        if found := _median_of(store, filter(fits, done), source):
            return found
    if rehearsed := _rehearsed(wanted):
        return rehearsed
    guess = next((seconds for start, seconds in _DEFAULT_SECONDS.items() if model.startswith(start)), None)
    if guess is not None:
        return _TimeEstimate(guess, "a rough estimate", start=_DEFAULT_START)
    return _by_size(store, done, model)


def _median_of(store: RunStore, runs: Iterable[Run], source: str) -> _TimeEstimate | None:
    """The median pace, start and epochs of the newest of these runs that have been timed; None of none.

    What was timed begins when its process is at work, so that its start counts as much as where no run is known.
    """
    timed = ((run, steps) for run in runs if _measured(run, steps := store.steps(run.id)))
    last = [*islice(timed, _LAST_RUNS)]
    if not last:
        return None
    starts = [_beside(run, steps) for run, steps in last]
    return _TimeEstimate(
        median(_measured(run, steps) for run, steps in last),
        source,
        start=max(_DEFAULT_START, median(starts)),
        epochs=round(median(_epochs(run, steps) for run, steps in last)),
    )


def _rehearsed(wanted: AdaptationRun) -> _TimeEstimate | None:
    """What a rehearsal of this model on this set here has measured, with the memory that it told; None without one."""
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        known = json.loads((paths.home() / "cache" / REHEARSALS).read_text(encoding="utf-8"))
    found = known.get(" ".join((wanted.model, wanted.benchmark, wanted.device, platform.node()))) or {}
    if not found.get("ttm"):
        return None
    memory, ttm = found["memory"][wanted.kind] / 1e9, found["ttm"]
    return _TimeEstimate(
        ttm["seconds_per_group_and_epoch"],
        f"a rehearsal here, which expects {memory:.1f} GB of memory",
        ttm.get("seconds_per_group_and_scoring", 0.0),  # earlier versions noted none
        ttm.get("seconds_per_group_before", 0.0),
        ttm.get("start_seconds", 0.0),
    )


def _by_size(store: RunStore, done: Sequence[Run], model: str) -> _TimeEstimate | None:
    own = weights_bytes(model)
    for run in done if own else ():
        other = None if run.config.get("embeddings") else weights_bytes(run.config["model"])
        steps = store.steps(run.id)
        seconds = _measured(run, steps)
        if own and other and seconds:
            return _TimeEstimate(seconds * own / other, "another model, by size", epochs=_epochs(run, steps))
    return None


def _measured(run: Run, steps: Sequence[Mapping[str, Any]]) -> float:
    """Seconds per group and epoch over a run's iterations, whatever their coverage was."""
    epochs = run.config[run.kind]["epochs"]
    work = sum(step["n_groups"] * epochs for step in steps[1:])
    return sum(step["seconds"] for step in steps[1:]) / work if work else 0.0


def _epochs(run: Run, steps: Sequence[Mapping[str, Any]]) -> int:
    return run.config[run.kind]["epochs"] * len(steps[1:])


def _iterations(found: _TimeEstimate, run: AdaptationRun) -> int:
    """After how many iterations a run of this description ends: of SimpleMatch after as many epochs as an earlier run,
    or as SimpleMatch usually has, but never beyond its last round."""
    if not isinstance(run, SimpleMatchRun):
        return run.total
    epochs = found.epochs or _EPOCHS_OF_SIMPLEMATCH
    return min(run.total, math.ceil(epochs / run.settings.epochs))


def _beside(run: Run, steps: Sequence[Mapping[str, Any]]) -> float:
    """Seconds of a run beside its iterations: until its model was loaded and had scored, and its end. A short run is
    mostly that. 0 of one that was interrupted, whose clock went on."""
    if run.attempt > 1 or run.started is None or run.ended is None:
        return 0.0
    return max(0.0, run.ended - run.started - sum(step["seconds"] for step in steps[1:]))


def expected_seconds(store: RunStore, run: AdaptationRun, groups: int) -> tuple[float | None, str]:
    """Seconds that a run of this description on so many groups is expected to take, and where that is known from."""
    found = _seconds_per_iteration(store, run)
    if found is None:
        return None, "no earlier run to go by"
    iteration = found.seconds * run.settings.epochs + found.scoring
    return found.start + groups * (found.before + iteration * _iterations(found, run)), found.source


def _span(seconds: float, runs: int = 1) -> str:
    """How long so many runs take, one after another, each of which was reckoned to take so many seconds: from half of
    it, since few groups may be trained on, to once and a half, which is what runs on a machine of two busy cores took;
    of one that takes seconds to three times as long, as that is mostly the start of its process.
    Both ends are rounded outwards, to what such a span is exact to: seconds, five of them, minutes. A span that ends
    within a minute is said as that.

    >>> _span(104), _span(40), _span(1), _span(10, 4), _span(1, 4)
    ('about 50 s to 3 min', 'about 20 s to 2 min', 'under a minute', 'about 20 s to 2 min', 'under a minute')
    """
    slow = 3 if seconds < _SURE / 2 else 2 if seconds < _SURE else 1.5
    low, high = runs * max(1, seconds / 2), runs * max(2, slow * seconds)
    if high <= _SURE:
        return "under a minute"
    least, most = (1 if end < 10 else 5 if end < 60 else 60 for end in (low, high))
    return f"about {duration(math.floor(low / least) * least)} to {duration(math.ceil(high / most) * most)}"


def _foretold(store: RunStore, run: AdaptationRun, record: Mapping[str, Any]) -> float | None:
    """The same for a run at work, by the record of an iteration, which says how many groups it has."""
    return expected_seconds(store, run, record["n_groups"])[0]
