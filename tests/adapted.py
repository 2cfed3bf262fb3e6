"""Finished runs for the page tests: real ones, small, made once."""

import shutil
from dataclasses import dataclass

import pytest

from core import worker
from core.runs.attempt import RunAttempt
from core.runs.store import RunStore
from core.ttm.run import SimpleMatchRun, TTMRun, store_embeddings
from core.ttm.seeds import seeded

SET, MODEL, GROUPS = "scenes/left-right", "builtin/clip", 24
SMALL = {"iterations": 2, "epochs": 1}


@dataclass(frozen=True)
class Made:
    """Ids of the finished runs in a home."""

    group: str  # of two seeds
    seeds: list[str]
    simplematch: str
    transfer: str
    wide: str  # the global variant
    file: str  # on an embeddings file


def finish(store, title, job):
    """A run from its creation to its end, in this process."""
    run = store.create(job.kind, title, job.written())
    attempt = RunAttempt(store, run.id, store.queue_up(run.id))
    status, error = worker.work(attempt)
    assert error is None
    store.conclude(run.id, attempt.attempt, status)
    return run.id


@pytest.fixture(scope="session")
def made_home(scored_home, tmp_path_factory):
    """A scored home with finished runs, and their ids."""
    home = tmp_path_factory.mktemp("made")
    shutil.copytree(scored_home, home, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROSSMATCH_HOME", str(home))
        return home, make(home)


def make(home):
    import numpy as np

    store, group = RunStore(), "g-0123abcd"
    jobs = seeded(TTMRun.of(SET, MODEL, groups=GROUPS, options=SMALL), 2, group)
    seeds = [finish(store, f"{SET} · *{MODEL}* <b>x</b> · seed {i}", job) for i, job in enumerate(jobs)]
    quick = {"rounds": 2, "epochs": 1}
    one = SimpleMatchRun.of(SET, MODEL, groups=GROUPS, options=quick)
    half = TTMRun.of(SET, MODEL, groups=GROUPS, adapt_on=0.5, options=SMALL)
    wide = {"variant": "global", "threshold_mode": "relative", "tau_first": 0.5, "tau_last": 0.0}
    everything = TTMRun.of(SET, MODEL, groups=GROUPS, options={**SMALL, **wide})
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(24, 6))
    np.savez(home / "mine.npz", img=rows, cap=rows + rng.normal(size=rows.shape))
    kept = store_embeddings("mine.npz", (home / "mine.npz").read_bytes())  # as a page does with an upload
    file = TTMRun.of_file(kept, options={**SMALL, "epochs": 100})  # so that it changes groups
    return Made(
        group,
        seeds,
        finish(store, "once", one),
        finish(store, "half", half),
        finish(store, "wide", everything),
        finish(store, "from a file", file),
    )


@pytest.fixture
def made(made_home, tmp_path, monkeypatch, app):
    """A copy of that home to work on; its runs' ids."""
    home, ids = made_home
    place = tmp_path / "home"
    shutil.copytree(home, place, dirs_exist_ok=True)
    return ids
