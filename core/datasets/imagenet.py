"""ImageNet-1K's validation images with one caption per class: classification as caption retrieval.

Layout: `images/val/<n01440764>/*.JPEG` and `classnames.txt` ("n01440764 tench", CLIP's names) as CoOp's DATASETS.md
(github.com/KaiyangZhou/CoOp) prepares them; also `val/`, and `LOC_synset_mapping.txt` of Kaggle ("n01440764 tench,
Tinca tinca", of which the first name is used) or `imagenet_class_index.json` ({"0": ["n01440764", "tench"]}).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from core.base.errors import InputError
from core.base.tables import parse_json, read_bytes
from core.datasets._file_reading import DatasetFolder, expecting
from core.datasets.base import RETRIEVAL, Benchmark
from core.datasets.sets import RetrievalSet
from core.groups import FileImage

_NAMES = "classnames.txt | LOC_synset_mapping.txt | imagenet_class_index.json"
_IMAGES = "images/val | val | ILSVRC/Data/CLS-LOC/val"
_ENDINGS = {".jpeg", ".jpg", ".png"}
_TEMPLATE = "a photo of a {}."


def _read(folder: DatasetFolder, split: str) -> RetrievalSet:
    """Queries are the classes' captions, in the order of the names file; every image belongs to one."""
    classes = _classes(folder.require(_NAMES))
    root = folder.require(_IMAGES)
    pictures: list[FileImage] = []
    links: list[tuple[int, int]] = []
    for query, synset in enumerate(classes):
        files = sorted(path for path in (root / synset).glob("*") if path.suffix.lower() in _ENDINGS)
        if not files:
            raise InputError(
                f"{root / synset} holds no images; sort the validation images into one folder per class."
            )
        links += [(query, len(pictures) + i) for i in range(len(files))]
        pictures += [FileImage(path) for path in files]
    queries = tuple(_TEMPLATE.format(name) for name in classes.values())
    return RetrievalSet("imagenet", split, tuple(pictures), queries, np.array(links))


def _classes(path: Path) -> dict[str, str]:
    """Synset -> name, in the file's order."""
    with expecting(path, "a list of ImageNet's classes"):
        if path.suffix == ".json":
            listed = parse_json(read_bytes(path), path).values()
            pairs = [(synset, name.replace("_", " ")) for synset, name in listed]
        else:
            lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
            pairs = [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines if line]
            if path.name.startswith("LOC_"):
                pairs = [(synset, name.partition(",")[0]) for synset, name in pairs]
        if not all(synset[:1] == "n" and synset[1:].isdigit() and name.strip() for synset, name in pairs):
            raise ValueError("a line is not a synset and a name")
        return dict(pairs)


BENCHMARKS = (
    Benchmark(
        name="imagenet",
        title="ImageNet-1K",
        source="https://image-net.org",
        licence="non-commercial research and education alone",
        citation="ImageNet1K",
        metric="accuracy",
        read=_read,
        layout=(_NAMES, _IMAGES),
        counts={"test": (50000,)},
        queries=1000,
        note=f"The validation images serve as test set, as usual; captions follow {_TEMPLATE!r}.",
        reference=("ImageNet1K", ""),
        kind=RETRIEVAL,
    ),
)
