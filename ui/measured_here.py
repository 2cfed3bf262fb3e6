"""What is measured on the built-in world of the same kind as a paper's table: read once for all parts of a page."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from core import figures as plots
from core import papers
from core.figures.text import escape_markdown
from core.papers import table_html
from core.runs.store import RunStore

_FIRST_LINES = 8  # of our long table below a paper's: four sets, each with test-time matching and SimpleMatch

# Of many rows of a figure those that are shown at first: by table, or by paper, what their names match, and who they
# are in words.
_HEADLINE = {
    "ttm/1": (r"\bCLIP-B16$|^here: ", "the paper's CLIP, and ours"),
    "ttm/2": (
        r"^(?!here: )|(attribute-swap|left-right|front-behind|relations-1x4)@",
        "the paper's, and four of ours",
    ),
    "ttm/9": (r"T=(3|10)$", "3 and 10 iterations"),
    "vgpt": (r"^(BLIP, |OPT|human$)", "BLIP, OPT and the highest"),
    "cola": (
        r"^CLIP, (zero-shot|FT late|MM-Pred|MM-Adapter)$|^(here: |human$)",
        "four of CLIP, and the highest",
    ),
}
# What a name in the rows or columns of a figure matches -> the name, and what it means: a phone has no pointer to rest
# on it.
_NAMES = {
    r"^raw ": ("raw", "the model as it is."),
    r"^TTM GroupMatch": (
        "SimpleMatch",
        "learns all of its own matchings at once, where TTM begins with the surest.",
    ),
    r"T=\d": ("T", "iterations of TTM."),
    r"\bblind\b": ("blind", "sees no picture."),
    r"\bITC\b": ("ITC", "compares picture and caption, each read by itself."),
    r"\bITM\b": ("ITM", "reads both together."),
    r"VisualGPTScore": ("VisualGPTScore", "the generative score."),
    r"α": ("α", "how much of the language prior is taken off; 0 is none, 1 all of it."),
    r"α\*($|,)": ("α*", "chosen on the test set itself, so an upper bound."),
    r"α\*_test": ("α*_test", "chosen on the test set itself, so an upper bound."),
    r"α\*_val": ("α*_val", "chosen on validation data."),
    r"zero-shot": ("zero-shot", "the model as it is."),
    r"FT late": ("FT late", "a new last layer for each encoder."),
    r"MM-(Pred|Adapter)": (
        "MM-Pred, MM-Adapter",
        "a small network reads the picture's parts and the words together.",
    ),
    r"Token map": ("Token map", "compares each word with the part of the picture that it fits best."),
}


def record_here(store: RunStore, key: str) -> dict[str, Any]:
    """`TablePlan.record()` of a table of the built-in world, made anew once other runs have finished: only its numbers
    are to be read, for what it says of data and weights may be older."""
    finished = tuple(run.id for run in store.list() if run.status == "finished")
    return _record(key, finished, store)


@st.cache_data(max_entries=32, show_spinner=False)
def _record(key: str, finished: tuple[str, ...], _store: RunStore) -> dict[str, Any]:
    return papers.table_plan(_store, key, papers.SEEDS).record()


@st.cache_data(show_spinner=False)
def lines_here(key: str, of_one_image: bool, _store: RunStore) -> list[dict[str, Any]]:
    """The first lines of a table of the built-in world with what ships of them, the same for every visitor: those of
    SimpleMatch, whose numbers stand in the others, left out. of_one_image : those of the first model on groups of one
    image, for a paper's table of such groups: GroupScore of several images rises by its metric alone there."""
    lines = record_here(_store, key)["lines"]
    if of_one_image:
        model = lines[0]["line"].partition(", ")[2]
        lines = [x for x in lines if table_html._is_of_one_image(x) and x["line"].endswith(f", {model}")]
    else:
        lines = lines[:_FIRST_LINES]
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


def headline(record: dict[str, Any], data: Any, highest: bool) -> tuple[Any, str]:
    """Of a figure's numbers the rows that are shown at first, and who they are; all of them, and "", where they are few
    or none is named. highest : the figure names the highest of each column."""
    table = str(record["table"])
    names, said = _HEADLINE.get(table) or _HEADLINE.get(table.partition("/")[0]) or ("", "")
    few = data._headline(names, highest) if names else data
    return few, said if few is not data else ""


def names_note(record: dict[str, Any], data: Any) -> str:
    """What the names in a figure of a paper's table mean, in Markdown; "" where none needs it."""
    if str(record["table"]).startswith("world"):
        return ""
    names = [*data.lines, *data.results]
    found = [said for pattern, said in _NAMES.items() if any(re.search(pattern, name) for name in names)]
    return " ".join(f"**{escape_markdown(name)}**: {meaning}" for name, meaning in found)


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
    return plots.papers_data(record, lines_here(keys[-1], table in table_html._OF_ONE_IMAGE, store))
