"""Recall over alpha: R@1 from image to text on a grid, tuned on the set or carried over from another (METHODS 5).

Reads what belongs together, as `core.metrics.recall` does. Source: [VGPT] section 5, Tables 3, 7 and 8.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.base.arrays import Array, to_numpy
from core.base.errors import InputError
from core.debiasing.curves import alpha_grid, best_runs, centre_of_longest_best
from core.debiasing.debias import debias_matrix, prior_from_samples
from core.metrics.groups import compare
from core.metrics.recall import recall


class _RecallCurve(NamedTuple):
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
        low, end = next((low, end) for low, end in best_runs(self.values) if low <= self.best < end)
        return float(self.alphas[low]), float(self.alphas[end - 1])


def recall_curve(scores: Array, prior: Array, relevant: Array, step: float = 0.001) -> _RecallCurve:
    """R@1 from image to text at every alpha of a grid ([VGPT] section 5: step 0.001).

    scores : float (N, M), log P(t|i). prior : float (M,). relevant : bool (M, N). Numpy arrays or torch tensors; the
    curve is numpy's.
    A caption that another beats at alpha 0 and at alpha 1 is beaten between them too, because both are lines: what is
    left, a handful of captions per image, is all that is compared.
    """
    ends = [to_numpy(debias_matrix(scores, prior, alpha)) for alpha in (0.0, 1.0)]
    belongs, alphas = to_numpy(relevant), alpha_grid(step)
    images = np.flatnonzero(belongs.any(axis=0))
    if belongs.shape != ends[0].T.shape or not len(images):
        raise InputError(
            f"What belongs together, of shape {belongs.shape} (captions, images), gives scores of shape "
            f"{ends[0].shape} (images, captions) nothing to retrieve; check the set."
        )
    hits = np.empty((len(alphas), len(images)), dtype=bool)
    for place, image in enumerate(images):
        true, other = (
            _highest(alphas, *(end[image, mask] for end in ends))
            for mask in (belongs[:, image], ~belongs[:, image])
        )
        hits[:, place] = true > other
    return _RecallCurve(alphas, 100 * hits.mean(axis=1), hits)


def _highest(alphas: np.ndarray, zero: np.ndarray, one: np.ndarray) -> np.ndarray:
    """The highest score at every alpha, (a,), of captions with these scores at 0 and at 1; minus infinity of none."""
    order = np.lexsort((-one, -zero))
    zero, one = zero[order], one[order]
    kept = one > np.maximum.accumulate(np.append(-np.inf, one))[:-1]  # no other one beats it at both ends
    return (zero[kept] + alphas[:, None] * (one - zero)[kept]).max(axis=1, initial=-np.inf)


def alpha_record(scores: Array, relevant: Array, seed: int = 0, prior: Array | None = None) -> dict[str, Any]:
    """Recall both ways at alpha 0, at 1 and at the best alpha for R@1 from image to text; JSON-safe.

    prior : float (M,), log P_train(t); by default the mean over the set's own images, which costs nothing ([VGPT]
        appendix B, Table 7). From text to image alpha changes nothing: it takes the same from all images.
    Other arguments as in `recall_curve`.
    """
    prior = prior_from_samples(scores) if prior is None else prior
    curve = recall_curve(scores, prior, relevant)
    best, (low, high) = float(curve.alphas[curve.best]), curve.interval()
    ends = {"alpha_0": 0.0, "alpha_1": 1.0, "best": best}
    record = {name: _at(scores, prior, relevant, a, seed) for name, a in ends.items()}
    record["best"] |= {"label": "tuned on test", "alpha_low": low, "alpha_high": high}
    return record


def transferred_alpha_record(
    chosen_on: tuple[Array, Array],
    scores: Array,
    relevant: Array,
    seed: int = 0,
    priors: tuple[Array, Array] | None = None,
) -> dict[str, Any]:
    """The best alpha of other images and captions (scores, relevant), measured on these; JSON-safe.

    priors : float (M',) of the other captions and (M,) of these; by default the means over each set's own images.
    `gain` is the paired comparison of R@1 from image to text with alpha 0, image by image ([VGPT] Table 8).
    """
    other_prior, prior = priors or (prior_from_samples(chosen_on[0]), prior_from_samples(scores))
    other = recall_curve(chosen_on[0], other_prior, chosen_on[1])
    curve = recall_curve(scores, prior, relevant)
    gain = compare(curve.hits[0], curve.hits[other.best], seed)
    found = _at(scores, prior, relevant, float(other.alphas[other.best]), seed)
    return {**found, "gain": gain._asdict()}


def _at(scores: Array, prior: Array, relevant: Array, alpha: float, seed: int) -> dict[str, Any]:
    """Every metric at one alpha."""
    found = recall(debias_matrix(scores, prior, alpha), relevant, seed=seed).metrics
    return {"alpha": alpha, "metrics": {name: e.record() for name, e in found.items()}}
