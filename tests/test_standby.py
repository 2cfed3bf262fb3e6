"""The worker on standby: one at most, handed a run, ended when idle or with the server, left alone where it does not
fit."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from counting_worker import Counting, CountRun
from gates import VARIABLE, Gate, until

from core.base import limits
from core.runs import standby
from core.runs.engine import launch, prepare
from core.runs.standby import _StandbyWorker
from core.runs.store import RunStore

TESTS = Path(__file__).resolve().parent
COUNTING = "counting_worker"


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS.parent), str(TESTS)]))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gate"))
    Gate(tmp_path / "gate").open()
    store = RunStore(tmp_path / "runs")
    yield store
    for run in store.list():
        store.delete(run.id)


@pytest.fixture
def worker(store):
    with standby.standby_worker(_StandbyWorker(COUNTING)) as worker:
        yield worker


def counting(store):
    return store.create("count", "counting", CountRun(settings=Counting(total=3)).written())


def test_the_worker_that_waits_does_the_next_run_and_writes_its_log(store, worker):
    standby.prepare()
    pid = worker.pid
    standby.prepare()
    assert pid is not None and worker.pid == pid  # never more than one
    run = launch(store, counting(store).id, COUNTING)
    assert run.pid == pid and worker.pid is None
    until(lambda: not store.get(run.id).live)
    assert store.get(run.id).status == "finished" and "iteration 3 done" in store.log(run.id)
    until(lambda: not psutil.pid_exists(pid))  # no zombie either


def test_a_run_behind_another_gets_a_small_worker_of_its_own(store, worker):
    standby.prepare()
    store.queue_up(counting(store).id)
    behind = launch(store, counting(store).id, COUNTING)
    assert behind.pid != worker.pid and worker.pid is not None


def test_none_waits_while_others_work(store, worker):
    prepare(store)
    assert worker.pid is not None
    store.queue_up(counting(store).id)
    prepare(store)
    assert worker.pid is None


def test_a_worker_that_has_died_or_is_of_another_module_is_handed_nothing(store, worker):
    standby.prepare()
    assert standby.hand_over("core.worker", ["", "", ""]) is None and worker.pid is not None
    psutil.Process(worker.pid).kill()
    until(lambda: worker.pid is None)
    assert standby.hand_over(COUNTING, ["", "", ""]) is None
    run = launch(store, counting(store).id, COUNTING)
    until(lambda: not store.get(run.id).live)
    assert store.get(run.id).status == "finished"


def test_it_ends_when_nobody_asks_for_it_any_more(store):
    worker = _StandbyWorker(COUNTING, idle_seconds=0.2)
    worker.prepare()
    process = psutil.Process(worker.pid)
    until(lambda: worker.pid is None and not process.is_running())


PREPARE = f"""
import os
from core.runs.standby import _StandbyWorker
worker = _StandbyWorker({COUNTING!r})
worker.prepare()
print(worker.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_it_ends_with_a_server_that_is_killed(store):
    server = subprocess.run([sys.executable, "-c", PREPARE], capture_output=True, text=True, check=False)
    until(lambda: not psutil.pid_exists(int(server.stdout)))


@pytest.mark.parametrize(("public", "left"), [("", (2 << 30) - 1), ("1", (3 << 30) - 1)])
def test_there_is_none_where_memory_is_short(worker, monkeypatch, public, left):
    monkeypatch.setenv("CROSSMATCH_PUBLIC", public)
    monkeypatch.setattr(limits, "memory_left", lambda: left)
    standby.prepare()
    assert worker.pid is None
    monkeypatch.setattr(limits, "memory_left", lambda: left + 1)
    standby.prepare()
    assert worker.pid is not None


def test_without_a_server_nothing_waits():
    standby.prepare()
    assert standby.hand_over("core.worker", ["", "", ""]) is None
