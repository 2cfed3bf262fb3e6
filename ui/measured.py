"""What uploaded files were measured to, kept in memory for all visitors within a budget of bytes.

Counted is what each holds by now: pages keep with an evaluation what follows from it, such as its groups. Whatever was
used longest ago is given up first, and measured again from the stored file when somebody asks for it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

from ui.cached import forget
from ui.held import held_bytes

_PAUSE = 1.0  # seconds between two counts


class MeasuredFiles:
    """Tuples of what a file was measured to, by key; the one used last at the end. budget : bytes."""

    def __init__(self, budget: Callable[[], int]) -> None:
        self._budget, self._lock = budget, Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, ...]] = OrderedDict()
        self._counted = 0.0

    def find(self, key: Hashable) -> tuple[Any, ...] | None:
        """What is kept under a key; None where nothing is, or is no more."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                self._give_up()
            return found

    def keep(self, key: Hashable, value: tuple[Any, ...]) -> None:
        """Keep a value, in place of those for which there is no room beside it."""
        with self._lock:
            self._kept[key] = value
            self._kept.move_to_end(key)
            self._counted = 0.0
            self._give_up()

    def _give_up(self) -> None:
        """The oldest beyond the budget; the last one is in use, and stays without what pages have kept with it."""
        if time.monotonic() - self._counted < _PAUSE:
            return
        sizes = {key: held_bytes(value) for key, value in self._kept.items()}
        while sum(sizes.values()) > self._budget():
            oldest = next(iter(sizes))
            del sizes[oldest]
            if not sizes:
                for part in self._kept[oldest]:
                    forget(part)
                break
            del self._kept[oldest]
        self._counted = time.monotonic()
