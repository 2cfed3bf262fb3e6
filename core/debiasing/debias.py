"""Alpha-debiasing of generative scores: language priors, the debiased score, its readings ([VGPT] 3, 4).

Source: [VGPT] Eq. 4-13 and 15-20, appendices A and B. Everything stays in log space: a score is log P(t|i), or a mean
of token log-likelihoods, and a prior is log P_train(t). Numpy arrays or torch tensors, in and out.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import array_namespace

from core.base.arrays import Array, as_array, as_float64, like, to_numpy
from core.base.errors import InputError
from core.matching.groups import check_scores, rounding_of_differences


def prior_from_samples(log_probs: Array) -> Array:
    """log P_train(t) of every caption from sampled images: the log of a mean of probabilities.

    log_probs : float (n_images, n_captions), log P(t|i), finite, n_images >= 1. The images are Gaussian null images,
        training images or the test set's own. A mean of logarithms would be another quantity, and lower.
    Returns float64 (n_captions,), between the column's smallest and largest entry.
    Raises InputError for another shape or a non-finite entry. Source: [VGPT] Eq. 13, appendix B.

    >>> prior_from_samples(np.log([[0.2, 0.5], [0.4, 0.5]])).round(4).tolist()  # log 0.3, log 0.5
    [-1.204, -0.6931]
    """
    samples = as_float64(as_array(log_probs))
    if samples.ndim != 2 or 0 in samples.shape:
        raise InputError(
            f"Prior samples have shape {tuple(samples.shape)}; they need (images, captions), one or more."
        )
    if not array_namespace(samples).isfinite(samples).all():
        caption = int((~np.isfinite(to_numpy(samples))).any(axis=0).argmax())
        raise InputError(
            f"A prior sample of caption {caption} is not a finite number; score the samples again."
        )
    return _log_mean(samples, axis=0)


def prior_from_scores(scores: Array) -> Array:
    """The test set's own images as samples: log mean over a group's m images of P(t|i), float64 (n, k).

    scores : float (n, m, k) in log space. With m = 1 it equals the scores and debiasing by alpha = 1 erases them: use
    another prior there. Where the scores of all images with all captions exist, give them to `prior_from_samples`,
    which is what [VGPT] appendix B (Table 7) does.
    """
    return _log_mean(as_float64(check_scores(scores)), axis=1)


def _log_mean(logs: Array, axis: int) -> Array:
    """log(mean(exp(logs))) along an axis, safe for any magnitude."""
    xp = array_namespace(logs)
    top = xp.max(logs, axis=axis, keepdims=True)
    return xp.squeeze(top, axis=axis) + xp.log(xp.mean(xp.exp(logs - top), axis=axis))


def check_prior(prior: Array, scores: Array) -> Array:
    """Validate a prior for scores (n, m, k): float64 (n, k), finite; returned in the library of the scores."""
    array = as_float64(like(prior, scores))
    n, _, k = scores.shape
    if array.shape != (n, k):
        raise InputError(
            f"The prior has shape {tuple(array.shape)}; the scores need ({n}, {k}), one per caption."
        )
    if not array_namespace(array).isfinite(array).all():
        group = int((~np.isfinite(to_numpy(array))).any(axis=1).argmax())
        raise InputError(f"Group {group} has a prior that is not a finite number; compute it again.")
    return array


def _check_alpha(alpha: float) -> float:
    """Validate alpha: a number in [0, 1]."""
    if not 0 <= alpha <= 1:
        raise InputError(f"Alpha is {alpha}; it needs a number from 0 (keep the prior) to 1 (remove it).")
    return float(alpha)


def debias(scores: Array, prior: Array, alpha: float) -> Array:
    """log P(t|i) - alpha * log P_train(t), float64, in the shape of the scores.

    Parameters
    ----------
    scores : float (n, m, k) of groups, or (N, M) of all images with all captions; log P(t|i).
    prior : float (n, k), log P_train of each group's captions, or (M,).
    alpha : in [0, 1]; 0 keeps the language prior (scenario 1), 1 removes it (scenario 2).

    The same number leaves a whole column, so on square groups GroupMatch, and on any group ImageScore, cannot change;
    TextScore and GroupScore can. Raises InputError for shapes that do not fit, non-finite values, or another alpha.
    Source: [VGPT] Eq. 5-7, section 5 (COCO, ImageNet).

    >>> debias(np.array([[[-1.0, -2.0]]]), np.array([[-1.0, -3.0]]), 1.0)
    array([[[0., 1.]]])
    """
    array = as_float64(as_array(scores))
    if array.ndim == 2:
        return array - _check_alpha(alpha) * _check_matrix(array, prior)
    array = as_float64(check_scores(scores))
    return array - _check_alpha(alpha) * check_prior(prior, array)[:, None, :]


def _rounding_of(scores: Array, prior: Array, alpha: float) -> np.ndarray | None:
    """How far two equal debiased scores of a group, or of an image, may differ by rounding alone, float64 (n,) or (N,).

    What evaluates them takes such scores for tied, as the exact curves do: 0.3 - 0.1 and 0.2 are one number on paper.
    None at alpha 0, where nothing was computed. Arguments as of `debias`, checked.
    """
    if not alpha:
        return None
    operands = np.abs(to_numpy(as_float64(as_array(scores))))
    prior = alpha * np.abs(to_numpy(as_float64(as_array(prior))))
    if operands.ndim == 2:
        return rounding_of_differences(operands.max(axis=1) + prior.max())
    return rounding_of_differences(operands.max(axis=(1, 2)) + prior.max(axis=1))


def _check_matrix(scores: Array, prior: Array) -> Array:
    """Validate scores (N, M) with their prior: float64 (M,), in the library of the scores."""
    known, xp = as_float64(like(prior, scores)), array_namespace(scores)
    if known.shape != scores.shape[1:]:
        raise InputError(
            f"Scores of shape {tuple(scores.shape)} need one prior per column; the prior has {tuple(known.shape)}."
        )
    if not (xp.isfinite(scores).all() and xp.isfinite(known).all()):
        raise InputError("A score or a prior is not a finite number; compute it again.")
    return known


def group_prior(prior: Array, caption_index: Array) -> Array:
    """A prior over distinct captions (c,) laid out per group: float64 (n, k).

    caption_index : int (n, k), as `GroupSet.unique_captions` gives it.
    """
    array, index = as_float64(as_array(prior)), to_numpy(caption_index)
    if array.ndim != 1 or (index.size and not 0 <= index.min() <= index.max() < len(array)):
        raise InputError(
            f"The prior has shape {tuple(array.shape)}; it needs one number for each distinct caption that a group "
            "names."
        )
    return array[like(index, array)]
