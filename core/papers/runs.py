"""The runs behind a table's lines, of whatever kind: which of the store's count, what they lack, how long they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from core import datasets
from core.cola.tasks import PUBLISHED
from core.datasets.base import RETRIEVAL
from core.papers.evaluation_run import KIND as MEASURE
from core.papers.table_rows import Records
from core.runs.store import Run, RunStore
from core.scorers.cola_config import KIND as ADAPT
from core.scoring.weights import weights_state
from core.sweeps.evaluate import KIND as EVALUATE
from core.ttm import run as jobs
from core.ttm import seeds as seeding
from core.ttm.seeds import seed_of
from core.ttm.time_left import expected_seconds

# Settings that change how a run goes and not what it computes.
_NOT_COMPARED = ("seed", "micro_batch", "shard")
_SAME = (
    "benchmark",
    "split",
    "model",
    "groups",
    "shape",
    "oracle",
    "adapt_on",
    "split_seed",
    "images",
    "folder",
)
_KINDS = (*jobs.KINDS, ADAPT, EVALUATE, MEASURE)
_NEEDS = "needs: "  # begins the state of data and weights that are not here


def kind_of(job: Mapping[str, Any]) -> str:
    """Which kind of run a description is of."""
    return next(kind for kind in _KINDS if kind in job)


def matches(config: Mapping[str, Any], job: Mapping[str, Any]) -> bool:
    """Whether a run's description is the job's, whatever its seed."""
    kind = kind_of(job)
    if kind not in config or config.get("embeddings"):
        return False
    same = all((config.get(name) or None) == (job.get(name) or None) for name in _SAME)
    settings = {name: value for name, value in job[kind].items() if name not in _NOT_COMPARED}
    return same and all(config[kind].get(name) == value for name, value in settings.items())


def records_of(store: RunStore, runs: Sequence[Run]) -> dict[int, Records]:
    """Seed -> the records of its newest complete run; `runs` has the newest first."""
    found: dict[int, Records] = {}
    for run in runs:
        if run.status == "finished" and seed_of(run) not in found:
            steps = store.steps(run.id)
            if steps and (run.kind not in jobs.KINDS or jobs.is_over(run.config, steps)):
                found[seed_of(run)] = steps
    return found


def missing_of(benchmark: str, model: str, trains: bool = False) -> tuple[str, ...]:
    """Data and weights that a job needs and that are not here, each with the next step; `trains` as below."""
    state = weights_state(model)
    if not state.startswith(_NEEDS):
        return missing_data(benchmark, trains)
    told = f"weights of {model.partition(':')[2] or model}: {state.removeprefix(_NEEDS)}"
    return (*missing_data(benchmark, trains), told)


def missing_data(benchmark: str, trains: bool = False) -> tuple[str, ...]:
    """Data that a job needs and that are not here, each with the next step.

    trains : whether one of Cola's strategies is trained, which takes scene graphs besides the published queries.
    """
    names = [benchmark, *([PUBLISHED[benchmark]] if trains and benchmark in PUBLISHED else [])]
    states = {name: datasets.state(name) for name in names}
    needs = {name: state for name, state in states.items() if state.startswith(_NEEDS)}
    return tuple(f"data of {name}: {state.removeprefix(_NEEDS)}" for name, state in needs.items())


def count_of(job: Mapping[str, Any]) -> int | None:
    """Groups (images) that a job is about; None where that is not known before its data are read."""
    entry = datasets.benchmark_entry(job["benchmark"])
    if entry is not None:
        return next(iter(entry.counts.get("test", ())), None)
    return None if job["benchmark"] in datasets.names(RETRIEVAL) else _count(job["benchmark"], job["split"])


@cache
def _count(benchmark: str, split: str) -> int:
    """Groups of a built-in set; they do not change while a process lives."""
    return len(jobs.load_groups({"benchmark": benchmark, "split": split}))


def expected_time(store: RunStore, job: Mapping[str, Any], seeds: int) -> tuple[float | None, str]:
    """Seconds that so many seeds of a job will take, and where that is known from; None where nothing says."""
    if kind_of(job) in jobs.KINDS:
        count = count_of(job)
        seconds, pace = expected_seconds(store, job, count) if count else (None, "")
    else:
        seconds, pace = _time_of_similar_run(store, job)
    return None if seconds is None else seconds * seeds, pace


def _time_of_similar_run(store: RunStore, job: Mapping[str, Any]) -> tuple[float | None, str]:
    """From the newest finished run of the same kind and model; of a strategy by its steps, else by the groups."""
    kind = kind_of(job)
    own = _work(job)
    done = [
        run for run in store.list(kind) if run.status == "finished" and run.config["model"] == job["model"]
    ]
    like = [run for run in done if kind != ADAPT or run.config[kind]["strategy"] == job[kind]["strategy"]]
    for run in [*like, *done]:
        other, seconds = _work(run.config), sum(step["seconds"] for step in store.steps(run.id))
        if own and other and seconds:
            return seconds * own / other, "this model"
    return None, "no earlier run to go by"


def _work(config: Mapping[str, Any]) -> float | None:
    """What a run's time is proportional to."""
    kind = kind_of(config)
    if kind == ADAPT:
        return config[kind]["epochs"] * config[kind]["steps"] * config[kind]["batch"]
    return count_of(config)


def new_run(
    store: RunStore, title: str, job: Mapping[str, Any], seed: int, group: str, owner: str | None = None
) -> Run:
    """Create and launch the run of one seed; it belongs to a group of seeds."""
    kind = kind_of(job)
    each = {**job, "group": group, kind: {**job[kind], "seed": seed}}
    run = store.create(kind, f"{title} · seed {seed}", each, owner)
    return seeding.launch(store, run.id)
