"""What a student has answered: in the session, and in the address so that a reload or a bookmark keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import streamlit as st

# In the address `matrix-21.chance-30`: of each lesson the option chosen as prediction and as answer to its question,
# counted from 1; 0 is none.
_PARAMETER = "answers"
# Beside them `matrix-12.chance-10`: what the first answer to each was, 1 right, 2 wrong; 0 where none is known.
_FIRSTS = "firsts"
_ENTRY = re.compile(r"(\w+)-(\d)(\d)")
PREDICTION, QUESTION = PARTS = 0, 1  # what a lesson asks


def restore() -> None:
    """Answers of the address join those of the session; the page calls it before anything is asked."""
    for parameter in (_PARAMETER, _FIRSTS):
        kept = st.session_state.setdefault(f"lesson_{parameter}", {})
        for entry in st.query_params.get(parameter, "").split("."):
            if match := _ENTRY.fullmatch(entry):
                kept[match[1]] = [int(match[2]), int(match[3])]
    _write()


def chosen(lesson: str, part: int, options: int) -> int | None:
    """The option that was chosen, from 0; None where none was, or where the lesson has fewer options now."""
    number = _of(lesson)[part]
    return number - 1 if 1 <= number <= options else None


def store(lesson: str, part: int, option: int | None) -> None:
    """Remember the option chosen as PREDICTION or QUESTION, from 0; None takes an answer back."""
    answer = list(_of(lesson))
    answer[part] = 0 if option is None else option + 1
    st.session_state["lesson_answers"][lesson] = answer
    _write()


def is_complete(lesson: str) -> bool:
    """Whether both the prediction and the question of a lesson have been answered."""
    return all(_of(lesson))


def judge(lesson: str, part: int, is_right: bool) -> None:
    """Remember whether an answer was right, if it is the first one to this PREDICTION or QUESTION."""
    firsts = list(_of(lesson, _FIRSTS))
    if not firsts[part]:
        firsts[part] = 1 if is_right else 2
        st.session_state[f"lesson_{_FIRSTS}"][lesson] = firsts
        _write()


def progress(lessons: Iterable[str]) -> tuple[int, int | None]:
    """How many predictions and questions of some lessons are answered, and how many of these were right at the first
    answer; None where that is not known of all, as in an address of before it was kept."""
    answered = [_of(name, _FIRSTS)[part] for name in lessons for part in PARTS if _of(name)[part]]
    return len(answered), answered.count(1) if all(answered) else None


def _of(lesson: str, parameter: str = _PARAMETER) -> list[int]:
    return st.session_state[f"lesson_{parameter}"].get(lesson, [0, 0])


def _write() -> None:
    """Into the address, where it says something else."""
    for parameter in (_PARAMETER, _FIRSTS):
        kept = st.session_state[f"lesson_{parameter}"]
        text = ".".join(
            f"{name}-{first}{second}" for name, (first, second) in kept.items() if first or second
        )
        if text and st.query_params.get(parameter) != text:
            st.query_params[parameter] = text
