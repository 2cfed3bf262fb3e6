"""Induced matchings and exact margins for every shape, and global assignment. Never receives truth.

Source: [TTM] sections 3.1, 3.2 and 3.2.1, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import perm
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from core.base.errors import InputError
from core.base.interrupt import between_blocks
from core.base.limits import check_shape
from core.matching.blocks import Scratch, best_two, in_blocks, name_captions, peak

# Up to this many matchings a group is solved by enumerating them (k = 6 square has 720), above it by assignment.
MAX_ENUMERATED = 720
# Weights of exchange graphs that are worked on at a time.
_CYCLES = 262_144


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


def check_scores(scores: np.ndarray, ids: Sequence[str] | None = None) -> np.ndarray:
    """Validate scores of shape (n, m, k), 1 <= m <= k, k >= 2, finite; return them in float32 or float64."""
    array = check_form(scores)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if not np.isfinite(peak(array)):
        raise not_finite(array, ids)
    return array


def check_form(scores: np.ndarray) -> np.ndarray:
    """Validate shape and type alone, and return the array as it is: the rest is checked block by block."""
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
    check_shape(f"{n:,} groups of {m} x {k}", n, m, k)
    return array


def not_finite(scores: np.ndarray, ids: Sequence[str] | None = None) -> InputError:
    """The error that names the first group with a score that is not a finite number."""
    row = int((~np.isfinite(scores)).any(axis=(1, 2)).argmax())
    name = ids[row] if ids is not None else row
    return InputError(
        f"Group {name!r} has a score that is not a finite number; score it again or leave it out."
    )


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
    array = check_form(scores)
    found = empty_matches(array.shape)

    def work(part: slice, scratch: Scratch) -> None:
        columns = None if by_assignment(array.shape) else scratch.columns(array[part])
        match_block(array, part, columns, scratch, Matches(*(a[part] for a in found)))

    in_blocks(array, work)
    return found


def by_assignment(shape: tuple[int, ...]) -> bool:
    """Whether groups of this shape (n, m, k) have too many matchings to try them all."""
    return perm(shape[2], shape[1]) > MAX_ENUMERATED


def empty_matches(shape: tuple[int, int, int]) -> Matches:
    """Room for the matches of scores of this shape; no group is tied yet."""
    n, m, _ = shape
    return Matches(np.empty((n, m), dtype=np.int64), np.empty(n), np.zeros(n, dtype=bool))


def block_peak(scores: np.ndarray, part: slice) -> float:
    """The largest magnitude in a block of groups; raises InputError, naming the group, for one that is not finite."""
    highest = peak(scores[part])
    if not np.isfinite(highest):
        raise not_finite(scores)
    return highest


def match_block(
    array: np.ndarray, part: slice, columns: np.ndarray | None, scratch: Scratch, found: Matches
) -> np.ndarray | None:
    """`match` for one block of the groups of `array` (n, m, k), into `found`; raises InputError as `block_peak` does.

    columns : the block's, where all matchings are to be tried; without, each group is solved by assignment.
    Returns which of `kernels.matchings` won (b,), ties aside, where all were tried.
    """
    scores, winner = array[part], None
    size, m, k = scores.shape
    highest = block_peak(array, part)
    if columns is None:
        found.matching[:], found.margin[:] = _assign(scores)
    else:
        winner = best_two(columns, scratch.vectors(size), found.margin)
        name_captions(winner, m, k, found.matching)
    settle_ties(scores, highest, found)
    return winner


def settle_ties(scores: np.ndarray, highest: float, found: Matches) -> None:
    """Take the matching from the groups of a block (b, m, k) whose margin is rounding alone; `highest` magnitude."""
    # A bound for the whole block first: most blocks hold no tie.
    bound = _rounding(scores.shape[1], highest)
    if found.margin.min() <= bound:
        near = np.flatnonzero(found.margin <= bound)
        tied = near[found.margin[near] <= rounding(scores[near])]
        found.matching[tied], found.margin[tied], found.tied[tied] = -1, 0.0, True


def rounding(scores: np.ndarray) -> np.ndarray:
    """How far two equal totals of a group may differ by float64 rounding alone, (n,)."""
    return _rounding(scores.shape[1], np.abs(scores.astype(np.float64)).max(axis=(1, 2)))


def _rounding(m: int, highest: Any) -> Any:
    return 4 * m * np.finfo(np.float64).eps * highest


def _assign(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best matching by assignment, and its margin over the best other one; for groups with many matchings."""
    n, m, _ = scores.shape
    matching, margin = np.empty((n, m), dtype=np.int64), np.empty(n)
    for g, group in enumerate(scores):
        between_blocks()
        matching[g] = linear_sum_assignment(group.astype(np.float64), maximize=True)[1]
    size = max(1, _CYCLES // (m + 1) ** 2)
    for start in range(0, n, size):
        part = slice(start, start + size)
        margin[part] = _lightest_cycle(_exchanges(scores[part].astype(np.float64), matching[part]))
    return matching, margin


def _exchanges(scores: np.ndarray, matching: np.ndarray) -> np.ndarray:
    """What the total loses where image i takes the caption of image j, (v, v, n) with v = m.

    Where m < k the last of v = m + 1 places is the captions that are left over: to take one costs what the best of them
    loses, to leave one's own costs nothing. Any other matching is a set of cycles of such exchanges.
    """
    n, m, k = scores.shape
    taken = np.take_along_axis(scores, matching[:, None, :], axis=2)  # (n, image, caption of image j)
    own = np.einsum("nii->ni", taken)
    v = m if m == k else m + 1
    loss = np.zeros((v, v, n))
    loss[:m, :m] = (own[:, :, None] - taken).transpose(1, 2, 0)
    if m < k:
        left = scores.copy()
        np.put_along_axis(left, np.broadcast_to(matching[:, None, :], (n, m, m)), -np.inf, axis=2)
        loss[:m, m] = (own - left.max(axis=2)).T
    loss[range(v), range(v)] = np.inf
    return loss


def _lightest_cycle(loss: np.ndarray) -> np.ndarray:
    """The least weight of a cycle in each of n graphs (v, v, n) without a negative one, (n,); overwrites `loss`.

    All shortest paths by Floyd and Warshall's method, v^3 operations, on weights made non-negative by potentials first:
    then rounding cannot grow along a path.
    """
    potential = np.zeros(loss.shape[1:])
    for _ in range(len(loss)):
        between_blocks()
        lower = np.minimum(potential, (potential[:, None] + loss).min(axis=0))
        if np.array_equal(lower, potential):
            break
        potential = lower
    loss += potential[:, None] - potential[None]
    np.maximum(loss, 0.0, out=loss)
    for q in range(len(loss)):
        between_blocks()
        np.minimum(loss, loss[:, q, None] + loss[None, q], out=loss)
    return np.einsum("iin->in", loss).min(axis=0)


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
