"""Files that are whole or absent: written aside, synced, renamed; folders with a manifest of checksums."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.base.errors import InputError
from core.base.paths import home
from core.base.processes import ProcessIdentity
from core.base.public_mode import is_public

if TYPE_CHECKING:  # a queued worker waits without numpy
    import numpy as np

MANIFEST = "manifest.json"
_SETTLED = 2e9  # nanoseconds after its last change from which on a file is known by its time
_UNSEEN = 86_400.0  # seconds without a change after which a file of a process elsewhere counts as left behind
_SYNC_ALL_FROM = 500  # files beyond which one sync of the whole disk is quicker than one of each


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn what the disk refuses (full, read-only, not permitted) into one sentence about `path`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if is_public():
            raise InputError(
                f"The server cannot store this now ({reason}); try again later, or run Crossmatch yourself."
            ) from error
        ours = path.absolute().is_relative_to(home().absolute())
        other = "set CROSSMATCH_HOME to another folder" if ours else "choose another path"
        remedy = "free some space, make the folder writable"
        if isinstance(error, FileNotFoundError) and not ours:
            remedy = "make the folder first"
        raise InputError(f"{path} cannot be written ({reason}); {remedy}, or {other}.") from error


def private_folder(folder: Path, ours: bool = True) -> None:
    """Make a folder that its owner alone may enter. One that is there already and open to others is closed to them,
    with all that is in it, if it is `ours`.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if ours and not _private_mode(folder):
        for path in (folder, *folder.rglob("*")):
            _close(path)


def private_file(path: Path) -> None:
    """Make an empty file that its owner alone may read, or close one that is there to everybody else."""
    if not path.exists():
        os.close(os.open(path, os.O_CREAT, 0o600))
    _close(path)


def _close(path: Path) -> None:
    with suppress(OSError):  # another owner's, or a disk that takes no writing: it stays as it is
        if not path.is_symlink() and not _private_mode(path):
            path.chmod(0o700 if path.is_dir() else 0o600)


def _private_mode(path: Path) -> bool:
    return not path.stat().st_mode & 0o077


def _opener(path: str, flags: int) -> int:
    """A new file in a folder that is closed to others is closed to them too, wherever it is moved later."""
    return os.open(path, flags, 0o600 if _private_mode(Path(path).parent) else 0o666)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a crash at any instant, finds the old content or all of the new."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(aside, "wb", opener=_opener) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all; NaN and infinities are refused, as other readers refuse them."""
    write_bytes(path, (json.dumps(value, indent=1, allow_nan=False) + "\n").encode())


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write a compressed NPZ, whole or not at all."""
    import numpy as np

    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_bytes(path, buffer.getvalue())


def sync_folder(folder: Path) -> None:
    """Make renames inside a folder last through a power cut, where the platform can open folders."""
    with suppress(PermissionError, IsADirectoryError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_manifest(folder: Path, **facts: Any) -> None:
    """Sync every file of a folder, then write its manifest: a folder with a manifest is complete.

    The manifest holds `facts` and, under `files`, the sha256 of every file by its path inside the folder.
    """
    inside = sorted(p for p in folder.rglob("*") if p.is_file() and p != folder / MANIFEST)
    sums = {path.relative_to(folder).as_posix(): checksum(path) for path in inside}
    sync_tree(folder)
    write_json(folder / MANIFEST, {**facts, "files": sums})


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder; of what vanishes meanwhile, none."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size += path.stat().st_size if path.is_file() else 0
    return size


def sync_tree(folder: Path) -> None:
    """Put everything in a folder on the disk, before something says that it is there."""
    inside = list(folder.rglob("*"))
    if len(inside) > _SYNC_ALL_FROM and hasattr(os, "sync"):
        os.sync()  # everybody's, but in one go
        return
    for path in inside:
        if path.is_file():
            _sync_file(path)
    for path in (folder, *filter(Path.is_dir, inside)):
        sync_folder(path)


def _sync_file(path: Path) -> None:
    """Put what a file holds on the disk."""
    with open(path, "r+b") as file:
        os.fsync(file.fileno())


def rename(aside: Path, final: Path) -> None:
    """Give a file that was written aside its name, in place of whatever had it, once it is on the disk."""
    _sync_file(aside)
    os.replace(aside, final)
    sync_folder(final.parent)


def checksum(path: Path) -> str:
    """sha256 of a file, hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checksum_while_unchanged(path: Path) -> str:
    """`checksum`, which is known again as long as the file's size and times are the same."""
    state = path.stat()
    # A file written just now may be written once more within the same tick of the clock.
    if time.time_ns() - state.st_mtime_ns <= _SETTLED:
        return checksum(path)
    return _known_checksum(path.absolute(), (state.st_size, state.st_mtime_ns, state.st_ino))


@lru_cache(maxsize=512)  # a page asks for its models' keys at every click
def _known_checksum(path: Path, _state: tuple[int, ...]) -> str:
    return checksum(path)


def verify_manifest(folder: Path) -> dict[str, Any]:
    """A folder's manifest, once every file is there with its checksum; otherwise a sentence that names the file."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        files = dict(manifest["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{folder} has no readable {MANIFEST}; it is incomplete, start again.") from None
    for name, expected in files.items():
        path = folder / name
        if not path.is_file() or checksum(path) != expected:
            raise InputError(f"{path} is damaged or missing (its checksum differs); start again.")
    return manifest


@contextmanager
def aside(final: Path) -> Iterator[Path]:
    """A path beside `final`, of a file or folder, that gets that name once it has been written.

    What is left of an attempt that fails is deleted, and what killed ones have left beside it.
    """
    process = ProcessIdentity.of(os.getpid())
    part = final.with_name(f"{final.name}.{process.pid}-{process.created:.0f}-{_host(process)}.part")
    clear_cache(final.parent, only_parts=True)
    try:
        yield part
        (publish if part.is_dir() else rename)(part, final)
    finally:
        _delete(part)


def clear_cache(folder: Path, only_parts: bool = False) -> int:
    """Delete what is in a folder of `aside`'s but what a living process writes; returns the bytes given back.

    only_parts : what is whole stays.
    """
    before = folder_size(folder)
    for path in folder.glob("*"):
        part = re.search(r"\.(?:(\d+)-(\d+)-(\w+)\.part|\d+\.part.*)$", path.name)
        if part is None and only_parts:
            continue
        if part is None or not _is_written(path, *part.groups()):
            _delete(path)
    return before - folder_size(folder)


def _is_written(part: Path, pid: str | None, created: str | None, host: str | None) -> bool:
    """Whether somebody may still write it: who cannot be seen from here, in another container, for a day."""
    mine = ProcessIdentity.of(os.getpid())
    if host == _host(mine):
        return mine._replace(pid=int(pid or 0), created=float(created or 0)).is_alive() is not False
    with suppress(OSError):
        return time.time() - part.stat().st_mtime < _UNSEEN
    return False


def _host(process: ProcessIdentity) -> str:
    return hashlib.sha256(process.host.encode()).hexdigest()[:8]


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def publish(aside: Path, final: Path) -> None:
    """Give a sealed folder its name, in place of whatever had it."""
    remove(final)
    os.replace(aside, final)
    sync_folder(final.parent)


def remove(folder: Path) -> None:
    """Delete a folder, if it is there, under another name first, so that nobody sees half of it."""
    doomed = folder.with_name(f".{folder.name}.gone")
    shutil.rmtree(doomed, ignore_errors=True)  # left by a delete that was cut short
    with suppress(FileNotFoundError):
        os.replace(folder, doomed)
    shutil.rmtree(doomed, ignore_errors=True)
