"""What is measured on the built-in world of the same kind as a paper's table: read once for all parts of a page."""

from __future__ import annotations

from typing import Any

import streamlit as st

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
