"""Visitors take turns: at models, one at a time and block by block, at reading files, and at drawing pictures. The
address that was served longest ago is next; at one address, who came first.

More at once would not be faster on the same cores, would hold more memory, and would leave nothing for the pages of
everybody else.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isgenerator
from threading import Event, Lock
from typing import Any, NamedTuple

from ui.visitor import address

MANY = 1000  # addresses that are remembered


class _Place(NamedTuple):
    """Somebody who works or waits."""

    go: Event
    who: str | None


class Turns:
    """Work that `places` visitors do at the same time, while everybody else waits."""

    def __init__(self, places: int) -> None:
        self._lock, self._free = Lock(), places
        self._waiting: list[_Place] = []  # in the order in which they came
        self._served: dict[str | None, int] = {}  # address -> how many turns had begun at its last one
        self._count = itertools.count(1)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @contextmanager
    def one(self) -> Iterator[None]:
        """Wait for one's turn, and hand it on at the end. Not to be nested."""
        mine = _Place(Event(), address())
        with self._lock:
            self._waiting.append(mine)
            self._begin()
        try:
            mine.go.wait()
            yield
        finally:
            with self._lock:
                if mine.go.is_set():
                    self._free += 1
                else:  # gone before its turn came
                    self._waiting.remove(mine)
                self._begin()

    def _begin(self) -> None:
        """The next ones' turn, as far as there is room; with the lock held."""
        while self._free and self._waiting:
            place = min(self._waiting, key=lambda one: self._served.get(one.who, 0))
            self._waiting.remove(place)
            self._free -= 1
            self._served[place.who] = next(self._count)
            if len(self._served) > MANY:
                del self._served[min(self._served, key=self._served.__getitem__)]
            place.go.set()


MODELS, PICTURES = Turns(1), Turns(os.cpu_count() or 1)
READING = Turns(1)  # several files at once would need the memory of all; who waits for a model waits for none


def queued(call: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, computing in turns: as a whole, or from one item to the next where it yields them."""

    @wraps(call)
    def wrapped(*args: Any, **more: Any) -> Any:
        with MODELS.one():
            found = call(*args, **more)
        return _items(found) if isgenerator(found) else found

    return wrapped


def _items(found: Iterator[Any]) -> Iterator[Any]:
    while True:
        with MODELS.one():
            try:
                item = next(found)
            except StopIteration:
                return
        yield item
