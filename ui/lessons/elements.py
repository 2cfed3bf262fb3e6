"""What every lesson is made of: a prediction before the answer, figures, a question at the end, a link into the app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from core.metrics.evaluation import Evaluation
from ui import loaders
from ui.selection import page_button, whole_test_set

MODEL, SET = "builtin/clip", "scenes/left-right"


def evaluate(benchmark: str, model: str) -> Evaluation:
    """A model's evaluation on a whole test set: computed now, or cached."""
    return loaders.evaluate(whole_test_set(benchmark, model))


class Lesson(NamedTuple):
    """One lesson as the list shows it."""

    title: str
    minutes: int
    asks: str  # the question that it answers
    show: Any  # draws it


def predict(key: str, question: str, options: Sequence[str]) -> str | None:
    """A prediction; what follows is drawn once it is made. None until then."""
    with st.container(border=True):
        choice = st.radio(f"**Predict:** {question}", options, index=None, key=f"predict-{key}")
        if choice is None:
            st.caption("Choose an answer; the result appears below.")
    return choice


def verdict(choice: str, right: str) -> None:
    """Whether the prediction came true. `right` is computed from the numbers, not written down."""
    if choice == right:
        st.success(f"You predicted it: {right}.", icon=":material/check:")
    else:
        st.warning(f"You said “{choice}”; it is: {right}.", icon=":material/lightbulb:")


def question(key: str, asked: str, options: Mapping[str, str], right: str) -> None:
    """The question at the end. options : answer -> what to say of it."""
    st.header("A question to end with", anchor=False)
    choice = st.radio(asked, list(options), index=None, key=f"question-{key}")
    if choice is None:
        return
    if choice == right:
        st.success(f"Right. {options[choice]}", icon=":material/check:")
    else:
        st.warning(f"Not quite. {options[choice]}", icon=":material/lightbulb:")


def link_to_page(label: str, page: str, state: Mapping[str, Any]) -> None:
    """The link into the live page, with the state of the lesson."""
    page_button(
        label, page, {"split": "test", "tag": [], **state}, type="primary", icon=":material/arrow_forward:"
    )


def selection_state(benchmark: str, model: str = MODEL) -> dict[str, Any]:
    """The sidebar's state for a set and a model."""
    return {"set": benchmark, "model": model}
