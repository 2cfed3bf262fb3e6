"""From a scorer and groups to scores (n, m, k), with a cache on disk. Imports no torch."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from core.base import paths, public_mode
from core.base.errors import InputError
from core.base.files import private_file, private_folder
from core.base.limits import check_memory
from core.groups import GroupSet, ImageRef
from core.matching.groups import check_scores
from core.scorers.api import ApiScorer, CallEstimate
from core.scorers.base import ScoredRows, Scorer, used_inputs
from core.scoring import _shipped
from core.scoring._shipped import Key

T = TypeVar("T")
_Progress = Callable[[int, int], None]
# Scores of a table that are asked for at once: a pair's key takes some hundred bytes, its score four.
_BLOCK = 4_000_000


def score_groups(
    scorer: Scorer, groups: GroupSet, cache: ScoreCache | None = None, progress: _Progress | None = None
) -> np.ndarray:
    """Scores of every image with every caption of its own group, float32 (n, m, k).

    Parameters
    ----------
    groups : of one shape. Each distinct image and caption goes to the scorer once, with the pairs the groups need.
    cache : looked up first; what is new is stored as it comes, so that work that is cut short is not lost.
    progress : called with (pairs done, pairs to score); raising from it ends the work.

    The scorer sees images, captions and pairs only: no groups and no truth.
    Raises InputError for mixed shapes, an image that does not open, or a score that is not finite (naming the group).
    """
    images, captions, pairs, place = _distinct_pairs(groups)
    values = _pair_scores(scorer, images, captions, pairs, cache, progress)
    return check_scores(values[place], groups.ids)


def _distinct_pairs(groups: GroupSet) -> tuple[list[ImageRef], list[str], np.ndarray, np.ndarray]:
    """Distinct images and captions of groups, the distinct pairs (p, 2) within groups, and their place (n, m, k)."""
    blind = groups.blind()
    (images, first), (captions, second) = blind.unique_images(), blind.unique_captions()
    codes = first[:, :, None] * len(captions) + second[:, None, :]  # (n, m, k)
    distinct, place = np.unique(codes, return_inverse=True)
    return images, captions, np.column_stack(np.divmod(distinct, len(captions))), place.reshape(codes.shape)


def score_all(
    scorer: Scorer, groups: GroupSet, cache: ScoreCache | None = None, progress: _Progress | None = None
) -> np.ndarray:
    """Scores of all images with all captions, float32 (n m, n k): row g m + i is image i of group g, columns likewise.

    Arguments and errors as for `score_groups`. What the global variant matches ([TTM] 3.2.1).
    """
    blind = groups.blind()
    (images, first), (captions, second) = blind.unique_images(), blind.unique_captions()
    scores = _table(scorer, images, captions, cache, progress)[first.ravel()][:, second.ravel()]
    check_scores(scores.reshape(len(groups), -1, scores.shape[1]), groups.ids)
    return scores


def score_matrix(
    scorer: Scorer,
    images: Sequence[ImageRef],
    captions: Sequence[str],
    cache: ScoreCache | None = None,
    progress: _Progress | None = None,
) -> np.ndarray:
    """Scores of every image with every caption, float32 (images, captions): for priors and retrieval.

    Arguments as in `score_groups`. Raises InputError for an image that does not open or a score that is not finite.
    """
    table = _table(scorer, images, captions, cache, progress)
    bad = np.flatnonzero(~np.isfinite(table))
    if len(bad):
        raise InputError(
            f"{scorer.name} gives the caption {captions[bad[0] % len(captions)]!r} a score that is not a finite "
            "number; leave it out or use another model."
        )
    return table


def _table(
    scorer: Scorer,
    images: Sequence[ImageRef],
    captions: Sequence[str],
    cache: ScoreCache | None,
    progress: _Progress | None,
) -> np.ndarray:
    """Scores (images, captions), some images at a time: the keys of all pairs are many times as large as the scores."""
    what = f"A table of {len(images):,} images and {len(captions):,} captions"
    check_memory(what, 4 * len(images) * len(captions))
    table = np.empty((len(images), len(captions)), dtype=np.float32)
    step = max(1, _BLOCK // max(1, len(captions)))
    for start in range(0, len(images), step):
        block = images[start : start + step]
        pairs = np.indices((len(block), len(captions))).reshape(2, -1).T  # (block * captions, 2)
        tell = progress and _progress_of_block(progress, table[:start].size + len(pairs), table.size)
        values = _pair_scores(scorer, block, captions, pairs, cache, tell)
        table[start : start + step] = values.reshape(len(block), len(captions))
    return table


def _progress_of_block(progress: _Progress, end: int, total: int) -> _Progress:
    """`progress` of one block as that of the whole, where the block ends at `end`; what a cache knew is done."""
    return lambda done, missing: progress(end - missing + done, total)


def _pair_scores(
    scorer: Scorer,
    images: Sequence[ImageRef],
    captions: Sequence[str],
    pairs: np.ndarray,
    cache: ScoreCache | None,
    progress: _Progress | None,
) -> np.ndarray:
    """Scores float32 (p,) of pairs (p, 2): from the cache where it knows them, else scored, and stored as they come."""
    keys: list[Key] = []
    values = np.full(len(pairs), np.nan, dtype=np.float32)
    if cache is not None:
        image_keys = [image.key for image in images]
        keys = [(image_keys[i], captions[j]) for i, j in zip(*pairs.T, strict=True)]
        values = cache.get(scorer.key, keys)
    missing, done = np.flatnonzero(np.isnan(values)), 0
    for rows, scores in _streamed(scorer, images, captions, pairs[missing]) if len(missing) else ():
        values[missing[rows]] = scores
        if cache is not None:
            cache.put(scorer.key, [keys[i] for i in missing[rows]], scores)
        done += len(rows)
        if progress is not None:
            progress(done, len(missing))
    return values


def _streamed(
    scorer: Scorer, images: Sequence[ImageRef], captions: Sequence[str], pairs: np.ndarray
) -> Iterator[ScoredRows]:
    """Rows of `pairs` with their scores, as they come from a scorer with `stream`, at once from any other."""
    first, second, index = used_inputs(pairs)
    some = [images[i] for i in first], [captions[j] for j in second], index
    stream = getattr(scorer, "stream", None)
    if stream is not None:
        yield from stream(*some)
        return
    scores = np.asarray(scorer.score(*some), dtype=np.float32)
    if scores.shape != (len(index),):
        raise InputError(
            f"The scorer {scorer.name!r} gave scores of shape {scores.shape} for {len(index)} pairs; "
            "its `score` must return one number per pair."
        )
    yield np.arange(len(index)), scores


def planned_calls(
    scorer: ApiScorer,
    groups: GroupSet,
    cache: ScoreCache,
    price_in: float | None = None,
    price_out: float | None = None,
) -> CallEstimate:
    """What scoring groups of one shape with a served model will take, without the pairs that the cache holds already.

    Asked before a run starts. Prices are per million tokens; without both there is no cost.
    """
    images, captions, pairs, _ = _distinct_pairs(groups)
    known = cache.get(scorer.key, [(images[i].key, captions[j]) for i, j in pairs])
    return scorer.estimate(images, captions, pairs[np.isnan(known)], price_in, price_out)


class _CacheSize(NamedTuple):
    """How much a cache holds: scores, and bytes on disk."""

    scores: int
    bytes: int


class ScoreCache:
    """Scores on disk, by scorer key, image content and caption: an SQLite file that several processes may share.

    A cache that cannot be used costs time, never results: reading then finds nothing and writing stores nothing, with
    a warning. A damaged file is moved aside and a new one begun.
    """

    # Lookups per statement: below SQLite's limit of variables.
    _CHUNK = 10_000
    _PATIENCE = 30.0  # seconds to wait for another process that is writing

    def __init__(self, path: Path | None = None) -> None:
        """`path` : the file; by default `cache/scores.sqlite` in the user's data folder."""
        self.path = paths.home() / "cache" / "scores.sqlite" if path is None else Path(path)

    def get(self, scorer: str, keys: Sequence[Key]) -> np.ndarray:
        """Known scores of (image key, caption) pairs under a scorer's key, float32 (p,); NaN where unknown.

        Those that ship with Crossmatch (`core/scoring/_shipped.py`) are known from the start.
        """
        values = _shipped.find_scores(scorer, keys)
        unknown = np.flatnonzero(np.isnan(values))
        values[unknown] = self._stored(scorer, [keys[i] for i in unknown.tolist()])
        return values

    def _stored(self, scorer: str, keys: Sequence[Key]) -> np.ndarray:
        if not keys or not self.path.exists():
            return np.full(len(keys), np.nan, dtype=np.float32)
        rows = _digests(scorer, keys)
        found: dict[bytes, float] = {}

        def read(db: sqlite3.Connection) -> None:
            for start in range(0, len(rows), self._CHUNK):
                chunk = rows[start : start + self._CHUNK]
                marks = ",".join("?" * len(chunk))
                found.update(db.execute(f"SELECT key, value FROM scores WHERE key IN ({marks})", chunk))

        self._use(read, None)
        return np.array([found.get(row, np.nan) for row in rows], dtype=np.float32)

    def put(self, scorer: str, keys: Sequence[Key], values: np.ndarray) -> None:
        """Store scores (p,) of (image key, caption) pairs; those that are not finite are left out.

        In public mode a cache that has grown too large begins anew: every model that a visitor adapts adds to it.
        """
        digests = zip(_digests(scorer, keys), values, strict=True)
        rows = [(digest, float(value)) for digest, value in digests if np.isfinite(value)]

        def write(db: sqlite3.Connection) -> None:
            with db:
                db.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)

        if public_mode.is_public() and self._bytes() > public_mode.MAX_CACHE_BYTES:
            self.clear()
        self._use(write, None)

    def size(self) -> _CacheSize:
        """Number of scores and bytes on disk."""
        if not self.path.exists():
            return _CacheSize(0, 0)
        count = self._use(lambda db: int(db.execute("SELECT count(*) FROM scores").fetchone()[0]), 0)
        return _CacheSize(count, self._bytes())

    def _bytes(self) -> int:
        total = 0
        for path in self._files():
            with suppress(FileNotFoundError):  # SQLite removes its log when the last connection closes
                total += path.stat().st_size
        return total

    def clear(self) -> None:
        """Forget every score and give the disk space back."""

        def forget(db: sqlite3.Connection) -> None:
            with db:
                db.execute("DELETE FROM scores")
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

        if self.path.exists():
            self._use(forget, None)

    def _use(self, action: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Run `action` on a connection of its own (safe in any thread or process); `otherwise` where that fails."""
        for attempt in range(2):
            try:
                with closing(self._connect()) as db:
                    return action(db)
            except sqlite3.OperationalError as error:  # locked for too long, read-only, disk full
                return self._warn(str(error), otherwise)
            except sqlite3.DatabaseError as error:  # not a database, or a damaged one
                if attempt == 0:
                    self._quarantine(str(error))
            except OSError as error:
                return self._warn(error.strerror or str(error), otherwise)
        return self._warn("it is damaged", otherwise)

    def _warn(self, reason: str, otherwise: T) -> T:
        warnings.warn(
            f"The score cache {self.path} cannot be used now ({reason}); scores are computed again where needed.",
            stacklevel=4,
        )
        return otherwise

    def _connect(self) -> sqlite3.Connection:
        folder = self.path.parent
        private_folder(folder, ours=folder == paths.home() / "cache")
        private_file(self.path)
        db = sqlite3.connect(self.path, timeout=self._PATIENCE)
        try:
            if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                _retry(lambda: db.execute("PRAGMA journal_mode=WAL"))
            db.execute("PRAGMA synchronous=NORMAL")  # a crash may lose the last scores, never damage the file
            db.execute(
                "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID"
            )
        except BaseException:
            db.close()
            raise
        return db

    def _files(self) -> list[Path]:
        return [self.path.with_name(self.path.name + end) for end in ("", "-wal", "-shm")]

    def _quarantine(self, reason: str) -> None:
        aside = f".damaged-{time.time_ns()}-{os.getpid()}"
        for file in self._files():
            with suppress(FileNotFoundError):  # another process may have moved it already
                os.replace(file, file.with_name(file.name + aside))
        warnings.warn(
            f"The score cache {self.path} was damaged ({reason}); it was moved to {self.path.name}{aside} and a new "
            "one begun.",
            stacklevel=5,
        )


def _retry(action: Callable[[], object]) -> None:
    """Changing the journal mode does not wait for another process that does the same: try until it is through."""
    for _ in range(100):
        with suppress(sqlite3.OperationalError):
            action()
            return
        time.sleep(0.05)
    action()


def _digests(scorer: str, keys: Sequence[Key]) -> list[bytes]:
    """One short key per (image key, caption) under a scorer's key."""
    head = hashlib.blake2b(scorer.encode() + b"\0", digest_size=16)
    digests = []
    for image, caption in keys:
        whole = head.copy()
        whole.update(image.encode() + b"\0" + caption.encode("utf-8", "surrogatepass"))
        digests.append(whole.digest())
    return digests
