"""Word orders that are no English: the negatives of the 1x5 set."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from core.scenes.captions import SYNONYMS
from core.scenes.world import COLOURS, RELATIONS


def _any(*keys: str) -> str:
    return "|".join(word for key in keys for word in SYNONYMS[key])


# Every sentence that the templates make, adjectives in any order: what does not match is no English here.
_ADJECTIVE = "|".join([_any("large", "small", "metal", "rubber"), *COLOURS])
_NOUN = _any("cube", "sphere", "cylinder", "object")
_THING = f"(?:an?|the) (?:(?:{_ADJECTIVE}) )*(?:{_NOUN})"
_RELATION = f"(?:is )?(?:{_any(*RELATIONS)})"
_OPENING = "(?:(?:there is|we see|an? (?:picture|photo|image) of) )?"
_SENTENCE = re.compile(f"{_OPENING}{_THING}(?: {_RELATION} {_THING}|(?:, {_THING})*(?: and {_THING})?)")
_CONTENT = set(f"{_ADJECTIVE}|{_NOUN}".split("|"))


def grammatical(caption: str) -> bool:
    """Whether the words make a sentence of the captions' small grammar (articles need not agree)."""
    return _SENTENCE.fullmatch(caption) is not None


def shuffled(caption: str, rng: np.random.Generator, tries: int = 30) -> list[str] | None:
    """Four different wrong orders of the caption's words; None where one kind of shuffle finds none."""
    words = caption.split()
    content = [i for i, word in enumerate(words) if word in _CONTENT]
    rest = [i for i, word in enumerate(words) if word not in _CONTENT]
    found = [caption]
    for shuffle in (_some(content), _some(rest), _within_triples, _triples):
        for _ in range(tries):
            attempt = " ".join(words[i] for i in shuffle(len(words), rng))
            if attempt not in found and not grammatical(attempt):
                found.append(attempt)
                break
        else:
            return None
    return found[1:]


Shuffle = Callable[[int, np.random.Generator], list[int]]


def _some(places: list[int]) -> Shuffle:
    """Shuffle the words at these places among themselves."""

    def shuffle(n: int, rng: np.random.Generator) -> list[int]:
        order = list(range(n))
        for place, source in zip(places, rng.permutation(places), strict=True):
            order[place] = int(source)
        return order

    return shuffle


def _within_triples(n: int, rng: np.random.Generator) -> list[int]:
    return [int(i) for start in range(0, n, 3) for i in rng.permutation(np.arange(start, min(start + 3, n)))]


def _triples(n: int, rng: np.random.Generator) -> list[int]:
    starts = rng.permutation(np.arange(0, n, 3))
    return [int(i) for start in starts for i in range(start, min(start + 3, n))]
