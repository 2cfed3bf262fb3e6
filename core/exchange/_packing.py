"""What is exported as a folder or a zip: whole or not at all, and never over something that is there."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.base import files
from core.base.errors import InputError

_EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip's files carry no time of writing: the same content, the same bytes


@contextmanager
def packed(out: Path) -> Iterator[Path]:
    """A new folder to fill, which becomes `out`: that folder, or a zip of it where the name ends in .zip.

    Raises InputError where something is at `out` already.
    """
    if out.exists():
        raise InputError(f"{out} exists already; choose another path, nothing is overwritten.")
    aside = out.with_name(f".{out.name}.{os.getpid()}")
    packing = aside.with_name(f"{aside.name}.zip")
    with files.storage_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            aside.mkdir()
            yield aside
            if out.suffix.lower() == ".zip":
                _zip(aside, packing, out.stem)
                files.rename(packing, out)
            else:
                files.sync_tree(aside)
                files.publish(aside, out)
        finally:
            packing.unlink(missing_ok=True)
            shutil.rmtree(aside, ignore_errors=True)


def _zip(folder: Path, target: Path, top: str) -> None:
    """Uncompressed: images and weights are as small as they get, and the rest is little."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(f"{top}/{path.relative_to(folder).as_posix()}", _EPOCH)
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
