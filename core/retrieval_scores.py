"""Scores of queries over many images, with the score cache: what retrieval metrics are made from. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.datasets.sets import Retrieval
from core.errors import InputError
from core.groups import ImageRef
from core.scores import ScoreCache

if TYPE_CHECKING:
    from core.scorers.base import Scorer

_IMAGES = 32  # scored between two reports of progress


@dataclass(frozen=True, eq=False)
class Slice:
    """The first `n` images of a retrieval set, with lists and relevance cut to them; a `Retrieval` itself."""

    name: str
    split: str
    images: tuple[ImageRef, ...]
    queries: tuple[str, ...]
    relevant: np.ndarray
    any_word: np.ndarray | None
    all_words: np.ndarray | None
    unseen: np.ndarray | None
    attributes: np.ndarray | None
    phrases: tuple[Any, ...] | None = None  # what each query asks for, where the set knows (built-in queries)

    def __len__(self) -> int:
        return len(self.images)


def first_images(found: Retrieval, images: int | None, every: int = 1) -> Slice:
    """A retrieval set over its first `images` images (None: all) with every `every`-th query.

    Raises InputError for fewer than 2 images or more than there are.
    """
    count = len(found.images) if images is None else images
    if not 2 <= count <= len(found.images):
        raise InputError(
            f"{count} images were asked for; {found.name} has {len(found.images)}, choose 2 or more."
        )

    def cut(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else array[::every, :count]

    def thin(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else array[::every]

    phrases = getattr(found, "phrases", None)
    return Slice(
        found.name,
        found.split,
        tuple(found.images[:count]),
        tuple(found.queries[::every]),
        found.relevant[::every, :count],
        cut(found.any_word),
        cut(found.all_words),
        thin(found.unseen),
        thin(found.attributes),
        None if phrases is None else tuple(phrases[::every]),
    )


def one_query(found: Slice, query: int) -> Slice:
    """The same images with one query alone."""
    keep = slice(query, query + 1)
    fields = ("relevant", "any_word", "all_words", "unseen", "attributes")
    cut: dict[str, Any] = {name: None if (a := getattr(found, name)) is None else a[keep] for name in fields}
    phrases = None if found.phrases is None else found.phrases[keep]
    return replace(found, queries=found.queries[keep], phrases=phrases, **cut)


def score_retrieval(
    scorer: Scorer,
    found: Retrieval,
    cache: ScoreCache | None = None,
    progress: Callable[[float], None] | None = None,
) -> np.ndarray:
    """Scores of every query with every image, float32 (q, n).

    Each distinct caption and image is encoded once where the scorer can (`stream`). The scorer sees images and captions
    alone. Raises InputError for an image that does not open or a score that is not finite.
    """
    q, n = len(found.queries), len(found.images)
    grid = np.stack(np.meshgrid(np.arange(n), np.arange(q), indexing="ij"), axis=-1).reshape(-1, 2)
    values = np.full(n * q, np.nan, dtype=np.float32)
    if cache is not None:
        keys = [(found.images[i].key, found.queries[j]) for i, j in grid]
        values = cache.get(scorer.key, keys)
    missing = np.flatnonzero(np.isnan(values))
    done = 0
    for rows, scores in _streamed(scorer, found, grid[missing]) if len(missing) else ():
        values[missing[rows]] = scores
        if cache is not None:
            cache.put(scorer.key, [keys[i] for i in missing[rows]], scores)
        done += len(rows)
        if progress is not None:
            progress(done / len(missing))
    if not np.isfinite(values).all():
        image, query = grid[int((~np.isfinite(values)).argmax())]
        raise InputError(
            f"{scorer.name} gave no finite score for query {found.queries[query]!r} and image {image} of {found.name}; "
            "check the model."
        )
    return np.ascontiguousarray(values.reshape(n, q).T)


def _streamed(scorer: Any, found: Retrieval, pairs: np.ndarray) -> Any:
    stream = getattr(scorer, "stream", None)
    if stream is not None:
        yield from stream(found.images, found.queries, pairs)
        return
    for start in range(0, len(found.images), _IMAGES):
        rows = np.flatnonzero((pairs[:, 0] >= start) & (pairs[:, 0] < start + _IMAGES))
        if len(rows):
            index = pairs[rows] - [start, 0]
            yield rows, scorer.score(found.images[start : start + _IMAGES], found.queries, index)
