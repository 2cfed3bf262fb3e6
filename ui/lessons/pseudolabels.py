"""Lesson 5: pseudo-labels: thresholds, coverage and precision, and what a decaying threshold is for."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import figures
from core.metrics import groups as metrics
from ui.export import chart
from ui.lessons import elements


def show() -> None:
    st.markdown(
        "Test-time matching trains a model on its own matchings. Some of them are wrong. It trusts a matching only if "
        "its **margin** over the next best one reaches a threshold τ: fewer labels, but better ones. Is that so?"
    )
    found = elements.evaluate(elements.SET, elements.MODEL)
    choice = elements.predict(
        "pseudo",
        "of the 20 % of matchings with the widest margins, how many are right, compared with all of them?",
        ("about as many", "clearly more", "fewer"),
    )
    if choice is None:
        return
    margin, right = found.matches.margin, found.outcomes[metrics.GROUP_MATCH].value == 1
    surest = margin >= np.quantile(margin, 0.8)
    top = metrics.estimate(right[surest], found.metrics[metrics.GROUP_MATCH].chance)
    everyone = found.metrics[metrics.GROUP_MATCH]
    outcome = (
        "clearly more"
        if top.low > everyone.value
        else "fewer"
        if top.high < everyone.value
        else "about as many"
    )
    elements.verdict(choice, outcome)
    st.markdown(
        f"Most confident 20 %: **{top.value:.1f} %** right (95 %: {top.low:.1f}–{top.high:.1f}); all groups: "
        f"**{everyone.value:.1f} %** ({everyone.low:.1f}–{everyone.high:.1f}); chance {everyone.chance:.0f} %."
    )
    curve = metrics.threshold_curve(found.matches, found.truth)
    share = st.slider(
        "Groups that are trained on, %", 5, 100, 20, step=5, key="share_kept", bind="query-params"
    )
    tau = float(np.quantile(margin, 1 - share / 100))
    coverage, precision = figures.at_threshold(curve, tau)
    left, right_side = st.columns(2, gap="large")
    figure = figures.threshold_figure(figures.threshold_data(curve), tau)
    said = f"Threshold {tau:.2f}: coverage {coverage:.0f} %, precision {precision or 0:.0f} %"
    with left:
        chart(figure, f"Coverage and precision over the threshold. {said}.", "lesson-threshold")
    with right_side:
        chosen = (margin >= tau) & ~found.matches.tied
        st.metric("Pseudo-labels", f"{int(chosen.sum())} of {len(chosen)}")
        st.metric("Correct", f"{int(right[chosen].sum())} ({precision or 0:.1f} %)")
        st.markdown(
            "A high first threshold gives few labels, mostly right ones. If the model improves and its margins "
            "grow, the next, lower threshold finds labels that are better than they were before. A threshold that "
            "stays high reaches the rest only as margins grow; one that starts low trains on the mistakes at once. "
            "In the paper only a falling threshold gains; on this set, with four seeds, a constant one gains as "
            "much within the error, and a rising one half as much."
        )
    elements.question(
        "pseudo",
        "Precision among the selected is 100 % only because the threshold selects two groups. Good?",
        {
            "Yes, precision is what counts": "Two groups teach a model nothing about all the others.",
            "No, it needs coverage as well": "A schedule that decays starts with precision and ends with coverage.",
        },
        "No, it needs coverage as well",
    )
    elements.link_to_page(
        "Watch a run lower its threshold",
        "pages/4_Test-Time_Matching.py",
        elements.selection_state(elements.SET),
    )
