"""A gate in the way of the runs that tests start: no run begins an iteration that its test has not let it begin.

So a run cannot be over before a test has done with it what it wants to, however quick or busy the machine is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

VARIABLE = "TEST_GATE"  # the gate's file, for the processes
MOMENT = "TEST_MOMENT"  # where in the work `gated_worker` waits: "0.5 scoring", half done and scoring
PATIENCE = 900.0  # seconds; a run whose test is gone ends by itself
OPEN = 1_000_000


class Gate:
    """A file with the number of the last iteration that may begin: 0 as long as it is not there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of_environment(cls) -> Gate:
        """The gate that this process was started behind."""
        return cls(Path(os.environ[VARIABLE]))

    def let(self, iteration: int) -> None:
        """Let runs begin every iteration up to this one."""
        aside = self.path.with_suffix(".aside")
        aside.write_text(str(iteration))
        aside.replace(self.path)

    def open(self) -> None:
        self.let(OPEN)

    def lets(self, iteration: int) -> bool:
        return iteration <= (int(self.path.read_text()) if self.path.exists() else 0)

    def wait(self, iteration: int, stopping: Callable[[], bool] = lambda: False) -> bool:
        """Wait until this iteration may begin; False when the run is to stop instead."""
        until(lambda: stopping() or self.lets(iteration), PATIENCE)
        return not stopping()


def until(holds: Callable[[], object], seconds: float = 600.0) -> None:
    """Wait for a condition; TimeoutError after a time that no busy machine needs."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing happened in {seconds:g} s")
        time.sleep(0.02)
