"""A finished run on the form of the test-time matching page: what comes out, before one of one's own has ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from zipfile import ZipFile

import streamlit as st

from core import figures as plots
from core.base.text import _change_in_points
from core.exchange.example import ARCHIVE
from core.figures.text import escape_markdown, metric_line
from core.metrics.groups import GROUP_MATCH, METRICS
from core.runs.store import RunStore
from ui.export import chart
from ui.formatting import exact_differences_once, true_minus
from ui.runs import KINDS, estimate_of

_HEIGHT = 260


def section(store: RunStore, benchmark: str | None, model: str) -> None:
    """The curves of the run that ships, and what they say; nothing for whoever has a finished run.

    benchmark, model : that are selected; the run's may be others.
    """
    if any(run.status == "finished" and run.kind in KINDS and not run.is_example for run in store.list()):
        return
    title, steps = _shipped()
    with st.container(border=True):
        left, right = st.columns([3, 2], gap="medium", vertical_alignment="center")
        with left:
            data = plots.ttm_data(steps, steps[-1]["iteration"])
            chart(plots.ttm_metrics_figure(data, _HEIGHT), _line(steps), "example-metrics")
        with right:
            of = _other(title, benchmark, model)
            st.markdown(f"**An example of a finished run{of}**  \n{escape_markdown(title)}")
            st.markdown(_line(steps))
            st.caption(
                "One curve per metric, iteration 0 is before the run; no label was used for training. This run gained; "
                "others lose, see “Where it helps and where it harms”."
                f"{exact_differences_once('example')}"
            )


def _other(title: str, benchmark: str | None, model: str) -> str:
    """`, of another set than the selected one`; "" of the run's own set and model."""
    parts = [
        name
        for name, selected in (("set", benchmark), ("model", model))
        if selected not in title.split(" · ")
    ]
    return f", of another {' and '.join(parts)} than the selected one" if parts else ""


def _line(steps: Sequence[Mapping[str, Any]]) -> str:
    """GroupMatch before and after, and what it changed by."""
    before, after = (estimate_of(step, GROUP_MATCH) for step in (steps[0], steps[-1]))
    assert before is not None and after is not None
    change = true_minus(f"{_change_in_points(before.value, after.value):+.1f}")
    label = METRICS[GROUP_MATCH].label
    return f"{label} before: {metric_line(before)}. After: {metric_line(after)}; {change} points."


@st.cache_resource(max_entries=1, show_spinner=False)
def _shipped() -> tuple[str, list[dict[str, Any]]]:
    """Title and records of the run, read from its archive: only who opens it has it among his runs."""
    with ZipFile(ARCHIVE) as archive:
        title = json.loads(archive.read("example/run.json"))["title"]
        lines = archive.read("example/steps.jsonl").decode().splitlines()
    return str(title).removeprefix("Example: "), [json.loads(line) for line in lines]
