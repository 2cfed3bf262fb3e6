"""The readers of benchmarks, one module each, and the registry that they fill."""

from __future__ import annotations

from core.datasets import (
    _builtin,
    aro,
    bivlc,
    bla,
    captions,
    cifar10,
    clevr,
    coco_counterfactuals,
    cola,
    colorfoil,
    colorswap,
    crepe,
    eqben,
    graphs,
    imagecode,
    imagenet,
    mmvp,
    naturalbench,
    negbench,
    spec,
    sugarcrepe,
    sugarcrepe_pp,
    svo_probes,
    user_sets,
    valse,
    vismin,
    vlchecklist,
    whatsup,
    winoground,
)
from core.datasets._sources import Source
from core.datasets.base import BenchmarkFamily

# Where benchmarks from outside are described and read, in the order of every list: a new source is a line here.
_READERS = (
    winoground,
    mmvp,
    colorswap,
    sugarcrepe,
    sugarcrepe_pp,
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
    bla,
    negbench,
    spec,
    coco_counterfactuals,
    colorfoil,
    svo_probes,
    imagecode,
    captions,
    imagenet,
    cifar10,
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
