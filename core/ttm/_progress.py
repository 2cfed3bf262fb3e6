"""How far a run is: its work spread over the iterations, and what those to come will select."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core.ttm.config import TrainConfig, TTMConfig

if TYPE_CHECKING:
    from core.ttm.loop import TTMStep


def projected_coverage(settings: TrainConfig, step: TTMStep) -> list[float]:
    """Shares that the iterations still to come would select by the scores after this one; [] where nobody can say,
    as a selector decides in place of the thresholds."""
    if step.threshold is None and step.iteration:
        return []
    taus = step.thresholds[step.iteration :]
    if isinstance(settings, TTMConfig) and settings.threshold_mode == "relative":
        return [float(1 - tau) for tau in taus]
    confidence = step.matches.margin
    if step.global_scores is not None:
        confidence = step.global_scores[np.arange(len(step.global_scores)), step.labels.ravel()]
    return [float((confidence >= tau).mean()) for tau in taus]


class ProgressPlan:
    """How the work spreads over the iterations: training takes time in proportion to what is selected.

    The first iterations of a falling threshold are the short ones; a plain share of iterations would promise an end
    several times too early.
    """

    SCORING = 0.05  # of the time that training on every group takes

    def __init__(self, total: int, records: Sequence[Mapping[str, Any]] = ()) -> None:
        """records : of iterations that are done, from 0 on."""
        self.work = [1.0] * total
        self.past = [record["coverage"] for record in records[1:]]
        self.shown = 0.0

    def update(self, coverage: float | None, ahead: Sequence[float]) -> None:
        """coverage : of the iteration that is done; None of iteration 0. ahead : what the others would select by
        today's scores; [] where nobody can say."""
        self.past += [] if coverage is None else [coverage]
        if ahead:
            self.work = [self.SCORING + share for share in (*self.past, *ahead)]

    def fraction(self, share: float) -> float:
        """Share of the work that is done when `share` of the iterations is; never falls."""
        whole = min(int(share * len(self.work)), len(self.work) - 1)
        part = (share * len(self.work) - whole) * self.work[whole]
        self.shown = max(self.shown, (sum(self.work[:whole]) + part) / sum(self.work))
        return self.shown
