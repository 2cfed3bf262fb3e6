"""Lesson 6: memorising or learning: the transfer check."""

from __future__ import annotations

import streamlit as st

from core import figures
from core.figures.text import metric_line
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE
from core.teaching import lessons
from ui.export import chart
from ui.lessons import elements
from ui.loaders import load_groups

SHOWN = (GROUP_SCORE, GROUP_MATCH)


@st.cache_data(max_entries=4, show_spinner="Training a map per modality on half of the groups …")
def halves(benchmark: str, model: str) -> tuple[lessons.AdaptedPart, lessons.AdaptedPart]:
    return lessons.simplematch_transfer(load_groups(benchmark, "test"), model, 0.5)


def show() -> None:
    st.markdown(
        "**SimpleMatch** overfits a model to its own matchings. No label is used, and GroupScore rises steeply. Has "
        "the model learned something about *left* and *right*, or about these images? Adapt on **half** of the "
        "groups and measure the other half, which it never saw."
    )
    choice = elements.predict(
        "transfer",
        "GroupScore of the adapted half will rise by tens of points. And of the untouched half?",
        ("it rises as much", "it rises far less", "it falls"),
    )
    if choice is None:
        return
    adapted, untouched = halves(elements.SET, elements.MODEL)
    gains = [
        h.after.metrics[GROUP_SCORE].value - h.before.metrics[GROUP_SCORE].value for h in (adapted, untouched)
    ]
    outcome = (
        "it falls" if gains[1] < 0 else "it rises far less" if gains[1] < gains[0] / 2 else "it rises as much"
    )
    elements.verdict(choice, outcome)
    rows = {
        f"{name}, {when}": getattr(half, when).metrics
        for name, half in (("adapted", adapted), ("untouched", untouched))
        for when in ("before", "after")
    }
    told = "; ".join(f"{name} {metric_line(row[GROUP_SCORE])}" for name, row in rows.items())
    chart(
        figures.bars_figure(figures.bars_data(rows, SHOWN)), f"GroupScore and GroupMatch. {told}.", "transfer"
    )
    st.markdown(
        f"Adapted half: GroupScore {gains[0]:+.1f} points. Untouched half: {gains[1]:+.1f}. The gap is memory of the "
        "test set, not skill. GroupMatch of the adapted half hardly moves: the labels *are* its matchings. That is why "
        "Crossmatch offers the check wherever a model adapts. (One map per modality on frozen embeddings, trained just "
        "now; test-time matching trains the whole model, and how much of its gain carries over is measured there.)"
    )
    elements.question(
        "transfer",
        "When is memorising the test groups acceptable?",
        {
            "Never": "In the transductive setting, where exactly these groups have to be matched, it is the point.",
            "When these groups are all that has to be matched": "Transductive use: the gain is real for these groups, "
            "and says nothing about others.",
        },
        "When these groups are all that has to be matched",
    )
    elements.link_to_page(
        "Run test-time matching with a transfer check",
        "pages/4_Test-Time_Matching.py",
        elements.selection_state(elements.SET),
    )
