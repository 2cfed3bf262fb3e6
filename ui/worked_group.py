"""One group that GroupMatch has right and GroupScore wrong: its scores, and what each metric compares."""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st

from core.figures import group_html
from core.figures.text import _unbroken
from core.groups import Group
from core.metrics.evaluation import Evaluation
from core.metrics.group_metrics import GROUP_MATCH, GROUP_SCORE, METRICS, GroupData
from ui.cached import cached_on
from ui.images import file_card, group_drawing, has_pictures

TITLE = "One group that GroupMatch alone has right"
_TRIED = 50  # groups whose sums are looked at: in a set of small margins none may add up
_WIDEST = 4  # images or captions of a matrix that has room in half a page


def worked_example(evaluation: Evaluation) -> int | None:
    """The place of the group to show; None where there is none, or where a student is to guess before seeing."""
    if st.session_state.get("predict"):
        return None
    return cached_on(evaluation, "worked group", lambda: _typical_group(evaluation))


def _typical_group(evaluation: Evaluation) -> int | None:
    """Of the groups that GroupMatch has right and GroupScore wrong, the one whose margin is nearest to their median.
    Those come first that add up as they are shown, with the fewest decimals: a reader adds them up."""
    match, score = (evaluation.outcomes[name].value == 1 for name in (GROUP_MATCH, GROUP_SCORE))
    found = np.flatnonzero(match & ~score)
    if not len(found) or max(evaluation.scores.shape[1:]) > _WIDEST:
        return None
    margins = evaluation.matches.margin[found]
    nearest = found[np.argsort(abs(margins - np.median(margins)), kind="stable")][:_TRIED].tolist()
    return min(nearest, key=lambda place: _hard_to_add(evaluation.group(place)))


def _hard_to_add(data: GroupData) -> tuple[bool, int]:
    return not data.adds_up, data.digits


def draw_worked_group(group: Group, data: GroupData) -> None:
    """Its pictures with the model's matching as lines, beside them its scores, and below both what either metric
    compares; on a phone folded below its title until it is asked for."""
    st.html(f'<details class="cm-fold"><summary>{TITLE}</summary></details>')
    with st.container(key="worked-group", gap="xsmall"):
        st.header(TITLE, anchor=False)
        st.html(_worked_html(group, data))


def _worked_html(group: Group, data: GroupData) -> str:
    matrix = group_html.matrix_html(data, escape(f"Scores of {group.id}: images down, captions across"))
    key = f"{group_html._matching_key(data)} ✓: the true pairs."
    judged = "".join(f"<p>{_judged(data, name)}</p>" for name in (GROUP_MATCH, GROUP_SCORE))
    drawn = group_drawing(group, data) if has_pictures(group) else file_card(group)
    return (
        f'<div class="cm-worked"><div class="cm-worked-seen">{drawn}'
        f'<div>{matrix}<p class="cm-key">{key}</p></div></div>{judged}</div>'
    )


def _judged(data: GroupData, name: str) -> str:
    """A metric's verdict in its own words; of GroupMatch with the margin, which is what is left of its sums."""
    said = group_html._unbroken(escape(METRICS[name].verdict(data)))
    margin = f": margin {data.shown_margin}" if name == GROUP_MATCH else ""
    return f"{group_html._mark(data.kinds[name], METRICS[name].label)} {said}{_unbroken(margin)}."
