"""Fields that say in one sentence what they do not take, whether an address or a hand-made message brought it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import streamlit as st

from core.base.errors import InputError
from core.figures.text import escape_markdown

# The sentences of a form's fields that are out of range, while it is drawn; None outside of one.
_WRONG: ContextVar[list[str] | None] = ContextVar("wrong", default=None)


@contextmanager
def checked_numbers() -> Iterator[list[str]]:
    """The sentences about what was typed into fields of `number` inside and is out of their range, each said below its
    field, too: a form starts nothing while there is one.

    By itself Streamlit colours such a field red, says nothing, and gives the page the value before.
    """
    wrong: list[str] = []
    token = _WRONG.set(wrong)
    try:
        yield wrong
    finally:
        _WRONG.reset(token)


def _out_of_range(label: str, value: float, low: float | None, high: float | None) -> str:
    """What a number must be that is not; "" where it is."""
    say = lambda limit: f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"  # noqa: E731
    if low is not None and value < low:
        return f"{label} must be at least {say(low)}."
    return f"{label} must be at most {say(high)}." if high is not None and value > high else ""


def _is_number(text: str | None) -> bool:
    try:
        return math.isfinite(float(text or ""))
    except ValueError:
        return False


def warn_number(key: str, label: str, low: float | None, high: float | None) -> None:
    """Say in one line where the address has a value that a field does not take: it falls back by itself."""
    asked = st.query_params.get(key)
    if not asked:
        return
    try:
        value = float(asked)
    except ValueError:
        value = math.nan
    if math.isfinite(value) and (low is None or value >= low) and (high is None or value <= high):
        return
    span = "" if low is None else f" from {low:g}"
    span += "" if high is None else f" up to {high:g}"
    line = f"{label} takes a number{span}; the address has {asked!r}, which is not used."
    st.warning(escape_markdown(line), icon=":material/link_off:")


def number(
    place: Any,
    label: str,
    low: float | None,
    high: float | None,
    value: float | None,
    *,
    key: str,
    **more: Any,
) -> Any:
    """`place.number_input` with the name `key` in the address (`bind=None`: in none); its value, or None for an empty
    field.

    In a form (`checked_numbers`) a number out of range stays in its field, with a sentence below, and `value` is
    returned. Raises InputError for what is no finite number.
    """
    wrong = _WRONG.get()
    more = {"bind": "query-params", **more}
    limits = (low, high) if wrong is None else (None, None)
    if more["bind"] and (wrong is None or not _is_number(st.query_params.get(key))):
        warn_number(key, label, low, high)
    if isinstance(low, int):
        more = {"step": 1, **more}  # by which Streamlit knows that it is a whole number
    try:
        found = place.number_input(label, *limits, value, key=key, **more)
    except (OverflowError, ValueError):  # Streamlit makes a whole number of it without a look
        found = math.nan
    if found is not None and not math.isfinite(found):
        what = "a whole number" if isinstance(low, int) else "a number"
        raise InputError(
            f"The field {label!r} takes {what}; remove `{key}` from the address, or reload the page."
        )
    if wrong is not None and found is not None and (sentence := _out_of_range(label, found, low, high)):
        place.error(escape_markdown(sentence))
        wrong.append(sentence)
        return value
    return found
