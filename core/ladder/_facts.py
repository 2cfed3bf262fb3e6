"""What the captions of a group say of its pictures, as facts: a value, and the object that it is the value of.

The pictures of a swap group are the same but for one attribute that some objects exchange: their colours, sizes,
materials or places. Those objects are named by what they keep. Truth says which caption tells the facts of which
picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.base.errors import InputError
from core.groups import Group, GroupSet
from core.scenes.render import SceneImage
from core.scenes.world import SceneObject

_Fact = tuple[str, ...]  # ("red", "cube"); ("large", "cube"), ("large", "red"), ("large", "red", "cube")
# Places change a little from one picture to the next as it is; exchanged ones change by more. Scene units.
_MOVED = 0.5
_EXACT, _PLACES = ("colour", "size", "material"), ("x", "y")


class Questions(NamedTuple):
    """Of every group what has to be decided: which picture shows which facts.

    attribute : what the objects exchange: colour, size, material, x (left and right) or y (front and back).
    facts : by group and picture. captions : int (n, m), the caption that tells the facts of each picture.
    """

    attribute: str
    facts: list[list[list[_Fact]]]
    captions: np.ndarray

    @classmethod
    def of(cls, groups: GroupSet) -> Questions:
        """Raises InputError for groups whose pictures have no scenes, or differ by no exchange."""
        found = [_exchanged(group) for group in groups]
        facts = [_facts(group, *each) for group, each in zip(groups, found, strict=True)]
        return cls(found[0][0], facts, np.asarray(groups.truth))

    def encoded(self, vocabulary: Sequence[_Fact]) -> np.ndarray:
        """1 where a picture has a fact of the vocabulary, float32 (n, m, facts)."""
        place = {fact: i for i, fact in enumerate(vocabulary)}
        table = np.zeros((*self.captions.shape, len(place)), dtype=np.float32)
        for g, pictures in enumerate(self.facts):
            for i, facts in enumerate(pictures):
                table[g, i, [place[fact] for fact in facts]] = 1
        return table


def vocabulary(*questions: Questions) -> list[_Fact]:
    """Every fact that occurs, each once, in a fixed order."""
    return sorted({fact for each in questions for group in each.facts for facts in group for fact in facts})


def _exchanged(group: Group) -> tuple[str, list[int]]:
    """The attribute that differs between the pictures of a group, and the objects that have exchanged it."""
    scenes = [image.scene for image in group.images if isinstance(image, SceneImage)]
    if 1 < len(scenes) == len(group.images) == len(group.captions) and group.truth is not None:
        versions = list(zip(*(scene.objects for scene in scenes), strict=False))
        for name in (*_EXACT, *_PLACES):
            which = [k for k, objects in enumerate(versions) if _differ(objects, name)]
            if len(which) > 1:
                return name, which
    raise InputError(
        f"The binding ladder needs to know what the pictures of {group.id} show, as groups that differ in one exchange "
        "(scenes/attribute-swap, scenes/left-right, ...); these groups have no such scenes, so choose a built-in set."
    )


def _differ(versions: Sequence[SceneObject], name: str) -> bool:
    values = [getattr(item, name) for item in versions]
    return max(values) - min(values) > _MOVED if name in _PLACES else len(set(values)) > 1


def _facts(group: Group, name: str, which: list[int]) -> list[list[_Fact]]:
    """The facts of each picture that an exchange of this attribute changes."""
    scenes = [image.scene for image in group.images if isinstance(image, SceneImage)]
    return [_of_picture([scene.objects[k] for k in which], name) for scene in scenes]


def _of_picture(objects: list[SceneObject], name: str) -> list[_Fact]:
    if name == "colour":
        return [(item.colour, item.shape) for item in objects]
    values = [getattr(item, name) for item in objects]
    if name in _PLACES:
        sides = ("left", "right") if name == "x" else ("front", "back")
        values = [sides[value > min(values)] for value in values]
    named = zip(values, objects, strict=True)
    # Two objects may share a shape, or a colour, but not both; a caption may say either.
    return [
        fact
        for value, o in named
        for fact in ((value, o.shape), (value, o.colour), (value, o.colour, o.shape))
    ]
