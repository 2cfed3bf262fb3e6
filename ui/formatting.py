"""Accuracies, runs and progress as they are shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.base.text import duration
from core.figures.text import label_and_meaning, tie_text
from core.metrics.groups import METRICS, Estimate

if TYPE_CHECKING:
    from core.runs.store import Run


def metric_card(name: str, estimate: Estimate) -> None:
    """An accuracy as a card; the tooltip is the glossary."""
    label, meaning = label_and_meaning(name)
    more = f"\n\n$${METRICS[name].formula}$$\n\n{METRICS[name].reference}." if name in METRICS else ""
    with st.container(border=True, gap="xxsmall"):
        note = "Below: 95 % interval over groups, chance level, tied groups (a tie counts as wrong)."
        st.metric(label, f"{estimate.value:.1f} %", help=f"{meaning}{more}\n\n{note}")
        st.caption(
            f"95 %: {estimate.low:.1f}–{estimate.high:.1f}  \nchance {estimate.chance:.1f} · {tie_text(estimate)}"
        )


def metric_grid(count: int) -> Any:
    """Places for so many cards: rows of five at most, each as full as the others."""
    rows = -(-count // 5)
    return st.grid(-(-count // rows), min_column_width=150)


def run_label(run: Run) -> str:
    return f"{run.title} · {datetime.fromtimestamp(run.created):%d %b %H:%M:%S} · {run.status}"


def progress_bar(place: Any, what: str) -> Callable[[float], None]:
    """A progress callback (fraction done) that draws into `place` and says how long is left."""
    started = time.monotonic()

    def show(fraction: float) -> None:
        spent = time.monotonic() - started
        left = f", {duration(spent / fraction * (1 - fraction))} left" if fraction > 0.02 else ""
        place.progress(min(fraction, 1.0), text=f"{what}: {fraction:.0%}{left}")

    return show
