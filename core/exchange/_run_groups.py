"""On which groups a run was: how many its set has, and whether two runs have the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from core import datasets
from core.base.text import counted
from core.datasets.base import GROUPS
from core.datasets.embeddings import _groups_in_file, parse_shape
from core.runs.store import Run
from core.scenes.sets import SETS
from core.ttm.config import TrainConfig
from core.ttm.run import _content_in_run, _content_of


class _RunGroups(NamedTuple):
    """What decides the groups of a run: runs that are alike in this have the same groups.

    A file of embeddings counts by its content, whatever it is called and wherever it lies.
    """

    set: str  # or the content of a file
    split: str
    limit: int | None  # only so many, the first ones; None of all
    tags: tuple[str, ...]
    shape: str  # "" where the run does not say it
    whole: int | None  # how many groups there are, none left out; None where nothing here says so

    @classmethod
    def of(cls, run: Run) -> _RunGroups:
        config = run.config
        tags, shape = tuple(sorted(config.get("tags") or ())), config.get("shape") or ""
        if config.get("embeddings"):
            return cls(
                f"embeddings {_content_in_run(run)}", "", _limit(config), tags, shape or "2x2", _whole(config)
            )
        split = config.get("split") or "test"
        return cls(config.get("benchmark", ""), split, _limit(config), tags, shape, _whole(config))

    def same(self, other: _RunGroups) -> bool:
        """Whether two runs have the same groups. A set of one shape has it whether a run says so or not, and what
        either knows of the whole of it holds for both."""
        whole = self.whole or other.whole
        limits = {_limited(each.limit, whole) for each in (self, other)}
        return self._alike_but_for_the_limit(other) and len(limits) == 1

    def within(self, other: _RunGroups) -> bool:
        """Whether one of two runs has the first groups of the other, or the same: a limit keeps a set's order. Not of a
        flattened set, which is matched as a whole and has no results of a part."""
        return self._alike_but_for_the_limit(other) and not self.set.endswith("@global")

    def _alike_but_for_the_limit(self, other: _RunGroups) -> bool:
        alike = (self.set, self.split, self.tags) == (other.set, other.split, other.tags)
        return alike and len({self.shape, other.shape} - {""}) < 2


_NAMED = 3  # settings, in the sentence on groups in common


class _InCommon(NamedTuple):
    """The groups that two runs share, where one has the first groups of the other."""

    counts: tuple[int, int]  # how many A and B have
    adapted: bool  # whether both were adapted on their groups
    others: tuple[str, ...] = ()  # in what else they differ, each as `iterations 3 / 10`

    @property
    def size(self) -> int:
        """How many both have: the first so many."""
        return min(self.counts)

    @property
    def where(self) -> str:
        """`on the 40 shared groups`"""
        return f"on the {counted(self.size, 'shared group')}"

    @property
    def line(self) -> str:
        """On which groups the two are compared, and what that leaves open."""
        a, b = (counted(count, "group") for count in self.counts)
        few, many = ("A", "B") if self.counts[0] < self.counts[1] else ("B", "A")
        open_yet = ""
        if self.adapted and self.others:
            more = f", and {len(self.others) - _NAMED} more" if len(self.others) > _NAMED else ""
            open_yet = (
                " The models were adapted on different numbers of groups and also differ in (A / B) "
                f"{', '.join(self.others[:_NAMED])}{more}: each of these can make a difference."
            )
        elif self.adapted:
            open_yet = (
                " The models were adapted on different numbers of groups, which alone can make a difference."
            )
        return (
            f"A has {a} and B {b}; those of {few} are the first of {many}. They are compared {self.where}, each with "
            f"its last scores.{open_yet}"
        )


def _limit(config: Mapping[str, Any]) -> int | None:
    """How many groups of its set a run was limited to; None where that is all of them."""
    return None if config.get("groups") is None else _limited(int(config["groups"]), _whole(config))


def _limited(asked: int | None, whole: int | None) -> int | None:
    return None if asked is None or (whole is not None and asked >= whole) else asked


def _batch(batch: int | None, shape: str) -> int | None:
    """How many groups a run of test-time matching trains on at once: what a default stands for, once the shape of its
    groups is known.

    shape : `2x2`; "" where nothing says it.
    """
    return TrainConfig(batch=batch).units(parse_shape(shape)[0]) if shape else batch


def _whole(config: Mapping[str, Any]) -> int | None:
    """How many groups a run's set or file has, none left out; None where nothing says so."""
    if path := config.get("embeddings"):
        kept = config.get("embeddings_content") in (None, _content_of(Path(path)))
        return _groups_in_file(Path(path), config.get("shape") or "2x2") if kept else None
    if config.get("shape") or config.get("tags"):
        return None
    name, split = config.get("benchmark", "").partition("~")[0], config.get("split") or "test"
    if name in SETS:
        return SETS[name].sizes.get(split)
    entry = datasets.benchmark_entry(name)
    known = entry.counts.get(split) if entry is not None and entry.kind == GROUPS else None
    return known[0] if known else None
