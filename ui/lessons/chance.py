"""Lesson 2: random guessing, against Propositions 1 to 4."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.base.text import _pct
from core.figures import group_html
from core.figures.teaching import draws_data, draws_figure
from core.figures.text import metric_line
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import SYMBOLS
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Estimate
from core.teaching import lessons
from ui.export import chart
from ui.formatting import unbroken
from ui.lessons import elements

SHAPES = [(2, 2), (3, 3), (4, 4), (1, 2), (1, 4), (2, 4), (3, 5)]
DRAWS = 20  # of which one 95 % interval is expected to miss


def show() -> None:
    st.markdown(
        "Let a model that knows nothing give **random scores**. What it gets depends on the shape of the groups and on "
        "the metric, so an accuracy without its chance level says little."
    )
    left, right = st.columns(2, gap="large")
    with right:
        guessed_group(left)
        elements.define(GROUP_SCORE, GROUP_MATCH, shape=(2, 4))  # of every shape below, 2×2 among them
        options = ("1 in 4", "1 in 6", "1 in 2")
        choice = elements.predict(
            "chance", "on 2×2 groups, how often is GroupMatch right by pure luck?", options
        )
    if choice is None:
        return
    exact = lessons.guessing_table([(2, 2)]).iloc[0]["GroupMatch"]
    why = "There are only two ways to match two images with two captions, and luck takes either as often."
    elements.verdict(
        "chance", choice, f"1 in {100 / exact:.0f}", f"{why} Its exact chance level is {_pct(exact)} %."
    )
    st.markdown("**GroupMatch is not free accuracy**: compare it with its chance level, never read it alone.")
    random_draws()
    elements.question(
        "chance",
        "On 1,000 groups of 2×2, model X has a GroupScore of 25 % and model Y a GroupMatch of 45 %. Which of the two "
        "does better than chance?",
        {
            "X": "Its interval, about 22 to 28, lies above the chance level of 16.7; 45 is below GroupMatch's 50.",
            "Y": "Its number is the higher one, but of another metric, by which luck alone gets half.",
            "Both": "Y does not: by GroupMatch, luck alone gets half.",
        },
        "X",
    )
    elements.link_to_page(
        "See a model's metrics with their chance levels",
        "pages/2_Matching.py",
        elements.selection_state(elements.SET),
    )


def guessed_group(left: Any) -> None:
    """One actual group, its pictures on the left, and scores that are drawn at random."""
    group = elements.load_group(elements.SET)
    scores = guessed_scores(st.session_state.get("draw", 0))
    data = Evaluation.of(scores, np.array([group.truth]), [group.id]).group(0)
    with left:
        elements.draw_pair(group, data, revealed=True)
    st.markdown("Random scores for this pair; ● the matching of these scores, ✓ the true pairs:")
    # Beside the table: below the pictures it pushed the answer out of a laptop's first screen.
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        st.html(group_html.matrix_html(data, "Random scores of one group"), width="content")
        st.button("Draw again", on_click=_again, icon=":material/casino:")
    marks = (
        f"{SYMBOLS[data.kinds[name]]} {METRICS[name].label} {data.kinds[name]}"
        for name in (GROUP_SCORE, GROUP_MATCH)
    )
    st.markdown(" · ".join(marks))


def guessed_scores(draw: int) -> np.ndarray:
    """Random scores (1, 2, 2) with the two decimals that are shown, so that every draw looks alike and adds up; one
    with a tie is drawn again."""
    random = np.random.default_rng(draw)
    while True:
        scores = random.standard_normal((1, 2, 2)).round(2)
        (right, wrong), (other_wrong, other_right) = scores[0]
        if np.unique(scores).size == 4 and abs(right + other_right - wrong - other_wrong) > 0.005:
            return scores


def random_draws() -> None:
    """The interactive figure: many groups with random scores, twenty times, each time with its interval."""
    st.subheader("Draw random scores for many groups", anchor=False)
    with st.container(horizontal=True):  # by their labels: a slider goes on below its line
        names = [f"{m}×{k}" for m, k in SHAPES]
        shape = st.selectbox(
            "Shape (images × captions)", names, key="shape_drawn", bind="query-params", width=200
        )
        n = st.select_slider(
            "Groups per draw",
            [100, 300, 1000, 3000, 10_000],
            1000,
            key="drawn",
            bind="query-params",
            width=260,
        )
        subjects = {METRICS[name].label: name for name in (GROUP_MATCH, GROUP_SCORE)}
        subject = st.segmented_control(
            "Metric", list(subjects), default=METRICS[GROUP_MATCH].label, key="drawn_metric", required=True
        )
    st.button("Draw all again", on_click=_again, icon=":material/casino:")
    m, k = SHAPES[names.index(shape)]
    every = _simulate(m, k, int(n), st.session_state.get("draw", 0))
    draws = [draw[subjects[subject or METRICS[GROUP_MATCH].label]] for draw in every]
    data = draws_data(draws)
    hits, width = int(data.contains.sum()), float((data.high - data.low).mean())
    summary = f"{hits} of {DRAWS} intervals contain the exact chance level of {_pct(data.chance)} %"
    chart(
        draws_figure(data),
        f"{subject} of {DRAWS} draws of {n} groups of {shape} with random scores: {summary}.",
        "chance",
    )
    said = (
        f"Each of the {DRAWS} draws has a 95 % interval of its own. **{summary}.** On average at least 19 of 20 "
        "intervals contain it: that is what 95 % means, and why one that misses proves nothing. They are "
        f"{_pct(width)} points wide; more groups make them narrower. The first draw: {metric_line(draws[0])}."
    )
    st.markdown(unbroken(said))
    table = lessons.guessing_table(SHAPES)
    number = st.column_config.NumberColumn(format="%.2f %%")
    st.dataframe(table, hide_index=True, column_config={"GroupScore": number, "GroupMatch": number})
    st.caption(
        "These chance levels are exact: Propositions 1 and 2 of the paper "
        "[Test-Time Matching](https://arxiv.org/abs/2510.07632) for groups of as many images as captions, 3 and 4 for "
        "groups of fewer images than captions."
    )


@st.cache_data(max_entries=64, show_spinner=False)
def _simulate(m: int, k: int, n: int, draw: int) -> list[dict[str, Estimate]]:
    """Of each of `DRAWS` sets of n random groups, the metrics."""
    seeds = range(DRAWS * draw, DRAWS * (draw + 1))
    return [lessons.simulate(m, k, n, seed) for seed in seeds]


def _again() -> None:
    st.session_state["draw"] = st.session_state.get("draw", 0) + 1
