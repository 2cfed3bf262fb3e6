"""What every store must do for the attempt at a run that works with it (`core.runs.open_store.AttemptStore`).

`home` is the run store, where people look; `store` is what the attempt has of it: the same on this machine, and on a
node of a cluster one that asks the driver's store for everything.
"""

import json
from dataclasses import dataclass
from itertools import count

import numpy as np
import pytest

from core import worker
from core.base import files
from core.runs import attempt as attempts
from core.runs.attempt import RunAttempt
from core.runs.open_store import AttemptStore
from core.runs.store import AttemptSuperseded, Run, RunStore
from core.sweeps import _remote_store as remote_store
from core.sweeps._driver_store import QUEUE, DriverStore
from core.sweeps._remote_store import RemoteStore
from core.ttm.run import TTMRun


@dataclass
class Opened:
    """An attempt at a run, and its store."""

    home: RunStore
    store: AttemptStore
    run_id: str
    attempt: int

    @property
    def run(self):
        return self.home.get(self.run_id)

    def start(self):
        assert self.store.try_start(self.run_id, self.attempt, 100) == 0

    def write(self, iteration, **more):
        self.store.append_step(self.run_id, {"iteration": iteration, **more}, self.attempt)

    def beat(self, **progress):
        return self.store.beat(self.run_id, self.attempt, "running", **progress)

    def conclude(self, status, error=None):
        self.store.conclude(self.run_id, self.attempt, status, error)


def on_this_machine(home, run_id, scratch):
    return home, home.queue_up(run_id)


def on_a_node(home, run_id, scratch):
    driver_store = DriverStore(str(home.root), "1")
    home.queue_up(run_id, QUEUE)
    attempt, record = driver_store.begin(run_id, "a node", "1")
    store = RemoteStore(lambda method, *a: getattr(driver_store, method)(*a), Run(**record), attempt, scratch)
    store.fetch()
    return store, attempt


# A store of one's own: its line here puts it through everything below.
STORES = {"this machine": on_this_machine, "a node": on_a_node}


@pytest.fixture(params=STORES)
def open_store(request, tmp_path, monkeypatch):
    """Opens the store for another attempt at a run; the run is new where none is named."""
    monkeypatch.setattr(remote_store, "HEARTBEAT_SECONDS", 0.0)  # every heartbeat travels
    monkeypatch.setattr(remote_store, "CHUNK", 1000)  # in many pieces
    home = RunStore(tmp_path / "runs")

    def opened(run_id=None, job=None):
        if run_id is None:
            kind, config = ("ttm", {"model": "m"}) if job is None else (job.kind, job.written())
            run_id = home.create(kind, "a run", config).id
        store, attempt = STORES[request.param](home, run_id, tmp_path / f"scratch-{next(numbers)}")
        return Opened(home, store, run_id, attempt)

    numbers = count()
    return opened


# ---- records and arrays


def same_bytes(arrays, others):
    return {n: (a.dtype, a.tobytes()) for n, a in arrays.items()} == {
        n: (a.dtype, a.tobytes()) for n, a in others.items()
    }


def test_records_come_in_order_and_a_repeated_iteration_replaces_it_and_drops_what_followed(open_store):
    opened = open_store()
    for iteration in range(4):
        opened.write(iteration, value=iteration)
    assert [step["value"] for step in opened.store.steps(opened.run_id)] == [0, 1, 2, 3]
    assert opened.run.done == 3
    opened.write(1, value=10)
    assert [step["value"] for step in opened.home.steps(opened.run_id)] == [0, 10] and opened.run.done == 1


def test_a_record_that_is_not_json_is_refused_and_nothing_of_it_kept(open_store):
    opened = open_store()
    with pytest.raises(ValueError):
        opened.write(0, loss=float("nan"))
    assert opened.home.steps(opened.run_id) == []


def test_arrays_are_at_home_when_their_record_is_and_the_same_to_the_bit(open_store):
    opened, scores = open_store(), np.random.default_rng(0).normal(size=(500, 2, 3)).astype(np.float32)
    arrays = {"scores": scores, "selected": scores[:, 0, 0] > 0, "nothing": np.zeros(0)}
    files.write_arrays(opened.store.arrays_path(opened.run_id, 0), arrays)
    opened.write(0)
    assert same_bytes(opened.home.arrays(opened.run_id, 0), arrays)


# ---- the life of an attempt


def test_its_run_is_the_one_at_home(open_store):
    opened = open_store()
    seen = opened.store.get(opened.run_id)
    assert (seen.id, seen.kind, seen.config, seen.attempt) == (opened.run_id, "ttm", {"model": "m"}, 1)
    assert opened.store.folder(opened.run_id).is_dir()


def test_progress_is_seen_at_home(open_store):
    opened = open_store()
    opened.start()
    opened.beat(total=7)
    assert opened.beat(fraction=0.5, message="half of it", seconds_left=9.0) == "running"
    run = opened.run
    assert (run.status, run.total, run.fraction, run.message) == ("running", 7, 0.5, "half of it")
    assert 0 < run.seconds_left <= 9


def test_whoever_asks_to_stop_is_heard_with_the_next_heartbeat(open_store):
    opened = open_store()
    opened.start()
    opened.home.request_stop(opened.run_id)
    assert opened.beat() == "stopping"


def test_an_attempt_given_up_for_dead_that_beats_again_is_running_again(open_store):
    opened = open_store()
    opened.start()
    with opened.home._database.transaction(write=True) as database:
        opened.home._set(database, opened.run_id, heartbeat=0.0)
    assert opened.run.status == "interrupted"
    assert opened.beat(fraction=0.5) == "running"
    assert (opened.run.status, opened.run.fraction, opened.run.ended) == ("running", 0.5, None)


@pytest.mark.parametrize(
    ("status", "error", "sentence"),
    [
        ("finished", None, None),
        ("stopped", None, None),
        ("failed", "OSError: \ud800.png is gone", "OSError: ?.png is gone"),
    ],
)
def test_its_last_word_is_kept(open_store, status, error, sentence):
    opened = open_store()
    opened.start()
    opened.beat(fraction=0.5, seconds_left=3.0)
    opened.conclude(status, error)
    run = opened.run
    assert (run.status, run.error, run.seconds_left) == (status, sentence, None) and run.ended is not None
    assert run.fraction == (1.0 if status == "finished" else 0.5)


@pytest.mark.parametrize("gone", ["resumed elsewhere", "deleted"])
@pytest.mark.parametrize("with_arrays", [True, False])
def test_an_attempt_that_is_not_the_newest_or_has_no_run_can_write_nothing(open_store, gone, with_arrays):
    opened = open_store()
    home, run_id = opened.home, opened.run_id
    if with_arrays:
        files.write_arrays(opened.store.arrays_path(run_id, 0), {"scores": np.zeros(3)})
    if gone == "deleted":
        home.delete(run_id)
    else:
        home.conclude(run_id, opened.attempt, "interrupted")
        assert home.queue_up(run_id) == opened.attempt + 1
    for act in (opened.beat, lambda: opened.write(0), lambda: opened.conclude("finished")):
        with pytest.raises(AttemptSuperseded):
            act()
    assert home.steps(run_id) == []
    assert [run.status for run in home.list()] == ([] if gone == "deleted" else ["queued"])


# ---- a whole run


@pytest.fixture
def job(tmp_path):
    """Thirty 2x2 groups whose first numbers say what belongs together."""
    rng = np.random.default_rng(0)
    meaning = rng.normal(size=(30, 2, 3))
    parts = (np.concatenate([0.6 * meaning, rng.normal(size=(30, 2, 5))], axis=2) for _ in range(2))
    images, captions = (part.reshape(60, 8).astype(np.float32) for part in parts)
    np.savez(tmp_path / "embeddings.npz", img=images, cap=captions)
    options = {"iterations": 4, "epochs": 2, "lr": 1e-2, "seed": 3}
    return TTMRun.of_file(tmp_path / "embeddings.npz", options=options, device="cpu")


def timeless(records):
    return [{k: v for k, v in json.loads(json.dumps(r)).items() if "seconds" not in k} for r in records]


class Lost(BaseException):
    """The machine that worked for the run is gone."""


def test_a_run_that_is_lost_and_taken_up_again_ends_bit_equal_to_one_that_was_not(
    open_store, job, monkeypatch, tmp_path
):
    whole = list(job.execute())
    whole[-1].model.save(tmp_path / "whole")
    first, append_step = open_store(job=job), RunStore.append_step
    home, run_id = first.home, first.run_id

    def lost_at_two(store, run_id, step, *given, **progress):
        if step["iteration"] == 2:
            raise Lost
        append_step(store, run_id, step, *given, **progress)

    with monkeypatch.context() as patch, pytest.raises(Lost):  # the files of iteration 2 are at home
        patch.setattr(RunStore, "append_step", lost_at_two)
        worker.work(RunAttempt(first.store, run_id, first.attempt))
    assert len(home.steps(run_id)) == 2 and (home.folder(run_id) / "checkpoint-0002").is_dir()
    home.conclude(run_id, first.attempt, "interrupted")
    again = open_store(run_id)
    assert (again.store.folder(run_id) / "checkpoint-0002").is_dir()
    assert worker.work(RunAttempt(again.store, run_id, again.attempt)) == ("finished", None)
    again.conclude("finished")
    assert (again.run.status, again.run.done, again.run.attempt) == ("finished", 4, 2)
    assert timeless(home.steps(run_id)) == timeless([each.record for each in whole])
    assert all(same_bytes(home.arrays(run_id, i), each.arrays) for i, each in enumerate(whole))
    model = home.folder(run_id) / "model"
    files.verify_manifest(model)
    weights = [path for path in (tmp_path / "whole").iterdir() if path.suffix in (".safetensors", ".npz")]
    assert weights and all((model / path.name).read_bytes() == path.read_bytes() for path in weights)
    assert {path.name for path in home.folder(run_id).iterdir()} - {"log.txt"} == {
        "config.json",
        "model",
        "steps",
    }


def test_stopping_in_the_middle_keeps_what_is_finished(open_store, job, monkeypatch):
    monkeypatch.setattr(attempts, "HEARTBEAT_SECONDS", 0.01)
    endless = job.model_copy(update={"settings": job.settings.updated({"iterations": 500})})
    opened = open_store(job=endless)
    run = RunAttempt(opened.store, opened.run_id, opened.attempt)
    append = run.append

    def stopped_after_one(record):
        append(record)
        if record["iteration"] == 1:
            opened.home.request_stop(opened.run_id)

    run.append = stopped_after_one
    with attempts.heartbeats(run):
        assert worker.work(run) == ("stopped", None)
    assert 1 <= opened.run.done < 500 and len(opened.home.steps(opened.run_id)) == opened.run.done + 1
