"""How long the training of a strategy takes, said before it is started: by earlier runs here, else roughly."""

from __future__ import annotations

from core.base.text import duration
from core.cola.run import StrategyRun
from core.cola.tasks import BUILTIN
from core.runs.store import Run, RunStore
from core.scorers.cola_config import KIND, STRATEGIES, AdaptConfig

# Of built-in models on one core, measured (benchmarks/LOG.md, twelfth session): seconds before, between and after the
# steps, and of a step, by whether image and query meet in a new network.
_OTHERWISE = {False: 20.0, True: 50.0}
_STEP = {False: 0.04, True: 0.05}


def time_line(store: RunStore, job: StrategyRun) -> str:
    """How long the run will take, and where that is known from."""
    if not _steps(job):
        return "No time estimate: it goes through all of the training pairs, however many these are."
    earlier = [run for run in store.list(KIND) if _is_like(run, job) and run.started and run.ended]
    if earlier:
        last = max(earlier, key=lambda run: run.ended or 0.0)
        spent = (last.ended or 0.0) - (last.started or 0.0)
        seconds = spent * _steps(job) / _steps(StrategyRun.read(last.config))
        return f"About {duration(seconds)}, going by your last run of this strategy."
    if job.benchmark != BUILTIN or not job.model.startswith("builtin/"):
        return "No time estimate: no run of this strategy has finished here."
    joint = STRATEGIES[job.settings.strategy].joint
    pairs = (job.settings.batch / AdaptConfig().batch) ** 2  # of a step, in those that were measured
    seconds = _OTHERWISE[joint] + _STEP[joint] * pairs * _steps(job)
    return f"At most about {duration(_rounded(seconds))}; a guess until a run of this strategy has finished here."


def _is_like(run: Run, job: StrategyRun) -> bool:
    """Whether a finished run tells the pace of another: the same set, model, strategy and batch."""
    if run.status != "finished":
        return False
    own = StrategyRun.read(run.config)
    known = [(r.benchmark, r.model, r.settings.strategy, r.settings.batch) for r in (own, job)]
    return known[0] == known[1] and _steps(own) > 0


def _steps(job: StrategyRun) -> int:
    return job.settings.epochs * job.settings.steps


def _rounded(seconds: float) -> float:
    """To half minutes: a guess is no more exact."""
    return max(30.0, 30 * round(seconds / 30))
