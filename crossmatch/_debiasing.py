"""Language priors, and scores without them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.debiasing import debias as _debias
from core.debiasing import priors
from core.debiasing.study import AlphaStudy
from core.groups import GroupSet
from core.matching.groups import check_scores
from core.ttm.defaults import full_name
from crossmatch._scoring import Progress, cached, named

if TYPE_CHECKING:
    from core.scorers.base import Scorer


def estimate_prior(
    scorer: str | Scorer,
    groups: GroupSet,
    kind: str = "gaussian",
    *,
    count: int | None = None,
    seed: int = 0,
    model: str = priors.LANGUAGE_MODEL,
    folder: str | Path | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> priors.Prior:
    """log P_train(t) of every caption of a set: how likely a captioner finds the words, whatever the image.

    Parameters
    ----------
    scorer : a captioner, whose scores are log P(t | image): "builtin/blip-caption", "vgpt:NAME", or a loaded one.
    groups : of one shape.
    kind : the images that P(t | image) is averaged over.
        "gaussian" : noise.
        "test" : the set's own.
        "train" : training images.
        "lm" : none; log P(t) of another language model.
    count : how many images; by default the paper's for noise (3; on Winoground 100), else 30 or all there are.
    seed : draws the images.
    model : the language model of "lm".
    folder : images for "train", which all sets but the built-in ones need.
    cache, progress : as for `score`.

    Returns
    -------
    values : float64 (n, k), for `debias` and `alpha_study`: the logarithm of a mean of probabilities.
    kind, line : which one, and how it was made in words.
    samples : float32 (images, distinct captions), log P(t | image); None for "lm".
    caption_index : int64 (n, k), the place of each caption in `samples`.

    Raises
    ------
    InputError : an unknown kind, a count below 1, the name of a model whose scores are no log-likelihood, training
        images that are not at hand.

    Source: [VGPT] Eq. 13, section 4, appendices B and D.

    Examples
    --------
    >>> import crossmatch as cm
    >>> groups = cm.load_benchmark("scenes/word-order").select(range(20))
    >>> prior = cm.estimate_prior("builtin/blip-caption", groups)
    >>> prior.values.shape, prior.line
    ((20, 5), '3 Gaussian noise images')
    """
    if isinstance(scorer, str):
        priors.check_log_prob(full_name(scorer))
    images = None if folder is None else Path(folder)
    sampled = priors.estimate_prior
    return sampled(named(scorer), groups, kind, count, seed, model, images, cached(cache), progress)


def debias(scores: np.ndarray, prior: np.ndarray | priors.Prior, alpha: float) -> np.ndarray:
    """Scores without their language prior: log P(t | image) - alpha * log P_train(t).

    Parameters
    ----------
    scores : float (n, m, k), log P(t | image), finite.
    prior : float (n, k), log P_train of each group's captions, finite; or what `estimate_prior` returns.
    alpha : in [0, 1]; 0 leaves the prior in, 1 takes it out.

    Returns
    -------
    float64 (n, m, k). The scores of a caption all move by the same number, so that on square groups GroupMatch, and on
        any group ImageScore, cannot change; TextScore and GroupScore can. To measure them give `evaluate` the scores,
        `prior` and `alpha`: it knows which of these differences are equal on paper.

    Raises
    ------
    InputError : shapes that do not fit, values that are not finite, another alpha.

    Source: [VGPT] Eq. 5-7.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> cm.debias(np.array([[[-1.0, -2.0]]]), np.array([[-1.0, -3.0]]), 1.0).tolist()
    [[[0.0, 1.0]]]
    """
    return _debias.debias(scores, _values(prior), alpha)


def alpha_study(
    scores: np.ndarray,
    prior: np.ndarray | priors.Prior,
    truth: np.ndarray,
    *,
    ids: Sequence[str] | None = None,
    seed: int = 0,
) -> AlphaStudy:
    """Every metric as an exact function of alpha: its curve, its best interval, and the paper's validation protocol.

    Parameters
    ----------
    scores, prior : as for `debias`.
    truth : int (n, m), as for `evaluate`.
    ids : n names; by default "0", "1", ...
    seed : of intervals and random halves.

    Returns
    -------
    A study, each part of which is computed when it is asked for; metrics are those of `evaluate`.
        curve(metric) : (edges, values, at, ties, squares). Between neighbouring `edges`, float64 (e,), the metric has
            one of `values`, float64 (e - 1,), in percent; exactly on them it is `at`, (e,), since a crossing is a tie
            and counts as wrong. `curve(metric).value(alpha)` for any alphas in [0, 1].
        best(metric) : (value, low, high, alpha, intervals), where the curve is highest. It is tuned on these very
            groups: say so beside it.
        validated(metric).summary : mean and standard deviation of alpha and metric, chosen on a random half of the
            groups and measured on the other, ten times.
        evaluation(alpha) : as `evaluate` returns.
        record() : all of it as JSON-safe data.

    Raises
    ------
    InputError : shapes that do not fit, values that are not finite; an unknown metric, when it is asked for.

    Source: [VGPT] Eq. 7 and section 5, whose grid of step 0.001 the curve replaces.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> study = cm.alpha_study(np.array([[[-2.0, -1.0]]]), np.array([[-4.0, -1.0]]), np.array([[0]]))
    >>> curve = study.curve("text_score")  # right once the common caption's lead of 3 counts a third
    >>> curve.edges.round(3).tolist(), curve.values.tolist()
    ([0.0, 0.333, 1.0], [0.0, 100.0])
    """
    array = check_scores(scores)
    names = [str(i) for i in range(len(array))] if ids is None else [str(name) for name in ids]
    return AlphaStudy(array, _values(prior), truth, names, seed)


def _values(prior: np.ndarray | priors.Prior) -> np.ndarray:
    return prior.values if isinstance(prior, priors.Prior) else prior
