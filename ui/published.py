"""Published results of named systems on one set, chance and one's own runs among them: a section of the page Papers.

The three papers' numbers are those of `core.datasets.paper_results`; `assets/papers/other_systems.csv` has others, each
with the address and the place where it was read, and the day. Numbers that were counted here from outcomes that the
authors publish say so.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pandas as pd
import streamlit as st

from core.base.paths import assets
from core.datasets.paper_results import CITATIONS, load_results
from core.metrics.group_metrics import METRICS
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, IMAGE_SCORE, TEXT_SCORE
from core.runs.store import RunStore
from ui.export import export_section

_LABELS = (TEXT_SCORE, IMAGE_SCORE, GROUP_SCORE, GROUP_MATCH)
# Images and captions of a group of each set whose groups are all alike: what chance is computed from.
_SHAPES = {
    **dict.fromkeys(("Winoground", "ColorSwap", "MMVP-VLM", "EqBen", "BiVLC"), (2, 2)),
    "SugarCrepe": (1, 2),
}
_BENCHMARKS = {  # set and part -> its name here
    ("Winoground", ""): "winoground",
    ("ColorSwap", ""): "colorswap",
    ("MMVP-VLM", ""): "mmvp-vlm",
    ("EqBen", "val"): "eqben/val",
    ("EqBen", "Mini"): "eqben/mini",
    ("BiVLC", ""): "bivlc",
    ("SugarCrepe", "Add Attribute"): "sugarcrepe/add_att",
    ("SugarCrepe", "Add Object"): "sugarcrepe/add_obj",
    ("SugarCrepe", "Replace Attribute"): "sugarcrepe/replace_att",
    ("SugarCrepe", "Replace Object"): "sugarcrepe/replace_obj",
    ("SugarCrepe", "Replace Relation"): "sugarcrepe/replace_rel",
    ("SugarCrepe", "Swap Attribute"): "sugarcrepe/swap_att",
    ("SugarCrepe", "Swap Object"): "sugarcrepe/swap_obj",
    ("SPEC", "absolute size"): "spec/absolute_size",
    ("SPEC", "relative size"): "spec/relative_size",
    ("SPEC", "absolute position"): "spec/absolute_spatial",
    ("SPEC", "relative position"): "spec/relative_spatial",
    ("SPEC", "existence"): "spec/existence",
    ("SPEC", "count"): "spec/count",
}
_ADAPTED = "adapted to these very groups, without labels"
_ORACLE = "an oracle: adapted to these very groups with knowledge of the truth"
# What a method did that makes its number another thing than a model's own scores, by how its name begins or goes on.
_NOT_COMPARABLE = {
    r"^TTM": _ADAPTED,  # SimpleMatch's GroupMatch is the model's own, before it learns anything
    r"alpha\*(?!_val)": "its alpha was chosen on the test set",
    r"alpha\*_val": "its alpha was chosen on other groups",
    r"fine-tuned|FT |Linear|MM-|Prompt-tune": "trained for the task",
    r"prior best|scaffolding": "of another paper, as quoted",
    r"text-only|blind": "sees no image",
}
_COLUMNS = {
    "value": "Value (%)",
    "system": "System",
    "method": "Method",
    "kind": "What it is",
    "caution": "Not comparable because",
    "source": "Source",
    "published": "Year",
    "address": "Read at",
}


@cache
def published() -> pd.DataFrame:
    """Every published number of a metric of groups, a row each: dataset, subset, metric, the keys of `_COLUMNS`."""
    papers = load_results()
    papers = papers[papers["metric"].isin(_LABELS)].rename(columns={"model": "system"})
    papers["source"] = papers["paper"] + ", " + papers["table"]
    papers["published"] = papers["paper"].map(_year)
    papers["address"] = ""
    others = pd.read_csv(assets() / "papers" / "other_systems.csv", dtype=str, keep_default_na=False)
    others["value"] = others["value"].astype(float)
    others["source"] = others["paper"] + ", " + others["where"] + " (read " + others["read"] + ")"
    rows = pd.concat([papers, others], ignore_index=True)
    chance = rows["method"].eq("chance") | rows["system"].eq("random")
    rows["kind"] = "published"
    rows.loc[chance, "kind"] = "chance"
    rows.loc[rows["system"].eq("human"), "kind"] = "people"
    rows["caution"] = [
        "; ".join(filter(None, (_caution(method), note)))
        for method, note in zip(rows["method"], rows["note"], strict=True)
    ]
    return rows[["dataset", "subset", "metric", *_COLUMNS]]


def standing(dataset: str, subset: str, metric: str, own: pd.DataFrame | None = None) -> pd.DataFrame:
    """The numbers of one metric on one set, the highest first, with chance where it is known.

    own : further rows (system, value), one's own.
    """
    rows = published()
    chosen = rows["dataset"].eq(dataset) & rows["subset"].eq(subset) & rows["metric"].eq(metric)
    parts = [rows[chosen]]
    if dataset in _SHAPES and not rows[chosen]["kind"].eq("chance").any():
        chance = 100 * METRICS[metric].chance(*_SHAPES[dataset])
        parts.append(
            pd.DataFrame({"value": [chance], "system": ["chance"], "kind": "chance", "source": "computed"})
        )
    if own is not None and len(own):
        parts.append(own.assign(kind="yours", source="your runs"))
    found = pd.concat([part for part in parts if len(part)], ignore_index=True)
    return found.sort_values("value", ascending=False, kind="stable")[list(_COLUMNS)].fillna("")


def own_runs(store: RunStore, dataset: str, subset: str, metric: str) -> pd.DataFrame:
    """The last iteration of every finished run on a set, and its model before: system, method, value, caution."""
    benchmark = _BENCHMARKS.get((dataset, subset))
    rows = []
    for run in store.list():
        if run.status != "finished" or benchmark is None or run.config.get("benchmark") != benchmark:
            continue
        part = "some of the groups alone" if run.config.get("groups") or run.config.get("tags") else ""
        steps = store.steps(run.id)
        for step in [*steps[:1], *steps[1:][-1:]]:
            before = not step["iteration"]
            if metric not in step.get("metrics", {}) or (before and _is_adapted(run.config)):
                continue
            adapted = _ORACLE if run.config.get("oracle") else _ADAPTED
            why = filter(None, ("" if before else adapted, part))
            method = f"{run.kind}, before it" if before else run.kind
            value = step["metrics"][metric]["value"]
            rows.append({"system": run.title, "value": value, "method": method, "caution": "; ".join(why)})
    return pd.DataFrame(rows)


def _is_adapted(config: dict[str, Any]) -> bool:
    """Whether a run began with the model that another run had adapted."""
    return ":run/" in f":{config.get('model', '')}"


def section(store: RunStore) -> None:
    """Closed at first; then a set, a metric, and the table."""
    box = st.expander(
        "Published results of one set, yours among them",
        icon=":material/leaderboard:",
        key="published",
        on_change="rerun",
    )
    if not box.open:
        return
    with box:
        rows = published()
        sets = list(dict.fromkeys(zip(rows["dataset"], rows["subset"], strict=True)))
        names = {", ".join(filter(None, each)): each for each in sets}
        left, right = st.container(horizontal=True, vertical_alignment="bottom").columns(2)
        label = left.selectbox("Set", list(names), key="published_set", bind="query-params")
        dataset, subset = names[label]
        here = rows[rows["dataset"].eq(dataset) & rows["subset"].eq(subset)]
        known = [metric for metric in _LABELS if metric in set(here["metric"])]
        metric = right.selectbox(
            "Metric", known[::-1], format_func=lambda name: METRICS[name].label, key="published_metric"
        )
        table = standing(dataset, subset, metric, own_runs(store, dataset, subset, metric))
        wanted = (
            st.text_input("Only systems, methods or sources with", key="published_filter").strip().lower()
        )
        text = table.astype(str).agg(" ".join, axis=1).str.lower()
        table = table[text.str.contains(wanted, regex=False)].rename(columns=_COLUMNS)
        shown = {
            "Value (%)": st.column_config.NumberColumn(format="%.2f"),
            "Read at": st.column_config.LinkColumn(),
        }
        st.dataframe(table, hide_index=True, column_config=shown, key="published_table")
        st.caption(
            "Numbers as printed, in percent; a click on a column's head sorts. A source gives no interval, and its "
            "preprocessing, prompts and version of the set may differ from yours. Chance is of scores that know "
            "nothing; a metric is compared with itself alone."
        )
        export_section(f"published-{label}".replace(" ", "-").replace(",", ""), table)


def _caution(method: str) -> str:
    return "; ".join(why for pattern, why in _NOT_COMPARABLE.items() if re.search(pattern, method))


def _year(paper: str) -> str:
    found = re.search(r"year\s*=\s*[{\"]?(\d{4})", CITATIONS[paper])
    return found[1] if found else ""
