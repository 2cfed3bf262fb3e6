"""Induced matchings and exact margins for every shape. Never receives truth.

Source: [TTM] sections 3.1 and 3.2, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, perm
from typing import NamedTuple

import numpy as np
import scipy
from array_api_compat import array_namespace, device

from core.base.arrays import Array, as_array, as_float64, like, to_numpy
from core.base.errors import InputError, NotFiniteError
from core.base.interrupt import between_blocks
from core.base.limits import check_shape
from core.base.text import counted
from core.matching._search import best_two, matchings
from core.matching._ties import group_tolerances, settle_ties
from core.matching._ties import rounding_of_differences as rounding_of_differences
from core.matching.blocks import columns_of, map_blocks

# Up to this many matchings a group is solved by enumerating them (k = 6 square has 720), above it by assignment.
MAX_ENUMERATED = 720
# Weights of exchange graphs that are worked on at a time.
_CYCLES = 262_144
# Places of an exchange graph that is asked for a tie first: below, its paths take hardly longer.
_LARGE = 48


class Matches(NamedTuple):
    """The induced matching of every group.

    matching : int64 (n, m), the caption given to each image; -1 for the whole group where two matchings tie for
        the best total, so that no tie is ever resolved in anybody's favour.
    margin : float64 (n,), best total minus the best other matching's total, >= 0; 0 where tied.
    tied : bool (n,).
    """

    matching: Array
    margin: Array
    tied: Array

    def __repr__(self) -> str:
        n, m = self.matching.shape
        tied, margin = int(to_numpy(self.tied).sum()), np.median(to_numpy(self.margin))
        return f"<matchings of {n} groups of {counted(m, 'image')}, {tied} tied, median margin {margin:.4g}>"

    @classmethod
    def empty(cls, scores: Array) -> Matches:
        """Room for the matches of scores (n, m, k), in their library and on their device; no group is tied yet."""
        xp, where, (n, m, _) = array_namespace(scores), device(scores), scores.shape
        matching = xp.empty((n, m), dtype=xp.int64, device=where)
        margin = xp.empty(n, dtype=xp.float64, device=where)
        return cls(matching, margin, xp.zeros(n, dtype=xp.bool, device=where))


def check_scores(scores: Array, ids: Sequence[str] | None = None) -> Array:
    """Validate scores of shape (n, m, k), 1 <= m <= k, k >= 2, finite; return them in float32 or float64."""
    array = check_form(scores)
    xp = array_namespace(array)
    if array.dtype not in (xp.float32, xp.float64):
        array = xp.astype(array, xp.float64)
    if not isfinite(_peak(array)):
        raise _not_finite_error(array, ids)
    return array


def check_form(scores: Array) -> Array:
    """Validate shape and type alone, and return the array as it is: the rest is checked block by block."""
    array = as_array(scores)
    if array.ndim != 3:
        raise InputError(
            f"Scores have shape {tuple(array.shape)}; they need three axes: (groups, images, captions)."
        )
    n, m, k = array.shape
    if n == 0:
        raise InputError("There are no groups in the scores; check the file or the filter.")
    if not 1 <= m <= k or k < 2:
        raise InputError(
            f"Groups of {counted(m, 'image')} and {counted(k, 'caption')} cannot be matched; leave images out, add "
            "captions, or exchange the two, until there are two captions or more and no more images than captions."
        )
    if not array_namespace(array).isdtype(array.dtype, ("real floating", "integral")):
        raise InputError(f"Scores hold {array.dtype} values; they need numbers.")
    check_shape(f"{n:,} groups of {m} x {k}", n, m, k)
    return array


def _not_finite_error(scores: Array, ids: Sequence[str] | None = None) -> NotFiniteError:
    """The error that names the first group with a score that is not a finite number."""
    row = int((~np.isfinite(to_numpy(scores))).any(axis=(1, 2)).argmax())
    name = ids[row] if ids is not None else row
    return NotFiniteError(
        f"Group {name!r} has a score that is not a finite number; score it again or leave it out."
    )


def match(scores: Array) -> Matches:
    """The matching with the highest total for every group, and its exact margin.

    Parameters
    ----------
    scores : float (n, m, k), 1 <= m <= k, a numpy array or a torch tensor; higher is a better match.

    Totals are summed in float64; totals that differ by no more than the rounding of that sum are tied.
    Raises InputError for a wrong shape or a non-finite score (naming the group).
    Source: [TTM] section 3.1 and Algorithm 1, lines 4-5; B.2 for m < k.

    >>> match(np.array([[[2.0, 1.9], [1.5, 1.6]]]))[:2]
    (array([[0, 1]]), array([0.2]))
    """
    array = check_form(scores)
    found = Matches.empty(array)

    def work(part: slice, columns: Array) -> None:
        match_block(array, part, columns, found)

    map_blocks(array, work)
    return found


def match_block(
    array: Array, part: slice, columns: Array, found: Matches, rounding: Array | None = None
) -> tuple[Matches, Array | None]:
    """`match` for one block of the groups of `array` (n, m, k), with its columns, into `found`.

    rounding : of debiased scores how far two equal ones of a group may differ, float64 (n,).

    Returns that part of it, and what `_best_matching` returns. Raises InputError, naming the group, for a score that is
    not finite.
    """
    block = array[part]
    highest = _peak(block)
    if not isfinite(highest):
        raise _not_finite_error(array)
    ours = Matches(*(values[part] for values in found))
    place = _best_matching(block, columns, *ours[:2])
    settle_ties(*ours, columns, highest, None if rounding is None else rounding[part])
    return ours, place


def _peak(block: Array) -> float:
    """The largest magnitude in a block; nan or infinite where a score is."""
    xp = array_namespace(block)
    return max(abs(float(xp.max(block))), abs(float(xp.min(block))))


def among_best(scores: Array, labels: Array, rounding: Array | None = None) -> Array:
    """Where no matching has a higher total than the labels int (n, m) have, but for rounding; bool (n,)."""
    (matching, margin, _), columns = Matches.empty(scores), columns_of(scores)
    _best_matching(scores, columns, matching, margin)
    return _total(scores, labels) >= _total(scores, matching) - group_tolerances(columns, rounding)


def _total(scores: Array, matching: Array) -> Array:
    xp = array_namespace(scores)
    pairs = xp.take_along_axis(scores, xp.astype(matching, xp.int64)[:, :, None], axis=2)
    return xp.sum(as_float64(pairs), axis=(1, 2))


def _best_matching(scores: Array, columns: Array, matching: Array, margin: Array) -> Array | None:
    """A matching with the highest total into `matching` int64 (n, m), its margin over all others into `margin` (n,).

    Returns its place among `matchings`, int (n,), where all were tried.
    """
    (_, m, k), xp = scores.shape, array_namespace(scores)
    if perm(k, m) > MAX_ENUMERATED:  # too many matchings to try them all
        found = _assign(to_numpy(scores).astype(np.float64))
        matching[...], margin[...] = (like(values, scores) for values in found)
        return None
    place = best_two(columns, margin)
    if m == 1 or k == 2:  # the place is the first image's caption
        matching[:, 0] = place
        if m == 2:
            matching[:, 1] = 1 - place
    else:
        matching[...] = xp.take(like(matchings(m, k), scores), xp.astype(place, xp.int64), axis=0)
    return place


def _assign(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best matching of float64 (n, m, k) by assignment, and its margin over the best other one."""
    n, m, _ = scores.shape
    matching, margin = np.empty((n, m), dtype=np.int64), np.empty(n)
    for g, group in enumerate(scores):
        between_blocks()
        matching[g] = scipy.optimize.linear_sum_assignment(group, maximize=True)[1]
    size = max(1, _CYCLES // (m + 1) ** 2)
    for start in range(0, n, size):
        part = slice(start, start + size)
        loss = _exchanges(scores[part], matching[part])
        margin[part] = _lightest_cycle(loss, group_tolerances(scores[part].transpose(1, 2, 0)) / len(loss))
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


def _lightest_cycle(loss: np.ndarray, hair: np.ndarray) -> np.ndarray:
    """The least weight of a cycle in each of n graphs (v, v, n) without a negative one, (n,); overwrites `loss`.

    hair : (n,), weights that are rounding alone. Large graphs are first asked whether a cycle has no other weights,
    v^2 operations: the best matching is tied then, and the answer is 0.
    """
    _lift(loss)
    lightest, asked = np.zeros(loss.shape[2]), list(range(loss.shape[2]))
    if len(loss) > _LARGE:
        asked = [g for g in asked if not _has_cycle(loss[:, :, g] <= hair[g])]
    if asked:
        lightest[asked] = _shortest_way_round(loss[:, :, asked])
    return lightest


def _lift(loss: np.ndarray) -> None:
    """Make all weights non-negative by potentials, which change no cycle: then rounding cannot grow along a path."""
    potential = np.zeros(loss.shape[1:])
    for _ in range(len(loss)):
        between_blocks()
        lower = np.minimum(potential, (potential[:, None] + loss).min(axis=0))
        if np.array_equal(lower, potential):
            break
        potential = lower
    loss += potential[:, None] - potential[None]
    np.maximum(loss, 0.0, out=loss)


def _has_cycle(edges: np.ndarray) -> bool:
    """Whether a directed graph, bool (v, v), has a cycle."""
    parts = scipy.sparse.csgraph.connected_components(
        scipy.sparse.csr_array(edges), connection="strong", return_labels=False
    )
    return bool(parts < len(edges))


def _shortest_way_round(loss: np.ndarray) -> np.ndarray:
    """The least weight of a cycle in each of n graphs (v, v, n) with weights >= 0, (n,); overwrites `loss`.

    All shortest paths by Floyd and Warshall's method, v^3 operations.
    """
    for q in range(len(loss)):
        between_blocks()
        np.minimum(loss, loss[:, q, None] + loss[None, q], out=loss)
    return np.einsum("iin->in", loss).min(axis=0)
