"""What follows from an object that is kept in memory, kept with it: worked out once for all visitors."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


def cached_on(owner: Any, name: Hashable, make: Callable[[], T]) -> T:
    """`make()` for this object, made once under a name; it goes when the object goes.

    owner : an evaluation, a study, a set of groups: immutable once made, shared by all visitors who look at the same.
    Two visitors at once may both make it; the first one stays.
    """
    found: dict[Hashable, T] = owner.__dict__.setdefault("_kept", {})
    if name not in found:
        found.setdefault(name, make())
    return found[name]


def forget(owner: Any, but: type) -> None:
    """Give up what is kept with an object, but for values of one kind; whoever needs it makes it again."""
    found = vars(owner).get("_kept", {})
    vars(owner)["_kept"] = {name: value for name, value in list(found.items()) if isinstance(value, but)}
