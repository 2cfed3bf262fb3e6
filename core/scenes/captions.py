"""Statements about scenes, whether they hold, and how they are said in small, plain English.

A `Statement` is the meaning; a `CaptionTemplate` picks synonyms and the sentence around it; `Statement.caption` puts
both into lower-case words. Truth is always decided on statements, never on text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import NamedTuple

import numpy as np

from core.scenes.world import (
    ATTRIBUTES,
    COLOURS,
    INVERSE,
    MATERIALS,
    RELATIONS,
    SHAPES,
    SIZES,
    Scene,
    SceneObject,
)

_NUMBERS = ("one", "two", "three", "four", "five", "six")
# The first word is the plain one. "metal" and "rubber" follow the colour, "shiny" and "matte" precede it.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "cube": ("cube", "block"),
    "sphere": ("sphere", "ball"),
    "cylinder": ("cylinder",),
    "object": ("object", "thing"),
    "large": ("large", "big"),
    "small": ("small", "little"),
    "metal": ("metal", "shiny"),
    "rubber": ("rubber", "matte"),
    "left of": ("to the left of", "left of", "on the left of"),
    "right of": ("to the right of", "right of", "on the right of"),
    "in front of": ("in front of",),
    "behind": ("behind",),
}
# `x` is a list of things, a relation between two, or a number of things.
_FRAMES = ("{x}", "there {is} {x}", "a picture of {x}", "a photo of {x}", "an image of {x}", "we see {x}")
# What captions are read by (`Statement.of_caption`).
_FRAME = re.compile("^(there (is|are)|an? (picture|photo|image) of|we see) ")
_ARTICLE = re.compile("^(an?|the) ")
_RELATION_OF = {said: relation for relation in RELATIONS for said in SYNONYMS[relation]}
_BETWEEN = re.compile(f" (?:is )?({'|'.join(sorted(_RELATION_OF, key=len, reverse=True))}) ")
_ATTRIBUTE_OF: dict[str, tuple[str, str | None]] = {
    **{colour: ("colour", colour) for colour in COLOURS},
    **{said: ("shape", shape) for shape in SHAPES for said in SYNONYMS[shape]},
    **{said: ("size", size) for size in SIZES for said in SYNONYMS[size]},
    **{said: ("material", material) for material in MATERIALS for said in SYNONYMS[material]},
    **dict.fromkeys(SYNONYMS["object"], ("shape", None)),
}
# Words of a query that captions never have, and what they are read as; the models need not know them.
_READ_AS = {
    **dict.fromkeys(("huge", "giant"), "large"),
    **dict.fromkeys(("tiny", "mini"), "small"),
    "box": "cube",
    "orb": "sphere",
    "tube": "cylinder",
    "metallic": "metal",
}
# What may stand between the objects that a query names: the first say nothing, the others of where the objects are.
_FILLERS = frozenset(["a", "an", "and", "are", "is", "of", "the", "there", "with"])
_PLACES = frozenset([
    "above", "at", "behind", "below", "beside", "between", "by", "close", "front", "in", "left", "near", "next", "on",
    "over", "right", "side", "to", "top", "touching", "under",
])  # fmt: skip
_DEFINITE = len(_FRAMES)  # the frame "the red cube is behind the blue sphere", for relations alone


@dataclass(frozen=True)
class Phrase:
    """What is said about one object; None is left unsaid."""

    colour: str | None = None
    shape: str | None = None
    size: str | None = None
    material: str | None = None

    @classmethod
    def of(cls, item: SceneObject, *attributes: str) -> Phrase:
        """The phrase that says these attributes of an object; colour and shape if none is named."""
        return cls(**{name: getattr(item, name) for name in attributes or ("colour", "shape")})

    @classmethod
    def of_noun(cls, text: str) -> Phrase | None:
        """`large shiny red cube` as what it says; None where a word means nothing, or two mean the same thing."""
        found: dict[str, str | None] = {}
        for word in text.split():
            name, value = _ATTRIBUTE_OF.get(word, ("", None))
            if not name or name in found:
                return None
            found[name] = value
        return cls(**found) if "shape" in list(found)[-1:] else None  # the noun comes last

    def fits(self, item: SceneObject | Phrase) -> bool:
        """Whether everything that is said is true of this object, or of every object that fits this other phrase."""
        return all(said is None or said == getattr(item, name) for name, said in self.attributes())

    def attributes(self) -> tuple[tuple[str, str | None], ...]:
        """(attribute, value or None) in a fixed order."""
        return tuple((name, getattr(self, name)) for name in ATTRIBUTES)


@dataclass(frozen=True)
class Statement:
    """One of three statements about a scene.

    - `phrases` alone: the scene holds distinct objects, one for each phrase;
    - with `relation`: the object of the first phrase is `relation` that of the second;
    - with `count`: exactly that many objects fit the one phrase.
    """

    phrases: tuple[Phrase, ...]
    relation: str | None = None
    count: int | None = None

    @classmethod
    def of_caption(cls, text: str) -> Statement | None:
        """What a caption of the built-in world says; None for any other text, as for one whose words are shuffled."""
        plain = _FRAME.sub("", text)
        number, _, counted = plain.partition(" ")
        if number in _NUMBERS:
            phrase = Phrase.of_noun(counted if number == "one" else counted.removesuffix("s"))
            return None if phrase is None else cls((phrase,), count=1 + _NUMBERS.index(number))
        first, *rest = _BETWEEN.split(plain)
        nouns = [first, *rest[1:]] if rest else re.split(", | and ", plain)
        phrases = [Phrase.of_noun(_ARTICLE.sub("", noun)) for noun in nouns]
        known = tuple(phrase for phrase in phrases if phrase is not None)
        if len(known) < len(nouns) or len(rest) > 2:
            return None
        return cls(known, _RELATION_OF[rest[0]] if rest else None)

    def inverse(self) -> Statement:
        """The same relation told from the other side."""
        assert self.relation is not None
        return Statement(self.phrases[::-1], INVERSE[self.relation])

    def is_true_of(self, scene: Scene) -> bool | None:
        """Whether the statement is true of the scene; None where the eye could argue about a relation."""
        if self.count is not None:
            return sum(self.phrases[0].fits(o) for o in scene.objects) == self.count
        fitting = [[o for o in scene.objects if phrase.fits(o)] for phrase in self.phrases]
        if self.relation is None:
            return _distinct(fitting, ())
        verdicts = [scene.relation(self.relation, a, b) for a in fitting[0] for b in fitting[1] if a is not b]
        return True if True in verdicts else None if None in verdicts else False

    def is_unambiguous(self, scene: Scene) -> bool:
        """Whether every phrase fits one object of the scene alone, so that "the" can be said."""
        return all(sum(phrase.fits(o) for o in scene.objects) == 1 for phrase in self.phrases)

    def caption(self, wording: CaptionTemplate | None = None) -> str:
        """The statement as a lower-case caption."""
        wording = wording or CaptionTemplate()
        if self.count is not None:
            return _frame(
                f"{_NUMBERS[self.count - 1]} {_noun(self.phrases[0], wording, self.count)}",
                wording,
                self.count,
            )
        if self.relation is None:
            return _frame(_enumerate([_with_article(_noun(p, wording)) for p in self.phrases]), wording)
        first, second = (_noun(p, wording) for p in self.phrases)
        where = wording.words[self.relation]
        if wording.definite:
            return f"the {first} is {where} the {second}"
        return _frame(f"{_with_article(first)} {where} {_with_article(second)}", wording)


class _AskedObjects(NamedTuple):
    """What a query in one's own words asks for: objects, as far as this world has words for them.

    nouns : each in the words of this world. not_judged : the words about places that are no relation of this world; ""
    for none. read_as : of words that this world has another one for, both.
    """

    statement: Statement
    nouns: tuple[str, ...]
    not_judged: str
    read_as: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, text: str) -> _AskedObjects | None:
        """`a red cube next to a blue ball`; None where a word is unknown, counts or denies, or no attribute is said."""
        typed = re.sub(r"[^\w,-]", " ", text.lower()).split()
        found = cls._of_words(" ".join(_READ_AS.get(word, word) for word in typed))
        read_as = tuple((word, _READ_AS[word]) for word in dict.fromkeys(typed) if word in _READ_AS)
        return None if found is None else found._replace(read_as=read_as)

    @classmethod
    def _of_words(cls, plain: str) -> _AskedObjects | None:
        """plain : lower-case words of this world, without punctuation but commas and hyphens."""
        nouns: list[list[str]] = [[]]
        others = []
        for word in _FRAME.sub("", plain).replace(",", " ").split():
            if word in _ATTRIBUTE_OF:
                nouns[-1].append(word)
            elif word in _FILLERS | _PLACES and not nouns[-1]:
                others.append(word)
            else:
                return None
            if _ATTRIBUTE_OF.get(word, ("",))[0] == "shape":  # the noun comes last
                nouns.append([])
        said = tuple(" ".join(words) for words in nouns if words)
        phrases = tuple(phrase for phrase in map(Phrase.of_noun, said) if phrase is not None)
        if len(phrases) < len(said) or not any(v for phrase in phrases for _, v in phrase.attributes()):
            return None
        exact = Statement.of_caption(plain)
        if exact is not None and exact.phrases == phrases:
            return cls(exact, said, "")
        places = others if _PLACES & {*others} else []
        return cls(Statement(phrases), said, " ".join(w for w in places if w not in ("a", "an", "and")))

    def judged(self, scene: Scene) -> list[tuple[str, bool | None]]:
        """Each object, and the relation, with whether the scene has it; None where the eye could argue."""
        fit = [any(phrase.fits(o) for o in scene.objects) for phrase in self.statement.phrases]
        found: list[tuple[str, bool | None]] = [*zip(self.nouns, fit, strict=True)]
        true = self.statement.is_true_of(scene)
        if all(fit) and self.statement.relation is not None:
            found.append((self.statement.relation, true))
        elif all(fit) and not true:
            found.append(("as different objects", False))
        return found


def _distinct(fitting: list[list[SceneObject]], taken: tuple[int, ...]) -> bool:
    """Whether each list can give an object that no other list gives."""
    if not fitting:
        return True
    return any(_distinct(fitting[1:], (*taken, id(o))) for o in fitting[0] if id(o) not in taken)


@dataclass(frozen=True)
class CaptionTemplate:
    """The choice of words for one caption, or for all captions of a group."""

    words: Mapping[str, str] = field(default_factory=lambda: {key: said[0] for key, said in SYNONYMS.items()})
    frame: int = 0  # index into the sentence frames; the last one is "the ... is ... the ..."

    @property
    def definite(self) -> bool:
        """Whether relations are told with "the"."""
        return self.frame == _DEFINITE

    @classmethod
    def draw(cls, rng: np.random.Generator, plain: float = 0.5, definite: bool = True) -> CaptionTemplate:
        """Random synonyms; with probability `plain` the bare sentence."""
        u = dict(zip([*SYNONYMS, "frame", "plain"], rng.random(len(SYNONYMS) + 2).tolist(), strict=True))
        # One style for both materials: "a shiny orange ball" moves the adjective, and with it "a" and "an".
        u["rubber"] = u["metal"]
        words = {key: said[int(u[key] * len(said))] for key, said in SYNONYMS.items()}
        frame = 0 if u["plain"] < plain else 1 + int(u["frame"] * (len(_FRAMES) - 1 + definite))
        return cls(words, frame)


def _noun(phrase: Phrase, wording: CaptionTemplate, count: int = 1) -> str:
    """Adjectives in their usual order and the noun, such as "large shiny red cube"."""
    words = wording.words
    material = words[phrase.material] if phrase.material else ""
    before, after = (material, "") if material in ("shiny", "matte") else ("", material)
    noun = words[phrase.shape or "object"] + ("s" if count != 1 else "")
    size = words[phrase.size] if phrase.size else ""
    return " ".join(word for word in (size, before, phrase.colour, after, noun) if word)


def _with_article(noun: str) -> str:
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def _enumerate(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _frame(text: str, wording: CaptionTemplate, count: int = 1) -> str:
    frame = _FRAMES[wording.frame % len(_FRAMES)]
    return frame.format(x=text, **{"is": "is" if count == 1 else "are"})


def _words(caption: str) -> list[str]:
    """Words and commas of a caption: what a word-level tokenizer sees."""
    return re.findall(r"[a-z]+|,", caption)


def _vocabulary() -> tuple[str, ...]:
    text = " ".join([*COLOURS, *_NUMBERS, *(w for said in SYNONYMS.values() for w in said), *_FRAMES])
    nouns = [w for key in ("cube", "sphere", "cylinder", "object") for w in SYNONYMS[key]]
    extra = ["a", "an", "the", "and", ",", "is", "are", *(f"{noun}s" for noun in nouns)]
    return tuple(sorted({*_words(text.replace("{x}", "").replace("{is}", "")), *extra}))


VOCABULARY = _vocabulary()  # every word (and the comma) that a caption can hold

_SIZES = {"single": 1, "pair": 2}  # of what names several objects without a relation


def statement_about(
    scene: Scene, rng: np.random.Generator, kinds: Mapping[str, float], detail: float, omit: float
) -> Statement:
    """A random true statement about the scene.

    `kinds` weighs single, pair and relation; a kind the scene cannot give falls back to a pair, then to a count.
    `detail` is the chance that size, and that material, is said of an object; `omit` the chance that its colour or its
    shape is left out (0: two full objects in every pair).
    """
    kind = str(rng.choice(list(kinds), p=np.array(list(kinds.values())) / sum(kinds.values())))
    if kind == "relation":
        statement = _relation(scene, rng, detail, omit)
    else:
        statement = _several(_SIZES[kind], scene, rng, detail, omit)
    statement = statement or _several(2, scene, rng, detail, omit) or _count(scene, rng)
    assert statement.is_true_of(scene)
    return statement


def _phrase(item: SceneObject, rng: np.random.Generator, detail: float, omit: float) -> Phrase:
    u = rng.random(4)
    phrase = Phrase.of(item)
    if u[0] < omit:
        phrase = replace(phrase, **{"colour" if u[1] < 0.5 else "shape": None})
    return replace(
        phrase,
        size=item.size if u[2] < detail else None,
        material=item.material if u[3] < detail else None,
    )


def _phrases(
    items: list[SceneObject], rng: np.random.Generator, detail: float, omit: float
) -> tuple[Phrase, ...] | None:
    """One phrase each, none of which also covers another; None where that takes more than colour and shape."""
    for leave_out in (omit, 0.0):
        phrases = tuple(_phrase(item, rng, detail, leave_out) for item in items)
        if not any(a.fits(b) for a, b in permutations(phrases, 2)):
            return phrases
    return None


def _several(
    size: int, scene: Scene, rng: np.random.Generator, detail: float, omit: float
) -> Statement | None:
    if len(scene.objects) < size:
        return None
    chosen = [scene.objects[i] for i in rng.permutation(len(scene.objects))[:size]]
    phrases = _phrases(chosen, rng, detail, omit)
    return Statement(phrases) if phrases else None


def _relation(scene: Scene, rng: np.random.Generator, detail: float, omit: float) -> Statement | None:
    clear = list(scene.clear_relations())
    if not clear:
        return None
    i, name, j = clear[int(rng.integers(len(clear)))]
    phrases = _phrases([scene.objects[i], scene.objects[j]], rng, detail, omit)
    return Statement(phrases, name) if phrases else None


def _count(scene: Scene, rng: np.random.Generator) -> Statement:
    item = scene.objects[int(rng.integers(len(scene.objects)))]
    mentioned = (("shape",), ("colour",), ("colour", "shape"))[int(rng.integers(3))]
    phrase = Phrase.of(item, *mentioned)
    return Statement((phrase,), count=sum(phrase.fits(o) for o in scene.objects))


# Word orders that are no English: the negatives of the 1x5 set


def _any(*keys: str) -> str:
    return "|".join(word for key in keys for word in SYNONYMS[key])


# Every sentence that the templates make, adjectives in any order and articles that need not agree: what does not
# match is no English here.
_ADJECTIVE = "|".join([_any("large", "small", "metal", "rubber"), *COLOURS])
_NOUN = _any("cube", "sphere", "cylinder", "object")
_THING = f"(?:an?|the) (?:(?:{_ADJECTIVE}) )*(?:{_NOUN})"
_RELATION = f"(?:is )?(?:{_any(*RELATIONS)})"
_OPENING = "(?:(?:there is|we see|an? (?:picture|photo|image) of) )?"
_SENTENCE = re.compile(f"{_OPENING}{_THING}(?: {_RELATION} {_THING}|(?:, {_THING})*(?: and {_THING})?)")
_CONTENT = set(f"{_ADJECTIVE}|{_NOUN}".split("|"))


def shuffled(caption: str, rng: np.random.Generator, tries: int = 30) -> list[str] | None:
    """Four different wrong orders of the caption's words; None where one kind of shuffle finds none."""
    words = caption.split()
    content = [i for i, word in enumerate(words) if word in _CONTENT]
    rest = [i for i, word in enumerate(words) if word not in _CONTENT]
    orders = [caption]
    for shuffle in (partial(_among, content), partial(_among, rest), _within_triples, _triples):
        for _ in range(tries):
            attempt = " ".join(words[i] for i in shuffle(len(words), rng))
            if attempt not in orders and not _SENTENCE.fullmatch(attempt):
                orders.append(attempt)
                break
        else:
            return None
    return orders[1:]


def _among(places: list[int], n: int, rng: np.random.Generator) -> list[int]:
    order = list(range(n))
    for place, source in zip(places, rng.permutation(places), strict=True):
        order[place] = int(source)
    return order


def _within_triples(n: int, rng: np.random.Generator) -> list[int]:
    return [int(i) for start in range(0, n, 3) for i in rng.permutation(np.arange(start, min(start + 3, n)))]


def _triples(n: int, rng: np.random.Generator) -> list[int]:
    starts = rng.permutation(np.arange(0, n, 3))
    return [int(i) for start in starts for i in range(start, min(start + 3, n))]
