"""Texts that pages and reports share: accuracies with interval and chance level, durations, safe Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from core.base.text import counted
from core.metrics.groups import GROUP_SCORE, description_of
from core.metrics.statistics import Estimate


def label_and_meaning(metric: str) -> tuple[str, str]:
    """A metric's label and one sentence on it."""
    try:
        entry: Any = description_of(metric)
    except KeyError:
        from core.metrics.retrieval import METRICS as OF_RETRIEVAL  # scipy

        entry = OF_RETRIEVAL[metric]
    return entry.label, entry.meaning


def _part_text(part: str) -> str:
    """A part of the queries in words: `attributes-2` as `2 attributes`."""
    name, _, count = part.partition("-")
    return counted(int(count), "attribute") if name == "attributes" else part


def escape_markdown(text: str) -> str:
    """Text from data or from an error, with everything that Markdown would act upon escaped."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])", r"\\\1", text)


def metric_line(estimate: Estimate) -> str:
    """An accuracy as pages always show it: with its interval, its chance level and its ties. No line ends in a
    number."""
    return _unbroken(str(estimate))


def _unbroken(text: str) -> str:
    """A text in which no line ends between a number and its unit, between a sign or a p and its number, or within an
    interval."""
    text = re.sub(r"(?<=\d)–(?=\d)", "–\u2060", text)  # a line may end after a dash
    return re.sub(r"(?<=\d) (?=%|points?\b)|(?<=[<>=≥≤]) (?=[\d.−+])|(?<=\bp) (?=[<=\d])", "\u00a0", text)


def _method_and_metric(cell: Mapping[str, Any], label: str) -> str:
    """`TTM GroupMatch`. What the paper heads “SimpleMatch” is the raw model by a metric of matchings, before anything
    is trained, and is called so: `GroupMatch before TTM`; SimpleMatch's GroupScore is one of training."""
    if cell["method"] == "SimpleMatch" and cell["metric"] != GROUP_SCORE:
        return f"{label} before TTM"
    return f"{'TTM' if cell['method'].startswith('TTM T=') else cell['method']} {label}"
