"""ImageNet-1K's validation images with one caption per class: classification as caption retrieval.

Layout: `images/val/<n01440764>/*.JPEG` and `classnames.txt` ("n01440764 tench", CLIP's names) as CoOp's DATASETS.md
(github.com/KaiyangZhou/CoOp) prepares them; also `val/`, and `LOC_synset_mapping.txt` of Kaggle ("n01440764 tench,
Tinca tinca", of which the first name is used) or `imagenet_class_index.json` ({"0": ["n01440764", "tench"]}).

The split "validation" is one training image per class, from which [VGPT] section 5 takes alpha: the first one-shot
sample of Lin et al. 2023, `indices/imagenet/shot_1-seed_1.json` of github.com/linzhiqiu/cross_modal_adaptation
({"train": {"data": [{"impath": ".../images/train/n01440764/n01440764_13274.JPEG", ...}]}}), with `images/train/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from core.base.errors import InputError
from core.base.table_formats import parse_json, read_bytes
from core.datasets._file_reading import DatasetFolder, expecting
from core.datasets.base import RETRIEVAL, Benchmark
from core.datasets.sets import RetrievalSet
from core.groups import FileImage, ImageRef

_NAMES = "classnames.txt | LOC_synset_mapping.txt | imagenet_class_index.json"
_IMAGES = "images/val | val | ILSVRC/Data/CLS-LOC/val"
_ONE_SHOT = "shot_1-seed_1.json | indices/imagenet/shot_1-seed_1.json | indices/shot_1-seed_1.json"
_TRAINING_IMAGES = "images/train | train | ILSVRC/Data/CLS-LOC/train"
_ENDINGS = {".jpeg", ".jpg", ".png"}
_TEMPLATE = "a photo of a {}."


def _read(folder: DatasetFolder, split: str) -> RetrievalSet:
    """Queries are the classes' captions, in the order of the names file; every image belongs to one."""
    classes = _classes(folder.require(_NAMES))
    by_class = (_one_shot if split == "validation" else _all_of_validation)(folder, list(classes))
    pictures = tuple(image for images in by_class for image in images)
    owners = np.repeat(np.arange(len(classes)), [len(images) for images in by_class])
    queries = tuple(_TEMPLATE.format(name) for name in classes.values())
    return RetrievalSet(
        "imagenet", split, pictures, queries, np.column_stack([owners, np.arange(len(owners))])
    )


def _all_of_validation(folder: DatasetFolder, classes: Sequence[str]) -> list[list[ImageRef]]:
    """Every image of every class."""
    root = folder.require(_IMAGES)
    by_class: list[list[ImageRef]] = []
    for synset in classes:
        files = sorted(path for path in (root / synset).glob("*") if path.suffix.lower() in _ENDINGS)
        if not files:
            raise InputError(
                f"{root / synset} holds no images; sort the validation images into one folder per class."
            )
        by_class.append([FileImage(path) for path in files])
    return by_class


def _one_shot(folder: DatasetFolder, classes: Sequence[str]) -> list[list[ImageRef]]:
    """The training images of the one-shot sample, by class: one each."""
    image = folder.images(_TRAINING_IMAGES)
    with folder.json(_ONE_SHOT, "a few-shot sample of ImageNet") as value:
        names: dict[str, list[str]] = {synset: [] for synset in classes}
        for row in value["train"]["data"]:
            path = PurePosixPath(row["impath"])
            names[path.parent.name].append(f"{path.parent.name}/{path.name}")
        lacking = [synset for synset, files in names.items() if not files]
        if lacking:
            raise ValueError(f"it has no image of {lacking[0]}")
        return [[image(file) for file in files] for files in names.values()]


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
        split_layout={"validation": (_ONE_SHOT, _TRAINING_IMAGES)},
        counts={"test": (50000,), "validation": (1000,)},
        queries=1000,
        splits=("test", "validation"),
        note=f"The validation images serve as test set, as usual, and one training image per class (the one-shot "
        f"sample of Lin et al. 2023) as validation; captions follow {_TEMPLATE!r}.",
        reference=("ImageNet1K", ""),
        kind=RETRIEVAL,
    ),
)
