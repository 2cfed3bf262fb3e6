"""Scores of queries over many images, with the score cache: what retrieval metrics are made from. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.base.errors import InputError
from core.datasets.sets import Retrieval
from core.groups import ImageRef
from core.scoring.cache import ScoreCache
from core.scoring.scores import score_matrix

if TYPE_CHECKING:
    from core.scorers.base import Scorer


@dataclass(frozen=True, eq=False)
class RetrievalSubset:
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
    compared: np.ndarray | None = None
    phrases: tuple[Any, ...] | None = None  # what each query asks for, where the set knows (built-in queries)
    asked: Any = None  # what a query of one's own for several objects asks for

    def __len__(self) -> int:
        return len(self.images)

    @classmethod
    def asking(cls, found: Retrieval, text: str, images: int | None) -> RetrievalSubset:
        """The first `images` images of a set (None: all) with one query of one's own.

        Where the set can read what it asks for, as the built-in one reads its objects, what is relevant and the lists
        follow from what is in the images. Else nobody knows: `phrases` is None, nothing is relevant, and there are no
        lists.
        """
        read = getattr(found, "asking", lambda text: None)(text)
        if read is not None:
            return first_images(read, images)
        unknown: dict[str, Any] = dict.fromkeys(
            ("any_word", "all_words", "unseen", "attributes", "compared", "phrases")
        )
        one = first_images(found, images).one_query(0)
        return replace(one, queries=(text,), relevant=np.zeros((1, len(one)), dtype=bool), **unknown)

    def one_query(self, query: int) -> RetrievalSubset:
        """The same images with one query alone."""
        keep = slice(query, query + 1)
        fields = ("relevant", "any_word", "all_words", "unseen", "attributes", "compared")
        cut: dict[str, Any] = {
            name: None if (a := getattr(self, name)) is None else a[keep] for name in fields
        }
        phrases = None if self.phrases is None else self.phrases[keep]
        return replace(self, queries=self.queries[keep], phrases=phrases, **cut)


def first_images(found: Retrieval, images: int | None, every: int = 1) -> RetrievalSubset:
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
    return RetrievalSubset(
        found.name,
        found.split,
        tuple(found.images[:count]),
        tuple(found.queries[::every]),
        found.relevant[::every, :count],
        cut(found.any_word),
        cut(found.all_words),
        thin(found.unseen),
        thin(found.attributes),
        thin(found.compared),
        None if phrases is None else tuple(phrases[::every]),
        getattr(found, "asked", None),
    )


def score_retrieval(
    scorer: Scorer,
    found: Retrieval,
    cache: ScoreCache | None = None,
    progress: Callable[[float], None] | None = None,
) -> np.ndarray:
    """Scores of every query with every image, float32 (q, n).

    Arguments and errors as in `score_matrix`, whose table this is, by query; progress is a share. The scorer sees
    images and captions alone.
    """
    told = None if progress is None else lambda done, total: progress(done / total)
    return np.ascontiguousarray(score_matrix(scorer, found.images, found.queries, cache, told).T)
