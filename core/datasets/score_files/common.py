"""What every score file has in common: its content, and bytes from a path or an upload."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.base.errors import InputError
from core.base.lazy import pandas as pd
from core.base.limits import check, check_memory, limits
from core.base.parquet import parquet_errors, read_parquet

SLACK, MOST_RATIO = 64 << 20, 100  # a file may unfold to this much and a hundred times its size


@dataclass(frozen=True)
class ScoreFile:
    """What a score file holds.

    scores : float32 or float64 (n, m, k), finite. truth : int64 (n, m), or None where the file has none.
    ids : n distinct names. tags : one row per group, text; or None.
    """

    scores: np.ndarray
    truth: np.ndarray | None
    ids: list[str]
    tags: pd.DataFrame | None = None


def read_bytes(path: Path | str, data: bytes | None = None) -> bytes:
    """A file's bytes; InputError where it cannot be read or is empty."""
    try:
        content = Path(path).read_bytes() if data is None else data
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path.") from None
    if not content.strip():
        raise InputError(f"{path} is empty; choose another file.")
    return content


def max_bytes(content: bytes) -> int:
    """Bytes that a file may hold once it is decompressed: a small file that claims far more is a trap."""
    return min(limits().unfolded, SLACK + MOST_RATIO * len(content))


def check_cells(path: Path | str, rows: int, columns: int) -> None:
    """Raise InputError where a table of texts or numbers is too large, by its rows and columns."""
    check(path, columns=columns, cells=rows * columns)
    check_memory(
        path, 200 * rows * columns
    )  # a short text in pandas, and copies of it while groups are found


def parquet_frame(path: Path | str, content: bytes) -> pd.DataFrame:
    """The table in a Parquet file's bytes; InputError, in one sentence, for what is damaged or too large."""
    table = read_parquet(path, content, max_bytes(content))
    check_cells(path, len(table), len(table.columns))
    with parquet_errors(path):
        return table.to_pandas()
