"""What is measured on the built-in world of the same kind as a paper's table: read once for all parts of a page."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core import figures as plots
from core import papers
from core.papers import table_html
from core.runs.store import RunStore

_FIRST_LINES = 8  # of our long table below a paper's: four sets, each with test-time matching and SimpleMatch


def record_here(store: RunStore, key: str) -> dict[str, Any]:
    """`TablePlan.record()` of a table of the built-in world, made anew once other runs have finished: only its numbers
    are to be read, for what it says of data and weights may be older."""
    finished = tuple(run.id for run in store.list() if run.status == "finished")
    return _record(key, finished, store)


@st.cache_data(max_entries=32, show_spinner=False)
def _record(key: str, finished: tuple[str, ...], _store: RunStore) -> dict[str, Any]:
    return papers.table_plan(_store, key, papers.SEEDS).record()


@st.cache_data(show_spinner=False)
def lines_here(key: str, _store: RunStore) -> list[dict[str, Any]]:
    """The first lines of a table of the built-in world with what ships of them, the same for every visitor: those of
    SimpleMatch, whose numbers stand in the others, left out."""
    lines = record_here(_store, key)["lines"][:_FIRST_LINES]
    nobodys = dict.fromkeys(("yours", "yours_std"))
    return [
        {"line": each["line"], "cells": [{**cell, **nobodys} for cell in each["cells"]]}
        for each in lines
        if not each["line"].endswith(table_html._SIMPLEMATCH)
    ]


def beside_note(record: dict[str, Any]) -> str:
    """Below the figure of a paper's table: what its marks of ours are, or why it has none; "" where that is said
    elsewhere, as of test-time matching."""
    table = str(record["table"])
    if table in table_html._OUR_NOTES:
        return table_html._OUR_NOTES[table]
    has_own = table.startswith(("vgpt/", "cola/")) and table in table_html.COUNTERPARTS
    return (
        "The figure has no marks of ours: its columns are not measured here. Ours stand below."
        if has_own
        else ""
    )


def figure_numbers(store: RunStore, record: dict[str, Any]) -> Any:
    """A table's numbers as its figure has them: below a paper's those of the built-in world, where the same columns are
    measured there; of two tables beside them, in the rows of the same strategies or scores."""
    table = str(record["table"])
    names = table_html.COUNTERPARTS.get(table, ())
    keys = [table_html.table_choices(table_html.WORLD)[name].key for name in names]
    if table in table_html._OUR_NOTES:
        return plots.papers_data(table_html._with_ours(record, record_here(store, keys[-1])["lines"]))
    if not keys or table.startswith("cola/"):
        return plots.papers_data(record)
    return plots.papers_data(record, lines_here(keys[-1], store))
