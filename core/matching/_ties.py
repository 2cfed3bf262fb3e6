"""The tie rule: when matchings and single scores tie, and what follows.

Two matchings tie where their totals differ by no more than rounding; their group then has no induced matching. Single
scores tie where they are equal, and a tie is not won.
"""

from __future__ import annotations

from sys import float_info
from typing import Any

from array_api_compat import array_namespace

from core.base.arrays import Array, as_float64


def total_tolerance(m: int, highest: Any) -> Any:
    """How far two equal totals of m scores may differ by float64 rounding, the largest magnitude being `highest`."""
    return 4 * m * float_info.epsilon * highest


def settle_ties(matching: Array, margin: Array, tied: Array, columns: Array, highest: float) -> None:
    """Where the two best matchings of a group tie it has none: -1, with margin 0 and `tied`; in place.

    matching : int64 (b, m); margin : float64 (b,), best total minus the next; tied : bool (b,), False at first.
    columns : the scores, (m, k, b), whose largest magnitude is `highest`.
    """
    xp = array_namespace(margin)
    # A bound for the whole block first: most blocks hold no tie.
    if xp.min(margin) <= total_tolerance(len(columns), highest):
        tied[...] = margin <= group_tolerances(columns)
        margin[...] = xp.where(tied, 0.0, margin)
        matching[...] = xp.where(tied[:, None], -1, matching)


def wins(own: Array, strongest: Array) -> tuple[Array, Array | None]:
    """Whether scores are higher than their strongest rivals, bool; and the same with ties won, None without any tie."""
    xp, strict, level = array_namespace(own), own > strongest, own == strongest
    return strict, strict | level if xp.any(level) else None


def group_tolerances(columns: Array) -> Array:
    """The same for every group, (b,); columns : (m, k, b)."""
    xp = array_namespace(columns)
    return total_tolerance(len(columns), as_float64(xp.max(xp.abs(columns), axis=(0, 1))))
