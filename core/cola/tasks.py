"""What a strategy is trained and measured on, by the name of a benchmark ([Cola] 3, 5, 9)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from core import datasets
from core.base.errors import InputError, unknown_name
from core.cola._queries import (
    Query,
    SceneGraphIndex,
    crepe_set,
    hold_out_queries,
    multi_object_set,
    parse_combination,
    retrieval_set,
    scene_graphs,
    single_queries,
    unseen_mask,
)
from core.cola._training_data import TrainingQueries, builtin_training_queries, graph_training_queries
from core.datasets.graphs import read_regions
from core.datasets.sets import GraphSet, Retrieval, RetrievalSet
from core.groups import GroupSet
from core.scenes.retrieval import load_retrieval
from core.scenes.sets import load
from core.scorers.cola_config import AdaptConfig
from core.scoring.retrieval import first_images

BUILTIN = "scenes/retrieval"
GRAPH_BENCHMARKS = ("gqa", "visual-genome", "clevr", "paco")
# Published Cola files and the scene graphs whose training split goes with them.
PUBLISHED = {"cola/single-gqa": "gqa", "cola/single-clevr": "clevr", "cola/single-paco": "paco"}
BENCHMARKS = (BUILTIN, *GRAPH_BENCHMARKS, *PUBLISHED)
# Queries made from graphs: the most, how many of them are held out of training, and attributes of each ([Cola] 9).
QUERIES = {"gqa": (320, 150), "visual-genome": (320, 150), "clevr": (96, 0), "paco": (400, 200)}
ATTRIBUTES = {"clevr": (3, 3)}
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

    @classmethod
    def load(
        cls, name: str, settings: AdaptConfig, images: int | None = None, folder: Path | str | None = None
    ) -> AdaptationTask:
        """The task of a benchmark; arguments as the fields of `core.cola.run.StrategyRun`."""
        if name == BUILTIN:
            return _builtin(settings, images)
        if name in GRAPH_BENCHMARKS or name in PUBLISHED:
            return _from_graphs(name, settings, images, None if folder is None else Path(folder))
        raise unknown_name("benchmark to adapt to", name, BENCHMARKS)


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
    )


def _from_graphs(name: str, settings: AdaptConfig, images: int | None, folder: Path | None) -> AdaptationTask:
    """Train and test scene graphs; for a published Cola file its queries in place of made ones."""
    source = PUBLISHED.get(name, name)
    home = folder if name == source else None
    if source == "visual-genome":
        graphs = datasets.load_graphs(source, None, home)
        split_at = len(graphs) * 9 // 10  # Visual Genome has no splits: the last tenth is the test
        training, test = _part(graphs, 0, split_at, "train"), _part(graphs, split_at, None, "test")
    else:
        training = datasets.load_graphs(source, "train", home)
        test = datasets.load_graphs(source, "test" if source == "paco" else "validation", home)
    if name == source:
        trained_on, queries = _generated_queries(source, training, test)
    else:
        trained_on, queries = _published(name, training, folder)
    related = any(graph.relations for graph in test.graphs)
    material = graph_training_queries(
        trained_on, settings.mix, settings.seed, regions=_regions(source, trained_on, home)
    )
    groups = [make(test, _PAIRS, relations=related) for make in (_multi, _crepe)]
    if name in PUBLISHED and source == "gqa":
        groups[0] = _published_pairs(folder) or groups[0]
    return AdaptationTask(
        name, material, None, queries if images is None else first_images(queries, images), *groups
    )


def _generated_queries(source: str, training: GraphSet, test: GraphSet) -> tuple[GraphSet, Retrieval]:
    """Training graphs without what is held out, and the queries made from the test graphs."""
    most, held_out = QUERIES[source]
    queries = single_queries(test.graphs, ATTRIBUTES.get(source, (2, 3)), most)
    _, graphs = hold_out_queries(queries, training.graphs, min(held_out, len(queries) // 2))
    if not graphs:
        raise InputError(f"Nothing of {source} is left to train on; give more scene graphs.")
    trained_on = GraphSet(
        training.name, training.split, tuple(graphs), source=training.source, licence=training.licence
    )
    return trained_on, retrieval_set(source, test.split, test, queries, SceneGraphIndex(trained_on.graphs))


def _published(name: str, training: GraphSet, folder: Path | None) -> tuple[GraphSet, RetrievalSet]:
    """Cola's file as it is; a query is unseen where training has no object with its noun and attributes."""
    retrieval = datasets.load_retrieval(name, "test", folder)
    index = SceneGraphIndex(training.graphs)
    known = [parse_combination(text.lower(), index.nouns, index.attributes) for text in retrieval.queries]
    queries = [None if c is None else Query(c.text, (c,)) for c in known]
    mask = np.array([q is None or bool(unseen_mask([q], index)[0]) for q in queries])
    assert isinstance(retrieval, RetrievalSet)
    return training, replace(retrieval, unseen=mask)


def _published_pairs(folder: Path | None) -> GroupSet | None:
    """Cola's own 210 multi-object pairs, which are of GQA's images; None where their file is not here."""
    if folder is None and datasets.state("cola/multi-object").startswith("needs"):
        return None
    try:
        return datasets.load("cola/multi-object", "test", folder)
    except InputError:
        if folder is None:
            raise
        return None  # the folder named holds the queries alone


def _part(graphs: GraphSet, start: int, stop: int | None, split: str) -> GraphSet:
    return GraphSet(
        graphs.name, split, graphs.graphs[start:stop], source=graphs.source, licence=graphs.licence
    )


def _multi(graphs: GraphSet, most: int, relations: bool) -> GroupSet | None:
    return _groups_or_none(multi_object_set, graphs, most, relations)


def _crepe(graphs: GraphSet, most: int, relations: bool) -> GroupSet | None:
    return _groups_or_none(crepe_set, graphs, most, relations)


def _groups_or_none(make: Any, graphs: GraphSet, most: int, relations: bool) -> GroupSet | None:
    """A set of groups, or None where the graphs hold no such swaps."""
    try:
        return make(graphs, most, relations=relations)
    except InputError:
        return None


def _regions(source: str, graphs: GraphSet, folder: Path | None) -> list[tuple[int, str]]:
    """Region captions that lie beside Visual Genome's (or GQA's) graphs, by place in `graphs`."""
    facts = datasets.benchmark_entry(source)
    data = folder or (facts.folder() if facts else None)
    return [] if data is None else read_regions(data, graphs)
