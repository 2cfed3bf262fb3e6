"""One assignment of all images to all captions, without groups. Never receives truth.

Of a large matrix a few rows are held at a time: the assignment is solved on a few candidates of each image. Prices of
captions then say what every score that was left out could still gain, and a pass over all of them either proves that
nothing can be gained or adds what could. Source: [TTM] section 3.2.1, Eq. 2; prices are the
dual of that linear program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy
from array_api_compat import array_namespace

from core.base.arrays import Array, as_array, like, to_numpy
from core.base.errors import InputError
from core.base.interrupt import between_blocks
from core.base.limits import check_memory

# Scores of a block of rows that is held at a time: 2 MiB in float32.
_BLOCK_SCORES = 524_288
_DENSE = 4_000_000  # scores of a matrix that is assigned as a whole
_CANDIDATES = 16  # of each image to begin with


class AllPairs(NamedTuple):
    """Scores of all N images with all M captions, asked for some images at a time: the whole matrix is never held.

    rows : gives the scores of a slice of the images with all captions, float (b, M), the same numbers every time.
    dimensions : multiplications that one score takes.
    """

    rows: Callable[[slice], Array]
    images: int
    captions: int
    dimensions: int = 1

    @classmethod
    def of(cls, scores: Array | AllPairs) -> AllPairs:
        """The same of a matrix (N, M) that is held already; InputError for another shape."""
        if isinstance(scores, AllPairs):
            return scores
        array = as_array(scores)
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(
                f"Scores of all images with all captions have shape {tuple(array.shape)}; they need (images, "
                "captions), one or more of each."
            )
        return cls(lambda part: array[part], *array.shape)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """All scores, some images at a time; InputError for a wrong shape or a score that is not finite."""
        size = max(1, _BLOCK_SCORES // self.captions)
        for start in range(0, self.images, size):
            between_blocks()
            part = slice(start, min(self.images, start + size))
            yield part, self.block(part)

    def block(self, part: slice) -> Array:
        """Scores of some images with all captions; errors as of `blocks`."""
        block = as_array(self.rows(part))
        if block.shape != (part.stop - part.start, self.captions):
            raise InputError(
                f"Scores of images {part.start} to {part.stop - 1} have shape {tuple(block.shape)}; they need "
                f"{self.captions} captions."
            )
        xp = array_namespace(block)
        finite = xp.isfinite(xp.max(block, axis=1)) & xp.isfinite(xp.min(block, axis=1))
        if not xp.all(finite):
            raise InputError(
                f"Image {part.start + int(to_numpy(finite).argmin())} has a score that is not a finite number; score "
                "it again."
            )
        return block

    def permute_captions(self, order: np.ndarray) -> AllPairs:
        """The same with the captions in another order, int (M,)."""
        return self._replace(rows=lambda part: as_array(self.rows(part))[:, order])

    def whole(self) -> Array:
        """The matrix (N, M), checked, for few images; InputError where it does not fit into memory."""
        check_memory("A matrix of all images with all captions", 4 * self.images * self.captions)
        return self.block(slice(0, self.images))


def match_global(scores: Array | AllPairs) -> Array:
    """One injective matching of all N images to M >= N captions with the highest total, int64 (N,).

    scores : float (N, M), finite, a numpy array or a torch tensor; the matching is of its library. scipy solves the
    assignment on the CPU. Of a large `AllPairs` only some rows are held. Of several best matchings it is any one.
    Raises InputError for more images than captions, a wrong shape or a score that is not finite.
    """
    pairs = AllPairs.of(scores)
    if pairs.images > pairs.captions:
        raise InputError(
            f"Global scores have shape ({pairs.images}, {pairs.captions}); they need (images, captions) with images <= "
            "captions."
        )
    if isinstance(scores, AllPairs) and pairs.images * pairs.captions > _DENSE:
        return _match_in_blocks(pairs)
    whole = pairs.block(slice(0, pairs.images))
    return like(scipy.optimize.linear_sum_assignment(to_numpy(whole), maximize=True)[1], whole)


class _Candidates:
    """Scores (i, j) that the assignment may use, float64, each pair once, by image and caption."""

    def __init__(self, images: int, captions: int) -> None:
        self.shape = (images, captions)
        self.keys, self.scores = np.empty(0, dtype=np.int64), np.empty(0)

    def add(self, keys: np.ndarray, scores: np.ndarray) -> int:
        """Take pairs, as i M + j; returns how many were new."""
        before = len(self.keys)
        # Sorted, as a graph, with prices.
        check_memory("The assignment of all images", 120 * (before + len(keys)))
        self.keys, first = np.unique(np.concatenate([self.keys, keys]), return_index=True)
        self.scores = np.concatenate([self.scores, scores])[first]
        return len(self.keys) - before

    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The image and the caption of each."""
        images, captions = np.divmod(self.keys, self.shape[1])
        return images, captions


def _match_in_blocks(pairs: AllPairs) -> np.ndarray:
    """`match_global` without the matrix. Every block of rows is asked for once in each pass.

    More candidates are added where they are needed, at worst all: a scorer that ranks captions the same for every image
    needs about N of them for each.
    """
    found, more = _Candidates(pairs.images, pairs.captions), _CANDIDATES
    # Until there is a matching nothing has a price, and every score beats what an image has.
    _scan_scores(pairs, found, np.zeros(pairs.captions), np.full(pairs.images, -np.inf), more, first=True)
    while True:
        matching, scores, prices = _solve(found)
        if not _scan_scores(pairs, found, prices, scores - prices[matching], more, first=False):
            return matching
        more = min(2 * more, pairs.captions)


def _scan_scores(
    pairs: AllPairs, found: _Candidates, prices: np.ndarray, values: np.ndarray, most: int, first: bool
) -> int:
    """Ask for every score once; take up to `most` an image that are worth more than what it has (`values`).

    Returns how many candidates are new: where none is, the matching that has these values is a best one.
    """
    keys, scores, priced = [], [], bool(prices.any())
    for part, rows in pairs.blocks():
        block = to_numpy(rows)
        block = block if np.issubdtype(block.dtype, np.floating) else block.astype(np.float64)
        worth = block - prices if priced else block
        best = worth.max(axis=1).astype(np.float64)
        scale = np.abs(best) + prices.max()
        behind = np.flatnonzero(best > values[part] + 64 * np.finfo(np.float64).eps * scale)
        if len(behind):
            held = worth if len(behind) == len(worth) else worth[behind]
            at, which = _best(held, values[part][behind].astype(held.dtype), min(most, pairs.captions))
            keys.append((part.start + behind[at]) * pairs.captions + which)
            scores.append(block[behind[at], which].astype(np.float64))
        if first:  # a caption of its own for each image: some matching is always possible
            own = np.arange(part.start, part.stop)
            keys.append(own * pairs.captions + own)
            scores.append(block[own - part.start, own].astype(np.float64))
    return found.add(np.concatenate(keys), np.concatenate(scores)) if keys else 0


def _best(worth: np.ndarray, values: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of the `most` largest of every row (b, M), or a few more, that are above the row's value (b,)."""
    size, captions = worth.shape
    parts = 4 * most
    if captions >= 8 * parts:
        # The best of each part of a row: `most` of those are no better than the `most` largest of the whole row.
        tops = worth[:, : captions // parts * parts].reshape(size, parts, -1).max(axis=2)
        least = np.partition(tops, parts - most, axis=1)[:, parts - most]
        above = (worth >= least[:, None]) & (worth > values[:, None])
        if np.count_nonzero(above) <= 2 * most * size:  # else many tie
            at, which = np.nonzero(above)
            return at, which
    which = np.argpartition(worth, captions - most, axis=1)[:, captions - most :]
    above = np.take_along_axis(worth, which, axis=1) > values[:, None]
    return np.nonzero(above)[0], which[above]


_BITS = 42
_STEPS = 2**_BITS  # of a weight, at least half of them between the lowest and the highest score
_LEAST = -(2.0**60)  # of a weight that is left out: sums of two are still int64


def _solve(found: _Candidates) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best matching among the candidates, the scores of its pairs, and what the captions cost, (M,).

    Of scores as whole numbers of steps, whose differences are exact: of rounded ones the solver went round in a circle
    for ever. A step is 2^-42 of the range, so pairs that no best matching has are left out and the rest is solved again
    where it has a smaller range: one far score, as that of a mask, made steps larger than what the others differ by.
    """
    images, captions = found.pairs()
    # An image has one caption, so what all of its scores have in common does not count.
    starts = np.searchsorted(images, np.arange(found.shape[0]))
    worth = found.scores - np.maximum.reduceat(found.scores, starts)[images]
    kept, range_ = np.ones(len(worth), dtype=bool), np.inf
    while -worth[kept].min() < range_ / 2:
        range_ = -worth[kept].min()
        # A power of two: scores in float32 mostly keep their value.
        step = max(np.ldexp(1.0, np.frexp(range_)[1] - _BITS), np.finfo(np.float64).tiny)
        weights = np.rint(np.maximum(worth, _LEAST * step) / step).astype(np.int64)
        matching = _assign(images[kept], captions[kept], weights[kept], found.shape)
        matched = np.searchsorted(found.keys, np.arange(len(matching)) * found.shape[1] + matching)
        prices = _prices(found, matching, weights, weights[matched])
        # A matching of true scores is better by less than a step for every image.
        short = (weights[matched] - prices[matching])[images] - (weights - prices[captions])
        kept &= short <= 2 * found.shape[0]
    return matching, found.scores[matched], prices * step


def _assign(
    images: np.ndarray, captions: np.ndarray, weights: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """The caption of each image in the matching with the highest total of whole weights, -2^42 to 0, int64."""
    # Positive, since a sparse zero is no edge; every image has one edge, so the same is added to every total.
    graph = scipy.sparse.csr_array((weights + (1.0 + _STEPS), (images, captions)), shape=shape)
    return scipy.sparse.csgraph.min_weight_full_bipartite_matching(graph, maximize=True)[1].astype(np.int64)


def _prices(found: _Candidates, matching: np.ndarray, weights: np.ndarray, matched: np.ndarray) -> np.ndarray:
    """The lowest price of each caption at which no image would rather have another of its candidates, int64 (M,).

    weights : of the candidates, int64. matched : those of the matching's pairs. A matched caption has to cost at least
    what another image would gain by it, at that image's own caption's price: longest paths, by repeating that for all
    until nothing rises. An unmatched caption costs nothing.
    """
    images, captions = found.pairs()
    owner = np.full(found.shape[1], -1)
    owner[matching] = np.arange(len(matching))
    rival = (owner[captions] >= 0) & (owner[captions] != images)
    images, owners, gain = images[rival], owner[captions[rival]], (weights - matched[images])[rival]
    price, order = np.zeros(len(matching), dtype=np.int64), np.argsort(owners, kind="stable")
    images, owners, gain = images[order], owners[order], gain[order]
    starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])) if len(owners) else owners
    for _ in range(len(matching) if len(owners) else 0):
        asked = np.maximum.reduceat(price[images] + gain, starts)
        rises = asked > price[owners[starts]]
        if not rises.any():
            break
        price[owners[starts[rises]]] = asked[rises]
    prices = np.zeros(found.shape[1], dtype=np.int64)
    prices[matching] = price
    return prices
