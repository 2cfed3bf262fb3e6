"""Lesson 5: pseudo-labels: thresholds, coverage and precision, and what a decaying threshold is for."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import figures
from core.base.text import _pct
from core.exchange.example import EXAMPLE
from core.figures import OUTCOME_SYMBOLS
from core.figures.group_html import image_name
from core.figures.text import metric_line
from core.metrics import groups as metrics
from core.metrics import statistics
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, METRICS
from ui.chart_clicks import clicked_point
from ui.export import chart
from ui.fields import slider
from ui.formatting import say_interval_to_quote, unbroken
from ui.group_table import decimals_of_margins
from ui.images import draw_group
from ui.lessons import elements

SUREST = 0.2  # the share of the groups that the prediction is about


def show() -> None:
    evaluation = elements.evaluate(elements.SET, elements.MODEL)
    margin = evaluation.matches.margin
    st.markdown(
        "Test-time matching trains a model on its own matchings. Some of them are wrong. It trusts a matching only if "
        f"its **margin** over the next best one reaches a threshold τ. Of the {len(margin)} groups of the set "
        f"{elements.SET}, the one whose matching the built-in CLIP model is most sure of, and one of which it is "
        "hardly sure:"
    )
    shown = (int(margin.argmax()), unsure(evaluation))
    # The question stands beside them, on a laptop's first screen.
    *pictures, asked = st.columns([4, 4, 3], gap="medium")
    for index, column in zip(shown, pictures, strict=True):
        with column:
            st.markdown(f"**Margin {shown_margin(evaluation, index)}**")
            draw_group(elements.load_group(elements.SET, index), evaluation.group(index), revealed=False)
    with asked:
        elements.define(GROUP_MATCH)
        choice = elements.predict(
            "pseudo",
            "of the 20 % of matchings with the widest margins, how many are right, compared with all of them?",
            ("about as many", "clearly more", "fewer"),
        )
    if choice is None:
        return
    compare_the_surest(evaluation, choice)
    st.markdown("What the model chose for the two groups above:")
    for index, column in zip(shown, st.columns(2, gap="large"), strict=True):
        with column:
            st.markdown(chosen_captions(evaluation, index))
            draw_group(elements.load_group(elements.SET, index), evaluation.group(index))
    st.markdown(how_picked(evaluation))
    move_threshold(evaluation)
    low, _ = statistics._clopper_pearson(np.array(1.0), np.array(2))
    right = "No, with one that selects more groups, or that falls until it does"
    elements.question(
        "pseudo",
        "A high threshold selects two groups, and both are matched right: a precision of 100 %. Would you train with "
        "it?",
        {
            "Yes, throughout: it learns from no wrong label": "Two groups tell a model little about all the others. "
            f"And a precision of two groups is hardly known: its 95 % interval begins at {_pct(100 * float(low))} %.",
            right: "A threshold that falls starts with precision and ends with coverage. In the paper only such a one "
            "gains; on this set, with four seeds, one that stays where the falling one begins gains as much within the "
            "error, and a rising one half as much.",
            "No, with a threshold of 0: it learns from every group": "Then it learns from every wrong matching, too, "
            "and from the first step on.",
        },
        right,
    )
    elements.link_to_page(
        "Watch the threshold of a finished run fall",
        "pages/4_Test-Time_Matching.py",
        {**elements.selection_state(elements.SET), "run": EXAMPLE, "trained": True},
    )


def unsure(evaluation: Evaluation) -> int:
    """The group with the smallest margin of those that are matched wrong."""
    wrong = (evaluation.outcomes[GROUP_MATCH].value < 1) & ~evaluation.matches.tied
    return int(np.where(wrong, evaluation.matches.margin, np.inf).argmin())


def shown_margin(evaluation: Evaluation, index: int) -> str:
    """A group's margin with as many decimals as every other one's here, with which the smallest is not 0."""
    return f"{evaluation.matches.margin[index]:.{decimals_of_margins(evaluation)}f}"


def how_picked(evaluation: Evaluation) -> str:
    """Why it is this group, and how often those of the smallest margins are right all the same."""
    margin, right = evaluation.matches.margin, evaluation.outcomes[GROUP_MATCH].value == 1
    least = margin <= np.quantile(margin, SUREST)
    found = statistics.estimate(right[least], evaluation.metrics[GROUP_MATCH].chance)
    return unbroken(
        "The second group is picked: of those that are matched wrong it has the smallest margin. Others with a small "
        f"margin are right. {METRICS[GROUP_MATCH].label} of the {100 * SUREST:.0f} % with the smallest margins: "
        f"{metric_line(found)}."
    )


def compare_the_surest(evaluation: Evaluation, choice: str) -> None:
    """The prediction against the matchings with the widest margins."""
    margin, right = evaluation.matches.margin, evaluation.outcomes[GROUP_MATCH].value == 1
    everyone = evaluation.metrics[GROUP_MATCH]
    surest = statistics.estimate(right[margin >= np.quantile(margin, 1 - SUREST)], everyone.chance)
    outcome = "about as many"
    if surest.low > everyone.value:
        outcome = "clearly more"
    elif surest.high < everyone.value:
        outcome = "fewer"
    both = f"{METRICS[GROUP_MATCH].label} {_pct(surest.value)} % of these, {_pct(everyone.value)} % of all."
    why = "The wider the margin, the further behind is the other matching: the model is the surer."
    elements.verdict("pseudo", choice, outcome, f"{both} {why}")
    label = METRICS[GROUP_MATCH].label
    said = (
        f"- {label} of the most confident {100 * SUREST:.0f} %: {metric_line(surest)}\n"
        f"- {label} of all groups: {metric_line(everyone)}"
    )
    st.markdown(unbroken(said))
    say_interval_to_quote([everyone])


def chosen_captions(evaluation: Evaluation, index: int) -> str:
    """Which caption the model gives each image of a group, by its number in the drawing below, and whether that is
    right."""
    data = evaluation.group(index)
    kind = data.kinds[GROUP_MATCH]
    begin = f"Margin {shown_margin(evaluation, index)}, {OUTCOME_SYMBOLS[kind]} **{kind}**: "
    if data.matching is None:
        return f"{begin}two matchings have the same total."
    pairs = (f"image {image_name(i)} gets caption {j + 1}" for i, j in enumerate(data.matching))
    return f"{begin}{', '.join(pairs)}."


def move_threshold(evaluation: Evaluation) -> None:
    """The interactive figure: what each threshold selects, and the last matching that it selects."""
    st.subheader("Move the threshold", anchor=False)
    margin, tied = evaluation.matches.margin, evaluation.matches.tied
    right = evaluation.outcomes[GROUP_MATCH].value == 1
    share = slider(st, "Groups that are trained on, %", 5, 100, 20, step=5, key="share_kept")
    tau = float(np.quantile(margin, 1 - share / 100))
    selected = (margin >= tau) & ~tied
    curve = metrics.threshold_curve(evaluation.matches, evaluation.truth)
    coverage, precision = figures.at_threshold(curve, tau)
    figure = figures.threshold_figure(figures.threshold_data(curve), tau)
    summary = f"Threshold {tau:.2f}: coverage {coverage:.0f} %, precision {precision or 0:.0f} %"
    first, second = st.columns(2, gap="large")
    with first:
        chart(figure, f"Coverage and precision over the threshold. {summary}.", "lesson-threshold")
        clicked_point("lesson-threshold", lambda point: _select_from(margin, point.x))
        st.caption(
            "Press the figure to move the threshold there. Shaded: the 95 % interval of the precision."
        )
        labels, correct = st.columns(2)
        labels.metric("Pseudo-labels", f"{int(selected.sum())} of {len(selected)}")
        correct.metric("Correct", f"{int(right[selected].sum())} ({_pct(precision or 0)} %)")
    last = int(np.where(selected, margin, np.inf).argmin())
    with second:
        st.markdown(
            "The least confident matching that this threshold selects, with a margin of "
            f"{shown_margin(evaluation, last)}:"
        )
        draw_group(elements.load_group(elements.SET, last), evaluation.group(last))
    st.markdown(
        "A high first threshold gives few labels, mostly right ones. If the model improves and its margins "
        "grow, the next, lower threshold finds labels that are better than they were before. A threshold that "
        "stays high reaches the rest only as margins grow; one that starts low trains on the mistakes at once."
    )


def _select_from(margin: np.ndarray, tau: float) -> None:
    """Move the slider to the share of groups whose margin reaches a threshold (from a callback)."""
    share = 5 * round(20 * float((margin >= tau).mean()))
    st.session_state["share_kept"] = min(max(share, 5), 100)
