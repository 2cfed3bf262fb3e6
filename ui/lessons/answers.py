"""What a student has answered: in the session, and in the address so that a reload or a bookmark keeps it."""

from __future__ import annotations

import re

import streamlit as st

# In the address `matrix-21.chance-30`: of each lesson the option chosen as prediction and as answer to its question,
# counted from 1; 0 is none.
_PARAMETER = "answers"
_ENTRY = re.compile(r"(\w+)-(\d)(\d)")
PREDICTION, QUESTION = 0, 1


def restore() -> None:
    """Answers of the address join those of the session; the page calls it before anything is asked."""
    answers = st.session_state.setdefault("lesson_answers", {})
    for entry in st.query_params.get(_PARAMETER, "").split("."):
        if match := _ENTRY.fullmatch(entry):
            answers[match[1]] = [int(match[2]), int(match[3])]
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


def _of(lesson: str) -> list[int]:
    return st.session_state["lesson_answers"].get(lesson, [0, 0])


def _write() -> None:
    """Into the address, where it says something else."""
    answers = st.session_state["lesson_answers"]
    text = ".".join(f"{name}-{first}{second}" for name, (first, second) in answers.items() if first or second)
    if text and st.query_params.get(_PARAMETER) != text:
        st.query_params[_PARAMETER] = text
