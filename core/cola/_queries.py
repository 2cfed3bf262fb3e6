"""Cola's queries, lists and swaps from scene graphs, whatever their source ([Cola] 3, 5, 9).

A combination is a noun with attributes; a query asks for one object that is all of it, or for several such objects.
What is right follows from the graphs alone. Everything is found through postings (word -> objects), so that
real data sets of 70 thousand images stay quick.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, product

import numpy as np

from core.base.errors import InputError
from core.datasets.sets import GraphSet, Relation, RetrievalSet, SceneGraph, SceneObject
from core.groups import Group, GroupSet
from core.scenes.captions import Phrase
from core.scenes.render import SceneImage
from core.scenes.world import Scene


@dataclass(frozen=True)
class AttributedNoun:
    """What one object must be: a noun (None: any object) and attributes, in the order they are said."""

    noun: str | None
    attributes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """`square white plate`"""
        return " ".join([*self.attributes, self.noun or "object"])

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.attributes, *([self.noun] if self.noun else []))

    def holds(self, item: SceneObject) -> bool:
        """Whether an object is all of it."""
        return (self.noun is None or self.noun in item.names) and set(self.attributes) <= set(item.attributes)


@dataclass(frozen=True)
class Query:
    """A text and what it asks for: distinct objects, one for each phrase, the first `relation` the second if told."""

    text: str
    phrases: tuple[AttributedNoun, ...]
    relation: str | None = None


class SceneGraphIndex:
    """Scene graphs by word: which objects are a plate, which are square."""

    def __init__(self, graphs: Sequence[SceneGraph]) -> None:
        self.graphs = graphs
        self.owner = np.array([n for n, graph in enumerate(graphs) for _ in graph.objects], dtype=np.int64)
        self.objects = [item for graph in graphs for item in graph.objects]
        nouns: dict[str, list[int]] = defaultdict(list)
        attributes: dict[str, list[int]] = defaultdict(list)
        for i, item in enumerate(self.objects):
            for noun in dict.fromkeys(item.names):
                nouns[noun].append(i)
            for attribute in dict.fromkeys(item.attributes):
                attributes[attribute].append(i)
        self._having = lru_cache(4096)(self.having)  # many queries hold the same words
        self.nouns = {word: np.array(places) for word, places in nouns.items()}
        self.attributes = {word: np.array(places) for word, places in attributes.items()}

    def having(self, combination: AttributedNoun) -> np.ndarray:
        """The objects that are all of it, sorted int (o,)."""
        lists = [self.attributes.get(word, _NONE) for word in combination.attributes]
        if combination.noun is not None:
            lists.append(self.nouns.get(combination.noun, _NONE))
        if not lists:
            return np.arange(len(self.objects))
        objects = min(lists, key=len)
        for other in lists:
            if other is not objects and len(objects):
                places = np.minimum(np.searchsorted(other, objects), len(other) - 1) if len(other) else None
                objects = _NONE if places is None else objects[other[places] == objects]
        return objects

    def images(self, objects: np.ndarray) -> np.ndarray:
        """The images of some objects, sorted int (i,)."""
        owners = self.owner[objects]  # ascending, as the objects are
        return owners[np.append(True, owners[1:] != owners[:-1])] if len(objects) else _NONE

    @cached_property
    def _related(self) -> dict[int, dict[str, set[int]]]:
        """Object -> relation -> objects, by place."""
        related: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        start = 0
        for graph in self.graphs:
            index = {item.id: start + i for i, item in enumerate(graph.objects)}
            for r in graph.relations:
                related[index[r.subject]][r.predicate].add(index[r.object])
            start += len(graph.objects)
        return related

    def right(self, query: Query) -> np.ndarray:
        """The images that a query is true of, sorted int (i,)."""
        having = [self._having(phrase) for phrase in query.phrases]
        if len(having) == 1:
            return self.images(having[0])
        if query.relation is not None:
            second = query.phrases[1]
            hits = [
                o
                for o in having[0].tolist()
                if any(second.holds(self.objects[other]) for other in self._related[o][query.relation])
            ]
            return self.images(np.array(hits, dtype=np.int64))
        candidates = self.images(having[0])
        for objects in having[1:]:
            candidates = np.intersect1d(candidates, self.images(objects), assume_unique=True)
        if len(having) == 2:
            return np.setdiff1d(candidates, self._one_for_both(*having), assume_unique=True)
        return np.array([n for n in candidates if self._distinct(having, n)], dtype=np.int64)

    def _one_for_both(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The images in which one and the same object is all that two phrases have, sorted int (i,)."""
        images = self.images(np.intersect1d(first, second, assume_unique=True))
        for objects in (first, second):
            found, counts = np.unique(self.owner[objects], return_counts=True)
            images = np.intersect1d(images, found[counts == 1], assume_unique=True)
        return images

    def _distinct(self, having: Sequence[np.ndarray], image: int) -> bool:
        """Whether every phrase gets an object of its own in this image."""
        low, high = np.searchsorted(self.owner, [image, image + 1])
        lists = [set(o[np.searchsorted(o, low) : np.searchsorted(o, high)].tolist()) for o in having]
        return any(len(set(chosen)) == len(chosen) for chosen in _choices(lists))

    def with_word(self, word: str, noun: bool) -> np.ndarray:
        """The images in which something is this noun, or has this attribute."""
        return self.images((self.nouns if noun else self.attributes).get(word, _NONE))


def index_of(graphs: GraphSet) -> SceneGraphIndex:
    """The index of a set's graphs, made once: that of GQA takes seconds."""
    known: dict[str, SceneGraphIndex] = vars(graphs)
    if "_index" not in known:
        known["_index"] = SceneGraphIndex(graphs.graphs)
    return known["_index"]


_NONE = np.empty(0, dtype=np.int64)


def _choices(lists: Sequence[set[int]]) -> Iterator[tuple[int, ...]]:
    if not lists:
        yield ()
        return
    for first in lists[0]:
        for rest in _choices(lists[1:]):
            yield (first, *rest)


# ---- graphs of the built-in world


def graph_of(image: SceneImage) -> SceneGraph:
    """A built-in scene as a scene graph: the shape is the noun; colour, size and material are the attributes.

    Relations that the eye could argue about are not listed.
    """
    objects = tuple(
        SceneObject(str(i), (o.shape,), (o.colour, o.size, o.material), (0, 0, 0, 0))
        for i, o in enumerate(image.scene.objects)
    )
    relations = tuple(Relation(str(i), name, str(j)) for i, name, j in image.scene.clear_relations())
    return SceneGraph(image.key, image, objects, relations)


def scene_graphs(name: str, split: str, scenes: Sequence[Scene]) -> GraphSet:
    """Built-in scenes as a set of scene graphs."""
    return GraphSet(name, split, tuple(graph_of(SceneImage(scene)) for scene in scenes))


def combination_of(phrase: Phrase) -> AttributedNoun:
    """A phrase of the built-in captions as a combination."""
    attributes = (phrase.colour, phrase.size, phrase.material)
    return AttributedNoun(phrase.shape, tuple(word for word in attributes if word))


# ---- single-object queries


def single_queries(
    graphs: Sequence[SceneGraph],
    attributes: tuple[int, int] = (2, 3),
    most: int | None = None,
    least_images: int = 1,
) -> list[Query]:
    """Queries for one object with several attributes, those with most images first ([Cola] 3, 9).

    attributes : fewest and most attributes of a query. most : so many queries at most. least_images : leave out
    combinations with fewer images. Attributes are said in the order in which they were first annotated.
    """
    low, high = attributes
    images: dict[tuple[str, frozenset[str]], set[int]] = defaultdict(set)
    in_order: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}
    for n, graph in enumerate(graphs):
        for item in graph.objects:
            known = tuple(dict.fromkeys(item.attributes))
            for size in range(low, min(high, len(known)) + 1):
                for chosen in combinations(known, size):
                    key = (item.names[0], frozenset(chosen))
                    images[key].add(n)
                    in_order.setdefault(key, chosen)
    keys = [key for key in images if len(images[key]) >= least_images]
    keys.sort(key=lambda key: (-len(images[key]), key[0], in_order[key]))
    nouns = [AttributedNoun(key[0], in_order[key]) for key in keys[:most]]
    return [Query(each.text, (each,)) for each in nouns]


def unseen_mask(queries: Iterable[Query], training: SceneGraphIndex) -> np.ndarray:
    """bool (q,): whether some phrase's attributes are a subset of no training object's that has its noun."""
    return np.array(
        [any(not len(training.having(p)) for p in query.phrases) for query in queries], dtype=bool
    )


def hold_out_queries(
    queries: Sequence[Query], training: Sequence[SceneGraph], count: int
) -> tuple[np.ndarray, list[SceneGraph]]:
    """The `count` queries that training holds least, bool (q,), and the training graphs without their images.

    So the paper makes the unseen queries of GQA at the least cost in training data ([Cola] 9).
    """
    if not 0 <= count <= len(queries):
        raise InputError(f"{count} queries cannot be held out of {len(queries)}; choose fewer.")
    if not count:
        return np.zeros(len(queries), dtype=bool), list(training)
    index = SceneGraphIndex(training)
    relevant = [index.right(query) for query in queries]
    chosen = np.argsort([len(images) for images in relevant], kind="stable")[:count]
    removed = set(np.concatenate([_NONE, *(relevant[i] for i in chosen)]).tolist())
    mask = np.zeros(len(queries), dtype=bool)
    mask[chosen] = True
    return mask, [graph for n, graph in enumerate(training) if n not in removed]


def relevance_links(queries: Sequence[Query], index: SceneGraphIndex) -> np.ndarray:
    """int (p, 2): query and image, one row for every pair that belongs together."""
    rows = [np.column_stack([np.full(len(n), i), n]) for i, n in enumerate(map(index.right, queries))]
    return np.concatenate([np.empty((0, 2), dtype=np.int64), *rows])


def hard_lists(queries: Sequence[Query], index: SceneGraphIndex) -> tuple[np.ndarray, np.ndarray]:
    """Cola's list (images with ANY of a query's words) and QueryAll's (ALL of them), bool (q, n) each."""
    shape = (len(queries), len(index.graphs))
    any_word, all_words = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for row, query in enumerate(queries):
        lists = [index.with_word(w, False) for p in query.phrases for w in p.attributes]
        lists += [index.with_word(p.noun, True) for p in query.phrases if p.noun]
        counts = np.zeros(len(index.graphs), dtype=np.int64)
        for images in lists:
            counts[images] += 1
        any_word[row], all_words[row] = counts > 0, counts == len(lists)
    return any_word, all_words


def retrieval_set(
    name: str, split: str, graphs: GraphSet, queries: Sequence[Query], training: SceneGraphIndex | None = None
) -> RetrievalSet:
    """Queries over the images of scene graphs, with hard lists and, where training is known, what was unseen in it."""
    index = index_of(graphs)
    any_word, all_words = hard_lists(queries, index)
    return RetrievalSet(
        name,
        split,
        tuple(graph.image for graph in graphs.graphs),
        tuple(query.text for query in queries),
        relevance_links(queries, index),
        any_word,
        all_words=all_words,
        unseen=None if training is None else unseen_mask(queries, training),
        attributes=np.array([sum(len(p.attributes) for p in query.phrases) for query in queries]),
        source=graphs.source,
        licence=graphs.licence,
        citation=graphs.citation,
    )


# ---- two objects


def pair_queries(graph: SceneGraph, relations: bool = True) -> list[Query]:
    """Every `a1 o1 RELATION a2 o2` (without relations: `a1 o1 and a2 o2`) of a graph with o1 != o2 and a1 != a2.

    One attribute each, for captions that differ from each other in the order of their words alone.
    """
    items = {item.id: item for item in graph.objects}
    pairs: Iterable[tuple[str, str | None, str]]
    if relations:
        pairs = [(r.subject, r.predicate, r.object) for r in graph.relations]
    else:
        pairs = [(a.id, None, b.id) for a, b in combinations(graph.objects, 2)]
    queries: dict[Query, None] = {}
    for one, relation, other in pairs:
        first, second = items[one], items[other]
        if first.names[0] == second.names[0]:
            continue
        for a in dict.fromkeys(first.attributes):
            for b in dict.fromkeys(second.attributes):
                if a != b:
                    queries[_pair(a, first.names[0], b, second.names[0], relation)] = None
    return list(queries)


def _pair(a: str, first: str, b: str, second: str, relation: str | None) -> Query:
    phrases = (AttributedNoun(first, (a,)), AttributedNoun(second, (b,)))
    joint = relation or "and"
    return Query(f"{phrases[0].text} {joint} {phrases[1].text}", phrases, relation)


def swap_attributes(query: Query) -> Query:
    """The query with the attributes of its two objects exchanged."""
    one, other = query.phrases
    return _pair(other.attributes[0], str(one.noun), one.attributes[0], str(other.noun), query.relation)


def compound_queries(graph: SceneGraph, relations: bool = True) -> list[Query]:
    """Cola's multi-object queries of a graph: two objects, each with all of its attributes ([Cola] 3, 5.3).

    One for every relation between two objects that have attributes which differ; without relations one for every two
    objects of different nouns, `a and b` alone: `b and a` is the same query. In the published items 194 of 210 have an
    object with several attributes, and 44 have two objects of one noun: there a relation says which is which.
    """
    phrases = {
        item.id: AttributedNoun(item.names[0], tuple(dict.fromkeys(item.attributes)))
        for item in graph.objects
        if item.attributes
    }
    pairs: list[tuple[AttributedNoun, str | None, AttributedNoun]]
    if relations:
        triples = [(r.subject, r.predicate, r.object) for r in graph.relations]
        pairs = [(phrases[a], word, phrases[b]) for a, word, b in triples if a in phrases and b in phrases]
    else:
        ordered = (sorted(two, key=lambda phrase: phrase.text) for two in combinations(phrases.values(), 2))
        pairs = [(one, None, other) for one, other in ordered if one.noun != other.noun]
    different = [pair for pair in pairs if len({*pair[0].attributes, *pair[2].attributes}) > 1]
    return list(dict.fromkeys(_compound(*pair) for pair in different))


def _compound(one: AttributedNoun, relation: str | None, other: AttributedNoun) -> Query:
    return Query(f"{one.text} {relation or 'and'} {other.text}", (one, other), relation)


def _exchanges(query: Query) -> list[tuple[str, str, str, str]]:
    """(noun, its attribute, other noun, its attribute) for every two attributes that a swap may exchange.

    Two nouns come in alphabetical order, two objects of one noun in that of the query.
    """
    one, other = sorted(query.phrases, key=lambda phrase: str(phrase.noun))
    return [
        (str(one.noun), a, str(other.noun), b) for a, b in product(one.attributes, other.attributes) if a != b
    ]


def _holds(query: Query, graph: SceneGraph) -> bool:
    """Whether a query for two objects is true of one graph; as `SceneGraphIndex.right` for all of them."""
    one, other = query.phrases
    firsts = [item.id for item in graph.objects if one.holds(item)]
    seconds = {item.id for item in graph.objects if other.holds(item)}
    if query.relation is None:
        return any(seconds - {first} for first in firsts)
    related = {(r.subject, r.object) for r in graph.relations if r.predicate == query.relation}
    return any(subject in firsts and item in seconds for subject, item in related)


_TRIED = 20  # other images that are tried for a query before it stays without


def multi_object_items(
    graphs: GraphSet, most: int | None = None, seed: int = 0, relations: bool = True
) -> list[tuple[int, Query, int, Query]]:
    """Cola's multi-object items: (image, its query, other image, its query), each pair of queries once ([Cola] 3).

    In the other image some attribute of the first object belongs to the second and the other way round, in the
    published items too with further attributes and another relation; each query is true of its own image and false of
    the other one. Order and choice of images come from the seed; a query is in one item at most.
    """
    compounds = [(n, q) for n, graph in enumerate(graphs.graphs) for q in compound_queries(graph, relations)]
    holders: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
    for i, (_, query) in enumerate(compounds):
        for key in _exchanges(query):
            holders[key].append(i)
    rng, used = np.random.default_rng(seed), set[int]()
    items: list[tuple[int, Query, int, Query]] = []
    together: set[frozenset[Query]] = set()

    def partner(i: int) -> int | None:
        """A compound that swaps attributes with compound i, and is not taken."""
        image, query = compounds[i]
        lists = [holders.get((one, b, other, a), []) for one, a, other, b in _exchanges(query)]
        ends = np.cumsum([len(each) for each in lists])
        if not len(ends) or not ends[-1]:
            return None
        for place in (
            rng.permutation(int(ends[-1]))[:_TRIED]
            if ends[-1] < 10_000
            else rng.integers(ends[-1], size=_TRIED)
        ):
            which = int(np.searchsorted(ends, place, side="right"))
            j = lists[which][int(place - ends[which])]
            other_image, other = compounds[j]
            if j in used or image == other_image or frozenset((query, other)) in together:
                continue
            if not _holds(query, graphs.graphs[other_image]) and not _holds(other, graphs.graphs[image]):
                return j
        return None

    for i in rng.permutation(len(compounds)).tolist():
        if most is not None and len(items) == most:
            break
        if i not in used and (j := partner(i)) is not None:
            used |= {i, j}
            together.add(frozenset((compounds[i][1], compounds[j][1])))
            items.append((*compounds[i], *compounds[j]))
    return items


def multi_object_set(graphs: GraphSet, most: int | None = 300, relations: bool = True) -> GroupSet:
    """Multi-object items as 2x2 groups, captions in random order."""
    rng = np.random.default_rng([0, 1])
    groups = []
    for i, (one, query, other, foil) in enumerate(multi_object_items(graphs, most, 0, relations)):
        true = int(rng.integers(2))
        texts = (query.text, foil.text)
        images = (graphs.graphs[one].image, graphs.graphs[other].image)
        groups.append(Group(f"multi-{i:04d}", images, texts[:: (1, -1)[true]], (true, 1 - true)))
    return GroupSet(
        f"{graphs.name}/multi-object", tuple(groups), source=graphs.source, licence=graphs.licence
    )


def crepe_set(graphs: GraphSet, most: int | None = 300, relations: bool = True) -> GroupSet:
    """CREPE-style 1x2 groups: an image, a caption that is true of it, and the same with attributes exchanged."""
    index, rng = index_of(graphs), np.random.default_rng([0, 2])
    groups: list[Group] = []
    for n in rng.permutation(len(graphs)):
        queries = pair_queries(graphs.graphs[n], relations)
        for i in rng.permutation(len(queries)):
            query, true = queries[i], int(rng.integers(2))
            if n in index.right(swap_attributes(query)):
                continue
            texts = (query.text, swap_attributes(query).text)[:: (1, -1)[true]]
            groups.append(Group(f"crepe-{len(groups):04d}", (graphs.graphs[n].image,), texts, (true,)))
            break
        if most is not None and len(groups) == most:
            break
    return GroupSet(f"{graphs.name}/crepe", tuple(groups), source=graphs.source, licence=graphs.licence)


# ---- reading queries back from text


def parse_combination(text: str, nouns: Iterable[str], attributes: Iterable[str]) -> AttributedNoun | None:
    """`square white plate` as a combination of known words, longest noun first; None where a word is unknown."""
    known, parts = Counter(attributes), text.split()
    names = set(nouns)
    for start in range(len(parts)):
        noun = " ".join(parts[start:])
        if noun in names:
            covered = _cover(parts[:start], known)
            return None if covered is None else AttributedNoun(noun, covered)
    return None


def _cover(parts: Sequence[str], known: Counter[str]) -> tuple[str, ...] | None:
    """The words as known attributes, which may have several words each."""
    if not parts:
        return ()
    for stop in range(len(parts), 0, -1):
        first = " ".join(parts[:stop])
        if first in known and (rest := _cover(parts[stop:], known)) is not None:
            return (first, *rest)
    return None
