"""Lesson 1: a score matrix to edit, where GroupScore says no and GroupMatch says yes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.base.errors import InputError
from core.figures import group_html
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, IMAGE_SCORE, TEXT_SCORE
from ui.lessons import elements

START = [[6.4, 5.0], [10.1, 9.6]]
SHOWN = (TEXT_SCORE, IMAGE_SCORE, GROUP_SCORE, GROUP_MATCH)


def edited() -> np.ndarray:
    """The matrix as the student has set it."""
    frame = pd.DataFrame(START, index=["image A", "image B"], columns=["caption 1", "caption 2"])
    number = st.column_config.NumberColumn(format="%.2f", required=True, min_value=-100.0, max_value=100.0)
    table = st.data_editor(frame, column_config=dict.fromkeys(frame.columns, number), key="matrix")
    values = table.to_numpy(dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError("Every cell of the matrix needs a number; fill the empty one.")
    return values


def show() -> None:
    st.markdown(
        "Two images, two captions, four scores. Image A belongs to caption 1, image B to caption 2. A model gave "
        "the scores below: image B scores high with every caption."
    )
    st.dataframe(
        pd.DataFrame(START, index=["image A", "image B"], columns=["caption 1", "caption 2"]), width=420
    )
    choice = elements.predict(
        "matrix",
        "does this model know which caption belongs to which image?",
        ("no metric will say so", "GroupScore says yes", "GroupMatch says yes, GroupScore says no"),
    )
    if choice is None:
        return
    start = _kinds(np.array(START))
    said = {name: kind == "right" for name, kind in start.items()}
    outcome = (
        "GroupMatch says yes, GroupScore says no"
        if said[GROUP_MATCH] and not said[GROUP_SCORE]
        else "GroupScore says yes" if said[GROUP_SCORE] else "no metric will say so"
    )  # fmt: skip
    elements.verdict(choice, outcome)
    st.markdown(
        "GroupScore compares single cells, so an image that scores high with every caption makes it fail. "
        "GroupMatch compares whole assignments: A–1 and B–2 together, against A–2 and B–1. **Change the numbers** "
        "and watch the verdicts; add 4 to the whole row of image A, for instance."
    )
    left, right = st.columns([2, 3], gap="large")
    with left:
        values = edited()
    with right:
        st.html(group_html.verdicts_html(_evaluation(values).group(0), SHOWN))
    st.caption(
        "One made-up group: chance levels are 25, 25, 16.7 and 50 % on random scores, from top to bottom."
    )
    elements.question(
        "matrix",
        "You add the same number to both scores of image A. What can change?",
        {
            "GroupMatch": "Both assignments contain image A exactly once, so both totals grow by the same number.",
            "ImageScore": "Columns compare image A with image B, and only A moved. GroupMatch cannot change: both "
            "assignments contain A once.",
            "Nothing": "Columns compare A with B, and only A moved: ImageScore, and with it GroupScore, can change.",
        },
        "ImageScore",
    )
    elements.link_to_page(
        "See real groups like this one", "pages/1_Groups.py", elements.selection_state(elements.SET)
    )


def _evaluation(values: np.ndarray) -> Evaluation:
    return Evaluation.of(values[None], np.array([[0, 1]]), ["yours"])


def _kinds(values: np.ndarray) -> dict[str, str]:
    return _evaluation(values).group(0).kinds
