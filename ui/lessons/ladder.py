"""Lesson 9: where the binding is lost: in the tokens, by pooling, between the towers, or in the metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.base.text import _change_in_points, _half_up, _pct
from core.ladder.ladder import Ladder
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE
from core.metrics.statistics import Estimate
from ui.formatting import say_interval_to_quote, true_minus
from ui.ladder import PAGE, draw, line, shipped
from ui.lessons import elements

SET = "scenes/left-right"
STAGES = {
    "image-pooling": "in the image tower: its one vector no longer says it",
    "caption-pooling": "in the caption tower: its one vector no longer says it",
    "map": "between the towers: no linear map joins what the two vectors say",
    "alignment": "in the alignment: such a map exists, but the model compares the vectors without it",
}
_NOT_BEFORE = "Most of what the model gets wrong was not lost before the tokens"


def show() -> None:
    record = shipped()[SET, elements.MODEL]
    rungs = {row["name"]: row for row in record["rungs"]}
    own = rungs["own"]
    st.markdown(
        "Two pictures that differ in nothing but which of two objects stands to the left, and two captions that differ "
        "in nothing but what they say of it. A two-tower model turns each into **tokens** of patches or words, pools "
        "those into **one vector**, and compares the two vectors."
    )
    evaluation = elements.evaluate(SET, elements.MODEL)
    left, right = st.columns(2, gap="large")
    with left:
        elements.draw_pair(elements.load_group(SET), evaluation.group(0))
    with right:
        elements.define(GROUP_SCORE, GROUP_MATCH)
        st.markdown(f"The built-in CLIP, all groups: GroupMatch {line(own[GROUP_MATCH])}.")
        say_interval_to_quote([Estimate.of_record(own[GROUP_MATCH])])
        choice = elements.predict(
            "ladder",
            f"GroupMatch is {_pct(own[GROUP_MATCH]['value'])} % here. Where is most of the rest lost?",
            tuple(STAGES.values()),
        )
    if choice is None:
        return
    elements.verdict("ladder", choice, STAGES[most_lost(record)], where_the_rest_is(record))
    st.markdown(
        "How can one know? A **linear probe** is trained to read one tower alone, while the other side is known "
        "exactly: the scenes are drawn by this project. Every rung answers the same question on the same groups, so "
        "that they can be compared: *which caption belongs to which picture?*"
    )
    st.subheader("The whole ladder", anchor=False)
    draw(record, "lesson-ladder")
    elements.question(
        "ladder",
        "A probe of the image tokens is right on 97 % of the groups of a set, the model itself on 67 %. What follows?",
        {
            "The model uses the binding": "A probe shows what is there, not what the model makes of it: its own scores "
            "may never read it.",
            _NOT_BEFORE: "What is read linearly is there: the probe misses 3 % of the groups, the model 33 %. "
            "An untrained model as a control says how much of it was learned.",
            "Pooling loses nothing": "That takes the next rung: a probe of the pooled vector, and a paired test.",
        },
        _NOT_BEFORE,
    )
    elements.link_to_page(
        "Climb the ladder of other models and sets",
        PAGE,
        elements.selection_state(SET),
    )


def where_the_rest_is(record: Mapping[str, Any]) -> str:
    """All that the model's own scores have less than 100 %, by the steps that lead to them: with what the first probe
    misses these are the whole rest. A step of the other tower leads past them, and is said apart."""
    rungs = {row["name"]: row for row in record["rungs"]}
    way: list[Mapping[str, Any]] = []
    first = "own"
    for step in reversed(record["steps"]):
        if step["after"] == first:
            way.insert(0, step)
            first = step["before"]

    def lost(step: Mapping[str, Any]) -> str:
        return f"{_pct(-Ladder.points(record, step))} {STAGES[step['name']].partition(':')[0]}"

    probe, own = (rungs[name][GROUP_MATCH]["value"] for name in (first, "own"))
    missed = [_change_in_points(probe, 100), *(-Ladder.points(record, step) for step in way)]
    off = _half_up(sum(map(_half_up, missed))) != _half_up(100 - own)
    rounded = " (as printed the parts do not add up exactly: each is rounded)" if off else ""
    once = " in this one run of the probes" if record.get("runs", 1) == 1 else ""
    limit = rungs[first]["label"].partition(" ")[0].lower()
    aside = "".join(
        f" The {step['name'].partition('-')[0]} tower loses {_pct(-Ladder.points(record, step))} too, which is no part "
        f"of this sum: the {limit} tower is the limit."
        for step in record["steps"]
        if step not in way
    )
    return true_minus(
        f"The rest is {_pct(100 - own)} points of GroupMatch{once}{rounded}: {_pct(missed[0])} that a probe of the "
        f"{rungs[first]['label'].lower()} misses already, {', '.join(map(lost, way))}.{aside}"
    )


def most_lost(record: Mapping[str, Any]) -> str:
    """The step of the largest loss."""
    return min(record["steps"], key=lambda step: step["difference"])["name"]
