"""What every lesson is made of: an actual group, definitions, a prediction before the answer, figures, a question at
the end, a link into the app."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.groups import Group, ImageRef
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import GroupData
from core.metrics.groups import METRICS
from ui import loaders
from ui.formatting import unbroken
from ui.images import draw_group
from ui.lessons import answers
from ui.selection import page_button, whole_test_set

MODEL, SET = "builtin/clip", "scenes/left-right"


class Lesson(NamedTuple):
    """One lesson as the list shows it."""

    title: str
    minutes: int
    asks: str  # the question that it answers
    show: Callable[[], None]  # draws it
    example: tuple[str, int] = (SET, 0)  # the set and the group whose pictures are on its card
    unseen: bool = False  # whether it is about not seeing them


def evaluate(benchmark: str, model: str) -> Evaluation:
    """A model's evaluation on a whole test set: computed now, or cached."""
    return loaders.evaluate(whole_test_set(benchmark, model))


def load_group(benchmark: str, index: int = 0) -> Group:
    """A group of a test set; by default its first."""
    return loaders.load_groups(benchmark, "test")[index]


def example_images(lesson: Lesson) -> list[ImageRef]:
    """Two pictures for the card of a lesson: of its group, and of the next one where that has a single image."""
    benchmark, index = lesson.example
    return [image for each in (index, index + 1) for image in load_group(benchmark, each).images][:2]


def draw_pair(group: Group, data: GroupData, revealed: bool = False) -> None:
    """The lesson's own group, in a place that is as high as its pictures before they come."""
    with st.container(key="drawn-lesson"):
        draw_group(group, data, revealed)


def define(*names: str, shape: tuple[int, int] = (2, 2)) -> None:
    """What the metrics mean that the lesson speaks about, in their order everywhere: before it asks anything.

    shape : images and captions of the lesson's groups.
    """
    entries = [entry for name, entry in METRICS.items() if name in names]
    st.markdown("\n".join(f"- **{entry.label}**: {entry.meaning_for(*shape)}" for entry in entries))


def predict(lesson: str, question: str, options: Sequence[str]) -> str | None:
    """A prediction; what follows is drawn once it is made. None until then."""
    with st.container(border=True):
        choice = _choose(lesson, answers.PREDICTION, f"**Predict:** {question}", options, f"predict-{lesson}")
        hint = st.empty()  # gone at once, also where the result takes a while
        if choice is None:
            hint.caption("Choose an answer; the result appears below.")
    return choice


def verdict(lesson: str, choice: str, right: str, numbers: str) -> None:
    """Whether the prediction came true, and below it the numbers that say so; `right` follows from them, too."""
    answers.judge(lesson, answers.PREDICTION, choice == right)
    with _feedback(answers.PREDICTION):
        if choice == right:
            st.success(unbroken(f"**Right: {right}.**  \n{numbers}"), icon=":material/check:")
        else:
            said = f"**Not quite: you said “{choice}”; the answer: {right}.**  \n{numbers}"
            st.warning(unbroken(said), icon=":material/lightbulb:")


def _feedback(part: int) -> DeltaGenerator:
    """The place of what is said of an answer, which comes into sight when it is given: see `ui.history`."""
    return st.container(key=f"feedback-{part}")


def in_numbers(data: GroupData, *names: str) -> str:
    """What metrics compare, with the numbers of one group."""
    return " ".join(f"{METRICS[name].label}: {METRICS[name].verdict(data)}." for name in names)


def question(lesson: str, asked: str, options: Mapping[str, str], right: str) -> None:
    """The question at the end. options : answer -> what to say of it; a wrong one ends with the right one and why."""
    st.subheader("A question to end with", anchor=False)
    choice = _choose(lesson, answers.QUESTION, asked, list(options), f"question-{lesson}")
    if choice is None:
        return
    answers.judge(lesson, answers.QUESTION, choice == right)
    with _feedback(answers.QUESTION):
        if choice == right:
            st.success(f"Right: {options[choice]}", icon=":material/check:")
        else:
            said = f"Not quite: {options[choice]}  \n**The answer: “{right}”.** {options[right]}"
            st.warning(said, icon=":material/lightbulb:")


def _choose(lesson: str, part: int, label: str, options: Sequence[str], key: str) -> str | None:
    """One of some options; what was chosen before a reload is chosen still."""
    earlier = answers.chosen(lesson, part, len(options))
    if key not in st.session_state and earlier is not None:
        st.session_state[key] = options[earlier]
    choice = st.radio(unbroken(label), options, index=None, key=key)
    answers.store(lesson, part, None if choice is None else list(options).index(choice))
    return choice


def link_to_page(label: str, page: str, state: Mapping[str, Any]) -> None:
    """The link into the live page, with the state of the lesson."""
    page_button(
        label, page, {"split": "test", "tag": [], **state}, type="primary", icon=":material/arrow_forward:"
    )


def selection_state(benchmark: str, model: str = MODEL) -> dict[str, Any]:
    """The sidebar's state for a set and a model."""
    return {"set": benchmark, "model": model}
