"""Learning rates chosen on validation queries: a bracket that grows until the best has a worse one on both sides.

A strategy is trained with each rate and a seed that no run of a table has; nothing of the test set is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log10
from typing import Any, NamedTuple

from core.base.errors import InputError
from core.cola.run import StrategyRun
from core.cola.tasks import BUILTIN
from core.metrics.retrieval import COLA_MAP, RetrievalEvaluation
from core.scenes.retrieval import load_retrieval
from core.scorers.cola_config import STRATEGIES
from core.scoring.retrieval import first_images, score_retrieval

SEED = 100  # no row of a table has it
_MOST = 9  # rates that are tried: four powers of ten
_IMAGES, _STEP = 200, 2  # of the validation set: so many images, every so many queries


class _RateTrial(NamedTuple):
    """What one learning rate leads to."""

    lr: float
    value: float  # validation mAP in percent; -inf where training diverged
    metrics: Mapping[str, Any]  # of all, seen and unseen validation queries; {} where training diverged
    loss: float | None  # of the last epoch


def _bracketed(measure: Callable[[float], _RateTrial], start: float) -> list[_RateTrial]:
    """Trials of rates 1, 3, 10, 30 ... about `start`, lowest first: the best of them is the first or the last in none.

    It begins with the grid's nearest to `start` and its two neighbours, and goes on at the side where the best lies;
    of equal ones the lowest is the best. It ends early, with the best at an edge, after nine rates.
    """
    middle = round(2 * log10(start))
    trials = {k: measure(_rate(k)) for k in (middle - 1, middle, middle + 1)}
    while len(trials) < _MOST:
        best = min(trials, key=lambda k: _order(trials[k]))
        if best not in (low := min(trials), high := max(trials)):
            break
        beyond = low - 1 if best == low else high + 1
        trials[beyond] = measure(_rate(beyond))
    return [trials[k] for k in sorted(trials)]


def _order(trial: _RateTrial) -> tuple[float, float]:
    """The highest validation mAP first, of equal ones the lowest rate."""
    return -trial.value, trial.lr


def find_rate(
    job: StrategyRun,
    say: Callable[[_RateTrial], None] | None = None,
    known: Mapping[float, _RateTrial] | None = None,
) -> list[_RateTrial]:
    """The bracket of a run's strategy on this run's settings, but for seed and rate: the best trial first.

    say : told of every trial. known : earlier trials by rate, which are not made again. Raises InputError for a
    benchmark without validation queries.
    """
    if job.benchmark != BUILTIN:
        raise InputError(
            f"{job.benchmark} has no validation queries to choose a learning rate on; give one with lr."
        )

    def measure(lr: float) -> _RateTrial:
        trial = (known or {}).get(lr) or _trial(job, lr)
        if say is not None:
            say(trial)
        return trial

    return sorted(_bracketed(measure, STRATEGIES[job.settings.strategy].lr), key=_order)


def _trial(job: StrategyRun, lr: float) -> _RateTrial:
    from core.cola._training import TrainingDivergedError  # torch

    settings = job.settings.updated({"lr": lr, "seed": SEED})
    try:
        *_, last = job.model_copy(update={"settings": settings}).execute(final=False)
    except TrainingDivergedError:
        return _RateTrial(lr, float("-inf"), {}, None)
    assert last.model is not None  # an iteration that was just made has it
    validation = first_images(load_retrieval("validation"), _IMAGES, _STEP)
    metrics = RetrievalEvaluation.of(validation, score_retrieval(last.model, validation)).record()[COLA_MAP]
    return _RateTrial(lr, metrics["all"]["value"], metrics, float(last.record["loss"]))


def _rate(place: int) -> float:
    """1e-4, 3e-4, 1e-3, 3e-3 ... by place: -8, -7, -6, -5."""
    return float(f"{(1, 3)[place % 2]}e{place // 2}")
