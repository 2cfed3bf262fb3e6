"""A retrieval set and a model by name, to scores and metrics: what the commands and the papers' tables both ask for.

Large sets of a two-tower model are measured from embeddings, some rows of scores at a time; all others from a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.datasets import Retrieval, load_retrieval
from core.datasets.sets import RetrievalSet
from core.matching.global_match import AllPairs
from core.metrics.recall import recall
from core.scoring.load import lazy_scorer
from core.scoring.scores import ScoreCache, score_matrix

_Progress = Callable[[int, int], None]
# Scores up to which a table is held, 80 MB, and kept in the cache.
MAX_TABLE_SCORES = 20_000_000


class _ScoreTable(NamedTuple):
    """scores : float32 (images, captions). relevant : bool (captions, images). captions : those of any image."""

    scores: np.ndarray
    relevant: np.ndarray
    captions: list[str]


def score_table(
    benchmark: str,
    split: str,
    model: str,
    items: int | None = None,
    cache: ScoreCache | None = None,
    progress: _Progress | None = None,
) -> _ScoreTable:
    """Scores of the first `items` images of a set (None: all) with every caption that belongs to one of them.

    Raises InputError for fewer than one image.
    """
    return _table(_first(benchmark, split, items), model, cache, progress)


def retrieval_record(
    benchmark: str,
    split: str,
    model: str,
    items: int | None = None,
    seed: int = 0,
    cache: ScoreCache | None = None,
    progress: _Progress | None = None,
) -> dict[str, Any]:
    """Recall both ways, and accuracy where captions name classes: the record of `core.metrics.recall.RecallResult` with
    `images` and `captions`, JSON-safe. A set of more than `MAX_TABLE_SCORES` scores is never held, where the model has
    two towers. Arguments and errors as for `score_table`.
    """
    found, scorer = _first(benchmark, split, items), lazy_scorer(model)
    images, captions = len(found.images), len(found.queries)
    if images * captions > MAX_TABLE_SCORES and hasattr(scorer, "rows"):
        rows = scorer.rows(found.images, found.queries)
        measured = recall(AllPairs(rows, images, captions), (found.links[:, 0], found.links[:, 1]), seed=seed)
    else:
        scores, relevant, _ = _table(found, model, cache, progress)
        measured = recall(scores, relevant, seed=seed)
    return {"images": images, "captions": captions, **measured.record()}


def _first(benchmark: str, split: str, items: int | None) -> RetrievalSet:
    """The first `items` images of a set (None: all) with the captions that belong to one of them."""
    if items is not None and items < 1:
        raise InputError(
            f"{items} images were asked for; ask for 1 or more, or leave the number out for all."
        )
    found: Retrieval = load_retrieval(benchmark, split)
    links = found.links if isinstance(found, RetrievalSet) else np.argwhere(found.relevant)
    links = links[links[:, 1] < len(found.images[:items])]
    asked, query = np.unique(links[:, 0], return_inverse=True)
    queries = tuple(found.queries[j] for j in asked)
    return RetrievalSet(
        found.name, found.split, found.images[:items], queries, np.column_stack([query, links[:, 1]])
    )


def _table(
    found: RetrievalSet, model: str, cache: ScoreCache | None, progress: _Progress | None
) -> _ScoreTable:
    captions = list(found.queries)
    scores = score_matrix(lazy_scorer(model), list(found.images), captions, cache, progress)
    return _ScoreTable(scores, found.relevant, captions)
