"""Whose run is next on a device: addresses take turns, and at each address its owners, so that nobody's many runs keep
another one's first waiting.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence


def runs_ahead(
    others: Sequence[sqlite3.Row], mine: sqlite3.Row, served: Mapping[str | None, float | None]
) -> list[sqlite3.Row]:
    """The runs that go before `mine`: those at work, and of those that wait the ones whose turn comes first.

    others : the device's other runs that work or wait. served : when each owner's and each address's last run began.

    An address's first waiting run goes before anybody's second, where a run at work counts as its address's first;
    among equals the address that was served longest ago is next, and then who asked first. Owners at one address take
    turns in the same way. A run without an address is at one of its owner's; runs without owners are one's.
    """
    every = [*others, mine]

    def own_turn(run: sqlite3.Row) -> tuple[int, float, int]:
        own = (row for row in every if row["owner"] == run["owner"] and _who(row) == _who(run))
        before = sum(_works(row) or row["ticket"] < run["ticket"] for row in own)
        return before, served.get(run["owner"]) or 0.0, run["ticket"]

    def turn(run: sqlite3.Row) -> tuple[int, float, int]:
        own = (row for row in every if _who(row) == _who(run) and row["id"] != run["id"])
        before = sum(_works(row) or own_turn(row) < own_turn(run) for row in own)
        return before, served.get(_who(run)) or 0.0, run["ticket"]

    return [row for row in others if _works(row) or turn(row) < turn(mine)]


def _who(run: sqlite3.Row) -> str | None:
    return run["address"] or run["owner"]


def _works(run: sqlite3.Row) -> bool:
    return run["status"] in ("running", "stopping")
