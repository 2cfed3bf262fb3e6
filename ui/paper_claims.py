"""What a paper claims and what is found here, claim by claim, below its tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.base.text import _signed, _signed_range
from core.figures.text import escape_markdown
from core.papers.table_html import PAPERS
from ui.formatting import true_minus
from ui.retrieval_table import _verdict_record

_FIRST = 5  # claims that stand first; the others are opened
_SAME = {"confirmed": "same", "refuted": "different", "left open": "open"}


def section(paper: str) -> None:
    """The claims of the paper whose tables are shown; nothing where none of them is recorded."""
    record = _verdict_record()
    short = PAPERS.get(paper, "")
    claims = [
        c for c in (record or {}).get("claims", ()) if short and str(c.get("source")).startswith(f"{short},")
    ]
    if not claims:
        return
    counts = Counter(_SAME[claim["verdict"]] for claim in claims)
    said = ", ".join(f"{counts[name]} {name}" for name in _SAME.values() if counts[name])
    with st.expander(f"Is it the same here, claim by claim? {said}", icon=":material/fact_check:"):
        order = ("refuted", "confirmed", "left open")  # else the five in sight would all be confirmed
        claims.sort(key=lambda claim: order.index(claim["verdict"]))
        st.table(_rows(claims[:_FIRST]))
        if claims[_FIRST:] and st.toggle(f"Also the {len(claims) - _FIRST} others", key="all-claims"):
            st.table(_rows(claims[_FIRST:]))
        st.caption(
            "Here: the built-in world. The difference in points is the mean over seeds, with its 95 % interval. "
            "Same or different only where the difference is clear, every seed agrees and longer training would not "
            "undo it. The whole rule stands on Retrieval."
        )


def _rows(claims: list[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [
        {
            "claim": escape_markdown(claim["says"].rstrip(".")),
            "paper": str(claim["source"]).partition(", ")[2],
            "here": _here(claim),
            "verdict": _SAME[claim["verdict"]],
        }
        for claim in claims
    ]


def _here(claim: Mapping[str, Any]) -> str:
    """`+9.8 (+3.4 to +14.8)`"""
    if "difference" not in claim:
        return "not measured"
    return true_minus(f"{_signed(claim['difference'])} ({_signed_range(claim['low'], claim['high'])})")
