"""The sets of the built-in world and how one group of each is drawn. `core/scenes/sets.py` checks and collects them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.scenes._minimal_pairs import (
    SWAPPED,
    MinimalPair,
    draw_mentioned_attributes,
    exchange,
    minimal_pair,
)
from core.scenes._sampler import draw_objects, jitter, sample_scene
from core.scenes.captions import CaptionTemplate, Phrase, Statement, shuffled
from core.scenes.world import (
    ATTRIBUTES,
    COLOURS,
    LEVEL,
    MATERIALS,
    RELATIONS,
    RELATIVE,
    SHAPES,
    SIZES,
    Scene,
    SceneObject,
    held_out_kinds,
)

_COUNTS = (2, 2, 2, 3, 3, 4)  # objects a scene, drawn evenly: two for a clear view, more for distraction
_VALUES: dict[str, tuple[str, ...]] = {
    "colour": tuple(COLOURS),
    "shape": SHAPES,
    "size": tuple(SIZES),
    "material": MATERIALS,
}


@dataclass(frozen=True)
class DraftGroup:
    """A group before it is checked: caption i is true of scene i, further captions of no scene."""

    scenes: tuple[Scene, ...]
    statements: tuple[Statement, ...]  # fewer than captions where the rest are no sentences
    wording: CaptionTemplate
    tags: Mapping[str, str] = field(default_factory=dict)
    extra: tuple[str, ...] = ()  # captions without a meaning

    @property
    def captions(self) -> tuple[str, ...]:
        """One for each statement, then the extra ones."""
        return (*(statement.caption(self.wording) for statement in self.statements), *self.extra)


_Builder = Callable[[np.random.Generator, str, bool], DraftGroup | None]


def _scene(rng: np.random.Generator, split: str, seen: bool, counts: Sequence[int] = _COUNTS) -> Scene:
    return sample_scene(rng, counts[int(rng.integers(len(counts)))], split, seen)


def _pick(rng: np.random.Generator, items: Sequence[str]) -> str:
    return items[int(rng.integers(len(items)))]


def _two(rng: np.random.Generator, scene: Scene) -> tuple[int, int]:
    i, j = rng.permutation(len(scene.objects))[:2]
    return int(i), int(j)


# 2x2: two scenes that differ in one exchange


def _swap_pair(kind: str) -> _Builder:
    """Twins of one kind with the two captions that tell them apart."""

    def build(rng: np.random.Generator, split: str, seen: bool) -> DraftGroup | None:
        pair = minimal_pair(_scene(rng, split, seen), kind, rng, seen)
        if pair is None:
            return None
        statements = pair.statements(_mentioned(rng, kind), int(rng.integers(4)))
        return DraftGroup(
            (pair.first, pair.second), statements, CaptionTemplate.draw(rng), _pair_tags(pair, statements)
        )

    return build


def _mentioned(rng: np.random.Generator, kind: str) -> tuple[str, ...]:
    """Mostly colour and shape; for size and material also one of the two alone, as people do."""
    if kind in ("size", "material") and rng.random() < 0.4:
        return (("shape",), ("colour",))[int(rng.integers(2))]
    return draw_mentioned_attributes(rng, 0.15)


def _pair_tags(pair: MinimalPair, statements: Sequence[Statement]) -> dict[str, str]:
    if pair.kind in RELATIVE:
        return {"kind": "relation", "relation": str(statements[0].relation)}
    return {"kind": "attribute", "attribute": SWAPPED[pair.kind]}


# 1x4: one scene, four relations between the same two objects, one of which holds


def _relations(rng: np.random.Generator, split: str, seen: bool) -> DraftGroup | None:
    """Two objects that differ clearly along one axis and hardly along the other."""
    scene = _scene(rng, split, seen)
    i, j = _two(rng, scene)
    a, b = scene.objects[i], scene.objects[j]
    if (a.colour, a.shape) == (b.colour, b.shape):
        return None
    shift = 0.9 * float(rng.uniform(-1, 1))
    if rng.random() < 0.5:
        b = replace(b, x=round(a.x + shift * LEVEL[0], 2))
    else:
        b = replace(b, y=round(a.y + shift * LEVEL[1], 2))
    objects = tuple(b if k == j else item for k, item in enumerate(scene.objects))
    placed = jitter(replace(scene, objects=objects), rng, amount=0.0)
    if placed is None:
        return None
    statements = [Statement((Phrase.of(a), Phrase.of(b)), name) for name in RELATIONS]
    statements.sort(key=lambda statement: statement.is_true_of(placed) is not True)
    tags = {"kind": "relation", "relation": str(statements[0].relation)}
    return DraftGroup((placed,), tuple(statements), CaptionTemplate.draw(rng), tags)


# 1x2: one scene, a true caption and a false one that is just as good a sentence


def _positive(
    rng: np.random.Generator, scene: Scene, kind: str, mentioned: Sequence[str]
) -> Statement | None:
    """A true statement about two objects: a pair, or a relation between them."""
    i, j = _two(rng, scene)
    phrases = (Phrase.of(scene.objects[i], *mentioned), Phrase.of(scene.objects[j], *mentioned))
    if phrases[0] == phrases[1]:
        return None
    if kind != "relation":
        return Statement(phrases)
    names = [name for name in RELATIONS if Statement(phrases, name).is_true_of(scene)]
    return Statement(phrases, _pick(rng, names)) if names else None


def _opening(
    rng: np.random.Generator, split: str, seen: bool, kinds: Sequence[str]
) -> tuple[str, Scene, Statement] | None:
    """What to change, a scene, and a true statement in which that can be changed."""
    kind = _pick(rng, kinds)
    scene = _scene(rng, split, seen)
    mentioned = ("colour", "shape", kind) if kind in ("size", "material") else ("colour", "shape")
    positive = _positive(rng, scene, kind if rng.random() < 0.6 else "relation", mentioned)
    return (kind, scene, positive) if positive else None


def _draft(
    rng: np.random.Generator, scene: Scene, change: str, kind: str, statements: tuple[Statement, Statement]
) -> DraftGroup | None:
    """The two captions of a 1x2 group; None where the false one would name one thing twice."""
    if len(set(statements[1].phrases)) < len(statements[1].phrases):
        return None
    tags = {"kind": "attribute" if kind in ATTRIBUTES else kind, "change": f"{change} {kind}"}
    if kind in ATTRIBUTES:
        tags["attribute"] = kind
    if statements[0].relation:
        tags["relation"] = statements[0].relation
    return DraftGroup((scene,), statements, CaptionTemplate.draw(rng), tags)


def _replaced(rng: np.random.Generator, split: str, seen: bool) -> DraftGroup | None:
    """One word exchanged for another of its kind: a colour, shape, size, material or relation."""
    opening = _opening(rng, split, seen, ("colour", "shape", "size", "material", "relation"))
    if opening is None:
        return None
    kind, scene, positive = opening
    if kind == "relation":
        name = _pick(rng, [name for name in RELATIONS if name != positive.relation])
        return _draft(rng, scene, "replace", kind, (positive, replace(positive, relation=name)))
    phrases = list(positive.phrases)
    which = int(rng.integers(2))
    others = [value for value in _VALUES[kind] if value != getattr(phrases[which], kind)]
    phrases[which] = replace(phrases[which], **{kind: _pick(rng, others)})
    return _draft(rng, scene, "replace", kind, (positive, replace(positive, phrases=tuple(phrases))))


def _swapped(rng: np.random.Generator, split: str, seen: bool) -> DraftGroup | None:
    """The two objects' colours, sizes or materials exchanged in the text, or the two sides of a relation."""
    opening = _opening(rng, split, seen, ("colour", "size", "material", "relation"))
    if opening is None:
        return None
    kind, scene, positive = opening
    a, b = positive.phrases
    if kind == "relation":
        exchanged = (b, a)
    else:
        exchanged = (replace(a, **{kind: getattr(b, kind)}), replace(b, **{kind: getattr(a, kind)}))
    return _draft(rng, scene, "swap", kind, (positive, replace(positive, phrases=exchanged)))


def _added(rng: np.random.Generator, split: str, seen: bool) -> DraftGroup | None:
    """The same start with a true and with a false addition: a size, a material or a third object.

    The true caption gets an addition too: else the longer caption would be the false one, and a model that sees
    no image would find it.
    """
    kind = _pick(rng, ("size", "material", "object"))
    scene = _scene(rng, split, seen, (3, 3, 4))
    items = [scene.objects[int(i)] for i in rng.permutation(len(scene.objects))[:3]]
    a, b, c = (Phrase.of(item) for item in items)
    if len({a, b, c}) < 3:
        return None
    if kind == "object":
        other = Phrase(_pick(rng, _VALUES["colour"]), _pick(rng, SHAPES))
        return _draft(rng, scene, "add", kind, (Statement((a, b, c)), Statement((a, b, other))))
    true = getattr(items[0], kind)
    false = next(value for value in _VALUES[kind] if value != getattr(items[1], kind))
    step = (1, -1)[int(rng.integers(2))]  # the true addition is not always the first one
    right = Statement((replace(a, **{kind: true}), b)[::step])
    wrong = Statement((a, replace(b, **{kind: false}))[::step])
    return _draft(rng, scene, "add", kind, (right, wrong))


# 1x5: one sentence and four shuffles of its words that are none


def _word_order(rng: np.random.Generator, split: str, seen: bool) -> DraftGroup | None:
    """ARO's four shuffles: content words, the other words, within triples of words, triples of words."""
    scene = _scene(rng, split, seen)
    kind = _pick(rng, ("relation", "attribute"))
    positive = _positive(rng, scene, kind, draw_mentioned_attributes(rng, 0.3))
    if positive is None:
        return None
    wording = CaptionTemplate.draw(rng)
    wrong = shuffled(positive.caption(wording), rng)
    if wrong is None:
        return None
    tags = {"kind": kind} | ({"relation": str(positive.relation)} if positive.relation else {})
    return DraftGroup((scene,), (positive,), wording, tags, tuple(wrong))


# 3x3 and 2x4


def _triples(rng: np.random.Generator, split: str, seen: bool) -> DraftGroup | None:
    """Three objects of three shapes whose colours go round: three scenes, three captions of the same words."""
    given = _three(rng, seen)
    if given is None:
        return None
    first = sample_scene(rng, (3, 3, 4)[int(rng.integers(3))], split, seen, given)
    turned = jitter(exchange(exchange(first, 0, 1, "colour"), 1, 2, "colour"), rng)
    back = jitter(exchange(exchange(first, 1, 2, "colour"), 0, 1, "colour"), rng)
    if turned is None or back is None:
        return None
    scenes, order = (first, turned, back), rng.permutation(3).tolist()
    statements = tuple(Statement(tuple(Phrase.of(scene.objects[i]) for i in order)) for scene in scenes)
    return DraftGroup(
        scenes, statements, CaptionTemplate.draw(rng), {"kind": "attribute", "attribute": "colour"}
    )


def _three(rng: np.random.Generator, seen: bool) -> list[SceneObject] | None:
    """One object of each shape in three colours; None unless every turn of the colours is seen (or unseen) alike."""
    items = draw_objects(rng, 3, seen=False)
    items = [replace(item, shape=shape) for item, shape in zip(items, SHAPES, strict=True)]
    colours = [item.colour for item in items]
    turns = [zip(colours[k:] + colours[:k], SHAPES, strict=True) for k in range(3)]
    statements = [Statement(tuple(Phrase(colour, shape) for colour, shape in turn)) for turn in turns]
    if len(set(colours)) < 3 or any(
        bool(held_out_kinds(statement.phrases)) is seen for statement in statements
    ):
        return None
    return [items[int(i)] for i in rng.permutation(3)]


def _two_of_four(rng: np.random.Generator, split: str, seen: bool) -> DraftGroup | None:
    """Twins with their two captions, and two captions as good as those that fit neither scene."""
    kind = _pick(rng, ("attribute", "left-right", "front-behind"))
    pair = minimal_pair(_scene(rng, split, seen), kind, rng, seen)
    if pair is None:
        return None
    statements = pair.statements(order=int(rng.integers(4)))
    wrong = _fit_neither(rng, pair, statements)
    return DraftGroup(
        (pair.first, pair.second),
        (*statements, *wrong),
        CaptionTemplate.draw(rng),
        _pair_tags(pair, statements),
    )


def _fit_neither(
    rng: np.random.Generator, pair: MinimalPair, statements: tuple[Statement, Statement]
) -> tuple[Statement, Statement]:
    a, b = statements[0].phrases
    if pair.kind == "attribute":
        # Where the second colour was, a third one is said, in either caption.
        other = _pick(rng, [value for value in COLOURS if value not in (a.colour, b.colour)])
        return _recolour(statements[0], b.colour, other), _recolour(statements[1], b.colour, other)
    # Along the other axis nothing was exchanged: what is false of one scene there is false of both.
    names = RELATIVE["front-behind" if pair.kind == "left-right" else "left-right"]
    name = names[0] if Statement((a, b), names[0]).is_true_of(pair.first) is False else names[1]
    return Statement((a, b), name), Statement((a, b), name).inverse()


def _recolour(statement: Statement, old: str | None, new: str) -> Statement:
    return replace(
        statement, phrases=tuple(replace(p, colour=new) if p.colour == old else p for p in statement.phrases)
    )


@dataclass(frozen=True)
class SetSpec:
    """What a set is, and how one of its groups is drawn."""

    title: str
    description: str
    build: _Builder
    sizes: dict[str, int] = field(default_factory=lambda: {"train": 1000, "validation": 300, "test": 300})


SETS: dict[str, SetSpec] = {
    "scenes/attribute-swap": SetSpec(
        "Attribute swap",
        "2x2: two objects exchange their colours, as in Cola and ColorSwap.",
        _swap_pair("attribute"),
    ),
    "scenes/left-right": SetSpec(
        "Left and right",
        "2x2: two objects exchange their sides, as in WhatsUp.",
        _swap_pair("left-right"),
    ),
    "scenes/front-behind": SetSpec(
        "In front and behind",
        "2x2: two objects exchange their depths, as in WhatsUp.",
        _swap_pair("front-behind"),
    ),
    "scenes/relations-1x4": SetSpec(
        "Four relations",
        "1x4: left of, right of, in front of or behind, as in WhatsUp; one of the four holds.",
        _relations,
    ),
    "scenes/size-swap": SetSpec(
        "Size swap",
        "2x2: a large and a small object exchange their sizes.",
        _swap_pair("size"),
    ),
    "scenes/material-swap": SetSpec(
        "Material swap",
        "2x2: a metal and a rubber object exchange their materials.",
        _swap_pair("material"),
    ),
    "scenes/replace": SetSpec(
        "Replace",
        "1x2: one word of the caption is replaced by another of its kind, as in SugarCrepe.",
        _replaced,
    ),
    "scenes/swap": SetSpec(
        "Swap",
        "1x2: two attributes of the caption, or the sides of its relation, are exchanged, as in SugarCrepe.",
        _swapped,
    ),
    "scenes/add": SetSpec(
        "Add",
        "1x2: something true or something false is added to the same start, as in SugarCrepe; here both captions "
        "get an addition, so that length gives nothing away.",
        _added,
    ),
    "scenes/word-order": SetSpec(
        "Word order",
        "1x5: a caption and four shuffles of its words that are no English, as in ARO.",
        _word_order,
    ),
    "scenes/triples": SetSpec(
        "Triples",
        "3x3: three objects exchange their colours in a circle.",
        _triples,
    ),
    "scenes/two-of-four": SetSpec(
        "Two of four",
        "2x4: a pair of swapped scenes with its two captions and two more that fit neither.",
        _two_of_four,
    ),
}
