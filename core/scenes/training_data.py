"""Training pictures and captions of the built-in world: drawn once from a seed, kept in the user's cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.scenes._minimal_pairs import (
    MinimalPair,
    draw_mentioned_attributes,
    minimal_pair,
)
from core.scenes._sampler import sample_scene
from core.scenes.captions import CaptionTemplate, Phrase, Statement, statement_about
from core.scenes.pictures import draw_ahead
from core.scenes.render import MODEL_SIZE
from core.scenes.world import (
    COLOURS,
    MATERIALS,
    SHAPES,
    SIZES,
    SPLITS,
    Scene,
    SceneObject,
)

# What a relation says of its first object: the table's column and the sign; of the second object the opposite.
_SIDES = {"left of": (-2, -1), "right of": (-2, 1), "in front of": (-1, -1), "behind": (-1, 1)}
_Progress = Callable[[str, float], None]  # (what is being done, share done in [0, 1])

_PROCESSES = min(8, os.cpu_count() or 1)
_GRID = 8  # cells a side of the label maps
LABELS = (*COLOURS, *SHAPES, *SIZES, *MATERIALS)  # what a label map says of a cell, in this order


@dataclass(frozen=True)
class DataRecipe:
    """Which training scenes are drawn; a few fields decide what a small model learns to bind."""

    singles: int = 16_000  # scenes on their own
    twins: int = 9_000  # pairs of scenes that differ in one exchange: the hard negatives
    # What twins exchange, in turn.
    kinds: tuple[str, ...] = ("attribute", "left-right", "attribute", "front-behind")
    counts: tuple[int, ...] = (2, 2, 2, 3)  # objects per scene, drawn evenly from this list
    captions: int = 4  # per scene; of a single scene the second half tell a relation, the first half none
    detail: float = 0.0  # chance that a caption says size, and material
    omit: float = 0.0  # chance that a caption of a single scene leaves out a colour or shape


class _Caption(NamedTuple):
    """A caption, and what it tells: `_statement_table` and `_detail_table`."""

    text: str
    table: np.ndarray
    details: np.ndarray

    @classmethod
    def of(cls, statement: Statement, wording: CaptionTemplate) -> _Caption:
        return cls(statement.caption(wording), _statement_table(statement), _detail_table(statement.phrases))


class TrainingData(NamedTuple):
    """Pictures and their captions.

    images : uint8 (singles + 2 * twins, H, W, 3). Twin t is rows singles + 2t and singles + 2t + 1.
    captions : one list of `captions` texts per image; those of a twin's two images correspond.
    details : int8 (images, colours, 2), see `_detail_table`; caption_details : (images, captions, colours, 2).
    maps : uint8 (images, _GRID, _GRID, len(LABELS)), 1 where an object with that attribute has its centre.
    objects : float32 (images, colours, 6), see `object_table`.
    caption_objects : int8 (images, captions, colours, 6), the same of what each caption tells, see `_statement_table`.
    singles : how many images are no twin.
    """

    images: np.ndarray
    maps: np.ndarray
    objects: np.ndarray
    caption_objects: np.ndarray
    details: np.ndarray
    caption_details: np.ndarray
    captions: list[list[str]]
    singles: int

    @property
    def twins(self) -> int:
        """Number of pairs."""
        return (len(self.images) - self.singles) // 2

    @classmethod
    def of(
        cls,
        recipe: DataRecipe,
        seed: int,
        progress: _Progress | None = None,
        cache: Path | None = None,
        pictures: bool = True,
    ) -> TrainingData:
        """The recipe's pictures and captions. Pictures are rendered on the first call and read from the cache after.

        Without `pictures` all of them are black: for a model that sees none.
        """
        tell = progress or (lambda what, share: None)
        tell("drawing scenes", 0.0)
        scenes, drawn = _drawn(recipe, seed)
        images = np.broadcast_to(np.zeros(1, np.uint8), (len(scenes), MODEL_SIZE, MODEL_SIZE, 3))
        if pictures:
            images = draw_ahead(scenes, tell, cache, _PROCESSES)
        return cls(
            images=images,
            maps=np.stack([_label_map(scene) for scene in scenes]),
            objects=np.stack([object_table(scene) for scene in scenes]),
            caption_objects=np.stack([[each.table for each in variants] for variants in drawn]),
            details=np.stack([_detail_table(scene.objects) for scene in scenes]),
            caption_details=np.stack([[each.details for each in variants] for variants in drawn]),
            captions=[[each.text for each in variants] for variants in drawn],
            singles=recipe.singles,
        )


def object_table(scene: Scene) -> np.ndarray:
    """What is where, by colour: float32 (colours, 6): present, one of the three shapes, x and y on the ground.

    Shape and place are zero for a colour that no object has, or several: then they mean nothing.
    """
    table = np.zeros((len(COLOURS), 1 + len(SHAPES) + 2), dtype=np.float32)
    for row, colour in zip(table, COLOURS, strict=True):
        items = [item for item in scene.objects if item.colour == colour]
        row[0] = bool(items)
        if len(items) == 1:
            row[1 + SHAPES.index(items[0].shape)] = 1
            row[-2:] = items[0].x, items[0].y
    return table


def _label_map(scene: Scene) -> np.ndarray:
    """Attributes of the objects whose centres lie in each cell of the picture: uint8 (_GRID, _GRID, len(LABELS))."""
    labels = np.zeros((_GRID, _GRID, len(LABELS)), dtype=np.uint8)
    for item in scene.objects:
        u, v, _ = scene.camera.project(item.x, item.y, item.height / 2)
        row, column = (min(_GRID - 1, max(0, int((x + 1) / 2 * _GRID))) for x in (-v, u))
        for value in (item.colour, item.shape, item.size, item.material):
            labels[row, column, LABELS.index(value)] = 1
    return labels


def _statement_table(statement: Statement) -> np.ndarray:
    """What a statement tells, in the form of `object_table`: int8 (colours, 6), places as -1, 1 or 0 for unsaid.

    A place is relative to the other object: left -1, right 1 in x; in front -1, behind 1 in y.
    """
    table = np.zeros((len(COLOURS), 1 + len(SHAPES) + 2), dtype=np.int8)
    colours = [phrase.colour for phrase in statement.phrases]
    for index, phrase in enumerate(statement.phrases):
        if phrase.colour is None:
            continue
        row = table[list(COLOURS).index(phrase.colour)]
        row[0] = 1
        if colours.count(phrase.colour) > 1:
            continue
        if phrase.shape is not None:
            row[1 + SHAPES.index(phrase.shape)] = 1
        if statement.relation is not None:
            axis, first = _SIDES[statement.relation]
            row[axis] = -first if index else first
    return table


def _detail_table(items: Sequence[SceneObject | Phrase]) -> np.ndarray:
    """Size and material by colour: int8 (colours, 2), 1 for large or metal, -1 for small or rubber.

    0 where it is not said, and for a colour that no item has, or several.
    """
    table = np.zeros((len(COLOURS), 2), dtype=np.int8)
    for row, colour in zip(table, COLOURS, strict=True):
        chosen = [item for item in items if item.colour == colour]
        if len(chosen) == 1:
            row[0] = {"large": 1, "small": -1}.get(chosen[0].size or "", 0)
            row[1] = {"metal": 1, "rubber": -1}.get(chosen[0].material or "", 0)
    return table


def _drawn(recipe: DataRecipe, seed: int) -> tuple[list[Scene], list[list[_Caption]]]:
    """Scenes, singles before twins, and the captions of each."""
    rng = np.random.default_rng([seed, 1])
    scenes = training_scenes(recipe.singles, seed, recipe.counts)
    pairs = training_minimal_pairs(recipe.twins, recipe.kinds, seed, recipe.counts) if recipe.twins else []
    captions = [
        [_caption_of(scene, rng, recipe, variant) for variant in range(recipe.captions)] for scene in scenes
    ]
    for pair in pairs:
        both = [_captions_of(pair, rng, recipe) for _ in range(recipe.captions)]
        captions += [list(side) for side in zip(*both, strict=True)]
        scenes += [pair.first, pair.second]
    return scenes, captions


def _caption_of(scene: Scene, rng: np.random.Generator, recipe: DataRecipe, variant: int) -> _Caption:
    kind = "pair" if variant < recipe.captions // 2 else "relation"
    statement = statement_about(scene, rng, {kind: 1.0}, recipe.detail, recipe.omit)
    wording = CaptionTemplate.draw(rng, definite=statement.is_unambiguous(scene))
    return _Caption.of(statement, wording)


def _captions_of(pair: MinimalPair, rng: np.random.Generator, recipe: DataRecipe) -> tuple[_Caption, ...]:
    statements = pair.statements(draw_mentioned_attributes(rng, recipe.detail), int(rng.integers(4)))
    wording = CaptionTemplate.draw(rng)
    return tuple(_Caption.of(statement, wording) for statement in statements)


def training_scenes(n: int, seed: int = 0, counts: Sequence[int] = (2, 3, 4, 5, 6)) -> list[Scene]:
    """`n` scenes of the train split, free of held-out compositions; object counts drawn from `counts`."""
    rng = np.random.default_rng([seed, SPLITS.index("train"), n])
    drawn = rng.choice(np.asarray(counts), size=n)
    return [sample_scene(rng, int(count), "train") for count in drawn]


def training_minimal_pairs(
    n: int,
    kinds: Sequence[str] = ("attribute", "left-right", "front-behind"),
    seed: int = 0,
    counts: Sequence[int] = (2, 2, 3, 4),
) -> list[MinimalPair]:
    """`n` twins of the train split, kinds in order, object counts drawn evenly from `counts`."""
    rng = np.random.default_rng([seed, SPLITS.index("train"), n, 2])
    pairs: list[MinimalPair] = []
    while len(pairs) < n:
        scene = sample_scene(rng, counts[int(rng.integers(len(counts)))])
        pair = minimal_pair(scene, kinds[len(pairs) % len(kinds)], rng, seen=True)
        if pair is not None:
            pairs.append(pair)
    return pairs
