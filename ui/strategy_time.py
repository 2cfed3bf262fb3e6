"""How long the training of a strategy takes, said before it is started."""

from __future__ import annotations

from core.base.text import duration
from core.cola.run import StrategyRun
from core.cola.run_time import _GUESS, _seconds_of_run, _steps_of
from core.runs.store import RunStore


def time_line(store: RunStore, job: StrategyRun) -> str:
    """How long the run will take, and where that is known from."""
    if not _steps_of(job):
        return "No time estimate: it goes through all of the training pairs, however many these are."
    seconds, source = _seconds_of_run(store, job)
    if seconds is None:
        return "No time estimate: no run of this strategy has finished here."
    if source == _GUESS:
        return (
            f"Roughly {duration(_rounded(seconds))}; a guess until a run of this strategy has finished here."
        )
    return f"About {duration(seconds)}, going by {source}."


def _rounded(seconds: float) -> float:
    """To half minutes: a guess is no more exact."""
    return max(30.0, 30 * round(seconds / 30))
