"""Durations and counts as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def duration(seconds: float | None) -> str:
    """`0.3 s`, `5 s`, `2 min 10 s`, `25 min`, `1 h 5 min`; a dash for None."""
    if seconds is None:
        return "–"
    if 0 < seconds < 0.95:  # no run took 0 s
        return f"{seconds:.1f} s" if seconds >= 0.05 else "under 0.1 s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 600 and whole % 60:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"


def _time_left(seconds: float) -> str:
    """`2 min left`; below a second `a moment left`: while something is to come, no 0 s are."""
    return f"{duration(seconds)} left" if round(seconds) > 0 else "a moment left"


def p_digits(p: float | None) -> str:
    """A p value to two digits, or to as many more as it takes for one beside 0.05 not to be written as 0.05.

    A dash for None, the corrected p of a comparison that was made alone.

    >>> p_digits(0.0317), p_digits(0.0498), p_digits(0.05002), p_digits(1.3e-05)
    ('0.032', '0.0498', '0.05002', '1.3e-05')
    """
    if p is None:
        return "–"
    texts = (f"{p:.{digits}g}" for digits in range(2, 17))
    return next((text for text in texts if p == 0.05 or float(text) != 0.05), f"{p:.17g}")


def _p_text(p: float | None) -> str:
    """A p value as it is read: two digits (more beside 0.05), or that it is below 0.001."""
    return "< 0.001" if p is not None and p < 0.001 else p_digits(p)


def _p_said(p: float) -> str:
    """`p = 0.03`, `p < 0.001`"""
    text = _p_text(p)
    return f"p {'' if text.startswith('<') else '= '}{text}"


def tie_count(count: float | None) -> str:
    """A count of ties in a table; a dash where it is not known: None, or NaN in a data frame."""
    return "–" if count is None or count != count else f"{count:.0f}"


def counted(count: int, what: str) -> str:
    """`1 epoch`, `2 epochs`, `1 query`, `3 queries`."""
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count} {what if count == 1 else plural}"


_KEPT = 8  # decimals of a record: rounded to 4 first, 4.47496 % was printed as 4.48 and 4.475044 % as 4.47


def _half_up(value: float, digits: int = 1) -> float:
    """A percentage or points as they are shown: of the decimals that records keep, a half away from zero, as a browser
    has it; and never -0.

    >>> [_half_up(x) for x in (12.25, 61.250000000000007, 56.55, -0.04, -61.25)]
    [12.3, 61.3, 56.6, 0.0, -61.3]
    """
    if not math.isfinite(value):
        return value
    stored = round(abs(float(value)), _KEPT)
    whole = math.floor(round(stored * 10**digits, 6) + 0.5)  # 56.55 * 10 may lie a hair below its half
    return math.copysign(whole / 10**digits, value) + 0.0


def _pct(value: Any, digits: int = 1) -> str:
    """A percentage with so many decimals, rounded by the one rule of pages, reports and exports.

    >>> _pct(61.25), _pct(61.250000000000007)
    ('61.3', '61.3')
    """
    return f"{_half_up(value, digits):.{digits}f}"


def _signed(value: Any, digits: int = 1) -> str:
    """Points with their sign, as `_pct`.

    >>> _signed(2.25), _signed(-0.04)
    ('+2.3', '+0.0')
    """
    return f"{_half_up(value, digits):+.{digits}f}"


def _signed_end(value: Any, digits: int = 1) -> str:
    """An end of an interval of points, as `_signed`; where it would be rounded to 0, it says on which side of 0 it is:
    by one more decimal, or in words, and 0 itself has no sign.

    >>> _signed_end(2.25), _signed_end(-0.04), _signed_end(1e-4), _signed_end(0.0)
    ('+2.3', '-0.04', 'just above 0', '0.0')
    """
    if _half_up(value, digits):
        return _signed(value, digits)
    if _half_up(value, digits + 1):
        return _signed(value, digits + 1)
    if round(float(value), _KEPT):
        return "just above 0" if value > 0 else "just below 0"
    return _pct(0.0, digits)


def _signed_range(low: Any, high: Any, digits: int = 1) -> str:
    """An interval of points, each end as `_signed_end`.

    >>> _signed_range(-0.04, 21.0)
    '-0.04 to +21.0'
    """
    return f"{_signed_end(low, digits)} to {_signed_end(high, digits)}"


def _file_columns(table: pd.DataFrame) -> pd.DataFrame:
    """A table with the column names that files have, of lower-case words joined by underscores: `A: low` is `a_low`,
    `B − A by size: low` is `difference_by_size_low`, `GroupMatch: tied` is `group_match_ties`."""

    def named(column: object) -> str:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(column).replace("B − A", "difference"))
        return re.sub(r"\btied$", "ties", re.sub(r"[\W_]+", " ", words.lower()).strip()).replace(" ", "_")

    return table.rename(columns={column: named(column) for column in table})


def _rounded(table: pd.DataFrame, digits: Mapping[Any, int]) -> pd.DataFrame:
    """A table for a file, with so many decimals in each of these columns that has floats: the digits that are printed.

    digits : by column.
    """
    floats = {name: places for name, places in digits.items() if table[name].dtype.kind == "f"}
    return table.assign(**{str(n): [_half_up(v, places) for v in table[n]] for n, places in floats.items()})


def _change_in_points(before: float, after: float, *, digits: int = 1) -> float:
    """From one percentage to another in points: the exact difference, rounded once, and never -0.

    >>> _change_in_points(200 / 3, 238 / 3), _change_in_points(50.0, 49.96)  # 66.7 and 79.3 %, as they are printed
    (12.7, 0.0)
    """
    return _half_up(after - before, digits)


def _exact_differences(digits: int = 1) -> str:
    """What is said once where both percentages and their difference are shown with so many digits."""
    off = f"{10**-digits:.{digits}f}"
    return f"Differences are of the unrounded values, so they may differ by {off} from what you subtract."


def _true_minus(text: str) -> str:
    """A text with minus signs, not hyphens, before its negative numbers, in Markdown whether or not it is escaped.

    >>> _true_minus("from -12 to +3 on scenes/relations-1x4")
    'from −12 to +3 on scenes/relations-1x4'
    """
    # Markdown escapes a hyphen and no minus sign: a backslash left before one would be read.
    return re.sub(r"(?<![\w\\])\\?-(?=\d)", "−", text)
