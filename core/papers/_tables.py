"""Which runs a table consists of, and which number of a run belongs into which cell.

The papers' tables come from `core.datasets.paper_results`, TTM's with its presets; `_vgpt.py` and `_cola.py` have those
of the other two. Those of the built-in world are declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from core import datasets
from core.base.errors import unknown_name
from core.base.lazy import pandas as pd
from core.datasets.paper_results import reference
from core.metrics.groups import GLOBAL_MATCH, GROUP_MATCH, GROUP_SCORE, INDIVIDUAL_MATCH
from core.papers import _cola, _vgpt
from core.papers._table_rows import GAINS, TableCell, TableLine, benchmarks_of_papers
from core.papers.measurement_run import MeasurementRun
from core.ttm.config import MODELS, PRESETS
from core.ttm.run import SimpleMatchRun, TTMRun

SEEDS = 4  # [TTM] 4.1
_SERVED = {"GPT-4.1": "api:gpt-4.1-2025-04-14"}  # [TTM] footnote 1


# ---- the paper's tables


@cache  # pages ask several times a visit; nothing in it changes while a process lives
def _paper_table(number: int) -> list[TableLine]:
    rows = reference("TTM", f"Table {number}")
    table_lines = []
    for key in dict.fromkeys(zip(rows["dataset"], rows["subset"], rows["model"], strict=True)):
        part = rows[(rows[["dataset", "subset", "model"]] == key).all(axis=1)]
        # Table 9 has a row per number of iterations; raw and SimpleMatch are the same in all of them.
        lengths = [m for m in dict.fromkeys(part["method"]) if m.startswith("TTM T=")]
        for length in lengths or [""]:
            chosen = part[~part["method"].str.startswith("TTM T=") | (part["method"] == length)]
            table_lines.append(_paper_line(*key, length, chosen))
    return table_lines


def _paper_line(dataset: str, subset: str, model: str, length: str, rows: pd.DataFrame) -> TableLine:
    is_global = subset == "non-grouped"
    label = ", ".join(filter(None, (dataset, subset, model, length.removeprefix("TTM "))))
    benchmark = benchmarks_of_papers()[dataset, "" if is_global else subset]
    cells = tuple(_paper_cell(row, rows) for _, row in rows.iterrows())
    preset = f"{benchmark}/{model.lower()}{'/global' if is_global else ''}"
    if preset not in PRESETS:  # a served model: it is measured, and has no weights to adapt
        return TableLine(label, cells, MeasurementRun.of(benchmark, _SERVED[model]), seeds=1)
    options = {"iterations": int(length.removeprefix("TTM T="))} if length else {}
    return TableLine(
        label, cells, TTMRun.of(benchmark, MODELS[model.lower()], preset=preset, options=options), ""
    )


def _paper_cell(row: pd.Series, rows: pd.DataFrame) -> TableCell:
    method, metric = str(row["method"]), str(row["metric"])
    when = "before" if method in ("raw", "SimpleMatch") else "after"
    of, base = metric, ""
    if metric in GAINS:
        results = rows[~rows["metric"].isin(GAINS)].set_index("method")["metric"]
        of, base = results[method], results[str(row["note"]).removeprefix("over ")]
    return TableCell(method, metric, when, of, base, population=True, **TableCell.printed(row))


# ---- the paper's figures, whose numbers it does not print


_FIGURES_SET, _FIGURES_MODEL = "winoground", "siglip-b16"
_SELECTED = (
    TableCell("TTM", "coverage", "first", "coverage", head="selected at first, %"),
    TableCell("TTM", "precision", "first", "precision", head="of those right, %"),
)
_BEFORE_AND_AFTER = (
    TableCell("SimpleMatch", GROUP_MATCH, "before", GROUP_MATCH),
    TableCell("TTM", GROUP_MATCH, "after", GROUP_MATCH, population=True),
)


def _figure_line(label: str, options: Mapping[str, Any], *cells: TableCell, **more: Any) -> TableLine:
    """A run of SigLIP-B16 on Winoground with the preset of Table 3, varied."""
    preset, model = f"{_FIGURES_SET}/{_FIGURES_MODEL}", MODELS[_FIGURES_MODEL]
    job = TTMRun.of(_FIGURES_SET, model, preset=preset, options=dict(options), **more)
    return TableLine(f"Winoground, SigLIP-B16, {label}", cells or (*_BEFORE_AND_AFTER, *_SELECTED), job)


def _figure_2() -> list[TableLine]:
    """On the right, the schedules. On the left is the curve of coverage and accuracy over every threshold."""
    schedules = {"decay": "linear", "constant": "constant", "ascend": "ascending"}
    return [_figure_line(label, {"schedule": name}) for label, name in schedules.items()]


def _figure_4() -> list[TableLine]:
    """Metrics before adaptation, the skyline, and first thresholds."""
    return [
        *(_raw_metrics(name) for name in ("CLIP-B16", "SigLIP-B16")),
        _figure_line("without truth", {}, *_BEFORE_AND_AFTER),
        _figure_line("oracle: uses the truth", {}, *_BEFORE_AND_AFTER, oracle=True),
        *(_first_threshold(row) for _, row in reference("TTM", "Fig. 4").iterrows()),
    ]


def _raw_metrics(model: str) -> TableLine:
    name = MODELS[model.lower()]
    metrics = (GROUP_SCORE, INDIVIDUAL_MATCH, GROUP_MATCH)
    cells = [TableCell("raw", metric, "before", metric) for metric in metrics]
    over_all = TableCell("raw", GLOBAL_MATCH, "before", GLOBAL_MATCH, source=((1, 1.0),))
    jobs = [MeasurementRun.of(f"{_FIGURES_SET}{end}", name) for end in ("", "@global")]
    return TableLine(f"Winoground, {model}, metrics", (*cells, over_all), jobs[0], more=(jobs[1],), seeds=1)


def _first_threshold(row: pd.Series) -> TableLine:
    tau = float(str(row["method"]).rpartition("=")[2])
    selected = replace(_SELECTED[0], **TableCell.printed(row))
    cells = (*_BEFORE_AND_AFTER, selected, _SELECTED[1])
    return _figure_line(f"first threshold {tau:g}", {"tau_first": tau}, *cells)


# ---- the built-in world


_ABLATION = "scenes/left-right"
# Those whose gains are measured (benchmarks/results/ablations.py): on every built-in set, and on one of them.
_ON_EVERY_SET = ("builtin/clip", "builtin/siglip", "itc:builtin/blip-itm", "builtin/blip-itm")
_ON_ONE_SET = (_ABLATION, "builtin/clip-early")


def _measured(
    method: str = "TTM", metrics: Sequence[str] = (GROUP_MATCH, GROUP_SCORE), part: str = ""
) -> tuple[TableCell, ...]:
    """The metrics before (SimpleMatch is what GroupMatch says before) and after."""
    before = (
        TableCell("raw", GROUP_SCORE, "before", GROUP_SCORE, part=part),
        TableCell("SimpleMatch", GROUP_MATCH, "before", GROUP_MATCH, part=part),
    )
    return (*before, *(TableCell(method, metric, "after", metric, part=part) for metric in metrics))


def _sets(flat: bool = False) -> list[str]:
    """The built-in sets: in groups, or the flattened ones, where every caption is false of every other image."""
    return [n for n in datasets.names() if n.startswith("scenes/") and n.endswith("@global") == flat]


def _world() -> list[TableLine]:
    """Every built-in set and model: test-time matching, and SimpleMatch as a real step."""
    table_lines = []
    for name, model in (*((name, model) for model in _ON_EVERY_SET for name in _sets()), _ON_ONE_SET):
        table_lines.append(TableLine(f"{name}, {model}", _measured(), TTMRun.of(name, model)))
        cells = TableCell("SimpleMatch", GROUP_SCORE, "after", GROUP_SCORE)
        table_lines.append(
            TableLine(f"{name}, {model}, SimpleMatch", (cells,), SimpleMatchRun.of(name, model))
        )
    return table_lines


def _varied(rows: Mapping[str, Mapping[str, Any]]) -> Callable[[], list[TableLine]]:
    """Lines that differ in settings, on one set and the built-in CLIP; keys are labels."""
    return lambda: [
        TableLine(
            f"{_ABLATION}, {label}", _measured(), TTMRun.of(_ABLATION, "builtin/clip", options=dict(options))
        )
        for label, options in rows.items()
    ]


def _oracle() -> list[TableLine]:
    jobs = {"without": False, "oracle: uses the truth": True}
    return [
        TableLine(f"{_ABLATION}, {label}", _measured(), TTMRun.of(_ABLATION, "builtin/clip", oracle=oracle))
        for label, oracle in jobs.items()
    ]


def _global() -> list[TableLine]:
    options = {"variant": "global", "threshold_mode": "relative", "tau_first": 0.5, "tau_last": 0.0}
    cells = (
        TableCell("raw", GROUP_SCORE, "before", GROUP_SCORE),
        TableCell("SimpleMatch", GLOBAL_MATCH, "before", GLOBAL_MATCH),
        TableCell("TTM", GLOBAL_MATCH, "after", GLOBAL_MATCH),
    )
    return [
        TableLine(f"{name}, builtin/clip", cells, TTMRun.of(name, "builtin/clip", options=options))
        for name in _sets(flat=True)
    ]


def _transfer() -> list[TableLine]:
    cells = (*_measured(part="adapted"), *_measured(part="untouched"))
    return [
        TableLine(f"{name}, builtin/clip", cells, TTMRun.of(name, "builtin/clip", adapt_on=0.5))
        for name in _sets()
    ]


# Name -> what it shows, and its lines.
TABLES: dict[str, tuple[str, Callable[[], list[TableLine]]]] = {
    "ttm/1": ("Winoground, MMVP-VLM and ColorSwap", lambda: _paper_table(1)),
    "ttm/2": ("the same without groups: the global variant", lambda: _paper_table(2)),
    "ttm/6": ("SugarCrepe", lambda: _paper_table(6)),
    "ttm/7": ("WhatsUp, 1x4", lambda: _paper_table(7)),
    "ttm/8": ("WhatsUp, 2x2", lambda: _paper_table(8)),
    "ttm/9": ("fewer iterations", lambda: _paper_table(9)),
    "ttm/fig2": ("threshold schedules", _figure_2),
    "ttm/fig4": ("metrics, skyline and first thresholds", _figure_4),
    "world": (
        "every built-in set with four models, and left-right with a CLIP whose training was stopped early",
        _world,
    ),
    "world/global": ("the built-in sets without groups", _global),
    "world/transfer": ("adapted on half of the groups, measured on both halves", _transfer),
    "world/schedules": (
        "threshold schedules, as Fig. 2 of Test-Time Matching",
        _varied({s: {"schedule": s} for s in ("linear", "cosine", "constant", "ascending")}),
    ),
    "world/thresholds": (
        "first thresholds, as Fig. 4 of Test-Time Matching",
        _varied({f"{100 * c:.0f} % at first": {"coverage_first": c} for c in (0.1, 0.2, 0.3, 0.5, 0.9)}),
    ),
    "world/iterations": (
        "numbers of iterations, as Table 9 of Test-Time Matching",
        _varied({f"T={t}": {"iterations": t} for t in (1, 3, 5, 10)}),
    ),
    "world/oracle": ("the skyline, as Fig. 4 of Test-Time Matching", _oracle),
    "world/cola": (
        f"Cola's strategies on the built-in scenes, {_cola.LENGTHS[0]['epochs']} epochs",
        _cola.protocol_lines,
    ),
    f"world/cola-{_cola.LENGTHS[1]['epochs']}": (
        f"Cola's strategies on the built-in scenes, {_cola.LENGTHS[1]['epochs']} epochs",
        partial(_cola.protocol_lines, length=1),
    ),
    "world/alpha": ("a captioner with and without its language prior", _vgpt.builtin_lines),
    "world/retrieval": (
        "the same among all captions of a set, alpha from validation",
        _vgpt.builtin_retrieval_lines,
    ),
    **{f"vgpt/{key}": (title, partial(_vgpt.lines, table)) for key, table, title in _vgpt.TABLES},
    "vgpt/8": ("alpha of the validation and of the test split, COCO and Flickr30k", _vgpt.validation_lines),
    **{f"cola/{key}": (title, partial(_cola.lines, table)) for key, table, title in _cola.TABLES},
    "cola/fig5": ("Cola mAP by the number of attributes of a query", _cola.figure_5),
}


def lines(name: str) -> list[TableLine]:
    """The lines of a table by name; InputError for one that does not exist."""
    if name not in TABLES:
        raise unknown_name("table", name, TABLES)
    return TABLES[name][1]()
