"""The store that a run's work is done in: what every such store can do, and where it is opened.

| store | opened | for |
| --- | --- | --- |
| `RunStore` (`core/runs/store.py`) | `open_store`, here | a worker of this machine (`core/worker.py`) |
| `RemoteStore` (`core/sweeps/_remote_store.py`) | `core/sweeps/_node.py`, for its driver | a node of a cluster |
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from core.runs.store import Run, RunStore


class AttemptStore(Protocol):
    """What an attempt asks of a store: of the run store itself, or of what stands for it on another machine.

    Whatever is written under the number of an attempt that is not the newest, or of a run that was deleted, raises
    `AttemptSuperseded` and changes nothing.
    """

    def get(self, run_id: str) -> Run:
        """The run, as its attempt is to carry it out."""

    def folder(self, run_id: str) -> Path:
        """Where the attempt keeps checkpoints and the final model; it holds what an earlier attempt has left."""

    def arrays_path(self, run_id: str, iteration: int) -> Path:
        """Where it writes an iteration's arrays, before the record that stands for them."""

    def steps(self, run_id: str) -> list[dict[str, Any]]:
        """The records of all finished iterations, in order."""

    def try_start(self, run_id: str, attempt: int, limit: int) -> int:
        """0 when the run may start, else how many runs it waits for."""

    def beat(self, run_id: str, attempt: int, phase: str, **progress: Any) -> str:
        """Record life and progress; the status, which may ask to stop. A run given up for dead is `phase` again."""

    def append_step(self, run_id: str, step: dict[str, Any], attempt: int, **progress: Any) -> None:
        """Add an iteration's record; the same iteration again replaces it and drops all later ones."""

    def conclude(self, run_id: str, attempt: int, status: str, error: str | None = None) -> None:
        """The last word: finished, stopped or failed (with one sentence)."""


def open_store(address: str) -> RunStore:
    """The store at the address that a worker was started with: a folder. One of another kind is opened here, too."""
    return RunStore(Path(address))
