"""SPEC: a generated image and captions that differ in the size, place, existence or number of what it shows.

Layout: `<subset>/image2text.json` of the archive data.zip of huggingface.co/datasets/wjpoom/SPEC, a list of
`{"query": image, "keys": [captions], "label": index}` as github.com/wjpoom/SPEC (spec/dataset.py) reads it; images lie
in the subset's folder. `<subset>/text2image.json` is the other direction, of the same keys: a caption that chooses
among several images, which is no group (a group has no more images than captions) but a retrieval set of choices.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import RETRIEVAL, Benchmark
from core.datasets.sets import RetrievalSet
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


def _read_choices(folder: DatasetFolder, split: str, *, subset: str) -> RetrievalSet:
    """A caption for each choice among several images, of which one is right."""
    image = folder.images(f"{subset} | data/{subset}")
    with folder.json(_file(subset, "text2image"), "the text to image part of a subset of SPEC") as rows:
        items = [
            (caption(row["query"]), [image(key) for key in row["keys"]], int(row["label"])) for row in rows
        ]
        return RetrievalSet.of_choices(f"spec/{subset}-text-to-image", split, items)


def _file(subset: str, direction: str = "image2text") -> str:
    return f"{subset}/{direction}.json | data/{subset}/{direction}.json"


_common = partial(
    Benchmark,
    source="https://github.com/wjpoom/SPEC",
    licence="unknown: upstream's repository states none; images are generated",
    citation="SPEC",
)


def _benchmark(subset: str) -> Benchmark:
    return _common(
        name=f"spec/{subset}",
        title=f"SPEC: {_SUBSETS[subset]}",
        metric="text_score",
        read=partial(_read, subset=subset),
        layout=(_file(subset),),
        note="Image to text; its other direction is a set of its own, with -text-to-image behind its name. We could "
        "not check upstream's count. None of the three papers reports it.",
    )


def _choice_benchmark(subset: str) -> Benchmark:
    return _common(
        name=f"spec/{subset}-text-to-image",
        title=f"SPEC: {_SUBSETS[subset]}, text to image",
        metric="image_choice",
        read=partial(_read_choices, subset=subset),
        layout=(_file(subset, "text2image"),),
        kind=RETRIEVAL,
        note="Every caption chooses among images of its own (`crossmatch recall`); upstream calls a tie right where "
        "the right image stands first, here it is lost. We could not check upstream's count. None of the three papers "
        "reports it.",
    )


BENCHMARKS = (*map(_benchmark, _SUBSETS), *map(_choice_benchmark, _SUBSETS))
