"""A SQLite file that any number of processes share: one connection per transaction, numbered schema versions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path

from core.base.errors import InputError
from core.base.files import private_file, private_folder, storage_errors

_VERSION = "PRAGMA user_version"
# Seconds to wait for another writer, who needs milliseconds: unless the machine lets it stand, half-way, for longer.
_LOCK_TIMEOUT = 60.0

# One list of statements per schema version; `PRAGMA user_version` says how many of them a file has seen.
_Migrations = Sequence[Sequence[str]]


class _Database:
    """Opens the file anew for every transaction: safe in any thread, in any process and after a fork."""

    def __init__(self, path: Path, migrations: _Migrations) -> None:
        """Create the tables, or bring those of an older version up to date, unless they can only be read.

        Raises InputError for those of a newer version.
        """
        self.path = path
        with self.transaction() as connection:
            version = connection.execute(_VERSION).fetchone()[0]
        if version > len(migrations):
            raise InputError(
                f"The run store {path} was written by a newer Crossmatch (schema {version}, this one knows "
                f"{len(migrations)}); update Crossmatch, or set CROSSMATCH_HOME to another folder."
            )
        if version < len(migrations) and (not version or os.access(path.parent, os.W_OK)):
            self._migrate(migrations)

    def _connect(self, patience: float) -> sqlite3.Connection:
        """SQLite wants two files beside its own even to read. Where the folder takes none, as on a disk that is mounted
        read-only, the file is read as it lies; unless they are there, because somebody who may write is at work.
        """
        folder, log = self.path.parent, self.path.with_name(f"{self.path.name}-wal")
        if not self.path.is_file() or os.access(folder, os.W_OK) or log.exists():
            return sqlite3.connect(self.path, timeout=patience, isolation_level=None)
        address = f"{self.path.absolute().as_uri()}?immutable=1"
        return sqlite3.connect(address, timeout=patience, isolation_level=None, uri=True)

    def _migrate(self, migrations: _Migrations) -> None:
        with self.transaction() as connection:
            connection.execute("PRAGMA journal_mode = WAL")  # readers never wait for a writer
        with self.transaction(write=True) as connection:
            # Of now: another process may have been quicker.
            version = connection.execute(_VERSION).fetchone()[0]
            for statement in chain.from_iterable(migrations[version:]):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(migrations)}")

    @contextmanager
    def transaction(
        self, write: bool = False, patience: float = _LOCK_TIMEOUT
    ) -> Iterator[sqlite3.Connection]:
        """A connection. With `write`, everything done on it happens at once or not at all, and nobody else writes
        meanwhile: the lock is taken before the first read, so what was read stays true.

        patience : seconds to wait for another writer before giving up with an InputError.
        """
        try:
            with closing(self._connect(patience)) as connection:
                connection.row_factory = sqlite3.Row
                connection.execute("PRAGMA foreign_keys = ON")
                if write:
                    connection.execute("BEGIN IMMEDIATE")
                yield connection
                if write:
                    connection.execute("COMMIT")
        except sqlite3.IntegrityError:  # ours to avoid, not the disk's fault
            raise
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise InputError(
                    f"Another process has been writing to the run store {self.path} for {patience:g} s; try again when "
                    "it has ended."
                ) from error
            raise InputError(
                f"The run store {self.path} cannot be used ({error}); free some space, make its folder writable, "
                "or set CROSSMATCH_HOME to another folder."
            ) from error


class _UnavailableDatabase(_Database):
    """In place of a file that cannot be made: reading finds nothing, and writing says why."""

    def __init__(self, path: Path, migrations: _Migrations, reason: InputError) -> None:
        self.path, self._migrations, self._reason = path, migrations, reason

    @contextmanager
    def transaction(
        self, write: bool = False, patience: float = _LOCK_TIMEOUT
    ) -> Iterator[sqlite3.Connection]:
        if write:
            raise self._reason
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.row_factory = sqlite3.Row
            for statement in chain.from_iterable(self._migrations):
                connection.execute(statement)
            yield connection


def open_database(path: Path, migrations: _Migrations) -> _Database:
    """The database in a file, which is made, with its folder, where it is not there yet; both for their owner alone.

    Where that cannot be, pages that only look for runs find none. Raises InputError for a file that is there and cannot
    be used.
    """
    try:
        with storage_errors(path.parent):
            private_folder(path.parent, ours=path.is_file())
            private_file(path)
        return _Database(path, migrations)
    except InputError as error:
        if path.is_file() and path.stat().st_size:
            raise
        return _UnavailableDatabase(path, migrations, error)
