"""Fields that say in one sentence what they do not take, whether an address or a hand-made message brought it."""

from __future__ import annotations

import math
from typing import Any

from core.base.errors import InputError


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
