"""The readers of benchmarks, one module each, and the registry that they fill."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from core.datasets import (
    _builtin,
    aro,
    bivlc,
    captions,
    clevr,
    cola,
    colorswap,
    crepe,
    eqben,
    graphs,
    imagenet,
    mmvp,
    naturalbench,
    sugarcrepe,
    user_sets,
    valse,
    vismin,
    vlchecklist,
    whatsup,
    winoground,
)
from core.datasets.base import GROUPS, BenchmarkFamily


class Source(Protocol):
    """What the registry holds: a family of benchmarks, or the module of the built-in ones."""

    def names(self, kind: str = GROUPS) -> list[str]: ...
    def state(self, name: str) -> str: ...
    def load(
        self,
        name: str,
        split: str | None,
        folder: Path | None = None,
        images: bool = True,
        partial: bool = False,
    ) -> Any: ...


# Where benchmarks from outside are described and read, in the order of every list: a new source is a line here.
_READERS = (
    winoground,
    mmvp,
    colorswap,
    sugarcrepe,
    whatsup,
    cola,
    crepe,
    aro,
    vlchecklist,
    eqben,
    bivlc,
    vismin,
    naturalbench,
    valse,
    captions,
    imagenet,
    graphs,
    clevr,
)
_OUTSIDE = [benchmark for reader in _READERS for benchmark in reader.BENCHMARKS]
_FAMILIES = dict.fromkeys(benchmark.family for benchmark in _OUTSIDE)

# First part of a benchmark's name (`scenes/left-right`) -> its source.
DATASETS: dict[str, Source] = {
    "scenes": _builtin,
    **{key: BenchmarkFamily([b for b in _OUTSIDE if b.family == key]) for key in _FAMILIES},
    "mine": user_sets.SETS,
}
