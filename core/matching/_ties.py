"""The tie rule: when matchings and single scores tie, and what follows.

Two matchings tie where their totals differ by no more than rounding; their group then has no induced matching. Single
scores tie where they are equal, and a tie is not won. Debiased scores are differences that were rounded themselves:
numbers of one or two decimals that are equal on paper differ by some of the last binary digits of what they were
computed from. They tie up to `rounding_of_differences`, and their totals up to that for each score.
"""

from __future__ import annotations

from sys import float_info
from typing import Any

from array_api_compat import array_namespace

from core.base.arrays import Array, as_float64


def total_tolerance(m: int, highest: Any) -> Any:
    """How far two equal totals of m scores may differ by float64 rounding, the largest magnitude being `highest`."""
    return 4 * m * float_info.epsilon * highest


def rounding_of_differences(operands: Any) -> Any:
    """How far two equal debiased scores a - alpha * b may differ, the largest |a| + alpha * |b| being `operands`.

    Both numbers, alpha, the product and the difference are rounded, each by half an epsilon at most; alpha may itself
    be a quotient of such differences, which is where a curve crosses.
    """
    return 8 * float_info.epsilon * operands


def settle_ties(
    matching: Array, margin: Array, tied: Array, columns: Array, highest: float, rounding: Array | None = None
) -> None:
    """Where the two best matchings of a group tie it has none: -1, with margin 0 and `tied`; in place.

    matching : int64 (b, m); margin : float64 (b,), best total minus the next; tied : bool (b,), False at first.
    columns : the scores, (m, k, b), whose largest magnitude is `highest`. rounding : of debiased ones, (b,).
    """
    xp = array_namespace(margin)
    # A bound for the whole block first: most blocks hold no tie.
    if rounding is not None or xp.min(margin) <= total_tolerance(len(columns), highest):
        tied[...] = margin <= group_tolerances(columns, rounding)
        margin[...] = xp.where(tied, 0.0, margin)
        matching[...] = xp.where(tied[:, None], -1, matching)


def wins(own: Array, strongest: Array, rounding: Array | None = None) -> tuple[Array, Array | None]:
    """Whether scores are higher than their strongest rivals, bool; and the same with ties won, None without any tie.

    rounding : how far two equal ones may differ, in their shape; None where only equal ones tie.
    """
    xp = array_namespace(own)
    if rounding is None:
        strict, level = own > strongest, own == strongest
    else:
        strict, level = own > strongest + rounding, abs(own - strongest) <= rounding
    return strict, strict | level if xp.any(level) else None


def group_tolerances(columns: Array, rounding: Array | None = None) -> Array:
    """The same for every group, (b,); columns : (m, k, b). rounding : of debiased scores, (b,)."""
    xp, m = array_namespace(columns), len(columns)
    plain = total_tolerance(m, as_float64(xp.max(xp.abs(columns), axis=(0, 1))))
    return plain if rounding is None else xp.maximum(plain, m * rounding)
