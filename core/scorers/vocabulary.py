"""Which words of captions a model with a vocabulary of whole words does not know. Imports no torch."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from core.scorers.hub import _trained_strategies, builtin_models

_WORD = re.compile(r"\w+")  # as the tokenizers of the built-in models split
_MOST = 5  # unknown words that are named
_FEW = _MOST  # a text of so many words at most has all of its unknown ones named, and no share
# Models whose training captions said neither size nor material, and the words for these: tokens without training.
_WITHOUT_DETAILS = ("builtin/clip", "builtin/clip-early", "builtin/siglip")
_DETAILS = ("large", "big", "small", "little", "metal", "shiny", "rubber", "matte")


class _UnknownWords(NamedTuple):
    """Words in captions, repetitions counted; how many of them are unknown, and the most frequent of these."""

    words: int
    unknown: int
    most: tuple[str, ...]
    all: bool  # these are all that are unknown

    @property
    def share(self) -> float:
        """In [0, 1]; 0 where there are no words."""
        return self.unknown / self.words if self.words else 0.0


def _unknown_words(captions: Iterable[str], folder: Path) -> _UnknownWords | None:
    """The words of captions that the model in a folder reads as one and the same unknown token.

    None for a model whose tokenizer splits unknown words into known parts, as all models of the hub do.
    """
    known = _vocabulary(folder / "tokenizer.json")
    if known is None:
        return None
    words = Counter(word for caption in captions for word in _WORD.findall(caption.lower()))
    unknown = Counter({word: count for word, count in words.items() if word not in known})
    return _UnknownWords(
        words.total(),
        unknown.total(),
        tuple(word for word, _ in unknown.most_common(_MOST)),
        len(unknown) <= _MOST,
    )


def vocabulary_note(
    model: str,
    source: str,
    benchmark: str,
    captions: Iterable[str],
    even_if_known: bool = True,
    of: str = "these captions",
) -> str | None:
    """What to say before a built-in model's verdicts on a benchmark that is not built in; None for any other pair.

    model : as people know it. source : its built-in name or folder, with or without a kind of score before a colon.
    even_if_known : False says nothing of captions of which the model knows every word. of : what the captions are
    called.
    """
    folder = _tokenizer_folder(source.rpartition(":")[2])
    if benchmark.startswith("scenes/") or (unknown := _unknown_words(captions, folder)) is None:
        return None
    if not unknown.unknown and not even_if_known:
        return None
    if not unknown.unknown:
        return f"{model} knows every word of {of}, but it was trained on drawn scenes alone."
    begun = f"{model} was trained on drawn scenes alone and does not know"
    # Of a query the words are read in less time than a share; one word is named in any text.
    if unknown.words <= _FEW or len(unknown.most) == 1:
        *more, last = (f"“{word}”" for word in unknown.most)
        named = f"{', '.join(more)} and {last}" if more else last
        how = "all of them as one unknown word" if more else "it as an unknown word"
        return f"{begun} the word{'s' if more else ''} {named} in {of}. It reads {how}."
    named = f"{':' if unknown.all else ', such as'} {', '.join(unknown.most)}"
    return (
        f"{begun} {100 * unknown.share:.0f} % of the words in {of}{named}. "
        "It reads all of them as one unknown word."
    )


def _tokenizer_folder(source: str) -> Path:
    """The folder whose tokenizer a model reads with: of one of Cola's strategies that of its base."""
    known = builtin_models() | _trained_strategies()
    folder = known.get(source) or Path(source)
    try:
        base = json.loads((folder / "config.json").read_text("utf-8")).get("base", "")
    except (OSError, ValueError, AttributeError):
        base = ""
    return known.get(base) or Path(base) if base else folder


def _never_read_note(model: str, captions: Iterable[str]) -> str:
    """Words of captions that a built-in model knows and never read in training; "" where there are none. model : a
    built-in name."""
    if model not in _WITHOUT_DETAILS:
        return ""
    said = {word for caption in captions for word in _WORD.findall(caption.lower())}
    unread = [f"“{word}”" for word in _DETAILS if word in said]
    return f"{model} never read {' or '.join(unread)} in training" if unread else ""


@lru_cache(maxsize=32)
def _vocabulary(path: Path) -> frozenset[str] | None:
    """The words of a tokenizer file; None for one that is not there or does not read whole words."""
    try:
        model = json.loads(path.read_text("utf-8"))["model"]
        return frozenset(model["vocab"]) if model["type"] == "WordLevel" else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
