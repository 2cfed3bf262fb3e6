"""Lesson 4: alpha, and why bijective matching does not need it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core.debiasing.debias import prior_from_scores
from core.debiasing.study import AlphaStudy, pmi_text
from core.figures import group_html
from core.figures.alpha import alpha_data, alpha_figure
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, IMAGE_SCORE, METRICS, TEXT_SCORE
from ui.export import chart
from ui.lessons import elements

MODEL = "builtin/blip-caption"  # its own kind: VisualGPTScore
BLIND = "blind:builtin/blip-caption"
SET = "scenes/attribute-swap"
SHOWN = (TEXT_SCORE, GROUP_SCORE, IMAGE_SCORE, GROUP_MATCH)


@st.cache_resource(max_entries=2, show_spinner=False)
def study(benchmark: str) -> AlphaStudy:
    """The captioner's scores with its own blind ones, for noise instead of the image, as the prior."""
    found, blind = elements.evaluate(benchmark, MODEL), elements.evaluate(benchmark, BLIND)
    return AlphaStudy(found.scores, prior_from_scores(blind.scores), found.truth, found.ids)


def show() -> None:
    st.markdown(
        "A captioner scores a caption by how likely it would write it for the image. That mixes two things: whether "
        "it fits the image, and whether it is likely English anyway. The second part is the **language prior**. "
        "Alpha-debiasing removes it: log P(t | i) − **α** · log P(t)."
    )
    found = study(SET)
    choice = elements.predict(
        "alpha",
        "on 2×2 groups, which of these cannot change at all, whatever α is?",
        tuple(METRICS[name].label for name in (TEXT_SCORE, GROUP_SCORE, GROUP_MATCH)),
    )
    if choice is None:
        return
    still = [
        METRICS[name].label
        for name in (TEXT_SCORE, GROUP_SCORE, GROUP_MATCH)
        if np.ptp(found.curve(name).values) == 0
    ]
    elements.verdict(choice, still[0] if len(still) == 1 else " and ".join(still) or "none of them")
    alpha = st.slider("α", 0.0, 1.0, 0.5, step=0.01, key="lesson_alpha", bind="query-params")
    chances = {name: found.evaluation(0.0).metrics[name].chance for name in SHOWN}
    curves = {name: found.curve(name) for name in SHOWN}
    figure = alpha_figure(alpha_data(curves, len(found.ids), chances, TEXT_SCORE), alpha)
    now = found.evaluation(alpha).metrics
    told = "; ".join(f"{METRICS[name].label} {now[name].value:.1f} %" for name in SHOWN)
    left, right = st.columns([3, 2], gap="large")
    with left:
        chart(figure, f"Metrics over alpha, exact. At {alpha:.2f}: {told}.", "lesson-alpha")
    with right:
        one_group(found, alpha)
    st.markdown(
        f"At α = {alpha:.2f} ({pmi_text(alpha)}): {told}. Subtracting α · log P(t) removes the **same** amount from "
        "every score in a caption's column. Both ways to match two images with two captions use each column exactly "
        "once, so both totals fall equally: **GroupMatch never needed debiasing**. Nor does ImageScore, which "
        "compares within a column. Both hold only for square groups and log scores."
    )
    elements.question(
        "alpha",
        "A 1×5 group: one image, five captions. Does α change GroupMatch there?",
        {
            "No, never": "With fewer images than captions, matchings use different columns; their totals change "
            "by different amounts.",
            "It can": "Each matching uses one column of five, so α subtracts a different amount from each.",
        },
        "It can",
    )
    elements.link_to_page("Move alpha on any set", "pages/3_Debias.py", elements.selection_state(SET, MODEL))


def one_group(found: AlphaStudy, alpha: float) -> None:
    """The first group that alpha flips for TextScore, with its table at this alpha."""
    flips = found.flips(1.0, TEXT_SCORE)
    changed = np.flatnonzero(flips.fixed | flips.broken)
    index = int(changed[0]) if len(changed) else 0
    scores = found.evaluation(alpha).scores[index]
    st.markdown(f"One group at α = {alpha:.2f}, images × captions")
    st.table({f"caption {j + 1}": {f"image {group_html.image_name(i)}": f"{v:.2f}" for i, v in enumerate(column)}
              for j, column in enumerate(scores.T)})  # fmt: skip
    straight, crossed = scores.trace(), scores[0, 1] + scores[1, 0]
    st.markdown(
        f"straight {straight:.2f} − crossed {crossed:.2f} = **{straight - crossed:.2f}**, whatever α is.".replace(
            "-", "−"
        )
    )
