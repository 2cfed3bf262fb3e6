"""SPEC: a generated image and captions that differ in the size, place, existence or number of what it shows.

Layout: `<subset>/image2text.json` of the archive data.zip of huggingface.co/datasets/wjpoom/SPEC, a list of
`{"query": image, "keys": [captions], "label": index}` as github.com/wjpoom/SPEC (spec/dataset.py) reads it; images lie
in the subset's folder. Its text2image.json, one caption for several images, is not a group and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import Benchmark
from core.groups import Group

_SUBSETS = {
    "absolute_size": "absolute size",
    "relative_size": "relative size",
    "absolute_spatial": "absolute position",
    "relative_spatial": "relative position",
    "existence": "existence",
    "count": "count",
}


def _read(folder: DatasetFolder, split: str, *, subset: str) -> Iterator[Group]:
    """Groups of one image and several captions, the true one where upstream has it."""
    image = folder.images(f"{subset} | data/{subset}")
    with folder.json(_file(subset), "a subset of SPEC") as rows:
        for i, row in enumerate(rows):
            captions = tuple(caption(text) for text in row["keys"])
            yield Group(f"spec-{subset}-{i}", (image(row["query"]),), captions, (int(row["label"]),))


def _file(subset: str) -> str:
    return f"{subset}/image2text.json | data/{subset}/image2text.json"


def _benchmark(subset: str) -> Benchmark:
    return Benchmark(
        name=f"spec/{subset}",
        title=f"SPEC: {_SUBSETS[subset]}",
        source="https://github.com/wjpoom/SPEC",
        licence="unknown: upstream's repository states none; images are generated",
        citation="SPEC",
        metric="text_score",
        read=partial(_read, subset=subset),
        layout=(_file(subset),),
        note="Image to text alone: the other direction has one caption for several images. We could not check "
        "upstream's count. None of the three papers reports it.",
    )


BENCHMARKS = tuple(_benchmark(subset) for subset in _SUBSETS)
