"""From a scorer, by name or your own, to scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from core.datasets.sets import Retrieval
from core.groups import GroupSet
from core.scoring import load, scores
from core.scoring.load import lazy_scorer
from core.scoring.retrieval import score_retrieval as _score_retrieval
from core.scoring.text_only import _score_text_only
from core.ttm.defaults import full_name
from crossmatch._arguments import check_groups

if TYPE_CHECKING:
    from core.scorers.base import Scorer

Progress = Callable[[int, int], None]


def scorers() -> dict[str, str]:
    """Every score that the built-in models give; other models go by the names that `load_scorer` lists.

    Returns
    -------
    dict from name, for `score` and `load_scorer`, to kind of score: itc (contrastive similarity), itm (matching
        head), vgpt (log-likelihood of the caption given the image), vqa (how likely the answer "yes" is), vqa-log (its
        logarithm), lm and blind (log-likelihood of the caption without an image).

    Examples
    --------
    >>> import crossmatch as cm
    >>> cm.scorers()["builtin/clip"], cm.scorers()["builtin/blip-caption"]
    ('itc', 'vgpt')
    """
    return load.scorer_names()


def load_scorer(name: str, device: str = "auto") -> Scorer:
    """A model by name, loaded, which takes torch: on a device of your choice, or to adapt.

    Parameters
    ----------
    name : a model.
        "builtin/NAME" : one that ships with Crossmatch (`scorers()`).
        "openai/clip-vit-base-patch32" : one of Hugging Face; or a folder with one.
        "open_clip:ARCHITECTURE/PRETRAINED" : one of open_clip.
        "run/ID" : what a finished run adapted.
        "api:MODEL" : an endpoint that returns log-probabilities.
        "python:NAME" : a plug-in.
        A kind of score before a colon asks a model for another score than its own, "itc:builtin/blip-itm";
        "bfloat16:", "float16:" or "compiled:" before all of it runs the model that way.
    device : "auto", "cpu", "cuda", "cuda:1" or "mps".

    Returns
    -------
    A scorer, which stays in memory for the next call. Anything with these three is one:
        name : str.
        key : str, another one whenever a score could be another.
        score(images, captions, pairs) : float32 (p,), of pairs int (p, 2), places in the two lists.

    Raises
    ------
    InputError : whatever cannot be loaded, in one sentence.

    Examples
    --------
    >>> import crossmatch as cm
    >>> cm.load_scorer("builtin/clip", device="cpu").name
    'builtin/clip'
    """
    return load.load_scorer(full_name(name), device)


def score(
    scorer: str | Scorer,
    groups: GroupSet,
    *,
    cache: bool = True,
    progress: Progress | None = None,
    text_only: bool = False,
) -> np.ndarray:
    """Scores of every image with every caption of its own group.

    Parameters
    ----------
    scorer : a name as `load_scorer` takes it, whose model is loaded only where a score is not known yet; or a scorer.
        It is shown images, captions and which pairs to score: no groups, and no truth.
    groups : of one shape, from `load_benchmark` or `make_groups`.
    cache : look scores up on disk first, and store what is new; those of the built-in models on the built-in sets
        ship with Crossmatch. False computes them all.
    progress : called with (pairs done, pairs to score).
    text_only : SugarCrepe++'s text-only test, for groups of one image and three captions: a caption's score is minus
        the cosine of the other two, and no image is opened. Measure it by `evaluate(..., text_only=True)`. `cache` and
        `progress` do nothing here. A scorer of your own needs `caption_similarities(captions, pairs)`, float32 (p,).

    Returns
    -------
    float32 (n, m, k), higher is a better match, in the scorer's own units: the scaled cosine for itc (plus the bias of
        SigLIP), the logit of the matching head for itm, the mean log-likelihood of a token for vgpt, lm and blind.

    Raises
    ------
    InputError : mixed shapes, an image that does not open, a score that is not finite (the group is named); with
        `text_only`, groups of another shape, or a model that reads no caption by itself.

    Examples
    --------
    >>> import crossmatch as cm
    >>> groups = cm.load_benchmark("scenes/left-right")
    >>> scores = cm.score("builtin/clip", groups)
    >>> scores.shape, scores.dtype
    ((300, 2, 2), dtype('float32'))
    """
    check_groups(groups)
    if text_only:
        return _score_text_only(named(scorer), groups)
    return scores.score_groups(named(scorer), groups, cached(cache), progress)


def score_retrieval(
    scorer: str | Scorer, found: Retrieval, *, cache: bool = True, progress: Progress | None = None
) -> np.ndarray:
    """Scores of every query of a retrieval set with every image.

    Parameters
    ----------
    scorer, cache : as for `score`.
    found : a set from `load_retrieval`.
    progress : called with (pairs done, pairs to score).

    Returns
    -------
    float32 (q, n), for `recall` and `evaluate_retrieval`.

    Raises
    ------
    InputError : as `score`; the caption is named.

    Examples
    --------
    >>> import crossmatch as cm
    >>> found = cm.load_retrieval("scenes/retrieval")
    >>> scores = cm.score_retrieval("builtin/clip", found, cache=False)  # without: the next call need not score again
    >>> scores.shape == (len(found.queries), len(found.images))
    True
    """
    total = len(found.queries) * len(found.images)
    told = None if progress is None else lambda share: progress(round(share * total), total)
    return _score_retrieval(named(scorer), found, cached(cache), told)


def named(scorer: str | Scorer) -> Scorer:
    """A scorer by name, whose model is loaded when it is needed; any other one as it is."""
    return lazy_scorer(full_name(scorer)) if isinstance(scorer, str) else scorer


def cached(wanted: bool) -> scores.ScoreCache | None:
    """The user's cache of scores, where it is wanted."""
    return scores.ScoreCache() if wanted else None
