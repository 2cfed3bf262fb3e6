"""The real worker behind the test's gate: `python -m gated_worker`, in place of `core.worker`.

It waits after each finished iteration until the test lets the next one begin; or, where `TEST_MOMENT` names a moment in
the middle of the work ("0.5 scoring": half done, and scoring), there.
"""

import os
import sys
from importlib import import_module

from gates import MOMENT, Gate
from small_cola import SMALL_COLA

from core import worker
from core.runs import attempt


class GatedJob(worker.RunAttempt):
    def append(self, record):
        super().append(record)
        if MOMENT not in os.environ:
            Gate.of_environment().wait(record["iteration"] + 1, self.stopping)

    def progress(self, fraction, message):
        super().progress(fraction, message)
        share, _, what = os.environ.get(MOMENT, "2 never").partition(" ")
        if fraction >= float(share) and message.startswith(what):
            Gate.of_environment().wait(1, self.stopping)


if __name__ == "__main__":
    worker.RunAttempt = GatedJob
    if MOMENT in os.environ:
        attempt.HEARTBEAT_SECONDS = 0.05  # a heartbeat tells the test that the moment has come
    if "TEST_SMALL_COLA" in os.environ:
        for path, value in SMALL_COLA.items():
            module, _, name = path.rpartition(".")
            setattr(import_module(module), name, value)
    sys.exit(worker.main(sys.argv[1:]))
