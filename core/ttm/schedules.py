"""How the threshold goes from its first value to its last over the iterations: one line per schedule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Each takes the share of the iterations that are over, float64 (T,), 0 at the first and 1 at the last, and gives how
# much of the way from the first threshold to the last is done.
# Sources: [TTM] 3.2 (linear), C.1 (cosine, half a period).
SCHEDULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda over: over,
    "cosine": lambda over: (1 - np.cos(np.pi * over)) / 2,
    "constant": np.zeros_like,
    "ascending": lambda over: 1 - over,
}
