"""Strict comparisons of labelled pairs with their rivals, for one block of groups. Never receives truth by itself.

Labels say which caption belongs to each image: `core.metrics.groups` gives the truth, test-time matching its
pseudo-labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce
from itertools import combinations
from math import inf
from operator import add, and_, or_
from typing import NamedTuple

from array_api_compat import array_namespace, device

from core.base.arrays import Array
from core.matching._search import matchings
from core.matching._ties import wins
from core.matching.blocks import columns_of
from core.matching.groups import Matches, among_best

# With more captions than this it takes less to fetch each group's own than to try them all.
_FEW = 8
# The caption of one image: the same in all groups of a block, or int (b,).
_Label = int | Array


class Found(NamedTuple):
    """A block's outcomes (b,), and where only a tie made them less: None where no group of the block ties.

    `value` is bool, or says how many of the group's images are right: an unsigned integer.
    """

    value: Array
    tied: Array | None


class _Test(NamedTuple):
    """One image's strict comparison in every group, bool (b,), and the same with ties won; None without any tie."""

    strict: Array
    loose: Array | None


class View(NamedTuple):
    """What metrics compare in a block of b groups."""

    rows: list[_Test]  # each image's own caption against its other captions
    columns: list[_Test]  # each image's own caption: this image against the others; won by one image alone
    right: Array  # (b,) the induced matching is that of the labels
    almost: Array | None  # (b,) it is one of several that tie for the best total; None where no group ties

    @classmethod
    def of(
        cls,
        block: Array,
        columns: Array,
        labels: Array,
        own: Sequence[_Label],
        matches: Matches,
        place: Array | None,
        rounding: Array | None = None,
    ) -> View:
        """The view of a block of scores (b, m, k) and its columns; labels int (b, m), and the same from `labels_of`.

        rounding : of debiased scores how far two equal ones of a row may differ, (b,).
        """
        xp, (m, k, _) = array_namespace(columns), columns.shape
        if place is not None and all(isinstance(label, int) for label in own):
            right = (place == _place_of(tuple(own), k)) & ~matches.tied
        else:  # on square groups the last image takes what is left
            right = reduce(and_, [matches.matching[:, i] == own[i] for i in range(m if m < k else m - 1)])
        almost = None
        if xp.any(matches.tied):
            (at,) = xp.nonzero(matches.tied)
            almost = xp.zeros_like(matches.tied)
            own_rounding = None if rounding is None else rounding[at]
            almost[at] = among_best(xp.take(block, at, axis=0), xp.take(labels, at, axis=0), own_rounding)
        return cls(*strict_tests(columns, own, rounding), right, almost)

    @classmethod
    def of_one_image(cls, columns: Array, own: Sequence[_Label], rounding: Array | None = None) -> View:
        """The view of groups of one image to which several captions belong: for the row each of them against all
        others, for the matching the best of them.
        """
        xp, scores = array_namespace(columns), columns[0]  # (k, b)
        none = xp.zeros_like(scores[0], dtype=xp.bool)
        mine = [reduce(or_, [none | (label == j) for label in own]) for j in range(len(scores))]
        weakest = reduce(xp.minimum, [xp.where(here, scores[j], inf) for j, here in enumerate(mine)])
        strongest, rival = (
            reduce(xp.maximum, [xp.where(here ^ other, scores[j], -inf) for j, here in enumerate(mine)])
            for other in (none, ~none)
        )
        best = _Test(*wins(strongest, rival, rounding))
        almost = None if best.loose is None else best.strict ^ best.loose
        return cls(
            [_Test(*wins(weakest, rival, rounding))], [_against(columns[0, :1], 0)], best.strict, almost
        )


def strict_tests(
    columns: Array, own: Sequence[_Label], rounding: Array | None = None
) -> tuple[list[_Test], list[_Test]]:
    """Rows and columns of a `View`.

    rounding : of rows alone; debiasing takes the same number from a whole column, so that only equal ones tie there.
    """
    k = columns.shape[1]

    def in_row(i: int, j: int) -> _Test:
        return _against(columns[i], j, rounding)

    def in_column(i: int, j: int) -> _Test:
        return _against(columns[:, j], i)

    if k > _FEW and not all(isinstance(label, int) for label in own):
        fetched = [_fetched(columns, i, label, rounding) for i, label in enumerate(own)]
        return [row for row, _ in fetched], [column for _, column in fetched]
    rows, found = (
        [_labelled(label, k, partial(test, i)) for i, label in enumerate(own)] for test in (in_row, in_column)
    )
    return rows, found


def _against(vectors: Array, own: int, rounding: Array | None = None) -> _Test:
    """One of some vectors (r, b) against all others; where there are none it has won."""
    xp = array_namespace(vectors)
    parts = [part for part in (vectors[:own], vectors[own + 1 :]) if len(part)]
    if not parts:
        return _Test(xp.ones_like(vectors[own], dtype=xp.bool), None)
    strongest = reduce(xp.maximum, [part[0] if len(part) == 1 else xp.max(part, axis=0) for part in parts])
    return _Test(*wins(vectors[own], strongest, rounding))


def _labelled(label: _Label, k: int, test: Callable[[int], _Test]) -> _Test:
    """The test of the caption that an image has; where it differs by group, of each caption where it has that."""
    if isinstance(label, int):
        return test(label)
    tests, here = [test(j) for j in range(k)], [label == j for j in range(k)]
    strict = reduce(or_, [mask & t.strict for mask, t in zip(here, tests, strict=True)])
    if all(t.loose is None for t in tests):
        return _Test(strict, None)
    return _Test(strict, reduce(or_, [mask & _loose(t) for mask, t in zip(here, tests, strict=True)]))


def _fetched(columns: Array, i: int, label: _Label, rounding: Array | None) -> tuple[_Test, _Test]:
    """The same by row and by column where captions are many: each group's own scores are fetched, k operations each."""
    xp, size = array_namespace(columns), columns.shape[2]
    at = xp.arange(size, device=device(columns))
    place = xp.zeros_like(at) + (label if isinstance(label, int) else xp.astype(label, at.dtype))
    others = xp.asarray(columns[i], copy=True)  # (k, b)
    others[place, at] = -inf
    row = _Test(*wins(columns[i][place, at], xp.max(others, axis=0), rounding))
    return row, _against(columns[:, place, at], i)


def labels_of(labels: Array, k: int) -> list[_Label] | None:
    """Labels int (b, m) by image; None where those of a group are not distinct captions from 0 to k - 1."""
    xp, m = array_namespace(labels), labels.shape[1]
    flat = xp.reshape(labels, (-1,))
    if xp.all(flat[m:] == flat[:-m]):
        own = [int(labels[0, i]) for i in range(m)]
        return own if len(set(own)) == m and min(own) >= 0 and max(own) < k else None
    if xp.min(labels) < 0 or xp.max(labels) >= k:
        return None
    short = xp.uint8 if k <= 2**8 else xp.int64
    own = [xp.astype(labels[:, i], short) for i in range(m)]
    return None if any(xp.any(a == b) for a, b in combinations(own, 2)) else own


def rows(v: View) -> Found:
    return _every(v.rows)


def columns(v: View) -> Found:
    return _every(v.columns)


def both(v: View) -> Found:
    return _every([*v.rows, *v.columns])


def matched(v: View) -> Found:
    return Found(v.right, v.almost)


def single(v: View) -> Found:
    xp, m = array_namespace(v.right), len(v.rows)
    short = xp.uint8 if m < 2**8 else xp.uint64
    hits = reduce(add, [xp.astype(test.strict, short) for test in v.rows])
    ties = [test.loose ^ test.strict for test in v.rows if test.loose is not None]
    return Found(hits, reduce(or_, ties) if ties else None)


def _every(tests: Sequence[_Test]) -> Found:
    # One after another: a few times faster than a reduction along the first axis.
    strict = reduce(and_, [test.strict for test in tests])
    if all(test.loose is None for test in tests):
        return Found(strict, None)
    return Found(strict, strict ^ reduce(and_, map(_loose, tests)))


def _loose(test: _Test) -> Array:
    return test.strict if test.loose is None else test.loose


def fitted_groups(scores: Array, labels: Array) -> Array:
    """Where the labelled pairs pass GroupScore's strict test ([TTM] Eq. 1; rows alone for m < k), bool (n,).

    scores : float (n, m, k). labels : int (n, m), distinct captions of each group.
    """
    _, m, k = scores.shape
    own = labels_of(labels, k)
    assert own is not None
    rows, columns = strict_tests(columns_of(scores), own)
    return _every(rows if m < k else [*rows, *columns]).value


@lru_cache(maxsize=32)
def _place_of(matching: tuple[int, ...], k: int) -> int:
    """Where a matching is among `matchings`."""
    return int((matchings(len(matching), k) == matching).all(axis=1).argmax())
