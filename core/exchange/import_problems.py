"""What is wrong with a user's data, place by place: row, column, what, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAX_LISTED = 1000  # problems that are kept word by word; all are counted


class Problem(NamedTuple):
    """One thing that is wrong."""

    row: int | None  # as a spreadsheet counts: the header is row 1; a line of JSONL; None: the whole file
    column: str  # "" where it is the whole row
    what: str
    fix: str
    fatal: bool = True  # its group is left out; otherwise the group is kept as it is


class RowError(Exception):
    """A cell cannot be used: what is wrong with it, and what to do."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what, self.fix = what, fix


@dataclass
class Problems:
    """A bounded list of problems that knows how many there were."""

    kept: list[Problem] = field(default_factory=list)
    fatal: int = 0
    total: int = 0

    def add(self, problem: Problem) -> None:
        """Count a problem, and keep it while there is room; fatal ones displace remarks."""
        self.total += 1
        self.fatal += problem.fatal
        if len(self.kept) < MAX_LISTED:
            self.kept.append(problem)
        elif problem.fatal:
            spare = next((i for i in reversed(range(MAX_LISTED)) if not self.kept[i].fatal), None)
            if spare is not None:
                self.kept[spare] = problem


def problem_rows(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Problems as rows of a table: row, column, what is wrong, what to do, effect. In the order of the rows."""
    ordered = sorted(problems, key=lambda p: (p.row is not None, p.row or 0))
    return [
        {
            "row": "" if p.row is None else str(p.row),
            "column": p.column,
            "what is wrong": p.what,
            "what to do": p.fix,
            "effect": "left out" if p.fatal else "kept",
        }
        for p in ordered
    ]
