"""What a strategy is trained and measured on, by the name of a benchmark ([Cola] 3, 5, 9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core import datasets
from core.base.errors import InputError, unknown_name
from core.cola._queries import (
    AttributedNoun,
    Query,
    crepe_set,
    hold_out_queries,
    index_of,
    multi_object_set,
    parse_combination,
    retrieval_set,
    scene_graphs,
    single_queries,
    unseen_mask,
)
from core.cola._training_data import TrainingQueries, builtin_training_queries, graph_training_queries
from core.datasets.base import _collection_paused
from core.datasets.graphs import read_regions
from core.datasets.sets import GraphSet, Retrieval, RetrievalSet
from core.groups import GroupSet
from core.scenes.pictures import draw_ahead
from core.scenes.render import SceneImage
from core.scenes.retrieval import load_retrieval
from core.scenes.sets import load
from core.scorers.cola_config import AdaptConfig
from core.scoring.retrieval import first_images

BUILTIN = "scenes/retrieval"
# A benchmark to adapt to -> the scene graphs that it is trained on and, but for Cola's published queries, tested on.
SCENE_GRAPHS = {
    "gqa": "gqa",
    "visual-genome": "visual-genome",
    "clevr": "clevr/cogent",
    "paco": "paco",
    "clevr-attributes": "clevr/cogent",  # Figure 5
    "cola/single-gqa": "gqa",
    "cola/single-clevr": "clevr/cogent",
    "cola/single-paco": "paco",
}
PUBLISHED = tuple(name for name in SCENE_GRAPHS if name.startswith("cola/"))
BENCHMARKS = (BUILTIN, *SCENE_GRAPHS)


class _Protocol(NamedTuple):
    """Which queries test graphs give, and what training loses for them ([Cola] 9)."""

    most: int  # queries
    attributes: tuple[int, int] = (2, 3)  # fewest and most of a query
    held_out: int = 0  # queries: those that training holds least, which leave it with all their images
    of_each: int = (
        0  # the most frequent queries that training has, and as many that it never had: nothing leaves it
    )
    apart: tuple[str, ...] = ()  # nouns that neither "seen" nor "unseen" counts


_PROTOCOLS = {
    "gqa": _Protocol(320, held_out=150),
    "visual-genome": _Protocol(320, held_out=150),
    "clevr/cogent": _Protocol(96, attributes=(3, 3), apart=("sphere",)),
    "paco": _Protocol(400, of_each=200),
    # Every query there is: three nouns with 12 single attributes, 36 pairs and 32 triples.
    "clevr-attributes": _Protocol(240, attributes=(1, 3), apart=("sphere",)),
}
# The splits of scene graphs that a strategy is trained and tested on.
_SPLITS = {
    "gqa": ("train", "validation"),
    "visual-genome": ("all",),
    "clevr/cogent": ("train", "test", "validation"),
    "paco": ("train", "test"),
}
# Images of condition A that CLEVR's test has besides the 15,000 of B: the paper counts 22,500, and its seen classes
# occur in none of B's. Which ones it does not say; here they are the first.
_COGENT_SEEN = 7500
IMAGES = 500  # of the built-in test set, unless told otherwise
_CURVE_IMAGES, _CURVE_STEP = 100, 6  # validation after every epoch: so many images, every so many queries
_PAIRS = 300  # multi-object and CREPE-style groups


class AdaptationTask(NamedTuple):
    """Material to train on, a small validation set for the curve, and what is measured at the end."""

    name: str
    material: TrainingQueries
    validation: Retrieval | None
    test: Retrieval
    multi_object: GroupSet | None
    crepe: GroupSet | None
    # Which nothing here trains: what a strategy costs elsewhere ([Cola] 7).
    relations: GroupSet | None = None
    cifar10: GroupSet | None = None

    @classmethod
    def load(
        cls, name: str, settings: AdaptConfig, images: int | None = None, folder: Path | str | None = None
    ) -> AdaptationTask:
        """The task of a benchmark; arguments as the fields of `core.cola.run.StrategyRun`."""
        if name == BUILTIN:
            return _builtin(settings, images)
        if name in SCENE_GRAPHS:
            with _collection_paused():
                return _from_graphs(name, settings, images, None if folder is None else Path(folder))
        raise unknown_name("benchmark to adapt to", name, BENCHMARKS)

    @staticmethod
    def sources(name: str) -> dict[str, tuple[str, ...]]:
        """What the task of a benchmark reads from outside: Cola's published queries where it has them, and scene
        graphs, with the splits of each."""
        if name == BUILTIN:
            return {}
        queries = {name: ("test",)} if name in PUBLISHED else {}
        return {**queries, SCENE_GRAPHS[name]: _SPLITS[SCENE_GRAPHS[name]]}

    @classmethod
    def check_files(cls, name: str, folder: Path | str | None = None) -> None:
        """Raise InputError where a file that `load` would read is not there; none is opened. Arguments as there."""
        for source, splits in reversed(cls.sources(name).items()):  # as `load` reads them
            entry = datasets.benchmark_entry(source)
            assert entry is not None
            own = source == name or name not in PUBLISHED  # a folder of published queries holds no graphs
            entry.check_files(Path(folder) if own and folder is not None else None, splits)

    @classmethod
    def _data_facts(cls, name: str, folder: Path | str | None = None) -> list[tuple[str, int, int]]:
        """Path, size and time of each file or folder that `load` reads: what shows that the data changed."""
        facts: list[tuple[str, int, int]] = []
        for source, splits in cls.sources(name).items():
            entry = datasets.benchmark_entry(source)
            assert entry is not None
            own = source == name or name not in PUBLISHED
            root = Path(folder) if own and folder is not None else entry.folder()
            facts += entry.file_facts(root, splits) if root else []
        return facts

    def draw_ahead(self, measured: bool, progress: Callable[[str, float], None] | None = None) -> None:
        """Draw the built-in pictures to train on, or find them on disk, for all runs of a mix and seed.

        measured : those that strategies are measured on at the end, too. progress : gets what is drawn, and the share
        of it that is done.
        """
        groups = [s for s in (self.multi_object, self.crepe, self.relations) if s is not None and measured]
        at_the_end = [
            *(self.test.images if measured else ()),
            *(i for s in groups for g in s for i in g.images),
        ]
        for images in (self.material.images, dict.fromkeys(at_the_end)):
            scenes = [image.scene for image in images if isinstance(image, SceneImage)]
            if scenes:
                draw_ahead(scenes, progress)


@cache
def _builtin_queries(split: str) -> Retrieval:
    """The shipped set of a split, read once a process."""
    return load_retrieval(split)


def _builtin(settings: AdaptConfig, images: int | None) -> AdaptationTask:
    test = _builtin_queries("test")
    validation = first_images(_builtin_queries("validation"), _CURVE_IMAGES, _CURVE_STEP)
    scenes: list[Any] = [getattr(image, "scene") for image in test.images[:_PAIRS]]  # noqa: B009 - of SceneImage
    graphs = scene_graphs("scenes", "test", scenes)
    return AdaptationTask(
        BUILTIN,
        builtin_training_queries(settings.mix, settings.seed),
        validation,
        first_images(test, IMAGES if images is None else images),
        load("scenes/attribute-swap", "test").select(range(_PAIRS)),
        crepe_set(graphs, _PAIRS, relations=False),
        _relations(),
    )


def _relations() -> GroupSet:
    """Groups that swap two objects' places, of both kinds."""
    parts = [
        load(name, "test").select(range(_PAIRS)) for name in ("scenes/left-right", "scenes/front-behind")
    ]
    return replace(parts[0], name="scenes/relations", groups=tuple(g for part in parts for g in part.groups))


def _from_graphs(name: str, settings: AdaptConfig, images: int | None, folder: Path | None) -> AdaptationTask:
    """Train and test scene graphs; for a published Cola file its queries in place of made ones."""
    source, published = SCENE_GRAPHS[name], name in PUBLISHED
    home = None if published else folder
    training, test = _graphs(source, home)
    make = _published_queries if published else _generated_queries
    training, queries = make(name, training, test, folder)
    related = any(graph.relations for graph in test.graphs)
    material = graph_training_queries(
        training, settings.mix, settings.seed, regions=_regions(source, training, home)
    )
    pairs = _read_if_here("cola/multi-object", folder) if published and source == "gqa" else None
    if pairs is None:
        pairs = _multi_object_pairs(test, related)
    return AdaptationTask(
        name,
        material,
        None,
        queries if images is None else first_images(queries, images),
        pairs,
        _crepe_pairs(),
        cifar10=_read_if_here("cifar-10"),
    )


def _graphs(source: str, folder: Path | None) -> tuple[GraphSet, GraphSet]:
    """Scene graphs to train on and to test on; of photographs only those are tested that show an object with two
    attributes or more ([Cola] 9).
    """
    if source == "visual-genome":
        graphs = datasets.load_graphs(source, None, folder)
        split_at = len(graphs) * 9 // 10  # it has no splits: the last tenth is the test
        return _part(graphs, 0, split_at, "train"), _described(_part(graphs, split_at, None, "test"))
    training = datasets.load_graphs(source, "train", folder)
    test = datasets.load_graphs(source, "validation" if source == "gqa" else "test", folder)
    if source == "gqa":
        return training, _described(test)
    if source == "clevr/cogent":
        of_a = datasets.load_graphs(source, "validation", folder).graphs
        test = replace(test, graphs=(*test.graphs, *of_a[:_COGENT_SEEN]))
    return training, test


def _generated_queries(
    name: str, training: GraphSet, test: GraphSet, folder: Path | None
) -> tuple[GraphSet, RetrievalSet]:
    """Training graphs without what is held out, and the queries made from the test graphs."""
    protocol = _PROTOCOLS.get(name) or _PROTOCOLS[SCENE_GRAPHS[name]]
    queries = single_queries(test.graphs, protocol.attributes, None if protocol.of_each else protocol.most)
    if protocol.of_each:
        unseen = unseen_mask(queries, index_of(training))
        chosen = [np.flatnonzero(unseen == kind)[: protocol.of_each] for kind in (False, True)]
        queries = [queries[i] for i in np.sort(np.concatenate(chosen))]
    training = _without_held_out(protocol, training, queries)
    return training, replace(
        retrieval_set(name, test.split, test, queries, index_of(training)),
        compared=_compared(protocol, queries),
    )


def _published_queries(
    name: str, training: GraphSet, test: GraphSet, folder: Path | None
) -> tuple[GraphSet, RetrievalSet]:
    """Training graphs without what is held out, and Cola's file; it does not say which queries are unseen.

    A query with a word that training never names counts as one of no image.
    """
    protocol = _PROTOCOLS.get(name) or _PROTOCOLS[SCENE_GRAPHS[name]]
    retrieval = datasets.load_retrieval(name, "test", folder)
    index = index_of(training)
    read = [parse_combination(text.lower(), index.nouns, index.attributes) for text in retrieval.queries]
    queries = [
        Query(text, (phrase or AttributedNoun(text.lower()),))
        for text, phrase in zip(retrieval.queries, read, strict=True)
    ]
    training = _without_held_out(protocol, training, queries)
    unseen = unseen_mask(queries, index_of(training))
    assert isinstance(retrieval, RetrievalSet)
    return training, replace(retrieval, unseen=unseen, compared=_compared(protocol, queries))


def _without_held_out(protocol: _Protocol, training: GraphSet, queries: Sequence[Query]) -> GraphSet:
    """What training keeps: nothing of the queries that it holds least, nor any of their images."""
    _, graphs = hold_out_queries(queries, training.graphs, min(protocol.held_out, len(queries) // 2))
    if not graphs:
        raise InputError(f"Nothing of {training.name} is left to train on; give more scene graphs.")
    return replace(training, graphs=tuple(graphs))


def _compared(protocol: _Protocol, queries: Sequence[Query]) -> np.ndarray | None:
    """bool (q,): the queries that "seen" and "unseen" count; None: all of them."""
    if not protocol.apart:
        return None
    return np.array([query.phrases[0].noun not in protocol.apart for query in queries])


def _read_if_here(name: str, folder: Path | None = None) -> GroupSet | None:
    """A published set of groups; None where its files are not here."""
    if folder is None and datasets.state(name).startswith("needs"):
        return None
    try:
        return datasets.load(name, "test", folder)
    except InputError:
        if folder is None:
            raise
        return None  # the folder named holds the queries alone


def _crepe_pairs() -> GroupSet | None:
    """CREPE as the paper has it, two captions for an image; None where its files are not here.

    The paper says neither which of CREPE's sets nor which of its negatives: here the captions of `crepe/swap`, which
    exchange words as Cola does, each against its first negative.
    """
    groups = _read_if_here("crepe/swap")
    if groups is None:
        return None
    return replace(
        groups, groups=tuple(replace(group, captions=group.captions[:2]) for group in groups.groups)
    )


def _part(graphs: GraphSet, start: int, stop: int | None, split: str) -> GraphSet:
    return replace(graphs, split=split, graphs=graphs.graphs[start:stop])


def _described(graphs: GraphSet) -> GraphSet:
    """Those with an object of at least two attributes."""
    found = tuple(g for g in graphs.graphs if any(len(o.attributes) > 1 for o in g.objects))
    if not found:
        raise InputError(
            f"None of the {len(graphs)} scene graphs of {graphs.name} ({graphs.split}) shows an object with two "
            "attributes or more, which test queries are made of; check the file."
        )
    return replace(graphs, graphs=found)


def _multi_object_pairs(graphs: GraphSet, relations: bool) -> GroupSet | None:
    """Pairs of images that swap attributes, or None where the graphs hold none."""
    try:
        return multi_object_set(graphs, _PAIRS, relations=relations)
    except InputError:
        return None


def _regions(source: str, graphs: GraphSet, folder: Path | None) -> list[tuple[int, str]]:
    """Region captions that lie beside Visual Genome's (or GQA's) graphs, by place in `graphs`."""
    facts = datasets.benchmark_entry(source)
    data = folder or (facts.folder() if facts else None)
    return [] if data is None else read_regions(data, graphs)
