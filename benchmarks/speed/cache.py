"""The score cache at real size beside one NPZ file of the same: seconds and bytes to write and to read it all back."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from core.scoring.cache import ScoreCache
from core.scoring.pairs import Pairs

SCORES = 10_000_000
STORED = 100_000  # at once, about what a model gives in a minute or two
ROUNDS = 3


def measure(scores: int = SCORES, rounds: int = ROUNDS) -> Iterator[dict[str, object]]:
    """Rows for a table of images and captions and for groups of 2x2; ratios are medians of rounds taken in turn."""
    side = round(scores**0.5)
    cells = np.indices((side, side)).reshape(2, -1).T
    yield row(f"table, {side:,} images x {side:,} captions", _pairs(side, side, cells), rounds)
    groups = scores // 4
    corners = (2 * np.arange(groups)[:, None, None] + np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).reshape(
        -1, 2
    )
    yield row(f"{groups:,} groups of 2x2", _pairs(2 * groups, 2 * groups, corners), rounds)


def _pairs(images: int, captions: int, places: np.ndarray) -> Pairs:
    return Pairs(
        [f"{i:064x}" for i in range(images)], [f"caption number {i}" for i in range(captions)], places
    )


def row(name: str, pairs: Pairs, rounds: int) -> dict[str, object]:
    """One shape. What is asked is hashed before the clock starts for both: an NPZ needs the hashes as well."""
    values = np.random.default_rng(0).normal(size=len(pairs)).astype(np.float32)
    assert pairs.hashes is not None
    taken = np.array([_once(pairs, values) for _ in range(rounds)])  # (rounds, 6)
    cache_write, cache_read, npz_write, npz_read, cache_bytes, npz_bytes = np.median(taken, axis=0)
    return {
        "what": name,
        "scores": len(values),
        "stored at once": STORED,
        "cache: seconds to write": round(cache_write, 2),
        "cache: seconds to read": round(cache_read, 2),
        "NPZ: seconds to write": round(npz_write, 2),
        "NPZ: seconds to read": round(npz_read, 2),
        "times the NPZ's time": round(float(np.median(taken[:, :2].sum(1) / taken[:, 2:4].sum(1))), 2),
        "times the NPZ's bytes": round(cache_bytes / npz_bytes, 2),
    }


def _once(pairs: Pairs, values: np.ndarray) -> tuple[float, ...]:
    with TemporaryDirectory() as folder:
        cache, path = ScoreCache(Path(folder) / "scores.sqlite"), Path(folder) / "scores.npz"
        gc.collect()
        begin = perf_counter()
        for start in range(0, len(values), STORED):
            rows = np.arange(start, min(start + STORED, len(values)))
            cache.put("model", pairs.take(rows), values[rows])
        written = perf_counter()
        np.testing.assert_array_equal(cache.get("model", pairs), values)
        read = perf_counter()
        images, captions = pairs.hashes
        np.savez_compressed(path, images=images, captions=captions, places=pairs.places, values=values)
        saved = perf_counter()
        with np.load(path) as file:
            found = {name: file[name] for name in file.files}
        loaded = perf_counter()
        assert len(found["values"]) == len(values)
        sizes = float(cache.size().bytes), float(path.stat().st_size)
    return written - begin, read - written, saved - read, loaded - saved, *sizes
