"""How long the training of a strategy takes, said before it is started: by earlier runs here, else roughly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.cola.run import StrategyRun
from core.cola.tasks import BUILTIN
from core.runs.store import Run, RunStore
from core.scorers.cola_config import KIND, AdaptConfig

_LAST_RUN, _GUESS, _NO_PACE = "your last run of this strategy", "a rough estimate", "no earlier run to go by"
# Of built-in models, measured on one core (benchmarks/LOG.md, "4,000 steps take"): seconds of a step.
_STEP = {
    "linear": 0.003,
    "prompt-tune": 0.012,
    "ft-all": 0.058,
    "ft-late": 0.021,
    "mm-pred": 0.1,
    "mm-adapter": 0.11,
    "token-map": 0.0075,
}
# And before, between and after the steps: 21 runs of 4,000 steps took 46 minutes of two cores.
_OTHERWISE = 86.0


def _seconds_of_run(store: RunStore, job: StrategyRun) -> tuple[float | None, str]:
    """Seconds that one run will take, and where that is known from (a name above).

    None where nothing says: a run over all pairs, whose number is not known before, or of a large model of which no
    run of this strategy has finished here.
    """
    steps = _steps_of(job)
    earlier = [run for run in store.list(KIND) if _is_like(run, job) and run.started and run.ended]
    if earlier and steps:
        last = max(earlier, key=lambda run: run.ended or 0.0)
        spent = (last.ended or 0.0) - (last.started or 0.0)
        return spent * steps / _steps_of(StrategyRun.read(last.config)), _LAST_RUN
    if not steps or job.benchmark != BUILTIN or not job.model.startswith("builtin/"):
        return None, _NO_PACE
    step = _STEP[job.settings.strategy]
    pairs = (job.settings.batch / AdaptConfig().batch) ** 2  # of a step, in those that were measured
    return _OTHERWISE + step * pairs * steps, _GUESS


def _foretold(store: RunStore, job: StrategyRun, record: Mapping[str, Any]) -> float | None:
    """The same for a run at work, as `core.ttm.time_left` has it."""
    return _seconds_of_run(store, job)[0]


def _steps_of(job: StrategyRun) -> int:
    """Steps of all epochs; 0 where an epoch goes through all pairs."""
    return job.settings.epochs * job.settings.steps


def _is_like(run: Run, job: StrategyRun) -> bool:
    """Whether a finished run tells the pace of another: the same set, model, strategy and batch."""
    if run.status != "finished":
        return False
    own = StrategyRun.read(run.config)
    known = [(r.benchmark, r.model, r.settings.strategy, r.settings.batch) for r in (own, job)]
    return known[0] == known[1] and _steps_of(own) > 0
