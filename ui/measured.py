"""What uploaded files were measured to, kept in memory for all visitors within a budget of bytes.

Counted is what each holds by now: pages keep with an evaluation what follows from it, such as its groups. Whatever was
used longest ago is given up first, and measured again from the stored file when somebody asks for it. An open page may
hold it all the same: then it is found again for as long as it is there. Before a further file is read, pages that hold
too much of what was given up are emptied, the oldest of whoever holds most first, so that no number of open pages keeps
a stranger out.
"""

from __future__ import annotations

import gc
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, NamedTuple
from weakref import ref

from core.base.errors import InputError
from core.base.public_mode import Held, beyond
from core.groups import GroupSet
from ui.cached import forget
from ui.held import held_bytes
from ui.put_aside import put_aside, session_id

_PAUSE = 1.0  # seconds between two counts
_TOGETHER = 3  # times the budget: what was given up and is still on pages, of all addresses
_IDLE = 2  # the same, of pages that nobody waits for, before a further file is read


class _GivenUp(NamedTuple):
    """Something that is there only as long as a page holds it."""

    found: ref[Any]
    size: int
    who: str | None


class MeasuredFiles:
    """What files were measured to, by key; the one used last at the end. budget : bytes, of what is kept and of what an
    address may hold beyond it."""

    def __init__(
        self,
        budget: Callable[[], int],
        session: Callable[[], str | None] = session_id,
        empty: Callable[[set[str]], None] = put_aside,
    ) -> None:
        """session : whose page asks. empty : takes from the pages of some sessions what they hold."""
        self._budget, self._session, self._empty, self._lock = budget, session, empty, Lock()
        self._pages: dict[Hashable, set[str]] = {}  # the sessions that have asked for it
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._who: dict[Hashable, str | None] = {}
        self._given_up: dict[Hashable, _GivenUp] = {}
        self._counted = 0.0

    def find(self, key: Hashable) -> Any:
        """What is there under a key; None where nothing is, or is no more."""
        with self._lock:
            left = self._given_up.pop(key, None)
            found = self._kept.get(key) if left is None else left.found()
            if found is not None:
                self._use(key, found, left)
            return found

    def keep(self, key: Hashable, value: Any, who: str | None = None) -> None:
        """Keep a value of an address, in place of those for which there is no room beside it."""
        with self._lock:
            self._who[key] = who
            self._counted = 0.0
            self._use(key, value, None)

    def check_room(self, who: str | None) -> None:
        """Empty pages that hold too much of what was given up. Raise InputError where that does not suffice: they are
        at work, of an address or all together."""
        if self._given_up:
            gc.collect()  # sessions that have ended are cycles, and so are an evaluation and its groups
        if pages := self._surplus():
            self._empty(pages)
            gc.collect()
        if self._is_full(who):
            raise InputError(
                "Pages that are at work hold as many large files as this server takes; close some, or try again in a "
                "few minutes."
            )

    def _surplus(self) -> set[str]:
        """The sessions whose pages are to be emptied."""
        items = [Held(key, str(one.who), one.size) for key, one in self._still_there().items()]
        gone = beyond(items, self._budget(), _IDLE * self._budget())
        with self._lock:
            return {name for key in gone for name in self._pages.get(key, ())}

    def _still_there(self) -> dict[Hashable, _GivenUp]:
        """What was given up and is on pages, the oldest first."""
        with self._lock:
            self._given_up = {key: one for key, one in self._given_up.items() if one.found() is not None}
            known = self._kept.keys() | self._given_up.keys()
            self._pages = {key: names for key, names in self._pages.items() if key in known}
            return self._given_up

    def _is_full(self, who: str | None) -> bool:
        left = list(self._still_there().values())
        own = sum(one.size for one in left if one.who == who)
        free = _TOGETHER * self._budget() - sum(one.size for one in left)
        return own > min(self._budget(), free)  # at most what is free: so others find room

    def _use(self, key: Hashable, value: Any, left: _GivenUp | None) -> None:
        """With the lock held: the value is kept, as the one used last."""
        if left is not None:
            self._who[key], self._counted = left.who, 0.0
        if (session := self._session()) is not None:
            self._pages.setdefault(key, set()).add(session)
        self._kept[key] = value
        self._kept.move_to_end(key)
        if time.monotonic() - self._counted >= _PAUSE:
            self._give_up()
            self._counted = time.monotonic()

    def _give_up(self) -> None:
        """The oldest beyond the budget; the last one is in use, and stays without what pages have kept with it."""
        sizes = {key: held_bytes(value) for key, value in self._kept.items()}
        while sum(sizes.values()) > self._budget():
            oldest = next(iter(sizes))
            size = sizes.pop(oldest)
            if not sizes:
                forget(self._kept[oldest], but=GroupSet)  # pages hold the groups
                break
            self._given_up[oldest] = _GivenUp(ref(self._kept.pop(oldest)), size, self._who.pop(oldest, None))
