"""What a run's model costs on other sets, as `core.cola.forgetting` measures it: the table beside the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.base import files
from core.base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_COST_FILE = "cost.csv"  # in a run's folder, and in its archive
_WORDS = ("set", "shape", "metric")
_COST_COLUMNS = (
    *_WORDS, "groups", "before", "before_low", "before_high", "after", "after_low", "after_high",
    "chance", "difference", "low", "high", "fixed", "broken", "p_value", "ties_before", "ties_after",
)  # fmt: skip


def _write_cost(folder: Path, table: pd.DataFrame) -> None:
    path = folder / _COST_FILE
    with files.storage_errors(path):
        files.write_bytes(path, table.to_csv(index=False).encode())


def _read_cost(folder: Path) -> pd.DataFrame | None:
    """The table in a run's folder; None where nobody has measured it. Raises InputError where it is damaged."""
    import numpy as np
    import pandas as pd

    path = folder / _COST_FILE
    if not path.is_file():
        return None
    try:
        table = pd.read_csv(path, dtype=dict.fromkeys(_WORDS, str), keep_default_na=False)
        if tuple(table.columns) != _COST_COLUMNS:
            raise ValueError("other columns")
        numbers = table[[name for name in _COST_COLUMNS if name not in _WORDS]].to_numpy(dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("a number is missing")
    except ValueError as error:  # pandas' own for what is no table are ValueErrors
        raise InputError(
            f"{_COST_FILE} of a run is damaged ({error}); delete it and measure again."
        ) from None
    return table
