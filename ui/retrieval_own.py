"""A query in a visitor's own words: its pictures, what is known of it, and the queries of the set that come near."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from difflib import get_close_matches
from typing import Any

import streamlit as st

from core import datasets
from core.base import public_mode
from core.base.errors import InputError
from core.figures.text import escape_markdown
from core.scorers.vocabulary import vocabulary_note
from core.scoring.retrieval import RetrievalSubset
from ui.loaders import model_source
from ui.old_links import seed_widgets_from_address
from ui.selection import set_state
from ui.trained import in_words

LONGEST = 200  # characters of a query
_AROUND = " .,;:!?…\"'“”‘’„«»()[]¡¿"  # punctuation that is no part of a query, where it stands around one
# Words that the built-in models know; some of the first pictures have both, on different objects.
TELLING = "a green sphere"


def plain_words(text: str) -> str:
    """A query as it is matched and scored: in small letters, single spaces, without punctuation around it. A model
    scores “A GREEN SPHERE!” otherwise than “a green sphere”, and nobody asked it to.

    >>> plain_words("  A GREEN  sphere!"), plain_words(" ... ")
    ('a green sphere', '')
    """
    return " ".join(text.lower().split()).strip(_AROUND)


def answer_typed(field: str, queries: Sequence[str], offered: Sequence[str], first: int) -> None:
    """Before a query's field is drawn: what was typed as the set asks it, where it does; the first query where nothing
    was typed, or what was chosen is not offered. Written into the field, which would keep its former words."""
    state = st.session_state
    typed = state[field] if field in state else st.query_params.get(field)
    if field not in state and typed is None:
        return
    typed = str(typed or "")
    said = plain_words(typed)
    known = typed if typed in queries else said  # a set may ask in other than small letters
    instead = known if known in offered else offered[first] if not said or known in queries else typed
    if instead == typed:
        return
    if field not in state and field in st.query_params:  # of a link, which the field would begin with
        st.query_params[field] = instead
        seed_widgets_from_address()
    state[field] = instead


def own_query(subset: RetrievalSubset, text: str) -> RetrievalSubset:
    """The pictures with a query of the visitor's own, as `plain_words` has it; InputError where it is too long."""
    if len(text) > LONGEST:
        raise InputError(f"The query has {len(text)} characters; use at most {LONGEST}.")
    return with_own_query(subset.name, len(subset), plain_words(text) or text)


@st.cache_resource(max_entries=32, show_spinner=False)
def with_own_query(name: str, images: int, text: str) -> RetrievalSubset:
    """A retrieval set over its first so many images with one query of the visitor's own."""
    found = datasets.load_retrieval(public_mode.check_benchmark(name))
    return RetrievalSubset.asking(found, text, min(images, len(found.images)))


def unknown_words(models: Sequence[str], text: str) -> list[str]:
    """Which words of a query built-in models do not know, in a sentence for each that lacks one, and in one sentence
    where all lack the same; of other models nothing is said."""

    def note(model: str, called: str) -> str | None:
        return vocabulary_note(called, model_source(model), "", [text], even_if_known=False, of="this query")

    shared = {note(model, "Each of the two models") for model in models}
    if len(models) == 2 and len(shared) == 1:
        return [said for said in shared if said]
    return [said for model in models if (said := note(model, in_words(model)))]


_LITTLE_WORDS = frozenset({
    "a", "an", "and", "are", "at", "by", "in", "is", "of", "on", "that", "the", "there", "to", "which", "with",
})  # fmt: skip


def nearest_queries(text: str, queries: Sequence[str], most: int = 3) -> list[str]:
    """Of the queries that share the most words with a text, at most so many, first those with the fewest other words,
    of these the most alike; none that shares no word. Articles and prepositions are no words here, and a plural is its
    singular."""

    def words(said: str) -> set[str]:
        found = {word.strip(".,;:!?") for word in said.lower().split()}
        return {word.removesuffix("s") for word in found - _LITTLE_WORDS}

    wanted = words(text)
    shared = {query: len(wanted & words(query)) for query in queries}
    highest = max(shared.values(), default=0)
    candidates = [query for query, count in shared.items() if count == highest > 0]
    alike = get_close_matches(text.lower(), candidates, max(len(candidates), 1), 0.0)
    return sorted(alike, key=lambda query: len(words(query) - wanted))[:most]


def nearest_in_set(found: RetrievalSubset, text: str, most: int = 3) -> list[str]:
    """Queries of a set for words that nobody can judge, at most so many: first its own for each object that stands in
    them, then those of `nearest_queries`. Of “a red cube left of a dog” that is `a red block`, as the set calls it."""
    read = _THAT_IS.sub(r"\2 \1", text)
    return [*dict.fromkeys([*_objects_within(found, read), *nearest_queries(text, found.queries, most)])][
        :most
    ]


def _objects_within(found: RetrievalSubset, text: str) -> list[str]:
    """The set's queries for objects that stand in a text, the longest run of words for each first."""
    read = getattr(datasets.load_retrieval(public_mode.check_benchmark(found.name)), "asking", None)
    if read is None or found.phrases is None:
        return []
    words, named = [word.strip(".,;:!?") for word in text[:LONGEST].split()][:_MOST_WORDS], list[str]()
    start = 0
    while start < len(words):
        for end in range(min(len(words), start + _LONGEST_OBJECT), start + 1, -1):
            asked = read(said := " ".join(words[start:end]))
            if asked is not None and asked.phrases and (own := _query_for(found, asked.phrases[0], said)):
                named.append(own)
                start = end - 1
                break
        start += 1
    return named


# `ball that is green`, read as `green ball`.
_THAT_IS = re.compile(r"\b([\w-]+) (?:that|which) (?:is|are) ([\w-]+)")
_MOST_WORDS, _LONGEST_OBJECT = 16, 6  # that are read of a query; of one object, its article among them


def queries_for_objects(found: RetrievalSubset, asked: RetrievalSubset, most: int = 3) -> list[str]:
    """Queries for one each of the objects that a query of the visitor's own names, at most so many, in the visitor's
    own words: `a red cube`, where the set asks for `a red block`."""
    if found.phrases is None or asked.asked is None:
        return []
    objects = zip(asked.asked.statement.phrases, asked.asked.nouns, strict=True)
    alone = {_with_article(noun): phrase for phrase, noun in objects}
    read = {each: own_query(found, each) for each in alone}
    same = [each for each, phrase in alone.items() if read[each].phrases == (phrase,)]
    return [*dict.fromkeys(same)][:most]


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def wording_of_set(found: RetrievalSubset, asked: RetrievalSubset) -> str:
    """The query of a set that names the same object as one of the visitor's own, the most alike in words; "" where none
    does, or the set cannot read what its queries name."""
    if found.phrases is None or asked.phrases is None:
        return ""
    return _query_for(found, asked.phrases[0], asked.queries[0])


def _query_for(found: RetrievalSubset, phrase: Any, text: str) -> str:
    """The query of a set for this object that is the most alike in words; "" where it has none."""
    named = zip(found.phrases or (), found.queries, strict=True)
    same = [query for own, query in named if own == phrase]
    return next(iter(get_close_matches(text.lower(), same, 1, 0.0)), "")


def with_article(found: RetrievalSubset, asked: RetrievalSubset) -> str:
    """A query of the visitor's own with an article, as the set's have one, `red cube` as `a red cube`; "" where it has
    one, or would ask for something else."""
    text = asked.queries[0].strip().lower()
    if asked.phrases is None or not text or text.split()[0] in ("a", "an", "the"):
        return ""
    whole = _with_article(text)
    if whole in found.queries:
        return whole
    is_same = own_query(found, whole).phrases == asked.phrases
    return whole if is_same else ""


def say_what_is_known(subset: RetrievalSubset, asked: RetrievalSubset, models: Sequence[str]) -> list[str]:
    """Of a query of the visitor's own what is known: the set's query for the same object, what several objects are
    judged by, or that nobody knows which pictures are right, and the words that a model does not know. Returns its own
    words in the form of the set's, and the set's query, or else the nearest ones, for `ask_buttons`."""
    text, said = asked.queries[0], []
    wording = wording_of_set(subset, asked)
    others = [*dict.fromkeys(filter(None, (with_article(subset, asked), wording)))]
    if wording:
        said = [f"The set asks for this object as “{wording}”; a model may score your wording differently."]
    elif asked.asked is not None:
        said, others = [rule_of_objects(asked.asked)], queries_for_objects(subset, asked)
        said += filter(None, [words_read_as(asked.asked)])
        if others:
            is_one = len(asked.asked.nouns) == 1
            said += [f"The button{'' if is_one else 's'} below ask{_ASKS_FOR[is_one]} alone."]
    elif asked.phrases is None:
        said = ["This is no query of the set, so nobody knows which pictures are right."]
        others = nearest_in_set(subset, text)
        said += ["The buttons below ask the nearest queries of the set."] if others else []
        others = others or [subset.queries[telling(subset, list(range(len(subset.queries))))]]
    unknown = unknown_words(models, text)
    if said + unknown:
        box, icon = (st.warning, "dictionary") if unknown else (st.info, "edit")
        # Above a phone's pictures, too, which have no marks: why they have none. Other notes come below them there.
        is_unmarked = asked.phrases is None and asked.asked is None and not unknown
        with st.container(key="nobody-knows") if is_unmarked else nullcontext():
            box(escape_markdown(" ".join(said + unknown)), icon=f":material/{icon}:")
    return others


def ask_buttons(queries: Sequence[str], wording: str, field: str) -> None:
    """Buttons that ask queries in the field of this key, the first one the way to go. wording : the set's for the
    object that was asked for; "" where there is none, and no button is the way to go."""
    if not queries:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="own-words"):
        for place, query in enumerate(queries):
            st.button(
                f"Ask “{escape_markdown(query)}”", on_click=set_state, args=({field: query},),
                key=f"ask-{place}", type="primary" if wording and place == 0 else "secondary",
                icon=":material/arrow_forward:",
            )  # fmt: skip


_ASKS_FOR = {True: "s for it", False: " for one of them"}  # by whether one object is named


def rule_of_objects(asked: Any) -> str:
    """What makes a picture right for a query for several objects, in words."""
    count = len(asked.nouns)
    objects = "the object" if count == 1 else "both objects" if count == 2 else f"all {count} objects"
    if asked.not_judged:
        said, be = ("The words", "are") if " " in asked.not_judged else ("The word", "is")
        return (
            f"{said} “{asked.not_judged}” {be} not judged: a picture is right that shows {objects}, wherever "
            f"{'it is' if count == 1 else 'they are'}."
        )
    if asked.statement.relation is None:
        return f"This is no query of the set. A picture is right that shows {objects}."
    return (
        f"This is no query of the set. A picture is right that shows {objects}, the first {asked.statement.relation} "
        "the second; where one could argue about that (unclear), it counts as wrong."
    )


def words_read_as(asked: Any) -> str:
    """`“tiny” is read as “small”.`; "" where every word is one of the world's."""
    pairs = [f"“{typed}” is read as “{word}”" for typed, word in asked.read_as]
    return f"{', '.join(pairs)}." if pairs else ""


def telling(subset: RetrievalSubset, keep: list[int]) -> int:
    """The place in `keep` of the query that shows most; else of the first one with a colour (the built-in models are
    sure of it) and another attribute to confuse; the first one where there is none."""
    first = [place for place, i in enumerate(keep) if subset.queries[i] == TELLING]
    if first:
        return first[0]
    if subset.attributes is None:
        return 0
    coloured = [getattr(phrase, "colour", None) for phrase in getattr(subset, "phrases", ())]
    tells = (
        place for place, i in enumerate(keep) if subset.attributes[i] >= 2 and (not coloured or coloured[i])
    )
    return next(tells, 0)
