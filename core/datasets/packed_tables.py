"""A zip that holds one table: the table, where a file of scores or embeddings is read."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from core.base.errors import InputError, printable
from core.base.table_formats import ZipMember, check_unfolded, open_zip, read_bytes

_ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".npz", ".npy")
_NAMED = 5  # tables that a sentence names
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError)


def _unpacked(path: Path, data: bytes | None = None) -> tuple[Path, bytes | None]:
    """The table in a zip, as `set.zip/scores.csv`, and its bytes; any other file as it is given.

    data : the file's bytes, where it is an upload. Raises InputError for a zip that is damaged, unfolds to too much, or
    does not hold exactly one table.
    """
    if path.suffix.lower() != ".zip":
        return path, data
    content = read_bytes(path, data)
    try:
        with open_zip(path, content) as archive:
            entry = _only(path, _tables(archive.infolist()))
            check_unfolded(path, content, entry.file_size)
            table = ZipMember(path, archive, entry).whole()
    except _DAMAGED as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} is damaged or not an archive ({error}); pack it again, or give the file itself."
        ) from None
    name = PurePosixPath(printable(entry.filename)).name
    if name.lower().endswith(".tsv"):  # the reader of CSV takes both
        name = f"{name[:-4]}.csv"
    return path / name, table


def _tables(entries: Sequence[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Those that are called like tables; what a Mac packs beside each file is none."""
    return [
        each
        for each in entries
        if PurePosixPath(each.filename).suffix.lower() in _ENDINGS
        and not each.is_dir()
        and not each.filename.startswith("__MACOSX/")
        and not PurePosixPath(each.filename).name.startswith(".")
    ]


def _is_of_tables_alone(content: bytes) -> bool:
    """Whether a zip holds tables and nothing beside them, as pictures would be."""
    try:
        with open_zip("the archive", content) as archive:
            entries = [each for each in archive.infolist() if not each.is_dir()]
    except _DAMAGED:
        return False
    return bool(entries) and len(_tables(entries)) == len(entries)


def _only(path: Path, tables: Sequence[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    if not tables:
        raise InputError(f"{path} holds no table ({', '.join(_ENDINGS)}); pack one, or give the file itself.")
    if len(tables) > 1:
        names = ", ".join(printable(each.filename) for each in tables[:_NAMED])
        more = f" and {len(tables) - _NAMED} more" if len(tables) > _NAMED else ""
        raise InputError(f"{path} holds several tables ({names}{more}); unpack it and give one of them.")
    return tables[0]
