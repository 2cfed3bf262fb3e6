"""ImageCoDe: a description of one of ten images that are nearly the same, frames of a video or similar photographs.

Layout: github.com/McGill-NLP/imagecode. `data/<train|valid>_data.json`: {set: {place of the image: description}}, and
its image sets, one folder of ten `img<number>.jpg` for each; numbers of frames leave gaps, and a place counts the files
in the order of their numbers (baselines/clip/zero_shot.py). `data/<train|valid>_simple.json`, with two images each: a
list of {directory, pos_idx, neg_idx, caption}. The test split has no answers and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from core.datasets._file_reading import DatasetFolder, ImageFolder, caption
from core.datasets.base import RETRIEVAL, Benchmark
from core.datasets.sets import RetrievalSet
from core.groups import ImageRef

_IMAGES = "data/image-sets | image-sets | data | games | images | ."
_FILES = {"train": "train", "validation": "valid"}
_SIZE = 10  # images of a set
# Part -> title, which sets, distinct images of the validation split as its files name them.
_PARTS: dict[str, tuple[str, Callable[[str], bool], int]] = {
    "full": ("all sets", lambda name: True, 10_390),
    "static": ("photographs", lambda name: name.startswith("open-images"), 1_550),
    "video": ("video frames", lambda name: not name.startswith("open-images"), 8_840),
}
_Item = tuple[str, list[ImageRef], int]


def _read(folder: DatasetFolder, split: str, *, part: str) -> RetrievalSet:
    """A description for each choice among the ten images of its set."""
    image, kept = folder.images(_IMAGES), _PARTS[part][1]

    def items(sets: dict[str, dict[str, str]]) -> Iterator[_Item]:
        for name, descriptions in sets.items():
            images = _images_of(image, name) if kept(name) else []
            if images:
                yield from ((caption(text), images, int(place)) for place, text in descriptions.items())

    with folder.json(_file(split, "data"), "ImageCoDe's descriptions") as sets:
        return RetrievalSet.of_choices(f"imagecode/{part}", split, items(sets))


def _read_simple(folder: DatasetFolder, split: str) -> RetrievalSet:
    """A description for each choice between two images of a set."""
    image = folder.images(_IMAGES)
    known: dict[str, list[ImageRef]] = {}

    def items(rows: list[dict[str, str | int]]) -> Iterator[_Item]:
        for row in rows:
            name = caption(row["directory"])
            images = known.setdefault(name, _images_of(image, name) if name not in known else [])
            right, wrong = (images[int(row[column])] for column in ("pos_idx", "neg_idx"))
            yield caption(row["caption"]), [right, wrong], 0

    with folder.json(_file(split, "simple"), "ImageCoDe-simple's descriptions") as rows:
        return RetrievalSet.of_choices("imagecode/simple", split, items(rows))


def _images_of(image: ImageFolder, name: str) -> list[ImageRef]:
    """The ten images of a set, in the order of their numbers; as img0 to img9 where they need not be there."""
    here = next((path for root in image.roots if (path := root / name).is_dir()), None)
    files = [] if here is None else sorted((p.name for p in here.glob("img*.jpg")), key=_number)
    if image.required and files and len(files) != _SIZE:
        raise ValueError(f"the set {name} has {len(files)} images in {here}, not {_SIZE}")
    if len(files) != _SIZE:
        files = [f"img{place}.jpg" for place in range(_SIZE)]
    return [image(f"{name}/{file}") for file in files]


def _number(file: str) -> int:
    return int(Path(file).stem.removeprefix("img"))


def _file(split: str, kind: str) -> str:
    name = f"{_FILES[split]}_{kind}.json"
    return f"data/{name} | {name}"


_common = partial(
    Benchmark,
    source="https://github.com/McGill-NLP/imagecode",
    licence="MIT (upstream's repository); images: of MSR-VTT, Video Storytelling, YouCook, Open Images; their own",
    citation="ImageCoDe",
    metric="image_choice",
    splits=("validation", "train"),
    kind=RETRIEVAL,
)
_NOTE = (
    "Measured on validation (`crossmatch recall --split validation`): the answers of test are kept by the authors, so "
    "that numbers of its leaderboard are of other images. A tie is lost. None of the three papers reports it."
)
BENCHMARKS = (
    *(
        _common(
            name=f"imagecode/{part}",
            title=f"ImageCoDe: {title}",
            read=partial(_read, part=part),
            layout=(_file("validation", "data"),),
            split_layout={"train": (_file("train", "data"),)},
            counts={"validation": (images,)},
            note=f"A description chooses among {_SIZE} images. {_NOTE}",
        )
        for part, (title, _, images) in _PARTS.items()
    ),
    _common(
        name="imagecode/simple",
        title="ImageCoDe-simple: two images",
        read=_read_simple,
        layout=(_file("validation", "simple"),),
        split_layout={"train": (_file("train", "simple"),)},
        counts={"validation": (3_971,)},
        note=f"A description chooses between 2 images of a set. {_NOTE}",
    ),
)
