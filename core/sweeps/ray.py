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
from core.runs.store import AttemptSuperseded, RunStore
from core.sweeps import node as tasks
from core.sweeps.driver_store import SLOTS, DriverStore, enqueue
from core.sweeps.evaluate import EvaluationRun, shard_path
from core.sweeps.plan import SweepPlan
from core.sweeps.store import CellState, is_active, new_run, save_plan, states

log = logging.getLogger("crossmatch.sweep")

MAX_IN_FLIGHT = 256  # cells that are in the cluster's hands at a time
HEARTBEAT_SECONDS = 10.0  # seconds between heartbeats of what waits there
_STORE_ACTOR = {"num_cpus": 0, "max_concurrency": 8, "max_restarts": 3, "max_task_retries": 3}


class RemoteTask(NamedTuple):
    """What a task that is in the cluster's hands is for."""

    run: str
    what: str  # "cell", "count" or "shard"


def run_on_ray(
    store: RunStore,
    plan: SweepPlan,
    work: tasks.Work,
    address: str | None = None,
    tell: Callable[[str], None] | None = None,
    pause: float = 0.5,
    look: Callable[[], None] | None = None,
) -> list[CellState]:
    """Run every cell that is not finished on a Ray cluster and wait for it; the states as they stand then.

    work : what a node does with a run, `core.worker.work`. address : of the cluster; None takes $RAY_ADDRESS, else
    starts one on this machine. Other arguments, and what is
    done with finished, live and interrupted cells, as in `core.sweeps.local.run_locally`. A lost node's tasks are tried
    again elsewhere, up to `plan.retries` times, and go on after their newest checkpoint. Whoever is interrupted here
    ends the tasks; their runs go on when the sweep is started again.
    """
    ray = _ray()
    save_plan(store, plan)
    with _connected(ray, address):
        driver = _Driver(ray, store, plan, work, tell or (lambda text: None))
        try:
            driver.work(pause, look)
        finally:
            driver.let_go()
    return states(store, plan)


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


def _asker(ray: Any, run_id: str, keeper: Any) -> Callable[..., Any]:
    """What tasks call the keeper with: its sentences come through, and a keeper that is gone ends the attempt."""

    def call(method: str, *arguments: Any) -> Any:
        try:
            return ray.get(getattr(keeper, method).remote(*arguments))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, AttemptSuperseded):
                raise AttemptSuperseded(run_id) from None
            if isinstance(error.cause, InputError):
                raise InputError(str(error.cause)) from None
            raise
        except ray.exceptions.RayActorError:
            raise AttemptSuperseded(run_id) from None

    return call


def _cell_task(keeper: Any, run_id: str, work: tasks.Work) -> tasks.Outcome:
    ray = _ray()
    where = f"{platform.node()} (node {ray.get_runtime_context().get_node_id()})"
    return tasks.run_cell(_asker(ray, run_id, keeper), run_id, where, work)


def _shard_task(keeper: Any, run: dict[str, Any], attempt: int, first: int, end: int) -> tasks.Outcome:
    return tasks.score_part(_asker(_ray(), run["id"], keeper), run, attempt, first, end)


class _Driver:
    """Cells on their way through the cluster."""

    def __init__(
        self, ray: Any, store: RunStore, plan: SweepPlan, work: tasks.Work, say: Callable[[str], None]
    ) -> None:
        self.ray, self.store, self.plan, self.cell_work, self.say = ray, store, plan, work, say
        self.flights: dict[Any, RemoteTask] = {}  # by Ray's reference to the outcome
        self.held: dict[
            str, int
        ] = {}  # runs that wait or are in shards -> attempt: the driver's heart beats for them
        self.shards: dict[str, list[bool]] = {}  # of a run: whether each that has come back was scored
        self.pending: dict[str, int] = {}  # of a run: shards still out
        self.beaten = 0.0
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        models = [m for m in {cell.job.model for cell in plan.cells} if os.path.isabs(m)]
        cache = str(paths.home() / "cache" / "scores.sqlite")
        where = here(ray.get_runtime_context().get_node_id(), soft=False)
        made = ray.remote(DriverStore).options(**_STORE_ACTOR, scheduling_strategy=where)
        self.keeper = made.remote(str(store.root), tasks.code_version(), models, cache)
        self._check_gpus()

    def _check_gpus(self) -> None:
        most = max((node["Resources"].get("GPU", 0) for node in self.ray.nodes() if node["Alive"]), default=0)
        if self.plan.gpus > most:
            self.say(
                f"no node has {self.plan.gpus:g} GPUs (the most is {most:g}); tasks wait until such a node joins"
            )

    def work(self, pause: float, look: Callable[[], None] | None) -> None:
        """Hand cells over, take outcomes in, until there are none."""
        found = states(self.store, self.plan)
        waiting = [state for state in found if not state.done]
        elsewhere = {state.run.id for state in waiting if state.run is not None and state.run.live}
        waiting = [state for state in waiting if state.run is None or state.run.id not in elsewhere]
        done = sum(state.done for state in found)
        self.say(f"{done} of {len(found)} cells are done, {len(elsewhere)} running elsewhere")
        while waiting or self.flights or elsewhere:
            while waiting and len(self.flights) < MAX_IN_FLIGHT:
                self._hand_over(waiting.pop(0))
            self._take_in(pause)
            self._beat()
            elsewhere = {run_id for run_id in elsewhere if is_active(self.store, run_id)}
            if look is not None:
                look()

    def let_go(self) -> None:
        """What has not come back is interrupted; nobody works for it once the keeper is gone."""
        for ref, flight in self.flights.items():
            with suppress(Exception):
                self.ray.cancel(ref, force=flight.what != "count")
        self.ray.kill(self.keeper)
        for flight in self.flights.values():
            self._end(flight.run, "interrupted", None)

    # ---- out

    def _hand_over(self, state: CellState) -> None:
        run = state.run or new_run(self.store, state.cell, self.plan.name)
        self.held[run.id] = enqueue(self.store, run.id)
        self.say(f"submitted {run.id}  {run.title}")
        if run.kind == EvaluationRun.kind:
            self._submit(run.id, "count", tasks.count_groups, run.config, gpus=0)
        else:
            self._submit_cell(run.id)

    def _submit_cell(self, run_id: str, gpus: float | None = None) -> None:
        self._submit(run_id, "cell", _cell_task, self.keeper, run_id, self.cell_work, gpus=gpus)

    def _submit(
        self, run_id: str, what: str, function: Any, *arguments: Any, gpus: float | None = None
    ) -> None:
        wanted = self.plan.gpus if gpus is None else gpus
        options = {"num_gpus": wanted, "num_cpus": self.plan.cpus, "max_retries": self.plan.retries}
        ref = self.ray.remote(function).options(**options, name=f"{what} {run_id}").remote(*arguments)
        self.flights[ref] = RemoteTask(run_id, what)

    # ---- in

    def _take_in(self, pause: float) -> None:
        if not self.flights:
            time.sleep(pause)
            return
        ready, _ = self.ray.wait(list(self.flights), num_returns=len(self.flights), timeout=pause)
        for ref in ready:
            flight = self.flights.pop(ref)
            try:
                first, error = self.ray.get(ref)
            except Exception as problem:  # the last retry was lost too, or a mistake of ours
                sentence = str(problem).strip().splitlines()[-1:]
                first, error = "failed", ": ".join([type(problem).__name__, *sentence])
                log.warning("%s %s: %s", flight.what, flight.run, problem)
            with suppress(InputError):  # it was deleted meanwhile
                self._is_back(flight, first, error)

    def _is_back(self, flight: RemoteTask, first: Any, error: str | None) -> None:
        if flight.what == "count":
            self._count_is_back(flight.run, first, error)
        elif flight.what == "shard":
            self._shard_is_back(flight.run, first, error)
        else:
            self._cell_is_back(flight.run, first, error)

    def _cell_is_back(self, run_id: str, status: str, error: str | None) -> None:
        self.held.pop(run_id, None)
        if status == "failed":
            self._end(run_id, status, error)  # where the task itself could not say so
        run = self.store.get(run_id)
        self.say(f"{run.status} {run.id}  {run.title}" + (f": {run.error}" if run.error else ""))

    def _count_is_back(self, run_id: str, n: int, error: str | None) -> None:
        """Hand the shards over that are not there yet; the cell itself where there is one shard at most."""
        if error is not None:
            self._cell_is_back(run_id, "failed", error)
            return
        run = self.store.get(run_id)
        parts = EvaluationRun.read(run.config).shards(n)
        todo = [p for p in parts if not shard_path(self.store.folder(run_id), *p).is_file()]
        if len(parts) == 1 or not todo:
            self._submit_cell(run_id)
            return
        if run.status != "queued":  # stopped meanwhile
            self._cell_is_back(run_id, run.status, None)
            return
        self.store.try_start(run_id, self.held[run_id], SLOTS)
        self.shards[run_id], self.pending[run_id] = [True] * (len(parts) - len(todo)), len(todo)
        for part in todo:
            self._submit(run_id, "shard", _shard_task, self.keeper, run.record(), self.held[run_id], *part)

    def _shard_is_back(self, run_id: str, status: str, error: str | None) -> None:
        """The last one hands the cell over, which only has to measure; a failure ends the run, and so the others."""
        self.pending[run_id] -= 1
        self.shards[run_id].append(status == "finished")
        if error is not None:
            self._end(run_id, "failed", error)
        if self.pending[run_id]:
            return
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
        if time.monotonic() - self.beaten < HEARTBEAT_SECONDS:
            return
        self.beaten = time.monotonic()
        for run_id, attempt in list(self.held.items()):
            phase = "queued"
            progress: dict[str, Any] = {"message": "waiting for the cluster"}
            if run_id in self.shards:
                back, out = len(self.shards[run_id]), self.pending[run_id]
                told = f"{back} of {back + out} shards are scored"
                phase, progress = "running", {"message": told, "fraction": 0.99 * back / (back + out)}
            try:
                self.store.beat(run_id, attempt, phase, **progress)
            except InputError:  # a node has taken it up, or it was deleted
                del self.held[run_id]
