"""All that is wrong in a file of scores or embeddings, row by row or cell by cell; `score_files.read_scores` and
`embeddings.read_embeddings` stop at the first kind of fault."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.table_formats import _read_array, _separator, _why_long, open_table, read_arrays
from core.base.text import counted
from core.datasets._pair_names import _read_names
from core.datasets._sample_logs import is_sample_log
from core.datasets.embeddings import _CAPTION_NAMES, _IMAGE_NAMES
from core.datasets.score_files import _CELL, _frame_of_lines, _has_a_score_per_line, _value

LISTED = 500  # faults
_LINES = (".jsonl", ".json")  # of which each line, or each object of the list, is a group
_LABELS = ("group", "image", "caption")
_COLUMNS = (*_LABELS, "score")
_MATCHES = {"1", "1.0", "true", "yes", "0", "0.0", "false", "no"}
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+\s*")


class ScoreFault(NamedTuple):
    """One thing that is wrong."""

    row: int | None  # as a spreadsheet counts: the header is row 1; None: the whole file, or an array
    column: str  # "" where it is the whole row; of an array its cell, `scores[10, 0, 1]`
    what: str
    fix: str

    @classmethod
    def of_file(cls, path: Path | str, content: bytes) -> list[ScoreFault]:
        """The faults of a table with a row per score (CSV, Parquet), of one with a row or line per group (these, JSON
        lines) or of the arrays of an NPZ, the first `LISTED` in the order of the rows or cells; [] for another form,
        and for a file that cannot be read at all."""
        if Path(path).suffix.lower() in (".npz", ".npy"):
            return list(islice(_array_faults(path, content), LISTED))
        if Path(path).suffix.lower() in _LINES:
            return _in_order(chain(_faults_by_line(path, content), _faults_by_group(path, content)))
        if Path(path).suffix.lower() not in (".csv", ".parquet"):
            return []
        long: list[ScoreFault] = []
        torn: set[str] = set()  # groups of which a row cannot be read
        try:
            table = open_table(path, content).frame()
        except InputError:
            table, long, torn = _without_long_rows(path, content)
            if not long:
                return []
        lacks = [name for name in _COLUMNS if name not in table]
        if len(lacks) > 2:  # it is a table of something else, or has a row per group
            return _in_order(_faults_by_group(path, content))
        if lacks:
            return [cls(None, name, "the column is missing", "add it") for name in lacks]
        return _in_order(chain(long, _faults(_texts(table), torn)))

    @property
    def _where(self) -> str:
        """`row 3, score`, `scores[10, 0, 1]`; `the file, score` of a column that is missing."""
        place = "the file" if self.column in _COLUMNS else ""
        return ", ".join(filter(None, [place if self.row is None else f"row {self.row}", self.column]))


def _in_order(faults: Iterable[ScoreFault]) -> list[ScoreFault]:
    """The first `LISTED` by their rows."""
    return sorted(islice(faults, 20 * LISTED), key=lambda fault: fault.row or 0)[:LISTED]


def _without_long_rows(path: Path | str, content: bytes) -> tuple[pd.DataFrame, list[ScoreFault], set[str]]:
    """A CSV whose rows with more cells than its head are left out, these rows as faults, and their groups; the index is
    that of the whole file. Nothing of what cannot be read in spite of that."""
    rows: list[list[str]] = []
    mark = ","
    if Path(path).suffix.lower() == ".csv":
        with suppress(ValueError, csv.Error):
            text = content.decode("utf-8-sig")
            mark = _separator(text.lstrip().partition("\n")[0])
            rows = [row for row in csv.reader(StringIO(text, newline=""), delimiter=mark) if row]
    head = rows[0] if rows and len(rows[0]) > 1 else []  # a single name is no header of rows with more cells
    if not head:
        rows = []
    faults, fitting, torn = [], {}, set()
    for i, row in enumerate(rows[1:]):
        if len(row) <= len(head):
            fitting[i] = [*row, *[""] * (len(head) - len(row))]
            continue
        faults.append(
            ScoreFault(i + 2, "", f"the row has {len(row)} cells, the header {len(head)}", _why_long(mark))
        )
        torn |= {row[head.index("group")].strip()} if "group" in head else set()
    widths = {len(row) for row in rows[1:]}
    if len(faults) > 1 and not fitting and len(widths) == 1:  # the header alone is at fault
        what = f"the header has {len(head)} names, every row {widths.pop()} cells"
        faults = [ScoreFault(1, "", what, "add the name that the header lacks")]
    return pd.DataFrame([*fitting.values()], index=[*fitting], columns=head), faults, torn


def _texts(table: pd.DataFrame) -> pd.DataFrame:
    return table.fillna("").astype(str).apply(lambda column: column.str.strip())


def _faults(table: pd.DataFrame, torn: Collection[str] = ()) -> Iterator[ScoreFault]:
    """torn : groups that are not asked to be complete."""
    empty = table[[*_COLUMNS]] == ""
    for name in _COLUMNS:
        for row in empty.index[empty[name]]:
            yield ScoreFault(int(row) + 2, name, "the cell is empty", "fill it, or leave its group out")
    whole = table[~empty[[*_LABELS]].any(axis=1) & ~table["group"].isin(torn)]
    yield from _bad_scores(table[~empty["score"]])
    twice = whole.duplicated([*_LABELS])
    for row in whole.index[twice]:
        yield ScoreFault(row + 2, "", f"{_cell(whole.loc[row])} is there twice", "leave one of them out")
    yield from _incomplete_groups(whole[~twice])
    if "match" in table:
        yield from _bad_matches(whole[~twice])


def _cell(row: pd.Series) -> str:
    return ", ".join(f"{name} {row[name]!r}" for name in _LABELS)


def _bad_scores(table: pd.DataFrame) -> Iterator[ScoreFault]:
    numbers = pd.to_numeric(table["score"], errors="coerce").to_numpy(dtype=np.float64)
    for row, text in table["score"][~np.isfinite(numbers)].items():
        fix = "write a point for the comma" if _DECIMAL_COMMA.fullmatch(text) else "write a finite number"
        yield ScoreFault(row + 2, "score", f"{text!r} is no finite number", fix)


def _incomplete_groups(table: pd.DataFrame) -> Iterator[ScoreFault]:
    """Groups with other images or captions than most, and scores that a group lacks."""
    groups = table.groupby("group", sort=False)
    sizes = pd.DataFrame({name: groups[name].nunique() for name in ("image", "caption")})
    if sizes.empty:
        return
    usual = sizes.value_counts().index[0]
    odd = (groups.size() != sizes["image"] * sizes["caption"]) | (sizes != usual).any(axis=1)
    for name, rows in table[table["group"].isin(sizes.index[odd])].groupby("group", sort=False):
        images, captions = (list(dict.fromkeys(rows[column])) for column in ("image", "caption"))
        first = int(rows.index[0]) + 2
        if (len(images), len(captions)) != tuple(usual):
            has = f"{counted(len(images), 'image')} and {counted(len(captions), 'caption')}"
            what = f"group {name!r} has {has}, most groups {usual[0]} and {usual[1]}"
            yield ScoreFault(first, "", what, "add what is missing, or put it into a file of its own")
        there = {*zip(rows["image"], rows["caption"], strict=True)}
        for image, caption in ((i, j) for i in images for j in captions if (i, j) not in there):
            what = f"group {name!r} has no score of image {image!r} with caption {caption!r}"
            yield ScoreFault(first, "", what, "add its row")


def _bad_matches(table: pd.DataFrame) -> Iterator[ScoreFault]:
    known = table["match"].str.lower().isin(_MATCHES)
    for row, text in zip(table.index[~known].tolist(), table["match"][~known], strict=True):
        yield ScoreFault(row + 2, "match", f"{text!r} is neither 1 nor 0", "write 1 or 0")
    sound = table[known & ~table["group"].isin(table["group"][~known])]
    right = sound["match"].str.lower().isin(("1", "1.0", "true", "yes"))
    cells = pd.DataFrame({name: sound[name] for name in ("group", "image")})
    cells = cells.assign(right=right, row=sound.index)
    images = cells.groupby(["group", "image"], sort=False).agg(right=("right", "sum"), row=("row", "first"))
    images = images.reset_index()
    images["several"] = images.groupby("group")["image"].transform("size") > 1
    odd = images[(images["right"] == 0) | (images["several"] & (images["right"] > 1))]
    for each in odd.to_dict("records"):
        has = counted(int(each["right"]), "caption")
        what = f"image {each['image']!r} of group {each['group']!r} has {has} with match = 1"
        fix = "leave exactly one at 1" if each["several"] else "give at least one the value 1"
        yield ScoreFault(int(each["row"]) + 2, "match", what, fix)


def _faults_by_line(path: Path | str, content: bytes) -> Iterator[ScoreFault]:
    """The faults of JSON lines with a score each; none of others."""
    try:
        opened = open_table(path, content)
        first = next(opened.sound_rows(), None)
        if first is None or not _has_a_score_per_line(first.cells):
            return
        table = _texts(_frame_of_lines(opened, ()))
    except InputError:
        return
    lacks = [name for name in _COLUMNS if name not in table]
    if lacks:
        yield from (ScoreFault(None, name, "the key is missing", "add it") for name in lacks)
        return
    yield from (fault._replace(row=fault.row and fault.row - 1) for fault in _faults(table))


# --- a row, or a line of JSON, per group


class _GroupRow(NamedTuple):
    """A group as its row has it: the number of the row, its id or "", images and captions, and its truth."""

    row: int
    name: str
    shape: tuple[int, int]
    truth: Any


def _faults_by_group(path: Path | str, content: bytes) -> Iterator[ScoreFault]:
    """The faults of a file whose rows are groups (`c0_i0`, `c1_i0`, ..., optional `id` and `truth`); none of others."""
    rows: list[_GroupRow] = []
    try:
        table = open_table(path, content)
        pairs = _read_names(table.columns)
        theirs = {} if pairs is None else {cell: name for name, cell in pairs.cells.items()}
        for number, row in enumerate(table.rows()):
            cells = row.cells if pairs is None else pairs.renamed(row.cells)
            if table.of_texts:
                cells = {key: _value(key, text) for key, text in cells.items()}
            if (
                number == 0
                and not row.fault
                and (is_sample_log(cells) or not any(map(_CELL.fullmatch, cells)))
            ):
                return
            if row.fault:
                yield ScoreFault(row.number, "", row.fault, row.fix)
                continue
            for fault in _bad_cells(row.number, cells):
                yield fault._replace(column=theirs.get(fault.column, fault.column))
            if (shape := _shape_of(cells)) is not None:
                rows.append(_GroupRow(row.number, str(cells.get("id", "")), shape, cells.get("truth")))
    except InputError:  # damaged further on; what was found is told
        pass
    yield from _odd_shapes(rows)
    yield from _ids_twice(rows)
    yield from _bad_truths(rows)


def _positions(cells: Mapping[str, Any]) -> dict[tuple[int, int], str]:
    """The key of each score by (image, caption)."""
    hits = ((key, _CELL.fullmatch(key)) for key in cells)
    return {(int(hit[2]), int(hit[1])): key for key, hit in hits if hit}


def _shape_of(cells: Mapping[str, Any]) -> tuple[int, int] | None:
    """Images and captions of a group; None of one that has no scores."""
    places = _positions(cells)
    return (max(i for i, _ in places) + 1, max(j for _, j in places) + 1) if places else None


def _bad_cells(row: int, cells: Mapping[str, Any]) -> Iterator[ScoreFault]:
    """Scores of one group that are missing or no numbers."""
    places, shape = _positions(cells), _shape_of(cells)
    if shape is None:
        yield ScoreFault(row, "", "it has no scores", "name them c0_i0, c1_i0, ... (caption, image)")
        return
    absent = (f"c{j}_i{i}" for i in range(shape[0]) for j in range(shape[1]) if (i, j) not in places)
    for key in islice(absent, LISTED):
        yield ScoreFault(row, key, "it is missing", "add it")
    for key in places.values():
        value = cells[key]
        # Also false for NaN, and for integers that no float can hold.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e308:
            yield ScoreFault(row, key, f"{value!r} is no finite number", "write a finite number")


def _odd_shapes(rows: Sequence[_GroupRow]) -> Iterator[ScoreFault]:
    if not rows:
        return
    usual = Counter(each.shape for each in rows).most_common(1)[0][0]
    for each in rows:
        if each.shape != usual:
            has = f"{counted(each.shape[0], 'image')} and {counted(each.shape[1], 'caption')}"
            what = f"the group has {has}, most groups {usual[0]} and {usual[1]}"
            yield ScoreFault(each.row, "", what, "add what is missing, or put it into a file of its own")


def _ids_twice(rows: Sequence[_GroupRow]) -> Iterator[ScoreFault]:
    first: dict[str, int] = {}
    for each in rows:
        if each.name and first.setdefault(each.name, each.row) != each.row:
            what = f"{each.name!r} is the id of row {first[each.name]} already"
            yield ScoreFault(each.row, "id", what, "give each group an id of its own")


def _bad_truths(rows: Sequence[_GroupRow]) -> Iterator[ScoreFault]:
    """Truths that name no caption of each image, and groups without one where others have it."""
    if all(each.truth is None for each in rows):
        return
    for each in rows:
        m, k = each.shape
        fix = f"list the caption of each image, distinct numbers from 0 to {k - 1}"
        if each.truth is None:
            yield ScoreFault(each.row, "truth", "it is missing, and other groups have one", fix)
        elif not _is_truth(each.truth, m, k):
            yield ScoreFault(each.row, "truth", f"it is {json.dumps(each.truth)}", fix)


def _is_truth(truth: Any, m: int, k: int) -> bool:
    whole = isinstance(truth, list) and all(type(j) is int and 0 <= j < k for j in truth)
    return whole and len({*truth}) == len(truth) and (len(truth) == m or (m == 1 < len(truth) < k))


# --- arrays


def _array_faults(path: Path | str, content: bytes) -> Iterator[ScoreFault]:
    """The faults of scores (n, m, k) with their ids and truth, or of embeddings; none where a shape is wrong, which one
    sentence says."""
    try:
        is_alone = Path(path).suffix.lower() == ".npy"
        arrays = {"scores": _read_array(path, content)} if is_alone else read_arrays(path, content)
    except InputError:
        return
    if "scores" in arrays:
        yield from _score_array_faults(arrays)
        return
    of_kind = {
        kind: {name: array for name, array in arrays.items() if name.lower() in names}
        for kind, names in _EMBEDDED.items()
    }
    if not any(of_kind.values()):
        return
    for kind, found in of_kind.items():  # first: nothing of the file is read without it
        yield from _missing_embeddings(kind, list(found), list(arrays))
    yield from _odd_dimensions(list(chain(*(found.items() for found in of_kind.values()))))
    for kind, found in of_kind.items():
        for name, array in found.items():
            yield from _bad_embeddings(name, kind, array)


_EMBEDDED = {"image": _IMAGE_NAMES, "caption": _CAPTION_NAMES}


def _missing_embeddings(kind: str, found: Sequence[str], names: Sequence[str]) -> Iterator[ScoreFault]:
    """A kind of embeddings that a file lacks, or has under several names."""
    name = _EMBEDDED[kind][0]
    if not found:
        what = f"no array holds the {kind} embeddings; the file has {', '.join(names)}"
        yield ScoreFault(None, name, what, f"add it, or name it {name}")
    elif len(found) > 1:
        what = f"the {kind} embeddings are there {len(found)} times: {', '.join(found)}"
        yield ScoreFault(None, name, what, "leave all but one out")


def _odd_dimensions(arrays: Sequence[tuple[str, np.ndarray]]) -> Iterator[ScoreFault]:
    """Arrays that are no embeddings by their shape or type, and images and captions of different lengths."""
    shaped = {name: array.shape[-1] for name, array in arrays if array.ndim in (2, 3)}
    for name, array in arrays:
        if name not in shaped or not array.size or array.dtype.kind not in "fiu":
            what = f"it is {array.dtype} of shape {array.shape}"
            fix = "store numbers of shape (rows, dimensions), or (groups, rows in each, dimensions)"
            yield ScoreFault(None, name, what, fix)
    if len(arrays) == len(_EMBEDDED) == len(shaped) and len({*shaped.values()}) > 1:
        (one, a), (two, b) = shaped.items()
        yield ScoreFault(
            None, one, f"its rows have {a} numbers, those of {two} {b}", "take both from one model"
        )


def _score_array_faults(arrays: Mapping[str, np.ndarray]) -> Iterator[ScoreFault]:
    scores = arrays["scores"]
    ids = arrays.get("ids", np.arange(len(scores)) if scores.ndim else np.arange(0))
    if scores.ndim != 3 or ids.shape != scores.shape[:1] or ids.dtype.kind not in "USiufb":
        return
    names = list(map(_id_text, ids))
    if scores.dtype.kind == "f":
        for g, i, j in np.argwhere(~np.isfinite(scores)).tolist():
            what = f"group {names[g]!r}, image {i}, caption {j}: {scores[g, i, j]} is no finite number"
            yield ScoreFault(None, f"scores[{g}, {i}, {j}]", what, _SCORE_AGAIN)
    first: dict[str, int] = {}
    for g, name in enumerate(names):
        if first.setdefault(name, g) != g:
            what = f"{name!r} is the id of group {first[name]} already"
            yield ScoreFault(None, f"ids[{g}]", what, "give each group an id of its own")
    yield from _bad_truth(arrays.get("truth"), names, scores.shape[2])


_SCORE_AGAIN = "score the group again, or leave it out"


def _id_text(value: np.bytes_ | np.generic) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _bad_truth(truth: np.ndarray | None, names: Sequence[str], k: int) -> Iterator[ScoreFault]:
    if truth is None or truth.ndim != 2 or len(truth) != len(names) or truth.dtype.kind not in "iu":
        return
    for g, row in enumerate(truth.tolist()):
        if len({*row}) < len(row) or not all(0 <= j < k for j in row):
            fix = f"write distinct caption indices from 0 to {k - 1}"
            yield ScoreFault(None, f"truth[{g}]", f"that of group {names[g]!r} is {row}", fix)


def _bad_embeddings(name: str, kind: str, array: np.ndarray) -> Iterator[ScoreFault]:
    """Rows that have no direction. array : (rows, d), or by group (n, rows in each, d)."""
    if array.ndim not in (2, 3) or array.dtype.kind != "f":
        return
    finite, zero = np.isfinite(array).all(axis=-1), (array == 0).all(axis=-1)
    for place in np.argwhere(~finite | zero).tolist():
        cell = ", ".join(map(str, place))
        bad = "is zero in all dimensions" if finite[tuple(place)] else "holds what is no finite number"
        yield ScoreFault(None, f"{name}[{cell}]", f"this row of the {kind} embeddings {bad}", _EMBED_AGAIN)


_EMBED_AGAIN = "compute it again, or leave its group out"
