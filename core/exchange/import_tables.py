"""Tables of a user's data: CSV, JSON lines and Parquet (as Hugging Face lays them out), row by row.

A row that cannot be read is a row with a problem; a file that cannot be read is one sentence.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from core.base.errors import InputError
from core.base.paths import is_file, is_folder
from core.exchange.import_problems import Problem

ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow")
# Which file is the manifest, where a folder has several.
PREFERRED = ("manifest", "groups", "metadata", "data")
MAX_BYTES = 1 << 30  # of a text manifest
_BATCH = 32  # rows of a Parquet file in memory at once


@dataclass(frozen=True)
class ImportRow:
    """A row: its number as a spreadsheet shows it, its cells, and what is wrong with it as a whole."""

    number: int
    cells: dict[str, Any]
    problem: Problem | None = None


@dataclass(frozen=True)
class ImportTable:
    """A table that can be gone through any number of times."""

    paths: tuple[Path, ...]
    columns: tuple[str, ...]
    rows: Callable[[], Iterator[ImportRow]] = field(repr=False)

    @property
    def folder(self) -> Path:
        """Where the names of images are looked up from."""
        return self.paths[0].parent

    @property
    def name(self) -> str:
        return self.paths[0].name


def open_table(source: Path, manifest: str | None = None) -> ImportTable:
    """The table in a file or folder. manifest : which file of a folder, where it holds several.

    A folder with Parquet files alone is read as Hugging Face lays data sets out: one split, all its parts
    (`data/test-00000-of-00002.parquet`, ...); with several splits, `manifest` names one ("test").
    Raises InputError for a folder without a table or with several, and for a file that is no table.
    """
    paths = _choose(source, manifest)
    kind = paths[0].suffix.lower()
    if kind in (".csv", ".tsv"):
        return _csv(paths[0])
    if kind in (".jsonl", ".json"):
        return _json(paths[0])
    return _arrow(paths)


def open_parts(paths: Sequence[Path]) -> ImportTable:
    """One table from Parquet files that follow each other, such as the parts of a split."""
    if not paths:
        raise InputError("There are no Parquet files; name at least one.")
    return _arrow(tuple(paths))


def table_files(folder: Path) -> list[Path]:
    """Files of a folder that may be its manifest: at the top, or in the one folder that is there, or in `data`."""
    level = [folder]
    for _ in range(3):
        found = [p for place in level for p in _visible(place) if p.suffix.lower() in ENDINGS and p.is_file()]
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
    """What `open_table` may be told as `manifest`: splits of Parquet parts, names of other tables; [] for a file."""
    return list(_options(source)) if is_folder(source) else []


def _options(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Tables of a folder by name; the parts of a split are one. Usual names of manifests come first."""
    found = table_files(folder)
    parts: dict[str, tuple[Path, ...]] = {}
    texts = {p.name: (p,) for p in found if p.suffix.lower() not in (".parquet", ".arrow")}
    for path in found:
        if path.name not in texts:
            parts[split_of(path)] = (*parts.get(split_of(path), ()), path)
    first = [n for stem in PREFERRED for n in texts if Path(n).stem.lower() == stem]
    return {name: {**texts, **parts}[name] for name in dict.fromkeys([*first, *texts, *parts])}


def _choose(source: Path, manifest: str | None) -> tuple[Path, ...]:
    if is_file(source):
        if source.suffix.lower() not in ENDINGS:
            raise InputError(f"{source.name} is not a table; its name must end in {', '.join(ENDINGS)}.")
        if manifest is not None:
            raise InputError(f"{source.name} is one table, so there is no manifest to choose; leave it out.")
        return (source,)
    if not is_folder(source):
        raise InputError(f"{source} does not exist; check the path.")
    options = _options(source)
    if not options:
        raise InputError(
            f"{source.name or source} holds no manifest ({', '.join(ENDINGS)}); put a manifest.csv beside the images, "
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
    if len(options) == 1 or (Path(name).stem.lower() in PREFERRED and paths[0].name == name):
        return paths
    raise InputError(
        f"{source.name} holds several tables ({', '.join(list(options)[:8])}); say which one is meant."
    )


def _text(path: Path) -> str:
    """A text file's content: UTF-8 with or without a byte order mark, or UTF-16 with one, as Excel writes."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path.name} is larger than {MAX_BYTES >> 20} MiB; split it, or use Parquet.")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path.name} is not UTF-8 text (byte {error.start}); save it again as UTF-8."
        ) from None
    if not text.strip():
        raise InputError(f"{path.name} is empty; choose another file.")
    if "\0" in text:
        raise InputError(f"{path.name} holds binary data; save it as text (UTF-8).")
    return text


# --- CSV


def _csv(path: Path) -> ImportTable:
    text = _text(path)
    head = text.splitlines()[0]
    mark = max(",;\t", key=head.count)
    header = [name.strip() for name in next(csv.reader([head], delimiter=mark))]
    _distinct(header, path)

    def rows() -> Iterator[ImportRow]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark)
        next(reader)
        number = 1
        try:
            for cells in reader:
                number += 1
                if any(cell.strip() for cell in cells):
                    yield _csv_row(number, header, cells)
        except csv.Error as error:
            what = f"this row cannot be read ({error})"
            yield ImportRow(number + 1, {}, Problem(number + 1, "", what, "check its quotation marks"))

    return ImportTable((path,), tuple(header), rows)


def _csv_row(number: int, header: list[str], cells: list[str]) -> ImportRow:
    while len(cells) > len(header) and not cells[-1].strip():
        cells = cells[:-1]
    if len(cells) != len(header):
        what = f"the row has {len(cells)} cells, the header {len(header)}"
        return ImportRow(
            number, {}, Problem(number, "", what, "put a text that holds commas between quotation marks")
        )
    return ImportRow(number, dict(zip(header, (c.strip() for c in cells), strict=True)))


def _distinct(columns: list[str], path: Path) -> None:
    twice = next((c for i, c in enumerate(columns) if c in columns[:i]), None)
    if twice is not None:
        raise InputError(f"{path.name} has the column {twice!r} twice; give each column a different name.")


# --- JSON


def _json(path: Path) -> ImportTable:
    text = _text(path)
    if path.suffix.lower() == ".json":
        try:
            value = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path.name} is not complete JSON ({error}); save it again.") from None
        if not isinstance(value, list):
            raise InputError(f"{path.name} is not a JSON list; write a list with one object per group.")
        found = [_object(i, item) for i, item in enumerate(value, 1)]
    else:
        lines = ((i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip())
        found = [_line(i, line) for i, line in lines]
    columns = dict.fromkeys(key for row in found for key in row.cells)
    return ImportTable((path,), tuple(columns), lambda: iter(found))


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _check_unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(items)
    if len(row) != len(items):
        names = [key for key, _ in items]
        raise ValueError(f"the key {next(k for k in names if names.count(k) > 1)!r} is there twice")
    return row


def _line(number: int, line: str) -> ImportRow:
    try:
        value = json.loads(line, object_pairs_hook=_check_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        problem = Problem(number, "", f"the line is not JSON ({error})", "write one JSON object per line")
        return ImportRow(number, {}, problem)
    return _object(number, value)


def _object(number: int, value: Any) -> ImportRow:
    if not isinstance(value, dict):
        what = f"this is a {type(value).__name__}, not an object"
        return ImportRow(number, {}, Problem(number, "", what, 'write {"images": [...], "captions": [...]}'))
    return ImportRow(number, value)


# --- Parquet and Arrow


def _arrow(paths: tuple[Path, ...]) -> ImportTable:
    import pyarrow as pa

    try:
        columns = tuple(_schema(paths[0]))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _not_whole(paths[0], error) from None
    _distinct(list(columns), paths[0])

    def rows() -> Iterator[ImportRow]:
        number = 0
        for path in paths:
            try:
                for batch in _batches(path):
                    for cells in batch.to_pylist():
                        number += 1
                        yield ImportRow(number, cells)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise _not_whole(path, error) from None

    return ImportTable(paths, columns, rows)


def _not_whole(path: Path, error: Exception) -> InputError:
    kind = "Parquet" if path.suffix.lower() == ".parquet" else "Arrow"
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    return InputError(f"{path.name} is not a complete {kind} file ({reason}); fetch it again.")


def _schema(path: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() == ".parquet":
        return list(pq.read_schema(path).names)
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
        return list(stream.schema.names)


def _batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() == ".parquet":
        with pq.ParquetFile(path) as file:
            yield from file.iter_batches(_BATCH)
    else:  # what `datasets` writes with save_to_disk
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
            for batch in stream:
                batch.validate(full=True)  # offsets point anywhere until somebody follows them
                yield batch
