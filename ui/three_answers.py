"""The box at the top of a run that is over: is its gain beyond luck, beyond controls, and does it cost elsewhere?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from core.base.text import _p_said, _pct, _signed, _signed_range, counted
from core.metrics.groups import GROUP_MATCH, METRICS
from core.metrics.statistics import Comparison
from core.ttm.records import SeedChange, _at_ceiling, _verdict_words, _what_rises_mean
from ui.formatting import true_minus, unbroken

YES, NO, NOT_PROVEN, NOT_MEASURED, NOT_YET = "Yes", "No", "Not proven", "Not measured", "Not yet"
AT_ITS_END = "When it ends"  # in the place of such a word, of a run at work
MEASURING = "Measuring now"  # of what somebody has asked for
LUCK, CONTROLS, COST = "Beyond luck?", "Beyond controls?", "Costs elsewhere?"


class Answer(NamedTuple):
    """A line of the box."""

    question: str
    word: str  # one of the seven above
    said: str = ""  # its number; Markdown
    offer: Callable[[], None] | None = None  # draws the one button that measures it, or leads to what did


def three_answers(answers: Sequence[Answer], first: str = "", is_long: bool = False) -> None:
    """The box, a line for each. first : the line above them, Markdown. is_long : of a run at work whether the answers
    will be longer than usual: their place is kept for them, see style.css."""
    with st.container(border=True, key="three-answers", gap="xsmall"):
        if first:
            st.markdown(unbroken(true_minus(first)))
        for number, (question, word, said, offer) in enumerate(answers):
            colon = ":" if said else ""
            line = unbroken(true_minus(f"{question} **{word}{colon}** {said}".rstrip()))
            if offer is None:
                st.markdown(line)
                continue
            with st.container(horizontal=True, vertical_alignment="center", key=f"answer-{number}"):
                st.markdown(line, width="content")
                offer()
        if first and any(answer.word == AT_ITS_END for answer in answers):
            # The last: it stays while the answers of a run that has just ended come one by one.
            st.container(key="long-answers" if is_long else "usual-answers").html("<i></i>")


def not_yet(never: Sequence[Answer] = ()) -> list[Answer]:
    """Of a run at work: what is answered when it ends, so that the box has its place, and what each question means.

    never : the answers to what is never measured of this run.
    """
    own = METRICS[GROUP_MATCH].label
    meanings = {
        LUCK: f"whether {own} rises by more than chance explains.",
        CONTROLS: "whether training on anything else gains as much.",
        COST: "how the trained model does on other sets.",
    }
    known = {answer.question: answer for answer in never}
    return [known.get(question, Answer(question, AT_ITS_END, said)) for question, said in meanings.items()]


def gain_line(
    compared: Mapping[str, Comparison | SeedChange], before: float, after: float, beside: str
) -> str:
    """`GroupMatch 66.7 → 83.3 % (chance 50.0 %, no ties), +16.7 points (95 % interval +11.0 to +22.2).`, what a visitor
    looks for first; "" without a truth, and of a transfer check, whose parts have a line each.

    before, after : GroupMatch, of several seeds the means of both. beside : its chance level and ties.
    """
    own = METRICS[GROUP_MATCH].label
    if own not in compared:
        return ""
    return f"**{own} {_pct(before)} → {_pct(after)} %** ({beside}), {_gain(compared[own])}."


def luck(
    compared: Mapping[str, Comparison | SeedChange], note: str = "", cut: str = "", is_said: bool = False
) -> Answer:
    """Whether GroupMatch rose by more than chance explains, of a transfer check in each part.

    compared : by label and part, of one run or of several seeds. note : a last sentence, of a single seed. cut : why
    there is no result to judge. is_said : whether `gain_line` stands above, which has gain and interval.
    """
    means = {label: each.mean if isinstance(each, SeedChange) else each for label, each in compared.items()}
    own = METRICS[GROUP_MATCH].label
    mains = {label: found for label, found in compared.items() if label.partition(",")[0] == own}
    if cut:
        return Answer(LUCK, NOT_YET, cut)
    if not mains:
        return Answer(LUCK, NOT_MEASURED, "these groups have no right answers to compare with.")
    meant = _what_rises_mean(means)
    if _at_ceiling(means):
        return Answer(LUCK, NOT_PROVEN, meant)
    if is_said:
        (found,) = mains.values()
        return Answer(LUCK, _word(found), " ".join(filter(None, [f"{_corrected(found)}.", meant, note])))
    lines = [(_word(found), _points(label, found)) for label, found in mains.items()]
    (word, first), *others = lines
    told = "  \n".join(
        [first, *(f"**{word}:** {line}" for word, line in others)]
    )  # each part on a line of its own
    return Answer(LUCK, word, " ".join(filter(None, [told, meant, note])))


def _word(found: Comparison | SeedChange) -> str:
    words = _verdict_words(found.mean if isinstance(found, SeedChange) else found)
    if isinstance(found, SeedChange) and found._is_undecided:
        return NOT_PROVEN
    return (
        YES if "rises by" in words else NO if words.startswith(("falls by", "did not change")) else NOT_PROVEN
    )


def _points(label: str, found: Comparison | SeedChange) -> str:
    """`GroupMatch +12.7 points (95 % interval +6.9 to +18.3, corrected p < 0.001).`"""
    return f"{label} {_gain(found).removesuffix(')')}, {_corrected(found)})."


def _gain(found: Comparison | SeedChange) -> str:
    """`+12.7 points (95 % interval +6.9 to +18.3)`, of several seeds of their mean."""
    mean = found.mean if isinstance(found, SeedChange) else found
    of = f" in the mean of {counted(len(found.gains), 'seed')}" if isinstance(found, SeedChange) else ""
    return f"{_signed(mean.difference)} points{of} (95 % interval {_signed_range(mean.low, mean.high)})"


def _corrected(found: Comparison | SeedChange) -> str:
    """`corrected p < 0.001`."""
    mean = found.mean if isinstance(found, SeedChange) else found
    return _p_said(mean.p_value) if mean.p_holm is None else f"corrected {_p_said(mean.p_holm)}"
