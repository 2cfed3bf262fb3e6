"""Recall over alpha: R@1 from image to text on a grid, tuned on the set or carried over from another (METHODS 5).

Reads truth, as `core.metrics.recall` does. Source: [VGPT] section 5, Tables 3, 7 and 8."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.debiasing.debias import centre_of_longest_best, debias_matrix, grid, prior_from_samples
from core.metrics.evaluation import percent_record
from core.metrics.groups import compare
from core.metrics.recall import _CELLS, _checked, classify_if_classes, recall


class RecallCurve(NamedTuple):
    """R@1 from image to text over a grid of alphas, percent.

    alphas, values : float64 (a,). hits : bool (a, images), who is right where; images without a caption are left out.
    """

    alphas: np.ndarray
    values: np.ndarray
    hits: np.ndarray

    @property
    def best(self) -> int:
        """Index of the best alpha: the centre of the longest run. On the images it was found on: "tuned on test"."""
        return centre_of_longest_best(self.values)

    def interval(self) -> tuple[float, float]:
        """The first and the last alpha of the run around `best` that reach the highest value."""
        short, at = np.flatnonzero(self.values < self.values.max()), self.best
        low = short[short < at].max(initial=-1) + 1
        high = short[short > at].min(initial=len(self.values)) - 1
        return float(self.alphas[low]), float(self.alphas[high])


def recall_curve(
    scores: np.ndarray, prior: np.ndarray, relevant: np.ndarray, step: float = 0.001
) -> RecallCurve:
    """R@1 from image to text at every alpha of a grid ([VGPT] section 5: step 0.001).

    scores : float (N, M), log P(t|i). prior : float (M,). relevant : bool (M, N).
    A caption that another beats at alpha 0 and at alpha 1 is beaten between them too, because both are lines: what is
    left, a handful of captions per image, is all that is compared.
    """
    array, belongs = _checked(scores, relevant)
    ends = array, debias_matrix(array, prior, 1.0)
    alphas, asked = grid(step), belongs.any(axis=0)
    rows = np.flatnonzero(asked)
    hits = np.empty((len(alphas), len(rows)), dtype=bool)
    size = max(1, _CELLS // array.shape[1])
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        for i, row in enumerate(part, start):
            true, other = (
                _undominated(ends[0][row, mask], ends[1][row, mask])
                for mask in (belongs[:, row], ~belongs[:, row])
            )
            hits[:, i] = _top(alphas, *true) > _top(alphas, *other)
    if not len(rows):
        raise InputError("No caption belongs to any image, so there is nothing to retrieve; check the set.")
    return RecallCurve(alphas, 100 * hits.mean(axis=1), hits)


def alpha_record(
    scores: np.ndarray, relevant: np.ndarray, seed: int = 0, prior: np.ndarray | None = None
) -> dict[str, Any]:
    """Recall both ways at alpha 0, at 1 and at the best alpha for R@1 from image to text; JSON-safe.

    prior : float (M,), log P_train(t); by default the mean over the set's own images, which costs nothing ([VGPT]
        appendix B, Table 7). From text to image alpha changes nothing: it takes the same from all images.
    Other arguments as in `recall`, scores in log space.
    """
    prior = prior_from_samples(scores) if prior is None else prior
    curve = recall_curve(scores, prior, relevant)
    best, (low, high) = float(curve.alphas[curve.best]), curve.interval()
    ends = {"alpha_0": 0.0, "alpha_1": 1.0, "best": best}
    record: dict[str, Any] = {name: _at(scores, prior, relevant, a, seed) for name, a in ends.items()}
    record["best"] |= {"label": "tuned on test", "alpha_low": low, "alpha_high": high}
    return record


def transferred_alpha_record(
    chosen_on: tuple[np.ndarray, np.ndarray],
    scores: np.ndarray,
    relevant: np.ndarray,
    seed: int = 0,
    priors: tuple[np.ndarray, np.ndarray] | None = None,
) -> dict[str, Any]:
    """The best alpha of other images and captions (scores, relevant), measured on these; JSON-safe.

    priors : float (M',) of the other captions and (M,) of these; by default the means over each set's own images.
    `gain` is the paired comparison of R@1 from image to text with alpha 0, image by image ([VGPT] Table 8).
    """
    own = prior_from_samples(chosen_on[0]), prior_from_samples(scores)
    other_prior, prior = own if priors is None else priors
    other = recall_curve(chosen_on[0], other_prior, chosen_on[1])
    alpha = float(other.alphas[other.best])
    curve = recall_curve(scores, prior, relevant)
    gain = compare(curve.hits[0].astype(float), curve.hits[other.best].astype(float), seed)
    return {**_at(scores, prior, relevant, alpha, seed), "gain": gain._asdict()}


def _at(
    scores: np.ndarray, prior: np.ndarray, relevant: np.ndarray, alpha: float, seed: int
) -> dict[str, Any]:
    """Every metric at one alpha."""
    table = debias_matrix(scores, prior, alpha)
    found = {name: percent_record(e) for name, e in recall(table, relevant, seed=seed).recall.items()}
    return {"alpha": alpha, "metrics": found | classify_if_classes(table, relevant, seed)}


def _undominated(zero: np.ndarray, one: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores at alpha 0 and at 1 of the captions that no other one beats at both."""
    order = np.lexsort((-one, -zero))
    zero, one = zero[order], one[order]
    best = np.maximum.accumulate(np.concatenate([[-np.inf], one[:-1]])) if len(one) else one
    kept = one > best
    return zero[kept], one[kept]


def _top(alphas: np.ndarray, zero: np.ndarray, one: np.ndarray) -> np.ndarray:
    """The highest score at every alpha, (a,); minus infinity where there is no caption."""
    if not len(zero):
        return np.full(len(alphas), -np.inf)
    return (zero + alphas[:, None] * (one - zero)).max(axis=1)
