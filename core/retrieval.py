"""Retrieval over all images and captions: recall at K and ranks, both ways (METHODS 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.errors import InputError

_BLOCK = 1024


class Ranks(NamedTuple):
    """Rank (1 = best) of the best-ranked relevant item for every query, int64 (q,), and where a tie decides it.

    An irrelevant item with the same score counts as ranked before the relevant one (ties are wrong). `tied` marks
    queries whose rank would be better if ties were won.
    """

    rank: np.ndarray
    tied: np.ndarray


def ranks(scores: np.ndarray, relevant: np.ndarray) -> Ranks:
    """Ranks of the best relevant column in each row.

    scores : float (q, c), finite; relevant : int (q,) one column per query, or bool (q, c) for several.
    Works in blocks of rows: no second matrix of the full size is held for one column per query.
    """
    array, wanted = np.asarray(scores), np.asarray(relevant)
    if array.ndim != 2 or wanted.shape not in {(len(array),), array.shape}:
        raise InputError(
            f"Retrieval needs scores (queries, candidates) and what is relevant; got {array.shape}, {wanted.shape}."
        )
    rank, tied = np.empty(len(array), dtype=np.int64), np.empty(len(array), dtype=bool)
    for start in range(0, len(array), _BLOCK):
        block = array[start : start + _BLOCK]
        mask = _mask(wanted[start : start + _BLOCK], block.shape)
        best = np.where(mask, block, -np.inf).max(axis=1, keepdims=True)
        if not np.isfinite(best).all():
            raise InputError(
                f"Query {start + int((~np.isfinite(best)).argmax())} has no relevant item or no finite score."
            )
        rivals = ~mask
        before, level = ((block > best) & rivals).sum(axis=1), ((block == best) & rivals).sum(axis=1)
        rank[start : start + len(block)] = 1 + before + level
        tied[start : start + len(block)] = level > 0
    return Ranks(rank, tied)


def _mask(wanted: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    if wanted.ndim == 2:
        return wanted.astype(bool)
    mask = np.zeros(shape, dtype=bool)
    mask[np.arange(shape[0]), wanted] = True
    return mask


def recall_at(found: Ranks, top: int) -> np.ndarray:
    """1.0 for every query with a relevant item among its first `top`, float64 (q,)."""
    return (found.rank <= top).astype(float)
