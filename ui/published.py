"""Published results of named systems on one set, yours among them: a choice of the page Papers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import streamlit as st

from core.base.errors import InputError
from core.base.limits import check
from core.exchange.layouts import text_table_latex
from core.figures.text import escape_markdown
from core.metrics.group_metrics import METRICS
from core.papers.published import COLUMNS, PublishedSet
from core.runs.store import RunStore
from ui.compute_queue import READING
from ui.export import export_section
from ui.page import show_error
from ui.uploads import upload_limit

_LABELS = {"image_choice": "Image choice"}  # of what is no metric of groups
_READING = (
    "Numbers as printed, in percent, the highest first. A source gives no interval, and its preprocessing, prompts and "
    "version of the set may differ from yours. Chance is of scores that know nothing; a metric is compared with itself "
    "alone."
)
_ROWS, _HEIGHT = 12, 520  # a table of more rows scrolls in so many pixels, below its heads
_HEADS = dict(
    zip(
        COLUMNS,
        (
            "Value (%)",
            "System",
            "Method",
            "What it is",
            "Not comparable because",
            "Source",
            "Year",
            "Read at",
            "Note",
        ),
        strict=True,
    )
)


def section(store: RunStore, page: Mapping[str, str]) -> None:
    """A set, a metric, one's own file, and the table.

    page : what the page shows above it, for the link.
    """
    st.markdown("What others published of one set, and where your number stands among it.")
    sets = PublishedSet.every()
    left, right, search = st.columns(3, vertical_alignment="bottom")
    label = left.selectbox("Set", list(sets), key="published_set", bind="query-params")
    chosen = sets[label]
    metric = right.selectbox(
        "Metric", chosen.metrics, format_func=_label, key="published_metric", bind="query-params"
    )
    table = chosen.standing(metric, _own(chosen, store, metric))
    _say_own(table)
    wanted = search.text_input("Filter by system, method or source", key="published_filter").strip().lower()
    text = table.astype(str).agg(" ".join, axis=1).str.lower()
    table = table[text.str.contains(wanted, regex=False)]
    _draw(table)
    st.caption(_READING)
    heads = table.rename(columns=_HEADS)
    export_section(
        f"published-{label}",
        heads,
        latex=lambda: text_table_latex(heads.iloc[:, :4], [f"{label}, {_label(metric)}.", _READING]),
        state={**page, "published_set": label, "published_metric": _label(metric)},
    )


def _draw(table: pd.DataFrame) -> None:
    """The table, and why some of its rows are not comparable: a mark at the head of a row stands where a phone shows
    it, and the reasons are below. A plain table, whose lines break: no cell is cut."""
    reasons = dict.fromkeys(filter(None, table["caution"]))
    marks = {why: f"[{number}]" for number, why in enumerate(reasons, 1)}
    heads = table.drop(columns=["caution", "address"]).assign(value=[f"{v:.2f}" for v in table["value"]])
    heads = heads.map(lambda cell: escape_markdown(str(cell)))
    heads["source"] = [
        f"[{source}]({address})" if address else source
        for source, address in zip(heads["source"], table["address"], strict=True)
    ]
    if marks:
        heads.insert(0, "Mark", [escape_markdown(marks.get(why, "")) for why in table["caution"]])
    heads = heads.loc[:, (heads != "").any(axis=0)].rename(columns=_HEADS)
    with st.container(key="published-table"):
        st.table(
            heads, hide_index=True, border="horizontal", height=_HEIGHT if len(heads) > _ROWS else "content"
        )
    for why, mark in marks.items():
        st.caption(escape_markdown(f"{mark} Not comparable: {why}."))


def _say_own(table: pd.DataFrame) -> None:
    """Where one's own rows stand: the table scrolls, and is sorted and filtered by whoever looks."""
    others = table[table["kind"].ne("yours")]["value"]
    for row in table[table["kind"].eq("yours")].to_dict("records"):
        above = int(others.gt(row["value"]).sum())
        what = escape_markdown(", ".join(filter(None, (row["system"], row["method"]))))
        st.markdown(
            f"**Yours**: {row['value']:.2f} % ({what}); {above} of the {len(others)} other rows are higher."
        )


def _label(metric: str) -> str:
    return METRICS[metric].label if metric in METRICS else _LABELS[metric]


def _own(chosen: PublishedSet, store: RunStore, metric: str) -> pd.DataFrame | None:
    """Rows of the finished runs and of the result file that is given here; a file of something else is said."""
    file = st.file_uploader(
        "Your own result: a score file, or what `crossmatch evaluate` or `recall` writes with `--json` or `--out`",
        ["json", "csv", "npz", "jsonl", "parquet"],
        key="published_own",
        max_upload_size=upload_limit(),
    )
    st.caption(
        escape_markdown(
            f"A file that names no benchmark, as no score file does, is taken as one of {chosen.title}, the set that "
            "is chosen above."
        )
    )
    rows = [chosen.runs(store, metric)]
    if file is not None:
        try:
            check(file.name, file=file.size)  # browsers are told, but whoever is not one can send more
            with READING.one():
                rows.append(chosen.result(Path(file.name), metric, file.getvalue()))
        except InputError as error:
            show_error(error)
    found = [each for each in rows if len(each)]
    return pd.concat(found, ignore_index=True) if found else None
