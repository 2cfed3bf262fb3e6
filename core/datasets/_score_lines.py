"""JSON lines with a score each: `{"group": "g0", "image": 0, "caption": 1, "score": 0.5}`, as rows of a CSV."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from core.base.errors import InputError, printable
from core.base.interrupt import between_blocks
from core.base.lazy import pandas as pd
from core.base.limits import check
from core.base.table_formats import Table, check_cells
from core.datasets._pair_names import _CELL, _pair_names

_BLOCK = 1000  # lines between two looks at the limits


def _has_a_score_per_line(keys: Collection[str]) -> bool:
    """Whether a line with these keys is one score, not those of a group."""
    return "score" in keys and not any(map(_CELL.fullmatch, keys)) and not _pair_names([*keys])


def _frame_of_lines(table: Table, required: Collection[str]) -> pd.DataFrame:
    """A row per line, with what no table holds as text. InputError as of `Table.frame`, within the limits."""
    rows: list[dict[str, Any]] = []
    columns: dict[str, None] = {}
    for row in table.sound_rows():
        cells = {printable(key): _cell(value) for key, value in row.cells.items()}
        if lacking := next((name for name in required if name not in cells), None):
            raise InputError(f"{table.name}: {table.unit} {row.number} has no key {lacking!r}; add it.")
        rows.append(cells)
        columns |= dict.fromkeys(cells)
        if len(rows) % _BLOCK == 1:
            between_blocks()
            check(table.name, columns=len(columns), cells=len(rows) * len(columns))
    check_cells(table.name, len(rows), len(columns))
    found = pd.DataFrame.from_records(rows, columns=[*columns])
    tags = [name for name in columns if name not in {*required, "match"}]
    return found.fillna(dict.fromkeys(tags, ""))  # a line need not have every tag


def _cell(value: Any) -> Any:
    """A value as a table has it: yes and no, lists and numbers that no float can hold are texts."""
    if isinstance(value, str):
        return printable(value)
    plain = value is None or isinstance(value, float) or (type(value) is int and abs(value) < 2**63)
    return value if plain else json.dumps(value)
