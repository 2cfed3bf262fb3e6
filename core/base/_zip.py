"""Zips of strangers: a member gives no more bytes than the directory says it has, and never all of them in one go.

Python's zipfile unpacks whatever is there and cuts it to the stated size afterwards: a few kilobytes that claim to hold
a hundred bytes may fill the memory.
"""

from __future__ import annotations

import io
import zipfile

from core.base.errors import InputError
from core.base.limits import check

PIECE = 1 << 20  # bytes
_ENTRY = b"PK\x01\x02"  # how a member begins in the directory


class Member:
    """The content of a member, as a file to be read from its beginning. InputError where it is packed in a way that
    cannot be unpacked piece by piece."""

    def __init__(self, name: object, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError(
                f"{name}: {entry.filename!r} is packed in an unusual way; pack it again with deflate, as zip and "
                "numpy.savez do."
            )
        self._file = archive.open(entry)

    def read(self, size: int) -> bytes:
        """At most so many bytes, and at most a piece; b"" at the end."""
        return self._file.read(min(size, PIECE))

    def whole(self) -> bytes:
        """All that is left."""
        return b"".join(iter(lambda: self.read(PIECE), b""))


def open_zip(name: object, content: bytes) -> zipfile.ZipFile:
    """A zip with as many members as a table may have columns.

    Raises InputError for more of them, before their names are read, and whatever zipfile raises for what is no zip.
    """
    check(name, columns=content.count(_ENTRY))
    return zipfile.ZipFile(io.BytesIO(content))
