"""Sets made of any other by the end of its name: `winoground@global`, `scenes/attribute-swap~tinted`, and both.

`@global` asks for all images with all captions, no groups given ([TTM] 3.2.1). `~SHIFT` changes every picture by a
deterministic function of it (`_shifts.py`), `~SHIFT-weak` and `~SHIFT-strong` less and more. Nothing is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from typing import NamedTuple

from core.base.errors import unknown_name
from core.datasets._shifts import SHIFTS, Shift, ShiftedImage
from core.groups import GroupSet
from core.scenes.sets import GLOBAL_SUFFIX

_MARK = "~"


class Variant(NamedTuple):
    """A set's name taken apart."""

    name: str  # as it was asked for
    base: str  # the registered set that it is made of
    shift: Shift | None = None
    flat: bool = False  # without groups, where the registered set has them


def parse(name: str, known: Callable[[], Container[str]]) -> Variant:
    """A name taken apart; one that is registered itself, or is made of none that is, stays whole.

    known : gives the registered sets of groups. Raises InputError for an unknown shift of a set that exists.
    """
    if _MARK not in name and not name.endswith(GLOBAL_SUFFIX):
        return Variant(name, name)
    registered = known()
    flat = name.endswith(GLOBAL_SUFFIX)
    base, mark, shift = name.removesuffix(GLOBAL_SUFFIX).partition(_MARK)
    flattened = f"{base}{GLOBAL_SUFFIX}"
    if (
        name in registered
        or base not in registered
        or (flat and base.startswith("scenes/") and flattened not in registered)
    ):
        return Variant(name, name)
    if mark and shift not in SHIFTS:
        raise unknown_name("shift", shift, SHIFTS)
    ships = flat and flattened in registered  # with the groups alone whose captions fit no other image
    return Variant(name, flattened if ships else base, SHIFTS[shift] if mark else None, flat and not ships)


def apply(variant: Variant, groups: GroupSet) -> GroupSet:
    """The set that a name stands for, from the registered one."""
    result = groups
    if variant.shift is not None:
        shift = variant.shift
        changed = [
            replace(g, images=tuple(ShiftedImage(image, shift) for image in g.images)) for g in groups.groups
        ]
        result = replace(
            result,
            groups=tuple(changed),
            title=f"{result.title}, {shift.name}",
            description=f"{result.description} Pictures shifted: {shift.description}.",
        )
    if variant.flat:
        text = "All images with all captions, no groups given. "
        result = replace(result, title=f"{result.title}, flattened", description=text + result.description)
    return result if result is groups else replace(result, name=_named(variant, groups.name))


def _named(variant: Variant, name: str) -> str:
    """`winoground (validation)` asked for as `winoground@global`: `winoground (validation)@global`."""
    return (
        name.replace(variant.base, variant.name, 1)
        if not variant.flat
        else (name.replace(variant.base, variant.name.removesuffix(GLOBAL_SUFFIX), 1) + GLOBAL_SUFFIX)
    )
