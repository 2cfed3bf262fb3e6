"""Score files as JSONL, one object per group with keys such as `c0_i0`, as Winoground's are."""

from __future__ import annotations

import codecs
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core.base.errors import InputError, printable
from core.base.interrupt import between_blocks
from core.base.lazy import pandas as pd
from core.base.limits import check, check_shape
from core.datasets.score_files.common import ScoreFile, check_cells

_CELL = re.compile(r"c(0|[1-9][0-9]{0,8})_i(0|[1-9][0-9]{0,8})")  # caption, image


class _Row(NamedTuple):
    """One line: its scores (m, k), its id, the caption of each image or None, and what else it holds, as text."""

    cells: np.ndarray
    id: str
    truth: np.ndarray | None
    tags: dict[str, str]


def read(path: Path | str, content: bytes) -> ScoreFile:
    """A score file from the bytes of JSON lines, one line at a time: objects take many times their text."""
    rows: list[_Row] = []
    names: set[str] = set()
    for number, line in _lines(path, content):
        row = _row(f"{path}: line {number}", line, len(rows))
        rows.append(row)
        _check_same_shape(path, number, row.cells.shape, rows[0].cells.shape)
        names.update(row.tags)
        if len(rows) % 1000 == 1:
            between_blocks()
            check_shape(path, len(rows), *row.cells.shape)
            check(path, columns=len(names), cells=len(rows) * len(names))
    if not rows:  # a byte order mark alone, for instance
        raise InputError(f"{path} is empty; choose another file.")
    check_shape(path, len(rows), *rows[0].cells.shape)
    check_cells(path, len(rows), len(names))
    tags = pd.DataFrame.from_records([row.tags for row in rows]).fillna("") if names else None
    return ScoreFile(
        np.stack([row.cells for row in rows]), _truth(path, rows), [row.id for row in rows], tags
    )


def _lines(path: Path | str, content: bytes) -> Iterator[tuple[int, str]]:
    """Each line that is not blank, with its number."""
    for number, line in enumerate(io.BytesIO(content.removeprefix(codecs.BOM_UTF8)), 1):
        check(f"{path}: line {number}", line=len(line))
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise InputError(f"{path} is not UTF-8 text; save it again as UTF-8.") from None
        if text.strip():
            yield number, text


def _check_same_shape(path: Path | str, number: int, shape: tuple[int, ...], first: tuple[int, ...]) -> None:
    if shape != first:
        raise InputError(
            f"{path}: line {number} has {shape[0]} images and {shape[1]} captions, the first line {first[0]} and "
            f"{first[1]}; put groups of different shapes into separate files."
        )


def write(file: ScoreFile) -> bytes:
    """JSON lines of a score file."""
    _, m, k = file.scores.shape
    lines = []
    for g, name in enumerate(file.ids):
        row: dict[str, Any] = {"id": name}
        row |= {f"c{j}_i{i}": float(file.scores[g, i, j]) for i in range(m) for j in range(k)}
        if file.truth is not None:
            row["truth"] = file.truth[g].tolist()
        for tag, value in {} if file.tags is None else file.tags.iloc[g].items():
            if tag in row or _CELL.fullmatch(str(tag)):
                raise InputError(f"A tag cannot be called {tag!r} in a score file; give it another name.")
            row[str(tag)] = str(value)
        lines.append(json.dumps(row, ensure_ascii=False))
    return ("\n".join(lines) + "\n").encode()


def _parse(where: str, line: str) -> dict[str, Any]:
    def unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for spelt, value in items:
            key = printable(spelt)
            if key in row:
                raise InputError(f"{where} has the key {key!r} twice; leave one of them out.")
            row[key] = printable(value) if isinstance(value, str) else value
        return row

    try:
        row = json.loads(line, object_pairs_hook=unique)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON ({error}); write one object per line.") from None
    if not isinstance(row, dict):
        raise InputError(f"{where} is not a JSON object; write one object per group and line.")
    return row


def _cells(where: str, row: dict[str, Any]) -> np.ndarray:
    """Take the scores (m, k) out of an object."""
    hits = {key: hit for key in row if (hit := _CELL.fullmatch(key))}
    places = {(int(hit[2]), int(hit[1])): key for key, hit in hits.items()}  # (image, caption)
    if not places:
        raise InputError(f"{where} has no scores; name them c0_i0, c1_i0, ... (caption, image).")
    m, k = (max(place[axis] for place in places) + 1 for axis in (0, 1))
    check(where, group=len(places))
    if m * k > len(places):
        absent = next(f"c{j}_i{i}" for i in range(m) for j in range(k) if (i, j) not in places)
        raise InputError(f"{where} has no {absent!r}; add it.")
    cells = np.empty((m, k))
    for place, key in places.items():
        value = row.pop(key)
        # Also false for NaN, and for integers that no float can hold.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e308:
            raise InputError(f"{where} has {value!r} for {key!r}; it must be a finite number.")
        cells[place] = value
    return cells


def _row(where: str, line: str, index: int) -> _Row:
    row = _parse(where, line)
    cells = _cells(where, row)
    name = str(row.pop("id", index))
    told = row.pop("truth", None)
    if told is not None and (
        not isinstance(told, list)
        or len(told) != len(cells)
        or any(type(j) is not int or abs(j) > 10**9 for j in told)
    ):
        raise _truth_error(where, name, told, len(cells))
    tags = {key: value if isinstance(value, str) else json.dumps(value) for key, value in row.items()}
    return _Row(cells, name, None if told is None else np.array(told, dtype=np.int64), tags)


def _truth_error(where: Path | str, name: str, told: Any, m: int) -> InputError:
    return InputError(
        f"{where}: `truth` of group {name!r} is {json.dumps(told)}; list the caption index of each of its {m} images, "
        "for all groups or for none."
    )


def _truth(path: Path | str, rows: list[_Row]) -> np.ndarray | None:
    """The caption of each image, (n, m); None where no line tells it, InputError where only some do."""
    told = [row.truth for row in rows if row.truth is not None]
    if not told:
        return None
    if len(told) < len(rows):
        without = next(row for row in rows if row.truth is None)
        raise _truth_error(path, without.id, None, len(without.cells))
    return np.stack(told)
