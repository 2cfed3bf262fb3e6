"""The tables of the language-prior paper ([VGPT] Tables 1 and 3-13) as lines that can be run.

A row is one model and score; its columns are the data sets. Nothing is trained, so a line is measured once. Where the
paper's own weights are not published in a form that loads here, the nearest ones stand for them, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from core import datasets
from core.base.lazy import pandas as pd
from core.datasets.base import RETRIEVAL
from core.datasets.paper_results import reference
from core.debiasing.priors import PRIORS, default_kind
from core.debiasing.study import TUNED_ON_TEST, TUNED_PER_ROW
from core.figures.text import label_and_meaning
from core.metrics.groups import GROUP_SCORE, IMAGE_TO_TEXT, TEXT_SCORE
from core.papers._table_rows import Records, TableCell, TableLine, benchmarks_of_papers
from core.papers.measurement_run import MeasurementRun
from core.runs.description import RunDescription
from core.sweeps.evaluate import EvaluationRun

_SUBSTITUTE_NOTE = "the paper's BLIP is the pre-trained ViT-L; this one is its nearest published relative"
_CAPTIONER = "Salesforce/blip-image-captioning-large"
_MATCHER = "Salesforce/blip-itm-large-coco"
# (model, method or its first word) of the paper -> what scores it here, and a remark.
SCORERS: dict[tuple[str, str], tuple[str, str]] = {
    ("BLIP", "ITC"): (f"itc:{_MATCHER}", _SUBSTITUTE_NOTE),
    ("BLIP", "ITM"): (f"itm:{_MATCHER}", _SUBSTITUTE_NOTE),
    ("BLIP", "VisualGPTScore"): (f"vgpt:{_CAPTIONER}", _SUBSTITUTE_NOTE),
    ("BLIP", "blind VLM"): (f"blind:{_CAPTIONER}", _SUBSTITUTE_NOTE),
    ("BLIP-2 Q-Former", "ITC"): ("itc:Salesforce/blip2-itm-vit-g", "the paper's has a ViT-L"),
    ("BLIP-2 Q-Former", "ITM"): ("itm:Salesforce/blip2-itm-vit-g", "the paper's has a ViT-L"),
    ("BLIP-2 FLAN-T5", "VisualGPTScore"): ("vgpt:Salesforce/blip2-flan-t5-xl", "the paper's has a ViT-L"),
    ("LLaVA-1.5", "VisualGPTScore"): ("vgpt:llava-hf/llava-1.5-13b-hf", ""),
    ("CLIP", "discriminative"): ("openai/clip-vit-base-patch32", ""),
    ("CLIP-B32", "CLIPScore"): ("openai/clip-vit-base-patch32", ""),
    ("LAION2B-CLIP", "discriminative"): ("open_clip:ViT-bigG-14/laion2b_s39b_b160k", ""),
    ("LAION2B-CLIP", "ITC"): ("open_clip:ViT-bigG-14/laion2b_s39b_b160k", ""),
    ("LAION5B-CLIP", "discriminative"): (
        "open_clip:xlm-roberta-large-ViT-H-14/frozen_laion5b_s13b_b90k",
        "",
    ),
    ("LAION5B-CLIP", "ITC"): ("open_clip:xlm-roberta-large-ViT-H-14/frozen_laion5b_s13b_b90k", ""),
    ("BART", "blind LM"): ("lm:facebook/bart-base", ""),
    ("FLAN-T5", "blind LM"): ("lm:google/flan-t5-xl", ""),
    ("OPT", "blind LM"): ("lm:facebook/opt-2.7b", ""),
}
# Means over several benchmarks, each subset of a kind counting the same ([VGPT] Table 13: the average of the kinds).
_KINDS = {
    "Replace": ("replace_obj", "replace_att", "replace_rel"),
    "Swap": ("swap_obj", "swap_att"),
    "Add": ("add_obj", "add_att"),
}
_PLAIN = {("EqBen", ""): "eqben/val"}  # Tables 3 and 10 are of one set
_METRICS = {"accuracy": "accuracy_top1"}
_AT = {"0": "alpha_0", "1": "alpha_1", "alpha*_val": "validated", "alpha*_test": "one_alpha"}
_HEADS = {
    "alpha_0": "α = 0",
    "alpha_1": "α = 1",
    "best": f"best α ({TUNED_PER_ROW})",
    "validated": "held-out α",
}
TABLES = (
    ("1a", "Table 1a", "ARO"),
    ("1b", "Table 1b", "VL-CheckList"),
    ("1c", "Table 1c", "SugarCrepe"),
    ("1d", "Table 1d", "CREPE"),
    ("3a", "Table 3a", "image to text: Winoground, EqBen, COCO, Flickr30k, ImageNet"),
    ("3b", "Table 3b", "text to image: Winoground, EqBen, COCO, Flickr30k"),
    ("4", "Table 4", "LLaVA-1.5 on Winoground and EqBen"),
    ("5a", "Table 5a", "pairs of BLIP's training data"),
    ("6", "Table 6", "priors from more and fewer images, Winoground"),
    ("7", "Table 7", "priors from noise or from the set itself, COCO and Flickr30k"),
    ("9", "Table 9", "BLIP-2 on ARO, CREPE, VL-CheckList and SugarCrepe"),
    ("10", "Table 10", "BLIP and BLIP-2 on Winoground and EqBen"),
    ("11", "Table 11", "all metrics on Winoground and EqBen"),
    ("12", "Table 12", "Winoground by tag"),
    ("13", "Table 13", "SugarCrepe, with averages"),
)


class _SubsetCell(TableCell):
    """A number of the whole set, or of the groups of its `part`."""

    def _subset(self, record: Any) -> dict[str, Any]:
        return record.get("parts", {}).get(self.part, {}) if self.part else record


@dataclass(frozen=True)
class AlphaCell(_SubsetCell):
    """A number at some alpha: `base` says which (`alpha_0`, `alpha_1`, `one_alpha`, `best`, `validated`).

    `one_alpha` is one for all metrics and tags of a set, and for all subsets that the paper counts as one data set.
    `validated alpha_0` is the mean over the held-out halves at alpha 0, which Table 3a prints.
    """

    kinds: tuple[
        str, ...
    ] = ()  # of a mean over several benchmarks: which data set of the paper each is part of

    def read_mean(self, records: Mapping[int, Records]) -> float | None:
        """The mean over its benchmarks; where each data set has one alpha, at the best of the mean over its subsets."""
        if self.base != "one_alpha" or not self.kinds:
            return super().read_mean(records)
        grids = [records[job][-1].get("alpha_grid") for job, _ in self.source]
        if any(grid is None for grid in grids):  # of a run from before they were recorded
            return None
        total: dict[str, np.ndarray] = {}
        for kind, (_, weight), grid in zip(self.kinds, self.source, grids, strict=True):
            total[kind] = total.get(kind, 0) + weight * np.asarray(grid)
        return float(sum(curve.max() for curve in total.values()))

    def _value(self, record: Any, name: str) -> float | None:
        result = self._at_alpha(record, name)
        if result is None:
            return None
        inner = self.base.partition(" ")[2]
        value = result[inner or ("alpha" if self.metric == "alpha" else "value")]
        return value["mean"] if isinstance(value, dict) else value

    def _estimate(self, record: Any, name: str) -> Any:
        """At an alpha that was not chosen on the same groups; one that was has no interval."""
        fixed = self.base in ("alpha_0", "alpha_1") and self.metric != "alpha"
        return self._at_alpha(record, name) if fixed else None

    def _at_alpha(self, record: Any, name: str) -> Any:
        """What the record says of a metric at this cell's alpha."""
        found = self._subset(record).get("alpha", {}).get(name, {})
        base = self.base.partition(" ")[0]
        result = found.get(base)
        if base == "one_alpha" and result is None and not self.part and name != GROUP_SCORE:
            result = found.get("best")  # of a retrieval set, whose one alpha that is, and of runs from before
        return result


@dataclass(frozen=True)
class _HeldOutGainCell(AlphaCell):
    """What alpha from one half of the groups gains on the other over alpha 0 there, as the page on language priors
    quotes it: the columns at alpha 0 and 1 are of all groups, so that their difference to the held-out one is none."""

    def read(self, records: Records) -> float | None:
        held = self._record(records).get("alpha", {}).get(self.of, {}).get("validated")
        return None if held is None else held["value"]["mean"] - held["alpha_0"]["mean"]


@dataclass(frozen=True)
class _TransferCell(TableCell):
    """What a retrieval set's record says of the alpha that was chosen on its validation split ([VGPT] Table 8)."""

    def _estimate(self, record: Any, name: str) -> Any:
        """On the test split at the alpha of the validation split, which was not chosen on it."""
        return record.get("alpha", {}).get(IMAGE_TO_TEXT, {}).get("validated") if name == "test" else None

    def _value(self, record: Any, name: str) -> float | None:
        by_alpha = record.get("alpha", {}).get(IMAGE_TO_TEXT, {})
        validated = by_alpha.get("validated", {})
        return {
            "alpha*_val": validated.get("alpha"),
            "alpha*_test": by_alpha.get("best", {}).get("alpha"),
            "validation": validated.get("chosen_on", {}).get("value"),
            "test": validated.get("value"),
            "best": by_alpha.get("best", {}).get("value"),
            "correlation": validated.get("correlation"),
        }[name]


class CountCell(_SubsetCell):
    """How many groups a part has."""

    def _estimate(self, record: Any, name: str) -> None:
        return None

    def _value(self, record: Any, name: str) -> float | None:
        return self._subset(record).get("n_groups")


@cache  # pages ask several times a visit; nothing in it changes while a process lives
def lines(table: str) -> list[TableLine]:
    """The lines of a table of the paper, one per model and method, in the paper's order; every alpha is a line."""
    rows = reference("VGPT", table)
    several = len(set(zip(rows["dataset"], rows["subset"], strict=True))) > 1
    table_lines = []
    for model, method in dict.fromkeys(zip(rows["model"], rows["method"], strict=True)):
        cells = rows[(rows["model"] == model) & (rows["method"] == method)]
        table_lines.append(_line(table, str(model), str(method), cells, several))
    return table_lines


def _line(table: str, model: str, method: str, rows: pd.DataFrame, several: bool) -> TableLine:
    score, how = _parts(method)
    label = ", ".join(filter(None, (model, method.replace("alpha", "α")))) or "number of groups"
    scorer, remark = SCORERS.get((model, score) if model or method else ("BLIP", "ITC"), ("", ""))
    how = "1 null image" if table == "Table 4" and score == "VisualGPTScore" else how  # as its caption says
    benchmarks = list(dict.fromkeys(b for _, row in rows.iterrows() for b in _benchmarks(row)))
    why = _why_not_runnable(model, score, how, benchmarks)
    if not scorer or why:
        return TableLine(
            label, tuple(_cell(row, rows, (), table, several) for _, row in rows.iterrows()), None, why
        )
    tags = list(dict.fromkeys(rows["subset"])) if table == "Table 12" else []
    jobs = tuple(_job(name, scorer, how, score, tags) for name in benchmarks)
    cells = tuple(_cell(row, rows, benchmarks, table, several, remark) for _, row in rows.iterrows())
    seeds = 5 if table == "Table 6" else 1  # draws of the noise ([VGPT] Table 6)
    return TableLine(label, cells, jobs[0], "", jobs[1:], seeds)


def _parts(method: str) -> tuple[str, str]:
    """The score of a method, and what its prior is from: `VisualGPTScore`, `3 null images`."""
    name, _, how = method.partition(", ")
    return re.sub(r" alpha=.*", "", name), how


def _why_not_runnable(model: str, score: str, how: str, benchmarks: Sequence[str]) -> str:
    """The next step where a row cannot be run; "" where it can, or where it is no model's."""
    if score == "chance" or model in ("human", "random"):
        return ""
    if not benchmarks:
        return "BLIP's training pairs: the paper's sample of LAION-114M is not published; there is nothing to fetch"
    if "training images" in how:
        return "BLIP's training images: put some into a folder and run `crossmatch alpha --prior train --images FOLDER`"
    if (model, score) in SCORERS or not (model or score):
        return ""
    return (
        "scores of models without weights that load here: "
        f"`crossmatch evaluate --benchmark {benchmarks[0]} --scores FILE` measures scores from elsewhere"
    )


def _benchmarks(row: pd.Series) -> tuple[str, ...]:
    """What a row's data set is here; several where it is a mean over them, () where it is not here at all."""
    dataset, subset = str(row["dataset"]), str(row["subset"])
    if dataset == "SugarCrepe":
        kinds = _KINDS if subset == "Average" else {subset: _KINDS[subset]}
        return tuple(f"sugarcrepe/{name}" for names in kinds.values() for name in names)
    if (dataset, subset) in _PLAIN:
        return (_PLAIN[dataset, subset],)
    known = benchmarks_of_papers()
    # A tag of Winoground is part of its groups.
    name = known.get((dataset, subset)) or known.get((dataset, ""))
    return () if name is None else (name,)


def _weights(row: pd.Series) -> list[float]:
    """The weight of each of a row's benchmarks in its mean: kinds count the same, and subsets within a kind."""
    if row["dataset"] != "SugarCrepe":
        return [1.0]
    kinds = list(_KINDS.values()) if row["subset"] == "Average" else [_KINDS[str(row["subset"])]]
    return [1 / len(kinds) / len(names) for names in kinds for _ in names]


def _parts_of_paper(row: pd.Series, count: int) -> tuple[str, ...]:
    """For each of a mean's benchmarks the data set of the paper that it is part of; () where there is one alone."""
    if row["dataset"] != "SugarCrepe" or not count:
        return ()
    kinds = _KINDS if row["subset"] == "Average" else {str(row["subset"]): _KINDS[str(row["subset"])]}
    return tuple(kind for kind, names in kinds.items() for _ in names)


def _job(benchmark: str, model: str, how: str, score: str, tags: Sequence[str]) -> RunDescription:
    entry = datasets.benchmark_entry(benchmark)
    is_retrieval = entry is not None and entry.kind == RETRIEVAL
    if score == "VisualGPTScore":
        prior = "test" if "test images" in how else "gaussian" if how else default_kind(benchmark)
        count = re.match(r"(\d+) ", how)
        return MeasurementRun.of(
            benchmark, model, prior=prior, images=None if count is None else int(count[1]), tags=tags
        )
    if is_retrieval or tags:
        return MeasurementRun.of(benchmark, model, tags=tags)
    return EvaluationRun.of(benchmark, model)


def _cell(
    row: pd.Series, rows: pd.DataFrame, benchmarks: Sequence[str], table: str, several: bool, remark: str = ""
) -> TableCell:
    method, metric = str(row["method"]), str(row["metric"])
    where = " ".join(filter(None, (str(row["dataset"]), str(row["subset"])))) if several else ""
    try:
        name = {"alpha": "α", "groups": "groups"}.get(metric) or label_and_meaning(metric)[0]
    except KeyError:
        name = metric.replace("_", " ")
    if where and re.search(r"_r\d+$", metric):  # beside each other, and not every K is a metric here
        name = re.sub(r"_r(?=\d+$)", " R@", metric).replace("_", " ")
    parts = zip(_benchmarks(row), _weights(row), strict=True) if benchmarks else ()
    facts: dict[str, Any] = {
        **TableCell.printed(row, remark),
        "part": str(row["subset"]) if table == "Table 12" else "",
        "head": " ".join(filter(None, (where, name))),
        "source": tuple((benchmarks.index(benchmark), weight) for benchmark, weight in parts),
    }
    if metric == "groups":
        return CountCell(method, metric, "after", metric, **facts)
    at = _at(method, str(row["note"]))
    if at:
        of = _alpha_of(row, rows) if metric == "alpha" else _METRICS.get(metric, metric)
        if at == "one_alpha":
            facts["note"] = "; ".join(filter(None, (facts["note"], f"one alpha, {TUNED_ON_TEST}")))
        return AlphaCell(
            method, metric, "after", of, at, **facts, kinds=_parts_of_paper(row, len(facts["source"]))
        )
    return TableCell(method, metric, "after", _METRICS.get(metric, metric), **facts)


def _at(method: str, note: str) -> str:
    """Which of a measurement's alphas a method is at; "" for one without."""
    match = re.search(r"alpha=([^,]*)", method)
    if match is None:
        return ""
    at = _AT.get(match[1]) or ("validated" if "validation" in note else "one_alpha")
    return f"validated {at}" if "random halves" in note and at != "validated" else at


def _alpha_of(row: pd.Series, rows: pd.DataFrame) -> str:
    """The metric that an alpha was chosen for: the first of the same method and data set."""
    same = rows[
        (rows["method"] == row["method"])
        & (rows["dataset"] == row["dataset"])
        & (rows["subset"] == row["subset"])
        & (rows["metric"] != "alpha")
    ]
    metric = str(same["metric"].iloc[0]) if len(same) else TEXT_SCORE
    return _METRICS.get(metric, metric)


# ---- a figure whose numbers the paper does not print


def _transfer_cells() -> tuple[TableCell, ...]:
    """R@1 from image to text on both splits, and how alike their curves over alpha are."""
    heads = {
        "alpha*_val": ("alpha", "α from validation"),
        "alpha*_test": ("alpha", f"best α of test ({TUNED_ON_TEST})"),
        "validation": (IMAGE_TO_TEXT, "validation R@1 there (tuned on validation)"),
        "test": (IMAGE_TO_TEXT, "test R@1, α from validation"),
        "best": (IMAGE_TO_TEXT, f"test R@1, best α ({TUNED_ON_TEST})"),
        "correlation": ("correlation", "correlation of the curves"),
    }
    return tuple(
        _TransferCell("VisualGPTScore", metric, "after", of, head=head)
        for of, (metric, head) in heads.items()
    )


def validation_lines() -> list[TableLine]:
    """Table 8: the curves of the validation and of the test split; `crossmatch alpha coco --tune-on validation --out
    FOLDER` writes the curves themselves."""
    model = SCORERS["BLIP", "VisualGPTScore"][0]
    return [
        TableLine(
            f"{title}, BLIP, VisualGPTScore",
            _transfer_cells(),
            MeasurementRun.of(name, model, prior="test"),
            seeds=1,
        )
        for name, title in (("coco", "COCO"), ("flickr30k", "Flickr30k"))
    ]


# ---- the same on the built-in world

_WORLD_MODEL = "builtin/blip-caption"


def builtin_lines() -> list[TableLine]:
    """The built-in captioner on every set of groups: TextScore at alpha 0, at 1, at its best, and held out."""
    cells = tuple(
        AlphaCell(f"VisualGPTScore {at}", TEXT_SCORE, "after", TEXT_SCORE, at, head=f"{title} TextScore")
        for at, title in _HEADS.items()
    )
    head = "held-out α gain in points"
    gain = _HeldOutGainCell(
        "VisualGPTScore validated", "absolute_gain", "after", TEXT_SCORE, "validated", head=head
    )
    names = [name for name in datasets.names() if name.startswith("scenes/") and "@" not in name]
    jobs = {name: MeasurementRun.of(name, _WORLD_MODEL, prior="gaussian") for name in names}
    return [TableLine(f"{name}, {_WORLD_MODEL}", (*cells, gain), job, seeds=1) for name, job in jobs.items()]


def builtin_retrieval_lines() -> list[TableLine]:
    """The same captioner on the built-in retrieval set, by prior, as in Tables 3, 7 and 8."""
    ends = [
        AlphaCell(f"VisualGPTScore {at}", IMAGE_TO_TEXT, "after", IMAGE_TO_TEXT, at, head=f"{_HEADS[at]} R@1")
        for at in ("alpha_0", "alpha_1")
    ]
    jobs = {
        prior: MeasurementRun.of("scenes/retrieval", _WORLD_MODEL, prior=prior)
        for prior in ("test", "gaussian")
    }
    return [
        TableLine(
            f"scenes/retrieval, {_WORLD_MODEL}, prior: {PRIORS[prior].label}",
            (*ends, *_transfer_cells()),
            job,
            seeds=1,
        )
        for prior, job in jobs.items()
    ]
