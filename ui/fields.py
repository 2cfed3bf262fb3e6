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
# Where a form says what of the address its fields do not take; None: above each field.
_PLACE: ContextVar[Any] = ContextVar("place", default=None)


@contextmanager
def checked_numbers(place: Any = None) -> Iterator[list[str]]:
    """The sentences about what was typed into fields of `number` inside and is out of their range, each said below its
    field, too: a form starts nothing while there is one.

    place : in sight, of a form that may be folded; it says what of the address the fields do not take.

    By itself Streamlit colours such a field red, says nothing, and gives the page the value before.
    """
    wrong: list[str] = []
    token, placed = _WRONG.set(wrong), _PLACE.set(place)
    try:
        yield wrong
    finally:
        _WRONG.reset(token)
        _PLACE.reset(placed)


def _out_of_range(label: str, value: float, low: float | None, high: float | None) -> str:
    """What a number must be that is not; "" where it is."""
    say = lambda limit: f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"  # noqa: E731
    if low is not None and value < low:
        return f"{label} must be at least {say(low)}."
    return f"{label} must be at most {say(high)}." if high is not None and value > high else ""


def _finite(text: str) -> float:
    """The number that a text is; NaN where it is none, or endless."""
    try:
        return value if math.isfinite(value := float(text)) else math.nan
    except ValueError:
        return math.nan


def is_number_within(text: str, low: float, high: float) -> bool:
    """Whether a text is a number of a range."""
    return low <= _finite(text) <= high


def warn_number(
    key: str, label: str, low: float | None, high: float | None, *, whole: bool = False, typed: bool = True
) -> None:
    """Say in one line where the address has a value that a field does not take: it falls back by itself, to the whole
    part of a fraction where it takes `whole` numbers. In a form a number out of range is said below its field, where
    one can be `typed` into it."""
    asked = st.query_params.get(key)
    if not asked:
        return
    value, in_form = _finite(asked), _WRONG.get() is not None
    used = "is not used"
    if (low is None or value >= low) and (high is None or value <= high):
        if not whole or value == int(value):
            return
        used = f"is read as {int(value)}"
    elif typed and in_form and not math.isnan(value):
        return
    span = "" if low is None else f" from {low:,}" if whole else f" from {low:g}"
    span += "" if high is None else f" up to {high:,}" if whole else f" up to {high:g}"
    what = "a whole number" if whole else "a number"
    line = f"{label} takes {what}{span}; the address has {asked[:40]!r}, which {used}."
    (_PLACE.get() or st).warning(escape_markdown(line), icon=":material/link_off:")


def slider(place: Any, label: str, low: float, high: float, *value: float, key: str, **more: Any) -> Any:
    """`place.slider` with the name `key` in the address; what the address has and the slider does not take is said
    above it, and the slider stands at `value`, by default at its least."""
    warn_number(key, label, low, high, whole=isinstance(low, int), typed=False)
    return place.slider(label, low, high, *value, key=key, bind="query-params", **more)


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
    if more["bind"]:
        warn_number(key, label, low, high, whole=isinstance(low, int))
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
