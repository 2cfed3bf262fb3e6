"""What each table says, in one or two sentences: read off its cells where test-time matching is measured, else written
in assets/papers/findings.json with the paper's printed numbers (`tests/test_page_papers.py` looks them up)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from core.base.paths import assets
from core.base.text import counted
from core.figures.text import label_and_meaning
from core.metrics.retrieval import COLA_MAP, METRICS
from core.papers import _cola, _shipped_results
from core.scorers.cola_config import STRATEGIES


@cache
def _written() -> dict[str, str]:
    return json.loads((assets() / "papers" / "findings.json").read_text("utf-8"))


def finding(key: str, plan: Mapping[str, Any] | None = None) -> str:
    """What a table says, in plain text, what is measured here in a paragraph of its own; "" where nothing is written
    and nothing can be read.

    key : of `TABLES`, or a table's name in the paper where it is no run of adaptation. plan : `TablePlan.record()`.
    """
    of_cola = key.startswith(("cola/", "world/cola"))
    if key in _written() or plan is None or of_cola:
        ours = _by_length() if plan is not None and of_cola else ""
        return "\n\n".join(filter(None, (_written().get(key, ""), ours)))
    parts = dict.fromkeys(cell["part"] for line in plan["lines"] for cell in line["cells"])
    return " ".join(_gains(plan, part) for part in parts).strip()


@cache
def _by_length() -> str:
    """How Cola's strategies stand on the built-in world after the protocol's epochs and after the longest training, as
    far as results ship: none alone says what the other does."""
    told = [_standing(number, options["epochs"]) for number, options in enumerate(_cola.LENGTHS)]
    found = [each for each in told if each]
    if not found:
        return ""
    before, chance = found[0][1:]
    return (
        f"On the built-in world the order depends on the length of training. {METRICS[COLA_MAP].label} of all queries "
        f"is {before:.1f} % before, chance {chance:.1f} %. {' '.join(text for text, *_ in found)} Their intervals "
        "stand below."
    )


def _standing(length: int, epochs: int) -> tuple[str, float, float] | None:
    """After so many epochs, in a sentence: the best strategy, and the paper's own two where they are not that one. Also
    the number before, and the chance level; None where no results ship."""
    found: dict[str, tuple[float, tuple[float, float]]] = {}
    chance = 0.0
    for line in _cola.protocol_lines(((COLA_MAP, "all"),), length):
        (cell,) = line.cells
        for runs in _shipped_results.of_line(line)[:1]:
            value, ends = runs.read(cell), runs.interval(cell)
            if value is not None and ends is not None:
                found[cell.method] = value.mean, ends
                chance = runs.chance(cell) or chance
    before = found.pop("before", None)
    if before is None or not found:
        return None
    best = max(found, key=lambda name: found[name][0])
    near = sum(ends[1] >= found[best][1][0] for name, (_, ends) in found.items() if name != best)
    first = f"After {epochs} epochs {best} is highest, {found[best][0]:.1f} %"
    first += f" ({near} of the other {counted(len(found) - 1, 'interval')} overlap)" if near else ""
    own = [s.label for s in STRATEGIES.values() if s.joint and s.label != best and s.label in found]
    others = "".join(f", {name} {found[name][0]:.1f} %" for name in own)
    return f"{first}{others}.", before[0], chance


def _gains(plan: Mapping[str, Any], part: str) -> str:
    """On how many lines test-time matching raises its metric, and where most."""
    found = list(_before_and_after(plan, part))
    if not found:
        return ""
    metric = label_and_meaning(found[0][1])[0] + (f" of {part} groups" if part else "")
    raised = [row for row in found if row[3] > row[2]]
    every = "every line" if len(found) == len(plan["lines"]) else f"all {len(found)} lines that measure it"
    if raised and len(found) == 1:
        line, _, before, after, _ = raised[0]
        where = f"on the one measured line, {line}"
        return f"Test-time matching raises {metric} {where}: from {before:.1f} to {after:.1f} %."
    many = every if len(raised) == len(found) else f"{len(raised)} of the {len(found)} measured lines"
    text = f"Test-time matching raises {metric} on {many}"
    if raised:
        line, _, before, after, _ = max(raised, key=lambda row: row[3] - row[2])
        text += f", most on {line}: from {before:.1f} to {after:.1f} %"
    within = [row[0] for row in raised if row[4] is not None and row[4] <= row[2]]
    if within:
        names = within[0] if len(within) == 1 else f"{len(within)} of them"
        text += f"; on {names} the value before lies within the interval after"
    line, _, before, after, _ = min(found, key=lambda row: row[3] - row[2])
    return f"{text}. " + (
        f"It falls most on {line}: from {before:.1f} to {after:.1f} %." if after < before else ""
    )


def _before_and_after(
    plan: Mapping[str, Any], part: str
) -> Iterator[tuple[str, str, float, float, float | None]]:
    """Every measured line: its name, the metric, its value before and after, and the lower end of the latter's interval
    where it has one; the paper's, else the shipped ones."""
    for line in plan["lines"]:
        cells = [(cell, _known(cell)) for cell in line["cells"] if cell["part"] == part]
        for start in ("SimpleMatch", "raw"):
            before = next(((c["metric"], v) for c, v in cells if c["method"] == start), None)
            if before is not None:
                break
        if before is None or before[1] is None:
            continue
        ends = (
            (v, c.get("shipped_low"))
            for c, v in cells
            if c["method"].startswith("TTM") and c["metric"] == before[0]
        )
        after, low = next(ends, (None, None))
        if after is not None:
            yield line["line"], before[0], before[1], after, low


def _known(cell: Mapping[str, Any]) -> float | None:
    return cell["paper"] if cell["paper"] is not None else cell["shipped"]
