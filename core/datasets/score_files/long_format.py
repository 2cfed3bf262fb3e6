"""Score files in long form, one row per cell: CSV and Parquet. Also tables of tags."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.limits import check, check_shape
from core.datasets.score_files.common import ScoreFile, check_cells, parquet_frame, read_bytes

_LABELS = ("group", "image", "caption")
_LONG = (*_LABELS, "score")
_YES, _NO = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no")
_WORDS = {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)}
# A row of the table, named for people.
Where = Callable[[int], str]
Shape = tuple[int, int, int]  # (n, m, k)


def read_csv(path: Path | str, content: bytes) -> ScoreFile:
    """A score file from the bytes of a CSV."""
    return _from_long(path, _csv(path, content))


def read_parquet(path: Path | str, content: bytes) -> ScoreFile:
    """A score file from the bytes of a Parquet table."""
    table = parquet_frame(path, content)
    missing = table.isna().any()
    if missing.any():
        raise InputError(
            f"{path} has an empty cell in column {missing.idxmax()!r}; fill it or leave its group out."
        )
    return _from_long(path, table.rename(columns=str))


def write_csv(file: ScoreFile) -> bytes:
    """The CSV of a score file."""
    return _to_long(file).to_csv(index=False).encode()


def write_parquet(file: ScoreFile) -> bytes:
    """The Parquet table of a score file."""
    return _to_long(file).to_parquet(index=False)


def read_tags(path: Path | str, data: bytes | None = None) -> pd.DataFrame:
    """A CSV of tags: column `id`, one further column per tag, all text. Raises InputError for a repeated id."""
    table = _csv(path, read_bytes(path, data))
    _need(table, ("id",), path)
    repeated = table["id"][table["id"].duplicated()]
    if len(repeated):
        raise InputError(
            f"{path} has several rows with id {repeated.iloc[0]!r}; leave all but one of them out."
        )
    return table


def _csv(path: Path | str, content: bytes) -> pd.DataFrame:
    """A CSV as text columns; a byte order mark and either kind of line end are fine."""
    try:
        _check_size(path, content)
        table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it as CSV (UTF-8).") from None
    except InputError:
        raise
    except (ValueError, csv.Error) as error:  # pandas' own errors are ValueErrors too
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise InputError(f"{path} is not a CSV table ({reason}); save or fetch it again.") from None
    if not isinstance(
        table.index, pd.RangeIndex
    ):  # pandas took the first cells for names of rows and shifted the rest
        raise InputError(
            f"{path} has rows with more cells than its header; write numbers with a point, and texts that hold commas "
            "between quotation marks."
        )
    table.columns = table.columns.str.strip()
    return table


def _check_size(path: Path | str, content: bytes) -> None:
    """Raise InputError where a CSV has too many cells: rows that stop short are filled up to the header's length.

    Counted before pandas sees it, which takes minutes to tell a hundred thousand columns of one name apart.
    """
    lines = 1 + max(content.count(b"\n"), content.count(b"\r"))
    check(path, cells=lines + content.count(b","))
    records = csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline=""))
    first = islice((row for row in records if any(map(str.strip, row)) or len(row) > 1), 2)
    check_cells(path, lines, max(map(len, first), default=0))  # the header, and rows with more cells than it


def _need(table: pd.DataFrame, columns: Sequence[str], path: Path | str) -> None:
    for column in columns:
        if column not in table.columns:
            there = ", ".join(map(str, table.columns))
            raise InputError(f"{path} has no column {column!r} among: {there}; add it.")
    if not len(table):
        raise InputError(f"{path} has no rows; choose another file.")


def _from_long(path: Path | str, table: pd.DataFrame) -> ScoreFile:
    _need(table, _LONG, path)
    labels = {name: table[name].astype(str).str.strip() for name in _LABELS}

    def where(row: int) -> str:
        # A CSV with line breaks inside its cells has other line numbers; the labels are right in any case.
        return f"row {row + 2} (" + ", ".join(f"{n} {c.iloc[row]!r}" for n, c in labels.items()) + ")"

    group, ids = pd.factorize(labels["group"])
    image, m = _numbered(group, labels["image"])
    caption, k = _numbered(group, labels["caption"])
    _one_shape(path, ids, {"images": m, "captions": k})
    shape = (len(ids), int(m[0]), int(k[0]))
    check_shape(path, *shape)
    cell = (group * shape[1] + image) * shape[2] + caption
    repeated = pd.Series(cell).duplicated().to_numpy()
    if repeated.any():
        raise InputError(f"{path}: {where(int(repeated.argmax()))} is there twice; leave one of them out.")
    _complete(path, np.sort(cell), shape, ids)
    scores = np.empty(len(cell))
    scores[cell] = _numbers(path, table["score"], where)
    match = _matches(path, table["match"], cell, shape, ids, where) if "match" in table else None
    tags = table[[c for c in table.columns if c not in {*_LONG, "match"}]]
    return ScoreFile(scores.reshape(shape), match, list(ids), _constant(tags, group))


def _numbered(group: np.ndarray, labels: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Each row's label as a number within its group, and how many labels each group has.

    Labels that are 0, 1, ... or 1, 2, ... in every group are those numbers; others count as they first appear.
    """
    frame = pd.DataFrame({"group": group, "label": labels.to_numpy()})
    first = frame.drop_duplicates()
    groups = first.groupby("group")["label"]
    counts = groups.size().to_numpy()
    number = groups.cumcount()
    if first["label"].str.fullmatch(r"\d{1,6}").all():
        value = first["label"].astype(int)
        spread = value.groupby(first["group"]).agg(["min", "max", "nunique"])
        start = spread["min"].iloc[0]
        full = (
            (spread["nunique"] == counts) & (spread["max"] - start + 1 == counts) & (spread["min"] == start)
        )
        if start in (0, 1) and full.all():
            number = value - start
    whole = frame.merge(first.assign(number=number), on=["group", "label"], how="left")
    return whole["number"].to_numpy(), counts


def _one_shape(path: Path | str, ids: pd.Index, sizes: dict[str, np.ndarray]) -> None:
    for what, counts in sizes.items():
        odd = np.flatnonzero(counts != counts[0])
        if len(odd):
            raise InputError(
                f"{path}: group {ids[odd[0]]!r} has {counts[odd[0]]} {what} and group {ids[0]!r} has {counts[0]}; "
                "add what is missing, or put groups of different shapes into separate files."
            )


def _complete(path: Path | str, cells: np.ndarray, shape: Shape, ids: pd.Index) -> None:
    """Raise InputError where the sorted, distinct cell numbers leave one out."""
    if len(cells) == shape[0] * shape[1] * shape[2]:
        return
    gaps = np.flatnonzero(cells != np.arange(len(cells)))
    first = int(gaps[0]) if len(gaps) else len(cells)
    group, rest = divmod(first, shape[1] * shape[2])
    image, caption = divmod(rest, shape[2])
    raise InputError(
        f"{path}: group {ids[group]!r} has no score for its image number {image} with its caption number {caption}; "
        "add the row."
    )


def _numbers(path: Path | str, column: pd.Series, where: Where) -> np.ndarray:
    bad = ~np.isfinite(pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"{path}: the score in {where(row)} is {str(column.iloc[row])!r}; it must be a finite number."
        )
    # Python's own conversion: pandas' may be a last digit off, and what was written must come back.
    return column.astype(object).to_numpy().astype(np.float64)


def _matches(
    path: Path | str, column: pd.Series, cell: np.ndarray, shape: Shape, ids: pd.Index, where: Where
) -> np.ndarray:
    """The caption of each image, int64 (n, m), from a column that is 1 where they belong together."""
    known = column.astype(str).str.strip().str.lower().map(_WORDS)
    if known.isna().any():
        row = int(known.isna().to_numpy().argmax())
        raise InputError(f"{path}: `match` in {where(row)} is {str(column.iloc[row])!r}; write 1 or 0.")
    matrix = np.zeros(len(cell), dtype=bool)
    matrix[cell] = known.to_numpy(dtype=bool)
    matrix = matrix.reshape(shape)
    wrong = np.argwhere(matrix.sum(axis=2) != 1)
    if len(wrong):
        g, i = wrong[0]
        raise InputError(
            f"{path}: image number {i} of group {ids[g]!r} has {matrix[g, i].sum()} captions with match = 1; it needs "
            "exactly one."
        )
    return matrix.argmax(axis=2)


def _constant(columns: pd.DataFrame, group: np.ndarray) -> pd.DataFrame | None:
    """The columns with one value per group, one row per group, as text; None if there are none."""
    if not len(columns.columns):
        return None
    grouped = columns.astype(str).groupby(group)
    tags = grouped.first().loc[:, (grouped.nunique() == 1).all()].reset_index(drop=True)
    return tags if len(tags.columns) else None


def _to_long(file: ScoreFile) -> pd.DataFrame:
    g, i, j = (axis.ravel() for axis in np.indices(file.scores.shape))
    columns = {"group": np.array(file.ids, dtype=object)[g], "image": i, "caption": j}
    table = pd.DataFrame({**columns, "score": file.scores.ravel().astype(np.float64)})
    if file.truth is not None:
        table["match"] = (file.truth[g, i] == j).astype(int)
    if file.tags is None:
        return table
    clash = {*_LONG, "match"} & set(map(str, file.tags.columns))
    if clash:
        raise InputError(f"A tag cannot be called {min(clash)!r} in a score table; give it another name.")
    return pd.concat([table, file.tags.iloc[g].reset_index(drop=True)], axis=1)
