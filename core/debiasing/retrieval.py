"""A retrieval set and a model by name, to scores and metrics: what the commands and the papers' tables both ask for.

Large sets of a two-tower model are measured from embeddings, some rows of scores at a time; all others from a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.datasets import load_retrieval
from core.datasets.sets import RetrievalSet
from core.metrics.recall import classify_if_classes, recall, recall_in_blocks
from core.scoring.lazy_scorer import lazy_scorer
from core.scoring.scores import ScoreCache, score_matrix

if TYPE_CHECKING:
    from core.datasets import Retrieval
    from core.groups import ImageRef

Progress = Callable[[int, int], None]
# Scores up to which a table is held, 80 MB, and kept in the cache.
MAX_TABLE_SCORES = 20_000_000


class ScoreTable(NamedTuple):
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
    progress: Progress | None = None,
) -> ScoreTable:
    """Scores of the first `items` images of a set (None: all) with every caption that belongs to one of them.

    Raises InputError for fewer than one image.
    """
    _check_items(items)
    return _table(load_retrieval(benchmark, split), model, items, cache, progress)


def retrieval_record(
    benchmark: str,
    split: str,
    model: str,
    items: int | None = None,
    seed: int = 0,
    cache: ScoreCache | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Recall both ways, and accuracy where captions name classes: the record of `core.metrics.recall.RecallResult` with
    `images` and
    `captions`, JSON-safe. A set of more than `MAX_TABLE_SCORES` scores is never held, where the model has two towers.
    Arguments and errors as for `score_table`.
    """
    _check_items(items)
    found = load_retrieval(benchmark, split)
    count = len(found.images[:items])
    image_of = found.image_of if isinstance(found, RetrievalSet) else None
    if count * len(found.queries) > MAX_TABLE_SCORES and image_of is not None:
        scorer = lazy_scorer(model)
        if hasattr(scorer, "rows"):
            return _from_rows(scorer, found.images[:items], found.queries, image_of, seed)
    scores, relevant, captions = _table(found, model, items, cache, progress)
    record = recall(scores, relevant, seed=seed).record()
    record["metrics"] |= classify_if_classes(scores, relevant, seed)
    return {"images": len(scores), "captions": len(captions), **record}


def _check_items(items: int | None) -> None:
    if items is not None and items < 1:
        raise InputError(
            f"{items} images were asked for; ask for 1 or more, or leave the number out for all."
        )


def _table(
    found: Retrieval, model: str, items: int | None, cache: ScoreCache | None, progress: Progress | None
) -> ScoreTable:
    images, relevant = list(found.images)[:items], found.relevant[:, :items]
    asked = np.asarray(relevant.any(axis=1))
    captions = [query for query, keep in zip(found.queries, asked, strict=True) if keep]
    scores = score_matrix(lazy_scorer(model), images, captions, cache, progress)
    return ScoreTable(scores, relevant[asked], captions)


def _from_rows(
    scorer: Any, images: tuple[ImageRef, ...], queries: tuple[str, ...], image_of: np.ndarray, seed: int
) -> dict[str, Any]:
    asked = np.flatnonzero(image_of < len(images))
    rows = scorer.rows(images, [queries[j] for j in asked])
    found = recall_in_blocks(rows, len(images), image_of[asked], seed=seed)
    return {"images": len(images), "captions": len(asked), **found.record()}
