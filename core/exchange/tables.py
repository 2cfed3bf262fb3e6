"""A table as CSV, Parquet, JSON lines or NPZ, and back with the same numbers in every one of them.

Texts are quoted in the CSV and numbers are not, so that an id such as `007` stays a text. A missing number is an empty
cell, a null, or NaN. Yes and no are 1 and 0.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from core.base.errors import InputError, printable
from core.base.files import storage_errors, write_bytes
from core.base.lazy import pandas as pd
from core.base.limits import check
from core.datasets.score_files import load_npz, parquet_frame, read_bytes

ENDINGS = (".csv", ".parquet", ".jsonl", ".npz")
_TEXT_COLUMNS = ("id", "group")  # texts in any case, also in a CSV that a spreadsheet saved again


def check_ending(path: Path | str) -> str:
    """A path's ending; InputError for one that no table has."""
    suffix = Path(path).suffix.lower()
    if suffix not in ENDINGS:
        raise InputError(f"{path} cannot be written; its name must end in {', '.join(ENDINGS)}.")
    return suffix


def table_bytes(table: pd.DataFrame, suffix: str) -> bytes:
    """A table in the format of an ending (`.csv`, ...)."""
    return _FORMATS[suffix][0](_plain(table))


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table, whole or not at all, so that `read_table` gives it back; the ending decides the format."""
    suffix = check_ending(path)
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, table_bytes(table, suffix))


def read_table(path: Path | str, data: bytes | None = None) -> pd.DataFrame:
    """A table that `write_table` wrote: text columns as str, number columns as int64 or float64 (NaN where missing).

    data : the file's bytes, where it is an upload. Raises InputError, in one sentence, for what is no such file.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in ENDINGS:
        raise InputError(f"{path} is not a table; its name must end in {', '.join(ENDINGS)}.")
    table = _FORMATS[suffix][1](path, read_bytes(path, data))
    if not len(table.columns):
        raise InputError(f"{path} has no columns; choose another file.")
    table.columns = [str(name) for name in table.columns]
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise InputError(f"{path} has the column {twice[0]!r} twice; give each column a different name.")
    try:
        return _plain(table)
    except OverflowError:
        raise InputError(f"{path} holds a whole number that is too large; write it as text.") from None


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """Columns of text (object), int64 or float64."""
    return pd.DataFrame({str(name): _column(str(name), table[name]) for name in table.columns})


def _column(name: str, values: pd.Series) -> pd.Series:
    found = values.astype(object).tolist()
    missing = [v is None or v is pd.NA or (isinstance(v, float) and math.isnan(v)) for v in found]
    known = [v for v, gone in zip(found, missing, strict=True) if not gone]
    numbers = bool(known) and all(isinstance(v, bool | int | float | np.number | np.bool_) for v in known)
    if (not known and len(found) and name not in _TEXT_COLUMNS) or numbers:
        if (
            known
            and not any(missing)
            and all(isinstance(v, int | np.integer | bool | np.bool_) for v in known)
        ):
            return pd.Series([int(v) for v in found], dtype=np.int64)
        return pd.Series(
            [math.nan if gone else float(v) for v, gone in zip(found, missing, strict=True)], dtype=np.float64
        )
    return pd.Series(["" if gone else str(v) for v, gone in zip(found, missing, strict=True)], dtype=object)


# --- CSV


def _to_csv(table: pd.DataFrame) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(list(table.columns))
    for row in table.itertuples(index=False, name=None):
        writer.writerow(["" if isinstance(v, float) and math.isnan(v) else _number(v) for v in row])
    return out.getvalue().encode()


def _number(value: Any) -> Any:
    """Numbers that Python's csv writes with all their digits."""
    return value.item() if isinstance(value, np.generic) else value


def _from_csv(path: Path | str, content: bytes) -> pd.DataFrame:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as CSV (UTF-8).") from None
    try:
        head, *rows = list(csv.reader(io.StringIO(text, newline="")))
    except (csv.Error, ValueError) as error:
        raise InputError(f"{path} is not a CSV table ({error}); save or fetch it again.") from None
    bad = next((i for i, row in enumerate(rows) if row and len(row) != len(head)), None)
    if bad is not None:
        raise InputError(
            f"{path}: row {bad + 2} has {len(rows[bad])} cells, the header {len(head)}; complete it."
        )
    cells, typed = [row for row in rows if row], _quoted(text)
    columns = {name: [row[j] for row in cells] for j, name in enumerate(head)}
    return pd.DataFrame({n: _parsed(n, v, typed.get(n)) for n, v in columns.items()}, columns=head)


def _quoted(text: str) -> dict[str, bool]:
    """Column -> whether it holds texts, told by quotation marks; {} where a program dropped the marks."""
    try:
        head, *rows = list(csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONNUMERIC))
    except (csv.Error, ValueError):
        return {}
    return {str(name): all(isinstance(row[j], str) for row in rows if row) for j, name in enumerate(head)}


def _parsed(name: str, cells: list[str], text: bool | None) -> pd.Series:
    """A column's cells as numbers, where they are; a column of empty texts is one of missing numbers."""
    if name in _TEXT_COLUMNS or (text and any(cells)):
        return pd.Series(cells, dtype=object)
    try:
        found = [math.nan if c == "" else int(c) if c.lstrip("-").isdigit() else float(c) for c in cells]
    except ValueError:
        return pd.Series(cells, dtype=object)
    return pd.Series(found, dtype=object)


# --- Parquet, JSON lines, NPZ


def _to_parquet(table: pd.DataFrame) -> bytes:
    return table.to_parquet(index=False)


def _from_parquet(path: Path | str, content: bytes) -> pd.DataFrame:
    return parquet_frame(path, content)


def _to_jsonl(table: pd.DataFrame) -> bytes:
    lines = []
    for row in table.itertuples(index=False, name=None):
        cells = (None if isinstance(v, float) and math.isnan(v) else _number(v) for v in row)
        record = dict(zip(table.columns, cells, strict=True))
        lines.append(json.dumps(record, ensure_ascii=False, allow_nan=False))
    return ("\n".join(lines) + "\n").encode()


def _from_jsonl(path: Path | str, content: bytes) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    names: set[str] = set()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it again as UTF-8.") from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{path}: line {number} is not JSON ({error}); write one object per line."
            ) from None
        if not isinstance(row, dict) or any(isinstance(v, dict | list) for v in row.values()):
            raise InputError(
                f"{path}: line {number} is not a row of a table; write one flat object per line."
            )
        rows.append({printable(k): printable(v) if isinstance(v, str) else v for k, v in row.items()})
        names.update(rows[-1])  # every row gets every other row's columns
        check(path, columns=len(names), cells=len(names) * len(rows))
    return pd.DataFrame.from_records(rows)


def _to_npz(table: pd.DataFrame) -> bytes:
    arrays: dict[str, Any] = {
        str(name): table[name].to_numpy(dtype=str) if table[name].dtype == object else table[name].to_numpy()
        for name in table.columns
    }
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def _from_npz(path: Path | str, content: bytes) -> pd.DataFrame:
    arrays = load_npz(path, content)
    lengths = {name: array.shape for name, array in arrays.items()}
    if len(set(lengths.values())) > 1 or any(len(shape) != 1 for shape in lengths.values()):
        raise InputError(
            f"{path} holds arrays of shapes {sorted(set(lengths.values()))}; a table's are all (rows,)."
        )
    return pd.DataFrame({n: a.astype(object) if a.dtype.kind == "U" else a for n, a in arrays.items()})


_FORMATS: dict[str, tuple[Callable[[pd.DataFrame], bytes], Callable[[Path | str, bytes], pd.DataFrame]]] = {
    ".csv": (_to_csv, _from_csv),
    ".parquet": (_to_parquet, _from_parquet),
    ".jsonl": (_to_jsonl, _from_jsonl),
    ".npz": (_to_npz, _from_npz),
}
