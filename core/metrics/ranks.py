"""Ranks of images and captions among all others from blocks of score rows: the whole matrix is never held.

A part of the retrieval metrics ([TTM] 3.2.1; METHODS 2), so it reads truth. `core.metrics.retrieval.ranks` says the
same of a matrix in memory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.base.errors import InputError
from core.matching.global_match import AllPairs, row_blocks
from core.metrics.retrieval import Ranks


def rank_both_ways(
    rows: Callable[[slice], np.ndarray], images: int, truth: np.ndarray
) -> tuple[Ranks, Ranks]:
    """For every image the rank of its best-ranked caption, and for every caption the rank of its image.

    Parameters
    ----------
    rows : gives the scores of some images with all captions, float (b, M); asked twice for every block,
        it has to give the same numbers.
    images : N, the number of images.
    truth : int (M,), the image that each caption belongs to (several captions may share one, as in COCO).

    Ranks count from 1; another item with the same score counts as ranked before (a tie is lost, and marked). An image's
    other captions are no rivals of its best one.
    Raises InputError for an image without a caption, a caption of no image, or a score that is not finite.
    """
    own = np.asarray(truth)
    if own.ndim != 1 or not np.issubdtype(own.dtype, np.integer) or not len(own):
        raise InputError(f"Truth has shape {own.shape}; it needs one image index for each caption.")
    if own.min() < 0 or own.max() >= images or len(np.unique(own)) < images:
        raise InputError(f"Every caption needs one of the {images} images, and every image a caption.")
    return _ranks(rows, images, own)


def rank_own(pairs: AllPairs, own: np.ndarray) -> tuple[Ranks, Ranks]:
    """For every image the rank of its own caption among all, and for that caption the rank of its image among all.

    own : int (N,), the caption of each image, no two alike. Captions of no image are rivals and are not asked for.
    Ties, blocks and errors as in `rank_both_ways`.
    """
    owner = np.full(pairs.captions, -1)
    owner[own] = np.arange(pairs.images)
    to_text, to_image = _ranks(pairs.rows, pairs.images, owner)
    place = np.cumsum(owner >= 0)[own] - 1
    return to_text, Ranks(to_image.rank[place], to_image.tied[place])


def _ranks(rows: Callable[[slice], np.ndarray], images: int, owner: np.ndarray) -> tuple[Ranks, Ranks]:
    """Ranks of every image's best caption, and of the image of every caption that has one; owner (M,), -1 for none."""
    asked = np.flatnonzero(owner >= 0)
    own, true = owner[asked], np.empty(len(asked))
    for part, block in row_blocks(rows, images, len(owner)):
        mine = np.flatnonzero((own >= part.start) & (own < part.stop))
        true[mine] = block[own[mine] - part.start, asked[mine]]
    return _count(rows, images, len(owner), asked, own, true)


def _count(
    rows: Callable[[slice], np.ndarray],
    images: int,
    captions: int,
    asked: np.ndarray,
    own: np.ndarray,
    true: np.ndarray,
) -> tuple[Ranks, Ranks]:
    """Rivals above and beside each image's best caption (along rows) and each asked caption's image (along columns)."""
    best = np.full(images, -np.inf)
    np.maximum.at(best, own, true)
    above, beside = np.zeros((2, images), dtype=np.int64)
    over, level = np.zeros((2, len(own)), dtype=np.int64)
    for part, block in row_blocks(rows, images, captions):
        threshold = best[part].astype(block.dtype)[:, None]
        above[part] = np.count_nonzero(block > threshold, axis=1)
        beside[part] = np.count_nonzero(block >= threshold, axis=1) - above[part]
        columns = block if len(asked) == captions else block[:, asked]
        scores = true.astype(block.dtype)
        over += np.count_nonzero(columns > scores, axis=0)
        level += np.count_nonzero(columns >= scores, axis=0)
    level -= over
    # A caption's own image, and those of an image's own captions that reach its best score, are no rivals.
    beside -= np.bincount(own, true == best[own], minlength=images).astype(np.int64)
    level -= 1
    return Ranks(1 + above + beside, beside > 0), Ranks(1 + over + level, level > 0)
