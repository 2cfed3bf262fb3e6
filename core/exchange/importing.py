"""Bring your own: groups from a folder, a zip or a Parquet data set, checked row by row, then a benchmark `mine/NAME`.

`stage_import` reads and checks everything into a folder aside, `Staged.preview` shows groups from it and
`Staged.add_benchmark` gives it its name. What is understood:

| manifest | one row is | columns |
| --- | --- | --- |
| wide | a group | `image_0`, `image_1`, ..., `caption_0`, `caption_1`, ...; or lists `images`, `captions` |
| long | an image with its caption | `group`, `image`, `caption`; without an image: a caption of none of them |

Both may be CSV, JSON lines or Parquet.

Optional: `id`, and `truth`, the caption of each image counted from 0 (`1 0`); without it image i belongs to caption i.
Of one image several captions may be true (`0 1`, of three or more).
Every other column is a tag. Images are named by their place beside the manifest, or stored in the Parquet file.
Nothing that is read is ever run.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
import tarfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import IO

from core.base import files
from core.base.errors import InputError
from core.base.paths import is_file, is_folder
from core.base.table_formats import READ, Table, open_table
from core.datasets import user_sets
from core.datasets.downloads import unpack
from core.exchange._import_images import _STAGING, ImageStore
from core.exchange._import_rows import DraftGroup, Problem, RowReader
from core.exchange.columns import ColumnMapping, guess_columns
from core.groups import GroupSet

MAX_UPLOAD = 2 << 30  # bytes of an archive, and of what it unpacks to
MAX_FILES = 100_000
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
_MANIFESTS = ("manifest", "groups", "metadata", "data")  # which file is meant, where a folder has several
_OLD = 24 * 3600.0  # seconds after which a staged set that nobody registered is thrown away


@contextmanager
def _named_as_given() -> Iterator[None]:
    """Errors inside call a file by its name, without the folder aside that it was put into."""
    try:
        yield
    except InputError as error:
        said = str(error)
        aside = re.escape(str(user_sets.root() / _STAGING)) + r"[0-9a-f]+/(?:unpacked/)?"
        plain = re.sub(r"([^/]+)/\.\1\.unpacking", r"\1", re.sub(aside, "", said))
        if plain == said:
            raise
        raise InputError(plain) from None


@dataclass(frozen=True)
class Staged:
    """A set that was read and checked, in a folder aside."""

    folder: Path
    source: str  # the table's name
    columns: ColumnMapping
    groups: int
    shapes: dict[str, int]
    problems: list[Problem] = field(repr=False)  # the first of them
    fatal: int  # how many cells, rows and groups cannot be used
    total: int  # with the remarks
    bytes: int
    repeated: int = 0  # groups that have the images and captions of an earlier one

    def preview(self, count: int = 10) -> GroupSet:
        """The first groups."""
        return user_sets.read_folder(self.folder, "preview", most=count)

    def problem_rows(self) -> list[dict[str, str]]:
        """Problems as rows of a table: row, column, what is wrong, what to do, effect. In the order of the rows."""
        return [
            {
                "row": "" if p.row is None else str(p.row),
                "column": p.column,
                "what is wrong": p.what,
                "what to do": p.fix,
                "effect": "left out" if p.fatal else "kept",
            }
            for p in sorted(self.problems, key=lambda p: (p.row is not None, p.row or 0))
        ]

    def discard(self) -> None:
        """Throw it away."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def check_addable(self, name: str, skip_bad: bool = False) -> bool:
        """Whether `add_benchmark` would take it; InputError for a name that is taken or is none."""
        user_sets.checked_name(name)
        return self.groups > 0 and (skip_bad or not self.fatal)

    def add_benchmark(self, name: str, skip_bad: bool = False, **facts: str) -> list[str]:
        """Give a staged set its name; returns the names of its benchmarks: `mine/NAME`, or one for each shape.

        skip_bad : register although groups were left out. facts : title, licence, citation, source, description.
        Raises InputError for a name that is taken or is none, for a set without groups, and for problems that nobody
        has agreed to leave out.
        """
        name = user_sets.checked_name(name)
        if not self.groups:
            raise InputError(f"{self.source} holds no usable group; fix the listed problems.")
        if self.fatal and not skip_bad:
            raise InputError(
                f"{self.source} has {self.fatal} problem{'s' * (self.fatal != 1)}; fix them, or agree to leave "
                "their groups out (of the command line --skip-bad)."
            )
        if not self.folder.is_dir():
            raise InputError(f"The staged set of {self.source} is no longer there; read it again.")
        return user_sets.install_set(self.folder, name, self.shapes, facts)


@_named_as_given()
def stage_import(
    source: Path | Table,
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
        if isinstance(source, Table):
            table = source
        else:
            table = open_manifest(unpack_source(source, folder / "unpacked" / source.name), manifest)
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
            reader.repeated,
        )


@_named_as_given()
def unpack_source(source: Path, unpacked: Path) -> Path:
    """A folder or file as it is; an archive, within limits, as the folder it is unpacked into."""
    if not is_file(source) or source.suffix.lower() not in _ARCHIVES:
        return source
    if source.stat().st_size > MAX_UPLOAD:
        raise InputError(f"{source.name} is larger than {MAX_UPLOAD >> 30} GiB; name a folder instead.")
    if source.suffix.lower() == ".zip" and not (zipfile.is_zipfile(source) or tarfile.is_tarfile(source)):
        raise _no_archive(source.name)
    unpacked.mkdir(parents=True, exist_ok=True)
    unpack(source, unpacked, MAX_UPLOAD, MAX_FILES)
    nested = next((p for p in unpacked.rglob("*") if p.suffix.lower() in _ARCHIVES), None)
    if nested is not None:
        raise InputError(
            f"{source.name} holds another archive ({nested.name}); unpack it and pack its content instead."
        )
    return unpacked


def _no_archive(name: str) -> InputError:
    """What is said of a file that is called a zip and is none, wherever it is brought."""
    return InputError(
        f"{name} is damaged or not an archive, though its name ends in .zip; pack it again, or give it the ending of "
        "what it is, such as .csv."
    )


@_named_as_given()
def save_upload(name: str, content: IO[bytes]) -> Path:
    """An uploaded file on disk, in a folder of its own; `stage_import` it, then remove that folder."""
    aside = _temporary_folder()
    safe = (
        "".join(c if c.isalnum() or c in " ._-()[]+," else "_" for c in Path(name).name)[-100:].lstrip(".")
        or "upload"
    )
    path, size = aside / safe, 0
    try:
        with files.storage_errors(user_sets.root()), open(path, "wb") as file:
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
    with files.storage_errors(user_sets.root()), open(path, "w", encoding="utf-8", newline="\n") as file:
        for count, draft in enumerate(drafts, 1):
            file.write(json.dumps(draft.record(), ensure_ascii=False, allow_nan=False) + "\n")
            shapes[f"{len(draft.images)}x{len(draft.captions)}"] += 1
            if progress is not None:
                progress(count)
    return shapes


def _temporary_folder() -> Path:
    """A new folder for work; those of yesterday are thrown away."""
    root = user_sets.root()
    folder = root / f"{_STAGING}{secrets.token_hex(6)}"
    with files.storage_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        for old in root.glob(f"{_STAGING}*"):
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


# --- which table


@_named_as_given()
def open_manifest(source: Path, manifest: str | None = None, name: str = "") -> Table:
    """The table in a file or folder. manifest : which file of a folder, where it holds several. name : what messages
    call a file, by default its name.

    A folder with Parquet files alone is read as Hugging Face lays data sets out: one split, all its parts
    (`data/test-00000-of-00002.parquet`, ...); with several splits, `manifest` names one ("test").
    Raises InputError for a folder without a table or with several, and for a file that is no table.
    """
    paths = _choose(source, manifest)
    return open_table(paths, name=(name if is_file(source) else "") or paths[0].name)


def _table_files(folder: Path) -> list[Path]:
    """Files of a folder that may be its manifest: at the top, or in the one folder that is there, or in `data`."""
    level = [folder]
    for _ in range(3):
        found = [p for place in level for p in _visible(place) if p.suffix.lower() in READ and p.is_file()]
        if found:
            return [p for p in found if p.name not in ("dataset_info.json", "state.json")] or found
        level = [p for place in level for p in _visible(place) if p.is_dir()][:50]
    return []


def split_of(path: PurePath) -> str:
    """`test` of `test-00000-of-00002.parquet` or `test/0000.parquet`; else the file's own name."""
    stem = path.name.partition(".")[0]
    if stem.isdigit():
        return path.parent.name
    return stem.rpartition("-")[0].partition("-0")[0] if "-of-" in stem else stem


def _visible(folder: Path) -> list[Path]:
    try:
        return sorted(p for p in folder.iterdir() if not p.name.startswith((".", "__MACOSX")))
    except OSError as error:
        raise InputError(f"{folder} cannot be read ({error.strerror}); check the path.") from None


def table_choices(source: Path) -> list[str]:
    """What `open_manifest` may be told as `manifest`: splits of Parquet parts, names of other tables; [] for a file."""
    return list(_options(source)) if is_folder(source) else []


def _options(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Tables of a folder by name; the parts of a split are one. Usual names of manifests come first."""
    found = _table_files(folder)
    parts: dict[str, tuple[Path, ...]] = {}
    texts = {p.name: (p,) for p in found if p.suffix.lower() not in (".parquet", ".arrow")}
    for path in found:
        if path.name not in texts:
            parts[split_of(path)] = (*parts.get(split_of(path), ()), path)
    first = [n for stem in _MANIFESTS for n in texts if Path(n).stem.lower() == stem]
    return {name: {**texts, **parts}[name] for name in dict.fromkeys([*first, *texts, *parts])}


def _choose(source: Path, manifest: str | None) -> tuple[Path, ...]:
    if is_file(source):
        if source.suffix.lower() not in READ:
            raise InputError(f"{source.name} is not a table; its name must end in {', '.join(READ)}.")
        if manifest is not None:
            raise InputError(f"{source.name} is one table, so there is no manifest to choose; leave it out.")
        return (source,)
    if not is_folder(source):
        raise InputError(f"{source} does not exist; check the path.")
    options = _options(source)
    if not options:
        raise InputError(
            f"{source.name or source} holds no manifest ({', '.join(READ)}); put a manifest.csv beside the images, "
            "with a row for every group."
        )
    if manifest is not None:
        by_file = {paths[0].name: paths for paths in options.values() if len(paths) == 1}
        if manifest not in options and manifest not in by_file:
            raise InputError(
                f"{source.name} has no table {manifest!r}; it has: {', '.join(list(options)[:12])}."
            )
        return options.get(manifest) or by_file[manifest]
    name, paths = next(iter(options.items()))
    if len(options) == 1 or (Path(name).stem.lower() in _MANIFESTS and paths[0].name == name):
        return paths
    raise InputError(
        f"{source.name} holds several tables ({', '.join(list(options)[:8])}); say which one is meant."
    )
