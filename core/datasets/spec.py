"""SPEC: a generated image and captions that differ in the size, place, existence or number of what it shows.

Layout: `<subset>/image2text.json` of the archive data.zip of huggingface.co/datasets/wjpoom/SPEC, a list of
`{"query": image, "keys": [captions], "label": index}` as github.com/wjpoom/SPEC (spec/dataset.py) reads it; images lie
in the subset's folder. `<subset>/text2image.json` is the other direction, of the same keys: a caption that chooses
among several images, which is no group (a group has no more images than captions) but a retrieval set of choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import GROUPS, RETRIEVAL, Benchmark
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
    with folder.json(_file(subset, "image2text"), "a subset of SPEC") as rows:
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


def _file(subset: str, direction: str) -> str:
    return f"{subset}/{direction}.json | data/{subset}/{direction}.json"


class _Direction(NamedTuple):
    """One of a subset's two tables: its file, what its set is called and measured by, and its reader."""

    file: str
    ending: str  # of the set's name
    title: str
    metric: str
    kind: str
    read: Callable[..., Any]
    note: str


_DIRECTIONS = (
    _Direction(
        file="image2text",
        ending="",
        title="",
        metric="text_score",
        kind=GROUPS,
        read=_read,
        note="Image to text; its other direction is a set of its own, with -text-to-image behind its name.",
    ),
    _Direction(
        file="text2image",
        ending="-text-to-image",
        title=", text to image",
        metric="image_choice",
        kind=RETRIEVAL,
        read=_read_choices,
        note="Every caption chooses among images of its own (`crossmatch recall`); upstream calls a tie right where "
        "the right image stands first, here it is lost.",
    ),
)


def _benchmark(direction: _Direction, subset: str) -> Benchmark:
    return Benchmark(
        name=f"spec/{subset}{direction.ending}",
        title=f"SPEC: {_SUBSETS[subset]}{direction.title}",
        source="https://github.com/wjpoom/SPEC",
        licence="unknown: upstream's repository states none; images are generated",
        citation="SPEC",
        metric=direction.metric,
        read=partial(direction.read, subset=subset),
        layout=(_file(subset, direction.file),),
        kind=direction.kind,
        note=f"{direction.note} We could not check upstream's count. None of the three papers reports it.",
    )


BENCHMARKS = tuple(_benchmark(direction, subset) for direction in _DIRECTIONS for subset in _SUBSETS)
