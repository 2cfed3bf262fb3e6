"""The groups of a set as a table, a row per group; a click on a row opens it."""

from __future__ import annotations

from math import ceil, log10
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.groups import GroupSet
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import SYMBOLS
from core.metrics.groups import GROUP_MATCH, METRICS, Outcome
from ui.formatting import of_groups, true_minus, wide_table
from ui.images import has_captions
from ui.selection import open_group

TABLE, CARDS = "Table", "Cards"
PER_PAGE = 5000  # rows that a browser gets at once
_ROW, _HEAD, _MOST_HEIGHT = 35, 38, 500  # pixels; a higher table scrolls by itself
# Cells of a table whose numbers are written here, as the browser has a hyphen for a minus: more take half a second.
_MOST_WRITTEN = 30_000
# The widest columns of text, in pixels. Beside tags captions take less: they pushed the second tag out of sight.
_MOST_ID, _MOST_CAPTIONS, _CAPTIONS_BESIDE_TAGS, _MOST_TAG = 170, 260, 170, 250
_DIGITS = (2, 6)  # decimals of margins and totals, at least and at most
_TOTALS = {
    "margin": "How far the total of the model's matching leads that of the next best one; 0 where two tie. "
    "✗ before it: this matching is wrong.",
    "true pairs": "Total of the scores of the true pairs.",
    "best other": "Total of the best other matching. GroupMatch is right where that of the true pairs is higher.",
}


def choose_layout(pictures: bool) -> str:
    """Whether groups are shown as a table or as cards: of groups without pictures the table comes first. Either choice
    is kept by itself."""
    key, first = ("layout", CARDS) if pictures else ("file_layout", TABLE)
    return str(
        st.segmented_control(
            "Show as", [TABLE, CARDS], default=first, required=True, key=key, bind="query-params",
            label_visibility="collapsed", width="content",
        )
    )  # fmt: skip


def group_table(evaluation: Evaluation, indices: np.ndarray, groups: GroupSet) -> None:
    """The groups with these numbers, in this order. groups : all of them, whose captions are cut to the width of their
    column; pointed at, a cell shows the whole text."""
    table = table_of(evaluation, indices)
    if has_captions(groups[0]) and "captions" not in table:
        said = [" / ".join(groups[int(i)].captions) for i in indices]
        table.insert([*table.columns].index("margin"), "captions", said)

    def choose() -> None:
        cells = st.session_state["group-table"].selection.cells
        if cells:
            open_group(str(table["id"].iloc[cells[0][0]]))

    told = {*_TOTALS, *_labels(evaluation), *_tag_heads(table)}  # a tag may name what the true caption says
    hidden = told if st.session_state.get("predict") else set()
    digits = decimals_of_margins(evaluation)
    wrong = np.array([evaluation.outcomes[GROUP_MATCH].kind(int(i)) == "wrong" for i in indices], bool)
    written = bool(wrong.any() or (table[list(_TOTALS)] < 0).any(axis=None)) and table.size <= _MOST_WRITTEN
    shown = table.style.format(dict.fromkeys(_TOTALS, lambda value: true_minus(f"{value:z.{digits}f}")))
    # The number below it stays: the column sorts by it.
    marked = pd.IndexSlice[table.index[wrong], ["margin"]]
    shown = shown.format(lambda value: f"{SYMBOLS['wrong']} {value:z.{digits}f}", subset=marked)
    wide_table(
        shown if written else table,
        column_config=_columns(evaluation, table, None if written else f"%.{digits}f")
        | dict.fromkeys(hidden),
        height=min(_HEAD + _ROW * len(table), _MOST_HEIGHT),
        key="group-table",
        on_select=choose,
        selection_mode="single-cell",
        alt=f"{len(table)} groups, a row each",
    )
    if hidden:
        st.caption("Press a row to open its group.")
        return
    before = ", before a margin: of a wrong matching" if wrong.any() and written else ""
    shares = any(METRICS[name].parts(evaluation.shape[0]) > 1 for name in of_groups(evaluation.metrics))
    st.caption(
        "Press a row to open its group, the head of a column to sort by it. ✓ right, ✗ wrong"
        f"{before}, = missed by a tie alone"
        f"{', 1/2 so many of its images right (= with a tie)' if shares else ''}. "
        "Previous and Next of an opened group follow the order that Filters has."
    )


def _labels(evaluation: Evaluation) -> list[str]:
    """The heads of the verdicts."""
    return [METRICS[name].label for name in of_groups(evaluation.metrics)]


def _tag_heads(table: pd.DataFrame) -> pd.Index:
    """The heads of the tags, which come last."""
    return table.columns[[*table.columns].index("best other") + 1 :]


def table_of(evaluation: Evaluation, indices: np.ndarray) -> pd.DataFrame:
    """A row per group: id, each metric's verdict, margin, both totals, and its tags."""
    table = pd.DataFrame({"id": [str(evaluation.ids[i]) for i in indices]})
    for name in of_groups(evaluation.metrics):
        outcome = evaluation.outcomes[name]
        parts = METRICS[name].parts(evaluation.shape[0])
        table[METRICS[name].label] = [_told(outcome, int(i), parts) for i in indices]
    true, other = evaluation._totals(indices)
    table = table.assign(**dict(zip(_TOTALS, (evaluation.matches.margin[indices], true, other), strict=True)))
    if evaluation.tags is None:
        return table
    tags = evaluation.tags.iloc[indices].reset_index(drop=True)
    taken = {name: f"tag: {name}" for name in tags if name in table}
    tags = tags.rename(columns={**taken, **{n: str(n).replace("_", " ") for n in tags if n not in taken}})
    return pd.concat([table, tags], axis=1)


def _told(outcome: Outcome, index: int, parts: int) -> str:
    """A group's outcome: ✓, ✗ or =; of a metric that counts parts `1/2`, or `1/2 =` where a tie made it less."""
    kind = outcome.kind(index)
    if parts == 1:
        return SYMBOLS[kind]
    share = f"{round(float(outcome.value[index]) * parts)}/{parts}"
    return f"{share} {SYMBOLS[kind]}" if kind == "tie" else share


def decimals_of_margins(evaluation: Evaluation) -> int:
    """Decimals of margins and totals, with which the smallest margin is not 0."""
    margins = evaluation.matches.margin[evaluation.matches.margin > 0]
    least, most = _DIGITS
    return min(max(ceil(-log10(margins.min())), least), most) if len(margins) else least


def _columns(evaluation: Evaluation, table: pd.DataFrame, number: str | None) -> dict[str, Any]:
    """How each column is headed: the id and the verdicts as narrow as a phone needs. number : how the browser writes
    one; None where it is written here."""
    columns: dict[str, Any] = {
        "id": st.column_config.TextColumn(width=_text_width(table["id"], "id", _MOST_ID))
    }
    for name in of_groups(evaluation.metrics):
        entry = METRICS[name]
        columns[entry.label] = st.column_config.TextColumn(
            entry.short, help=f"{entry.label}: {entry.meaning}", width=58 if len(entry.short) < 6 else 76
        )
    tags = _tag_heads(table)
    if "captions" in table:
        width = _text_width(
            table["captions"], "captions", _CAPTIONS_BESIDE_TAGS if len(tags) else _MOST_CAPTIONS
        )
        columns["captions"] = st.column_config.TextColumn(help="All of a group's captions.", width=width)
    for name in tags:
        columns[name] = st.column_config.TextColumn(width=_text_width(table[name], str(name), _MOST_TAG))
    for name, meaning in _TOTALS.items():
        columns[name] = st.column_config.NumberColumn(help=meaning, format=number, width=92)
    return columns


def _text_width(texts: pd.Series, head: str, most: int) -> int:
    """Pixels that the longest of these texts and the head above them need, `most` of them at most."""
    longest = max(len(head), int(texts.astype(str).str.len().max()))
    return min(24 + 8 * longest, most)
