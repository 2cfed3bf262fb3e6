"""Lesson 8: attribute binding: knowing the words of a picture, and knowing whose they are."""

from __future__ import annotations

import streamlit as st

from core import figures
from core.figures import retrieval
from core.figures.teaching import caption_bars_data, caption_bars_figure
from core.figures.text import metric_line
from core.metrics.evaluation import Evaluation
from core.metrics.groups import TEXT_SCORE
from ui.export import chart
from ui.formatting import unbroken
from ui.images import draw_group
from ui.lessons import elements
from ui.loaders import load_groups
from ui.navigation import ASK
from ui.retrieval_table import READING, Measured

PAIR = "scenes/attribute-swap"

# What changed in the wrong caption -> the set whose groups are sliced by it.
CHANGES = {
    "replace colour": "scenes/replace",
    "swap colour": "scenes/swap",
    "swap relation": "scenes/swap",
}
_CHANGE_LABELS = {
    "replace colour": "a colour that is not in the image",
    "swap colour": "two colours exchanged",
    "swap relation": "the positions exchanged",
}


def show() -> None:
    st.markdown(
        "*A red cube and a blue ball* or *a blue cube and a red ball*: the same words, the same colours, the same "
        "shapes. Only **binding** distinguishes them: which word belongs to which object. An "
        "embedding, one vector for the whole image, can hold every word about it and still lose that. A pair of images "
        "that only binding tells apart:"
    )
    pair = elements.evaluate(PAIR, elements.MODEL)
    parts = {change: sliced(change) for change in CHANGES}
    left, right = st.columns(2, gap="large")
    with left:
        elements.draw_pair(elements.load_group(PAIR), pair.group(0))
    with right:
        st.markdown("Now one image with two captions, the true one and one with a mistake.")
        elements.define(TEXT_SCORE, shape=(1, 2))
        choice = elements.predict(
            "binding",
            "which mistake in a caption does the built-in CLIP notice most often?",
            tuple(_CHANGE_LABELS.values()),
        )
    if choice is None:
        return
    value = {change: part.metrics[TEXT_SCORE].value for change, part in parts.items()}
    shares = ", ".join(f"{_CHANGE_LABELS[change]} {share:.1f} %" for change, share in value.items())
    noticed = _CHANGE_LABELS[max(value, key=value.__getitem__)]
    elements.verdict(choice, noticed, f"TextScore by mistake: {shares}.")
    by_mistake(parts)
    st.markdown(_what_it_binds(parts))
    try_mistakes(parts)
    st.markdown(
        "Cola asks the question as a search: find the *red cube* among images that show something red **or** a "
        "cube, and as exchanged pairs, two images and two captions. Its answer is to let a small **multimodal "
        "adapter** process patches and words together, on top of frozen features. Does it help on combinations "
        "never seen in training?"
    )
    measured()
    elements.question(
        "binding",
        "Why can a bag of words solve “a colour that is not in the image”, but not “two colours exchanged”?",
        {
            "Colours are easier than shapes": "Both cases are about colours. The words differ in the first, in the "
            "second only their order does.",
            "Exchanged captions contain the same words": "A bag of words gives both captions the same score: a tie.",
        },
        "Exchanged captions contain the same words",
    )
    elements.link_to_page(
        "Search by attribute and object",
        "pages/5_Retrieval.py",
        {**elements.selection_state(PAIR), "view": ASK, "left": elements.MODEL},
    )


def _what_it_binds(parts: dict[str, Evaluation]) -> str:
    """Which exchanges the model notices more often than by chance, and which it does not."""
    found = {change: parts[change].metrics[TEXT_SCORE] for change in ("swap colour", "swap relation")}
    words = ("no better than chance", "more often than by chance")
    told = [f"{_CHANGE_LABELS[change]}: {words[e.bounds[0] > e.chance]}" for change, e in found.items()]
    return (
        "Both captions of an exchange have the same words, so a model that holds words alone is right in half of "
        f"them. This CLIP was trained on scenes like these. {'; '.join(told).capitalize()}."
    )


def by_mistake(parts: dict[str, Evaluation]) -> None:
    """How often the model notices each kind of mistake."""
    lines = [
        f"**{_CHANGE_LABELS[change]}**: {metric_line(part.metrics[TEXT_SCORE])}, {len(part.ids)} groups"
        for change, part in parts.items()
    ]
    data = figures.bars_data(
        {_CHANGE_LABELS[change]: part.metrics for change, part in parts.items()}, (TEXT_SCORE,)
    )
    alt = f"TextScore by the mistake in the other caption. {'; '.join(lines)}.".replace("**", "")
    left, right = st.columns([3, 2], gap="large", vertical_alignment="center")
    with left:
        chart(figures.bars_figure(data, 300), alt, "binding")
    with right:
        st.markdown("\n".join(f"- {line}" for line in lines))


def try_mistakes(parts: dict[str, Evaluation]) -> None:
    """The interactive figure: one image, two captions, and which of them the model prefers."""
    st.subheader("Try the mistakes", anchor=False)
    with st.container(
        horizontal=True, vertical_alignment="top"
    ):  # a slider is higher than its label and line
        change = st.segmented_control(
            "Mistake", list(CHANGES), format_func=_CHANGE_LABELS.__getitem__, default="swap colour",
            key="mistake", required=True, bind="query-params",
        ) or "swap colour"  # fmt: skip
        part = parts[change]
        if int(st.session_state.get("mistake_group", 1)) > len(part.ids):  # of a mistake with more groups
            st.session_state["mistake_group"] = 1
        number = st.slider("Group", 1, len(part.ids), 1, key="mistake_group", width=300, bind="query-params")
    scores, truth = part.scores[number - 1, 0], int(part.truth[number - 1, 0])
    groups = load_groups(CHANGES[change], "test")
    group = groups[list(groups.ids).index(part.ids[number - 1])]
    data = caption_bars_data(group.captions, scores, truth)
    left, right = st.columns(2, gap="large", vertical_alignment="center")
    with left:
        draw_group(group, part.group(number - 1))
    with right:
        lead = f"{data.scores[0] - data.scores[1]:.2f}"
        kind = "true" if data.true[0] else "wrong"
        chart(caption_bars_figure(data), f"The {kind} caption scores higher, by {lead}.", "mistake-bars")
        st.markdown(f"The **{kind}** caption scores higher, by {lead}.")


def measured() -> None:
    """The shipped table of strategies as a figure, and which stands first in it; a pointer as long as none."""
    shipped = Measured.shipped()
    if shipped is None:
        st.caption("The Retrieval page measures it, with intervals; no results are shipped yet.")
        return
    data = retrieval.strategies_data(shipped.rows)
    unseen = dict(zip(data.strategies, data.value[2], strict=True))
    best = max(unseen, key=lambda name: unseen[name])
    values = ", ".join(f"{retrieval.label(name)} {value:.1f} %" for name, value in unseen.items())
    chart(
        retrieval.strategies_figure(data),
        f"Cola mAP on unseen combinations by strategy: {values}.",
        "binding-strategies",
    )
    second = "ft-all" if best == "mm-adapter" else "mm-adapter"
    rest = f"; {retrieval.label(second)} has {unseen[second]:.1f} %" if second in unseen else ""
    (low, high), j = (side[2] for side in (data.low, data.high)), data.strategies.index(best)
    overlap = low[j] <= high[data.strategies.index("base")]
    verdict = (
        "The intervals overlap: no strategy is shown to bind new combinations better." if overlap else ""
    )
    said = (
        f"Measured on the built-in scenes: on unseen combinations **{retrieval.label(best)}** has the highest mAP, "
        f"{unseen[best]:.1f} %{rest}; before adaptation the model has {unseen['base']:.1f} %. "
        f"{verdict}"
    )
    st.markdown(unbroken(said))
    st.caption(
        f"{READING} Lines: 95 % intervals over seeds and queries. Dots: seeds. Dotted lines: chance. The Retrieval "
        "page compares them with the paper's and says of each of its claims whether it holds here. Measured with "
        f"{retrieval.BUDGET}.{shipped.said}"
    )


def sliced(change: str) -> Evaluation:
    """The groups whose wrong caption has this change."""
    return elements.evaluate(CHANGES[change], elements.MODEL).slices("change")["change"][change]
