"""Sweeps on a Ray cluster of several nodes on this machine, one of which is killed in the middle."""

import os
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from adapted import finish
from gates import VARIABLE, Gate, until
from packages import WORD_COUNT, install

from core import worker
from core.base import files
from core.base.errors import InputError
from core.runs.store import RunStore
from core.scenes.sets import load
from core.scorers.embedding import EmbeddingModel
from core.sweeps import ray as ray_cluster
from core.sweeps._driver_store import DriverStore
from core.sweeps._plan import parse_plan
from core.sweeps.ray import run_on_ray

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow

TTM = """
kind: ttm
models: {model}
benchmarks: scenes/left-right
groups: 8
device: cpu
settings: {{epochs: 1, iterations: 3, lr: 0.01}}
"""
SHARDED = """
kind: evaluate
models: python:wordcount
benchmarks: scenes/left-right
groups: 12
shard: 4
device: cpu
"""
SMALL_STORE = 80 * 1024 * 1024
# A node that is gone refuses a connection at once: asked every half second it is given up after two, not fifteen. A
# node that is only slow still has ten seconds for every answer.
PROMPT = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500}
TESTS = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A head that takes no tasks and two nodes of one CPU each; nothing beyond this machine."""
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    patch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    patch.setenv("HF_HUB_OFFLINE", "1")
    home = tmp_path_factory.mktemp("nodes")
    patch.setenv("CROSSMATCH_HOME", str(home))
    patch.setenv(VARIABLE, str(home / "gate"))
    site = install(home / "site", WORD_COUNT, {"wordcount": "ten_lines_of_scorer:WordCount"})
    patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (TESTS.parent, TESTS, site))))
    patch.syspath_prepend(str(site))
    head = {"num_cpus": 0, "object_store_memory": SMALL_STORE, "include_dashboard": False}
    head["_system_config"] = PROMPT
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.nodes = [
        cluster.add_node(num_cpus=1, object_store_memory=SMALL_STORE, wait=False) for _ in range(2)
    ]
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()
    patch.undo()
    sys.modules.pop("ten_lines_of_scorer", None)


@pytest.fixture
def gate(cluster):
    return Gate(Path(os.environ[VARIABLE]))


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")


@pytest.fixture
def model(tmp_path):
    """A folder of embeddings for the groups of the sweep: a node loads it without importing transformers."""
    groups = load("scenes/left-right", "test").select(range(8)).groups
    images = list(dict.fromkeys(image.key for group in groups for image in group.images))
    captions = list(dict.fromkeys(caption for group in groups for caption in group.captions))
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(len(names), 8)) for names in (images, captions))
    EmbeddingModel(*rows, images, captions, scale=10.0).save(tmp_path / "embeddings")
    return tmp_path / "embeddings"


def at_home(store, cell):
    """The cell as a local worker leaves it, in this process."""
    return finish(store, "at home", cell.job)


def node_of(cluster, store, run_id):
    """The node that the run's log named last."""
    name = re.findall(r"\(node (\w+)\)", store.log(run_id))[-1]
    return next(node for node in cluster.nodes if node.node_id == name)


class GatedStore(DriverStore):
    """Takes an iteration in when the test's gate lets it: until then its node waits, with the files handed in."""

    def append(self, run_id, record, attempt, progress):
        Gate.of_environment().wait(record["iteration"])
        super().append(run_id, record, attempt, progress)


def kill_the_first_node(cluster, store, gate, killed):
    """Once the run waits with its second iteration; then the gate opens for the node that goes on."""
    until(lambda: [run for run in store.list() if len(store.steps(run.id)) == 2])
    (run,) = store.list()
    until(lambda: store.folder(run.id).joinpath("checkpoint-0002").is_dir())
    node = node_of(cluster, store, run.id)
    cluster.remove_node(node, allow_graceful=False)
    cluster.nodes.remove(node)
    killed.append(node.node_id)
    gate.open()


def test_a_killed_node_costs_no_iteration_and_the_result_is_that_of_a_run_at_home(
    cluster, store, gate, model, monkeypatch
):
    plan = parse_plan(TTM.format(model=model), "lost")
    monkeypatch.setattr(ray_cluster, "DriverStore", GatedStore)
    gate.let(1)
    killed: list = []
    killer = threading.Thread(target=kill_the_first_node, args=(cluster, store, gate, killed))
    killer.start()
    told: list[str] = []
    (state,) = run_on_ray(store, plan, worker.work, report=told.append, pause=0.1)
    killer.join()
    run = state.run
    assert run.status == "finished" and run.done == 3, (run, store.log(run.id))
    log = store.log(run.id)
    nodes = re.findall(r"\(node (\w+)\), after (\d+) iterations", log)
    assert len(nodes) == 2 and nodes[0][0] == killed[0] != nodes[1][0]
    assert int(nodes[1][1]) >= 2  # it went on, and did not begin again
    assert [log.count(f"iteration {i} done") for i in range(4)] == [1, 1, 1, 1]
    assert log.count("recorded again") <= 1
    home = at_home(store, plan.cells[0])
    for i in range(4):
        ours, theirs = store.arrays(run.id, i), store.arrays(home, i)
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)
    assert not np.array_equal(store.scores(run.id, 1), store.scores(run.id, 3))
    finals = [store.steps(each)[-1]["metrics"] for each in (run.id, home)]
    assert finals[0] == finals[1]
    files.verify_manifest(store.folder(run.id) / "model")
    sums = [files.checksum(store.folder(each) / "model/model.safetensors") for each in (run.id, home)]
    assert sums[0] == sums[1]

    told.clear()
    run_on_ray(store, plan, worker.work, report=told.append, pause=0.1)  # nothing is left to do
    assert told == ["1 of 1 cells are done, 0 at work"] and len(store.list()) == 2


def test_a_benchmark_scored_in_shards_on_a_cluster_equals_plain_scoring(cluster, store):
    plan = parse_plan(SHARDED, "sharded")
    told: list[str] = []
    (state,) = run_on_ray(store, plan, worker.work, report=told.append, pause=0.1)
    assert state.status == "finished", state.run
    home = at_home(store, plan.cells[0])
    np.testing.assert_allclose(store.scores(state.run.id, 0), store.scores(home, 0), rtol=1e-5)
    assert store.steps(state.run.id)[-1]["metrics"] == store.steps(home)[-1]["metrics"]
    assert state.run.device == "ray" and not (store.folder(state.run.id) / "shards").exists()


def test_what_fails_on_a_node_is_told_and_does_not_hold_up_the_others(cluster, store):
    text = SHARDED.replace("groups: 12", "groups: 30000")
    found = run_on_ray(store, parse_plan(text, "too-many"), worker.work, pause=0.1)
    assert found[0].status == "failed" and "30000 groups were asked for" in found[0].run.error


def test_a_client_address_is_refused_with_what_to_do(monkeypatch, store):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(InputError, match="start the sweep on a node"):
        run_on_ray(store, parse_plan(SHARDED, "client"), worker.work, "ray://somewhere:10001")
