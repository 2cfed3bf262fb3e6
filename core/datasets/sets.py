"""What readers return besides group sets: queries over many images, and images with scene graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from core.base.errors import InputError
from core.groups import ImageRef


class Retrieval(Protocol):
    """What every retrieval set offers, the built-in one (`core.scenes.retrieval`) included."""

    @property
    def name(self) -> str: ...
    @property
    def split(self) -> str: ...
    @property
    def images(self) -> tuple[ImageRef, ...]: ...
    @property
    def queries(self) -> tuple[str, ...]: ...
    @property
    def relevant(self) -> np.ndarray:
        """bool (q, n)"""
        ...

    @property
    def any_word(self) -> np.ndarray | None:
        """bool (q, n): the images of each query's hard list; None where a set has no such lists."""
        ...

    @property
    def all_words(self) -> np.ndarray | None:
        """bool (q, n): the images with all words of each query; None where nobody knows them."""
        ...

    @property
    def unseen(self) -> np.ndarray | None:
        """bool (q,); None where nobody knows what was trained on."""
        ...

    @property
    def attributes(self) -> np.ndarray | None:
        """int (q,): how many attributes a query names; None where nobody counted."""
        ...

    @property
    def compared(self) -> np.ndarray | None:
        """bool (q,): the queries of the parts "seen" and "unseen"; None: all."""
        ...


@dataclass(frozen=True, eq=False)
class RetrievalSet:
    """q queries (captions) over n images, and which belong together."""

    name: str
    split: str
    images: tuple[ImageRef, ...]
    queries: tuple[str, ...]
    links: np.ndarray  # int (p, 2): query index, image index; one row per relevant pair
    any_word: np.ndarray | None = None  # bool (q, n): Cola's hard lists
    all_words: np.ndarray | None = None  # bool (q, n): QueryAll's lists
    unseen: np.ndarray | None = None  # bool (q,): the combination occurs in no training object
    attributes: np.ndarray | None = None  # int (q,): how many attributes a query names
    # bool (q,): the queries that the parts "seen" and "unseen" hold; None: all ([Cola] 9 leaves CLEVR's spheres out)
    compared: np.ndarray | None = None
    # int (q, c): each query chooses among these images alone; -1 fills a shorter choice up. None: among all.
    choices: np.ndarray | None = None
    title: str = ""
    description: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        q, n = len(self.queries), len(self.images)
        if not q or not n:
            raise InputError(
                f"The set {self.name!r} has {q} queries and {n} images; check the file or the folder."
            )
        assert self.links.ndim == 2
        assert ((self.links >= 0) & (self.links < (q, n))).all()
        assert self.any_word is None or self.any_word.shape == (q, n)
        assert self.choices is None or (
            len(self.choices) == q and ((self.choices >= -1) & (self.choices < n)).all()
        )

    @classmethod
    def of_choices(
        cls, name: str, split: str, items: Iterable[tuple[str, Sequence[Any], int]]
    ) -> RetrievalSet:
        """Of (query, its images by anything hashable, the right one's place); `images` are these, once each.

        Raises IndexError for a place that is none of a query's images, ValueError for a query with fewer than two.
        """
        queries: list[str] = []
        rows, links, place = [], [], dict[Any, int]()
        for query, images, right in items:
            row = [place.setdefault(image, len(place)) for image in images]
            if len(set(row)) < max(2, len(row)):
                raise ValueError(f"{query!r} has not two or more different images to choose from")
            if not 0 <= right < len(row):
                raise IndexError(f"image {right} of {len(row)} for {query!r}")
            links.append((len(queries), row[right]))
            queries.append(query)
            rows.append(row)
        choices = np.full((len(rows), max(map(len, rows), default=0)), -1)
        for i, row in enumerate(rows):
            choices[i, : len(row)] = row
        return cls(name, split, tuple(place), tuple(queries), np.array(links).reshape(-1, 2), choices=choices)

    @cached_property
    def right_choices(self) -> np.ndarray:
        """Which of its own images is right for each query, bool (q, c); of a set with choices alone."""
        assert self.choices is not None
        return self.choices == self.links[np.argsort(self.links[:, 0]), 1:]

    def first_choices(self, images: int | None) -> RetrievalSet:
        """The queries that choose among the first `images` images alone, with those images (None: all).

        Raises InputError where no query does; of a set with choices alone.
        """
        assert self.choices is not None
        if images is None:
            return self
        kept = np.flatnonzero((self.choices < images).all(axis=1))
        if not len(kept):
            raise InputError(
                f"No caption of {self.name} chooses among its first {images} images alone; ask for "
                f"{self.choices[0].max() + 1} or more, or leave the number out for all."
            )
        links = self.links[np.isin(self.links[:, 0], kept)]
        return replace(
            self,
            images=self.images[:images],
            queries=tuple(self.queries[j] for j in kept),
            links=np.column_stack([np.searchsorted(kept, links[:, 0]), links[:, 1]]),
            choices=self.choices[kept],
        )

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        return (
            f"<{len(self.queries)} queries over {len(self.images)} images: {self.name}, split {self.split}>"
        )

    @cached_property
    def relevant(self) -> np.ndarray:
        """bool (q, n)"""
        mask = np.zeros((len(self.queries), len(self.images)), dtype=bool)
        mask[self.links[:, 0], self.links[:, 1]] = True
        return mask


@dataclass(frozen=True)
class SceneObject:
    """A thing in an image: its names (the first is the usual one), attributes and box."""

    id: str
    names: tuple[str, ...]
    attributes: tuple[str, ...]
    box: tuple[int, int, int, int]  # x, y (top left), width, height in pixels


@dataclass(frozen=True)
class Relation:
    """`subject` and `object` are ids of objects of the same image."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True)
class SceneGraph:
    """An image with its objects and their relations."""

    id: str
    image: ImageRef
    objects: tuple[SceneObject, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True)
class GraphSet:
    """A named list of scene graphs."""

    name: str
    split: str
    graphs: tuple[SceneGraph, ...]
    title: str = ""
    description: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        if not self.graphs:
            raise InputError(f"The set {self.name!r} holds no scene graphs; check the file.")

    def __len__(self) -> int:
        return len(self.graphs)
