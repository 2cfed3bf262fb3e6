"""Twins: a scene and the same scene with one property of two objects exchanged, photographed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from core.base.errors import unknown_name
from core.scenes._sampler import jitter
from core.scenes.captions import Phrase, Statement
from core.scenes.world import RELATIVE, Scene, SceneObject

# What two objects exchange, by kind of twin.
SWAPPED = {
    "attribute": "colour",
    "left-right": "x",
    "front-behind": "y",
    "size": "size",
    "material": "material",
}


@dataclass(frozen=True)
class MinimalPair:
    """Two scenes that differ in what objects `pair` have exchanged, and a little in camera, light and places."""

    first: Scene
    second: Scene
    kind: str
    pair: tuple[int, int]  # indices into the objects of both scenes

    def statements(self, mentioned: Sequence[str] = (), order: int = 0) -> tuple[Statement, Statement]:
        """A statement true of the first scene alone and one true of the second alone, made of the same words.

        `mentioned` names the attributes to say of both objects (default: colour and shape, and what was exchanged);
        `order` 0 to 3 changes the order of mention (of the second statement too) or the side a relation is told from.
        """
        names = tuple(mentioned) or ("colour", "shape")
        i, j = self.pair
        if self.kind in RELATIVE:
            name = RELATIVE[self.kind][order % 2]
            a, b = (Phrase.of(self.first.objects[k], *names) for k in (i, j))
            ahead = Statement((a, b), name)
            return (
                (ahead, Statement((b, a), name))
                if ahead.is_true_of(self.first)
                else (Statement((b, a), name), ahead)
            )
        names = (*names, SWAPPED[self.kind]) if SWAPPED[self.kind] not in names else names
        phrases = [tuple(Phrase.of(s.objects[k], *names) for k in (i, j)) for s in (self.first, self.second)]
        step = (1, -1)
        return Statement(phrases[0][:: step[order % 2]]), Statement(phrases[1][:: step[order // 2 % 2]])


def minimal_pair(
    scene: Scene, kind: str, rng: np.random.Generator, seen: bool | None = None
) -> MinimalPair | None:
    """The scene with a random fitting pair of objects exchanged; None where no pair fits.

    A pair fits when its two statements (colour and shape of both) are each clearly true of one scene and clearly false
    of the other, and the second scene is as well placed as any. With `seen` (default: whether the first scene is)
    the second scene holds no composition kept out of training either.
    """
    if kind not in SWAPPED:
        raise unknown_name("kind of twin", kind, SWAPPED)
    seen = scene.seen if seen is None else seen
    pairs = list(combinations(range(len(scene.objects)), 2))
    for place in rng.permutation(len(pairs)):
        i, j = pairs[place]
        if not _differ(scene.objects[i], scene.objects[j], kind):
            continue
        other = jitter(exchange(scene, i, j, SWAPPED[kind]), rng)
        if other is None or (seen and not other.seen):
            continue
        pair = MinimalPair(scene, other, kind, (i, j))
        if _distinguish(pair.statements(), (scene, other)):
            return pair
    return None


def exchange(scene: Scene, i: int, j: int, name: str) -> Scene:
    """The scene after objects i and j have exchanged one field."""
    objects = list(scene.objects)
    a, b = objects[i], objects[j]
    objects[i], objects[j] = replace(a, **{name: getattr(b, name)}), replace(b, **{name: getattr(a, name)})
    return replace(scene, objects=tuple(objects))


def _distinguish(statements: Sequence[Statement], scenes: Sequence[Scene]) -> bool:
    """Whether statement i is clearly true of scene i and every statement clearly false of every other scene."""
    return all(c.is_true_of(s) is (i == j) for i, s in enumerate(scenes) for j, c in enumerate(statements))


def _differ(a: SceneObject, b: SceneObject, kind: str) -> bool:
    if kind == "attribute":
        return a.colour != b.colour and a.shape != b.shape
    if kind in RELATIVE:
        return (a.colour, a.shape) != (b.colour, b.shape)
    return getattr(a, kind) != getattr(b, kind) and (a.colour, a.shape) != (b.colour, b.shape)


def draw_mentioned_attributes(rng: np.random.Generator, detail: float) -> tuple[str, ...]:
    """Colour and shape, and with probability `detail` each size and material."""
    u = rng.random(2)
    return ("colour", "shape", *(name for name, x in zip(("size", "material"), u, strict=True) if x < detail))
