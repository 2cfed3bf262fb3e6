"""Lesson 3: the blind model that solves a benchmark."""

from __future__ import annotations

import streamlit as st

from core import figures
from core.figures.text import metric_line
from core.metrics.evaluation import Evaluation
from core.metrics.groups import TEXT_SCORE
from ui.export import chart
from ui.lessons import elements

BLIND = "builtin/blind-lm"
ORDER, SWAP = "scenes/word-order", "scenes/swap"
SETS = {ORDER: "one English sentence, four shuffled ones", SWAP: "two plausible sentences"}


def show() -> None:
    st.markdown(
        "Some benchmarks ask for the right caption among wrong ones. If the wrong ones are not even English, a "
        "model can succeed without the image. The **blind language model** here has never seen one."
    )
    found = {name: elements.evaluate(name, BLIND) for name in SETS}
    choice = elements.predict(
        "blind",
        "on which set does a text-only model choose the true caption far more often than chance?",
        ("shuffled words (1×5)", "plausible swaps (1×2)", "both", "neither"),
    )
    if choice is None:
        return
    elements.verdict(choice, _outcome(found))
    rows = {name.removeprefix("scenes/"): e.metrics for name, e in found.items()}
    told = "; ".join(f"{name} {metric_line(row[TEXT_SCORE])}" for name, row in rows.items())
    left, right = st.columns(2, gap="large")
    with left:
        chart(
            figures.bars_figure(figures.bars_data(rows, (TEXT_SCORE,)), 300),
            f"TextScore of the blind model on both sets: {told}.",
            "blind",
        )
    with right:
        for name, what in SETS.items():
            st.markdown(f"**{name}** ({what}): {metric_line(found[name].metrics[TEXT_SCORE])}")
        groups = _ranked_captions(found[ORDER])
        st.markdown("The captions that it chooses from, its favourite first:")
        for caption, score in groups:
            st.text(f"{score:8.2f}   {caption}")
        st.caption("Mean log-likelihood per token. No image is used.")
    elements.question(
        "blind",
        "A vision-language model reaches 95 % on such a shuffled-words benchmark. What have you learned?",
        {
            "It understands images well": "A blind model does about as well: the score may be language alone.",
            "Nothing yet about its use of images": "First compare it with a text-only model, as the blind check does.",
        },
        "Nothing yet about its use of images",
    )
    elements.link_to_page(
        "Check any benchmark with a blind model", "pages/3_Debias.py", elements.selection_state(ORDER, BLIND)
    )


def _ranked_captions(evaluation: Evaluation) -> list[tuple[str, float]]:
    """Captions of the set's first group with the blind model's scores, likeliest first."""
    from ui.loaders import load_groups

    captions = load_groups(ORDER, "test")[0].captions
    scores = evaluation.scores[0, 0]
    return [(captions[j], float(scores[j])) for j in scores.argsort()[::-1]]


def _outcome(found: dict[str, Evaluation]) -> str:
    """Far above chance: the interval lies above the middle between chance and 100 %."""
    high = []
    for name, label in ((ORDER, "shuffled words (1×5)"), (SWAP, "plausible swaps (1×2)")):
        e = found[name].metrics[TEXT_SCORE]
        if e.low > (e.chance + 100) / 2:
            high.append(label)
    return {0: "neither", 2: "both"}.get(len(high), high[0] if high else "neither")
