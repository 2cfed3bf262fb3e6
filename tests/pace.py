"""How slow this machine is, for the few tests that bound processor time: a limit is one of a machine of known pace."""

import time

_LOOP = 0.06  # seconds of processor that the loop below takes where the limits were set


def slowness() -> float:
    """How many times as long as there a second of work takes here; at least 1."""
    return max(1.0, min(_loop() for _ in range(3)) / _LOOP)


def _loop() -> float:
    began, total = time.process_time(), 0
    for i in range(1_000_000):
        total += i * i % 7
    return time.process_time() - began
