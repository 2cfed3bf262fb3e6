"""Answers in words or letters as numbers of choices."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np

from core.base.errors import InputError
from core.rejudge._submission import NO_ANSWER, Answers, count_paired, shared_groups

_LETTER = re.compile(
    r"(?:(?:the\s+)?(?:correct\s+)?answer\s*(?:is|:)?\s*)?[(\[]?([a-z])[)\]]?[.:,]?", re.IGNORECASE
)
_DECORATION = " \t\n.,:;!*()[]\"'"


def choice_of(text: object, labels: Sequence[str]) -> int:
    """The number of the choice that an answer names, by its label or by its letter alone; `NO_ANSWER` for any other.

    >>> choice_of("(B)", ["A", "B"]), choice_of("no.", ["yes", "no"]), choice_of("I cannot tell", ["A", "B"])
    (1, 1, -1)
    """
    plain = str(text).strip(_DECORATION).lower()
    low = [label.strip(_DECORATION).lower() for label in labels]
    if plain in low:
        return low.index(plain)
    letter = _LETTER.fullmatch(str(text).strip(" \t\n\"'*"))
    return low.index(letter[1].lower()) if letter and letter[1].lower() in low else NO_ANSWER


def answers(
    path: Path,
    ids: Sequence[str],
    chosen: Sequence[int],
    own: Sequence[int],
    choices: Sequence[int],
    groups: Sequence[str] | None,
    keys: Sequence[Hashable] | None = None,
) -> Answers:
    """Answers, checked; grouped as the file says, or else where questions share their choices (`keys`)."""
    if not ids:
        raise InputError(f"{path} holds no answers; run its tool to the end, or choose another file.")
    if min(choices) < 2:
        raise InputError(f"{path} has a question with fewer than two choices; give a task of choices.")
    seen: set[str] = set()
    twice = next((name for name in ids if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise InputError(f"{path} has item {twice!r} twice; give one run of one task.")
    if groups is None and keys is not None and (found := shared_groups(keys, own)) is not None:
        names = {i: f"{ids[g[0]]}+" for g in found for i in g}
        groups = [names[i] for i in range(len(ids))]
    taken, right, offered = (np.array(x, dtype=np.int64) for x in (chosen, own, choices))
    paired = count_paired(keys, own) if groups is None and keys is not None else 0
    return Answers(list(ids), taken, right, offered, None if groups is None else list(groups), paired)
