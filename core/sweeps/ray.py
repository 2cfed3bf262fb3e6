"""A sweep on a Ray cluster: every cell a task that asks for its share of GPUs, is retried and resumes.

The driver runs on a node of the cluster, beside the run store. Every node has Crossmatch of the same version and the
benchmarks' data; weights that are no folder come from its own cache or the hub.
"""

from __future__ import annotations

import logging
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from core.base import paths
from core.base.errors import InputError
from core.runs.store import AttemptSuperseded, Run, RunStore
from core.sweeps import _node as node
from core.sweeps._driver_store import QUEUE, SLOTS, DriverStore
from core.sweeps._plan import SweepPlan
from core.sweeps.cells import CellState, run_sweep
from core.sweeps.evaluate import EvaluationRun, shard_path

log = logging.getLogger("crossmatch.sweep")

_MAX_TASKS = 256  # that are in the cluster's hands at a time before another cell is handed over
_HEARTBEAT_SECONDS = 10.0  # seconds between heartbeats of what waits there
_STORE_ACTOR = {"num_cpus": 0, "max_concurrency": 8, "max_restarts": 3, "max_task_retries": 3}


class _Task(NamedTuple):
    """What a task that is in the cluster's hands is for."""

    run: str
    what: str  # "cell", "count" or "shard"


def run_on_ray(
    store: RunStore,
    plan: SweepPlan,
    work: node.Work,
    address: str | None = None,
    report: Callable[[str], None] | None = None,
    pause: float = 0.5,
    after_pause: Callable[[], None] | None = None,
) -> list[CellState]:
    """`run_sweep` on a Ray cluster.

    work : what a node does with a run, `core.worker.work`. address : of the cluster; None takes $RAY_ADDRESS, else
    starts one on this machine. A lost node's tasks are tried again elsewhere, up to `plan.retries` times, and go on
    after their newest checkpoint. Whoever is interrupted here ends the tasks; their runs go on when the sweep is
    started again.
    """
    ray = _ray()
    with _connected(ray, address):
        cluster = _Cluster(ray, store, plan, work)
        most = cluster.gpus_of_a_node()
        if report is not None and plan.gpus > most:
            report(
                f"no node has {plan.gpus:g} GPUs (the most is {most:g}); tasks wait until such a node joins"
            )
        try:
            return run_sweep(store, plan, cluster, report, pause, after_pause)
        finally:
            cluster.let_go()


def _ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise InputError("Sweeps on Ray need it installed; run `pip install 'crossmatch[ray]'`.") from None
    return ray


@contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    """A connection for as long as it is needed; one that is there already is used and left."""
    if ray.is_initialized():
        yield
        return
    if (address or "").startswith("ray://"):
        raise InputError(
            f"{address} is a Ray client address; start the sweep on a node of the cluster, with --address auto."
        )
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    here = address is None and not os.environ.get("RAY_ADDRESS")
    try:
        ray.init(address=address, **quiet, **({"include_dashboard": False} if here else {}))
    except (ConnectionError, ValueError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(
            f"No Ray cluster answers at {address or 'this machine'} ({first}); check it."
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def _caller(ray: Any, run_id: str, driver_store: Any) -> Callable[..., Any]:
    """What tasks call the driver's store with: its sentences come through; a store that is gone ends the attempt."""

    def call(method: str, *arguments: Any) -> Any:
        try:
            return ray.get(getattr(driver_store, method).remote(*arguments))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, AttemptSuperseded):
                raise AttemptSuperseded(run_id) from None
            if isinstance(error.cause, InputError):
                raise InputError(str(error.cause)) from None
            raise
        except ray.exceptions.RayActorError:
            raise AttemptSuperseded(run_id) from None

    return call


def _cell_task(driver_store: Any, run_id: str, work: node.Work) -> node.Outcome:
    ray = _ray()
    where = f"{platform.node()} (node {ray.get_runtime_context().get_node_id()})"
    return node.run_cell(_caller(ray, run_id, driver_store), run_id, where, work)


def _shard_task(driver_store: Any, run: dict[str, Any], attempt: int, first: int, end: int) -> node.Outcome:
    return node.score_part(_caller(_ray(), run["id"], driver_store), run, attempt, first, end)


class _Cluster:
    """The place of a sweep's cells on their way through a cluster: a `core.runs.engine.Place`."""

    def __init__(self, ray: Any, store: RunStore, plan: SweepPlan, work: node.Work) -> None:
        self.ray, self.store, self.plan, self.work = ray, store, plan, work
        self.tasks: dict[Any, _Task] = {}  # by Ray's reference to the outcome
        # Runs that wait or are in shards -> attempt: the driver's heart beats for them.
        self.attempts: dict[str, int] = {}
        self.shards: dict[str, list[bool]] = {}  # of a run: whether each that has come back was scored
        self.pending: dict[str, int] = {}  # of a run: shards still out
        self.last_heartbeat = 0.0
        affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        here = affinity(ray.get_runtime_context().get_node_id(), soft=False)
        models = [m for m in {cell.job.model for cell in plan.cells} if os.path.isabs(m)]
        cache = str(paths.home() / "cache" / "scores.sqlite")
        actor = ray.remote(DriverStore).options(**_STORE_ACTOR, scheduling_strategy=here)
        self.driver_store = actor.remote(str(store.root), node.code_version(), models, cache)

    def gpus_of_a_node(self) -> float:
        """The most that any node has."""
        nodes = (each["Resources"] for each in self.ray.nodes() if each["Alive"])
        return max((resources.get("GPU", 0) for resources in nodes), default=0)

    def has_room(self, working: int) -> bool:
        return len(self.tasks) < _MAX_TASKS

    def start(self, store: RunStore, run: Run) -> str:
        self.attempts[run.id] = store.queue_up(run.id, QUEUE)
        if run.kind == EvaluationRun.kind:
            self._submit(run.id, "count", node.count_groups, run.config, gpus=0)
        else:
            self._submit_cell(run.id)
        return "submitted"

    def holds(self, run_id: str) -> bool:
        return any(task.run == run_id for task in self.tasks.values())

    def wait(self, seconds: float) -> None:
        if self.tasks:
            self._take_in(seconds)
        else:
            time.sleep(seconds)
        self._beat()

    def let_go(self) -> None:
        """What has not come back is interrupted; nobody works for it once the store is gone."""
        for ref, task in self.tasks.items():
            with suppress(Exception):
                self.ray.cancel(ref, force=task.what != "count")
        self.ray.kill(self.driver_store)
        for task in self.tasks.values():
            self._end(task.run, "interrupted", None)

    def _submit_cell(self, run_id: str, gpus: float | None = None) -> None:
        self._submit(run_id, "cell", _cell_task, self.driver_store, run_id, self.work, gpus=gpus)

    def _submit(
        self, run_id: str, what: str, function: Any, *arguments: Any, gpus: float | None = None
    ) -> None:
        wanted = self.plan.gpus if gpus is None else gpus
        options = {"num_gpus": wanted, "num_cpus": self.plan.cpus, "max_retries": self.plan.retries}
        ref = self.ray.remote(function).options(**options, name=f"{what} {run_id}").remote(*arguments)
        self.tasks[ref] = _Task(run_id, what)

    def _take_in(self, seconds: float) -> None:
        """Wait so long at most, and take in every outcome that has come."""
        ready, _ = self.ray.wait(list(self.tasks), num_returns=len(self.tasks), timeout=seconds)
        for ref in ready:
            task = self.tasks.pop(ref)
            try:
                answer, error = self.ray.get(ref)
            except Exception as problem:  # the last retry was lost too, or a mistake of ours
                sentence = str(problem).strip().splitlines()[-1:]
                answer, error = "failed", ": ".join([type(problem).__name__, *sentence])
                log.warning("%s %s: %s", task.what, task.run, problem)
            with suppress(InputError):  # it was deleted meanwhile
                if task.what == "shard":
                    self._shard_is_back(task.run, answer, error)
                elif task.what == "count" and error is None:
                    self._count_is_back(task.run, answer)
                else:
                    self._cell_is_back(task.run, "failed" if error else answer, error)

    def _cell_is_back(self, run_id: str, status: str, error: str | None) -> None:
        self.attempts.pop(run_id, None)
        if status == "failed":
            self._end(run_id, status, error)  # where the task itself could not say so

    def _count_is_back(self, run_id: str, n: int) -> None:
        """Hand the shards over that are not there yet; the cell itself where there is one shard at most."""
        run, folder = self.store.get(run_id), self.store.folder(run_id)
        shards = EvaluationRun.read(run.config).shards(n)
        missing = [shard for shard in shards if not shard_path(folder, *shard).is_file()]
        if len(shards) == 1 or not missing:
            self._submit_cell(run_id)
        elif run.status != "queued" or run_id not in self.attempts:  # stopped or resumed elsewhere meanwhile
            self._cell_is_back(run_id, run.status, None)
        else:
            attempt = self.attempts[run_id]
            self.store.try_start(run_id, attempt, SLOTS)
            self.shards[run_id], self.pending[run_id] = [True] * (len(shards) - len(missing)), len(missing)
            for shard in missing:
                self._submit(run_id, "shard", _shard_task, self.driver_store, run.record(), attempt, *shard)

    def _shard_is_back(self, run_id: str, status: str, error: str | None) -> None:
        """The last one hands the cell over, which only has to measure; a failure ends the run, and so the others."""
        self.pending[run_id] -= 1
        self.shards[run_id].append(status == "finished")
        if error is not None:
            self._end(run_id, "failed", error)
        if not self.pending[run_id]:
            if all(self.shards[run_id]):
                self._submit_cell(run_id, gpus=0)
            else:
                self._end(run_id, "stopped", None)
                self._cell_is_back(run_id, "stopped", None)

    def _end(self, run_id: str, status: str, error: str | None) -> None:
        """A run's last word, where nobody else has said it."""
        with suppress(InputError):
            run = self.store.get(run_id)
            if run.live or run.status == "interrupted":
                self.store.conclude(run_id, run.attempt, status, error)

    def _beat(self) -> None:
        """A heartbeat for every run that waits for a node, or whose shards are out."""
        if time.monotonic() - self.last_heartbeat < _HEARTBEAT_SECONDS:
            return
        self.last_heartbeat = time.monotonic()
        for run_id, attempt in list(self.attempts.items()):
            phase = "queued"
            progress: dict[str, Any] = {"message": "waiting for the cluster"}
            if run_id in self.shards:
                back, out = len(self.shards[run_id]), self.pending[run_id]
                message = f"{back} of {back + out} shards are scored"
                phase, progress = "running", {"message": message, "fraction": 0.99 * back / (back + out)}
            try:
                self.store.beat(run_id, attempt, phase, **progress)
            except InputError:  # a node has taken it up, or it was deleted
                del self.attempts[run_id]
