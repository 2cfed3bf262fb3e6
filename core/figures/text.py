"""Texts that pages and reports share: accuracies with interval and chance level, durations, safe Markdown."""

from __future__ import annotations

import re

from core.metrics.groups import Estimate, description_of


def label_and_meaning(metric: str) -> tuple[str, str]:
    """A metric's label and one sentence on it."""
    found = description_of(metric)
    return found.label, found.meaning


def escape_markdown(text: str) -> str:
    """Text from data or from an error, with everything that Markdown would act upon escaped."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])", r"\\\1", text)


def metric_line(estimate: Estimate) -> str:
    """An accuracy as it is always shown: with its interval, its chance level and its ties."""
    return (
        f"{estimate.value:.1f} % (95 % interval {estimate.low:.1f}–{estimate.high:.1f}), "
        f"chance {estimate.chance:.1f} %, {tie_text(estimate)}"
    )


def tie_text(estimate: Estimate) -> str:
    """`3 tied`, `no ties`, or that nobody counted them."""
    if estimate.ties is None:
        return "ties not counted"
    return f"{estimate.ties} tied" if estimate.ties else "no ties"


def tie_count(count: float | None) -> str:
    """A count of ties in a table; a dash where nobody counted them: None, or NaN in a data frame."""
    return "–" if count is None or count != count else f"{count:.0f}"


def duration(seconds: float | None) -> str:
    """5 s, 2 min 10 s, 1 h 5 min."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
