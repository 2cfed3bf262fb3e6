"""Lesson 2: random guessing, against Propositions 1 to 4."""

from __future__ import annotations

import streamlit as st

from core import figures
from core.figures.text import metric_line
from core.metrics.groups import METRICS
from core.teaching import lessons
from ui.export import chart
from ui.lessons import elements

SHAPES = [(2, 2), (3, 3), (4, 4), (1, 2), (1, 4), (2, 4), (3, 5)]


def show() -> None:
    st.markdown(
        "Let a model that knows nothing give random scores. What it gets depends on the shape of the groups and on the "
        "metric, so an accuracy without its chance level says little."
    )
    options = ("1 in 4", "1 in 6", "1 in 2")
    choice = elements.predict("chance", "on 2×2 groups, how often is GroupMatch right by pure luck?", options)
    if choice is None:
        return
    exact = lessons.guessing_table([(2, 2)]).iloc[0]["GroupMatch"]
    elements.verdict(choice, f"1 in {100 / exact:.0f}")
    st.markdown(
        "There are only two ways to match two images with two captions, so the chance level is one half. "
        "**GroupMatch is not free accuracy**: compare it with its chance level, never read it alone. Now draw "
        "random scores yourself."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = [f"{m}×{k}" for m, k in SHAPES]
        shape = st.selectbox(
            "Shape (images × captions)", names, key="shape_drawn", bind="query-params", width=240
        )
        n = st.select_slider(
            "Random groups", [100, 300, 1000, 3000, 10_000], 1000, key="drawn", bind="query-params", width=300
        )
        st.button("Draw again", on_click=_again, icon=":material/casino:")
    m, k = SHAPES[names.index(shape)]
    found = lessons.simulate(m, k, n, st.session_state.get("draw", 0))
    data = figures.bars_data(
        {shape: {one.metric: one.estimate for one in found}}, [one.metric for one in found]
    )
    said = "; ".join(f"{METRICS[one.metric].label} {metric_line(one.estimate)}" for one in found)
    left, right = st.columns(2, gap="large")
    with left:
        chart(figures.bars_figure(data, 300), f"Accuracy of {n} random groups of {shape}. {said}.", "chance")
    with right:
        for one in found:
            agree = "holds" if one.agrees else "misses, as one interval in twenty does,"
            st.markdown(
                f"**{METRICS[one.metric].label}** {one.estimate.value:.1f} %; its 95 % interval "
                f"{one.estimate.low:.1f}–{one.estimate.high:.1f} {agree} the exact {one.estimate.chance:.2f} %"
            )
        table = lessons.guessing_table(SHAPES)
        number = st.column_config.NumberColumn(format="%.2f %%")
        st.dataframe(table, hide_index=True, column_config={"GroupScore": number, "GroupMatch": number})
        st.caption(
            "Exact chance levels: [TTM] Propositions 1 and 2 for k×k, 3 and 4 for fewer images than captions."
        )
    elements.question(
        "chance",
        "Model X: GroupScore 25 % on 2×2. Model Y: GroupMatch 45 % on 2×2. Which one certainly knows more than chance?",
        {
            "X": "Given enough groups: 25 is above its chance level of 16.7, while 45 is below 50.",
            "Y": "45 is below GroupMatch's chance level of 50.",
            "Both": "45 is below GroupMatch's chance level of 50.",
        },
        "X",
    )
    elements.link_to_page(
        "See a model's metrics with their chance levels",
        "pages/2_Matching.py",
        elements.selection_state(elements.SET),
    )


def _again() -> None:
    st.session_state["draw"] = st.session_state.get("draw", 0) + 1
