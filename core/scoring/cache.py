"""Scores on disk, shared by processes; they are looked up before anything is scored. Imports no torch."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from core.base import paths, public_mode
from core.base.files import private_file, private_folder
from core.scoring import _shipped
from core.scoring._blocks import Block, place
from core.scoring.pairs import Pairs

T = TypeVar("T")
_MERGED = 8  # blocks of about one size that become one
_LARGEST = 4_000_000  # scores of a block; larger ones are left as they come
_TABLE = """CREATE TABLE IF NOT EXISTS blocks (
    id INTEGER PRIMARY KEY, scorer BLOB NOT NULL, level INTEGER NOT NULL, count INTEGER NOT NULL,
    images BLOB NOT NULL, captions BLOB NOT NULL, steps BLOB, scores BLOB NOT NULL)"""


class _CacheSize(NamedTuple):
    """How much a cache holds: scores, and bytes on disk."""

    scores: int
    bytes: int


class ScoreCache:
    """Scores on disk, by scorer key, image content and caption: an SQLite file that several processes may share.

    What is stored at once is one row, a block of arrays; small blocks are merged into larger ones, so that ten million
    scores are read as fast as they come from the disk.

    A cache that cannot be used costs time, never results: reading then finds nothing and writing stores nothing, with
    a warning. A damaged file is moved aside and a new one begun.
    """

    _PATIENCE = 30.0  # seconds to wait for another process that is writing

    def __init__(self, path: Path | None = None) -> None:
        """`path` : the file; by default `cache/scores.sqlite` in the user's data folder."""
        self.path = paths.home() / "cache" / "scores.sqlite" if path is None else Path(path)

    def get(self, scorer: str, pairs: Pairs) -> np.ndarray:
        """Known scores of pairs under a scorer's key, float32 (p,); NaN where unknown.

        Those that ship with Crossmatch (`core/scoring/_shipped.py`) are known from the start.
        """
        values = _shipped.find_scores(scorer, pairs)
        if len(values) and np.isnan(values).any() and self.path.exists():
            self._use(lambda db: _read(db, scorer, pairs, values), None)
        return values

    def put(self, scorer: str, pairs: Pairs, values: np.ndarray) -> None:
        """Store scores (p,) of pairs; those that are not finite are left out.

        In public mode a cache that has grown too large begins anew: every model that a visitor adapts adds to it.
        """
        block = Block.of(pairs, values)
        if public_mode.is_public() and self._bytes() > public_mode.MAX_CACHE_BYTES:
            self.clear()
        if len(block.scores):
            self._use(lambda db: _write(db, _head(scorer), block), None)

    def size(self) -> _CacheSize:
        """Number of scores, where one that two processes stored at once may count twice, and bytes on disk."""
        if not self.path.exists():
            return _CacheSize(0, 0)
        return _CacheSize(self._use(_count, 0), self._bytes())

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
                db.execute("DELETE FROM blocks")
                db.execute("DROP TABLE IF EXISTS scores")
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
            db.execute(_TABLE)
            db.execute("CREATE INDEX IF NOT EXISTS blocks_of_scorer ON blocks (scorer, level)")
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


def _read(db: sqlite3.Connection, scorer: str, pairs: Pairs, values: np.ndarray) -> None:
    """Known scores into `values` (p,), where they are NaN; of a pair in several blocks the newest counts."""
    db.execute("BEGIN")  # another process may merge what is being read
    found = db.execute("SELECT id, images FROM blocks WHERE scorer = ? ORDER BY id DESC", (_head(scorer),))
    for number, own in found.fetchall():
        few, many = sorted((np.frombuffer(own, dtype=np.uint64), pairs.sorted_images), key=len)
        if (place(many, few) < 0).all():
            continue
        row = db.execute(
            "SELECT images, captions, steps, scores FROM blocks WHERE id = ?", (number,)
        ).fetchone()
        if row is not None:
            _block(row).fill(pairs, values)
        if not np.isnan(values).any():
            return
    if _has_old(db):
        _read_old(db, scorer, pairs, values)


def _block(row: tuple[bytes, bytes, bytes | None, bytes]) -> Block:
    try:
        return Block.of_columns(*row)
    except (ValueError, TypeError) as error:
        raise sqlite3.DatabaseError(str(error)) from None


def _write(db: sqlite3.Connection, scorer: bytes, block: Block) -> None:
    db.execute("BEGIN IMMEDIATE")
    with db:
        _insert(db, scorer, block, None)
        _merge(db, scorer, _level(block))


def _insert(db: sqlite3.Connection, scorer: bytes, block: Block, number: int | None) -> None:
    row = (number, scorer, _level(block), len(block.scores), *block.columns())
    db.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _level(block: Block) -> int:
    """Blocks of one level have about as many scores, within a factor of `_MERGED`."""
    return int(np.log(len(block.scores)) / np.log(_MERGED) + 1e-9)


def _merge(db: sqlite3.Connection, scorer: bytes, level: int) -> None:
    """Where a level has too many blocks they become one, and so on upwards."""
    while True:
        size = "SELECT count(*), total(count) FROM blocks WHERE scorer = ? AND level = ?"
        count, total = db.execute(size, (scorer, level)).fetchone()
        if count < _MERGED or total > _LARGEST:
            return
        which = "FROM blocks WHERE scorer = ? AND level = ? ORDER BY id"
        rows = db.execute(f"SELECT id, images, captions, steps, scores {which}", (scorer, level)).fetchall()
        merged = Block.merged([_block(row[1:]) for row in rows])
        db.execute("DELETE FROM blocks WHERE scorer = ? AND level = ?", (scorer, level))
        _insert(db, scorer, merged, rows[-1][0])
        level = _level(merged)


def _count(db: sqlite3.Connection) -> int:
    (count,) = db.execute("SELECT coalesce(sum(count), 0) FROM blocks").fetchone()
    if _has_old(db):
        count += db.execute("SELECT count(*) FROM scores").fetchone()[0]
    return int(count)


# A row for each score, as it was written until 22 November 2026: scores from an endpoint have cost money.


def _has_old(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'scores'").fetchone() is not None


def _read_old(db: sqlite3.Connection, scorer: str, pairs: Pairs, values: np.ndarray) -> None:
    at_a_time = 10_000  # below SQLite's limit of variables
    missing = np.flatnonzero(np.isnan(values))
    for start in range(0, len(missing), at_a_time):
        rows = missing[start : start + at_a_time]
        digests = _old_digests(scorer, pairs, rows)
        marks = ",".join("?" * len(digests))
        found = dict(db.execute(f"SELECT key, value FROM scores WHERE key IN ({marks})", digests))
        values[rows] = [found.get(digest, np.nan) for digest in digests]


def _old_digests(scorer: str, pairs: Pairs, rows: np.ndarray) -> list[bytes]:
    """One short key per (image key, caption) under a scorer's key."""
    head = hashlib.blake2b(scorer.encode() + b"\0", digest_size=16)
    digests = []
    for i, j in pairs.places[rows].tolist():
        whole = head.copy()
        whole.update(pairs.images[i].encode() + b"\0" + pairs.captions[j].encode("utf-8", "surrogatepass"))
        digests.append(whole.digest())
    return digests


def _head(scorer: str) -> bytes:
    return hashlib.blake2b(scorer.encode(), digest_size=16).digest()


def _retry(action: Callable[[], object]) -> None:
    """Changing the journal mode does not wait for another process that does the same: try until it is through."""
    for _ in range(100):
        with suppress(sqlite3.OperationalError):
            action()
            return
        time.sleep(0.05)
    action()
