"""The tables of [Cola] as lines that can be run: one row per base and strategy, its columns the data sets and splits.

The paper prints learning rate and weight decay, and neither epochs nor batch: those are Crossmatch's own, ten passes
over the training pairs (`PAPER_SCALE`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from core.base.lazy import pandas as pd
from core.base.paths import assets
from core.cola.run import StrategyRun
from core.datasets.paper_results import reference
from core.figures.text import _part_text
from core.metrics.retrieval import COLA_MAP, METRICS, QUERY_ALL_MAP
from core.papers._table_rows import TableCell, TableLine
from core.scorers.cola_config import GROUP_RESULTS, PAPER_SCALE, PROTOCOL, PROTOCOL_BASE, STRATEGIES

_BASES = {"CLIP": "openai/clip-vit-base-patch32", "FLAVA": "facebook/flava-full"}
# Data set of the paper -> what is trained on and measured. Multi-object and CREPE pairs come with GQA's run.
_SETS = {
    "Cola GQA": "cola/single-gqa",
    "Cola CLEVR": "cola/single-clevr",
    "Cola PACO": "cola/single-paco",
    "Cola multi-object": "cola/single-gqa",
    "CREPE": "cola/single-gqa",
    "CIFAR-10": "cola/single-gqa",
}
_MIXES = {
    "RegionCap": "region",
    "SingleObj": "single",
    "+ MultiObj": "multi",
    "+ HardNeg": "hard",
    "Combined": "combined",
}
# What a table's strategies train on where its rows do not say. Tables 1 and 3 to 5 have single-object queries: the
# MM-Adapter of Table 1 is the row SingleObj of Table 2b (46.83). That of Table 2a has the CREPE accuracy of its row
# "+ MultiObj" (87.02); the paper does not say more.
_USUAL_MIX, _MIX_OF_TABLE = "single", {"Table 2a": "multi"}
_PAIRS = {"Cola multi-object": "multi_object", "CREPE": "crepe", "CIFAR-10": "cifar10"}
# What the paper did and no strategy here does, as a method of its tables -> what is missing.
_FURTHER_TRAINING = {
    "MM-Adapter, then 5 % of CIFAR-10": "training on classes besides, which no strategy here does"
}
_HEADS = {
    **{name: metric.label for name, metric in METRICS.items()},
    **GROUP_RESULTS,
    "parameters": "million weights trained",
}
TABLES = (
    ("1", "Table 1", "strategies on GQA, CLEVR and PACO"),
    ("2a", "Table 2a", "strategies on multi-object pairs and CREPE"),
    ("2b", "Table 2b", "what MM-Adapter trains on"),
    ("3", "Table 3", "the harder lists of CLEVR, and ranks"),
    ("4", "Table 4", "standard mAP"),
    ("5", "Table 5", "fusions of MM-Adapter"),
    ("7", "Section 7", "what adaptation costs on CIFAR-10"),
    ("10", "Section 10", "F1 on GQA"),
)


class TestCell(TableCell):
    """A number of a strategy's test results; `part` is the split of the queries."""

    __test__ = False  # pytest: not a class of tests

    def _value(self, record: Any, name: str) -> float | None:
        if name == "parameters":
            return record["parameters"]["trained"] / 1e6
        result = self._estimate(record, name)
        return None if result is None else result["value"]

    def _estimate(self, record: Any, name: str) -> Any:
        test = record.get("test") or {}
        return test.get(name) or test.get("retrieval", {}).get(name, {}).get(self.part or "all")


@cache  # pages ask several times a visit; nothing in it changes while a process lives
def lines(table: str) -> list[TableLine]:
    """The lines of a table of the paper, in its order."""
    rows = reference("Cola", table)
    keys = dict.fromkeys(zip(rows["model"], rows["method"], strict=True))
    mix = _MIX_OF_TABLE.get(table, _USUAL_MIX)
    printed = [_line(*key, rows[(rows[["model", "method"]] == key).all(axis=1)], mix) for key in keys]
    return [*printed, *protocol_lines()] if table == "Table 1" else printed


def _line(model: str, method: str, rows: pd.DataFrame, mix: str) -> TableLine:
    label = ", ".join(filter(None, (model, method)))
    if method in _FURTHER_TRAINING:
        return TableLine(
            label, tuple(_cell(row, []) for _, row in rows.iterrows()), None, _FURTHER_TRAINING[method]
        )
    options = options_of(method, mix)
    if model not in _BASES or options is None:  # people and chance: printed numbers
        return TableLine(label, tuple(_cell(row, []) for _, row in rows.iterrows()), None)
    datasets = list(dict.fromkeys(rows["dataset"]))
    benchmarks = list(dict.fromkeys(_SETS[name] for name in datasets))
    jobs = tuple(StrategyRun.of(name, _BASES[model], options=options) for name in benchmarks)
    cells = tuple(_cell(row, benchmarks) for _, row in rows.iterrows())
    measures = ("cifar-10",) if datasets == ["CIFAR-10"] else ()
    return TableLine(label, cells, jobs[0], more=jobs[1:], measures=measures)


def options_of(method: str, mix: str = _USUAL_MIX) -> dict[str, Any] | None:
    """The settings of a method of the paper's tables; None for one that is no strategy.

    mix : where the method names none. `zero-shot` is what any run measures before its first step; Linear's is the
    quickest.
    """
    name, _, more = method.partition(", ")
    what, _, value = more.partition(": ")
    strategy = {s.row: key for key, s in STRATEGIES.items() if s.row} | {"zero-shot": "linear"}
    if name not in strategy:
        return None
    chosen = {"strategy": strategy[name], "mix": mix, **PAPER_SCALE}
    if what == "data":
        chosen["mix"] = _MIXES[value]
    elif what == "fusion":
        chosen["fusion"] = value.lower()
    return chosen


def _cell(row: pd.Series, benchmarks: list[str]) -> TestCell:
    dataset, subset, metric = str(row["dataset"]), str(row["subset"]), str(row["metric"])
    of = _PAIRS.get(dataset, metric)
    when = "before" if row["method"] == "zero-shot" else "after"
    split, where = "", ""
    if of not in _PAIRS.values():
        split, where = subset, f"{dataset.removeprefix('Cola ')}{f' {subset}' if subset else ''}, "
    return TestCell(
        str(row["method"]),
        metric,
        when,
        of,
        **TestCell.printed(row),
        part=split,
        head=f"{where}{_HEADS[of]}",
        source=((benchmarks.index(_SETS[dataset]), 1.0),) if benchmarks else (),
    )


# ---- the same on the built-in world

_WORLD_CELLS = (
    (COLA_MAP, "all"),
    (COLA_MAP, "unseen"),  # in the paper's order
    (COLA_MAP, "seen"),
    (QUERY_ALL_MAP, "all"),
    ("multi_object", ""),
    ("crepe", ""),
)
PROTOCOL_SEEDS = 3
_BUILT_IN = "built-in world"  # begins the labels of the lines that need no data
# The protocol, and its longest training (benchmarks/results/cola.py), which nothing but its end ends.
LENGTHS: tuple[dict[str, Any], ...] = ({**PROTOCOL}, {**PROTOCOL, "epochs": 64, "patience": None})


def remark(table_lines: Sequence[TableLine]) -> str:
    """What a reader of the built-in world's lines must know; "" where there are none."""
    ours = {line.job.settings.epochs for line in table_lines if line.label.startswith(_BUILT_IN) and line.job}
    first, last = (each["epochs"] for each in LENGTHS)
    where = "see “What training changes” on the Retrieval page."
    if ours == {last}:
        return f"Training takes {last} epochs, by which the paper's claims are decided: {where}"
    return (
        f"On the built-in world training takes {first} epochs, which validation may end early. The paper's claims are "
        f"decided by {last} (table “Cola-{last}” of the built-in world), after which the strategies "
        f"stand in another order: {where}"
        if ours
        else ""
    )


def protocol_lines(
    cells: Sequence[tuple[str, str]] = (*_WORLD_CELLS, ("forgetting", "")), length: int = 0
) -> list[TableLine]:
    """The paper's question by the true protocol on the built-in world, which needs no data; three seeds each.

    cells : metric and part of each column. length : place in `LENGTHS`.
    """
    rates = _chosen_rates()
    return [
        replace(
            _strategy_line(
                label,
                f"{_BUILT_IN}, {label}" + (f" ({PROTOCOL_BASE})" if when == "before" else ""),
                when,
                _on_built_in_world(
                    PROTOCOL_BASE, {**LENGTHS[length], "strategy": name, "lr": rates.get(name)}
                ),
                cells,
            ),
            seeds=1 if when == "before" else PROTOCOL_SEEDS,
        )
        for label, when, name in _before_and_after()
    ]


def _on_built_in_world(model: str, options: Mapping[str, Any]) -> StrategyRun:
    return StrategyRun.of("scenes/retrieval", model, options=dict(options))


def _before_and_after() -> list[tuple[str, str, str]]:
    """Label, when, and the strategy whose runs are read: any of them measures the base before its first step."""
    return [("before", "before", "linear"), *((s.label, "after", name) for name, s in STRATEGIES.items())]


def _strategy_line(
    method: str,
    label: str,
    when: str,
    job: StrategyRun,
    cells: Sequence[tuple[str, str]] = _WORLD_CELLS,
) -> TableLine:
    found = tuple(
        TestCell(
            method,
            name,
            when,
            name,
            part=part,
            head=f"{_HEADS[name]}{f', {_part_text(part)}' if part else ''}",
        )
        for name, part in cells
    )
    return TableLine(label, found, job, seeds=1 if when == "before" else None)


def figure_5() -> list[TableLine]:
    """Cola mAP by the number of attributes of a query: on CLEVR as the paper has it, and on the built-in world.

    The paper prints none of its values and says mAP alone; here it is Cola mAP, as in its Table 1.
    """
    cells = tuple((COLA_MAP, f"attributes-{n}") for n in (1, 2, 3))
    on_clevr = [
        _strategy_line(
            label,
            f"CLEVR, CLIP, {label}",
            when,
            StrategyRun.of(
                "clevr-attributes",
                _BASES["CLIP"],
                options={"mix": _USUAL_MIX, **PAPER_SCALE, "strategy": name},
            ),
            cells,
        )
        for label, when, name in _before_and_after()
    ]
    return [*on_clevr, *protocol_lines(cells)]


def _chosen_rates() -> dict[str, float]:
    """The learning rates that validation queries chose for the protocol (benchmarks/results/cola.py), by strategy.

    Only of brackets that are whole: the best of the rates tried has a worse one on both sides.
    """
    path = assets() / "results" / "cola_lr.csv"
    trials = pd.read_csv(path) if path.is_file() else pd.DataFrame()
    if "model" not in trials:
        return {}
    mine = trials[(trials["model"] == PROTOCOL_BASE) & (trials["mix"] == PROTOCOL["mix"])]
    chosen = {}
    for name, rows in mine.groupby("strategy"):
        rates = rows["lr"].to_numpy(float)
        best = float(rates[rows["all"].to_numpy(float).argmax()])
        if rates.min() < best < rates.max():
            chosen[str(name)] = best
    return chosen
