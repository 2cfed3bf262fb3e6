"""Tables in files, the one reader of them: CSV, JSON lines, JSON, Parquet and Arrow, and the arrays of an NPZ.

`open_table` gives the rows one by one, each with its number and what is wrong with it, or the whole as a frame, within
the limits of `core.base.limits`; `write_table` writes a frame in every format of `WRITTEN`. A file that cannot be read
is one sentence with what, where (file, row, column) and what to do. Nothing in a file is ever run.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
import zipfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core.base._parquet import arrow_errors as arrow_errors  # readers of pictures in tables take it from here
from core.base._parquet import read_parquet
from core.base._zip import ZipMember as ZipMember  # the reader of logs takes it from here
from core.base._zip import check_unfolded as check_unfolded
from core.base._zip import most_bytes
from core.base._zip import open_zip as open_zip  # the reader of packed tables takes it from here
from core.base.errors import InputError
from core.base.files import storage_errors, write_bytes
from core.base.lazy import pandas as pd
from core.base.limits import check, check_memory
from core.base.text import counted

if TYPE_CHECKING:  # doctor and the lists of benchmarks wait for none of them
    import numpy as np
    import pyarrow as pa

_SHORT = 1 << 16  # bytes of JSON that cost little, whatever they are
_BYTES_PER_MARK = 40  # of JSON in memory: lists in lists take 56, numbers 32
_BATCH = 32  # rows of a Parquet file in memory at once: they may hold images


class Row(NamedTuple):
    """A row: its number as a spreadsheet or an editor shows it, its cells, and what is wrong with it as a whole."""

    number: (
        int  # the header of a CSV is row 1; lines of JSON count from 1, and so do rows of the other formats
    )
    cells: dict[str, Any]
    fault: str = ""  # what is wrong with it: "has 3 cells, the header 4"
    fix: str = ""  # what to do


class Table(ABC):
    """A table that can be gone through any number of times.

    name : as messages call it. folder : where it lies. columns : their names, each once.
    """

    unit = "row"  # what messages call a row
    of_texts = False  # whether every cell is a text, spaces around it included

    def __init__(self, path: Path, name: str) -> None:
        self.name, self.folder = name, path.parent

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]: ...

    @abstractmethod
    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        """The rows that are not blank. InputError where the file is damaged further on.

        columns : those that are needed; a format that stores them apart leaves the others unread.
        """

    def sound_rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        """As `rows`; InputError for the first with a fault."""
        for row in self.rows(columns):
            if row.fault:
                raise InputError(f"{self.name}: {self.unit} {row.number} {row.fault}; {row.fix}.")
            yield row

    def frame(self, required: Sequence[str] = ()) -> pd.DataFrame:
        """The whole table, within the limits, one row at least.

        InputError for the first row with a fault, and for a column that is required and missing.
        """
        found = self._frame()
        self.require_columns(required, list(found.columns))
        if not len(found):
            raise InputError(f"{self.name} has no rows; choose another file.")
        return found

    def _frame(self) -> pd.DataFrame:
        return pd.DataFrame.from_records([row.cells for row in self.sound_rows()], columns=list(self.columns))

    def require_columns(self, required: Sequence[str], among: Sequence[str] | None = None) -> None:
        """Raise InputError for those of these columns that the table does not have."""
        there = list(self.columns if among is None else among)
        missing = [repr(name) for name in required if name not in there]
        if missing:
            several = len(missing) > 1
            names = f"{', '.join(missing[:-1])} or {missing[-1]}" if several else missing[0]
            has_capitals = {*required} <= {name.lower() for name in there}
            way = f"add {'them' if several else 'it'}, or choose another file"
            way = "write these names in lower case" if has_capitals else way
            raise InputError(f"{self.name} has no column {names} among: {', '.join(there)}; {way}.")

    def _check_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        seen: set[str] = set()
        twice = next((name for name in columns if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
        if twice is not None:
            if re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", twice):
                raise InputError(
                    f"{self.name} seems to begin with data (twice {twice!r}); put a row with the names of the columns "
                    "first."
                )
            raise InputError(
                f"{self.name} has the column {twice!r} twice; give each column a name of its own."
            )
        return tuple(columns)


def open_table(
    source: Path | str | Sequence[Path], data: bytes | None = None, name: str | None = None
) -> Table:
    """The table in a file; its name's ending decides the format.

    source : a path, or several Parquet files that follow each other. data : the file's bytes, where it is an upload.
    name : what messages call it, by default its path.
    """
    paths = [Path(source)] if isinstance(source, Path | str) else list(source)
    if not paths:
        raise InputError("There are no Parquet files; name at least one.")
    kind = READ.get(paths[0].suffix.lower())
    if kind is None:
        raise InputError(f"{name or source} is not a table; its name must end in {', '.join(READ)}.")
    return kind(paths, data, name or str(paths[0]))


def read_bytes(path: Path | str, data: bytes | None = None, name: str | None = None) -> bytes:
    """A file's bytes; InputError where it cannot be read, is empty, or is larger than a file may be."""
    try:
        if data is None:
            check(name or path, file=Path(path).stat().st_size)
        content = Path(path).read_bytes() if data is None else data
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    if not content.strip():
        raise InputError(f"{name or path} is empty; choose another file.")
    return content


_BINARY = {  # how other files begin that were given a text's name -> what they are
    b"PK\x03\x04": "an archive (NPZ, ZIP or Excel)",
    b"\x93NUM": "an array (NPY)",
    b"PAR1": "a Parquet file",
    b"ARRO": "an Arrow file",
}


def _read_text(path: Path | str, data: bytes | None = None, name: str | None = None) -> bytes:
    """A text file as UTF-8 without a byte order mark; UTF-16 with one, as Excel writes it, is converted."""
    content = read_bytes(path, data, name)
    try:
        if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            content = content.decode("utf-16").encode()
        content = content.removeprefix(codecs.BOM_UTF8)
        content.decode()
    except UnicodeDecodeError as error:
        where = f"byte {error.start}"
        if kind := _BINARY.get(content[:4]):
            raise InputError(f"{name or path} is {kind}, not text; let its name end so.") from None
        raise InputError(f"{name or path} is not UTF-8 text ({where}); save it again as UTF-8.") from None
    if b"\0" in content:
        raise InputError(f"{name or path} holds binary data; save it as text (UTF-8).")
    if not content.strip():
        raise InputError(f"{name or path} is empty; choose another file.")
    return content


def check_cells(path: Path | str, rows: int, columns: int) -> None:
    """Raise InputError where a table of texts or numbers is too large, by its rows and columns."""
    check(path, columns=columns, cells=rows * columns)
    # A short text in pandas, and copies of it while groups are found.
    check_memory(path, 200 * rows * columns)


# --- CSV

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


def _separator(header: str) -> str:
    """What stands between the cells of a table, by its first line."""
    return max(_SEPARATORS, key=header.count)


def _why_long(mark: str) -> str:
    """What to do about a row with more cells than the header, whose separator is `mark`."""
    points = ", write decimal commas as points" if mark == "," else ""
    return f"put texts with {_SEPARATORS[mark]} in quotation marks{points}, or add the name that the header lacks"


class _Csv(Table):
    """Cells between commas, semicolons or tabs, whichever the header has most of; read by Arrow."""

    of_texts = True

    def __init__(self, paths: Sequence[Path], data: bytes | None, name: str) -> None:
        super().__init__(paths[0], name)
        content = _read_text(paths[0], data, name)
        self._content = content if content.endswith((b"\n", b"\r")) else content + b"\n"
        self._header, self._mark, self._skipped = self._read_header()

    def _read_header(self) -> tuple[tuple[str, ...], str, int]:
        """The names of the columns, what stands between cells, and the lines up to the header's last."""
        start = len(self._content) - len(self._content.lstrip())
        head = re.compile(rb"[^\r\n]*").match(self._content, start)[0]  # type: ignore[index]
        mark = _separator(head.decode())
        lines = max(self._content.count(b"\n"), self._content.count(b"\r"))
        check(self.name, cells=lines + self._content.count(mark.encode()))
        reader = csv.reader(io.TextIOWrapper(io.BytesIO(self._content), "utf-8", newline=""), delimiter=mark)
        try:
            found = next(cells for cells in reader if len(cells) > 1 or any(map(str.strip, cells)))
        except (csv.Error, StopIteration) as error:
            raise InputError(
                f"{self.name} is not a CSV table ({error}); check its quotation marks."
            ) from None
        if len(found) == 1 and mark in found[0]:
            raise InputError(
                f"{self.name} has its whole header in one pair of quotation marks; take them away."
            )
        check_cells(self.name, lines, len(found))
        return self._check_columns([name.strip() for name in found]), mark, reader.line_num

    @property
    def columns(self) -> tuple[str, ...]:
        return self._header

    @cached_property
    def _read(self) -> tuple[pa.Table, dict[int, str]]:
        """The rows that have as many cells as the header, and the text of the others by number."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        odd: dict[int, str] = {}

        def pass_over(row: Any) -> str:
            odd[row.number] = row.text
            return "skip"

        with arrow_errors(self.name, "CSV"):
            table = arrow.read_csv(
                io.BytesIO(self._content),
                arrow.ReadOptions(
                    use_threads=False,
                    block_size=len(self._content) + 64,
                    skip_rows=self._skipped,
                    column_names=self._header,
                ),
                arrow.ParseOptions(
                    delimiter=self._mark,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=pass_over,
                ),
                arrow.ConvertOptions(column_types=dict.fromkeys(self._header, pa.string())),
            )
        return table, odd

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        table, odd = self._read
        number, waiting = self._skipped, dict(odd)
        for batch in table.to_batches(1000):
            for cells in batch.to_pylist():
                number += 1
                while number in waiting:
                    yield self._odd_row(number, waiting.pop(number))
                    number += 1
                if any(map(str.strip, cells.values())):
                    yield Row(number, cells)
        yield from (self._odd_row(number, text) for number, text in waiting.items())

    def _odd_row(self, number: int, text: str) -> Row:
        """A row with other cells than the header; blank ones behind its last are no fault."""
        try:
            cells = next(csv.reader([text], delimiter=self._mark), [])
        except csv.Error as error:  # a cell of more than 131,072 characters
            return Row(number, {}, f"cannot be read ({error})", "check its quotation marks")
        while len(cells) > len(self._header) and not cells[-1].strip():
            cells.pop()
        if len(cells) == len(self._header):
            return Row(number, dict(zip(self._header, cells, strict=True)))
        fault = f"has {counted(len(cells), 'cell')}, the header {len(self._header)}"
        if len(cells) < len(self._header):
            return Row(number, {}, fault, "complete it")
        return Row(number, {}, fault, _why_long(self._mark))

    def _frame(self) -> pd.DataFrame:
        """Every cell as text."""
        table, odd = self._read
        if odd:
            return super()._frame()
        found = table.to_pandas()
        blank = (found == "").all(axis=1)  # lines with nothing on them
        return found[~blank].reset_index(drop=True) if blank.any() else found


# --- JSON


class _Json(Table):
    """One object per line, or a list of objects."""

    unit = "line"

    def __init__(self, paths: Sequence[Path], data: bytes | None, name: str) -> None:
        super().__init__(paths[0], name)
        self._content = _read_text(paths[0], data, name)
        self._whole = parse_json(self._content, name) if paths[0].suffix.lower() == ".json" else None
        if self._whole is not None and not isinstance(self._whole, list):
            raise InputError(f"{name} is not a JSON list; write a list with one object per group.")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The keys of all objects, as they first appear."""
        return tuple(dict.fromkeys(key for row in self.rows() for key in row.cells))

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        if self._whole is not None:
            yield from (_object(number, value) for number, value in enumerate(self._whole, 1))
            return
        for number, line in enumerate(io.BytesIO(self._content), 1):
            check(f"{self.name}: line {number}", line=len(line))
            _check_marks(f"{self.name}: line {number}", line)
            if line.strip():
                yield _line(number, line)


def parse_json(content: bytes, name: Path | str) -> Any:
    """The value of a JSON text. InputError, with the reason, where it is none, and where it would be too large."""
    _check_marks(name, content)
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not complete JSON ({error}); save or download it again.") from None


def _check_marks(name: Path | str, content: bytes) -> None:
    """Raise InputError for JSON whose value would be too large: `[[],[],...]` takes forty times its text."""
    if len(content) < _SHORT:
        return
    marks = sum(map(content.count, (b"[", b"]", b"{", b"}", b",", b":")))
    check(name, marks=marks)
    check_memory(name, 2 * len(content) + _BYTES_PER_MARK * marks)


class _KeyTwice(ValueError):
    """An object has a key twice; of JSON's readers some take the first, some the last."""


def _line(number: int, line: bytes) -> Row:
    try:
        return _object(number, json.loads(line, object_pairs_hook=_unique))
    except _KeyTwice as error:
        return Row(number, {}, f"has the key {error} twice", "leave one of them out")
    except (ValueError, RecursionError) as error:
        return Row(number, {}, f"is not JSON ({error})", "write one JSON object per line")


def _object(number: int, value: Any) -> Row:
    if isinstance(value, dict):
        return Row(number, value)
    fault = f"is not a JSON object but {json.dumps(value)[:60]}"
    return Row(number, {}, fault, "write one JSON object per group")


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(items)
    if len(row) < len(items):
        counts = Counter(key for key, _ in items)
        raise _KeyTwice(repr(next(key for key, count in counts.items() if count > 1)))
    return row


# --- Parquet and Arrow


class _Arrow(Table):
    """One table from Parquet files that follow each other, or a stream of Arrow's, as `datasets` saves it."""

    def __init__(self, paths: Sequence[Path], data: bytes | None, name: str) -> None:
        super().__init__(paths[0], name)
        self._paths, self._data = paths, data

    @cached_property
    def columns(self) -> tuple[str, ...]:
        import pyarrow.parquet as pq

        path = self._paths[0]
        with arrow_errors(self.name, _kind(path)):
            if _kind(path) == "Parquet":
                return self._check_columns(pq.read_schema(self._opened(path)).names)
            return self._check_columns(next(self._streamed(path)).schema.names)

    def rows(self, columns: Sequence[str] | None = None) -> Iterator[Row]:
        number = 0
        for path in self._paths:
            name = self.name if len(self._paths) == 1 else path.name
            batches = self._batches(path, columns)
            while True:
                with arrow_errors(name, _kind(path)):
                    batch = next(batches, None)
                    cells = None if batch is None else batch.to_pylist()
                if cells is None:
                    break
                yield from (Row(number + i, row) for i, row in enumerate(cells, 1))
                number += len(cells)

    def _batches(self, path: Path, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        if _kind(path) == "Arrow":
            yield from self._streamed(path, columns)
            return
        with pq.ParquetFile(self._opened(path)) as file:
            yield from file.iter_batches(_BATCH, columns=columns and list(columns))

    def _streamed(self, path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The batches of a stream, after an empty one. A file is mapped: what is not asked for is not read."""
        import pyarrow as pa

        source = pa.memory_map(str(path)) if self._data is None else pa.BufferReader(self._data)
        with source as file, pa.ipc.open_stream(file) as stream:
            yield pa.RecordBatch.from_pylist([], stream.schema)
            for batch in stream:
                asked = batch if columns is None else batch.select(list(columns))
                asked.validate(full=True)  # offsets point anywhere until somebody follows them
                yield asked

    def _opened(self, path: Path) -> Any:
        return path if self._data is None else io.BytesIO(self._data)

    def _frame(self) -> pd.DataFrame:
        """Cells as Arrow's types have them; decoded in a process apart where strangers bring files."""
        content = read_bytes(self._paths[0], self._data, self.name)
        table = read_parquet(self.name, content, most_bytes(content), _kind(self._paths[0]))
        self._check_columns(table.column_names)
        check_cells(self.name, len(table), len(table.columns))
        with arrow_errors(self.name):
            return table.to_pandas().rename(columns=str)


def _kind(path: Path) -> str:
    return "Parquet" if path.suffix.lower() == ".parquet" else "Arrow"


# --- NPZ

_MAGIC, _ZIP = b"\x93NUMPY", b"PK"  # how an array and a zip begin


def _is_text(content: bytes) -> bool:
    """Whether the bytes of a file are a text, by its beginning."""
    with suppress(UnicodeDecodeError):
        content[:4096].decode()  # a letter that is cut there alone makes one of other alphabets none
        return b"\0" not in content[:4096]
    return False


def read_arrays(path: Path | str, data: bytes | None = None) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file. Pickled content is refused, a truncated file is an error, and so is a bomb."""
    content = read_bytes(path, data)
    if content.startswith(_MAGIC):
        raise InputError(
            f"{path} is a single array, not an NPZ of named ones; save it with numpy.savez, or let its name end in "
            ".npy if it holds scores."
        )
    try:
        with open_zip(path, content) as archive:
            members = archive.infolist()
            check_unfolded(path, content, sum(member.file_size for member in members))
            return {
                member.filename.removesuffix(".npy"): _characters(_array(path, archive, member))
                for member in members
            }
    except InputError:
        raise
    except (
        Exception
    ) as error:  # zip, zlib, NumPy and the tokenizer of its headers: each fails in its own ways
        if _is_text(content):
            raise InputError(
                f"{path} is text and not an NPZ file; let its name end in .csv if it is a table, or save arrays with "
                "numpy.savez."
            ) from None
        if "pickle" in str(error) or not content.startswith(_ZIP):
            raise InputError(
                f"{path} holds pickled objects or is not an NPZ file; pickles can run code and are never loaded: save "
                "plain number arrays with numpy.savez."
            ) from None
        raise InputError(f"{path} is damaged or not an NPZ file ({error}); save or fetch it again.") from None


def _read_array(path: Path | str, data: bytes | None = None) -> np.ndarray:
    """The one array of an NPY file. Pickled content is refused, and so is a head that claims more than the file has."""
    import numpy as np

    content = read_bytes(path, data)
    if not content.startswith(_MAGIC):
        raise InputError(f"{path} is not an NPY file; save one array of scores with numpy.save.")
    stream = io.BytesIO(content)
    try:
        old = np.lib.format.read_magic(stream) == (1, 0)
        read = np.lib.format.read_array_header_1_0 if old else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        held = len(content) - stream.tell()
    except Exception as error:  # NumPy and the tokenizer of its headers: each fails in its own ways
        raise InputError(f"{path} is damaged ({error}); save or fetch it again.") from None
    if dtype.hasobject:
        raise InputError(
            f"{path} holds pickled objects; pickles can run code and are never loaded: save plain numbers with "
            "numpy.save."
        )
    if held != math.prod(shape) * dtype.itemsize:
        raise InputError(
            f"{path} is damaged (its head says shape {shape}, which is not what follows); save or fetch it again."
        )
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _array(path: Path | str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    import numpy as np

    if ZipMember(path, archive, member).read(len(_MAGIC)) != _MAGIC:
        raise InputError(
            f"{path}: {member.filename!r} is no array; save plain number arrays with numpy.savez."
        )
    return np.lib.format.read_array(ZipMember(path, archive, member), allow_pickle=False)


def _characters(array: np.ndarray) -> np.ndarray:
    """Texts with a mark in place of what is no character: NumPy takes any four bytes of a file for one, and fails
    later."""
    import numpy as np

    if array.dtype.kind != "U" or not array.dtype.itemsize:
        return array
    codes = np.frombuffer(array.tobytes(), array.dtype.str[0] + "u4").copy()
    wrong = (codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF))
    codes[wrong] = 0xFFFD
    return codes.view(array.dtype).reshape(array.shape) if wrong.any() else array


def arrays_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """A compressed NPZ."""
    import numpy as np

    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


# --- writing


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table, whole or not at all; the path's ending decides the format (`WRITTEN`).

    Yes and no are written as 1 and 0; a missing number is an empty cell, a null, or NaN. A CSV, which people read, has
    numbers to ten significant digits, other formats all of theirs.
    """
    suffix = path.suffix.lower()
    if suffix not in WRITTEN:
        raise InputError(f"{path} cannot be written; its name must end in {', '.join(WRITTEN)}.")
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, table_bytes(_to_ten_digits(table) if suffix == ".csv" else table, suffix))


def table_bytes(table: pd.DataFrame, suffix: str) -> bytes:
    """A table in the format of an ending of `WRITTEN`."""
    return WRITTEN[suffix](pd.DataFrame({str(name): _plain(table[name]) for name in table.columns}))


def _plain(values: pd.Series) -> pd.Series:
    """A column as whole numbers, as numbers with NaN where one is missing, or as texts, empty where one is missing.
    Counts (Int64) of which one is missing stay whole numbers."""
    if isinstance(values.dtype, pd.Int64Dtype):
        return values if values.isna().any() else values.astype("int64")
    if values.dtype.kind in "if":
        return values
    known = values[values.notna()]
    kind = pd.api.types.infer_dtype(known.astype(object))
    if kind in ("boolean", "integer") and len(known) == len(values):
        return values.astype("int64")
    if kind in ("boolean", "integer", "floating", "mixed-integer-float") or (kind == "empty" and len(values)):
        return values.astype(object).where(values.notna(), math.nan).astype("float64")
    return values.astype(object).where(values.notna(), "").map(str)


def _result_csv(table: pd.DataFrame) -> bytes:
    """A table of results as every page and command hands it out as CSV."""
    return _to_ten_digits(table).to_csv(index=False).encode()


def _to_ten_digits(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers to ten significant digits, so that 57.5 is not 57.49999999999999; single precision has fewer."""
    table = table.copy()
    for column in [name for name in table if str(table[name].dtype) in ("float64", "object")]:
        table[column] = table[column].map(_ten_digits)
    return table


def _ten_digits(value: Any) -> Any:
    return float(f"{value:.10g}") if isinstance(value, float) else value


def _csv_bytes(table: pd.DataFrame) -> bytes:
    """Texts are quoted and numbers are not, so that an id such as `007` stays a text."""
    return table.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").encode()


def _json_cell(value: Any) -> Any:
    """A cell as JSON has it; a missing one is null."""
    if value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if hasattr(value, "item") else value


def _json_bytes(table: pd.DataFrame) -> bytes:
    """Every digit of a number, which pandas would round; a missing one is null."""
    lines = []
    for row in table.itertuples(index=False, name=None):
        record = dict(zip(table.columns, map(_json_cell, row), strict=True))
        lines.append(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
    return "".join(lines).encode()


def _npz_bytes(table: pd.DataFrame) -> bytes:
    kinds = {str(name): None if table[name].dtype.kind in "iuf" else str for name in table}
    whole = {name: table[name] for name in kinds if isinstance(table[name].dtype, pd.Int64Dtype)}
    table = table.assign(**{name: of.to_numpy("float64", na_value=math.nan) for name, of in whole.items()})
    return arrays_bytes({name: table[name].to_numpy(dtype=kind) for name, kind in kinds.items()})


# Ending -> how a file is read, and how a table is written: another format is an entry here.
READ: dict[str, Callable[[Sequence[Path], bytes | None, str], Table]] = {
    ".csv": _Csv,
    ".tsv": _Csv,
    ".jsonl": _Json,
    ".json": _Json,
    ".parquet": _Arrow,
    ".arrow": _Arrow,
}
WRITTEN: dict[str, Callable[[pd.DataFrame], bytes]] = {
    ".csv": _csv_bytes,
    ".parquet": lambda table: table.to_parquet(index=False),
    ".jsonl": _json_bytes,
    ".npz": _npz_bytes,
}
