"""Every kind of run killed and resumed: it ends with the record of one that was left alone.

A process is killed in the middle of its work, where it waits at the test's gate. Between any two writes, where no gate
can stand, the crash is an exception in this process.
"""

import json
import os
import signal
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from gates import MOMENT, VARIABLE, until
from small_cola import SMALL_COLA

from core.cola._training_data import builtin_training_queries
from core.cola.run import StrategyRun
from core.papers.measurement_run import MeasurementRun
from core.run_kinds import RUN_KINDS
from core.runs import attempt, resume
from core.runs.engine import launch
from core.runs.resume import carry_out
from core.runs.store import RunStore
from core.scenes.sets import load
from core.scorers.embedding import EmbeddingModel
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups
from core.sweeps.evaluate import EvaluationRun
from core.ttm.run import LedgerRun, SimpleMatchRun, TTMRun

pytestmark = pytest.mark.slow

small_queries = cache(builtin_training_queries.__wrapped__)
TESTS = Path(__file__).resolve().parent
SET = "scenes/left-right"


@pytest.fixture(scope="module")
def embeddings(tmp_path_factory):
    """A file of 24 groups, which a new process reads without importing transformers."""
    path, rng = tmp_path_factory.mktemp("embeddings") / "embeddings.npz", np.random.default_rng(0)
    np.savez(path, img=rng.normal(size=(48, 8)), cap=rng.normal(size=(48, 8)))
    return path


@pytest.fixture(scope="module")
def scorer(tmp_path_factory):
    """A model's folder for the first groups of a built-in set: no process has to import transformers for it either."""
    groups, rng = load(SET, "test").select(range(12)).groups, np.random.default_rng(0)
    images = list(dict.fromkeys(image.key for group in groups for image in group.images))
    captions = list(dict.fromkeys(caption for group in groups for caption in group.captions))
    rows = (rng.normal(size=(len(each), 8)) for each in (images, captions))
    folder = tmp_path_factory.mktemp("model") / "embeddings"
    EmbeddingModel(*rows, images, captions, scale=10.0).save(folder)
    return folder


FAST = {"epochs": 2, "lr": 1e-3, "keep_optimizer": True}
COLA = {"strategy": "linear", "epochs": 2, "steps": 2, "batch": 4}
# Kind -> a small run of it, from a file of embeddings and a scorer's folder; the moment at which its process is killed,
# and how many records it has by then.
KILLED = {
    "ttm": (
        lambda file, scorer: TTMRun.of_file(file, options={"iterations": 3, **FAST}),
        "0 iteration 2 of 3",
        2,
    ),
    "simplematch": (
        lambda file, scorer: SimpleMatchRun.of_file(file, options={"rounds": 3, "patience": 3, **FAST}),
        "0 iteration 2 of 3",
        2,
    ),
    "ledger": (
        lambda file, scorer: LedgerRun.of_file(
            file, options={"iterations": 2, **FAST}, controls=["random-matchings", "other-images"]
        ),
        "0 other-images (2 of 3): iteration 2 of 2",
        4,
    ),
    "adapt": (lambda file, scorer: StrategyRun.of(images=12, options=COLA), "0 epoch 2 of 2", 2),
    "evaluate": (
        lambda file, scorer: EvaluationRun.of(SET, str(scorer), groups=12, shard=4),
        "0 scoring shard 2 of 3",
        0,
    ),
    "measure": (
        lambda file, scorer: MeasurementRun.of(SET, str(scorer)).model_copy(update={"groups": 12}),
        "0.5 scoring",
        0,
    ),
}


@pytest.fixture
def described(embeddings, scorer, monkeypatch):
    """The small run of a kind; Cola's world is small for it here and in its process."""
    for path, value in SMALL_COLA.items():
        monkeypatch.setattr(path, value)
    monkeypatch.setattr("core.cola.tasks.builtin_training_queries", small_queries)
    monkeypatch.setenv("TEST_SMALL_COLA", "1")
    return lambda kind: KILLED[kind][0](embeddings, scorer)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store whose workers can import the tests' own; whatever still runs at the end is ended."""
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gate"))
    monkeypatch.chdir(tmp_path)  # not the checkout: a worker must find `core` from anywhere
    store = RunStore(tmp_path / "runs")
    yield store
    for run in store.list():
        store.delete(run.id)


def timeless(record):
    return {
        name: value
        for name, value in json.loads(json.dumps(record)).items()
        if not name.startswith("seconds") and name != "measured_in"
    }


def records(store, run_id):
    return [timeless(step) for step in store.steps(run_id)]


def left_alone(job, monkeypatch, tmp_path):
    """The records of an uninterrupted run, which leaves nothing in the cache that the killed one could use."""
    with monkeypatch.context() as patch:
        patch.setenv("CROSSMATCH_HOME", str(tmp_path / "another home"))
        return [timeless(each.record) for each in job.execute()]


def test_every_kind_of_run_is_killed_here():
    assert set(KILLED) == set(RUN_KINDS) - {"count"}  # tests/counting_worker.py has a kind of its own


@pytest.mark.parametrize("kind", KILLED)
def test_a_process_killed_in_the_middle_of_its_work_is_resumed_to_the_same_end(
    store, described, monkeypatch, tmp_path, kind
):
    job, (_, moment, done) = described(kind), KILLED[kind]
    expected = left_alone(job, monkeypatch, tmp_path)
    monkeypatch.setenv(MOMENT, moment)
    run = store.create(job.kind, "killed", job.written())
    launch(store, run.id, "gated_worker")
    share, _, what = moment.partition(" ")
    arrived = lambda now: now.message.startswith(what) and now.fraction >= float(share)  # noqa: E731
    until(lambda: arrived(store.get(run.id)) or not store.get(run.id).live)
    assert store.get(run.id).live, store.log(run.id)
    os.kill(store.get(run.id).pid, signal.SIGKILL)
    until(lambda: not store.get(run.id).live)
    assert store.get(run.id).status == "interrupted" and records(store, run.id) == expected[:done]
    assert carry_out(begin(store, run.id), job)
    assert records(store, run.id) == expected


# ---- between any two writes


SORTS = {
    "adapters": {"lora_rank": 2, "lr": 1e-2, "keep_optimizer": True},
    "global": {"variant": "global", "threshold_mode": "relative", "coverage_first": 0.5},
    "transfer": {"keep_optimizer": True},
    "parts": {"micro_batch": 5},
}


def sort_of_job(sort, folder):
    """A short run of a tiny CLIP, of every sort there is."""
    if sort == "simplematch":
        options = {"rounds": 3, "epochs": 2, "lr": 1e-3, "patience": 3}
        return SimpleMatchRun.of(SET, str(folder), groups=12, options=options)
    options = {"iterations": 3, "epochs": 2, "lr": 1e-3, **SORTS[sort]}
    share = 0.5 if sort == "transfer" else None
    return TTMRun.of(SET, str(folder), groups=12, options=options, adapt_on=share)


def begin(store, run_id):
    """The run taken up by this very process, past the queue; a process that worked for it is dead."""
    with store._database.transaction(write=True) as connection:
        store._set(connection, run_id, heartbeat=0.0)
    job = attempt.RunAttempt(store, run_id, store.queue_up(run_id))
    assert job.wait_for_turn()
    return job


class Crash(BaseException):
    """As if the process were gone."""


def crash_before_every_write(patch):
    """Each write that a run makes is its end when it comes for the first time; what it came to, in this order."""
    crashed = []

    def crash_once(place, name, iteration_of):
        write = getattr(place, name)

        def act(*arguments):
            what = (name, iteration_of(*arguments))
            if what not in crashed:
                crashed.append(what)
                raise Crash
            return write(*arguments)

        patch.setattr(place, name, act)

    crash_once(resume, "_write_checkpoint", lambda folder, now: now.record["iteration"])
    crash_once(attempt.RunAttempt, "append", lambda job, record: record["iteration"])
    crash_once(resume, "_publish", lambda *_: None)
    return crashed


@pytest.mark.parametrize("sort", ["simplematch", *SORTS, "adapt", "evaluate", "measure"])
def test_a_crash_before_every_write_changes_nothing(
    store, described, tiny_clip_folder, monkeypatch, tmp_path, sort
):
    job = described(sort) if sort in ("adapt", "evaluate", "measure") else sort_of_job(sort, tiny_clip_folder)
    expected = left_alone(job, monkeypatch, tmp_path)
    run = store.create(job.kind, "crashing", job.written())
    crashed = crash_before_every_write(monkeypatch)
    finished = False
    while not finished:
        try:
            finished = carry_out(begin(store, run.id), job)
        except Crash:
            continue
    steps = range(len(expected))
    writes = [(name, step) for step in steps for name in ("_write_checkpoint", "append")]
    assert crashed == ([*writes, ("_publish", None)] if job.total else [("append", 0)])
    assert records(store, run.id) == expected
    # Killed before its last word: nothing is computed again.
    monkeypatch.setattr(type(job), "execute", None)
    assert carry_out(begin(store, run.id), job) and records(store, run.id) == expected
    if job.model == str(tiny_clip_folder):
        model = load_scorer(str(store.folder(run.id) / "model"))
        scores = store.scores(run.id, len(expected) - 1)
        np.testing.assert_allclose(score_groups(model, job.load_groups().blind()), scores, atol=1e-4)
