"""A worker process without models: its kind `count` counts, waits at the test's gate, and goes on where it was killed.

Started by the tests of the run store as `python -m counting_worker`, in place of `core.worker`.
"""

import json
import os
import sys
from typing import ClassVar

from gates import Gate

from core import worker
from core.base.errors import InputError
from core.base.settings import Settings
from core.run_kinds import RUN_KINDS
from core.runs import attempt
from core.runs.description import Iteration, RunDescription

PRIME = 1_000_003


class Counter:
    """A model whose one weight is the number that has been reached."""

    def __init__(self, value):
        self.value = value

    def save(self, folder):
        folder.mkdir()
        (folder / "value.json").write_text(json.dumps(self.value))


class Counting(Settings):
    total: int = 6
    fail_at: int | None = None
    crash_at: int | None = None
    seed: int = 0


class CountRun(RunDescription):
    """Iteration i adds i times the total so far, modulo a prime: a wrong resume shows in every later number."""

    kind: ClassVar[str] = "count"
    benchmark: str = "numbers"
    model: str = "one"
    settings: Counting = Counting()

    @property
    def total(self):
        return self.settings.total

    def execute(self, remains=None, stop=None, progress=None):
        gate, start, value = Gate.of_environment(), 0, 1
        if remains is not None and remains.checkpoint is not None:
            start = len(remains.records)
            value = json.loads((remains.checkpoint / "model" / "value.json").read_text())
        for iteration in range(start, self.total + 1):
            if iteration == self.settings.fail_at:
                raise InputError("Seven is too many; use six.")
            if iteration == self.settings.crash_at:
                raise ZeroDivisionError("one over nothing\nand a second line")
            if iteration:
                progress((iteration - 1) / self.total, f"iteration {iteration}")
                if not gate.wait(iteration, stop):
                    return
                value = (value * (iteration + 1) + 7) % PRIME
            record = {"iteration": iteration, "value": value, "note": ""}
            yield Iteration(record, {}, Counter(value), lambda aside: None)

    def card(self, model, records):
        return "counted"


RUN_KINDS["count"] = "counting_worker:CountRun"

if __name__ == "__main__":
    worker.PRELOADED = ()  # there is no model to import anything for
    attempt.HEARTBEAT_SECONDS = float(os.environ.get("TEST_BEAT", attempt.HEARTBEAT_SECONDS))
    sys.exit(worker.main(sys.argv[1:]))
