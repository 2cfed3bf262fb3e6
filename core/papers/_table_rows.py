"""What a table is made of: cells, which read a number off a run's records, and lines, which name the runs they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isnan
from typing import TYPE_CHECKING, Any

from core import datasets
from core.metrics.group_metrics import GROUP_SCORE
from core.runs.description import RunDescription

if TYPE_CHECKING:  # the help of `reproduce` waits for no tables
    import pandas as pd

GAINS = ("absolute_gain", "relative_gain", "error_reduction")
Records = Sequence[Mapping[str, Any]]


def _is_memorised(method: str, metric: str) -> bool:
    """Whether a cell's chance level is that of a model which has memorised random matchings: it has each group wholly
    right, or wholly wrong, as these matchings are."""
    return method in ("SimpleMatch", "TTM") and metric == GROUP_SCORE


@dataclass(frozen=True)
class TableCell:
    """One number of a table: where the paper has it, and how it is read off a run's records."""

    method: str  # as the paper names it: "raw", "SimpleMatch", "TTM", "TTM T=3"
    metric: str  # a metric, or one of GAINS
    when: str  # "before" or "after" adaptation; "first": after the first iteration
    of: str  # the metric that it comes from: `metric` itself, or what a gain is of
    base: str = ""  # of a gain: the metric before adaptation that it is over
    paper: float | None = None
    std: float | None = None
    note: str = ""
    # Whether the deviation over seeds divides by n, as the paper's does; else by n - 1.
    population: bool = False
    part: str = ""  # of a transfer check: "adapted" or "untouched"; elsewhere what the record has parts of
    head: str | None = None  # its column's heading, where method and metric do not say enough
    # The jobs of its line that it is read off, each with its weight in the mean.
    source: tuple[tuple[int, float], ...] = ((0, 1.0),)

    @staticmethod
    def printed(row: pd.Series, *remarks: str) -> dict[str, Any]:
        """What a row of `paper_results.reference` says of a cell: the number, its deviation and its note."""
        std = None if isnan(row["std"]) else float(row["std"])
        note = "; ".join(filter(None, (str(row["note"]), *remarks)))
        return {"paper": float(row["value"]), "std": std, "note": note}

    def read(self, records: Records) -> float | None:
        """The cell's number from the records of one complete run; None where they do not have it."""
        after = self._value(self._record(records), self.of)
        if self.metric not in GAINS or after is None:
            return after
        base = self._value(records[0], self.base)
        if base is None:
            return None
        gain = after - base
        denominator = {"absolute_gain": 100.0, "relative_gain": base, "error_reduction": 100 - base}[
            self.metric
        ]
        return 100 * gain / denominator if denominator else None

    def read_mean(self, records: Mapping[int, Records]) -> float | None:
        """The mean over its jobs (`source`) of one seed, from the records of each job."""
        parts = [(self.read(records[job]), weight) for job, weight in self.source]
        return (
            None
            if any(v is None for v, _ in parts)
            else sum(v * weight for v, weight in parts if v is not None)
        )

    def interval(self, records: Mapping[int, Records]) -> tuple[float, float] | None:
        """The 95 % interval over groups (low, high) of one seed; of a mean over jobs the mean of their bounds. None for
        gains and for what is no metric."""
        parts = [(self._estimate(self._record(records[job]), self.of), weight) for job, weight in self.source]
        if self.metric in GAINS or any(e is None or e.get("low") is None for e, _ in parts):
            return None
        low, high = (sum(e[bound] * weight for e, weight in parts if e) for bound in ("low", "high"))
        return None if isnan(low) or isnan(high) else (low, high)

    def chance(self, records: Mapping[int, Records]) -> float | None:
        """The chance level in percent that the records of one seed say, over its jobs as `interval`; None where they
        say none, and for gains."""
        parts = [(self._estimate(self._record(records[job]), self.of), weight) for job, weight in self.source]
        if self.metric in GAINS or not parts or any(e is None or e.get("chance") is None for e, _ in parts):
            return None
        return sum(e["chance"] * weight for e, weight in parts if e)

    def _record(self, records: Records) -> Mapping[str, Any]:
        return records[{"before": 0, "first": 1, "after": -1}[self.when]]

    def _estimate(self, record: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
        """A metric's estimate in a record, with its interval; None where the record has none."""
        metrics = record["parts"][self.part]["metrics"] if self.part else record["metrics"]
        return metrics.get(name)

    def _value(self, record: Mapping[str, Any], name: str) -> float | None:
        if name in ("coverage", "precision"):  # shares of the run's own, not metrics of its scores
            return None if record.get(name) is None else 100 * record[name]
        estimate = self._estimate(record, name)
        return None if estimate is None else estimate["value"]


@dataclass(frozen=True)
class TableLine:
    """One row of a table: the runs (over seeds) that it needs, and its cells."""

    label: str  # "Winoground, SigLIP-B16"
    cells: tuple[TableCell, ...]
    job: RunDescription | None  # of the first seed; None where nothing here can run it
    why: str = ""  # the next step where `job` is None; "" for what is printed and no run at all
    more: tuple[RunDescription, ...] = ()  # further runs: a row that holds several data sets
    seeds: int | None = None  # of a measurement that trains nothing: 1; None: as many as asked for
    # Further data that its numbers are of; its runs do without where they lack.
    measures: tuple[str, ...] = ()

    @property
    def jobs(self) -> tuple[RunDescription, ...]:
        """Every run that the line needs, of its first seed."""
        return () if self.job is None else (self.job, *self.more)


@cache
def benchmarks_of_papers() -> dict[tuple[str, str], str]:
    """Data set and subset as the papers name them -> the benchmark."""
    names = [name for name in datasets.names(None) if not name.startswith("mine/")]
    entries = {name: datasets.benchmark_entry(name) for name in names}
    return {e.reference: name for name, e in entries.items() if e is not None and e.reference}
