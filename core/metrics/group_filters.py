"""Choosing groups to look at: by tag, verdict and words, in an order, or by what is surprising about them.

Pure functions from a set and its evaluation to masks and orders; pages and demos share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from core.base.errors import InputError, unknown_name
from core.base.lazy import pandas as pd
from core.groups import Group, GroupSet
from core.metrics.evaluation import MAX_SLICES, Evaluation, _masks_by_value, tags_frame
from core.metrics.groups import GROUP_MATCH, GROUP_SCORE, METRICS

_Tagged = TypeVar("_Tagged", bound=Any)  # a set, an evaluation or a study: `ids`, `tags` and `select(mask)`
_NEAR_TIE_SHARE = 0.1  # share of the untied groups that count as near ties: those with the smallest margins
ORDERS = {"as in the set": 0, "margin, smallest first": 1, "margin, largest first": -1}


def tag_options(groups: GroupSet) -> dict[str, np.ndarray]:
    """`tag: value` -> the groups that carry it, bool (n,), for tags that slice rather than name groups."""
    return _options(tags_frame([g.tags for g in groups]))


def _options(frame: pd.DataFrame | None) -> dict[str, np.ndarray]:
    if frame is None:
        return {}
    columns = [c for c in frame.columns if 2 <= frame[c].nunique() <= MAX_SLICES]
    return {f"{c}: {v}": mask for c in columns for v, mask in _masks_by_value(frame[c]).items()}


def tag_mask(options: Mapping[str, np.ndarray], tags: Sequence[str], n: int) -> np.ndarray:
    """Groups with one of the wanted values of every wanted tag, bool (n,)."""
    wanted: dict[str, np.ndarray] = {}
    for tag in tags:
        name = tag.split(": ", 1)[0]
        wanted[name] = wanted.get(name, np.zeros(n, bool)) | options[tag]
    return np.logical_and.reduce([np.ones(n, bool), *wanted.values()])


def with_tags(groups: _Tagged, tags: Sequence[str]) -> _Tagged:
    """The groups, an evaluation or a study of them, with one of the wanted values of every wanted tag.

    tags : as `topic: spatial`; the blank may be missing. Raises InputError for an unknown tag, and where no group is
    left.
    """
    if not tags:
        return groups
    options = tag_options(groups) if isinstance(groups, GroupSet) else _options(groups.tags)
    if not options:
        raise InputError(
            f"These groups have no tags to be chosen by, such as {tags[0]!r}; a score file carries tags in columns of "
            "its own, and a file of them goes with --tags to `crossmatch evaluate` or `compare`."
        )
    blankless = {option.replace(": ", ":", 1): option for option in options}
    tags = [tag if tag in options else blankless.get(tag, tag) for tag in tags]
    for tag in tags:
        if tag not in options:
            raise unknown_name("tag", tag, options)
    mask = tag_mask(options, tags, len(groups.ids))
    if not mask.any():
        raise InputError(f"No group has all of these tags: {', '.join(tags)}; leave one out.")
    return groups.select(mask)


def verdict_options(evaluation: Evaluation) -> dict[str, np.ndarray]:
    """`GroupMatch right` and the like -> the groups it holds for, bool (n,)."""
    options: dict[str, np.ndarray] = {}
    for name, outcome in evaluation.outcomes.items():
        right = outcome.value == 1
        options |= {f"{METRICS[name].label} right": right, f"{METRICS[name].label} wrong": ~right}
    return {**options, "tied": evaluation.matches.tied}


class MarginRange(NamedTuple):
    """Margins from `low` to below `high`."""

    low: float
    high: float = float("inf")

    @classmethod
    def parse(cls, text: str) -> MarginRange:
        """From `0.2..0.25`, or from `0.2..` without an end; raises InputError for anything else, and where no margin
        can lie in it."""
        low, _, high = text.partition("..")
        try:
            found = cls(float(low), float(high) if high else float("inf"))
        except ValueError:
            raise InputError(
                f"{text!r} is no range of margins; write it as 0.2..0.25, or 0.2.. without an end."
            ) from None
        if not found.low < found.high:
            raise InputError(
                f"{text!r} is no range of margins: its first number is not the smaller one; write it as 0.2..0.25."
            )
        return found

    def __str__(self) -> str:
        return f"{self.low}.." if np.isinf(self.high) else f"{self.low}..{self.high}"

    @property
    def description(self) -> str:
        """`margin 0.2 to 0.25`"""
        return f"margin {self.low:.3g} " + ("or larger" if np.isinf(self.high) else f"to {self.high:.3g}")

    def holds(self, margins: np.ndarray) -> np.ndarray:
        """Which margins lie in it, bool (n,)."""
        return (margins >= self.low) & (margins < self.high)

    def shortest(self, margins: np.ndarray) -> MarginRange:
        """The range with the fewest digits that parts these margins, float (n,), where this one does."""
        return MarginRange(*(_shortest(edge, margins) for edge in self))


def _shortest(edge: float, margins: np.ndarray) -> float:
    rounded = (float(f"{edge:.{digits}g}") for digits in range(2, 17))
    return next((each for each in rounded if ((margins >= each) == (margins >= edge)).all()), edge)


def filter_groups(
    groups: GroupSet,
    evaluation: Evaluation,
    words: str = "",
    verdicts: Sequence[str] = (),
    order: str = "as in the set",
    margins: MarginRange | None = None,
) -> np.ndarray:
    """Indices of the groups whose captions hold the words (see `_search_terms`), for which all verdicts hold and whose
    margin is in range, in the given order."""
    options = verdict_options(evaluation)
    mask = np.logical_and.reduce([np.ones(len(groups), bool), *(options[name] for name in verdicts)])
    if margins is not None:
        mask &= margins.holds(evaluation.matches.margin)
    if wanted := _search_terms(groups, words):
        mask &= np.array([all(term in text for term in wanted) for text in map(_text, groups)])
    indices, direction = np.flatnonzero(mask), ORDERS[order]
    if not direction:
        return indices
    return indices[np.argsort(direction * evaluation.matches.margin[indices], kind="stable")]


def _search_terms(groups: GroupSet, words: str) -> list[str]:
    """What is looked for: the words side by side as they are typed; where no caption has them so, each by itself."""
    wanted = words.lower().split()
    phrase = " ".join(wanted)
    return [phrase] if wanted and any(phrase in _text(group) for group in groups) else wanted


def _text(group: Group) -> str:
    """All captions of a group, a line each."""
    return "\n".join(" ".join(caption.lower().split()) for caption in group.captions)


_DISAGREEING = f"{METRICS[GROUP_MATCH].label} right, {METRICS[GROUP_SCORE].label} wrong"


def notable_groups(evaluation: Evaluation) -> dict[str, np.ndarray]:
    """Kinds of groups worth a look, bool (n,) each."""
    margin, tied = evaluation.matches.margin, evaluation.matches.tied
    right, strict = (evaluation.outcomes[name].value == 1 for name in (GROUP_MATCH, GROUP_SCORE))
    limit = float(np.quantile(margin[~tied], _NEAR_TIE_SHARE)) if (~tied).any() else 0.0
    wrong = f"{METRICS[GROUP_MATCH].label} wrong"
    return {
        _DISAGREEING: right & ~strict,
        wrong: ~right,
        "near tie": ~tied & (margin <= limit),
        "tie": tied,
    }


def clearest_disagreement(evaluation: Evaluation) -> tuple[int | None, float]:
    """The group matched right by the widest margin although GroupScore fails, and that margin as a share of the
    widest of all; None and 0 where there is no such group."""
    mask = notable_groups(evaluation)[_DISAGREEING]
    if not mask.any():
        return None, 0.0
    margin = np.where(mask, evaluation.matches.margin, -1.0)
    index = int(margin.argmax())
    return index, float(margin[index] / evaluation.matches.margin.max())
