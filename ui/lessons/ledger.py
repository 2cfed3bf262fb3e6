"""Lesson 7: what a gain is made of: the metric's luck, the bijection, training; and labels that know nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from core import figures
from core.base.text import _pct
from core.figures.text import metric_line
from core.metrics.evaluation import Evaluation
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS
from core.metrics.statistics import Estimate
from ui.export import chart
from ui.formatting import unbroken
from ui.ledger import CONTROL_LABELS, draw, points_text, shipped_record
from ui.lessons import elements
from ui.runs import without_knowledge

SET = "scenes/attribute-swap~tinted"
BOTH = (GROUP_SCORE, GROUP_MATCH)
RANDOM = "random-matchings"


def show() -> None:
    record = shipped_record(SET)
    frozen, drawn = (_estimates(record, name) for name in ("frozen", RANDOM))
    st.markdown(
        "Test-time matching is measured by GroupMatch where a model was measured by GroupScore before, it may use that "
        "every caption belongs to one image, and it trains on the very groups it is tested on. **What of its gain is "
        "knowledge?** A group of a set whose pictures are tinted, which the built-in CLIP model has never seen:"
    )
    group = elements.load_group(SET)
    unscored = Evaluation.of(np.zeros((1, *group.shape)), np.array([group.truth]), [group.id])
    score = frozen[GROUP_SCORE]
    left, right = st.columns(2, gap="large")
    with left:
        elements.draw_pair(group, unscored.group(0))
    with right:
        elements.define(*BOTH)
        choice = elements.predict(
            "ledger",
            f"GroupScore is {_pct(score.value)} % here (chance {_pct(score.chance)} %). Now the model is trained, but "
            "every label is **a matching drawn at random**: nothing is known. What does GroupScore become after this "
            "one short run?",
            OPTIONS,
        )
    if choice is None:
        return
    after = drawn[GROUP_SCORE]
    change = f"GroupScore {_pct(score.value)} % before, {_pct(after.value)} % after; chance {_pct(after.chance)} %."
    why = (
        "The frozen model prefers one caption for both images of most groups, so GroupScore's test fails whatever is "
        "right; to learn *any* matchings takes that preference away."
    )
    elements.verdict("ledger", choice, _outcome(score, after), f"{change} {why}")
    (row,) = (row for row in record["rows"] if row["name"] == RANDOM)
    st.markdown(
        f"Before: {metric_line(score)}.  \nAfter training on random matchings: {metric_line(drawn[GROUP_SCORE])}.  \n"
        f"GroupMatch changes by {points_text(row)}.\n\n**A GroupScore that rises up to its chance level "
        f"needs no knowledge.** {_memorised(drawn)}So the gain is counted by GroupMatch below, and set beside "
        "what training on labels that know nothing gains."
    )
    compare_models(record)
    st.subheader("The whole gain, part by part", anchor=False)
    draw(record, "lesson-ledger")
    st.markdown(_what_controls_change(record))
    elements.question(
        "ledger",
        "Which comparison shows what test-time matching has learned about the task?",
        {
            "GroupScore before and after": "Labels that know nothing raise it as well.",
            "GroupScore before, GroupMatch after": "Chance alone rises from 16.7 to 50 % on the way.",
            "GroupMatch before and after, on groups it was not trained on": "One metric, one chance level, and no "
            "group that it could have memorised. The controls then say what of it needs right labels.",
        },
        "GroupMatch before and after, on groups it was not trained on",
    )
    elements.link_to_page(
        "See the ledgers of other sets, or run one",
        "pages/4_Test-Time_Matching.py",
        {**elements.selection_state(SET), "run": None, "ledger": True, "ledger_set": SET},
    )


OPTIONS = (
    "it stays where it is",
    "it rises towards its chance level, not above",
    "it rises far above its chance level",
)


def _outcome(before: Estimate, after: Estimate) -> str:
    """Which of the options the measured GroupScore makes true."""
    if after.low <= before.high:
        return OPTIONS[0]
    return OPTIONS[2] if after.low > after.chance else OPTIONS[1]


def _memorised(drawn: Mapping[str, Estimate]) -> str:
    """Why GroupScore ends there after random matchings, and what it may reach so: of memorised ones as many are right
    as GroupMatch's chance level says. "" where it reached that."""
    after, level = drawn[GROUP_SCORE], drawn[GROUP_MATCH].chance
    if after.high >= level:
        return ""
    return unbroken(
        f"Here it is {_pct(after.value)} %, as in this short run the random matchings were mostly not memorised; "
        f"{without_knowledge(f'{_pct(level)} %')}. "
    )


def _what_controls_change(record: Mapping[str, Any]) -> str:
    """Every control of the figure in a sentence, in its order; the slider above says one at a time. Markdown."""
    rows = [row for row in record["rows"] if row["kind"] == "control"]
    lines = [f"- **{row['label']}:** {row['meaning'].partition('. ')[0].rstrip('.')}." for row in rows]
    return "\n".join(["The **bijection**: every image gets a caption of its own. The controls:\n", *lines])


def compare_models(record: Mapping[str, Any]) -> None:
    """The interactive figure: both metrics of the frozen model, of one control and of the run itself."""
    st.subheader("Take away one assumption after the other", anchor=False)
    names = [name for name in CONTROL_LABELS if name in record["figures"]]
    name = st.select_slider(
        "Control",
        names,
        RANDOM,
        format_func=CONTROL_LABELS.__getitem__,
        key="trained_on",
        bind="query-params",
    )
    (meaning,) = (
        row["meaning"] for row in record["rows"] if row["name"] == ("task" if name == "untouched" else name)
    )
    st.caption(f"{CONTROL_LABELS[name]}: {meaning}")
    shown = {
        "frozen": "frozen model",
        name: CONTROL_LABELS[name].lower(),
        "adapted": "test-time matching",
    }
    rows = {label: _estimates(record, each) for each, label in shown.items()}
    lines = [f"- {label}: {metric_line(of[GROUP_MATCH])}" for label, of in rows.items()]
    chart(
        figures.bars_figure(figures.bars_data(rows, BOTH)),
        f"GroupScore and GroupMatch of {', '.join(rows)}.",
        "lesson-controls",
    )
    st.markdown(f"{METRICS[GROUP_MATCH].label}:\n" + "\n".join(lines))


def _estimates(record: Mapping[str, Any], name: str) -> dict[str, Estimate]:
    return {metric: Estimate.of_record(record["figures"][name][metric]) for metric in BOTH}
