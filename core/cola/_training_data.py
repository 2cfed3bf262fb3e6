"""What a strategy trains on: images, queries of every kind, and which belong together ([Cola] 5.3, 9).

Labels are those of training scene graphs, and combinations of the unseen queries are in none of those: of GQA's the
150 that training holds least leave it with their images, CLEVR's condition A and PACO's training split lack theirs by
nature (core/cola/tasks.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np
import scipy

from core.base.errors import InputError
from core.cola._queries import (
    Query,
    combination_of,
    compound_queries,
    graph_of,
    index_of,
    multi_object_items,
    relevance_links,
    single_queries,
)
from core.datasets.sets import GraphSet
from core.groups import ImageRef
from core.scenes.captions import CaptionTemplate, Statement, statement_about
from core.scenes.render import SceneImage
from core.scenes.retrieval import build_retrieval
from core.scenes.training_data import training_minimal_pairs
from core.scorers.cola_config import AdaptConfig

# Which kinds of query a mix draws from, each as often as the others; a draw of "swap" brings two queries, a query and
# its swapped one, so that of "hard" a third is single and two thirds are swapped ones ([Cola] Table 2b).
_KINDS: dict[str, tuple[str, ...]] = {
    "region": ("region",),
    "single": ("single",),
    "multi": ("single", "multi"),
    "hard": ("single", "swap"),
    "combined": ("region", "single", "multi", "swap"),
}
# Of the built-in world: images, twins, wordings of each single query, and queries of the other kinds.
IMAGES, TWINS, WORDINGS, TEXTS = 1500, 3000, 3, 1500
_FEW_IMAGES = 2000  # that are encoded whether a batch draws them or not: several trainings share them
COMPOUNDS = 551_980  # multi-object queries of the paper's training ([Cola] 5.3); a swap item has two


@dataclass(frozen=True, eq=False)
class TrainingQueries:
    """Training queries and images.

    links : sparse bool (queries, images), which belong together. kinds : of each query: region, single, multi, swap.
    partner : int (queries,), the swapped query of a `swap` one, else -1; the two come in a batch together, unless there
        is no room for the second.
    pictures : int (queries,), the image that a `swap` query brings into a batch, which its partner is not true of, and
        no other image that it is true of; else -1.
    """

    name: str
    images: tuple[ImageRef, ...]
    captions: tuple[str, ...]
    links: scipy.sparse.csr_array
    kinds: np.ndarray
    partner: np.ndarray
    pictures: np.ndarray

    def batches(self, config: AdaptConfig, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """`config.steps` batches: image indices (b,), query indices (b,), labels float32 (b, b).

        Row i of a batch is a query of a random kind with a random image that it is true of, or with its own picture;
        labels are those of every pair. Depends on seed and epoch alone. `config.steps` 0: one pass (`_one_pass`).
        """
        if not config.steps:
            yield from self._one_pass(config, epoch)
            return
        for images, queries in self._steps(config, epoch):
            labels = self.links[queries][:, images].toarray().T
            yield images, queries, labels.astype(np.float32)

    def _steps(self, config: AdaptConfig, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The images (b,) and queries (b,) of each of `config.steps` batches."""
        rng = np.random.default_rng([config.seed, epoch, 7])
        pools = [np.flatnonzero(self.kinds == kind) for kind in _KINDS[config.mix]]
        pools = [pool for pool in pools if len(pool)]
        for _ in range(config.steps):
            queries = self._draw(rng, pools, config.batch)
            yield np.array([self._image_of(rng, query) for query in queries]), queries

    def drawn(self, config: AdaptConfig) -> TrainingQueries:
        """Its images and queries that some batch of these settings draws, with the same batches; the whole material
        where that is most of it, or a pass over it."""
        most = len(self.images) + len(self.captions)
        if not config.steps or len(self.images) <= _FEW_IMAGES:
            return self
        settings = (config.mix, config.seed, config.steps, config.batch, config.epochs)
        known: dict[Any, TrainingQueries] = vars(self).setdefault("_drawn", {})
        if settings not in known:
            steps = [step for epoch in range(config.epochs + 1) for step in self._steps(config, epoch)]
            rows, queries = (np.unique(np.concatenate(side)) for side in zip(*steps, strict=True))
            few = 2 * (len(rows) + len(queries)) <= most
            known[settings] = _DrawnQueries.of(self, rows, queries) if few else self
        return known[settings]

    def steps(self, config: AdaptConfig) -> int:
        """Batches of an epoch."""
        return config.steps or ceil(len(self._pairs()[0]) / config.batch)

    def _pairs(self) -> tuple[np.ndarray, int]:
        """All pairs of a query and an image, int (p, 2), and how many of them come first, which are no `swap` ones.

        A `swap` query has its own picture alone; behind it stands its partner with the partner's.
        """
        kinds, queries = self.kinds, np.repeat(np.arange(len(self.captions)), np.diff(self.links.indptr))
        links = np.stack([queries, self.links.indices], axis=1)[kinds[queries] != "swap"]
        first = np.flatnonzero(self.partner > np.arange(len(self.partner)))
        both = np.stack([first, self.partner[first]], axis=1).ravel()
        return np.concatenate([links, np.stack([both, self.pictures[both]], axis=1)]), len(links)

    def _one_pass(
        self, config: AdaptConfig, epoch: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Batches of all pairs in random order, each once; the last batch may be smaller.

        The two queries of a swap follow each other: in one batch, unless it ends between them.
        """
        rng = np.random.default_rng([config.seed, epoch, 8])
        pairs, single = self._pairs()
        units = rng.permutation(single + (len(pairs) - single) // 2)  # a pair, or the two pairs of a swap
        sizes = np.where(units < single, 1, 2)
        starts = np.where(units < single, units, 2 * units - single)
        within = np.arange(len(pairs)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        order = np.repeat(starts, sizes) + within
        for start in range(0, len(order), config.batch):
            queries, images = pairs[order[start : start + config.batch]].T
            labels = self.links[queries][:, images].toarray().T
            yield images, queries, labels.astype(np.float32)

    def _draw(self, rng: np.random.Generator, pools: Sequence[np.ndarray], count: int) -> np.ndarray:
        """Queries of a batch, (count,)."""
        chosen: list[int] = []
        while len(chosen) < count:
            pool = pools[int(rng.integers(len(pools)))]
            query = int(pool[int(rng.integers(len(pool)))])
            chosen.append(query)
            if self.partner[query] >= 0:
                chosen.append(int(self.partner[query]))
        return np.array(chosen[:count])

    def _image_of(self, rng: np.random.Generator, query: int) -> int:
        if self.pictures[query] >= 0:
            return int(self.pictures[query])
        start, stop = self.links.indptr[query : query + 2]
        return int(self.links.indices[start + int(rng.integers(stop - start))])


@dataclass(frozen=True, eq=False)
class _DrawnQueries(TrainingQueries):
    """Part of a material, which alone has to be encoded; its batches are the whole material's.

    rows, queries : sorted int, the places in the whole of its images and of its queries.
    """

    whole: TrainingQueries
    rows: np.ndarray
    queries: np.ndarray

    @classmethod
    def of(cls, whole: TrainingQueries, rows: np.ndarray, queries: np.ndarray) -> _DrawnQueries:
        images, captions = (tuple(items[i] for i in at.tolist()) for items, at in (
            (whole.images, rows), (whole.captions, queries),
        ))  # fmt: skip
        nowhere = np.full(len(queries), -1)  # the whole draws partners and pictures
        links = whole.links[queries][:, rows]
        return cls(
            whole.name, images, captions, links, whole.kinds[queries], nowhere, nowhere, whole, rows, queries
        )

    def batches(self, config: AdaptConfig, epoch: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """The whole material's, by place here; of settings that it was made for."""
        for images, queries, labels in self.whole.batches(config, epoch):
            yield np.searchsorted(self.rows, images), np.searchsorted(self.queries, queries), labels


class _QueryCollector:
    """Queries as they are collected."""

    def __init__(self) -> None:
        self.queries: list[Query] = []
        self.kinds: list[str] = []
        self.partner: list[int] = []
        # The one image of a query whose other images nobody knows; -1: the graphs say.
        self.images: list[int] = []
        self.pictures: list[int] = []

    def add(self, query: Query, kind: str, image: int = -1, picture: int = -1) -> int:
        self.queries.append(query)
        self.kinds.append(kind)
        self.partner.append(-1)
        self.images.append(image)
        self.pictures.append(picture)
        return len(self.queries) - 1

    def swap(self, image: int, first: Query, other: int, second: Query) -> None:
        """Two queries with the picture that each is true of, and the other is not."""
        i, j = self.add(first, "swap", picture=image), self.add(second, "swap", picture=other)
        self.partner[i], self.partner[j] = j, i

    def material(self, name: str, graphs: GraphSet) -> TrainingQueries:
        """The queries that are true of some image."""
        index, image = index_of(graphs), np.array(self.images)
        open_queries = [i for i in range(len(image)) if image[i] < 0]
        links = relevance_links([self.queries[i] for i in open_queries], index)
        rows = np.concatenate(
            [np.array(open_queries, dtype=np.int64)[links[:, 0]], np.flatnonzero(image >= 0)]
        )
        columns = np.concatenate([links[:, 1], image[image >= 0]])
        shape = (len(image), len(graphs))
        table = scipy.sparse.csr_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=shape)
        table.sort_indices()
        if not len(rows) or (np.diff(table.indptr) == 0).any():
            raise InputError(f"{name} has training queries that no image answers; give more scene graphs.")
        captions = tuple(query.text for query in self.queries)
        images = tuple(graph.image for graph in graphs.graphs)
        facts = (np.array(self.kinds), np.array(self.partner), np.array(self.pictures))
        return TrainingQueries(name, images, captions, table, *facts)


@lru_cache(maxsize=4)
def builtin_training_queries(mix: str, seed: int = 0) -> TrainingQueries:
    """Training scenes of the built-in world with queries of every kind the mix asks for; a pure function of both.

    No scene and no query holds a colour and shape, or two colours, that are held out.
    """
    kinds, rng, texts = _KINDS[mix], np.random.default_rng([seed, 11]), _QueryCollector()
    retrieval = build_retrieval("train", IMAGES, seed)
    graphs = [graph_of(image) for image in retrieval.images]
    if "single" in kinds:
        answered = retrieval.relevant.any(axis=1) & ~retrieval.unseen
        for phrase in (p for p, keep in zip(retrieval.phrases, answered, strict=True) if keep):
            for _ in range(WORDINGS):
                text = Statement((phrase,)).caption(CaptionTemplate.draw(rng, plain=1.0))
                texts.add(Query(text, (combination_of(phrase),)), "single")
    for kind, shares in (("multi", {"pair": 1.0}), ("region", {"pair": 0.4, "relation": 0.4, "single": 0.2})):
        for i in rng.permutation(len(graphs))[:TEXTS].tolist() if kind in kinds else ():
            statement = statement_about(retrieval.images[i].scene, rng, shares, detail=0.2, omit=0.0)
            phrases = tuple(map(combination_of, statement.phrases))
            query = Query(statement.caption(CaptionTemplate.draw(rng)), phrases, statement.relation)
            if statement.count is None:
                texts.add(query, kind, i if kind == "region" else -1)
    if "swap" in kinds:
        for twin in training_minimal_pairs(TWINS, ("attribute",), seed):
            wording, both = CaptionTemplate.draw(rng), twin.statements(order=int(rng.integers(4)))
            graphs += [graph_of(SceneImage(scene)) for scene in (twin.first, twin.second)]
            pair = [Query(c.caption(wording), tuple(map(combination_of, c.phrases))) for c in both]
            texts.swap(len(graphs) - 2, pair[0], len(graphs) - 1, pair[1])
    return texts.material(f"built-in training scenes, {mix}", GraphSet("scenes", "train", tuple(graphs)))


def graph_training_queries(
    graphs: GraphSet,
    mix: str,
    seed: int = 0,
    most: int = 50_000,
    regions: Sequence[tuple[int, str]] = (),
) -> TrainingQueries:
    """Training material from scene graphs of any source; arguments as its functions.

    most : single-object queries and region captions.
    regions : (image index, caption) of region descriptions, which Visual Genome has: of these a
    training pair is an image and one of its own captions. Raises InputError where a mix asks for what is not there.
    """
    kinds, texts, rng = _KINDS[mix], _QueryCollector(), np.random.default_rng([seed, 11])
    related = any(graph.relations for graph in graphs.graphs)
    if "region" in kinds:
        if not regions:
            raise InputError(
                f"{graphs.name} has no region captions here; choose the mix single, multi or hard, or put "
                "Visual Genome's region_descriptions.json beside its scene graphs."
            )
        for i in rng.permutation(len(regions))[:most].tolist():
            texts.add(Query(regions[i][1], ()), "region", regions[i][0])
    if "single" in kinds:
        for query in single_queries(graphs.graphs, (1, 3), most):
            texts.add(query, "single")
    if "multi" in kinds:
        unique = dict.fromkeys(q for graph in graphs.graphs for q in compound_queries(graph, related))
        queries = list(unique)
        for i in rng.permutation(len(queries))[:COMPOUNDS].tolist():
            texts.add(queries[i], "multi")
    if "swap" in kinds:
        for item in multi_object_items(graphs, COMPOUNDS // 2, seed, related):
            texts.swap(*item)
    return texts.material(f"{graphs.name} {graphs.split}, {mix}", graphs)
