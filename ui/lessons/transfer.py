"""Lesson 6: memorising or learning: the transfer check."""

from __future__ import annotations

import streamlit as st

from core.base.text import _change_in_points, _signed
from core.figures.teaching import rounds_data, rounds_figure
from core.figures.text import metric_line
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.teaching.lessons import AdaptedPart, simplematch_transfer
from ui.chart_clicks import clicked_point
from ui.export import chart
from ui.fields import slider
from ui.formatting import true_minus, unbroken
from ui.lessons import elements
from ui.loaders import load_groups

SHOWN = (GROUP_SCORE, GROUP_MATCH)
PARTS = ("adapted half", "untouched half")


@st.cache_resource(
    max_entries=4,
    show_spinner="Training on half of the groups: a linear map for images and one for captions, some seconds …",
)
def load_halves(benchmark: str, model: str) -> tuple[AdaptedPart, AdaptedPart]:
    return simplematch_transfer(load_groups(benchmark, "test"), model, 0.5)


def show() -> None:
    st.markdown(
        "**SimpleMatch** overfits a model to its own matchings. No label is used, and GroupScore rises steeply. Has "
        "the model learned something about *left* and *right*, or about these images? Adapt on **half** of the "
        "groups and measure the other half, which it never saw. A group of this set:"
    )
    left, right = st.columns(2, gap="large")
    with left:
        data = elements.evaluate(elements.SET, elements.MODEL).group(0)
        elements.draw_pair(elements.load_group(elements.SET), data)
    with right:
        elements.define(*SHOWN)
        choice = elements.predict(
            "transfer",
            "GroupScore of the adapted half will rise by tens of points. And of the untouched half?",
            ("it rises as much", "it rises far less", "it falls"),
        )
    if choice is None:
        return
    halves = dict(zip(PARTS, load_halves(elements.SET, elements.MODEL), strict=True))
    adapted, untouched = (
        _change_in_points(half.before.metrics[GROUP_SCORE].value, half.after.metrics[GROUP_SCORE].value)
        for half in halves.values()
    )
    gains = f"GroupScore {_signed(adapted)} points on the adapted half, {_signed(untouched)} on the untouched one."
    gains += " The gap is memory of the test set, not skill."
    elements.verdict("transfer", choice, _outcome(adapted, untouched), true_minus(gains))
    watch_training(halves)
    said = (
        "GroupMatch of the adapted half hardly moves: the labels *are* its matchings. That "
        "is why Crossmatch offers the check wherever a model adapts. (Trained just now: one linear map for the "
        "embeddings of images and one for those of captions; test-time matching trains the whole model, and "
        "its page measures how much of the gain carries over.)"
    )
    st.markdown(unbroken(said))
    elements.question(
        "transfer",
        "When is memorising the test groups acceptable?",
        {
            "Never": "There is one use of which it is the point.",
            "When these groups are all that has to be matched": "Transductive use: the gain is real for these groups, "
            "and says nothing about others.",
        },
        "When these groups are all that has to be matched",
    )
    elements.link_to_page(
        "Set up test-time matching with this transfer check",
        "pages/4_Test-Time_Matching.py",
        {**elements.selection_state(elements.SET), "run": None, "transfer": True, "adapt_on": 50},
    )


def watch_training(halves: dict[str, AdaptedPart]) -> None:
    """The interactive figure: both halves, round by round."""
    st.subheader("Watch both halves, round by round", anchor=False)
    last = len(next(iter(halves.values())).rounds) - 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        labels = {METRICS[name].label: name for name in SHOWN}
        label = st.segmented_control(
            "Metric", list(labels), default=next(iter(labels)), key="rounds_metric", required=True
        )
        now = slider(st, "Round of training", 0, last, last, key="round", width=420)
    metric = labels[label or METRICS[GROUP_SCORE].label]
    data = rounds_data(
        {name: [each.metrics[metric] for each in half.rounds] for name, half in halves.items()}
    )
    lines = [f"{name}: {metric_line(half.rounds[now].metrics[metric])}" for name, half in halves.items()]
    alt = f"{METRICS[metric].label} of both halves over {last} rounds. After round {now}: {'; '.join(lines)}."
    chart(rounds_figure(data, now), alt, "transfer")
    clicked_point("transfer", lambda point: st.session_state.update(round=min(max(round(point.x), 0), last)))
    st.caption("Press the figure to choose the round there.")
    st.markdown(
        f"{METRICS[metric].label} {f'after round {now}' if now else 'before training'}:\n"
        + "\n".join(f"- {line}" for line in lines)
    )


def _outcome(adapted: float, untouched: float) -> str:
    """Which of the options two gains in points make true."""
    if untouched < 0:
        return "it falls"
    return "it rises far less" if untouched < adapted / 2 else "it rises as much"
