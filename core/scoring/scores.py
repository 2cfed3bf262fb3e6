"""From a scorer and groups to scores (n, m, k), by way of the cache on disk. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from core.base.errors import InputError, NotFiniteError
from core.base.limits import check_memory
from core.groups import GroupSet, ImageRef, _check_whole
from core.matching.groups import check_scores
from core.scorers.api import ApiScorer, CallEstimate
from core.scorers.base import ScoredRows, Scorer, used_inputs
from core.scoring.cache import ScoreCache
from core.scoring.pairs import Pairs

_Progress = Callable[[int, int], None]
# Scores of a table that are asked for at once: a pair's key takes some hundred bytes, its score four.
_BLOCK = 4_000_000


def score_groups(
    scorer: Scorer, groups: GroupSet, cache: ScoreCache | None = None, progress: _Progress | None = None
) -> np.ndarray:
    """Scores of every image with every caption of its own group, float32 (n, m, k).

    Parameters
    ----------
    groups : of one shape. Each distinct image and caption goes to the scorer once, with the pairs the groups need.
    cache : looked up first; what is new is stored as it comes, so that work that is cut short is not lost.
    progress : called with (pairs done, pairs to score); raising from it ends the work.

    The scorer sees images, captions and pairs only: no groups and no truth.
    Raises InputError for mixed shapes, an image that does not open, or a score that is not finite (naming the group).
    """
    images, captions, pairs, place = _distinct_pairs(groups)
    values = _pair_scores(scorer, images, captions, pairs, cache, progress)
    return check_scores(values[place], groups.ids)


def _distinct_pairs(groups: GroupSet) -> tuple[list[ImageRef], list[str], np.ndarray, np.ndarray]:
    """Distinct images and captions of groups, the distinct pairs (p, 2) within groups, and their place (n, m, k)."""
    blind = groups.blind()
    (images, first), (captions, second) = blind.unique_images(), blind.unique_captions()
    codes = first[:, :, None] * len(captions) + second[:, None, :]  # (n, m, k)
    distinct, place = np.unique(codes, return_inverse=True)
    return images, captions, np.column_stack(np.divmod(distinct, len(captions))), place.reshape(codes.shape)


def score_all(
    scorer: Scorer, groups: GroupSet, cache: ScoreCache | None = None, progress: _Progress | None = None
) -> np.ndarray:
    """Scores of all images with all captions, float32 (n m, n k): row g m + i is image i of group g, columns likewise.

    Arguments and errors as for `score_groups`. What the global variant matches ([TTM] 3.2.1).
    """
    blind = groups.blind()
    (images, first), (captions, second) = blind.unique_images(), blind.unique_captions()
    scores = _table(scorer, images, captions, cache, progress)[first.ravel()][:, second.ravel()]
    check_scores(scores.reshape(len(groups), -1, scores.shape[1]), groups.ids)
    return scores


def score_matrix(
    scorer: Scorer,
    images: Sequence[ImageRef],
    captions: Sequence[str],
    cache: ScoreCache | None = None,
    progress: _Progress | None = None,
) -> np.ndarray:
    """Scores of every image with every caption, float32 (images, captions): for priors and retrieval.

    Arguments as in `score_groups`. Raises InputError for an image that does not open, NotFiniteError for a score that
    is not finite.
    """
    table = _table(scorer, images, captions, cache, progress)
    bad = np.flatnonzero(~np.isfinite(table))
    if len(bad):
        raise NotFiniteError(
            f"{scorer.name} gives the caption {captions[bad[0] % len(captions)]!r} a score that is not a finite "
            "number; leave it out or use another model."
        )
    return table


def _score_choices(
    scorer: Scorer,
    images: Sequence[ImageRef],
    captions: Sequence[str],
    choices: np.ndarray,
    cache: ScoreCache | None = None,
    progress: _Progress | None = None,
) -> np.ndarray:
    """Scores of every caption with its own few images, float32 (captions, c), 0 where `choices` (captions, c) is -1.

    Arguments as in `score_groups`; no other pair is scored. Errors as of `score_matrix`.
    """
    offered = choices >= 0
    texts, place = np.unique(np.asarray(captions, dtype=object), return_inverse=True)
    first, second = choices[offered], np.broadcast_to(place[:, None], choices.shape)[offered]
    distinct, back = np.unique(first * len(texts) + second, return_inverse=True)
    pairs = np.column_stack(np.divmod(distinct, len(texts)))
    values = _pair_scores(scorer, images, list(texts), pairs, cache, progress)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise NotFiniteError(
            f"{scorer.name} gives the caption {texts[pairs[bad[0], 1]]!r} a score that is not a finite number; leave "
            "it out or use another model."
        )
    scores = np.zeros(choices.shape, dtype=np.float32)
    scores[offered] = values[back]
    return scores


def _table(
    scorer: Scorer,
    images: Sequence[ImageRef],
    captions: Sequence[str],
    cache: ScoreCache | None,
    progress: _Progress | None,
) -> np.ndarray:
    """Scores (images, captions), some images at a time: the keys of all pairs are many times as large as the scores."""
    what = f"A table of {len(images):,} images and {len(captions):,} captions"
    check_memory(what, 4 * len(images) * len(captions))
    table = np.empty((len(images), len(captions)), dtype=np.float32)
    step = max(1, _BLOCK // max(1, len(captions)))
    if len(images) > step:  # else it is done with the one block
        _check_whole(images)
    for start in range(0, len(images), step):
        block = images[start : start + step]
        pairs = np.indices((len(block), len(captions))).reshape(2, -1).T  # (block * captions, 2)
        tell = progress and _progress_of_block(progress, table[:start].size + len(pairs), table.size)
        values = _pair_scores(scorer, block, captions, pairs, cache, tell)
        table[start : start + step] = values.reshape(len(block), len(captions))
    return table


def _progress_of_block(progress: _Progress, end: int, total: int) -> _Progress:
    """`progress` of one block as that of the whole, where the block ends at `end`; what a cache knew is done."""
    return lambda done, missing: progress(end - missing + done, total)


def _pair_scores(
    scorer: Scorer,
    images: Sequence[ImageRef],
    captions: Sequence[str],
    pairs: np.ndarray,
    cache: ScoreCache | None,
    progress: _Progress | None,
) -> np.ndarray:
    """Scores float32 (p,) of pairs (p, 2): from the cache where it knows them, else scored, and stored as they come."""
    values = np.full(len(pairs), np.nan, dtype=np.float32)
    asked = None if cache is None else Pairs([image.key for image in images], captions, pairs)
    if cache is not None and asked is not None:
        values = cache.get(scorer.key, asked)
    missing, done = np.flatnonzero(np.isnan(values)), 0
    for rows, scores in _streamed(scorer, images, captions, pairs[missing]) if len(missing) else ():
        values[missing[rows]] = scores
        if cache is not None and asked is not None:
            cache.put(scorer.key, asked.take(missing[rows]), scores)
        done += len(rows)
        if progress is not None:
            progress(done, len(missing))
    return values


def _streamed(
    scorer: Scorer, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
) -> Iterator[ScoredRows]:
    """Rows of `pairs` with their scores, as they come from a scorer with `stream`, at once from any other."""
    first, second, index = used_inputs(pairs)
    some = [images[i] for i in first], [captions[j] for j in second], index
    _check_whole(some[0])
    stream = getattr(scorer, "stream", None)
    if stream is not None:
        yield from stream(*some)
        return
    scores = np.asarray(scorer.score(*some), dtype=np.float32)
    if scores.shape != (len(index),):
        raise InputError(
            f"The scorer {scorer.name!r} gave scores of shape {scores.shape} for {len(index)} pairs; "
            "its `score` must return one number per pair."
        )
    yield np.arange(len(index)), scores


def planned_calls(
    scorer: ApiScorer,
    groups: GroupSet,
    cache: ScoreCache,
    price_in: float | None = None,
    price_out: float | None = None,
) -> CallEstimate:
    """What scoring groups of one shape with a served model will take, without the pairs that the cache holds already.

    Asked before a run starts. Prices are per million tokens; without both there is no cost.
    """
    images, captions, pairs, _ = _distinct_pairs(groups)
    known = cache.get(scorer.key, Pairs([image.key for image in images], captions, pairs))
    return scorer.estimate(images, captions, pairs[np.isnan(known)], price_in, price_out)
