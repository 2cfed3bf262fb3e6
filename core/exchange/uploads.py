"""Uploaded files of scores or embeddings, stored under their names so that every page and a reload find them again.

`uploads/OWNER/NAME/` in the home folder holds the file itself, what was uploaded beside it (tags, a language prior) and
`upload.json`. On a public server every visitor has a folder, and nothing in a name leads into another visitor's; files
that were not used for some hours are deleted, and so are the oldest beyond the limits of `core.base.public_mode`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from core.base import files, paths
from core.base.errors import InputError
from core.base.limits import check
from core.base.public_mode import (
    MAX_UPLOAD_BYTES,
    MAX_UPLOADS_PER_ADDRESS,
    MAX_UPLOADS_TOTAL,
    UPLOAD_HOURS,
    Held,
    beyond,
    is_public,
)

TAGS, PRIOR = "tags", "prior"  # what may be uploaded beside a file
_CONTENT, _FACTS = "content", "upload.json"
_NAME_BYTES = 240  # disks take 255, and what is being deleted has a longer one
_EVERYBODY = "local"  # the one owner outside public mode
_AT_ONCE = 100  # folders that one visit deletes: more wait for the next, or for `tidy`
_BROKEN = 600.0  # seconds after which a folder that names no file is nobody's upload in progress
_PAUSE = 10.0  # seconds after which a list of files has everybody's counted again; a new file has at once
_counting = Lock()  # whoever makes a folder, or counts what is in all of them
_last_count: dict[Path, float] = {}  # by the folder of all, when (monotonic)
_counted: dict[Path, Held] = {}  # by its folder: a file that was read once, until something is written to it


class Upload(NamedTuple):
    """An uploaded file. name : what it is selected by. facts : as `upload.json` has them."""

    name: str
    folder: Path
    facts: Mapping[str, Any]

    @property
    def shape(self) -> str:
        """Of the groups of an embeddings file, `2x2`, where somebody chose it; "" elsewhere."""
        return self.facts["shape"]

    @property
    def version(self) -> str:
        """Changes with the content of the file and of what is beside it."""
        return "-".join([self.facts["sha256"], *(f["sha256"] for f in self.facts["beside"].values())])

    @staticmethod
    def digest(content: bytes) -> str:
        """What names a content in `facts`."""
        return hashlib.sha256(content).hexdigest()

    def content(self) -> bytes:
        return (self.folder / _CONTENT).read_bytes()

    def beside(self, what: str) -> tuple[str, bytes] | None:
        """Name and content of what was uploaded beside the file (TAGS, PRIOR); None where nothing was."""
        found = self.facts["beside"].get(what)
        return None if found is None else (found["name"], (self.folder / what).read_bytes())


class UploadStore:
    """The files of one owner; None: everybody's, outside public mode."""

    def __init__(self, owner: str | None = None, address: str | None = None) -> None:
        self._root = paths.home() / "uploads"
        self._folder, self._address = self._root / (owner or _EVERYBODY), address

    def add(self, name: str, content: bytes, shape: str = "") -> Upload:
        """Store a file; the same content under the same name is the same upload.

        Another content of that name gets a number: `scores-2.csv`. Raises InputError for a file that is too large.
        """
        check(name, file=len(content))
        digest, plain = Upload.digest(content), _plain_name(name)
        for number in count(1):
            ending = f"-{number}{Path(plain).suffix}"
            stored = plain if number == 1 else _last(Path(plain).stem, len(ending.encode())) + ending
            there = _read(self._folder / stored)
            if there is not None and there.facts["sha256"] == digest:
                return self.get(stored)
            if there is None:
                break
        folder = self._folder / stored
        facts = {"created": time.time(), "address": self._address, "sha256": digest, "shape": shape}
        with files.storage_errors(folder):
            with _counting:  # an owner's empty folder goes
                for each in (self._root, self._folder, folder):
                    files.private_folder(each, ours=each == folder)
            files.write_bytes(folder / _CONTENT, content)
        upload = _write(folder, {**facts, "beside": {}})
        self._delete_surplus()
        if not folder.is_dir():  # it alone is more than its owner may store
            raise InputError(f"There is no room for {name} on this server; remove another file, or wait.")
        return upload

    def put_beside(self, upload: Upload, what: str, name: str, content: bytes) -> Upload:
        """Store tags or a prior with a file, in place of those from before."""
        check(name, file=len(content))
        with files.storage_errors(upload.folder):
            files.write_bytes(upload.folder / what, content)
        entry = {"name": Path(name).name, "sha256": Upload.digest(content)}
        stored = _write(upload.folder, {**upload.facts, "beside": {**upload.facts["beside"], what: entry}})
        self._delete_surplus()
        return stored

    def remove_beside(self, upload: Upload, what: str) -> Upload:
        """Delete the tags or the prior of a file; the same where there are none."""
        beside = {kind: entry for kind, entry in upload.facts["beside"].items() if kind != what}
        stored = _write(upload.folder, {**upload.facts, "beside": beside})
        with files.storage_errors(upload.folder):
            (upload.folder / what).unlink(missing_ok=True)
        return stored

    def list(self) -> list[Upload]:
        """The owner's files, the newest first."""
        due = time.monotonic() - _last_count.get(self._root, float("-inf")) > _PAUSE
        if due and not _counting.locked():  # somebody is at it
            self._delete_surplus()
        found = [each for each in _uploads(self._folder) if not (is_public() and _is_old(each.folder))]
        return sorted(found, key=lambda upload: -upload.facts["created"])

    def get(self, name: str) -> Upload:
        """One of the owner's files. Raises InputError for any other name, whoever may have uploaded it."""
        found = _read(self._folder / name) if name == _plain_name(name) else None
        if found is None:
            raise self.missing(name)
        with suppress(OSError):
            os.utime(found.folder / _FACTS)  # used just now
        return found

    @staticmethod
    def missing(name: str) -> InputError:
        """The same sentence whether there is no such file or another visitor has it."""
        return InputError(
            f"The file {name!r} is not stored here: it was removed, or uploaded in another browser. Upload it again."
        )

    def remove(self, name: str) -> None:
        files.remove(self.get(name).folder)

    def _delete_surplus(self) -> bool:
        """On a public server: what nobody used for hours, and the oldest beyond an address's share and the total; so
        many at once. Whether more are left."""
        if not is_public() or not self._root.is_dir():
            return False
        with _counting:
            _last_count[self._root] = time.monotonic()
            held, broken = _all_held(self._root)
            gone = {*broken, *(folder for folder in held if _is_old(folder))}
            ones = [each._replace(size=1) for folder, each in held.items() if folder not in gone]
            gone |= set(beyond(ones, MAX_UPLOADS_PER_ADDRESS, MAX_UPLOADS_TOTAL))
            left = [each for folder, each in held.items() if folder not in gone]
            gone |= set(beyond(left, MAX_UPLOAD_BYTES.address, MAX_UPLOAD_BYTES.together))
            for folder in sorted(gone, key=_used)[:_AT_ONCE]:
                files.remove(folder)
            for owner in self._root.iterdir():
                with suppress(OSError):  # it holds something
                    owner.rmdir()
            return len(gone) > _AT_ONCE

    def tidy(self) -> None:
        """At the start of a public server: delete all that is too old or too much, while visitors come already."""
        while self._delete_surplus():
            time.sleep(0.01)  # whoever uploads has the lock meanwhile


def _all_held(root: Path) -> tuple[dict[Path, Held], list[Path]]:
    """Everybody's files, the one used longest ago first, and folders that are none: one look at each, and one into
    those that are new."""
    now: dict[Path, Held] = {}
    broken = []
    for owner in filter(Path.is_dir, root.iterdir()):
        for folder in owner.iterdir():
            upload = None if folder in _counted else _read(folder)
            if upload is not None:
                who = upload.facts["address"] or owner.name
                _counted[folder] = Held(folder, who, files.folder_size(folder))
            if folder in _counted:
                now[folder] = _counted[folder]
            elif _changed(folder) < time.time() - _BROKEN:
                broken.append(folder)
    for folder in _counted.keys() - now.keys():
        del _counted[folder]
    return {folder: now[folder] for folder in sorted(now, key=_used)}, broken


def _plain_name(name: str) -> str:
    """The last part of a name, of letters, digits, dots and dashes alone."""
    last = re.split(r"[\\/]", name)[-1]
    return _last(re.sub(r"[^\w.-]+", "-", last)) or "upload"


def _last(name: str, more: int = 0) -> str:
    """The end of a name that is a name on any disk, with so many bytes behind it."""
    kept = name.encode("utf-8", "ignore")[-_NAME_BYTES + more :].decode("utf-8", "ignore")
    return kept[-80 + more :].strip(".-")


def _uploads(folder: Path) -> Iterator[Upload]:
    try:
        return filter(None, map(_read, list(folder.iterdir())))
    except (FileNotFoundError, NotADirectoryError):  # nothing yet, not any more, or no disk to write to
        return iter(())


def _read(folder: Path) -> Upload | None:
    if folder.name.startswith("."):  # it is being deleted
        return None
    try:
        return Upload(folder.name, folder, json.loads((folder / _FACTS).read_text("utf-8")))
    except (OSError, ValueError):
        return None


def _write(folder: Path, facts: Mapping[str, Any]) -> Upload:
    with files.storage_errors(folder):
        files.write_json(folder / _FACTS, dict(facts))
    with _counting:
        _counted.pop(folder, None)
    return Upload(folder.name, folder, facts)


def _used(folder: Path) -> float:
    return _changed(folder / _FACTS)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _is_old(folder: Path) -> bool:
    return _used(folder) < time.time() - 3600 * UPLOAD_HOURS
