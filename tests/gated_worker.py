"""The real worker behind the test's gate: `python -m gated_worker`, in place of `core.worker`."""

import sys

from gates import Gate

from core import worker


class GatedJob(worker.RunAttempt):
    """Waits after each finished iteration until the test lets the next one begin."""

    def append(self, record):
        super().append(record)
        Gate.of_environment().wait(record["iteration"] + 1, self.stopping)


if __name__ == "__main__":
    worker.RunAttempt = GatedJob
    sys.exit(worker.main(sys.argv[1:]))
