"""Pairs of images and captions by content, as score files and the score cache know them: 64 bits for each text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Pairs:
    """Pairs of an image and a caption whose scores are asked for.

    images : keys of images (a,). captions : texts (b,). places : int (p, 2), of each pair in the two lists.
    """

    images: Sequence[str]
    captions: Sequence[str]
    places: np.ndarray

    @classmethod
    def of(cls, keys: Iterable[tuple[str, str]]) -> Pairs:
        """From (image key, caption) pairs one by one."""
        images: dict[str, int] = {}
        captions: dict[str, int] = {}
        places = [(images.setdefault(i, len(images)), captions.setdefault(c, len(captions))) for i, c in keys]
        return cls(list(images), list(captions), np.array(places, dtype=np.int64).reshape(-1, 2))

    def __len__(self) -> int:
        return len(self.places)

    def take(self, rows: np.ndarray) -> Pairs:
        """Some of them; the lists and their hashes are shared."""
        some = Pairs(self.images, self.captions, self.places[rows])
        some.__dict__["hashes"] = self.hashes
        return some

    @cached_property
    def hashes(self) -> tuple[np.ndarray, np.ndarray]:
        """Of images uint64 (a,) and captions (b,)."""
        return _hashes(self.images), _hashes(self.captions)

    @cached_property
    def sorted_images(self) -> np.ndarray:
        """Hashes of the images, uint64, ascending."""
        return np.sort(self.hashes[0])

    @cached_property
    def _by_image(self) -> tuple[np.ndarray, np.ndarray]:
        """The pairs in order of their images' hashes, int64 (p,), and those hashes, uint64 (p,)."""
        own = self.hashes[0][self.places[:, 0]]
        order = np.argsort(own, kind="stable")
        return order, own[order]

    def rows_of(self, images: np.ndarray) -> np.ndarray:
        """Which pairs have one of these images, int64; images : uint64, ascending and distinct hashes."""
        order, own = self._by_image
        first, last = np.searchsorted(own, images), np.searchsorted(own, images, side="right")
        counts = last - first
        starts = np.repeat(first - np.cumsum(counts) + counts, counts)
        return order[starts + np.arange(len(starts))]

    @cached_property
    def is_grid(self) -> bool:
        """Whether they are all images with all captions, image by image."""
        a, b = len(self.images), len(self.captions)
        if not a or len(self) != a * b:
            return False
        first, second = (column.reshape(a, b) for column in self.places.T)
        return bool((first == np.arange(a)[:, None]).all() and (second == np.arange(b)).all())


def _hashes(texts: Iterable[str]) -> np.ndarray:
    """64 bits for each text, uint64 (n,); what is repeated is hashed once."""
    known: dict[str, int] = {}
    found = []
    for text in texts:
        if text not in known:
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            known[text] = int.from_bytes(digest, "little")
        found.append(known[text])
    return np.array(found, dtype=np.uint64)
