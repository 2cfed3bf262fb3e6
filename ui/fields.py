"""Fields that say in one sentence what they do not take, whether an address or a hand-made message brought it."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from core.base.errors import InputError
from core.figures.text import escape_markdown


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
    """`place.number_input` with the name `key` in the address; its value, or None for an empty field.

    Raises InputError for what is no finite number.
    """
    warn_number(key, label, low, high)
    try:
        found = place.number_input(label, low, high, value, key=key, bind="query-params", **more)
    except (OverflowError, ValueError):  # Streamlit makes a whole number of it without a look
        found = math.nan
    if found is not None and not math.isfinite(found):
        what = "a whole number" if isinstance(low, int) else "a number"
        raise InputError(
            f"The field {label!r} takes {what}; remove `{key}` from the address, or reload the page."
        )
    return found
