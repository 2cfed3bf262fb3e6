"""On which groups a run was: how many its set has, and whether two runs have the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from core import datasets
from core.datasets.base import GROUPS
from core.runs.store import Run
from core.scenes.sets import SETS
from core.ttm.run import _content_in_run


class _RunGroups(NamedTuple):
    """What decides the groups of a run: runs that are alike in this have the same groups.

    A file of embeddings counts by its content, whatever it is called and wherever it lies.
    """

    set: str  # or the content of a file
    split: str
    limit: int | None  # only so many, the first ones; None of all
    tags: tuple[str, ...]
    shape: str  # "" where the run does not say it

    @classmethod
    def of(cls, run: Run) -> _RunGroups:
        config = run.config
        tags, shape = tuple(sorted(config.get("tags") or ())), config.get("shape") or ""
        if config.get("embeddings"):
            return cls(f"embeddings {_content_in_run(run)}", "", config.get("groups"), tags, shape or "2x2")
        split = config.get("split") or "test"
        return cls(config.get("benchmark", ""), split, _limit(config), tags, shape)

    def same(self, other: _RunGroups) -> bool:
        """Whether two runs have the same groups. A set of one shape has it whether a run says so or not."""
        return self[:-1] == other[:-1] and (not (self.shape and other.shape) or self.shape == other.shape)


def _limit(config: Mapping[str, Any]) -> int | None:
    """How many groups of its set a run was limited to; None where that is all of them."""
    asked, whole = config.get("groups"), _whole(config)
    return None if asked is None or (whole is not None and asked >= whole) else int(asked)


def _whole(config: Mapping[str, Any]) -> int | None:
    """How many groups a run's set has, none left out; None where no table says so."""
    if config.get("embeddings") or config.get("shape") or config.get("tags"):
        return None
    name, split = config.get("benchmark", "").partition("~")[0], config.get("split") or "test"
    if name in SETS:
        return SETS[name].sizes.get(split)
    entry = datasets.benchmark_entry(name)
    known = entry.counts.get(split) if entry is not None and entry.kind == GROUPS else None
    return known[0] if known else None
