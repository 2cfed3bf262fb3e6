"""The records and arrays of an iteration: what a run writes down, and what command line and pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from core.metrics import groups as metrics
from core.metrics.evaluation import Evaluation
from core.ttm.config import TrainConfig, TTMConfig

if TYPE_CHECKING:
    from core.ttm.loop import TTMStep

BINS = 24  # of a margin histogram


def step_record(step: TTMStep, truth: np.ndarray | None, pool: np.ndarray | None = None) -> dict[str, Any]:
    """One iteration as JSON-safe data: the line of `crossmatch ttm --json`, and what the pages draw.

    truth : int (n, m), or None where nobody knows it; then `metrics` is empty and `precision` is None. pool : bool
    (n,), of a transfer check; `parts` then holds the metrics of the adapted and of the untouched groups apart.
    Coverage (of the pool) and precision are shares in [0, 1]; metrics are in percent. Iteration 0 has selected nothing.
    """
    n, m, k = step.scores.shape
    # A gradient norm may overflow where the loss does not; JSON has no word for it.
    own = {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in step.record().items()}
    record = {
        **own,
        "coverage": step.coverage if step.iteration else None,
        "precision": None if truth is None else _precision(step, truth),
        "metrics": {} if truth is None else _metrics(step.scores, truth, step.global_scores),
        "n_groups": n,
        "shape": f"{m}x{k}",
        "margins": _histogram(step, truth),
    }
    if pool is not None:
        sides = {"adapted": pool, "untouched": ~pool}
        record["parts"] = {name: _part(step.scores, truth, mask) for name, mask in sides.items()}
    return record


def _part(scores: np.ndarray, truth: np.ndarray | None, mask: np.ndarray) -> dict[str, Any]:
    found = {} if truth is None else _metrics(scores[mask], truth[mask], None)
    return {"n_groups": int(mask.sum()), "metrics": found}


def _metrics(scores: np.ndarray, truth: np.ndarray, everything: np.ndarray | None) -> dict[str, Any]:
    found = Evaluation.of(scores, truth, global_scores=everything)
    return {name: estimate.record() for name, estimate in found.metrics.items()}


def _precision(step: TTMStep, truth: np.ndarray) -> float | None:
    if step.selected.ndim == 1:
        return metrics.precision(step.matching, step.selected, truth)
    # As the global pseudo-labels count captions.
    own = truth + step.scores.shape[2] * np.arange(len(truth))[:, None]
    return metrics.precision(step.matching.reshape(-1, 1), step.selected.ravel(), own.reshape(-1, 1))


def _histogram(step: TTMStep, truth: np.ndarray | None) -> dict[str, Any]:
    """Margins after the step: counts per bin, those of groups matched right (None without truth), and the ties."""
    margin, tied = step.matches.margin, step.matches.tied
    edges = np.linspace(0, float(margin.max()) or 1.0, BINS + 1)
    right = None if truth is None else ~tied & (step.matches.matching == truth).all(axis=1)
    return {
        "edges": edges.tolist(),
        "counts": np.histogram(margin[~tied], edges)[0].tolist(),
        "right": None if right is None else np.histogram(margin[right], edges)[0].tolist(),
        "tied": int(tied.sum()),
    }


def step_arrays(step: TTMStep) -> dict[str, np.ndarray]:
    """Per-group arrays of an iteration (`core.ttm.explain` reads them), and its loss curve."""
    return {
        "scores": step.scores,
        "selected": step.selected,
        "matching": step.matching,
        "labels": step.labels,
        "margin": step.matches.margin,
        "thresholds": step.thresholds,
        "losses": step.thresholds[:0] if step.report is None else step.report.losses,
    }


def projected_coverage(settings: TrainConfig, step: TTMStep) -> list[float]:
    """Shares that the iterations still to come would select by the scores after this one; [] where nobody can say."""
    if step.threshold is None:
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
