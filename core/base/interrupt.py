"""Long arithmetic that can be given up: loops over blocks ask between two of them whether anybody still waits.

A page opens `interruptible` with a call that raises once its visitor has left or asked for something else; numpy itself
cannot be stopped, so no single block may take long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_asked: ContextVar[Callable[[], object] | None] = ContextVar("asked", default=None)


@contextmanager
def interruptible(ask: Callable[[], object]) -> Iterator[None]:
    """While this is open, `between_blocks` calls `ask` in this thread; whatever `ask` raises ends the work."""
    before = _asked.set(ask)
    try:
        yield
    finally:
        _asked.reset(before)


def between_blocks() -> None:
    """Where a long loop may be given up. Nothing happens in threads and commands for which nobody asked."""
    ask = _asked.get()
    if ask is not None:
        ask()
