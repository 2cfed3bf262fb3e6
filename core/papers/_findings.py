"""What each table says, in one or two sentences: read off its cells where test-time matching is measured, else written
in assets/papers/findings.json with the paper's printed numbers (`tests/test_page_papers.py` looks them up)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from core.base.paths import assets
from core.figures.text import label_and_meaning


@cache
def _written() -> dict[str, str]:
    return json.loads((assets() / "papers" / "findings.json").read_text("utf-8"))


def finding(key: str, plan: Mapping[str, Any] | None = None) -> str:
    """What a table says, as a sentence of plain text; "" where nothing is written and nothing can be read.

    key : of `TABLES`, or a table's name in the paper where it is no run of adaptation. plan : `TablePlan.record()`.
    """
    if key in _written() or plan is None:
        return _written().get(key, "")
    parts = dict.fromkeys(cell["part"] for line in plan["lines"] for cell in line["cells"])
    return " ".join(_gains(plan, part) for part in parts).strip()


def _gains(plan: Mapping[str, Any], part: str) -> str:
    """On how many lines test-time matching raises its metric, and where most."""
    found = list(_before_and_after(plan, part))
    if not found:
        return ""
    metric = label_and_meaning(found[0][1])[0] + (f" of {part} groups" if part else "")
    raised = [row for row in found if row[3] > row[2]]
    every = "every line" if len(found) == len(plan["lines"]) else f"all {len(found)} lines that measure it"
    many = every if len(raised) == len(found) else f"{len(raised)} of the {len(found)} measured lines"
    text = f"Test-time matching raises {metric} on {many}"
    if raised:
        line, _, before, after = max(raised, key=lambda row: row[3] - row[2])
        text += f", most on {line}: from {before:.1f} to {after:.1f} %"
    line, _, before, after = min(found, key=lambda row: row[3] - row[2])
    return f"{text}. " + (
        f"It falls most on {line}: from {before:.1f} to {after:.1f} %." if after < before else ""
    )


def _before_and_after(plan: Mapping[str, Any], part: str) -> Iterator[tuple[str, str, float, float]]:
    """Every measured line: its name, the metric, and its value before and after; the paper's, else the shipped one."""
    for line in plan["lines"]:
        cells = [(cell, _known(cell)) for cell in line["cells"] if cell["part"] == part]
        for start in ("SimpleMatch", "raw"):
            before = next(((c["metric"], v) for c, v in cells if c["method"] == start), None)
            if before is not None:
                break
        if before is None or before[1] is None:
            continue
        after = next(
            (v for c, v in cells if c["method"].startswith("TTM") and c["metric"] == before[0]), None
        )
        if after is not None:
            yield line["line"], before[0], before[1], after


def _known(cell: Mapping[str, Any]) -> float | None:
    return cell["paper"] if cell["paper"] is not None else cell["shipped"]
