"""One model at a time: visitors whose pages compute scores take turns, block by block, in the order in which they came.

Several at once would not be faster on the same cores, and would leave nothing for the pages of everybody else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isgenerator
from threading import Event, Lock
from typing import Any

_lock = Lock()
_queue: deque[Event] = deque()  # who computes, then who waits


@contextmanager
def turn() -> Iterator[None]:
    """Wait for one's turn, and hand it on at the end. Not to be nested."""
    mine = Event()
    with _lock:
        _queue.append(mine)
        _queue[0].set()
    mine.wait()
    try:
        yield
    finally:
        with _lock:
            _queue.remove(mine)
            if _queue:
                _queue[0].set()


def in_turn(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, computing in turns: as a whole, or from one item to the next where it yields them."""

    @wraps(call)
    def wrapped(*args: Any, **more: Any) -> Any:
        with turn():
            found = call(*args, **more)
        return _items(found) if isgenerator(found) else found

    return wrapped


def _items(found: Iterator[Any]) -> Iterator[Any]:
    while True:
        with turn():
            try:
                item = next(found)
            except StopIteration:
                return
        yield item
