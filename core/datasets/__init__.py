"""Benchmarks by name. One file per source; what a source needs is looked for when it is asked for, never downloaded.

Data of `sugarcrepe/swap_obj` are looked for in the folder `sugarcrepe` of `$CROSSMATCH_DATA`, then of the user's data
folder (`core.base.paths.data_roots`); any other folder can be named. `core/datasets/downloads.py` fetches
what is public.
"""

from __future__ import annotations

from pathlib import Path

from core.base.errors import InputError, unknown_name
from core.datasets import _sources, _variants
from core.datasets._shifts import SHIFTS
from core.datasets.base import GRAPHS, GROUPS, RETRIEVAL, Benchmark, BenchmarkFamily
from core.datasets.readers import DATASETS
from core.datasets.sets import GraphSet, Retrieval
from core.groups import GroupSet

__all__ = [
    "DATASETS",
    "SHIFTS",
    "Benchmark",
    "benchmark_entry",
    "load",
    "load_graphs",
    "load_retrieval",
    "names",
    "state",
]


def names(kind: str | None = GROUPS) -> list[str]:
    """Names of all benchmarks of a kind: groups, retrieval, scene graphs; None is every kind.

    The user's own (`mine/NAME`) come last; they alone are looked for on disk.
    """
    kinds = (GROUPS, RETRIEVAL, GRAPHS) if kind is None else (kind,)
    return [name for source in DATASETS.values() for each in kinds for name in source.names(each)]


def benchmark_entry(name: str) -> Benchmark | None:
    """The facts of a benchmark (licence, counts, metric, layout, ...); None for built-in ones and the user's own."""
    source, name = _source(name, None), _variants.parse(name, names).base
    return source.benchmarks[name] if isinstance(source, BenchmarkFamily) else None


def state(name: str) -> str:
    """`built in`, `found at PATH`, or `needs: ` and the exact next step."""
    return _source(name, None).state(_variants.parse(name, names).base)


def load(
    name: str,
    split: str = "test",
    folder: Path | None = None,
    images: bool = True,
    partial: bool = False,
) -> GroupSet:
    """A benchmark's groups.

    name : one of `names()`. split : the built-in sets have train, validation and test, most others test alone.
    folder : a folder with the data in upstream's layout, instead of the usual places. images : False accepts that
    image files are not there, for scoring captions alone. partial : accept another number of groups than upstream's.
    Raises InputError for an unknown name or split (suggesting the nearest), and for data that are missing or damaged,
    naming the first missing file.

    A suffix makes another set of any: `winoground@global` (`core/datasets/_variants.py`).
    """
    source, variant = _source(name, GROUPS), _variants.parse(name, names)
    return _variants.apply(variant, source.load(variant.base, split, folder, images, partial))


def load_retrieval(
    name: str,
    split: str = "test",
    folder: Path | None = None,
    images: bool = True,
    partial: bool = False,
) -> Retrieval:
    """A benchmark's queries and images; arguments as for `load`, names are `names("retrieval")`."""
    return _source(name, RETRIEVAL).load(name, split, folder, images, partial)


def load_graphs(
    name: str,
    split: str | None = None,
    folder: Path | None = None,
    images: bool = True,
    partial: bool = False,
) -> GraphSet:
    """Images with scene graphs; arguments as for `load`, names are `names("scene graphs")`, no split is the first."""
    return _source(name, GRAPHS).load(name, split, folder, images, partial)


# What measures a benchmark of the other kind, as the error for it says.
_MEASURED_BY = {GROUPS: "crossmatch evaluate", RETRIEVAL: "crossmatch recall"}


def _source(name: str, kind: str | None) -> _sources.Source:
    """The source of a benchmark that exists and is of the wanted kind."""
    base = _variants.parse(name, names).base
    if name in names(kind) or (base != name and kind in (None, GROUPS)):
        return DATASETS[base.partition("/")[0]]
    for other in (GROUPS, RETRIEVAL, GRAPHS):
        if kind is not None and name in names(other):
            measured = f", or measure it with `{_MEASURED_BY[other]}`" if other in _MEASURED_BY else ""
            raise InputError(
                f"{name} is a benchmark of {other}, not of {kind}; choose one of {kind}{measured}."
            )
    raise unknown_name("benchmark", name, names(kind))
