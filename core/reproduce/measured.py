"""What ships with Crossmatch of the built-in world's tables: measured over seeds (assets/results/ttm_ablations.csv)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pandas as pd

from core.jobs import simplematch_job, ttm_job
from core.paths import assets
from core.reproduce.tables import Cell
from core.seeds import Spread, spread

_METRICS = ("group_score", "group_match", "global_match")
_WHOLE = "all"  # the part of a run that is not a transfer check's
# Columns of the description itself; every other setting is one of the method's.
_OWN: dict[str, Callable[[str], Any]] = {"adapt_on": float, "oracle": lambda text: bool(int(text))}


class Measured:
    """The shipped runs of one description: the job that they are of, and the records of every seed."""

    def __init__(self, job: dict[str, Any], seeds: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        self.job, self.seeds = job, seeds

    def read(self, cell: Cell) -> Spread | None:
        """A cell's number over the seeds; None where these runs do not have it."""
        found = [value for records in self.seeds if (value := cell.read(records)) is not None]
        return spread(found) if found else None


@cache
def measured() -> tuple[Measured, ...]:
    """Everything that was measured; () where the file is not there."""
    path = assets() / "results" / "ttm_ablations.csv"
    if not path.is_file():
        return ()
    table = pd.read_csv(path, keep_default_na=False, na_values=[""])
    runs = table.groupby(["kind", "model", "benchmark", "setting"], sort=False)
    return tuple(
        Measured(_job(*map(str, key)), [_records(own) for _, own in rows.groupby("seed")])
        for key, rows in runs
    )


def _job(kind: str, model: str, benchmark: str, setting: str) -> dict[str, Any]:
    """The description of a row: `setting` holds options as `name=value` with spaces, or `preset` for none."""
    given = dict(part.split("=", 1) for part in setting.split() if "=" in part)
    more = {name: parse(given.pop(name)) for name, parse in _OWN.items() if name in given}
    make = ttm_job if kind == "ttm" else simplematch_job
    options = {name: _value(name, text) for name, text in given.items()}
    return make(benchmark, model, options=options, **more)


def _value(name: str, text: str) -> Any:
    if name == "keep_optimizer":
        return bool(int(text))
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """One record per iteration, as a run has them, as far as a table's cells read it."""
    found = []
    for _, own in rows.groupby("iteration"):
        parts = {str(row["part"]): {"metrics": _metrics(row)} for _, row in own.iterrows()}
        found.append({"metrics": parts[_WHOLE]["metrics"], "parts": parts})
    return found


def _metrics(row: pd.Series) -> dict[str, Any]:
    return {name: {"value": float(row[name])} for name in _METRICS if pd.notna(row[name])}
