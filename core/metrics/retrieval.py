"""Retrieval: recall at K and ranks over all images and captions (METHODS 2), and Cola's metrics (METHODS 6).

A tie never favours the relevant image: among equal scores the irrelevant ones are ranked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from core.base.errors import InputError
from core.metrics.groups import Estimate, bootstrap

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
    if not array.size:
        raise InputError(f"There is nothing to rank: scores have shape {array.shape}; check the set.")
    rank, tied = np.empty(len(array), dtype=np.int64), np.empty(len(array), dtype=bool)
    for start in range(0, len(array), _BLOCK):
        block = array[start : start + _BLOCK]
        mask = _mask(wanted[start : start + _BLOCK], block.shape)
        best = np.where(mask, block, -np.inf).max(axis=1, keepdims=True)
        bad = ~(np.isfinite(best[:, 0]) & np.isfinite(block.max(axis=1)) & np.isfinite(block.min(axis=1)))
        if bad.any():  # no number is greater than a NaN: as a rival it would lose to everything
            raise InputError(
                f"Query {start + int(bad.argmax())} has no relevant item or no finite score; score it again."
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


# ---- Cola's metrics ([Cola] 5.1, 10; METHODS 6)


class RankedLists(NamedTuple):
    """One list per query, ranked; float64 or bool (q,) each, NaN where a query is skipped.

    A query is skipped where its list holds no relevant image (or, for `distractor`, no other one).
    """

    precision: np.ndarray  # average precision in [0, 1]
    expected: np.ndarray  # average precision of a random order, on average
    relevant: np.ndarray  # mean rank of the relevant images, 1 is best
    distractor: np.ndarray  # mean rank of the others
    middle: np.ndarray  # mean rank of either in a random order: (list length + 1) / 2
    f1: np.ndarray  # of calling the first R images right, where R are; then precision = recall = F1
    share: np.ndarray  # R / list length: F1 of a random order
    tied: np.ndarray  # bool: won ties would raise the average precision


def rank_lists(scores: np.ndarray, relevant: np.ndarray, pool: np.ndarray | None = None) -> RankedLists:
    """Every query's list, ranked by score.

    scores : float (q, n), finite inside the lists. relevant : bool (q, n). pool : bool (q, n), which images are in
    each query's list; None: all. Average precision is that of [Cola] 5.1 (scikit-learn's where nothing ties); a tie
    counts as lost. Raises InputError for wrong shapes and for scores that are not finite.
    """
    array, wanted = np.asarray(scores), np.asarray(relevant, dtype=bool)
    lists = np.ones(array.shape, dtype=bool) if pool is None else np.asarray(pool, dtype=bool)
    if array.ndim != 2 or wanted.shape != array.shape or lists.shape != array.shape:
        raise InputError(
            f"Retrieval needs scores, relevance and lists of one shape (queries, images); got {array.shape}, "
            f"{wanted.shape}, {lists.shape}."
        )
    if not array.size:
        raise InputError(f"There is nothing to rank: scores have shape {array.shape}; check the set.")
    bad = ~np.isfinite(array) & lists
    if bad.any():
        raise InputError(
            f"Query {int(bad.any(axis=1).argmax())} has a score that is not finite; score it again."
        )
    blocks = [_rank_block(array[i : i + _BLOCK], wanted[i : i + _BLOCK], lists[i : i + _BLOCK])
              for i in range(0, len(array), _BLOCK)]  # fmt: skip
    return RankedLists(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _rank_block(scores: np.ndarray, relevant: np.ndarray, pool: np.ndarray) -> RankedLists:
    right = relevant & pool
    size, hits = pool.sum(axis=1), right.sum(axis=1)
    # Sorted by score, outside the list last; among equals the relevant ones last.
    outward = np.where(pool, -scores.astype(np.float64), np.inf)
    order = np.lexsort((right, outward), axis=-1)
    found = np.take_along_axis(right, order, axis=1)
    precision = _average_precision(found, hits)
    lucky = np.take_along_axis(right, np.lexsort((~right, outward), axis=-1), axis=1)
    place = np.arange(1, scores.shape[1] + 1)
    inside = np.take_along_axis(pool, order, axis=1)
    some, others = hits > 0, (size > hits) & (hits > 0)
    nothing = np.full(len(scores), np.nan)
    mean = np.divide((found * place).sum(axis=1), hits, out=nothing.copy(), where=some)
    rest = np.divide((inside & ~found) @ place, size - hits, out=nothing.copy(), where=others)
    first = (found & (place <= hits[:, None])).sum(axis=1)
    return RankedLists(
        precision,
        expected_precision(hits, size),
        mean,
        rest,
        np.where(some, (size + 1) / 2, np.nan),
        np.divide(first, hits, out=nothing.copy(), where=some),
        np.divide(hits, size, out=nothing.copy(), where=some),
        some & (_average_precision(lucky, hits) > precision),
    )


def _average_precision(found: np.ndarray, hits: np.ndarray) -> np.ndarray:
    """Mean precision at the places of the relevant images, (q,); NaN without any. found : bool (q, n), by rank."""
    precision = np.cumsum(found, axis=1) / np.arange(1, found.shape[1] + 1)
    total = (precision * found).sum(axis=1)
    return np.divide(total, hits, out=np.full(len(found), np.nan), where=hits > 0)


def expected_precision(relevant: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Expected average precision of a random order of `size` images with `relevant` right ones, float64 (q,).

    (H_N + (R - 1) / (N - 1) (N - H_N)) / N with the harmonic number H_N; NaN for R = 0.

    >>> expected_precision(np.array([1, 2]), np.array([2, 2]))
    array([0.75, 1.  ])
    """
    right, count = np.asarray(relevant, dtype=np.float64), np.asarray(size)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, max(int(count.max(initial=1)), 1) + 1))])[
        count
    ]
    more = (right - 1) / np.maximum(count - 1, 1)
    value = (harmonic + more * (count - harmonic)) / np.maximum(count, 1)
    return np.where(right > 0, value, np.nan)


class RetrievalMetric(NamedTuple):
    """A metric over queries that can explain itself on a page."""

    label: str
    meaning: str
    unit: str  # "percent" or "rank"
    better: str  # "higher" or "lower"
    pool: str  # which list: "any_word", "all_words", "everything"
    value: str  # fields of `RankedLists`
    chance: str


# For pages and tables that speak about one metric in particular.
COLA_MAP, QUERY_ALL_MAP, STANDARD_MAP = "cola_map", "query_all_map", "standard_map"
F1, RANK_RELEVANT, RANK_DISTRACTOR = "f1", "mean_rank_relevant", "mean_rank_distractor"

METRICS: dict[str, RetrievalMetric] = {
    COLA_MAP: RetrievalMetric(
        "Cola mAP", "Mean average precision among the images with any of the query's words.",
        "percent", "higher", "any_word", "precision", "expected",
    ),
    QUERY_ALL_MAP: RetrievalMetric(
        "QueryAll mAP", "The same among the images with all of the words, on one object or on several.",
        "percent", "higher", "all_words", "precision", "expected",
    ),
    STANDARD_MAP: RetrievalMetric(
        "Standard mAP", "The same among all images.", "percent", "higher", "everything", "precision", "expected"
    ),
    F1: RetrievalMetric(
        "F1", "F1 of calling the first R images of Cola's list relevant, where R images are; needs no threshold.",
        "percent", "higher", "any_word", "f1", "share",
    ),
    RANK_RELEVANT: RetrievalMetric(
        "Rank of relevant images", "Mean rank among the images with all of the words.",
        "rank", "lower", "all_words", "relevant", "middle",
    ),
    RANK_DISTRACTOR: RetrievalMetric(
        "Rank of distractors", "Mean rank of the images that have all of the words, but not on one object.",
        "rank", "higher", "all_words", "distractor", "middle",
    ),
}  # fmt: skip


class QueryPartResult(NamedTuple):
    """One metric over some queries: percent (or ranks), 95 % bootstrap interval over queries, chance, ties.

    skipped : queries of this part whose list holds nothing to find (or nothing else).
    """

    estimate: Estimate
    queries: int
    skipped: int

    def record(self) -> dict[str, float | int]:
        """JSON-safe, rounded to 4 decimals."""
        rounded = {
            name: round(getattr(self.estimate, name), 4) for name in ("value", "low", "high", "chance")
        }
        return {**rounded, "ties": self.estimate.ties, "queries": self.queries, "skipped": self.skipped}


@dataclass
class RetrievalEvaluation:
    """Scores (q, n) of queries over images with what is right, measured once and sliced ever after.

    any_word, all_words : bool (q, n), the lists; metrics of a list that is None are left out. unseen : bool (q,).
    attributes : int (q,), how many attributes a query names.
    """

    scores: np.ndarray
    relevant: np.ndarray
    any_word: np.ndarray | None = None
    all_words: np.ndarray | None = None
    unseen: np.ndarray | None = None
    attributes: np.ndarray | None = None
    seed: int = 0
    _rankings: dict[str, RankedLists] = field(default_factory=dict, repr=False)

    def ranking(self, pool: str) -> RankedLists | None:
        """The ranked lists of one kind; None where the set has no such lists."""
        if pool not in self._rankings:
            lists = None if pool == "everything" else getattr(self, pool)
            if lists is None and pool != "everything":
                return None
            self._rankings[pool] = rank_lists(self.scores, self.relevant, lists)
        return self._rankings[pool]

    def values(self, metric: str) -> np.ndarray | None:
        """The metric of every query, float64 (q,): in [0, 1] or a rank; NaN where skipped."""
        found = self.ranking(METRICS[metric].pool)
        return None if found is None else getattr(found, METRICS[metric].value)

    def parts(self) -> dict[str, np.ndarray]:
        """Masks over queries, bool (q,): all, seen, unseen, and by number of attributes."""
        found = {"all": np.ones(len(self.scores), dtype=bool)}
        if self.unseen is not None:
            found |= {"seen": ~self.unseen, "unseen": self.unseen}
        if self.attributes is not None:
            found |= {f"attributes-{n}": self.attributes == n for n in np.unique(self.attributes).tolist()}
        return found

    def part(self, metric: str, mask: np.ndarray) -> QueryPartResult | None:
        """A metric over the queries of a mask; None where none of them can be measured."""
        spec, found = METRICS[metric], self.ranking(METRICS[metric].pool)
        if found is None:
            return None
        values = getattr(found, spec.value)
        kept = mask & np.isfinite(values)
        if not kept.any():
            return None
        factor = 100.0 if spec.unit == "percent" else 1.0
        low, high = bootstrap(values[kept], seed=self.seed)
        chance = float(getattr(found, spec.chance)[kept].mean())
        ties = int((found.tied & kept).sum())
        value, low, high, chance = (factor * x for x in (float(values[kept].mean()), low, high, chance))
        return QueryPartResult(
            Estimate(value, low, high, chance, ties), int(kept.sum()), int(mask.sum() - kept.sum())
        )

    def metrics(self) -> dict[str, dict[str, QueryPartResult]]:
        """Every metric that the set allows, over every part: metric -> part -> value."""
        masks = self.parts()
        found = {name: {part: self.part(name, mask) for part, mask in masks.items()} for name in METRICS}
        return {
            name: {part: value for part, value in parts.items() if value is not None}
            for name, parts in found.items()
            if any(value is not None for value in parts.values())
        }

    def record(self) -> dict[str, Mapping[str, dict[str, float | int]]]:
        """`metrics` as JSON-safe data."""
        return {
            name: {part: value.record() for part, value in parts.items()}
            for name, parts in self.metrics().items()
        }
