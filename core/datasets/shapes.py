"""Benchmarks that mix group shapes: what is scored and adapted at once is one array, so of one shape.

Imports nothing heavy: descriptions of runs are checked here before anything is loaded.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from core import datasets
from core.base.errors import InputError
from core.datasets.embeddings import parse_shape

if TYPE_CHECKING:
    from core.groups import GroupSet


def check_one_shape(benchmark: str, split: str = "test") -> None:
    """Raise InputError where a benchmark that is here mixes shapes; one that is not here says so when it is loaded."""
    if benchmark.startswith("scenes/") or benchmark not in datasets.names():
        return
    entry = datasets.benchmark_entry(benchmark)
    if (entry is not None and entry.shape is not None) or datasets.state(benchmark).startswith("needs"):
        return
    shapes, first = _shapes(benchmark, split, datasets.state(benchmark))
    if first:
        raise InputError(
            f"{benchmark} mixes {shapes}, and a run takes groups of one shape; name it, such as shape {first}."
        )


@lru_cache(maxsize=32)  # a form asks at every change
def _shapes(benchmark: str, split: str, state: str) -> tuple[str, str]:
    """The shapes of a benchmark in words, and its first one; nothing where all groups have the same.

    state : what `core.datasets.state` says, which names the folder.
    """
    groups = datasets.load(benchmark, split, images=False)
    return (
        (_shape_counts(groups), "{}x{}".format(*min(groups.shapes))) if len(groups.shapes) > 1 else ("", "")
    )


def of_shape(groups: GroupSet, shape: str | None) -> GroupSet:
    """The groups of one shape, `1x2`, in their order; all of them for None.

    Raises InputError, with the shapes there are, where no group has it.
    """
    if shape is None:
        return groups

    buckets = groups.buckets()
    pair = parse_shape(shape)
    if pair not in buckets:
        raise InputError(
            f"{groups.name} has {_shape_counts(groups)}, none of {shape}; name a shape that it has."
        )
    return buckets[pair]


def _shape_counts(groups: GroupSet) -> str:
    """`groups of 1x2 (10) and 2x2 (4)`"""
    return "groups of " + " and ".join(f"{m}x{k} ({n})" for (m, k), n in sorted(groups.shapes.items()))


def first_groups(groups: GroupSet, count: int | None) -> GroupSet:
    """The first so many groups; None: all."""
    if count is None:
        return groups
    if not 1 <= count <= len(groups):
        raise InputError(f"{count} groups were asked for; {groups.name} has 1 to {len(groups)} to give.")
    return groups.select(range(count))
