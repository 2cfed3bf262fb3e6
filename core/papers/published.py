"""Published results of named systems on one set, chance and one's own among them.

The three papers' numbers are those of `core.datasets.paper_results`; `assets/papers/other_systems.csv` has others, each
with the address and the place where it was read, and the day. Numbers that were counted here from outcomes that the
authors publish say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from core import datasets
from core.base.errors import InputError, unknown_name
from core.base.lazy import pandas as pd
from core.base.paths import assets
from core.base.table_formats import parse_json, read_bytes
from core.base.text import _pct, counted
from core.datasets.embeddings import _holds_embeddings, read_embeddings
from core.datasets.packed_tables import _unpacked
from core.datasets.paper_results import CITATIONS, load_results
from core.datasets.score_files import read_scores
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, IMAGE_SCORE, METRICS, TEXT_SCORE
from core.metrics.statistics import Clusters, Estimate
from core.runs.store import RunStore

_CHOICE = "image_choice"  # of sets whose captions choose among images: no metric of groups
# The strictest first. Who has a group's TextScore or ImageScore has its GroupMatch.
_METRICS = (GROUP_SCORE, _CHOICE, IMAGE_SCORE, TEXT_SCORE, GROUP_MATCH)
_ONE_NUMBER = (TEXT_SCORE, GROUP_SCORE, GROUP_MATCH)  # of groups of one image, whatever a paper calls it
# Images and captions of a group of each set, or of a part, that is no benchmark here or whose benchmark says no shape:
# what chance is computed from.
# SPEC's are those of its paper's design; the authors' notebook has 500 times as many queries of each part.
_SHAPES = {
    **dict.fromkeys(("Winoground", "ColorSwap", "MMVP-VLM"), (2, 2)),
    **dict.fromkeys(("SugarCrepe", "CREPE, 1x2"), (1, 2)),
    "SPEC, absolute size": (1, 3),
    "SPEC, relative size": (1, 3),
    "SPEC, absolute position": (1, 9),
    "SPEC, relative position": (1, 4),
    "SPEC, existence": (1, 2),
    "SPEC, count": (1, 9),
}
_BENCHMARKS = {  # title -> its name here; of two titles the later is the one that the name asks for
    "Winoground": "winoground",
    "ColorSwap": "colorswap",
    "MMVP-VLM": "mmvp-vlm",
    "EqBen": "eqben/val",  # as [VGPT] Tables 3 and 10 call it
    "EqBen, val": "eqben/val",
    "EqBen, Mini": "eqben/mini",
    "BiVLC": "bivlc",
    "WhatsUp, A": "whatsup/a-1x4",
    "WhatsUp, B": "whatsup/b-1x4",
    "WhatsUp, A-Left-Right": "whatsup/a-left-right",
    "WhatsUp, A-On-Under": "whatsup/a-on-under",
    "WhatsUp, B-Left-Right": "whatsup/b-left-right",
    "WhatsUp, B-Front-Behind": "whatsup/b-front-behind",
    "ARO, VG-Relation": "aro/vg-relation",
    "ARO, VG-Attribution": "aro/vg-attribution",
    "ARO, COCO-Order": "aro/coco-order",
    "ARO, Flickr30k-Order": "aro/flickr30k-order",
    "VL-CheckList, Object": "vl-checklist/object",
    "VL-CheckList, Attribute": "vl-checklist/attribute",
    "VL-CheckList, Relation": "vl-checklist/relation",
    "CREPE, Atom": "crepe/atom",
    "CREPE, Swap": "crepe/swap",
    "CREPE, Negate": "crepe/negate",
    "Cola multi-object": "cola/multi-object",
    "CIFAR-10": "cifar-10",
    "SugarCrepe, Add Attribute": "sugarcrepe/add_att",
    "SugarCrepe, Add Object": "sugarcrepe/add_obj",
    "SugarCrepe, Replace Attribute": "sugarcrepe/replace_att",
    "SugarCrepe, Replace Object": "sugarcrepe/replace_obj",
    "SugarCrepe, Replace Relation": "sugarcrepe/replace_rel",
    "SugarCrepe, Swap Attribute": "sugarcrepe/swap_att",
    "SugarCrepe, Swap Object": "sugarcrepe/swap_obj",
    "SPEC, absolute size": "spec/absolute_size",
    "SPEC, relative size": "spec/relative_size",
    "SPEC, absolute position": "spec/absolute_spatial",
    "SPEC, relative position": "spec/relative_spatial",
    "SPEC, existence": "spec/existence",
    "SPEC, count": "spec/count",
}
_CHOICES = "-text-to-image"  # behind the name of SPEC's sets of choices
_ADAPTED = "adapted to these very groups, without labels"
_ORACLE = "an oracle: adapted to these very groups with knowledge of the truth"
_PART = "some of the groups alone"
_BLIND = "sees no image"
# What a method did that makes its number another thing than a model's own scores, by how its name begins or goes on.
_NOT_COMPARABLE = {
    r"^TTM": _ADAPTED,  # SimpleMatch's GroupMatch is the model's own, before it learns anything
    r"alpha\*(?!_val)": "its alpha was chosen on the test set",
    r"alpha\*_val": "its alpha was chosen on other groups",
    r"fine-tuned|FT |Linear|MM-|Prompt-tune": "trained for the task",
    r"prior best|scaffolding": "of another paper, as quoted",
    r"text-only|blind": _BLIND,
}
# What a note on a paper's number says that makes it another thing; the others say how it is printed, and where.
_NOTED = r"metric not named|with the groups known"
_SCORE_ENDINGS = (".csv", ".parquet", ".npz", ".npy", ".jsonl")  # of files that hold nothing but scores
_USUAL_SHAPE = (2, 2)  # of embeddings, where a set's groups differ in shape
# low, high: the 95 % interval of one's own number. cited: keys of `CITATIONS`, with "; " between them.
COLUMNS = (
    *(
        "value",
        "low",
        "high",
        "system",
        "method",
        "kind",
        "caution",
        "source",
        "published",
        "address",
        "note",
    ),
    "cited",
)
_CITED = {  # the paper of a number of another system, by its key of `CITATIONS`
    "Thrush et al. 2022": "Winoground",
    "Hsieh et al. 2023": "SugarCrepe",
    "Miranda et al. 2024": "BiVLC",
    "Peng et al. 2024": "SPEC",
    "Ossowski, Jiang and Hu 2024": "KeyComp",
}
_BY_ITSELF = "measure it by itself"  # what is to be done with a file of groups of one's own
_MOST_DIGITS, _MOST_GROUPS = 18, 10**9  # of a number that somebody types
_ONCE = ("system", "method", "value", "kind", "caution")  # what is the same in a number that is printed twice


@cache
def _rows() -> pd.DataFrame:
    """Every published number, a row each: dataset, subset, metric, and `COLUMNS`."""
    papers = load_results()
    papers = papers[papers["metric"].isin(_METRICS)].rename(columns={"model": "system"})
    unnamed = papers["system"].eq("") & papers["method"].ne("chance")  # a method of no model, as VPEval
    papers["system"] = papers["system"].mask(unnamed, papers["method"])
    papers["method"] = papers["method"].mask(unnamed, "")
    papers["source"] = papers["paper"] + ", " + papers["table"]
    papers["published"] = papers["paper"].map(_year)
    papers["address"] = ""
    papers["cited"] = papers["paper"]
    papers["noted"] = papers["note"].where(papers["note"].str.contains(_NOTED), "")
    papers["note"] = papers["note"].mask(papers["noted"].ne(""), "")
    others = pd.read_csv(assets() / "papers" / "other_systems.csv", dtype=str, keep_default_na=False)
    others["value"] = others["value"].astype(float)
    others["source"] = others["paper"] + ", " + others["where"] + " (read " + others["read"] + ")"
    others = others.rename(columns={"note": "noted"}).assign(note="", cited=others["paper"].map(_CITED))
    rows = pd.concat([papers, others], ignore_index=True)
    chance = rows["method"].eq("chance") | rows["system"].eq("random")
    rows[["low", "high"]] = ""
    rows["kind"] = "published"
    rows.loc[chance, "kind"] = "chance"
    rows.loc[rows["system"].eq("human"), "kind"] = "people"
    rows["caution"] = [
        "; ".join(filter(None, (_caution(method), noted)))
        for method, noted in zip(rows["method"], rows["noted"], strict=True)
    ]
    return rows[["dataset", "subset", "metric", *COLUMNS]]


def _once(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of which no two say the same number of the same system, with the sources and notes of all."""

    def joined(texts: pd.Series) -> str:
        return "; ".join(dict.fromkeys(filter(None, texts)))

    rest = [name for name in COLUMNS if name not in _ONCE]
    found = rows.groupby([*_ONCE], sort=False, as_index=False).agg(dict.fromkeys(rest, joined))
    return found[list(COLUMNS)]


class PublishedSet(NamedTuple):
    """A set, or a part of one, of which somebody published numbers."""

    dataset: str
    subset: str = ""

    @classmethod
    def every(cls) -> dict[str, PublishedSet]:
        """By title, as the papers and then the others name them."""
        pairs = dict.fromkeys(zip(_rows()["dataset"], _rows()["subset"], strict=True))
        return {found.title: found for found in (cls(*pair) for pair in pairs)}

    @classmethod
    def named(cls, name: str) -> PublishedSet:
        """By its title or its benchmark's name. Raises InputError for another."""
        known = cls.every()
        short = {title.lower(): title for title in known}
        short |= {benchmark: title for title, benchmark in _BENCHMARKS.items()}
        title = short.get(name.strip().lower().removesuffix(_CHOICES))
        if title is None:
            raise unknown_name("set with published numbers", name, known)
        return known[title]

    @property
    def title(self) -> str:
        """`SPEC, count`."""
        return ", ".join(filter(None, self))

    @property
    def citation(self) -> str:
        """The key of `CITATIONS` of its own paper; "" where there is none."""
        named = self.dataset.removesuffix(" multi-object")
        return named if named in CITATIONS else ""

    @staticmethod
    def interval(row: Mapping[Any, Any]) -> str:
        """`[9.40, 16.10]` of a row of `standing`; "" without an interval."""
        return "" if row["low"] == "" else f"[{_pct(row['low'], 2)}, {_pct(row['high'], 2)}]"

    @property
    def rows(self) -> pd.DataFrame:
        """What was published of it: metric, and `COLUMNS`; of groups of one image a number has one metric's name."""
        rows = _rows()
        rows = rows[rows["dataset"].eq(self.dataset) & rows["subset"].eq(self.subset)]
        return rows.assign(metric=rows["metric"].map(lambda name: self._names(name)[0]))

    @property
    def _shape(self) -> tuple[int, int] | None:
        """Images and captions of each group; None where groups differ."""
        name = _BENCHMARKS.get(self.title)
        entry = datasets.benchmark_entry(name) if name else None
        known = None if entry is None else entry.shape
        return known or _SHAPES.get(self.title) or _SHAPES.get(self.dataset)

    def _names(self, metric: str) -> tuple[str, ...]:
        """Every name of one number of these groups, the one that stands for it first."""
        one_image = self._shape is not None and self._shape[0] == 1
        return _ONE_NUMBER if one_image and metric in _ONE_NUMBER else (metric,)

    @property
    def metrics(self) -> list[str]:
        """The metrics that somebody published of it, the strictest first."""
        published = set(self.rows["metric"])
        return [metric for metric in _METRICS if metric in published]

    def metric(self, name: str | None) -> str:
        """The metric of this name, the strictest without one. Raises InputError for what nobody published."""
        metric = self._names(name)[0] if name else self.metrics[0]
        if metric not in self.metrics:
            raise unknown_name(f"metric that was published of {self.title}", metric, self.metrics)
        return metric

    def benchmark(self, metric: str) -> str:
        """Its name here; "" where it is none."""
        name = _BENCHMARKS.get(self.title, "")
        return name + _CHOICES if name and metric == _CHOICE else name

    def chance(self, metric: str) -> float | None:
        """Chance in percent; None where groups differ in shape."""
        shape = self._shape
        if shape is None:
            return None
        # A caption that chooses among k images is an image that chooses among k captions, turned round.
        return 100 * METRICS[TEXT_SCORE if metric == _CHOICE else metric].chance(*shape)

    def standing(self, metric: str, own: pd.DataFrame | None = None) -> pd.DataFrame:
        """The numbers of one metric, the highest first, with chance where it is known: `COLUMNS`. What is printed in
        several places stands once, with all of them.

        own : further rows (system, value, ...), one's own.
        """
        rows = _once(self.rows[self.rows["metric"].eq(metric)])
        parts, chance = [rows], self.chance(metric)
        if chance is not None and not rows["kind"].eq("chance").any():
            computed = {"value": [chance], "system": ["chance"], "kind": "chance", "source": "computed"}
            parts.append(pd.DataFrame(computed))
        if own is not None and len(own):
            parts.append(own.assign(kind="yours"))
        found = pd.concat([part for part in parts if len(part)], ignore_index=True)
        return found.sort_values("value", ascending=False, kind="stable")[list(COLUMNS)].fillna("")

    def runs(self, store: RunStore, metric: str) -> pd.DataFrame:
        """The last iteration of every finished run on it, and its model before: system, method, value, caution."""
        benchmark, rows = self.benchmark(metric), []
        for run in store.list():
            if run.status != "finished" or not benchmark or run.config.get("benchmark") != benchmark:
                continue
            part = _PART if run.config.get("groups") or run.config.get("tags") else ""
            steps = store.steps(run.id)
            for step in [*steps[:1], *steps[1:][-1:]]:
                before = not step["iteration"]
                found = self._measured(step.get("metrics", {}), metric)
                if not found or (before and _is_adapted(run.config)):
                    continue
                adapted = _ORACLE if run.config.get("oracle") else _ADAPTED
                why = filter(None, ("" if before else adapted, part))
                method = f"{run.kind}, before it" if before else run.kind
                rows.append(
                    {
                        "system": run.title,
                        "value": found["value"],
                        "low": found.get("low", ""),
                        "high": found.get("high", ""),
                        "method": method,
                        "caution": "; ".join(why),
                    }
                )
        return pd.DataFrame(rows).assign(source="your runs") if rows else pd.DataFrame()

    def _measured(self, metrics: Mapping[str, Mapping[str, Any]], metric: str) -> Mapping[str, Any]:
        """One's own measurement of a metric, by any of its names; empty where there is none."""
        return next((metrics[name] for name in self._names(metric) if name in metrics), {})

    def result(self, path: Path, metric: str, data: bytes | None = None) -> pd.DataFrame:
        """One's own result as one row like those of `runs`: what `crossmatch evaluate` or `recall` writes, or a file of
        scores or embeddings, which is measured, the latter in groups of this set's shape. What names no benchmark is
        taken as one of this set, where its groups can be.

        data : the file's bytes, where it is an upload. Raises InputError for another file, set or metric.
        """
        wanted = self.benchmark(metric)
        command = f"crossmatch {'recall' if metric == _CHOICE else 'evaluate'} {wanted or 'BENCHMARK'} --json"
        path, data = _unpacked(path, data)
        record = _own_record(path, read_bytes(path, data), command, self._shape or _USUAL_SHAPE, self.title)
        if not wanted:
            raise InputError(f"{self.title} is no benchmark here: no result of yours can stand beside it.")
        named = record.get("benchmark")
        if named and named != wanted:
            on = f"is of {_line(named)}, not of {wanted}"
            raise InputError(f"{path} {on}; write a result of {wanted} with `{command}`.")
        found = self._measured(record["metrics"], metric)
        try:
            value, low, high = (float(found[key]) for key in ("value", "low", "high"))
        except (TypeError, KeyError, ValueError):
            raise InputError(
                f"{path} has no {metric} with its interval; write it again with `{command}`."
            ) from None
        if not 0 <= low <= value <= high <= 100:
            raise InputError(
                f"{path} has {value} in [{low}, {high}] as {metric}; write it again: `{command}`."
            )
        if not named:
            record = {**record, "split": self._split_of(record, wanted, path, command)}
        row = {
            "value": value,
            "low": low,
            "high": high,
            "system": _line(record.get("model") or Path(str(record.get("file") or path)).name),
            "method": f"{'' if named else 'of your file, '}as measured",
            "caution": "; ".join(_own_cautions(record, wanted)),
            "source": path.name,
            "note": "" if named else _taken(record, wanted),
        }
        return pd.DataFrame([row])

    def _typed(
        self, metric: str, value: str, groups: str = "", system: str = "", method: str = ""
    ) -> pd.DataFrame:
        """A number without a file as one row like those of `runs`, marked as typed; with the number of groups its exact
        interval, that of the nearest count of right groups.

        value : percent as it was typed, its decimals included: `31.5`, `31.5 %`, `31,5`. groups : a whole number, or
        "". system, method : what it is called, "" to say that it is one's own and typed. Raises InputError for a value
        that no share, or no count of so many groups, is.
        """
        percent, decimals = _percent(value)
        row: dict[str, Any] = {"value": percent, "low": "", "high": ""}
        row |= {"system": _line(system) or "your number", "method": _line(method) or "as typed"}
        row |= {"source": "typed, not measured here", "caution": "", "note": ""}
        if groups.strip():
            count = _count(groups)
            right = _right_groups(percent, decimals, count)
            low, high = Estimate.interval_of_moments(right / count, right / count, count)
            row |= {"low": 100 * float(low), "high": 100 * float(high)}
            row["note"] = f"exact interval of {right} right of {counted(count, 'group')}"
            row["caution"] = "; ".join(self._typed_cautions(metric, count))
        return pd.DataFrame([row])

    def _typed_cautions(self, metric: str, count: int) -> list[str]:
        """What a number of groups says of a typed number: that of a part of the set, or of another split."""
        name = self.benchmark(metric)
        entry = datasets.benchmark_entry(name) if name and metric != _CHOICE else None
        if entry is None:
            return []
        split = next((split for split, known in entry.counts.items() if count in known), entry.splits[0])
        return _own_cautions({"n_groups": count, "split": split}, name)

    def _split_of(self, record: Mapping[str, Any], wanted: str, path: Path, command: str) -> str:
        """The split that a result which names no benchmark has the groups of.

        Raises InputError where their number or shape is that of none.
        """
        entry = datasets.benchmark_entry(wanted)
        counts = {} if entry is None else entry.counts
        count, shape = record.get("n_groups"), record.get("shape")
        right = None if self._shape is None else "x".join(map(str, self._shape))
        split = next((name for name, known in counts.items() if count in known), "")
        if (split or not counts) and (shape is None or right is None or shape == right):
            return split or ("test" if entry is None else entry.splits[0])
        sizes = " or ".join(f"{known[0]} ({name})" for name, known in counts.items())
        theirs = " of ".join(filter(None, (f"{sizes} groups" if sizes else "groups", right)))
        do = f"write a result of {wanted} with `{command}`"
        if path.suffix.lower() != ".json":  # scores or embeddings, which may be of no set
            do = f"{_BY_ITSELF} where its groups are your own, of which nothing is published"
        own = counted(count, "group") if isinstance(count, int) else "groups of unknown number"
        raise InputError(
            f"{path} names no benchmark and has {own}{f' of {shape}' if shape else ''}, where {self.title} has "
            f"{theirs}; "
            f"choose the set that the file is of, or {do}."
        )


def _percent(value: str) -> tuple[float, int]:
    """A typed percentage, and how many decimals it was typed with. Raises InputError for what is none."""
    text = value.strip().removesuffix("%").strip().replace(",", ".")
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)", text) or len(text) > _MOST_DIGITS:
        raise InputError(f"{_line(value)!r} is no number; type your value in percent, such as 31.5.")
    percent = float(text)
    if not 0 <= percent <= 100:
        raise InputError(f"{text} % cannot be: a share lies between 0 and 100 %; type your value in percent.")
    return percent, len(text.partition(".")[2])


def _count(groups: str) -> int:
    text = groups.strip().replace(",", "").replace(" ", "")
    if not re.fullmatch(r"\d+", text) or not 0 < int(text[:_MOST_DIGITS]) <= _MOST_GROUPS:
        raise InputError(
            f"{_line(groups)!r} is no number of groups; type a whole number from 1 to {_MOST_GROUPS:,}, or leave the "
            "field empty."
        )
    return int(text)


def _right_groups(percent: float, decimals: int, count: int) -> int:
    """How many of so many groups are right, the count that is nearest to a printed percentage.

    Raises InputError where none rounds to it.
    """
    right = round(percent * count / 100)
    if abs(100 * right / count - percent) <= 0.5 * 10.0**-decimals + 1e-9:
        return right
    below = int(percent * count / 100)
    one, other = (f"{100 * each / count:.{max(decimals, 2)}f} %" for each in (below, below + 1))
    raise InputError(
        f"{percent:.{decimals}f} % of {counted(count, 'group')} cannot be: {below} right are {one}, {below + 1} are "
        f"{other}; check the value and the number of groups."
    )


def _own_record(
    path: Path, content: bytes, command: str, shape: tuple[int, int], title: str
) -> dict[str, Any]:
    """What a file says of its metrics, as `crossmatch evaluate` writes it; a file of scores or embeddings is measured.

    command : what writes one. shape : of the groups of embeddings, that of the set `title`. Raises InputError for
    another file.
    """
    if _holds_embeddings(path.name, content):
        file = read_embeddings(path, shape, content, shape_of=title)
        return Evaluation.of(file.group_scores(), None).record()
    if path.suffix.lower() in _SCORE_ENDINGS:
        return _measured_scores(path, content)
    try:
        record = parse_json(content, path)
    except InputError as error:  # half a file, a table of scores
        if path.suffix.lower() not in (".json", ".jsonl"):
            raise InputError(
                f"{path} is no file of scores or embeddings, nor JSON; choose one of these, or write a result with "
                f"`{command}`."
            ) from None
        raise InputError(f"{str(error).rpartition('; ')[0]}; write one with `{command}`.") from None
    metrics = record.get("metrics") if isinstance(record, dict) else None
    if isinstance(metrics, dict) and all(isinstance(each, dict) for each in metrics.values()):
        return record
    try:
        return _measured_scores(path, content)  # predictions of MTEB are JSON too
    except InputError:
        raise InputError(f"{path} is no result of Crossmatch; write one with `{command}`.") from None


def _measured_scores(path: Path, content: bytes) -> dict[str, Any]:
    """The record of a score file, as `crossmatch evaluate --scores` measures it."""
    file = read_scores(path, content)
    clusters = Clusters.of_names(file.images, file.captions)
    return Evaluation.of(file.scores, file.truth, file.ids, clusters=clusters).record()


def _taken(record: Mapping[str, Any], wanted: str) -> str:
    """What was assumed of a result that names no benchmark."""
    truth = "" if record.get("truth") == "given" else "; image i is taken to belong to caption i"
    count, shape = record.get("n_groups"), record.get("shape")
    groups = f"; with its {counted(count, 'group')}" if isinstance(count, int) else " and"
    of = f" of {str(shape).replace('x', '×')}" if shape and isinstance(count, int) else ""
    return f"the file names no benchmark{groups}{of} it is taken as one of {wanted}{truth}"


def _line(value: Any) -> str:
    """What a file says in one short line."""
    return " ".join(str(value).split())[:60]


def _own_cautions(record: Mapping[str, Any], benchmark: str) -> list[str]:
    """What makes one's own number another thing than a model's own scores on the whole set."""
    entry = datasets.benchmark_entry(benchmark)
    count, split = record.get("n_groups"), record.get("split", "test")
    right = () if entry is None else entry.counts.get(str(split), ())
    said = [_BLIND] if record.get("text_only") else []
    if right and count not in right and "images" not in record:  # which the results of `recall` count
        groups = counted(count, "group") if isinstance(count, int) else "nobody knows how many groups"
        said.append(f"{groups} of {right[0]}")
    if entry is not None and split != entry.splits[0]:
        said.append(f"of the split {_line(split)}")
    return said


def _comparable(table: pd.DataFrame) -> pd.Series:
    """The published values that one's own is compared with."""
    return table[table["kind"].eq("published") & table["caution"].eq("")]["value"]


def _places(table: pd.DataFrame) -> list[str]:
    """`12th of 22` of each row of one's own that can be compared, among the comparable published results and itself; ""
    of others."""
    others = _comparable(table)
    return [
        f"{_ordinal(1 + int(others.gt(row['value']).sum()))} of {len(others) + 1}"
        if row["kind"] == "yours" and not row["caution"]
        else ""
        for row in table.to_dict("records")
    ]


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _higher_said(others: pd.Series, row: Mapping[Any, Any]) -> str:
    """`13 of the 16 comparable published results are higher`, and where one's own may stand. others : as of
    `_inside`."""
    above = int(others.gt(row["value"]).sum())
    results = counted(len(others), "comparable published result")
    return f"{above} of the {results} {'is' if above == 1 else 'are'} higher{_inside(others, row)}"


def _inside(others: pd.Series, row: Mapping[Any, Any]) -> str:
    """`; 3 of the 16 lie inside your interval, so that it may stand anywhere from 2nd to 5th`; "" without an interval.
    others : the values that one's own row is compared with."""
    if row["low"] == "" or others.empty:
        return ""
    above, below = (int(others.gt(row[end]).sum()) for end in ("high", "low"))
    inside = below - above
    if not inside:
        return f"; none of the {len(others)} lies inside your interval"
    lie, places = "lies" if inside == 1 else "lie", f"{_ordinal(1 + above)} to {_ordinal(1 + below)}"
    return f"; {inside} of the {len(others)} {lie} inside your interval, so that it may stand anywhere from {places}"


def _is_adapted(config: dict[str, Any]) -> bool:
    """Whether a run began with the model that another run had adapted."""
    return ":run/" in f":{config.get('model', '')}"


def _caution(method: str) -> str:
    return "; ".join(why for pattern, why in _NOT_COMPARABLE.items() if re.search(pattern, method))


def _year(paper: str) -> str:
    found = re.search(r"year\s*=\s*[{\"]?(\d{4})", CITATIONS[paper])
    return found[1] if found else ""
