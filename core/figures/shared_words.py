"""Which of a query's words an image shares with it, and whether on one object: what a ranked list shows.

[Cola] counts what a model confuses by the words that its distractors share with the query; `shared_word_counts` is
that count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from core.datasets.sets import Retrieval
from core.scenes.captions import SYNONYMS, Phrase


class RankedImage(NamedTuple):
    """One image in a query's list."""

    place: int  # 1 is best
    image: int  # index into the set's images
    score: float
    right: bool
    tied: bool  # some other image of the list has the same score and is of the other kind
    shared: tuple[str, ...]  # words of the query that something in the image is
    missing: tuple[str, ...]
    apart: bool = (
        False  # nothing is missing, but an object that the query names is: Cola's hardest distractor
    )


def ranked_images(
    found: Retrieval, query: int, scores: np.ndarray, pool: str, most: int, right_after: int | None = None
) -> list[RankedImage]:
    """The first `most` images of a query's list; among equal scores the wrong ones come first, as in the metrics.

    scores : float (n,) of this query. pool : "any_word", "all_words" or "everything". right_after : the first `most` of
    the right ones alone that stand behind so many images.
    """
    lists = None if pool == "everything" else getattr(found, pool)
    inside = np.ones(len(scores), dtype=bool) if lists is None else lists[query]
    right = found.relevant[query]
    places = np.flatnonzero(inside)
    order = places[np.lexsort((right[places], -scores[places].astype(np.float64)))]
    at = np.arange(len(order))
    if right_after is not None:
        at = at[right_after:][right[order[right_after:]]]
    shown = [(int(i), order[i]) for i in at[:most]]
    levels = {
        value: set(right[places][scores[places] == value].tolist()) for value in {scores[n] for _, n in shown}
    }
    return [
        RankedImage(
            i + 1,
            int(n),
            float(scores[n]),
            bool(right[n]),
            len(levels[scores[n]]) > 1,
            *_present_and_missing_words(found, query, n),
        )
        for i, n in shown
    ]


class SharedWords(NamedTuple):
    """The images of a query's list that share the same words with it."""

    words: tuple[str, ...]
    right: bool  # one object has them all
    images: int
    place: float  # mean, 1 is best
    first: int  # how many are among the first


def shared_word_counts(
    found: Retrieval, query: int, scores: np.ndarray, pool: str, first: int
) -> list[SharedWords]:
    """A query's whole list by what its images share with the query: the right ones, then the best placed.

    Arguments as in `ranked_images`, places as there; `first` : how far the head of the list goes. [] where the set
    has no graphs to say what is in an image.
    """
    rows = ranked_images(found, query, scores, pool, len(scores))
    if any(not row.shared and not row.missing for row in rows):
        return []
    return _counted(((row, row.shared) for row in rows), first)


def _object_counts(
    found: Retrieval, query: int, scores: np.ndarray, pool: str, first: int
) -> list[SharedWords]:
    """The same of a query for several objects, by which of them an image shows, said in `words` by `_shown_objects`; []
    of any other query, and where nobody knows what is in the images."""
    rows = ranked_images(found, query, scores, pool, len(scores))
    scenes = [getattr(found.images[row.image], "scene", None) for row in rows]
    asked = getattr(found, "asked", None)
    if asked is None or any(scene is None for scene in scenes):
        return []
    said = (_shown_objects(asked.judged(scene), row) for row, scene in zip(rows, scenes, strict=True))
    return _counted(zip(rows, ((each,) for each in said), strict=True), first)


def _shown_objects(judged: Sequence[tuple[str, bool | None]], row: RankedImage) -> str:
    """`red cube, blue ball, left of: no` of an image that shows both on the wrong sides, `red cube only` of one with
    the other missing.

    judged : each object, and the relation, with whether the image has it, as `_AskedObjects.judged` has them.
    """
    if row.right:
        return ", ".join(what for what, _ in judged)
    if row.apart:
        return "every word, on the wrong objects"
    shown = [what for what, is_shown in judged if is_shown]
    if not row.missing:  # every object is there
        what, is_shown = judged[-1]
        return f"{', '.join(shown)}, {what}: {'unclear' if is_shown is None else 'no'}"
    if shown:
        return f"{', '.join(shown)} only"
    return "some of the words, none of the objects" if row.shared else "none of the words"


def _counted(rows: Iterable[tuple[RankedImage, tuple[str, ...]]], first: int) -> list[SharedWords]:
    """Images that are right or wrong and share the same words: the right ones, then the best placed."""
    groups: dict[tuple[bool, tuple[str, ...]], list[int]] = {}
    for row, words in rows:
        groups.setdefault((row.right, words), []).append(row.place)
    shares = [
        SharedWords(
            words, right, len(places), float(np.mean(places)), sum(place <= first for place in places)
        )
        for (right, words), places in groups.items()
    ]
    return sorted(shares, key=lambda share: (not share.right, share.place))


def _present_and_missing_words(
    found: Retrieval, query: int, image: int
) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """The query's words that are somewhere in an image, those that are not, and whether all are there without every
    object that they name; empty where nobody knows what is in the image."""
    scene = getattr(found.images[image], "scene", None)
    phrases, words = _asked_phrases(found, query)
    if not phrases or scene is None:
        return (), (), False
    asked = dict.fromkeys((n, v) for phrase in phrases for n, v in phrase.attributes() if v)
    here = {(name, getattr(o, name)) for o in scene.objects for name, _ in asked}
    said = {value: next((w for w in SYNONYMS.get(value, ()) if w in words), value) for _, value in asked}
    shared = tuple(said[v] for n, v in asked if (n, v) in here)
    missing = tuple(said[v] for n, v in asked if (n, v) not in here)
    whole = all(any(phrase.fits(o) for o in scene.objects) for phrase in phrases)
    return shared, missing, not missing and not whole


def _asked_phrases(found: Retrieval, query: int) -> tuple[tuple[Phrase, ...], set[str]]:
    """The objects that a query names, one or, of a query in one's own words, several, and its words; none where the set
    cannot read them."""
    several = getattr(found, "asked", None)
    if several is not None:
        return several.statement.phrases, {*" ".join(several.nouns).split()}
    phrases = getattr(found, "phrases", None)
    return () if phrases is None else (phrases[query],), {*found.queries[query].split()}
