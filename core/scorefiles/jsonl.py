"""Score files as JSONL, one object per group with keys such as `c0_i0`, as Winoground's are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core.errors import InputError, writable
from core.scorefiles.common import ScoreFile

_CELL = re.compile(r"c(0|[1-9]\d*)_i(0|[1-9]\d*)")  # caption, image


def read(path: Path | str, content: bytes) -> ScoreFile:
    """A score file from the bytes of JSON lines."""
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text; save it again as UTF-8.") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not numbered:  # a byte order mark alone, for instance
        raise InputError(f"{path} is empty; choose another file.")
    objects = [_parse(f"{path}: line {number}", line) for number, line in numbered]
    cells = [
        _cells(f"{path}: line {number}", row) for (number, _), row in zip(numbered, objects, strict=True)
    ]
    for (number, _), found in zip(numbered, cells, strict=True):
        if found.shape != cells[0].shape:
            raise InputError(
                f"{path}: line {number} has {found.shape[0]} images and {found.shape[1]} captions, the first line "
                f"{cells[0].shape[0]} and {cells[0].shape[1]}; put groups of different shapes into files of their own."
            )
    ids = [str(row.pop("id", index)) for index, row in enumerate(objects)]
    return ScoreFile(np.stack(cells), _truth(path, objects, ids, cells[0].shape[0]), ids, _tags(objects))


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
            key = writable(spelt)
            if key in row:
                raise InputError(f"{where} has the key {key!r} twice; leave one of them out.")
            row[key] = writable(value) if isinstance(value, str) else value
        return row

    try:
        row = json.loads(line, object_pairs_hook=unique)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is no JSON ({error}); write one object per line.") from None
    if not isinstance(row, dict):
        raise InputError(f"{where} is no JSON object; write one object per group and line.")
    return row


def _cells(where: str, row: dict[str, Any]) -> np.ndarray:
    """Take the scores (m, k) out of an object."""
    hits = {key: hit for key in row if (hit := _CELL.fullmatch(key))}
    places = {(int(hit[2]), int(hit[1])): key for key, hit in hits.items()}  # (image, caption)
    if not places:
        raise InputError(f"{where} has no scores; name them c0_i0, c1_i0, ... (caption, image).")
    m, k = (max(place[axis] for place in places) + 1 for axis in (0, 1))
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


def _truth(path: Path | str, objects: list[dict[str, Any]], ids: list[str], m: int) -> np.ndarray | None:
    rows = [row.pop("truth", None) for row in objects]
    if all(row is None for row in rows):
        return None
    for name, row in zip(ids, rows, strict=True):
        if (
            not isinstance(row, list)
            or len(row) != m
            or any(type(j) is not int or abs(j) > 10**9 for j in row)
        ):
            raise InputError(
                f"{path}: `truth` of group {name!r} is {json.dumps(row)}; list the caption index of each of its {m} "
                "images, for all groups or for none."
            )
    return np.array(rows, dtype=np.int64)


def _tags(objects: list[dict[str, Any]]) -> pd.DataFrame | None:
    """What else the objects hold, as text; None if nothing."""
    texts = [{k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in objects]
    tags = pd.DataFrame.from_records(texts)
    return tags.fillna("") if len(tags.columns) else None
