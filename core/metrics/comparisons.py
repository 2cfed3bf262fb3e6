"""The comparisons that metrics are made of, for one block of groups; a part of `core.metrics.groups`, so it
reads truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np

from core.groups import check_truth
from core.matching.blocks import Scratch, matchings, once, reordered
from core.matching.groups import Matches, block_peak, by_assignment, match, match_block, rounding


class Test(NamedTuple):
    """Strict comparisons of true scores with their rivals, bool (m, b) or (b,), and the same with ties won.

    Without a tie in the whole block `loose` is `strict` itself, and nothing need be asked about ties.
    """

    strict: np.ndarray
    loose: np.ndarray

    @property
    def drawn(self) -> np.ndarray | None:
        """Where a tie alone decides; None where no group of the block ties."""
        return None if self.loose is self.strict else np.greater(self.loose, self.strict)


class Found(NamedTuple):
    """A block's outcomes (b,), and where only a tie made them less: None where no group of the block ties.

    `value` is bool, or says how many of the group's images are right: uint8, or float64 as a share.
    """

    value: np.ndarray
    tied: np.ndarray | None


@dataclass(frozen=True)
class View:
    """What the metrics compare in a block of b groups; all computed once, when asked for."""

    right: np.ndarray  # (b,) the induced matching is the true one
    almost: np.ndarray | None  # (b,) the true matching's total equals the best total, but is not alone there

    @property
    def all_rows(self) -> Test:
        """Every image right, (b,) each."""
        raise NotImplementedError

    @property
    def all_columns(self) -> Test:
        """Every true caption right, (b,) each."""
        raise NotImplementedError

    @property
    def images(self) -> Found:
        """How many images are right, uint8 (b,), or which share, float64 (b,), and where one ties."""
        raise NotImplementedError


def view_of(
    array: np.ndarray, truth: np.ndarray, part: slice, found: Matches, wanted: bool, scratch: Scratch
) -> View:
    """The view of one block of the groups of `array` (n, m, k); their matches into `found` where they are `wanted`.

    Raises InputError, naming the group, for a score that is not finite or a wrong truth.
    """
    block = array[part]
    size, m, k = block.shape
    columns, winner = scratch.columns(block), None
    if wanted:
        winner = match_block(array, part, None if by_assignment(array.shape) else columns, scratch, found)
    else:
        block_peak(array, part)
    own = captions_of(truth, part, k)
    right, almost = _but_ties(_right(found.matching, own, k, winner), block, own, found)
    place: Sequence[int] = own[0].tolist()
    if len(own) > 1:
        columns, place = reordered(columns, _own_first(own, k)), range(m)
    return ColumnsView(right, almost, columns, place, scratch.vectors(size)[0])


def _but_ties(
    right: np.ndarray, block: np.ndarray, own: np.ndarray, found: Matches
) -> tuple[np.ndarray, np.ndarray | None]:
    """`right` and `almost` of a view: a tied group is not right, but the true matching may be among its best."""
    tied = np.flatnonzero(found.tied)
    if not len(tied):
        return right, None
    right[tied], almost = False, np.zeros(len(block), dtype=bool)
    almost[tied] = _total_is_best(block[tied], np.broadcast_to(own, block.shape[:2])[tied])
    return right, almost


@dataclass(frozen=True)
class ColumnsView(View):
    """A view by numpy. columns : (m, k, b); `own` says which caption belongs to each image, for all groups."""

    columns: np.ndarray
    own: Sequence[int]
    spare: np.ndarray  # a working vector (b,)

    @once
    def rows(self) -> Test:
        """Each image's own caption against its other captions."""
        return self._against(lambda i: [c for j, c in enumerate(self.columns[i]) if j != self.own[i]])

    @once
    def columns_of_true(self) -> Test:
        """Each true caption's own image against the other images."""
        return self._against(lambda i: [c[self.own[i]] for r, c in enumerate(self.columns) if r != i])

    def _against(self, rivals: Callable[[int], list[np.ndarray]]) -> Test:
        m, _, size = self.columns.shape
        strict, level = np.empty((m, size), dtype=bool), np.empty((m, size), dtype=bool)
        for i, own in enumerate(self.own):
            others = rivals(i)
            if not others:  # one image has no rival in its column
                strict[i], level[i] = True, False
                continue
            strongest = others[0]
            for other in others[1:]:
                strongest = np.maximum(strongest, other, out=self.spare)
            np.greater(self.columns[i, own], strongest, out=strict[i])
            np.equal(self.columns[i, own], strongest, out=level[i])
        return Test(strict, strict | level if level.any() else strict)

    @once
    def all_rows(self) -> Test:
        return _every(self.rows)

    @once
    def all_columns(self) -> Test:
        return _every(self.columns_of_true)

    @once
    def images(self) -> Found:
        drawn = self.rows.drawn
        hits = reduce(np.add, self.rows.strict.view(np.uint8))
        return Found(hits, None if drawn is None else np.asarray(drawn.any(axis=0)))


def _every(test: Test) -> Test:
    # One after another: a few times faster than numpy's reduction along the first axis.
    strict = reduce(np.logical_and, test.strict)
    return Test(strict, strict if test.loose is test.strict else reduce(np.logical_and, test.loose))


def rows(v: View) -> Found:
    return Found(v.all_rows.strict, v.all_rows.drawn)


def columns(v: View) -> Found:
    return Found(v.all_columns.strict, v.all_columns.drawn)


def both(v: View) -> Found:
    rows, columns = v.all_rows, v.all_columns
    strict = rows.strict & columns.strict
    clear = rows.drawn is None and columns.drawn is None
    both = Test(strict, strict if clear else rows.loose & columns.loose)
    return Found(both.strict, both.drawn)


def matched(v: View) -> Found:
    return Found(v.right, v.almost)


def single(v: View) -> Found:
    return v.images


def captions_of(truth: np.ndarray, part: slice, k: int) -> np.ndarray:
    """The truth of a block of groups, checked: (1, m) where it is the same for all of them, else (b, m)."""
    block = truth[part]
    m, flat = block.shape[1], block.reshape(-1)
    if (flat[m:] == flat[:-m]).all() and _distinct(tuple(block[0].tolist()), k):
        return block[:1]
    pairs = combinations(range(m), 2)
    if block.min() < 0 or block.max() >= k or any((block[:, i] == block[:, j]).any() for i, j in pairs):
        check_truth(truth, len(truth), m, k)  # raises, and names the group
    return block


def _distinct(captions: tuple[int, ...], k: int) -> bool:
    return len(set(captions)) == len(captions) and min(captions) >= 0 and max(captions) < k


def _right(matching: np.ndarray, own: np.ndarray, k: int, winner: np.ndarray | None) -> np.ndarray:
    """Where the induced matching is the true one; anything where it ties."""
    m = matching.shape[1]
    if winner is not None and len(own) == 1:
        return winner == _place(tuple(own[0].tolist()), k)
    right = matching[:, 0] == own[:, 0]
    for i in range(1, m if m < k else m - 1):  # on square groups the last image takes what is left
        right &= matching[:, i] == own[:, i]
    return right


@lru_cache(maxsize=32)
def _place(captions: tuple[int, ...], k: int) -> int:
    """Which of `matchings` this one is."""
    return int((matchings(len(captions), k) == captions).all(axis=1).argmax())


def _own_first(own: np.ndarray, k: int) -> np.ndarray:
    """Each group's captions (b, k), those of its images (b, m) first."""
    size, m = own.shape
    if m == k:
        return own
    rest = np.ones((size, k), dtype=bool)
    np.put_along_axis(rest, own, False, axis=1)
    return np.hstack([own, np.nonzero(rest)[1].reshape(size, k - m)])


def _total_is_best(scores: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Where raising the true matching by a hair more than rounding would make it the only best one, (n,)."""
    n, m, _ = scores.shape
    lifted = scores.astype(np.float64)
    hair = 4 * rounding(scores)[:, None] + np.finfo(np.float64).tiny
    lifted[np.arange(n)[:, None], np.arange(m)[None, :], own] += hair
    return (match(lifted).matching == own).all(axis=1)
