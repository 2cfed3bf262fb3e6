"""Whose run is next on a device: owners take turns, so that nobody's many runs keep another one's first waiting."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence


def ahead(
    others: Sequence[sqlite3.Row], mine: sqlite3.Row, served: Mapping[str | None, float | None]
) -> list[sqlite3.Row]:
    """The runs that go before `mine`: those at work, and of those that wait the ones whose turn comes first.

    others : the device's other runs that work or wait. served : when each owner's last run began.

    An owner's first waiting run goes before anybody's second, where a run at work counts as its owner's first; among
    equals the owner who was served longest ago is next, and then who asked first. Runs without owners are one's.
    """

    def turn(run: sqlite3.Row) -> tuple[int, float, int]:
        own = (row for row in (*others, mine) if row["owner"] == run["owner"] and row["id"] != run["id"])
        before = sum(_works(row) or row["ticket"] < run["ticket"] for row in own)
        return before, served.get(run["owner"]) or 0.0, run["ticket"]

    return [row for row in others if _works(row) or turn(row) < turn(mine)]


def _works(run: sqlite3.Row) -> bool:
    return run["status"] in ("running", "stopping")
