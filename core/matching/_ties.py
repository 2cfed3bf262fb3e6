"""When two matchings tie: how far their totals may differ by rounding alone. Single scores tie where they are equal
(`core.matching.comparisons`)."""

from __future__ import annotations

from sys import float_info
from typing import Any

from array_api_compat import array_namespace

from core.base.arrays import Array, as_float64


def total_tolerance(m: int, highest: Any) -> Any:
    """How far two equal totals of m scores may differ by float64 rounding, the largest magnitude being `highest`."""
    return 4 * m * float_info.epsilon * highest


def group_tolerances(columns: Array) -> Array:
    """The same for every group, (b,); columns : (m, k, b)."""
    xp = array_namespace(columns)
    return total_tolerance(len(columns), as_float64(xp.max(xp.abs(columns), axis=(0, 1))))
