"""What runs on a node of the cluster: a cell, a shard of one, or the count of a benchmark's groups.

`call` asks the driver's store (`core.sweeps._driver_store`). Nothing here knows Ray: what goes wrong is answered with a
status and a sentence, so that Ray tries again where a node or a process was lost, and only there.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError
from core.runs.attempt import RunAttempt, heartbeats
from core.runs.store import AttemptSuperseded, Run
from core.sweeps._remote_store import HEARTBEAT_SECONDS, Call, RemoteStore, local_model
from core.sweeps.evaluate import EvaluationRun, score_shard, shard_path

if TYPE_CHECKING:
    from core.groups import GroupSet
    from core.scorers.base import Scorer

Outcome = tuple[str, str | None]  # the final status, and the sentence if it failed
Work = Callable[[RunAttempt], Outcome]


def code_version() -> str:
    """The version of Crossmatch that is installed here."""
    try:
        return version("crossmatch")
    except PackageNotFoundError:
        return "from a folder"


def run_cell(call: Call, run_id: str, where: str, work: Work) -> Outcome:
    """Work for a run, or go on after its newest checkpoint, in a scratch folder; what `core.worker.main` is at home.

    where : what the run's log calls this node. work : does what the run's kind does, as `core.worker.work`.
    """
    attempt = None
    try:
        begun = call("begin", run_id, where, code_version())
        if begun is None:
            return "ended", None
        attempt, record = begun
        with tempfile.TemporaryDirectory(prefix="crossmatch-") as scratch:
            store = RemoteStore(call, Run(**record), attempt, Path(scratch))
            job = RunAttempt(store, run_id, attempt)
            with heartbeats(job):
                store.fetch()
                job.run = store.run
                status, error = work(job)
            store.conclude(run_id, attempt, status, error)
        return status, error
    except AttemptSuperseded:
        return "superseded", None
    except InputError as error:  # the driver's disk, or this node's
        if attempt is not None:
            call("conclude", run_id, attempt, "failed", str(error))
        return "failed", str(error)


def count_groups(config: Mapping[str, Any]) -> tuple[int, str | None]:
    """How many groups a description names, read where the data are; and the sentence where they cannot be read."""
    try:
        return len(_groups(EvaluationRun.read(config))), None
    except InputError as error:
        return 0, str(error)


def score_part(call: Call, run: dict[str, Any], attempt: int, first: int, end: int) -> Outcome:
    """Score groups first ... end - 1 of an evaluation and hand the shard in. run : `Run.record()`."""
    told = [time.monotonic()]

    def stop() -> bool:
        if time.monotonic() - told[0] < HEARTBEAT_SECONDS:
            return False
        told[0] = time.monotonic()
        return not call("wanted", run["id"], attempt)

    try:
        with tempfile.TemporaryDirectory(prefix="crossmatch-") as scratch:
            store = RemoteStore(call, Run(**run), attempt, Path(scratch))
            groups = _groups(EvaluationRun.read(run["config"]))
            scorer = _scorer(call, run["config"], store)
            path = shard_path(store.folder(run["id"]), first, end)
            if not score_shard(scorer, groups, first, end, path, stop):
                return "stopped", None
            store.push_file(f"shards/{path.name}")
        return "finished", None
    except AttemptSuperseded:
        return "superseded", None
    except InputError as error:
        return "failed", str(error)


@lru_cache(maxsize=1)
def _groups(run: EvaluationRun) -> GroupSet:
    """Ray gives a process many shards of one run: its set is read once."""
    return run.load_groups().blind()


_loaded: dict[tuple[str, str], Scorer] = {}


def _scorer(call: Call, config: Mapping[str, Any], store: RemoteStore) -> Scorer:
    """The scorer, kept by the process for its next shard; one at a time."""
    key = (config["model"], config.get("device") or "auto")
    if key not in _loaded:
        _loaded.clear()
        _loaded[key] = EvaluationRun.read(local_model(call, dict(config), store.scratch)).load_scorer()
    return _loaded[key]
