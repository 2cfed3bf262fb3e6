"""Staging a user's set: everything read, checked and copied aside; then previewed, registered, or thrown away."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from core.base import files
from core.base.errors import InputError
from core.base.paths import is_file
from core.datasets import user_sets
from core.datasets.downloads import unpack
from core.exchange.import_columns import ColumnMapping, guess_columns
from core.exchange.import_images import ImageStore
from core.exchange.import_problems import Problem
from core.exchange.import_rows import DraftGroup, RowReader
from core.exchange.import_tables import ImportTable, open_table
from core.groups import Group, GroupSet, image_name

MAX_UPLOAD = 2 << 30  # bytes of an archive, and of what it unpacks to
MAX_FILES = 100_000
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
_OLD = 24 * 3600.0  # seconds after which a staged set that nobody registered is thrown away


@dataclass(frozen=True)
class Staged:
    """A set that was read and checked, in a folder aside."""

    folder: Path
    source: str  # the table's name
    columns: ColumnMapping
    groups: int
    shapes: dict[str, int]
    problems: list[Problem] = field(repr=False)  # at most MOST_KEPT of them
    fatal: int  # how many cells, rows and groups cannot be used
    total: int  # with the remarks
    bytes: int


def stage_import(
    source: Path | ImportTable,
    columns: ColumnMapping | None = None,
    manifest: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Staged:
    """Read a folder, file or archive (zip, tar), or a table that is open, and check every row and image.

    columns : what the columns mean; guessed from their names unless given. manifest : which table, where a folder has
    several. progress : called with the number of groups so far; raising from it ends the work.
    Raises InputError for what cannot be read at all; what is wrong with a row is in `problems`, and its group is left
    out. Groups with remarks alone are kept.
    """
    with _StagingFolder() as folder:
        if isinstance(source, ImportTable):
            table = source
        else:
            table = open_table(unpack_source(source, folder / "unpacked"), manifest)
        meant = (columns or guess_columns(table.columns)).checked(table.columns)
        reader = RowReader(table, meant, ImageStore(folder / user_sets.IMAGES))
        shapes = _write(reader.groups(), folder / user_sets.GROUPS_FILE, progress)
        shutil.rmtree(folder / "unpacked", ignore_errors=True)
        found = reader.problems
        return Staged(
            folder,
            table.name,
            meant,
            sum(shapes.values()),
            dict(shapes),
            found.kept,
            found.fatal,
            found.total,
            reader.keeper.bytes,
        )


def unpack_source(source: Path, unpacked: Path) -> Path:
    """A folder or file as it is; an archive, within limits, as the folder it is unpacked into."""
    if not is_file(source) or source.suffix.lower() not in ARCHIVES:
        return source
    if source.stat().st_size > MAX_UPLOAD:
        raise InputError(f"{source.name} is larger than {MAX_UPLOAD >> 30} GiB; name a folder instead.")
    unpack(source, unpacked, MAX_UPLOAD, MAX_FILES)
    nested = next((p for p in unpacked.rglob("*") if p.suffix.lower() in ARCHIVES), None)
    if nested is not None:
        raise InputError(
            f"{source.name} holds another archive ({nested.name}); unpack it and pack its content instead."
        )
    return unpacked


def preview(staged: Staged, count: int = 10) -> GroupSet:
    """The first groups of a staged set."""
    return user_sets.read_folder(staged.folder, "preview", most=count)


def check_addable(staged: Staged, name: str, skip_bad: bool = False) -> bool:
    """Whether `add_benchmark` would take it; InputError for a name that is taken or is none."""
    user_sets.checked_name(name)
    return staged.groups > 0 and (skip_bad or not staged.fatal)


def add_benchmark(staged: Staged, name: str, skip_bad: bool = False, **facts: str) -> list[str]:
    """Give a staged set its name; returns the names of its benchmarks: `mine/NAME`, or one for each shape.

    skip_bad : register although groups were left out. facts : title, licence, citation, source, description.
    Raises InputError for a name that is taken or is none, for a set without groups, and for problems that nobody has
    agreed to leave out.
    """
    name = user_sets.checked_name(name)
    if not staged.groups:
        raise InputError(f"{staged.source} holds no usable group; fix the listed problems.")
    if staged.fatal and not skip_bad:
        raise InputError(
            f"{staged.source} has {staged.fatal} problem{'s' * (staged.fatal != 1)}; fix them, or agree to leave "
            "their groups out."
        )
    if not staged.folder.is_dir():
        raise InputError(f"The staged set of {staged.source} is no longer there; read it again.")
    return user_sets.install_set(staged.folder, name, staged.shapes, facts)


def discard_staged(staged: Staged) -> None:
    """Throw a staged set away."""
    shutil.rmtree(staged.folder, ignore_errors=True)


def save_upload(name: str, content: IO[bytes]) -> Path:
    """An uploaded file on disk, in a folder of its own; `stage_import` it, then remove that folder."""
    aside = _temporary_folder()
    safe = (
        "".join(c if c.isalnum() or c in "._-" else "_" for c in Path(name).name)[-100:].lstrip(".")
        or "upload"
    )
    path, size = aside / safe, 0
    try:
        with files.storage_errors(path), open(path, "wb") as file:
            while chunk := content.read(1 << 20):
                size += len(chunk)
                if size > MAX_UPLOAD:
                    raise InputError(f"{name} is larger than {MAX_UPLOAD >> 30} GiB; name a folder instead.")
                file.write(chunk)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return path


def _write(drafts: Iterable[DraftGroup], path: Path, progress: Callable[[int], None] | None) -> Counter[str]:
    shapes: Counter[str] = Counter()
    with files.storage_errors(path), open(path, "w", encoding="utf-8", newline="\n") as file:
        for count, draft in enumerate(drafts, 1):
            record: dict[str, Any] = draft.record()
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
            shapes[f"{len(draft.images)}x{len(draft.captions)}"] += 1
            if progress is not None:
                progress(count)
    return shapes


def _temporary_folder() -> Path:
    """A new folder for work; those of yesterday are thrown away."""
    root = user_sets.root()
    folder = root / f".staging-{secrets.token_hex(6)}"
    with files.storage_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        for old in root.glob(".staging-*"):
            with suppress(OSError):
                if time.time() - old.stat().st_mtime > _OLD:
                    shutil.rmtree(old, ignore_errors=True)
        folder.mkdir()
    return folder


class _StagingFolder:
    """A new folder that outlives its block unless the block fails."""

    def __enter__(self) -> Path:
        self.folder = _temporary_folder()
        return self.folder

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def answer_text(group: Group) -> str:
    """Which caption the user says belongs to which image: `A–2, B–1`."""
    return ", ".join(f"{image_name(i)}–{j + 1}" for i, j in enumerate(group.truth or ()))
