"""Benchmarks by name. One file per source, with `names()` and `load(name, split)`; what they need is imported then."""

from __future__ import annotations

from types import ModuleType

from core.datasets import builtin
from core.errors import unknown_name
from core.groups import GroupSet

__all__ = ["DATASETS", "load", "names"]

# First part of a benchmark's name (`scenes/left-right`) -> the module that reads the source.
DATASETS: dict[str, ModuleType] = {
    "scenes": builtin,
}


def names() -> list[str]:
    """Names of all benchmarks."""
    return [name for source in DATASETS.values() for name in source.names()]


def load(name: str, split: str = "test") -> GroupSet:
    """A benchmark's groups.

    name : one of `names()`. split : the built-in sets have train, validation and test.
    Raises InputError for an unknown name (suggesting the nearest) or split, or data that are missing here.
    """
    if name not in names():
        raise unknown_name("benchmark", name, names())
    return DATASETS[name.partition("/")[0]].load(name, split)
