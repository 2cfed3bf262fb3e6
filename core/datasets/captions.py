"""COCO and Flickr30k: images with five captions each, in Karpathy's splits, as retrieval sets.

Layout: `coco_karpathy_test.json`, `flickr30k_test.json` (and `_val`) as BLIP, ALBEF and ARO read them (dataset_zoo/
retrieval.py of github.com/mertyg/vision-language-models-are-bows): lists of `{image: "val2014/COCO_val2014_...jpg",
caption: [...]}`; or Karpathy's own `dataset_coco.json`, `dataset_flickr30k.json`: `{images: [{filepath, filename,
split, sentences: [{raw}]}]}`. Images in `val2014/`, `flickr30k-images/`.
"""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath

import numpy as np

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import RETRIEVAL, Benchmark
from core.datasets.sets import RetrievalSet

_SPLITS = {"test": "test", "validation": "val"}
_FILES = {"coco": "coco_karpathy", "flickr30k": "flickr30k"}
_IMAGES = {
    "coco": "val2014 | images/val2014 | images",
    "flickr30k": "flickr30k-images | flickr30k_images | images | Images",
}


def _annotations(name: str, split: str) -> str:
    file = f"{_FILES[name]}_{split}.json"
    return f"{file} | annotations/{file}"


def _karpathy(name: str) -> str:
    return f"dataset_{name}.json | annotations/dataset_{name}.json | karpathy/dataset_{name}.json"


def _read(folder: DatasetFolder, split: str, *, name: str) -> RetrievalSet:
    """Every caption a query for its own image; every image is found by any of its captions."""
    image, part = folder.images(_IMAGES[name]), _SPLITS[split]
    files = f"{_annotations(name, part)} | {_karpathy(name)}"
    with folder.json(files, "captions in Karpathy's splits") as value:
        if isinstance(value, list):
            rows = [(row["image"], row["caption"]) for row in value]
        else:
            rows = [
                (row["filename"], [sentence["raw"] for sentence in row["sentences"]])
                for row in value["images"]
                if row["split"] == part
            ]
        pictures = tuple(image(PurePosixPath(file).name) for file, _ in rows)
        queries = tuple(caption(text) for _, texts in rows for text in texts)
        owners = np.repeat(np.arange(len(rows)), [len(texts) for _, texts in rows])
    return RetrievalSet(name, split, pictures, queries, np.stack([np.arange(len(queries)), owners], axis=1))


def _benchmark(
    name: str, title: str, licence: str, counts: dict[str, tuple[int, ...]], source: str, note: str
) -> Benchmark:
    return Benchmark(
        name=name,
        title=title,
        source=source,
        licence=licence,
        citation=title,
        metric="image_to_text_r1",
        read=partial(_read, name=name),
        layout=(f"{_annotations(name, 'test')} | {_karpathy(name)}", _IMAGES[name]),
        split_layout={"validation": (f"{_annotations(name, 'val')} | {_karpathy(name)}",)},
        counts=counts,
        note=note,
        splits=("test", "validation"),
        reference=(title, ""),
        kind=RETRIEVAL,
    )


BENCHMARKS = (
    _benchmark(
        "coco",
        "COCO",
        "captions: CC BY 4.0; images: Flickr's terms of use",
        {"test": (5000,), "validation": (5000,)},
        "https://cocodataset.org",
        "Karpathy's 5000 test images (25010 captions) and 5000 validation images, all from val2014.",
    ),
    _benchmark(
        "flickr30k",
        "Flickr30k",
        "research and education alone",
        {"test": (1000,), "validation": (1014,)},
        "https://shannon.cs.illinois.edu/DenotationGraph/",
        "Karpathy's 1000 test images (5000 captions) and 1014 validation images.",
    ),
)
