"""Cola's metrics over ranked lists of images: average precision, mean ranks, F1 ([Cola] 5.1, 10).

A tie never favours the relevant image: among equal scores the irrelevant ones are ranked first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from core.base.arrays import Array, as_array, as_float64, like, to_numpy
from core.base.errors import InputError
from core.base.text import counted
from core.metrics.statistics import Clusters, Estimate

_BLOCK = 1024  # queries that are ranked at a time


class _RankedLists(NamedTuple):
    """One list per query, ranked; float64 (q,) each, NaN where a query is skipped.

    A query is skipped where its list holds no relevant image (or, for `distractor`, no other one).
    """

    precision: Array  # average precision in [0, 1]
    expected: Array  # average precision of a random order, on average
    relevant: Array  # mean rank of the relevant images, 1 is best
    distractor: Array  # mean rank of the others
    middle: Array  # mean rank of either in a random order: (list length + 1) / 2
    f1: Array  # of calling the first R images right, where R are; then precision = recall = F1
    share: Array  # R / list length: F1 of a random order
    tied: Array  # bool: won ties would raise the average precision


def _rank_lists(scores: Array, relevant: Array, pool: Array | None = None) -> _RankedLists:
    """Every query's list, ranked by score.

    scores : float (q, n), a numpy array or a torch tensor, finite inside the lists. relevant : bool (q, n). pool : bool
    (q, n), which images are in each query's list; None: all. Average precision is that of [Cola] 5.1 (scikit-learn's
    where nothing ties); a tie counts as lost. Raises InputError for wrong shapes and for scores that are not finite.
    """
    array = as_array(scores)
    xp = array_namespace(array)
    wanted = xp.astype(like(relevant, array), xp.bool)
    lists = xp.ones_like(wanted) if pool is None else xp.astype(like(pool, array), xp.bool)
    if array.ndim != 2 or wanted.shape != array.shape or lists.shape != array.shape:
        raise InputError(
            f"Retrieval needs scores, relevance and lists of one shape (queries, images); got {tuple(array.shape)}, "
            f"{tuple(wanted.shape)}, {tuple(lists.shape)}."
        )
    if 0 in array.shape:
        raise InputError(f"There is nothing to rank: scores have shape {tuple(array.shape)}; check the set.")
    bad = xp.any(~xp.isfinite(array) & lists, axis=1)
    if xp.any(bad):
        raise InputError(
            f"Query {int(to_numpy(bad).argmax())} has a score that is not finite; score it again."
        )
    starts = range(0, len(array), _BLOCK)
    blocks = [_rank_block(*(x[i : i + _BLOCK] for x in (array, wanted & lists, lists))) for i in starts]
    return _RankedLists(*(xp.concat(parts) for parts in zip(*blocks, strict=True)))


def _rank_block(scores: Array, right: Array, pool: Array) -> _RankedLists:
    """right : bool (q, n), the relevant images of each list."""
    xp = array_namespace(scores)
    size, hits = (xp.astype(xp.count_nonzero(x, axis=1), xp.float64) for x in (pool, right))
    rank = xp.arange(1, scores.shape[1] + 1, dtype=xp.float64, device=device(scores))
    negated = xp.where(pool, -as_float64(scores), xp.inf)  # what is outside the list comes last
    # Among equal scores the relevant images come last.
    order = xp.argsort(xp.astype(right, xp.uint8), axis=1, stable=True)
    by_score = xp.argsort(xp.take_along_axis(negated, order, axis=1), axis=1, stable=True)
    order = xp.take_along_axis(order, by_score, axis=1)
    right_at, negated_at = (xp.take_along_axis(x, order, axis=1) for x in (right, negated))  # by rank
    wrong_at = (rank <= size[:, None]) & ~right_at
    hits_so_far = xp.cumulative_sum(right_at, axis=1, dtype=xp.float64)

    def mean(total: Array, count: Array) -> Array:
        """NaN where a query is skipped."""
        known = (hits > 0) & (count > 0)
        return xp.where(known, total / xp.where(known, count, 1.0), xp.nan)

    return _RankedLists(
        mean(xp.sum(right_at * hits_so_far / rank, axis=1), hits),
        _expected_precision(hits, size),
        mean(xp.sum(right_at * rank, axis=1), hits),
        mean(xp.sum(wrong_at * rank, axis=1), size - hits),
        mean((size + 1) / 2, xp.ones_like(size)),
        mean(xp.sum(right_at & (rank <= hits[:, None]), axis=1, dtype=xp.float64), hits),
        mean(hits, size),
        xp.any((negated_at[:, 1:] == negated_at[:, :-1]) & ~right_at[:, :-1] & right_at[:, 1:], axis=1),
    )


def _expected_precision(relevant: Array, size: Array) -> Array:
    """Expected average precision of a random order of `size` images, `relevant` of them right, float64 (q,) each.

    (H_N + (R - 1) / (N - 1) (N - H_N)) / N with the harmonic number H_N; NaN for R = 0.
    """
    xp = array_namespace(size)
    sizes = to_numpy(size).astype(int)
    harmonic = like(np.append(0.0, np.cumsum(1 / np.arange(1, sizes.max(initial=1) + 1)))[sizes], size)
    more = (relevant - 1) / xp.clip(size - 1, 1)
    return xp.where(relevant > 0, (harmonic + more * (size - harmonic)) / xp.clip(size, 1), xp.nan)


class _RetrievalMetric(NamedTuple):
    """A metric over queries that can explain itself on a page."""

    label: str
    meaning: str
    unit: str  # "percent" or "rank"
    better: str  # "higher" or "lower"
    pool: str  # which list: "any_word", "all_words", "everything"
    value: str  # fields of `_RankedLists`
    chance: str


# For pages and tables that speak about one metric in particular.
COLA_MAP, QUERY_ALL_MAP, _STANDARD_MAP = "cola_map", "query_all_map", "standard_map"
_F1, _RANK_RELEVANT, _RANK_DISTRACTOR = "f1", "mean_rank_relevant", "mean_rank_distractor"

METRICS: dict[str, _RetrievalMetric] = {
    COLA_MAP: _RetrievalMetric(
        "Cola mAP", "Mean average precision among the images with any of the query's words.",
        "percent", "higher", "any_word", "precision", "expected",
    ),
    QUERY_ALL_MAP: _RetrievalMetric(
        "QueryAll mAP",
        "Mean average precision among the images with all of the query's words, on one or several objects.",
        "percent", "higher", "all_words", "precision", "expected",
    ),
    _STANDARD_MAP: _RetrievalMetric(
        "Standard mAP", "Mean average precision among all images.",
        "percent", "higher", "everything", "precision", "expected",
    ),
    _F1: _RetrievalMetric(
        "F1", "F1 where as many images are called relevant as are, from the top of Cola's list.",
        "percent", "higher", "any_word", "f1", "share",
    ),
    _RANK_RELEVANT: _RetrievalMetric(
        "Rank of relevant images", "Mean rank among the images with all of the words.",
        "rank", "lower", "all_words", "relevant", "middle",
    ),
    _RANK_DISTRACTOR: _RetrievalMetric(
        "Rank of distractors", "Mean rank of the images that have all of the words, but not on one object.",
        "rank", "higher", "all_words", "distractor", "middle",
    ),
}  # fmt: skip


def _questions_of(phrases: Sequence[Any]) -> Clusters:
    """Queries (q,) by what they ask for: one colour, or any, and one shape, said in up to nine ways."""
    asked = [(phrase.colour or "", phrase.shape or "") for phrase in phrases]
    return Clusters("colour and shape", np.unique(asked, axis=0, return_inverse=True)[1].ravel())


def _by_question(values: np.ndarray, questions: Clusters) -> np.ndarray:
    """Outcomes (seeds, queries) as those of questions (seeds, questions), weighted so that the mean is the same."""
    count = int(questions.labels.max()) + 1
    sums = np.stack([np.bincount(questions.labels, row, minlength=count) for row in values])
    return sums * (count / values.shape[1])


def _over_questions(values: np.ndarray, questions: Clusters | None) -> Estimate:
    """The mean of average precisions 0 to 1 (seeds, queries) in percent, with its interval over seeds and questions.

    questions : of these queries; None: each is one. Its chance level is not known here.
    """
    of = values if questions is None else _by_question(values, questions)
    return Estimate.over_seeds(of, 0.0, 1000)  # a precision is a mean of far more answers than one


class QueryPartResult(NamedTuple):
    """One metric over some queries: percent (or ranks), 95 % bootstrap interval over queries, chance, ties.

    skipped : queries of this part whose list holds nothing to find (or nothing else).
    """

    estimate: Estimate
    queries: int
    skipped: int

    def __repr__(self) -> str:
        return f"{self.estimate!r}, {counted(self.queries, 'query')}, {self.skipped} skipped"

    def record(self) -> dict[str, float | int]:
        """JSON-safe, as `Estimate.record`."""
        return {**self.estimate.record(), "queries": self.queries, "skipped": self.skipped}


@dataclass
class RetrievalEvaluation:
    """Scores (q, n) of queries over images with what is right, measured once and sliced ever after.

    any_word, all_words : bool (q, n), the lists; metrics of a list that is None are left out. unseen : bool (q,).
    attributes : int (q,), how many attributes a query names. compared : bool (q,), the queries of the parts seen and
    unseen; None: all.
    """

    scores: np.ndarray
    relevant: np.ndarray
    any_word: np.ndarray | None = None
    all_words: np.ndarray | None = None
    unseen: np.ndarray | None = None
    attributes: np.ndarray | None = None
    compared: np.ndarray | None = None
    seed: int = 0
    _rankings: dict[str, _RankedLists] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, found: Any, scores: np.ndarray) -> RetrievalEvaluation:
        """Of scores (q, n) over a retrieval set (`core.datasets.sets.Retrieval`)."""
        lists = found.relevant, found.any_word, found.all_words
        return cls(scores, *lists, found.unseen, found.attributes, found.compared)

    def ranking(self, pool: str) -> _RankedLists | None:
        """The ranked lists of one kind; None where the set has no such lists."""
        if pool not in self._rankings:
            lists = None if pool == "everything" else getattr(self, pool)
            if lists is None and pool != "everything":
                return None
            ranked = _rank_lists(self.scores, self.relevant, lists)
            self._rankings[pool] = _RankedLists(*map(to_numpy, ranked))
        return self._rankings[pool]

    def values(self, metric: str) -> np.ndarray | None:
        """The metric of every query, float64 (q,): in [0, 1] or a rank; NaN where skipped."""
        found = self.ranking(METRICS[metric].pool)
        return None if found is None else getattr(found, METRICS[metric].value)

    def parts(self) -> dict[str, np.ndarray]:
        """Masks over queries, bool (q,): all, seen, unseen, and by number of attributes."""
        found = {"all": np.ones(len(self.scores), dtype=bool)}
        if self.unseen is not None:
            counted = np.ones_like(self.unseen) if self.compared is None else self.compared
            found |= {"seen": counted & ~self.unseen, "unseen": counted & self.unseen}
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
        low, high = Estimate.bootstrap(values[kept], seed=self.seed)
        chance = float(getattr(found, spec.chance)[kept].mean())
        ties = int((found.tied & kept).sum())
        value, low, high, chance = (factor * x for x in (float(values[kept].mean()), low, high, chance))
        return QueryPartResult(
            Estimate(value, low, high, chance, ties), int(kept.sum()), int(mask.sum() - kept.sum())
        )

    def _over_questions(self, metric: str, mask: np.ndarray, questions: Clusters) -> Estimate | None:
        """`_over_questions` of the average precisions of a mask's queries; None of another metric, or of one question
        alone, whose wordings say nothing of other questions."""
        values = self.values(metric)
        if values is None or METRICS[metric].value != "precision":
            return None
        kept = np.flatnonzero(mask & np.isfinite(values))
        if len(np.unique(questions.labels[kept])) < 2:
            return None
        return _over_questions(values[None, kept], questions.select(kept))

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
