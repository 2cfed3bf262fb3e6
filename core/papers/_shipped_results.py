"""What ships with Crossmatch of the built-in world's tables: measured over seeds, in assets/results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from statistics import fmean
from typing import Any

from core.base.lazy import pandas as pd
from core.base.paths import assets
from core.cola.run import StrategyRun
from core.metrics.groups import GLOBAL_MATCH, GROUP_MATCH, GROUP_SCORE
from core.metrics.statistics import Estimate
from core.papers._table_rows import TableCell, TableLine
from core.papers.measurement_run import MeasurementRun
from core.runs.description import RunDescription
from core.scorers.cola_config import GROUP_RESULTS, PROTOCOL, STRATEGIES
from core.ttm.run import RUNS
from core.ttm.seeds import SeedSpread, spread

_METRICS = (GROUP_SCORE, GROUP_MATCH, GLOBAL_MATCH)
_ENDS = [f"{metric}_{end}" for metric in _METRICS for end in ("low", "high")]
# What intervals are over; of several seeds the mean of their bounds, but for the last one.
GROUPS, _QUERIES, SEEDS_TOO = "groups", "queries", "seeds and questions or pairs"
_WHOLE = "all"  # the part of a run that is not a transfer check's
# Columns of the description itself; every other setting is one of the method's.
_OWN: dict[str, Callable[[str], Any]] = {"adapt_on": float, "oracle": lambda text: bool(int(text))}


class ShippedRuns:
    """The shipped runs of one description: the job that they are of, and the records of every seed."""

    def __init__(self, job: RunDescription, seeds: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        self.job, self.seeds = job, seeds

    @cached_property
    def written(self) -> dict[str, Any]:
        """The job as it is stored: every line of every table is compared with it."""
        return self.job.written()

    def read(self, cell: TableCell) -> SeedSpread | None:
        """A cell's number over the seeds; None where these runs do not have it.

        What is before adaptation is no seed's doing: it counts once.
        """
        seeds = self.seeds[:1] if cell.when == "before" else self.seeds
        values = [value for records in seeds if (value := cell.read(records)) is not None]
        return spread(values, cell.population) if values else None

    def interval(self, cell: TableCell) -> tuple[float, float] | None:
        """A cell's 95 % interval over groups, the mean of the seeds' bounds; None where there is none."""
        if any(job for job, _ in cell.source):  # of several jobs, whose runs these are not
            return None
        found = [cell.interval({0: records}) for records in self.seeds]
        ends = [each for each in found if each is not None]
        return (fmean(low for low, _ in ends), fmean(high for _, high in ends)) if ends else None

    def over(self, cell: TableCell) -> str:
        """What the interval of a cell is over, in words; "" where it has none."""
        if self.interval(cell) is None:
            return ""
        estimate = cell._estimate(cell._record(self.seeds[0]), cell.of)
        return str((estimate or {}).get("over", GROUPS))

    def chance(self, cell: TableCell) -> float | None:
        """A cell's chance level in percent; None where the file has none."""
        return None if any(job for job, _ in cell.source) else cell.chance({0: self.seeds[0]})


@cache
def measured() -> tuple[ShippedRuns, ...]:
    """Everything that was measured; what has no file yet is left out."""
    readers = {"ttm_ablations.csv": _adapted, "cola.csv": _strategies}
    readers["cola_longer.csv"] = _strategies_trained_longer
    runs: list[ShippedRuns] = []
    for name, read in readers.items():
        path = assets() / "results" / name
        if path.is_file():
            runs += read(pd.read_csv(path, keep_default_na=False, na_values=[""]))
    return (*runs, *_measurements())


def of_line(line: TableLine) -> list[ShippedRuns]:
    """What ships of a line's runs."""
    return [] if line.job is None else [each for each in measured() if line.job.same(each.written)]


def _clear_side(before: float, low: float | None, high: float | None) -> int:
    """1 where a value is above what it was before, -1 where below, else 0: `before` is outside the 95 % interval
    after, which is neither paired nor corrected for how many are looked at. low, high : that interval over groups, the
    mean of the seeds' bounds; None where there is none.

    An interval of the paired difference would be narrower, as both are of the same groups; it takes every group's
    outcome before and after, and the shipped results hold sums.
    """
    if low is None or high is None:
        return 0
    return int(low > before) - int(high < before)


def _adapted(table: pd.DataFrame) -> list[ShippedRuns]:
    """Test-time matching and SimpleMatch, by iteration (benchmarks/results/ablations.py)."""
    runs = _with_intervals(table).groupby(["kind", "model", "benchmark", "setting"], sort=False)
    return [
        ShippedRuns(_job(*map(str, key)), [_records(of_seed) for _, of_seed in rows.groupby("seed")])
        for key, rows in runs
    ]


def _with_intervals(table: pd.DataFrame) -> pd.DataFrame:
    """With the intervals that a run of today has, of the metrics that are yes or no of a group: of the same number two
    intervals would stand in a cell, as those in the file are older, of resamples."""
    found = table.copy()
    for metric in (GROUP_SCORE, GROUP_MATCH):
        for n, rows in table.groupby("groups"):
            share = rows[metric].to_numpy() / 100
            ends = Estimate.interval_of_moments(share, share, int(str(n)))
            for name, bounds in zip(("low", "high"), ends, strict=True):
                found.loc[rows.index, f"{metric}_{name}"] = 100 * bounds
    return found


def _strategies(table: pd.DataFrame) -> list[ShippedRuns]:
    """Cola's strategies by its protocol on the built-in scenes, before and after (benchmarks/results/cola.py)."""
    return _of_length(table, PROTOCOL)


def _strategies_trained_longer(table: pd.DataFrame) -> list[ShippedRuns]:
    """The same with more epochs, which nothing but their end ends."""
    lengths = table.groupby("epochs", sort=False)
    return [
        each
        for epochs, rows in lengths
        for each in _of_length(rows, {**PROTOCOL, "epochs": int(str(epochs)), "patience": None})
    ]


def _of_length(table: pd.DataFrame, protocol: Mapping[str, Any]) -> list[ShippedRuns]:
    base = [_tests(table[table["strategy"] == "base"])] if (table["strategy"] == "base").any() else []
    shipped = []
    for key, rows in table[table["strategy"] != "base"].groupby(
        ["strategy", "fusion", "mix", "model", "lr"], sort=False
    ):
        strategy, fusion, mix, model, lr = (*key[:4], float(str(key[4])))
        fused = {"fusion": fusion} if STRATEGIES[str(strategy)].joint else {}
        options = {**protocol, "strategy": strategy, **fused, "mix": mix, "lr": lr}
        job = StrategyRun.of("scenes/retrieval", str(model), options=options)
        shipped.append(ShippedRuns(job, [[*base, _tests(of_seed)] for _, of_seed in rows.groupby("seed")]))
    return shipped


def _tests(rows: pd.DataFrame) -> dict[str, Any]:
    """Test results as a run's record has them."""
    test: dict[str, Any] = {"retrieval": {}}
    for _, row in rows.iterrows():
        value, metric = _test(row), str(row["metric"])
        if metric in GROUP_RESULTS:
            test[metric] = value
        else:
            test["retrieval"].setdefault(metric, {})[str(row["part"])] = value
    return {"test": test, "parameters": {"trained": int(rows["trained"].iloc[0])}}


def _test(row: pd.Series) -> dict[str, Any]:
    """A row as an estimate: its interval is that of the mean over seeds where the row has it, else its own."""
    whole = pd.notna(row.get("mean_low"))
    low, high = ((f"mean_{end}" if whole else end) for end in ("low", "high"))
    names = {"value": "value", "low": low, "high": high, "chance": "chance"}
    found = {name: float(row[of]) for name, of in names.items() if pd.notna(row.get(of))}
    return {**found, "over": SEEDS_TOO if whole else _QUERIES}


def _measurements() -> list[ShippedRuns]:
    """The built-in captioner with and without its prior, as its runs record it (benchmarks/results/measured.py)."""
    path = assets() / "results" / "measured.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    found = [json.loads(line) for line in lines]
    return [ShippedRuns(MeasurementRun.read(each["run"]), [[each["record"]]]) for each in found]


def _job(kind: str, model: str, benchmark: str, setting: str) -> RunDescription:
    """The description of a row: `setting` holds options as `name=value` with spaces, or `preset` for none."""
    given = dict(part.split("=", 1) for part in setting.split() if "=" in part)
    more = {name: parse(given.pop(name)) for name, parse in _OWN.items() if name in given}
    options = {name: _value(name, text) for name, text in given.items()}
    return RUNS[kind].of(benchmark, model, options=options, **more)


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
    iterations: dict[int, dict[str, Any]] = {}
    for row in rows[["iteration", "part", *_METRICS, *_ENDS]].to_dict("records"):
        iterations.setdefault(row["iteration"], {})[str(row["part"])] = {"metrics": _metrics(row)}
    return [{"metrics": parts[_WHOLE]["metrics"], "parts": parts} for _, parts in sorted(iterations.items())]


def _metrics(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Each with its 95 % interval over groups."""
    return {
        name: {"value": float(row[name]), **{end: float(row[f"{name}_{end}"]) for end in ("low", "high")}}
        for name in _METRICS
        if pd.notna(row[name])
    }
