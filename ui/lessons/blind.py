"""Lesson 3: the blind model that solves a benchmark."""

from __future__ import annotations

import streamlit as st

from core import figures
from core.figures.teaching import caption_bars_data, caption_bars_figure
from core.figures.text import metric_line
from core.metrics.evaluation import Evaluation
from core.metrics.groups import TEXT_SCORE
from ui.export import chart
from ui.fields import slider
from ui.formatting import say_interval_to_quote
from ui.images import draw_group
from ui.lessons import elements

BLIND = "builtin/blind-lm"
ORDER, SWAP = "scenes/word-order", "scenes/swap"
SETS = {ORDER: "shuffled words (1×5)", SWAP: "plausible swaps (1×2)"}


def show() -> None:
    st.markdown(
        "Some benchmarks ask for the right caption among wrong ones. If the wrong ones are not even English, a "
        "model can succeed without the image. The **blind language model** here has never seen one: it scores a "
        "caption by how likely it is as a sentence. One group of each kind:"
    )
    evaluations = {name: elements.evaluate(name, BLIND) for name in SETS}
    *pictures, asked = st.columns(3, gap="medium")
    for name, column in zip(SETS, pictures, strict=True):
        with column:
            st.markdown(f"**{SETS[name]}**")
            draw_group(elements.load_group(name), evaluations[name].group(0), revealed=False)
    with asked:
        elements.define(TEXT_SCORE, shape=(1, 2))
        choice = elements.predict(
            "blind",
            "on which set does a text-only model choose the true caption far more often than chance?",
            (*SETS.values(), "both", "neither"),
        )
    if choice is None:
        return
    lines = (f"{label}: {metric_line(evaluations[name].metrics[TEXT_SCORE])}" for name, label in SETS.items())
    why = "Shuffled words are an unlikely sentence; a plausible swap is about as likely as the true caption."
    elements.verdict("blind", choice, _outcome(evaluations), f"{why}  \nTextScore on {'; on '.join(lines)}.")
    both_sets(evaluations)
    read_captions(evaluations)
    elements.question(
        "blind",
        "A vision-language model reaches 95 % on such a shuffled-words benchmark. What have you learned?",
        {
            "It understands images well": "A blind model does about as well: the score may be language alone.",
            "Nothing yet about its use of images": "First compare it with a text-only model, as the blind check does.",
        },
        "Nothing yet about its use of images",
    )
    state = {**elements.selection_state(ORDER), "view": "Without the image", "blind": BLIND}
    elements.link_to_page("Check this benchmark with the blind model", "pages/3_Debias.py", state)


def both_sets(evaluations: dict[str, Evaluation]) -> None:
    """How often the blind model is right on either set."""
    rows = {SETS[name]: evaluation.metrics for name, evaluation in evaluations.items()}
    data = figures.bars_data(rows, (TEXT_SCORE,))
    lines = (f"{name}: {metric_line(row[TEXT_SCORE])}" for name, row in rows.items())
    alt = f"TextScore of the blind model on both sets: {'; '.join(lines)}."
    left, right = st.columns(2, gap="large", vertical_alignment="center")
    with left:
        chart(figures.bars_figure(data, 300), alt, "blind")
    with right:  # the answer above has the numbers
        say_interval_to_quote(row[TEXT_SCORE] for row in rows.values())


def read_captions(evaluations: dict[str, Evaluation]) -> None:
    """The interactive figure: any group's captions by their score as text; the image comes on demand."""
    st.subheader("Be the blind model", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.segmented_control(
            "Set", list(SETS), format_func=SETS.__getitem__, default=ORDER, key="blind_set", required=True
        ) or ORDER  # fmt: skip
        number = slider(st, "Group", 1, len(evaluations[name].ids), 1, key="blind_group", width=300)
        visible = st.toggle("Show the image", key="blind_image")
    evaluation, group = evaluations[name], elements.load_group(name, number - 1)
    data = caption_bars_data(
        group.captions, evaluation.scores[number - 1, 0], int(evaluation.truth[number - 1, 0])
    )
    left, right = st.columns([3, 2], gap="large")
    with left:
        kind = "the true" if data.true[0] else "a wrong"
        favourite = f"The blind model prefers “{data.captions[0]}”, {kind} caption."
        chart(
            caption_bars_figure(data),
            f"Mean log-likelihood per token of {len(data.captions)} captions. {favourite}",
            "blind-captions",
        )
        st.caption(
            "Bars: mean log-likelihood per token. The model is given no image, so the toggle changes nothing."
        )
    with right:
        if visible:
            draw_group(group, evaluation.group(number - 1), revealed=False)


def _outcome(evaluations: dict[str, Evaluation]) -> str:
    """Far above chance: the interval lies above the middle between chance and 100 %."""
    estimates = {name: evaluations[name].metrics[TEXT_SCORE] for name in SETS}
    high = [SETS[name] for name, e in estimates.items() if e.low > (e.chance + 100) / 2]
    return {0: "neither", 1: "".join(high), 2: "both"}[len(high)]
