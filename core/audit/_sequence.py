"""Answers that the answers before them foretell: always the same, in turn, in blocks, any short pattern."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

_LAST = (0, 1, 2, 3)  # answers before that a pattern may look at
_PERIODS = range(2, 9)
_SMOOTHING = 0.5  # Krichevsky and Trofimov, IEEE Transactions on Information Theory 27, 1981


class Foretold(NamedTuple):
    """right : bool (n,), whether the likeliest answer came. certain : bool (n,), whether one was likeliest; without it
    nothing was said. pattern : what foretold best, in words."""

    right: np.ndarray
    certain: np.ndarray
    pattern: str


def foretold(answers: Sequence[Hashable | None], rows: Sequence[int], possible: int) -> Foretold:
    """Each answer from those before it, by a mixture of simple patterns, each weighed by how well it did until then.

    answers : in the order of the file; None where a group has none. rows : the groups' places in the file. possible :
    how many answers there are. Were every answer drawn at random, it would be foretold with probability
    1 / `possible`, whatever was learned before.
    """
    said = dict.fromkeys(answer for answer in answers if answer is not None)
    n, code = len(answers), {answer: i for i, answer in enumerate(said)}
    patterns = [*(_words(*key) for key in _keys())]
    counts: list[dict[Hashable, np.ndarray]] = [{} for _ in patterns]
    weights = np.zeros(len(patterns))  # logarithms
    right, certain = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    before: tuple[Hashable, ...] = ()
    for i, answer in enumerate(answers):
        if answer is None:
            continue
        told = [
            known.setdefault(context, np.zeros(len(code)))
            for known, context in zip(counts, _contexts(before, rows[i]), strict=True)
        ]
        table = np.array(told)  # (patterns, answers)
        chances = (table + _SMOOTHING) / (table.sum(axis=1, keepdims=True) + _SMOOTHING * possible)
        mixed = np.exp(weights - weights.max()) @ chances
        likeliest = np.flatnonzero(mixed >= mixed.max() * (1 - 1e-9))
        certain[i] = len(likeliest) == 1 and bool(before)
        right[i] = certain[i] and likeliest[0] == code[answer]
        weights += np.log(chances[:, code[answer]])
        for known in told:
            known[code[answer]] += 1
        before = (*before, answer)[-max(_LAST) :]
    return Foretold(right, certain, patterns[int(weights.argmax())])


def _keys() -> Iterator[tuple[str, int]]:
    yield from (("last", count) for count in _LAST)
    yield from (("period", period) for period in _PERIODS)


def _contexts(before: tuple[Hashable, ...], row: int) -> Iterator[Hashable]:
    """What each pattern goes by, in the order of `_keys`."""
    for kind, count in _keys():
        yield (before[len(before) - count :] if count else ()) if kind == "last" else row % count


def _words(kind: str, count: int) -> str:
    if kind == "period":
        return f"what repeats every {count} groups"
    if not count:
        return "what came most often before"
    return "the one before" if count == 1 else f"the {count} before"
