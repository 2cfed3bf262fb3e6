"""Single-object queries over many scenes, as Cola asks them: attributes and a noun that one object must have."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product, starmap

import numpy as np

from core.base.errors import InputError, unknown_name
from core.scenes._sampler import sample_scene
from core.scenes._shipped_files import SHIPPED, asset_path, damaged, read_rows
from core.scenes.captions import CaptionTemplate, Phrase, Statement, _AskedObjects
from core.scenes.render import SceneImage
from core.scenes.world import (
    ATTRIBUTES,
    COLOURS,
    HELD_OUT_COMBINATIONS,
    MATERIALS,
    SHAPES,
    SIZES,
    SPLITS,
    Scene,
)

NAME = "scenes/retrieval"
_IMAGES = {"train": 2000, "validation": 1000, "test": 2000}


@dataclass(frozen=True)
class _RetrievalSet:
    """q queries over n images. Relevance and the hard lists follow from the scene graphs ([Cola] 5)."""

    name: str
    split: str
    images: tuple[SceneImage, ...]
    phrases: tuple[Phrase, ...]  # what each query asks for
    queries: tuple[str, ...]  # the same in words

    def __repr__(self) -> str:
        return (
            f"<{len(self.queries)} queries over {len(self.images)} images: {self.name}, split {self.split}>"
        )

    @cached_property
    def _matches(self) -> np.ndarray:
        """bool (a, q, n, o): whether object o of image n has attribute a as query q says; unsaid is True."""
        objects = [image.scene.objects for image in self.images]
        most = max(map(len, objects))
        matches = np.zeros((len(ATTRIBUTES), len(self.phrases), len(objects), most), dtype=bool)
        for a, name in enumerate(ATTRIBUTES):
            values = np.array([[getattr(o, name) for o in row] + [""] * (most - len(row)) for row in objects])
            mentioned = np.array([getattr(phrase, name) or "*" for phrase in self.phrases])[:, None, None]
            matches[a] = ((mentioned == "*") | (mentioned == values[None])) & (values != "")[None]
        return matches

    @cached_property
    def _mentioned(self) -> np.ndarray:
        """bool (a, q, 1, 1): whether the query says anything of attribute a."""
        mentioned = [[getattr(phrase, name) is not None for phrase in self.phrases] for name in ATTRIBUTES]
        return np.array(mentioned)[:, :, None, None]

    @cached_property
    def relevant(self) -> np.ndarray:
        """bool (q, n): one object of the image has everything the query says."""
        return np.asarray(self._matches.all(axis=0).any(axis=-1))

    @cached_property
    def any_word(self) -> np.ndarray:
        """bool (q, n): some object has something the query says. Cola's hard list; holds every relevant image."""
        return np.asarray((self._matches & self._mentioned).any(axis=(0, -1)))

    @cached_property
    def all_words(self) -> np.ndarray:
        """bool (q, n): all that the query says is in the image, on one object or on several (QueryAll's list)."""
        return np.asarray(self._matches.any(axis=-1).all(axis=0))

    @cached_property
    def unseen(self) -> np.ndarray:
        """bool (q,): the query names a colour and shape that no training object has together."""
        return np.array([(p.colour, p.shape) in HELD_OUT_COMBINATIONS for p in self.phrases])

    def asking(self, text: str) -> _RetrievalSet | _SeveralObjects | None:
        """The same images with one query of one's own; None where it does not name objects of this world."""
        said = Statement.of_caption(" ".join(text.lower().split()).strip("."))
        if said is None or len(said.phrases) > 1 or said.count is not None:
            asked = _AskedObjects.of(text)
            return None if asked is None else _SeveralObjects(self.name, self.split, self.images, asked, text)
        (phrase,) = said.phrases
        if not any(value for _, value in phrase.attributes()):
            return None
        return replace(self, phrases=(phrase,), queries=(text,))

    compared = None  # every query is seen or unseen

    @cached_property
    def attributes(self) -> np.ndarray:
        """int (q,): how many attributes are said besides the noun."""
        return self._mentioned.sum(axis=0).ravel() - 1


@dataclass(frozen=True)
class _SeveralObjects:
    """One query for several objects, or for objects in a relation, over a set's images; without hard lists."""

    name: str
    split: str
    images: tuple[SceneImage, ...]
    asked: _AskedObjects
    text: str
    any_word = all_words = unseen = attributes = compared = phrases = None

    @property
    def queries(self) -> tuple[str, ...]:
        return (self.text,)

    @cached_property
    def relevant(self) -> np.ndarray:
        """bool (1, n): the image shows everything; not so where the eye could argue about the relation."""
        return np.array([[self.asked.statement.is_true_of(image.scene) is True for image in self.images]])


def build_retrieval(split: str, n: int | None = None, seed: int = 0) -> _RetrievalSet:
    """`n` images of 2 to 6 objects and all 240 queries: a shape and any of colour, size and material."""
    if split not in SPLITS:
        raise unknown_name("split", split, SPLITS)
    count = _IMAGES[split] if n is None else n
    if count < 1:
        raise InputError(f"Retrieval over {count} images cannot be drawn; ask for at least one.")
    rng = np.random.default_rng([seed, SPLITS.index(split), zlib.crc32(NAME.encode())])
    every = starmap(Phrase, product((None, *COLOURS), SHAPES, (None, *SIZES), (None, *MATERIALS)))
    phrases = tuple(phrase for phrase in every if phrase.colour or phrase.size or phrase.material)
    queries = tuple(Statement((phrase,)).caption(CaptionTemplate.draw(rng, plain=1.0)) for phrase in phrases)
    counts = rng.integers(2, 7, size=count).tolist()
    images = tuple(SceneImage(sample_scene(rng, c, split, seen=split == "train")) for c in counts)
    return _RetrievalSet(NAME, split, images, phrases, queries)


def load_retrieval(split: str = "test") -> _RetrievalSet:
    """The shipped validation or test set; a train split is drawn."""
    if split not in SHIPPED:
        return build_retrieval(split)
    path = asset_path(NAME, split)
    rows = read_rows(path, NAME, split)
    try:
        phrases, queries, *scenes = rows
        images = tuple(SceneImage(Scene.from_dict(row)) for row in scenes)
        return _RetrievalSet(
            NAME, split, images, tuple(Phrase(*p) for p in phrases["phrases"]), tuple(queries["queries"])
        )
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, error) from None
