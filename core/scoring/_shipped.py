"""Scores that ship with Crossmatch: every built-in model on every built-in test set, in `assets/scores`.

Found by content alone: a file is named after the scorer's key (a hash of weights, tokenizer and settings), and within
it a score belongs to the hashes of an image's content and of a caption. A model or a set that changed finds nothing
here and is scored anew. Scores of the shifted sets lie in a folder of their own, which is read only where the first
does not know a pair. `python -m benchmarks.results.shipped_scores` writes the files. Imports no torch.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.base import paths
from core.scoring._blocks import place
from core.scoring.pairs import Pairs

PAIRS = "pairs.npz"


class ShippedPairs(NamedTuple):
    """Which pairs of an image and a caption the files hold scores of, in this order.

    images : uint64 (a,), ascending hashes of image keys. captions : uint64 (b,), ascending hashes of captions.
    codes : int64 (p,), ascending: place of the image times b, plus place of the caption.
    """

    images: np.ndarray
    captions: np.ndarray
    codes: np.ndarray

    @classmethod
    def of(cls, pairs: Pairs) -> ShippedPairs:
        """The distinct ones of these pairs, in order."""
        first, second = (hashed[column] for hashed, column in zip(pairs.hashes, pairs.places.T, strict=True))
        images, captions = np.unique(first), np.unique(second)
        codes = np.searchsorted(images, first) * len(captions) + np.searchsorted(captions, second)
        return cls(images, captions, np.unique(codes).astype(np.int64))

    @property
    def key(self) -> str:
        """Content hash (hex): equal keys mean the same pairs in the same order."""
        return hashlib.sha256(b"".join(part.tobytes() for part in self)).hexdigest()

    def places(self, pairs: Pairs) -> np.ndarray:
        """Place of each pair among `codes`, int64 (p,); -1 where it is not among them."""
        images, captions = pairs.hashes
        first = place(self.images, images)[pairs.places[:, 0]]
        second = place(self.captions, captions)[pairs.places[:, 1]]
        known = (first >= 0) & (second >= 0)
        return np.where(known, place(self.codes, first * len(self.captions) + second), -1)

    def write(self, path: Path) -> None:
        """Write the file; `read_pairs` reads it. Codes as steps, which compress to little."""
        steps = np.diff(self.codes, prepend=0)
        np.savez_compressed(path, images=self.images, captions=self.captions, steps=steps)


def folder(shifted: bool = False) -> Path:
    """Where the files lie: those of the sets as they are, or of the shifted ones."""
    return paths.assets() / ("scores_shifted" if shifted else "scores")


def score_path(scorer: str, shifted: bool = False) -> Path:
    """The file of a scorer's scores, by the scorer's key."""
    return folder(shifted) / f"{hashlib.sha256(scorer.encode()).hexdigest()[:24]}.npz"


def find_scores(scorer: str, pairs: Pairs) -> np.ndarray:
    """Shipped scores of pairs under a scorer's key, float32 (p,); NaN where there are none."""
    values = np.full(len(pairs), np.nan, dtype=np.float32)
    for shifted in (False, True):
        path = score_path(scorer, shifted)
        if not path.is_file() or not np.isnan(values).any():
            continue
        table = folder(shifted) / PAIRS
        shipped, scores = _pairs(table), _scores(path, _stamp(path), scorer)
        if shipped is not None and scores is not None and scores[1] == _key(table, _stamp(table)):
            unknown = np.flatnonzero(np.isnan(values))
            places = shipped.places(pairs.take(unknown))
            values[unknown[places >= 0]] = scores[0][places[places >= 0]]
    return values


def _pairs(path: Path) -> ShippedPairs | None:
    return read_pairs(path, _stamp(path)) if path.is_file() else None


def _stamp(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


@lru_cache(maxsize=4)
def read_pairs(path: Path, stamp: tuple[int, int]) -> ShippedPairs | None:
    """The pairs in a file; None, with a warning, where it is damaged. `stamp`: a new file is read anew."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return ShippedPairs(file["images"], file["captions"], np.cumsum(file["steps"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _damaged(path, error)
        return None


@lru_cache(maxsize=4)
def _key(path: Path, stamp: tuple[int, int]) -> str | None:
    """The key of the pairs in a file: hashing them takes 4 ms, and every look for scores asks."""
    shipped = read_pairs(path, stamp)
    return None if shipped is None else shipped.key


@lru_cache(maxsize=32)
def _scores(path: Path, stamp: tuple[int, int], scorer: str) -> tuple[np.ndarray, str] | None:
    """Scores and the key of their pairs; None, with a warning, where the file is damaged or another scorer's."""
    try:
        with np.load(path, allow_pickle=False) as file:
            facts, values = json.loads(str(file["facts"])), file["values"]
        if facts["scorer"] != scorer:
            raise ValueError("it is another scorer's")
        return values, str(facts["pairs"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        _damaged(path, error)
        return None


def _damaged(path: Path, error: Exception) -> None:
    warnings.warn(
        f"The shipped scores {path} cannot be read ({error}); what they hold is computed again.", stacklevel=5
    )
