"""Lesson 1: the scores of an actual group to change, where GroupScore says no and GroupMatch says yes."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.base.text import _pct
from core.figures import OUTCOME_SYMBOLS, group_html
from core.figures.text import escape_markdown
from core.groups import Group
from core.metrics import group_filters
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import GroupData
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, IMAGE_SCORE, METRICS, TEXT_SCORE
from ui.built_in import built_in_said
from ui.formatting import true_minus
from ui.images import draw_group, shades_bar
from ui.lessons import elements

SHOWN = (TEXT_SCORE, IMAGE_SCORE, GROUP_SCORE, GROUP_MATCH)
DISAGREE = [f"{METRICS[GROUP_MATCH].label} right", f"{METRICS[GROUP_SCORE].label} wrong"]
TYPED = "lesson_scores"  # in the address: the four cells of the table, row by row, `9.1_8_7.5_6`
_TABLE = "matrix_table"  # how often it was begun anew
_FIELD = "lesson-score"  # begins the key of a field
_LAST = "matrix_last"  # the scores that counted last
_MOST = 100  # of a cell
DIGITS = 3  # of the model's scores: those that Groups shows this group with, so that both come to one margin
BOTH, NEITHER = "GroupMatch says yes, GroupScore says no", "no metric will say so"


def show() -> None:
    group, scores = example()
    start = judge(group, scores)
    data = start.group(0)
    with st.container(key="lesson-start"):
        st.markdown(
            "Two images, two captions: which caption belongs to which image? A model answers with **four scores**, one "
            "for every image with every caption; higher means a better match."
        )
        left, right = st.columns(2, gap="large")
    with left:
        elements.draw_pair(group, data)
    with right:
        truth = (f"image {group_html.image_name(i)} belongs to caption {j + 1}" for i, j in group.truth_pairs)
        st.markdown(f"In truth {', '.join(truth)}. The built-in model gives these scores:")
        st.caption(built_in_said(elements.MODEL))
        st.html(group_html.matrix_html(unmatched(data), "The model's scores"))
        shades_bar()
        elements.define(GROUP_SCORE, GROUP_MATCH)
        choice = elements.predict(
            "matrix",
            "does this model know which caption belongs to which image?",
            (NEITHER, "GroupScore says yes", BOTH),
        )
    if choice is None:
        return
    text, image, score = (METRICS[name].label for name in (TEXT_SCORE, IMAGE_SCORE, GROUP_SCORE))
    halves = f"{score} is {text} (every row right) and {image} (every column right) together."
    match, both = (elements.in_numbers(data, name) for name in (GROUP_MATCH, GROUP_SCORE))
    elements.verdict("matrix", choice, outcome(start), "  \n".join((match, both, halves)))
    change_the_scores(group, scores)
    elements.question(
        "matrix",
        "You add the same number to both scores of image A. What can change?",
        {
            "GroupMatch": "Both matchings contain image A exactly once, so both totals grow by the same number.",
            "ImageScore": "Columns compare image A with image B, and only A moved; GroupScore, which asks "
            "for it too, can change with it. GroupMatch cannot: both matchings contain A once.",
            "Nothing": "Within a row all stays, but within each column image A has moved.",
        },
        "ImageScore",
    )
    elements.link_to_page(
        "See every group that GroupMatch counts as right and GroupScore as wrong",
        "pages/1_Groups.py",
        {
            **elements.selection_state(elements.SET),
            "verdict": DISAGREE,
            "margin": "",
            "group": None,
            "q": "",
            "page": 1,
        },
    )


def unmatched(data: GroupData) -> GroupData:
    """The scores before anything is said of them: no matching, no true pairs marked."""
    return data._replace(matching=None, truth=[])


def example() -> tuple[Group, np.ndarray]:
    """The set's first group on which the two metrics disagree, and its scores (2, 2) as Groups shows them."""
    evaluation = elements.evaluate(elements.SET, elements.MODEL)
    mask = group_filters.notable_groups(evaluation)[group_filters._DISAGREEING]
    index = int(mask.argmax())
    return elements.load_group(elements.SET, index), np.round(
        evaluation.scores[index].astype(np.float64), DIGITS
    )


def judge(group: Group, scores: np.ndarray) -> Evaluation:
    """One group with these scores (2, 2), measured."""
    return Evaluation.of(scores[None], np.array([group.truth]), [group.id])


def outcome(evaluation: Evaluation) -> str:
    """Which of the options the metrics make true."""
    kinds = evaluation.group(0).kinds
    if kinds[GROUP_SCORE] == "right":
        return "GroupScore says yes"
    return BOTH if kinds[GROUP_MATCH] == "right" else NEITHER


def change_the_scores(group: Group, scores: np.ndarray) -> None:
    """The interactive figure: scores that the student changes, the matching and the verdicts that follow."""
    st.subheader("Change the scores", anchor=False)
    st.markdown(
        "GroupScore compares single cells, so an image that scores high with every caption makes it fail. "
        "GroupMatch compares whole matchings: both pairs of one against both pairs of the other. Move a slider, or "
        "type other scores, and watch the matching and the verdicts."
    )
    left, right = st.columns([2, 3], gap="large")  # what is moved beside what it changes
    with left:
        st.caption(
            "The scores before the sliders add to them: the model's, until you type others, from "
            f"−{_MOST} to {_MOST}."
        )
        values = edited(scores)
        if (values != scores).any():
            st.button("The model's scores again", on_click=_forget_typed, icon=":material/undo:")
        values[0] += added("Add to both scores of image A", "add_image")
        values[:, 0] += added("Add to both scores of caption 1", "add_caption")
    data = judge(group, values).group(0)
    with left, st.container(key="on-a-phone"):  # where the verdicts stand a screen below the sliders
        kinds = {METRICS[name].label: data.kinds[name] for name in (GROUP_SCORE, GROUP_MATCH)}
        st.markdown(
            " · ".join(f"**{label}** {OUTCOME_SYMBOLS[kind]} {kind}" for label, kind in kinds.items())
        )
    with left:
        st.caption("With what the sliders add:")
        st.html(group_html.matrix_html(data, "The scores as you have changed them"))
        shades_bar(f"{group_html._matching_key(data)} ✓: the true pairs.")
    with right:
        with st.container(width=400, key="drawn-again"):  # a phone has the pictures above alone
            draw_group(group, data)
        with st.container(key="lesson-verdicts"):
            st.html(group_html._folded_verdicts_html(data, SHOWN))


def added(label: str, key: str) -> float:
    """A slider from −6 to 6 in steps of 0.1; one of numbers writes a hyphen before the negative ones."""
    steps = [step / 10 for step in range(-60, 61)]
    more: dict[str, Any] = {"format_func": lambda step: true_minus(_pct(step)), "bind": "query-params"}
    return st.select_slider(label, steps, 0.0, key=key, **more)


def edited(scores: np.ndarray) -> np.ndarray:
    """The scores (2, 2) as the student has typed them, with a decimal point or comma; the address keeps them."""
    count = st.session_state.get(_TABLE, 0)
    keys = [[f"{_FIELD}-{count}-{i}-{j}" for j in range(2)] for i in range(2)]
    if keys[0][0] not in st.session_state:
        start = typed_before(scores)
        for row, written in zip(keys, start, strict=True):
            for key, value in zip(row, written, strict=True):
                st.session_state[key] = true_minus(f"{value:.{DIGITS}f}")
    cells = [[f"Image {group_html.image_name(i)}, caption {j + 1}" for j in range(2)] for i in range(2)]
    with st.container(key="lesson-fields", gap="small"):
        texts = []
        for names, row in zip(cells, keys, strict=True):
            with st.container(horizontal=True, gap="small"):
                texts.append([st.text_input(name, key=key) for name, key in zip(names, row, strict=True)])
    values = np.array([[_number(text) for text in row] for row in texts])
    before = st.session_state.get(_LAST, scores)
    for i, j in np.argwhere(np.isnan(values)).tolist():
        st.error(
            f"{cells[i][j]}: {escape_markdown(repr(texts[i][j][:40]))} is no number from −{_MOST} to {_MOST}, so "
            f"{true_minus(f'{before[i, j]:.{DIGITS}f}')} still counts; type one such as 7.5."
        )
        values[i, j] = before[i, j]
    st.session_state[_LAST] = values.copy()
    if (values == scores).all():
        st.query_params.pop(TYPED, None)
    elif st.query_params.get(TYPED) != (said := "_".join(f"{value:.10g}" for value in values.flat)):
        st.query_params[TYPED] = said
    return values


def _number(text: str) -> float:
    """What a field says; NaN where that is no number within the bounds."""
    try:
        value = float(text.strip().replace("−", "-").replace(",", "."))
    except ValueError:
        return np.nan
    return value if abs(value) <= _MOST else np.nan


def _forget_typed() -> None:
    """New fields, which begin with the model's scores (from a callback)."""
    st.session_state[_TABLE] = st.session_state.get(_TABLE, 0) + 1
    st.session_state.pop(_LAST, None)
    st.query_params.pop(TYPED, None)


def typed_before(scores: np.ndarray) -> np.ndarray:
    """The scores (2, 2) of the address, or where it has none these; what it has that are none is said."""
    asked = st.query_params.get(TYPED)
    if asked is None:
        return scores
    try:
        values = np.array([float(part) for part in asked.split("_")])
    except ValueError:
        values = np.array([np.nan])
    if len(values) == 4 and (np.abs(values) <= _MOST).all():  # NaN is not
        return values.reshape(2, 2)
    line = f"The fields take four numbers from −{_MOST} to {_MOST}; the address has {asked[:40]!r}, which is not used."
    st.warning(escape_markdown(line), icon=":material/link_off:")
    return scores
