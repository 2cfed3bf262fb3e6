"""The runs behind a table's lines, of whatever kind: which of the store's count, what they lack, how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from core import datasets
from core.cola.run import StrategyRun
from core.cola.run_time import _seconds_of_run
from core.cola.tasks import SCENE_GRAPHS, AdaptationTask
from core.datasets.base import RETRIEVAL
from core.metrics.groups import METRICS, metrics_of_shape
from core.papers._table_rows import Records, TableLine
from core.papers.measurement_run import MeasurementRun
from core.runs.description import RunDescription
from core.runs.store import Run, RunStore
from core.scoring.weights import weights_state
from core.ttm.run import AdaptationRun
from core.ttm.seeds import seed_of
from core.ttm.time_left import expected_seconds

_GLOBAL = "@global"  # ends the name of a set that is matched as a whole
_NEEDS = "needs: "  # begins the state of data and weights that are not here


def records_of(store: RunStore, runs: Sequence[Run], job: RunDescription) -> dict[int, Records]:
    """Seed -> the records of its newest complete run; `runs` are of this job, the newest first."""
    by_seed: dict[int, Records] = {}
    for run in runs:
        if run.status == "finished" and seed_of(run) not in by_seed:
            steps = store.steps(run.id)
            if job.is_over(steps):
                by_seed[seed_of(run)] = steps
    return by_seed


def missing_of(
    benchmark: str, model: str, trains: bool = False, splits: Sequence[str] = ()
) -> tuple[str, ...]:
    """Data and weights that a job needs and that are not here, each with the next step; `trains`, `splits` as below."""
    state = weights_state(model)
    if not state.startswith(_NEEDS):
        return missing_data(benchmark, trains, splits)
    what = "an endpoint for" if model.startswith("api:") else "weights of"
    weights = f"{what} {model.partition(':')[2] or model}: {state.removeprefix(_NEEDS)}"
    return (*missing_data(benchmark, trains, splits), weights)


def splits_of(job: RunDescription) -> tuple[str, ...]:
    """The splits that a job reads."""
    return job.splits if isinstance(job, MeasurementRun) else (job.split,)


def missing_data(benchmark: str, trains: bool = False, splits: Sequence[str] = ()) -> tuple[str, ...]:
    """Data that a job needs and that are not here, each with the next step.

    trains : whether one of Cola's strategies is trained, which takes scene graphs besides the published queries.
    splits : those of the benchmark that are read; some have files of their own.
    """
    trained = AdaptationTask.sources(benchmark) if trains and benchmark in SCENE_GRAPHS else {}
    states = {name: _state(name, read) for name, read in (trained or {benchmark: tuple(splits)}).items()}
    needs = {name: state for name, state in states.items() if state.startswith(_NEEDS)}
    return tuple(f"data of {name}: {state.removeprefix(_NEEDS)}" for name, state in needs.items())


def _state(name: str, splits: Sequence[str]) -> str:
    entry = datasets.benchmark_entry(name)
    return datasets.state(name) if entry is None else entry.state(splits)


def _count_of(job: RunDescription) -> int | None:
    """Groups (images) that a job is about; None where that is not known before its data are read."""
    entry = datasets.benchmark_entry(job.benchmark)
    if entry is not None:
        return next(iter(entry.counts.get("test", ())), None)
    return None if job.benchmark in datasets.names(RETRIEVAL) else _count(job.benchmark, job.split)


@cache
def _count(benchmark: str, split: str) -> int:
    """Groups of a built-in set; they do not change while a process lives."""
    return len(datasets.load(benchmark, split))


def chances(line: TableLine) -> dict[str, float]:
    """Metric -> its chance level in percent, where a line's numbers are of one set of groups of one shape; {}
    elsewhere: a strategy's run trains on its benchmark, and its numbers are of other sets."""
    if any(isinstance(job, StrategyRun) for job in line.jobs):
        return {}
    sets = {(job.benchmark.removesuffix(_GLOBAL), job.split) for job in line.jobs}
    shape = _shape(*next(iter(sets))) if len(sets) == 1 else None
    return (
        {}
        if shape is None
        else {name: 100 * METRICS[name].chance(*shape) for name in metrics_of_shape(*shape)}
    )


@cache
def _shape(benchmark: str, split: str) -> tuple[int, int] | None:
    """The one shape of a set's groups; None where they have several, or it is for retrieval."""
    entry = datasets.benchmark_entry(benchmark)
    if entry is not None or benchmark in datasets.names(RETRIEVAL):
        return None if entry is None else entry.shape
    shapes = datasets.load(benchmark, split).shapes
    return next(iter(shapes)) if len(shapes) == 1 else None


def expected_time(store: RunStore, job: RunDescription, seeds: int) -> tuple[float | None, str]:
    """Seconds that so many seeds of a job will take, and where that is known from; None where nothing says."""
    if isinstance(job, AdaptationRun):
        count = _count_of(job)
        seconds, pace = expected_seconds(store, job, count) if count else (None, "")
    elif isinstance(job, StrategyRun):
        seconds, pace = _seconds_of_run(store, job)
    else:
        seconds, pace = _time_of_similar_run(store, job)
    return None if seconds is None else seconds * seeds, pace


def needs_of(job: RunDescription) -> str:
    """What a job reads, in a line."""
    return job.needs if isinstance(job, MeasurementRun) else f"{job.benchmark}, {job.split}; {job.model}"


_TRIED = 8  # groups of a trial


def trial_seconds(job: AdaptationRun | StrategyRun) -> float:
    """Seconds that a run of one seed will take at most, from one epoch on a few groups, for which data and model are
    loaded: their first steps are the slowest. Of a strategy from a few features, one batch and a few scores."""
    if isinstance(job, StrategyRun):
        needs = job.forecast()
        return needs["seconds"] + needs["measured_in"]
    short = {
        "epochs": 1,
        **({"iterations": 1, "coverage_first": 1.0} if job.kind == "ttm" else {"rounds": 1}),
    }
    few = min(_TRIED, job.groups or _TRIED)
    update = {"groups": few, "oracle": False, "adapt_on": None, "settings": job.settings.updated(short)}
    *_, last = job.model_copy(update=update).execute()
    groups = job.groups or _count_of(job) or few
    return last.record["seconds"] / few * groups * job.settings.epochs * job.total


def _time_of_similar_run(store: RunStore, job: RunDescription) -> tuple[float | None, str]:
    """From the newest finished run of the same kind and model, by the groups."""
    for run in store.list(job.kind):
        if run.status != "finished" or run.config["model"] != job.model:
            continue
        count, seconds = _count_of(type(job).read(run.config)), sum(s["seconds"] for s in store.steps(run.id))
        if (wanted := _count_of(job)) and count and seconds:
            return seconds * wanted / count, "this model"
    return None, "no earlier run to go by"
