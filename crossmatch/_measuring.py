"""Matchings, which never see truth, and metrics, which read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.debiasing.debias import _rounding_of, debias
from core.debiasing.priors import Prior
from core.groups import check_truth
from core.matching import groups as matching
from core.matching.global_match import match_global as _match_global
from core.metrics import groups as metrics
from core.metrics import paired, statistics
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import TEXT_SCORE
from core.metrics.recall import TOPS, RecallResult
from core.metrics.recall import recall as _recall
from core.metrics.retrieval import QueryPartResult, RetrievalEvaluation
from crossmatch._arguments import check_evaluation, check_scores


def match(scores: np.ndarray) -> matching.Matches:
    """The induced matching of every group: a caption for each image, none twice, with the highest total score.

    Parameters
    ----------
    scores : float (n, m, k), 1 <= m <= k, k >= 2, finite; higher is a better match.

    Returns
    -------
    matching : int64 (n, m), the caption given to each image; -1 for a whole group where two matchings tie for the best
        total, so that no tie is resolved in anybody's favour.
    margin : float64 (n,), best total minus the total of the best other matching, >= 0, in the units of the scores and
        exact for every shape; 0 where tied.
    tied : bool (n,). Totals are summed in float64, and tied where they differ by its rounding alone.

    Raises
    ------
    InputError : another shape or type, a score that is not finite (the group is named).

    Source: [TTM] section 3.1 and Algorithm 1, lines 4-5; B.2 for m < k.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> found = cm.match(np.array([[[2.0, 1.9], [1.5, 1.6]]]))  # totals 3.6 and 3.4
    >>> found.matching.tolist(), found.margin.round(6).tolist(), found.tied.tolist()
    ([[0, 1]], [0.2], [False])
    """
    check_scores(scores)
    return matching.match(scores)


def match_global(scores: np.ndarray) -> np.ndarray:
    """One matching of all images to all captions, without groups: the assignment with the highest total.

    Parameters
    ----------
    scores : float (N, M), N <= M, finite; row i, column j: image i with caption j.

    Returns
    -------
    int64 (N,), the caption of each image, no two the same. Where several assignments are best it is one of them:
        shuffle the columns before you compare it with a truth that lies in order.

    Raises
    ------
    InputError : another shape, a score that is not finite (the image is named).

    Source: [TTM] section 3.2.1, Eq. 2.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> cm.match_global(np.array([[3.0, 2.0], [2.9, 0.0]])).tolist()  # 2.0 + 2.9 is more than 3.0 + 0.0
    [1, 0]
    """
    return _match_global(scores)


def evaluate(
    scores: np.ndarray,
    truth: np.ndarray | None = None,
    *,
    ids: Sequence[str] | None = None,
    tags: pd.DataFrame | Mapping[str, Sequence[str]] | Sequence[Mapping[str, str]] | None = None,
    global_scores: np.ndarray | None = None,
    seed: int = 0,
    prior: np.ndarray | Prior | None = None,
    alpha: float = 0.0,
    text_only: bool = False,
) -> Evaluation:
    """Scores measured against truth: every metric with its 95 % interval, its chance level and its count of ties.

    Parameters
    ----------
    scores : float (n, m, k), 1 <= m <= k, k >= 2, finite; higher is a better match.
    truth : int (n, m), the caption of each image, distinct within a group; by default image i belongs to caption i. Of
        groups of one image also (n, t): where t captions are true, the matching may give the image any of them, and
        every other metric asks that each scores above each that is not.
    ids : n names of groups, for tables and errors; by default "0", "1", ...
    tags : columns to slice by, n values each: a data frame, a dict from name to values, or a dict for each group.
    global_scores : float (n m, n k), all images with all captions, group after group, for the last three metrics.
    seed : of the order in which global matching sees the columns, so that ties fall at random.
    prior, alpha : as for `debias`, whose scores are measured then, with the ties of `alpha_study`: numbers that are
        equal on paper, as 0.3 - 0.1 and 0.2, tie. Of what `debias` returns only equal numbers tie, which rounding may
        keep apart.
    text_only : the scores are those of `score(..., text_only=True)`, float (n, 1, 3), and truth names two captions of
        each group, int (n, 2): TextScore alone is measured, which is SugarCrepe++'s text-only test; chance is 1/3.

    Returns
    -------
    An evaluation; a tie counts as wrong in every metric.
        metrics : dict from name to (value, low, high, chance, ties), in percent; `ties` is how many groups only a tie
            made wrong, None where nobody counted. Names: text_score, image_score, group_score, group_match,
            individual_match; with `global_scores` also global_match, image_to_text, text_to_image. In brackets any
            spelling that has these letters will do: metrics["GroupMatch"].
        outcomes : dict from name to (value, tied): each group's own, bool (n,) or a share in [0, 1]; and bool (n,).
        matches : as `match` returns.
        table() : a data frame with a row per group.
        slices("tag") : dict from name of the tag to dict from its value to an evaluation.
        select(mask) : the evaluation of some groups, bool (n,).
        record() : all of it as JSON-safe data.

    Raises
    ------
    InputError : shapes that do not fit, a truth that names no caption or one twice, a score that is not finite (the
        group is named); a file's name in place of its scores; `text_only` with a prior or `global_scores`.

    Source: [TTM] Eq. 1, sections 3.1 and 4.5, B.2; its Propositions 1-4 for chance levels.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> scores = np.array([[[2.0, 1.0], [0.5, 1.6]], [[2.0, 3.0], [0.0, 1.5]]])
    >>> found = cm.evaluate(scores, np.array([[0, 1], [0, 1]]))
    >>> found.metrics["group_score"].value, found.metrics["group_match"].value, found.metrics["group_match"].chance
    (50.0, 100.0, 50.0)
    >>> found.outcomes["group_score"].value.tolist()
    [True, False]
    """
    check_scores(scores)
    frame = tags if tags is None or isinstance(tags, pd.DataFrame | Mapping) else list(tags)
    table = None if frame is None else pd.DataFrame(frame)
    more: dict[str, Any] = {"tags": table, "global_scores": global_scores, "seed": seed}
    if text_only:
        _check_text_only(scores, truth, prior, global_scores)
        more["names"] = (TEXT_SCORE,)
    if prior is None:
        if alpha:
            raise InputError(
                f"Alpha is {alpha}, and there is no prior to take from the scores; give `prior` as well."
            )
        return Evaluation.of(scores, truth, ids, **more)
    if global_scores is not None:
        raise InputError("A prior is taken from the scores of groups alone; leave `global_scores` out.")
    values = prior.values if isinstance(prior, Prior) else prior
    debiased = debias(scores, values, alpha)
    return Evaluation.of(debiased, truth, ids, rounding=_rounding_of(scores, values, alpha), **more)


def _check_text_only(scores: Any, truth: Any, prior: Any, global_scores: Any) -> None:
    """Raises InputError for what cannot be SugarCrepe++'s text-only test."""
    found, true = np.shape(scores), np.shape([[0]] if truth is None else truth)
    if found[1:] != (1, 3) or true[1:] != (2,):
        raise InputError(
            f"The text-only test takes scores (n, 1, 3) and a truth (n, 2) that names both true captions, and here "
            f"they are {found} and {'left out' if truth is None else true}; score groups that have two true captions, "
            "as those of sugarcrepe-pp, with cm.score(..., text_only=True)."
        )
    if prior is not None or global_scores is not None:
        unused = "prior" if prior is not None else "global_scores"
        raise InputError(f"The text-only test reads no image and has no use for `{unused}`; leave it out.")


def compare(
    first: Evaluation, second: Evaluation, names: Sequence[str] | None = None
) -> dict[str, statistics.Comparison]:
    """Two evaluations of the same groups, paired: how much more the second has right, and whether that may be chance.

    Parameters
    ----------
    first, second : from `evaluate`, of the same groups in the same order: two models, or before and after.
    names : of metrics; by default all.

    Returns
    -------
    dict from metric to
        difference, low, high : second minus first in percentage points, and its 95 % interval.
        fixed, broken : how many groups only the second has right, and only the first.
        p_value : McNemar's exact test, two-sided; of several comparisons, correct it (Holm).
        detectable : the smallest difference that so many groups would have shown with 80 % power, uncorrected.

    Raises
    ------
    InputError : evaluations of different groups; what is no evaluation.

    Examples
    --------
    >>> import crossmatch as cm
    >>> groups = cm.load_benchmark("scenes/left-right")
    >>> names = "builtin/clip", "builtin/blip-itm"
    >>> clip, itm = (cm.evaluate(cm.score(name, groups), groups.truth) for name in names)
    >>> gain = cm.compare(clip, itm)["group_score"]
    >>> round(gain.difference, 1), gain.fixed - gain.broken, gain.p_value < 0.001
    (46.0, 138, True)
    """
    check_evaluation(first)
    check_evaluation(second)
    return paired.differences(first, second, names)


def threshold_curve(scores: np.ndarray, truth: np.ndarray) -> metrics.ThresholdCurve:
    """What a threshold on the margin selects, and how much of that is right: exact at every threshold, no grid.

    Parameters
    ----------
    scores, truth : as for `evaluate`.

    Returns
    -------
    threshold : float64 (t,), the distinct margins, descending, in the units of the scores.
    coverage : float64 (t,), share in [0, 1] of all n groups whose margin is at least that.
    precision : float64 (t,), share in [0, 1] of those whose induced matching is the true one. A tied group is never
        selected.
    selected : int64 (t,), how many groups that is.

    Raises
    ------
    InputError : as `evaluate`.

    Source: [TTM] section 3.2, whose pseudo-labels these are.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> scores = np.array([[[3.0, 0.0], [0.0, 3.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]])
    >>> curve = cm.threshold_curve(scores, np.array([[0, 1], [0, 1], [0, 1]]))  # margins 6 and 2, and a tie
    >>> [part.round(3).tolist() for part in curve]
    [[6.0, 2.0], [0.333, 0.667], [1.0, 0.5], [1, 2]]
    """
    check_scores(scores)
    found = matching.match(scores)
    return metrics.threshold_curve(found, check_truth(truth, *np.asarray(scores).shape))


def recall(scores: np.ndarray, relevant: np.ndarray, tops: Sequence[int] = TOPS) -> RecallResult:
    """Recall at K both ways over a retrieval set: captions found for an image, and images found for a caption.

    Parameters
    ----------
    scores : float (q, n), captions x images, finite (`score_retrieval`).
    relevant : bool (q, n), what belongs together, any number of captions for an image.
    tops : the K.

    Returns
    -------
    recall : dict from image_to_text_r1, ..., text_to_image_r10 to (value, low, high, chance, ties), in percent. A query
        counts if any relevant item is among its first K; an irrelevant item with the same score comes before it.
    mean_rank, median_rank : by direction, of the best relevant item, 1 is first.
    left_out : by direction, how many queries have nothing relevant.

    Raises
    ------
    InputError : shapes that do not fit, a score that is not finite, nothing relevant at all.

    Source: [TTM] section 3.2.1; [VGPT] section 5.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> found = cm.recall(np.array([[3.0, 1.0], [2.0, 1.0]]), np.eye(2, dtype=bool), tops=[1])
    >>> found.recall["image_to_text_r1"].value, found.recall["image_to_text_r1"].ties  # image 1 ties
    (50.0, 1)
    """
    return _recall(np.asarray(scores).T, relevant, tops)


def evaluate_retrieval(
    scores: np.ndarray,
    relevant: np.ndarray,
    *,
    any_word: np.ndarray | None = None,
    all_words: np.ndarray | None = None,
    unseen: np.ndarray | None = None,
    attributes: np.ndarray | None = None,
    seed: int = 0,
) -> dict[str, dict[str, QueryPartResult]]:
    """Cola's metrics: mean average precision of queries against hard distractors, mean ranks, and F1.

    Parameters
    ----------
    scores : float (q, n), queries x images, finite (`score_retrieval`).
    relevant : bool (q, n).
    any_word, all_words : bool (q, n), the images that each query is ranked among; metrics of a list that is None are
        left out.
    unseen : bool (q,). attributes : int (q,). The parts of the queries. These four as `load_retrieval` has them.
    seed : of the bootstrap over queries.

    Returns
    -------
    dict from metric to dict from part of the queries to
        estimate : (value, low, high, chance, ties), in percent, or a rank, 1 is first.
        queries, skipped : how many were measured, and how many have nothing to find in their list.
    Metrics: cola_map and f1 among `any_word`; query_all_map, mean_rank_relevant and mean_rank_distractor among
    `all_words`; standard_map among all images. Parts: all, seen, unseen, attributes-N. Of equal scores the irrelevant
    images come first.

    Raises
    ------
    InputError : shapes that do not fit, a score that is not finite.

    Source: [Cola] sections 5.1 and 10.

    Examples
    --------
    >>> import crossmatch as cm, numpy as np
    >>> found = cm.evaluate_retrieval(np.array([[0.9, 0.8, 0.1]]), np.array([[True, False, True]]))
    >>> round(found["standard_map"]["all"].estimate.value, 2)  # (1/1 + 2/3) / 2
    83.33
    """
    lists = RetrievalEvaluation(
        np.asarray(scores), np.asarray(relevant), any_word, all_words, unseen, attributes, seed=seed
    )
    return lists.metrics()
