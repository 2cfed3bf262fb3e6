"""What the commands print: JSON or text on standard output, remarks on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any


def _headline_names(found: Mapping[str, Any]) -> list[str]:
    """The metrics of a record that have room on a line."""
    from core.metrics.groups import headline_metrics  # scipy
    from core.metrics.retrieval import COLA_MAP  # scipy

    return [*headline_metrics(found), *(name for name in (COLA_MAP,) if name in found)]


def show_json(record: Any) -> None:
    print(json.dumps(record, allow_nan=False), flush=True)


def print_note(text: str) -> None:
    """Progress and remarks go to standard error, so that standard output stays clean."""
    print(text, file=sys.stderr, flush=True)


class ProgressPrinter:
    """Progress on standard error, a line for every further per cent."""

    def __init__(self) -> None:
        self.last = ""

    def __call__(self, what: str, share: float) -> None:
        line = f"{share:4.0%}  {what}"
        if line != self.last:
            print_note(line)
        self.last = line


def count_progress(what: str) -> Callable[[int, int], None]:
    """An announcer for work that says how many things are done, of how many."""
    tell = ProgressPrinter()
    return lambda done, total: tell(what, done / total)


def format_metrics(record: dict[str, Any]) -> str:
    """Metrics as an aligned text table: value, interval, chance level, ties."""
    from core.figures.text import tie_count  # plotly

    lines = [f"{'metric':<18}{'value':>8}{'95 % interval':>18}{'chance':>9}{'ties':>6}"]
    for name, e in record["metrics"].items():
        interval = f"[{e['low']:.2f}, {e['high']:.2f}]"
        lines.append(
            f"{name:<18}{e['value']:>8.2f}{interval:>18}{e['chance']:>9.2f}{tie_count(e['ties']):>6}"
        )
    lines += [f"{name}: left out. {why}" for name, why in record.get("left_out", {}).items()]
    return "\n".join(lines)


def format_step(record: Mapping[str, Any]) -> str:
    """One line of text for an iteration."""
    from core.figures.text import tie_count  # plotly

    parts = [f"iteration {record['iteration']:>2}"]
    if record["threshold"] is not None:
        parts.append(f"threshold {record['threshold']:.3f}")
    if record["coverage"] is not None:
        precision = "-" if record["precision"] is None else f"{100 * record['precision']:.1f} %"
        parts.append(f"coverage {100 * record['coverage']:.1f} %  precision {precision}")
    for name in _headline_names(record["metrics"]):
        e = record["metrics"][name]
        chance = f"(chance {e['chance']:.1f}, ties {tie_count(e['ties'])})"
        parts.append(f"{name} {e['value']:.2f} [{e['low']:.2f}, {e['high']:.2f}] {chance}")
    for part, found in record.get("parts", {}).items():
        parts += [
            f"{part} {name} {found['metrics'][name]['value']:.2f}"
            for name in _headline_names(found["metrics"])
        ]
    return "  ".join([*parts, f"{record['seconds']:.1f} s", *filter(None, [record["note"]])])


def format_spread(row: Mapping[str, Any]) -> str:
    """One line of text for an iteration over several seeds: mean ± standard deviation."""
    parts = [f"iteration {row['iteration']:>2}"]
    sides = {"": row["metrics"], **row.get("parts", {})}
    for side, found in sides.items():
        for name in _headline_names(found):
            e = found[name]
            std = "" if e["std"] is None else f" ± {e['std']:.2f}"
            parts.append(f"{side} {name} {e['mean']:.2f}{std}".strip())
    return "  ".join([*parts, f"({row['seeds']} seeds)"])


def duration(seconds: float) -> str:
    """Seconds for people: `40 s`, `3 min`, `2 h 5 min`."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
