"""Induced matchings and exact margins for every shape, and global assignment. Never receives truth.

Source: [TTM] sections 3.1, 3.2 and 3.2.1, Algorithm 1.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations
from math import perm
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from core.errors import InputError

# Up to this many matchings a group is solved by enumerating them (k = 6 square has 720), above it by assignment.
MAX_ENUMERATED = 720
# Groups per block of the enumeration: its working vectors stay in the processor's cache.
_BLOCK = 16_384


class Matches(NamedTuple):
    """The induced matching of every group.

    matching : int64 (n, m), the caption given to each image; -1 for the whole group where two matchings tie for
        the best total, so that no tie is ever resolved in anybody's favour.
    margin : float64 (n,), best total minus the best other matching's total, >= 0; 0 where tied.
    tied : bool (n,).
    """

    matching: np.ndarray
    margin: np.ndarray
    tied: np.ndarray


def check_scores(scores: np.ndarray, ids: list[str] | None = None) -> np.ndarray:
    """Validate scores of shape (n, m, k), 1 <= m <= k, k >= 2, finite; return them in float32 or float64."""
    array = np.asarray(scores)
    if array.ndim != 3:
        raise InputError(
            f"Scores have shape {array.shape}; they need three axes: (groups, images, captions)."
        )
    n, m, k = array.shape
    if n == 0:
        raise InputError("There are no groups in the scores; check the file or the filter.")
    if not 1 <= m <= k or k < 2:
        raise InputError(
            f"Groups of {m} images and {k} captions: need 1 <= images <= captions and two captions or more."
        )
    if not (np.issubdtype(array.dtype, np.floating) or np.issubdtype(array.dtype, np.integer)):
        raise InputError(f"Scores hold {array.dtype} values; they need numbers.")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    finite = np.isfinite(array).all(axis=(1, 2))
    if not finite.all():
        row = int((~finite).argmax())
        name = ids[row] if ids is not None else row
        raise InputError(
            f"Group {name!r} has a score that is not a finite number; score it again or leave it out."
        )
    return array


def match(scores: np.ndarray) -> Matches:
    """The matching with the highest total for every group, and its exact margin.

    Parameters
    ----------
    scores : float array (n, m, k), 1 <= m <= k; higher is a better match.

    Totals are summed in float64; totals that differ by no more than the rounding of that sum are tied.
    Raises InputError for a wrong shape or a non-finite score (naming the group).
    Source: [TTM] section 3.1 and Algorithm 1, lines 4-5; B.2 for m < k.

    >>> match(np.array([[[2.0, 1.9], [1.5, 1.6]]]))[:2]
    (array([[0, 1]]), array([0.2]))
    """
    array = check_scores(scores)
    n, m, k = array.shape
    matching = np.empty((n, m), dtype=np.int64)
    margin = np.empty(n, dtype=np.float64)
    solve = _enumerate if perm(k, m) <= MAX_ENUMERATED else _assign
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        matching[part], margin[part] = solve(array[part])
    tied = margin <= rounding(array)
    matching[tied] = -1
    margin[tied] = 0.0
    return Matches(matching, margin, tied)


def rounding(scores: np.ndarray) -> np.ndarray:
    """How far two equal totals of a group may differ by float64 rounding alone, (n,)."""
    m = scores.shape[1]
    return 4 * m * np.finfo(np.float64).eps * np.abs(scores).max(axis=(1, 2)).astype(np.float64)


@lru_cache(maxsize=32)
def _matchings(m: int, k: int) -> np.ndarray:
    """All injective maps from m images to k captions, int (P, m)."""
    return np.array(list(permutations(range(k), m)), dtype=np.int64)


def _enumerate(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best matching and margin by trying all of them; keeps a running best and second best."""
    n, m, k = scores.shape
    columns = np.ascontiguousarray(scores.transpose(1, 2, 0), dtype=np.float64)  # (m, k, n): long vectors
    options = _matchings(m, k)
    best, second = np.full(n, -np.inf), np.full(n, -np.inf)
    winner = np.zeros(n, dtype=np.int64)
    for p, option in enumerate(options):
        total = columns[0, option[0]].copy()
        for i in range(1, m):
            total += columns[i, option[i]]
        better = total > best
        np.maximum(second, np.minimum(total, best), out=second)
        np.maximum(best, total, out=best)
        winner[better] = p
    return options[winner], best - second


def _assign(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best matching by assignment; the best other one avoids at least one of its edges, so forbid each in turn."""
    n, m, _ = scores.shape
    matching, margin = np.empty((n, m), dtype=np.int64), np.empty(n)
    rows = np.arange(m)
    for g, group in enumerate(scores.astype(np.float64)):
        _, chosen = linear_sum_assignment(group, maximize=True)
        others = []
        for i in rows:
            forbidden = group.copy()
            forbidden[i, chosen[i]] = -np.inf
            _, other = linear_sum_assignment(forbidden, maximize=True)
            others.append(group[rows, other].sum())
        matching[g], margin[g] = chosen, max(0.0, group[rows, chosen].sum() - max(others))
    return matching, margin


def match_global(scores: np.ndarray) -> np.ndarray:
    """One injective matching of all N images to M >= N captions with the highest total, int64 (N,).

    `scores` is float (N, M), finite. Solved exactly as an assignment problem ([TTM] section 3.2.1, Eq. 2).
    """
    array = np.asarray(scores)
    if array.ndim != 2 or not 1 <= array.shape[0] <= array.shape[1]:
        raise InputError(
            f"Global scores have shape {array.shape}; they need (images, captions) with images <= captions."
        )
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        raise InputError(
            f"Image {int((~finite).argmax())} has a score that is not a finite number; score it again."
        )
    return linear_sum_assignment(array, maximize=True)[1]
