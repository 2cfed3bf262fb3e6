"""A worker process without models: its kind `count` counts, waits at the test's gate, and goes on where it was killed.

Started by the tests of the run store as `python -m counting_worker`, in place of `core.worker`.
"""

import json
import os
import sys

from gates import Gate

from core import worker
from core.base import files
from core.base.errors import InputError
from core.runs import attempt


def count(job: attempt.RunAttempt) -> bool:
    """Iteration i adds i times the total so far, modulo a prime: a wrong resume shows in every later number."""
    config, saved, gate = job.run.config, job.folder / "saved.json", Gate.of_environment()
    state = json.loads(saved.read_text()) if saved.exists() else {"iteration": 0, "value": 1}
    job.plan(config["total"])
    job.append(dict(state))
    for iteration in range(state["iteration"] + 1, config["total"] + 1):
        if iteration == config.get("fail_at"):
            raise InputError("Seven is too many; use six.")
        if iteration == config.get("crash_at"):
            raise ZeroDivisionError("one over nothing\nand a second line")
        job.progress((iteration - 1) / config["total"], f"iteration {iteration}")
        if not gate.wait(iteration, job.stopping):
            return False
        state = {"iteration": iteration, "value": (state["value"] * (iteration + 1) + 7) % 1_000_003}
        files.write_json(saved, state)
        job.append(dict(state))
    return True


if __name__ == "__main__":
    worker.KINDS["count"] = count
    attempt.HEARTBEAT_SECONDS = float(os.environ.get("TEST_BEAT", attempt.HEARTBEAT_SECONDS))
    sys.exit(worker.main(sys.argv[1:]))
