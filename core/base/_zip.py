"""Zips of strangers: a member gives no more bytes than the directory says it has, and never all of them in one go.

Python's zipfile unpacks whatever is there and cuts it to the stated size afterwards: a few kilobytes that claim to hold
a hundred bytes may fill the memory.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from core.base._parquet import too_large
from core.base.errors import InputError
from core.base.limits import check, check_memory, limits

SLACK, _MOST_RATIO = 64 << 20, 100  # a file may unfold to this much and a hundred times its size
_PIECE = 1 << 20  # bytes
_ENTRY = b"PK\x01\x02"  # how a member begins in the directory


class ZipMember:
    """The content of a member, as a file to be read from its beginning. InputError where it is packed in a way that
    cannot be unpacked piece by piece."""

    def __init__(self, name: Path | str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(
                f"{name}: {entry.filename!r} is packed in an unusual way; pack it again with deflate, as zip and "
                "numpy.savez do."
            )
        self._file = archive.open(entry)

    def read(self, size: int = _PIECE, /) -> bytes:
        """At most so many bytes, and at most a piece; b"" at the end."""
        return self._file.read(min(size, _PIECE))

    def whole(self) -> bytes:
        """All that is left."""
        return b"".join(iter(self.read, b""))


def open_zip(name: Path | str, content: bytes) -> zipfile.ZipFile:
    """A zip with as many members as a table may have columns.

    Raises InputError for more of them, before their names are read, and whatever zipfile raises for what is no zip.
    """
    check(name, columns=content.count(_ENTRY))
    return zipfile.ZipFile(io.BytesIO(content))


def most_bytes(content: bytes) -> int:
    """Bytes that a file may hold once it is decompressed: a small file that claims far more is a trap."""
    return min(limits().unfolded, SLACK + _MOST_RATIO * len(content))


def check_unfolded(name: Path | str, content: bytes, size: int) -> None:
    """Raise InputError where a packed file would unfold to more bytes than it may, or than fit into memory."""
    if size > most_bytes(content):
        raise too_large(name)
    check_memory(name, 2 * size)
