"""Cola: pairs of images whose objects exchange their attributes, and queries for one object with several attributes.

Layout: github.com/arijitray1993/COLA (README, scripts/eval.py). Multi-object:
`COLA_multiobjects_matching_benchmark.json`, a list of [image address, caption, image address, caption].
Single-object: `COLA_singleobjects_benchmark_<GQA|CLEVR|PACO>.json` with `labels` (the queries) and `data`, rows of
[image file, objects with attributes, label, hard list], the last two 0 or 1 for each query; PACO's rows have no
objects. The README names the two keys, eval.py reads a list of the two: both are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from core.datasets._file_reading import DatasetFolder, caption, matched_group
from core.datasets.base import RETRIEVAL, Benchmark
from core.datasets.sets import RetrievalSet
from core.groups import Group

_MULTI = "COLA_multiobjects_matching_benchmark.json | data/COLA_multiobjects_matching_benchmark.json"
# The images are Visual Genome's; `vg_gqa_images` is the folder of upstream's addresses.
_GENOME = "vg_gqa_images | images | gqa:images | visual-genome:VG_100K | visual-genome:VG_100K_2"
_IMAGES = {
    "GQA": _GENOME,
    # The pictures are CLEVR-CoGenT's: those of condition B, and of A for the classes that B does not have.
    "CLEVR": " | ".join(
        f"{where}{folder}"
        for where in ("CLEVR_CoGenT_v1.0/", "", "clevr:CLEVR_CoGenT_v1.0/", "clevr:")
        for folder in ("images/valB", "images/valA")
    )
    + " | images",
    "PACO": "val2017 | train2017 | images | coco:val2017 | coco:train2017",
}


def _read_multi(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """210 groups of two images and two captions; image i belongs to caption i."""
    image = folder.images(_GENOME)
    with folder.json(_MULTI, "Cola's multi-object list") as rows:
        for i, (one, first, other, second) in enumerate(rows):
            pictures = tuple(image(PurePosixPath(address).name) for address in (one, other))
            yield matched_group(f"cola-{i}", pictures, (first, second))


def _read_single(folder: DatasetFolder, split: str, *, part: str) -> RetrievalSet:
    """Queries over images; the hard list holds the images that have any word of the query ([Cola] 5)."""
    image = folder.images(_IMAGES[part])
    with folder.json(_single_file(part), "Cola's single-object file") as value:
        labels, rows = (value["labels"], value["data"]) if isinstance(value, dict) else value
        queries = tuple(caption(label) for label in labels)
        right, hard = (_marks(rows, column, len(queries)) for column in (-2, -1))
        pictures = tuple(image(PurePosixPath(row[0]).name) for row in rows)
    # Upstream measures precision within the hard list alone; a relevant image outside it would never count.
    return RetrievalSet(f"cola/single-{part.lower()}", split, pictures, queries, np.argwhere(right), hard)


def _single_file(part: str) -> str:
    name = f"COLA_singleobjects_benchmark_{part}.json"
    return f"{name} | data/{name}"


def _marks(rows: list[list[Any]], column: int, q: int) -> np.ndarray:
    """bool (q, n) from the rows' 0 and 1 lists, each (q,)."""
    array = np.array([row[column] for row in rows])
    if array.shape != (len(rows), q) or not np.isin(array, (0, 1)).all():
        raise ValueError(f"its rows do not hold 0 or 1 for each of the {q} queries")
    return array.T.astype(bool)


def _single(part: str, queries: int, counts: tuple[int, ...], licence: str, note: str) -> Benchmark:
    return Benchmark(
        name=f"cola/single-{part.lower()}",
        title=f"Cola single-object: {part}",
        source="https://github.com/arijitray1993/COLA",
        licence=f"MIT (queries); images: {licence}",
        citation="Cola",
        metric="cola_map",
        read=partial(_read_single, part=part),
        layout=(_single_file(part), _IMAGES[part]),
        counts={"test": counts},
        queries=queries,
        note=f"{note} Upstream's file does not say which queries were unseen in training.",
        reference=(f"Cola {part}", "all"),
        kind=RETRIEVAL,
    )


BENCHMARKS = (
    Benchmark(
        name="cola/multi-object",
        title="Cola multi-object",
        source="https://github.com/arijitray1993/COLA",
        licence="MIT (captions); images: Visual Genome, CC BY 4.0",
        citation="Cola",
        metric="image_score",
        read=_read_multi,
        layout=(_MULTI, _GENOME),
        shape=(2, 2),
        counts={"test": (210,)},
        note="Cola's multi-object accuracy is the image score.",
        reference=("Cola multi-object", ""),
    ),
    _single("GQA", 320, (1952, 1950), "Visual Genome, CC BY 4.0", "The paper counts 1952 and 1950 images."),
    _single(
        "CLEVR", 96, (22500, 15000), "CLEVR, CC BY 4.0", "The paper counts 15 thousand and 22500 images."
    ),
    _single("PACO", 400, (7921,), "COCO, Flickr's terms of use", ""),
)
