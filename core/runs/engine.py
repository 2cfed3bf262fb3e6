"""A described run as a process of its own, for pages, commands, seeds and the papers' tables."""

from __future__ import annotations

from core.runs.description import RunDescription
from core.runs.store import Run, RunStore, launch


def start(store: RunStore, title: str, run: RunDescription, owner: str | None = None) -> Run:
    """Write a run down and start its process."""
    return launch(store, store.create(run.kind, title, run.written(), owner).id)
