"""What the tags of the built-in sets say; those of other sets are their makers'."""

from __future__ import annotations

from collections.abc import Iterable

from core.groups import GroupSet
from ui.selection import benchmark_of

_MEANINGS = {
    "kind": "what the captions differ in: an attribute, a relation or an object",
    "attribute": "which attribute that is",
    "relation": "the relation that a true caption of the group states",
    "change": "what made the false caption of the true one: a word that was replaced, swapped with another, or added",
    "objects": "how many objects a picture shows",
    "colours": "those that the true captions name",
    "shapes": "those that the true captions name",
    "unseen": "yes where a caption names a combination that no training picture of the built-in models had",
    "held_out": "which combination that is: colour-shape, as a cyan cube, or colour-pair, as something red beside "
    "something cyan",
}


def shown_tag(name: str) -> str:
    """A tag's name as pages show it: `held out`."""
    return name.replace("_", " ")


def tag_meanings(groups: GroupSet, names: Iterable[str]) -> str | None:
    """What these tags say, a line each, as Markdown; None of a set that is not built in, whose tags may say anything.

    groups : of a benchmark, or of a file that was made on one.
    """
    known = [name for name in names if name in _MEANINGS]
    origin = benchmark_of(groups) if known else None
    if origin is None or not origin["set"].startswith("scenes/"):
        return None
    return "\n".join(f"- **{shown_tag(name)}**: {_MEANINGS[name]}" for name in known)
