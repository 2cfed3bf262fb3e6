"""Scores of pairs as arrays that a database row holds: what was scored together lies together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.scoring.pairs import Pairs


class Block(NamedTuple):
    """Finite scores of some pairs of one scorer.

    images : uint64 (a,), captions : uint64 (b,), ascending hashes. codes : int64 (p,), ascending: place of the image
    times b, plus place of the caption; None where all images have all captions. scores : float32 (p,).
    """

    images: np.ndarray
    captions: np.ndarray
    codes: np.ndarray | None
    scores: np.ndarray

    @classmethod
    def of(cls, pairs: Pairs, scores: np.ndarray) -> Block:
        """From scores (p,) of pairs; those that are not finite are left out, of a pair given twice the last counts."""
        finite = np.isfinite(scores)
        places = pairs.places if finite.all() else pairs.places[finite]
        sides, columns = [], []
        for hashed, column in zip(pairs.hashes, places.T, strict=True):
            used = np.zeros(len(hashed), dtype=bool)
            used[column] = True
            distinct, rank = np.unique(hashed[used], return_inverse=True)
            where = np.zeros(len(hashed), dtype=np.int64)
            where[used] = rank
            sides.append(distinct)
            columns.append(where[column])
        codes = columns[0] * len(sides[1]) + columns[1]
        return cls._sorted(sides[0], sides[1], codes, np.asarray(scores, dtype=np.float32)[finite])

    @classmethod
    def merged(cls, blocks: Sequence[Block]) -> Block:
        """All of them in one; of a pair in several the last counts."""
        images = np.unique(np.concatenate([block.images for block in blocks]))
        captions = np.unique(np.concatenate([block.captions for block in blocks]))
        codes = []
        for block in blocks:
            first, second = np.searchsorted(images, block.images), np.searchsorted(captions, block.captions)
            if block.codes is None:
                codes.append((first[:, None] * len(captions) + second).ravel())
            else:
                i, j = np.divmod(block.codes, len(block.captions))
                codes.append(first[i] * len(captions) + second[j])
        scores = np.concatenate([block.scores for block in blocks])
        return cls._sorted(images, captions, np.concatenate(codes), scores)

    @classmethod
    def _sorted(
        cls, images: np.ndarray, captions: np.ndarray, codes: np.ndarray, scores: np.ndarray
    ) -> Block:
        cells = len(images) * len(captions)
        if len(codes) >= cells:
            table = np.full(cells, np.nan, dtype=np.float32)
            table[codes] = scores
            if not np.isnan(table).any():
                return cls(images, captions, None, table)
        if len(codes) and (np.diff(codes) <= 0).any():
            order = np.argsort(codes, kind="stable")
            last = np.append(np.diff(codes[order]) > 0, True)
            codes, scores = codes[order][last], scores[order][last]
        return cls(images, captions, codes, scores)

    def fill(self, wanted: Pairs, values: np.ndarray) -> None:
        """Scores of wanted pairs that this block knows into `values` float32 (p,), where they are NaN."""
        images, captions = wanted.hashes
        if self.codes is None and wanted.is_grid:
            first, second = place(self.images, images), place(self.captions, captions)
            cells = np.ix_(first >= 0, second >= 0)
            table = values.reshape(len(first), len(second))
            known = self.scores.reshape(len(self.images), -1)[np.ix_(first[first >= 0], second[second >= 0])]
            table[cells] = np.where(np.isnan(table[cells]), known, table[cells])
            return
        missing = wanted.rows_of(self.images) if len(wanted) > len(self.images) else np.arange(len(wanted))
        missing = missing[np.isnan(values[missing])]
        i = place(self.images, images[wanted.places[missing, 0]])
        j = place(self.captions, captions[wanted.places[missing, 1]])
        here = (i >= 0) & (j >= 0)
        at = i[here] * len(self.captions) + j[here]
        if self.codes is not None:
            at = place(self.codes, at)
            here[here] = at >= 0
            at = at[at >= 0]
        values[missing[here]] = self.scores[at]

    def columns(self) -> tuple[bytes, bytes, bytes | None, bytes]:
        """As a database holds it; codes as steps from each to the next, in as few bytes as the longest takes."""
        steps = None
        if self.codes is not None:
            wide = np.diff(self.codes, prepend=0)
            steps = wide.astype(np.min_scalar_type(int(wide.max(initial=0)))).tobytes()
        return self.images.tobytes(), self.captions.tobytes(), steps, self.scores.tobytes()

    @classmethod
    def of_columns(cls, images: bytes, captions: bytes, steps: bytes | None, scores: bytes) -> Block:
        """The reverse of `columns`. Raises ValueError for what is none."""
        sides = np.frombuffer(images, dtype=np.uint64), np.frombuffer(captions, dtype=np.uint64)
        values, codes = np.frombuffer(scores, dtype=np.float32), None
        if steps is not None:
            width = len(steps) // max(1, len(values))
            codes = np.cumsum(np.frombuffer(steps, dtype=f"u{width or 1}"), dtype=np.int64)
        cells = len(sides[0]) * len(sides[1])
        if len(values) != (cells if codes is None else len(codes)) or (
            codes is not None and len(codes) and codes[-1] >= cells
        ):
            raise ValueError("a block of scores is damaged")
        return cls(sides[0], sides[1], codes, values)


def place(ordered: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Index into `ordered` (ascending) of each wanted value, int64 (n,); -1 where it is not there."""
    if not len(ordered):
        return np.full(len(wanted), -1, dtype=np.int64)
    found = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[found] == wanted, found, -1)
