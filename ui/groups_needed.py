"""How many groups a difference needs: a small calculator under a comparison."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.base.text import _pct, counted
from core.metrics.statistics import Comparison
from ui.fields import checked_numbers, number


def groups_needed(n: int, differ: float, by: str = "") -> None:
    """A difference in points and the share of groups on which two systems differ give the number of groups.

    n : the groups at hand. differ : percent of them on which only one of the two is right, the field's first value.
    by : what groups share, so that the tests above count them for less; "" where each stands by itself.
    """
    first = min(max(round(differ, 1), 0.1), 100.0)
    with st.expander("How many groups would I need?"):
        left, right = st.columns(2)
        own: dict[str, Any] = {"bind": None, "format": "%.1f"}
        with checked_numbers() as wrong:
            gap = number(left, "Difference in points", 0.1, 100.0, 5.0, step=0.5, key="points", **own)
            share = number(
                right, "Groups on which only one is right, %", 0.1, 100.0, first, step=1.0,
                key=f"differ-{first}",  # of another comparison the field begins anew
                help="Starts with GroupMatch of the comparison above.", **own,
            )  # fmt: skip
        if wrong or gap is None or share is None:
            return
        if gap > share:
            st.info(
                f"Two systems that differ on {share:g} % of groups cannot be {gap:g} points apart.",
                icon=":material/balance:",
            )
            return
        least = Comparison.detectable_difference(n, share)
        here = "no difference at all" if least is None else f"a difference of {_pct(least)} points or more"
        more = (
            f" Both count each group by itself; by {by}, as the tests above do, it takes more." if by else ""
        )
        st.markdown(
            f"**{counted(Comparison.groups_needed(gap, share), 'group')}** show a difference of {gap:g} points with "
            f"80 % power (McNemar's exact test at 5 %). The {counted(n, 'group')} at hand show {here}.{more}"
        )
