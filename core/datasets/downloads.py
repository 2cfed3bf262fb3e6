"""Fetching public data sets: resumable, verified, unpacked safely; nothing that is fetched is ever run.

`assets/datasets/manifest.json` lists, by data set, the files with their addresses (mirrors in order), checksums where
they are known, and what only a person can do (accept a licence, fill in a form). Readers never come here: they read
folders.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import stat
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from core.base.errors import InputError, unknown_name
from core.base.files import checksum, rename, storage_errors, sync_tree
from core.base.paths import assets

_CHUNK = 1 << 20
_TIMEOUT = 30.0  # seconds without a byte before a server counts as gone
_MAX_FILES = 2_000_000  # of an archive
# Unpacked size over packed size, beyond the first SLACK bytes: text packs 30 to 1 at the very most.
_MAX_COMPRESSION_RATIO = 100
UNPACK_SLACK_BYTES = 100 << 20
# What is being fetched, share done in [0, 1] (0 while the size is unknown).
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class _DownloadItem:
    """One file to fetch."""

    file: str  # its name inside the data set's folder
    urls: tuple[str, ...]  # mirrors, best first
    sha256: str | None = None  # None: nobody here has seen the file, so it is not checked
    bytes: int | None = None
    unpack: str | None = None  # folder inside the data set's folder to unpack an archive into
    makes: str | None = (
        None  # what the unpacked archive leaves there (`a | b`: one of them); the archive is deleted
    )

    def made(self, folder: Path) -> Path | None:
        """The file, or what it leaves once unpacked, where that is there."""
        names = (part.strip() for part in (self.makes or self.file).split("|"))
        return next((folder / name for name in names if (folder / name).exists()), None)

    def done(self, folder: Path) -> bool:
        """Whether the file, or what it leaves once unpacked, is there."""
        return self.made(folder) is not None


@dataclass(frozen=True)
class _RemoteListing:
    """Files whose addresses stand in a JSON file that was fetched before: every text in it that begins so."""

    listed_in: str
    prefix: str
    into: str

    def items(self, folder: Path) -> list[_DownloadItem]:
        """One item per distinct address; its name is what follows the prefix."""
        urls: dict[str, None] = {}
        pending: list[Any] = [json.loads((folder / self.listed_in).read_bytes())]
        while pending:
            value = pending.pop()
            if isinstance(value, dict | list):
                pending += value.values() if isinstance(value, dict) else value
            elif isinstance(value, str) and value.startswith(self.prefix):
                urls[value] = None
        names = {url: url.removeprefix(self.prefix) for url in sorted(urls)}
        return [_DownloadItem(f"{self.into}/{name}", (url,)) for url, name in names.items() if _plain(name)]


@dataclass(frozen=True)
class Hub:
    """A data set of the Hugging Face hub (`core.exchange.fetch`)."""

    repo: str
    revision: str = "main"
    into: str = ""  # folder inside the data set's folder
    files: tuple[str, ...] = ()  # patterns of what the reader reads; none: the repository holds little else


@dataclass(frozen=True)
class _Source:
    """Where a data set comes from."""

    revision: str
    items: tuple[_DownloadItem, ...]
    listing: _RemoteListing | None = None
    step: str = ""  # what only a person can do
    after: str = ""  # what to know besides
    hub: Hub | None = None


def _manifest() -> Path:
    return assets() / "datasets" / "manifest.json"


@cache
def sources() -> dict[str, _Source]:
    """The manifest: data sets, or parts of them, by key."""
    entries = json.loads(_manifest().read_text("utf-8"))["sources"]
    return {key: _source(value) for key, value in entries.items()}


def _source(value: dict[str, Any]) -> _Source:
    items = [_DownloadItem(**{**i, "urls": tuple(i["urls"])}) for i in value["items"] if "file" in i]
    listings = [_RemoteListing(**i) for i in value["items"] if "listed_in" in i]
    assert len(listings) <= 1
    listing = listings[0] if listings else None
    hub = Hub(**{**value["hub"], "files": tuple(value["hub"].get("files", ()))}) if "hub" in value else None
    return _Source(
        value["revision"], tuple(items), listing, value.get("step", ""), value.get("after", ""), hub
    )


def next_step(key: str, folder: Path) -> str:
    """What to do to have a data set in `folder`, in words, without what is there already. Touches no network."""
    source = sources()[key]
    parts = [source.step] if source.step else []
    pending = [item for item in source.items if not item.done(folder)]
    if pending:
        more = f" and {len(pending) - 2} more files ({key!r} in {_manifest()})" if len(pending) > 2 else ""
        unpacked = ", archives unpacked" if any(item.unpack is not None for item in pending) else ""
        parts.append(
            f"download {', '.join(item.urls[0] for item in pending[:2])}{more} into {{folder}}{unpacked}"
        )
    parts += [source.after] if source.after else []
    return "; ".join(parts).replace("{folder}", str(folder))


def fetch(key: str, folder: Path, progress: Progress | None = None) -> list[Path]:
    """Fetch and unpack what is missing in `folder`; returns what is there now.

    Raises InputError, in one sentence, for a data set that only a person can get (with the exact step), for addresses
    that do not answer, and for files that are not what the manifest promises.
    """
    if key not in sources():
        raise unknown_name("data set", key, sources())
    source = sources()[key]
    if not source.items:
        raise InputError(f"{key} cannot be downloaded automatically: {next_step(key, folder)}.")
    for item in source.items:
        _fetch_item(item, folder, progress)
    items = [*source.items, *(source.listing.items(folder) if source.listing else [])]
    for item in items[len(source.items) :]:
        _fetch_item(item, folder, progress)
    return [found for item in items if (found := item.made(folder))]


def _fetch_item(item: _DownloadItem, folder: Path, progress: Progress | None) -> None:
    if item.done(folder):
        return
    path = folder / item.file
    if not path.is_file():
        _download(item.urls, path, item.sha256, item.bytes, progress)
    if item.unpack is not None:
        unpack(path, folder / item.unpack, keep=True)
        if not item.done(folder):
            raise InputError(
                f"{path} does not hold {item.makes}; unpack it manually, or download it again later."
            )
        path.unlink()


def _download(
    urls: Sequence[str],
    path: Path,
    sha256: str | None = None,
    size: int | None = None,
    progress: Progress | None = None,
) -> Path:
    """One file from the first address that delivers it whole.

    What arrives is kept in `<name>.part` and continued after a break, with the next mirror if need be; it gets its name
    once its length and, where known, its checksum are right. `size` in bytes is also the most that is accepted.
    """
    part = path.with_name(f"{path.name}.part")
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    for url in urls:
        try:
            _continue(url, part, sha256, size, progress)
            _verify(part, sha256, size)
        except _DownloadFailed as failure:
            failures.append(f"{urllib.parse.urlsplit(url).netloc}: {failure}")
            continue
        with storage_errors(path):
            rename(part, path)
            _validator(part).unlink(missing_ok=True)
        return path
    raise InputError(
        f"{path.name} could not be fetched ({'; '.join(failures)}); try again later, or save {urls[0]} as {path}."
    )


class _DownloadFailed(Exception):
    """This address does not deliver; the next may."""


def _validator(part: Path) -> Path:
    """Beside a part lies its ETag: only the same version of a file may be continued."""
    return part.with_name(f"{part.name}.etag")


def _continue(url: str, part: Path, sha256: str | None, size: int | None, progress: Progress | None) -> None:
    """Fetch what `part` lacks."""
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise _DownloadFailed("the address is neither http nor https")
    start = part.stat().st_size if part.is_file() else 0
    etag = _validator(part).read_text() if _validator(part).is_file() else ""
    if start and not etag and sha256 is None:
        start = 0  # nothing would tell a continued file from a mixed one
    headers = {"User-Agent": "crossmatch"}
    if start:
        headers |= {"Range": f"bytes={start}-"} | ({"If-Range": etag} if etag else {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT) as answer:
            _receive(answer, part, start, size, progress)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:
            return  # nothing is left to fetch; the checksum decides
        raise _DownloadFailed(f"HTTP {error.code} {error.reason}") from None
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _DownloadFailed(str(getattr(error, "reason", error)) or type(error).__name__) from None


def _receive(
    answer: http.client.HTTPResponse, part: Path, start: int, size: int | None, progress: Progress | None
) -> None:
    if urllib.parse.urlsplit(answer.url).scheme not in ("http", "https"):
        raise _DownloadFailed("it redirects to an address that is neither http nor https")
    kind = answer.headers.get_content_type()
    if kind == "text/html":
        raise _DownloadFailed("it returns a web page, perhaps a quota notice or a form")
    if answer.status != 206 or not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
        start = 0
    length = answer.headers.get("Content-Length")
    total = start + int(length) if length and length.isdigit() else None
    if size is not None and total is not None and total != size:
        raise _DownloadFailed(f"it offers {total} bytes, {size} were expected")
    name, most = part.name.removesuffix(".part"), size if size is not None else total
    with storage_errors(part):
        file = open(part, "r+b" if start else "wb")  # noqa: SIM115 - closed below; only writing may blame the disk
        file.truncate(start)
        file.seek(start)
        _validator(part).write_text(answer.headers.get("ETag", ""))  # last: old bytes never get a new version
    with file:
        while chunk := answer.read(_CHUNK):
            with storage_errors(part):
                file.write(chunk)
                file.flush()
            start += len(chunk)
            if most is not None and start > most:
                raise _DownloadFailed(f"it sends more than the {most} bytes allowed")
            if progress is not None:
                progress(name, start / most if most else 0.0)
    if total is not None and start < total:
        raise _DownloadFailed(f"the connection broke after {start} of {total} bytes")


def _verify(part: Path, sha256: str | None, size: int | None) -> None:
    """A part that is whole but wrong is deleted: continuing it would not help."""
    length = part.stat().st_size
    wrong = ""
    if size is not None and length != size:
        wrong = f"it sent {length} bytes, {size} were expected"
    elif sha256 is not None and checksum(part) != sha256:
        wrong = "its checksum differs from the manifest's"
    if wrong:
        part.unlink()
        _validator(part).unlink(missing_ok=True)
        raise _DownloadFailed(wrong)


def _plain(name: str) -> bool:
    """Whether a name is one that can be written safely: one part, no tricks."""
    return bool(name) and name.isprintable() and not set(name) & set('/\\:*?"<>|') and name[0] != "."


# --- archives ----------------------------------------------------------------------------------------------------


# What a damaged archive raises; RuntimeError is zipfile's for an encrypted entry, OSError is of reading: what the disk
# refuses to take is an InputError by then.
_FORMAT = (zipfile.BadZipFile, tarfile.TarError, zlib.error)
_LONGEST_NAME = 255
_BROKEN = (*_FORMAT, OSError, EOFError, NotImplementedError, RuntimeError, IndexError)


class _UnpackLimit(NamedTuple):
    bytes: int
    files: int


class _Member(NamedTuple):
    name: str
    size: int  # as the archive claims; what comes out is counted too
    plain: bool  # a file: no link, device or encrypted entry
    open: Callable[[], IO[bytes] | None]


def unpack(
    archive: Path, folder: Path, most: int | None = None, files: int = _MAX_FILES, keep: bool = False
) -> None:
    """Unpack a zip or tar archive into `folder`, wholly or not at all.

    Refused, in one sentence: names that lead out of the folder, links and devices, encrypted entries, and archives that
    unpack to more than `most` bytes (a hundred times their size, unless said) or `files` files.
    keep : it is on the disk before it gets its names, which takes a while.
    """
    ratio = UNPACK_SLACK_BYTES + _MAX_COMPRESSION_RATIO * archive.stat().st_size
    limit = _UnpackLimit(ratio if most is None else min(most, ratio), files)
    staging = folder / f".{archive.name}.unpacking"
    shutil.rmtree(staging, ignore_errors=True)  # left by an attempt that was cut short
    try:
        with storage_errors(folder):
            staging.mkdir(parents=True)
        _extract(archive, staging, limit)
        with storage_errors(folder):
            if keep:
                sync_tree(staging)
            _merge(staging, folder)
    except _BROKEN as error:
        reason = str(error).partition("\n")[0]
        # Where nothing knows the format, tarfile lists every compression that it tried: no reason.
        reason = "" if reason.endswith(":") else f" ({reason})"
        raise InputError(f"{archive} is damaged or not an archive{reason}; fetch or pack it again.") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _extract(archive: Path, staging: Path, limit: _UnpackLimit) -> None:
    left = limit.bytes
    for count, member in enumerate(_members(archive)):
        inside = PurePosixPath(member.name)
        unsafe = inside.is_absolute() or ".." in inside.parts or set(member.name) & set("\\:\0")
        if unsafe or not inside.parts or not member.plain:
            raise InputError(
                f"{archive} holds {member.name!r}, which is unsafe to unpack; do not trust it; download it from its "
                f"source."
            )
        if any(len(part.encode()) > _LONGEST_NAME for part in inside.parts):
            raise InputError(
                f"{archive} holds a name longer than {_LONGEST_NAME} bytes, {inside.name[:40] + '…'!r}, which disks "
                "refuse; shorten it and pack again."
            )
        if member.size > left or count >= limit.files:
            raise InputError(
                f"{archive} unpacks to more than {limit.bytes} bytes or {limit.files} files; do not trust it, or make "
                "it smaller."
            )
        left -= _write_member(member, staging / inside, left, archive)


def _write_member(member: _Member, path: Path, left: int, archive: Path) -> int:
    written = 0
    source = member.open()
    assert source is not None
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "wb")  # noqa: SIM115 - closed below; only writing may blame the disk
    with source, file:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > left:
                raise InputError(
                    f"{archive} unpacks to more than allowed; do not trust it, or make it smaller."
                )
            with storage_errors(path):
                file.write(chunk)
                file.flush()  # or closing would, outside of what says so
    return written


def _members(archive: Path) -> Iterator[_Member]:
    """The files of an archive; folders come with their files."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                if not info.is_dir():
                    kind = stat.S_IFMT(info.external_attr >> 16)
                    plain = kind in (0, stat.S_IFREG) and not info.flag_bits & 1
                    yield _Member(info.filename, info.file_size, plain, partial(packed.open, info))
        return
    with tarfile.open(archive, "r:*") as tape:
        for entry in tape:
            if not entry.isdir():
                yield _Member(entry.name, entry.size, entry.isreg(), partial(tape.extractfile, entry))


def _merge(staging: Path, folder: Path) -> None:
    """Move what was unpacked into place; folders that exist already gain files."""
    for path in sorted(staging.iterdir()):
        target = folder / path.name
        if path.is_dir() and target.is_dir():
            _merge(path, target)
        else:
            os.replace(path, target)
