"""Lesson 8: attribute binding: knowing the words of a picture, and knowing whose they are."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import figures
from core.base.text import _pct
from core.figures import retrieval
from core.figures.teaching import caption_bars_data, caption_bars_figure
from core.figures.text import metric_line
from core.metrics.evaluation import Evaluation
from core.metrics.groups import TEXT_SCORE
from core.scorers.cola_config import STRATEGIES
from ui.export import chart
from ui.fields import slider
from ui.formatting import say_interval_to_quote, true_minus, unbroken
from ui.images import draw_group
from ui.lessons import elements
from ui.loaders import load_groups
from ui.navigation import ASK
from ui.retrieval_table import READING, UNSEEN, Measured

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
    shares = ", ".join(f"{_CHANGE_LABELS[change]} {_pct(share)} %" for change, share in value.items())
    noticed = _CHANGE_LABELS[max(value, key=value.__getitem__)]
    elements.verdict("binding", choice, noticed, f"TextScore by mistake: {shares}.")
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
            "Exchanged captions contain the same words": "A bag of words gives both captions the same score: a tie, "
            "which counts as wrong.",
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
    notices = [words[e.bounds[0] > e.chance] for e in found.values()]
    told = [f"{_CHANGE_LABELS[change]} {said}" for change, said in zip(found, notices, strict=True)]
    it_notices = f"both exchanges {notices[0]}" if len(set(notices)) == 1 else " and ".join(told)
    return (
        "Both captions of an exchange have the same words, so a model that holds words alone cannot tell them apart: "
        "it ties, which counts as wrong; a guess would be right in half of the groups. "
        f"This CLIP was trained on scenes like these, and notices {it_notices}."
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
        say_interval_to_quote(part.metrics[TEXT_SCORE] for part in parts.values())


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
        number = slider(st, "Group", 1, len(part.ids), 1, key="mistake_group", width=300)
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
    """What fixes it, in one sentence and a figure of the shipped results: the model before, the strategy that is
    highest on unseen combinations, and Cola's adapter; every strategy on demand. A pointer as long as none ship."""
    shipped = Measured.shipped()
    if shipped is None:
        st.caption("The Retrieval page measures it, with intervals; no results are shipped yet.")
        return
    data = retrieval.strategies_data(shipped.rows)
    st.markdown(unbroken(true_minus(_what_fixes_it(data))))
    names = {"base", _highest(data), "mm-adapter"}
    few = retrieval.strategies_data(shipped.rows[shipped.rows["strategy"].isin(names)])
    with st.container(width=640):  # three bars
        _bars(few, "binding-strategies", (UNSEEN,))
    st.caption(
        f"{_in_short(few)}Lines: 95 % intervals over seeds and queries. Dots: seeds. Dotted line: chance."
    )
    with st.expander("Every strategy that was measured"):
        _bars(data, "binding-every-strategy")
        st.caption(
            f"{READING} Lines: 95 % intervals over seeds and queries. Dots: seeds. Dotted lines: chance. The Retrieval "
            "page compares them with the paper's and says of each of its claims whether it holds here. Measured with "
            f"{retrieval.BUDGET}.{shipped.said}"
        )


def _bars(data: retrieval.StrategiesData, key: str, measures: tuple[int, ...] = ()) -> None:
    """Strategies as bars, and in words for who cannot see them."""
    named = zip(data.strategies, data.value[UNSEEN], strict=True)
    values = ", ".join(f"{retrieval.label(name)} {_pct(value)} %" for name, value in named)
    draw = retrieval.strategies_figure
    figure = draw(data, measures=measures) if measures else draw(data)
    chart(figure, f"Cola mAP on unseen combinations by strategy: {values}.", key)


def _in_short(data: retrieval.StrategiesData) -> str:
    """What each strategy is, in half a sentence."""
    told = {
        STRATEGIES[name].label: STRATEGIES[name].meaning for name in data.strategies if name in STRATEGIES
    }
    halves = {label: meaning.partition(";")[0].rstrip(".") for label, meaning in told.items()}
    return "".join(f"{label}: {half[0].lower()}{half[1:]}. " for label, half in halves.items())


def _highest(data: retrieval.StrategiesData) -> str:
    """The strategy, or the model before, that is highest on unseen combinations."""
    return data.strategies[int(np.nanargmax(data.value[UNSEEN]))]


def _what_fixes_it(data: retrieval.StrategiesData) -> str:
    """Whether some strategy is shown to bind combinations that training never showed better, with what it reaches."""
    best, base = (data.strategies.index(name) for name in (_highest(data), "base"))
    low, high = data.low[UNSEEN], data.high[UNSEEN]

    def said(j: int) -> str:
        ties = data.ties[UNSEEN, j]
        tied = f", on average {_pct(ties)} queries tied" if ties > 0 else ""  # over seeds
        return f"{_pct(data.value[UNSEEN, j])} % ({_pct(low[j])}–{_pct(high[j])}{tied})"

    chance = f"chance {_pct(np.nanmean(data.chance[UNSEEN]))} %; in brackets 95 % intervals"
    if best == base:
        return (
            "**What fixes it? None of these strategies, on combinations never seen in training:** none has a higher "
            f"mAP than the model before, {said(base)}, {chance}."
        )
    name = retrieval.label(data.strategies[best])
    overlap = low[best] <= high[base]
    answer = "Nothing here for certain" if overlap else f"{name} helps"
    end = " The two intervals overlap: better binding of new combinations is not shown." if overlap else ""
    return (
        f"**What fixes it? {answer}:** on combinations never seen in training {name} has the highest mAP, "
        f"{said(best)}, against {said(base)} before ({chance}).{end}"
    )


def sliced(change: str) -> Evaluation:
    """The groups whose wrong caption has this change."""
    return elements.evaluate(CHANGES[change], elements.MODEL).slices("change")["change"][change]
