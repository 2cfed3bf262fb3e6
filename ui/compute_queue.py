"""One model at a time: visitors whose pages compute scores take turns, block by block. The address that was served
longest ago is next; at one address, who came first.

Several at once would not be faster on the same cores, and would leave nothing for the pages of everybody else.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isgenerator
from threading import Event, Lock
from typing import Any, NamedTuple

from ui.visitor import address

MANY = 1000  # addresses that are remembered


class _Slot(NamedTuple):
    """Somebody who computes or waits."""

    go: Event
    who: str | None


_lock = Lock()
_queue: deque[_Slot] = deque()  # who computes, then who waits, in the order in which they came
_served: dict[str | None, int] = {}  # address -> how many turns anybody had had when it had its last one
_count = itertools.count(1)


@contextmanager
def compute_slot() -> Iterator[None]:
    """Wait for one's turn, and hand it on at the end. Not to be nested."""
    mine = _Slot(Event(), address())
    with _lock:
        _queue.append(mine)
        if len(_queue) == 1:
            _start(mine)
    mine.go.wait()
    try:
        yield
    finally:
        with _lock:
            _queue.remove(mine)
            if _queue:
                _start(min(_queue, key=lambda place: _served.get(place.who, 0)))


def _start(place: _Slot) -> None:
    """To the front; with the lock held."""
    _queue.remove(place)
    _queue.appendleft(place)
    _served[place.who] = next(_count)
    if len(_served) > MANY:
        del _served[min(_served, key=_served.__getitem__)]
    place.go.set()


def queued(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, computing in turns: as a whole, or from one item to the next where it yields them."""

    @wraps(call)
    def wrapped(*args: Any, **more: Any) -> Any:
        with compute_slot():
            found = call(*args, **more)
        return _items(found) if isgenerator(found) else found

    return wrapped


def _items(found: Iterator[Any]) -> Iterator[Any]:
    while True:
        with compute_slot():
            try:
                item = next(found)
            except StopIteration:
                return
        yield item
