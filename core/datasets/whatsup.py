"""What'sUp: photographs of two household objects in four arrangements; as 1x4 groups and as 2x2 groups of opposites.

Layout: `controlled_images_dataset.json` with `controlled_images/*.jpeg` (A) and `controlled_clevr_dataset.json` with
`controlled_clevr/*.jpeg` (B) of github.com/amitakamath/whatsup_vlms (dataset_zoo/aro_datasets.py): a list of
`{"image_path": "data/controlled_images/mug_on_table.jpeg", "caption_options": [true, ...]}`, the true caption first.
The 2x2 variants of Li et al. (2025) are formed as github.com/yinglunz/test-time-matching does (dataset.py): images of
the same objects in opposite relations, with their true captions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from core.datasets._file_reading import DatasetFolder, ImageFolder, caption
from core.datasets.base import Benchmark
from core.groups import Group, ImageRef

_RELATIONS = ("on", "under", "left_of", "right_of", "in-front_of", "behind")
_FILES = {"a": "controlled_images", "b": "controlled_clevr"}
# Variant -> the two relations of a 2x2 group.
_PAIRS = {
    "a-left-right": ("left_of", "right_of"),
    "a-on-under": ("on", "under"),
    "b-left-right": ("left_of", "right_of"),
    "b-front-behind": ("in-front_of", "behind"),
}
# These two files show each other's arrangement (whatsup_vlms issue 4); TTM swaps them, and so do we.
_SWAPPED = {
    "pillow_left_of_chair.jpeg": "pillow_right_of_chair.jpeg",
    "pillow_right_of_chair.jpeg": "pillow_left_of_chair.jpeg",
}


class _Item(NamedTuple):
    name: str  # the file's name without ending: mug_on_table
    objects: str  # mug, table
    relation: str
    image: ImageRef
    captions: tuple[str, ...]  # the true one first


@contextmanager
def _items(folder: DatasetFolder, part: str) -> Iterator[list[_Item]]:
    name = _FILES[part]
    image = folder.images(f"{name} | data/{name}")
    with folder.json(f"{name}_dataset.json | data/{name}_dataset.json", "a list of What'sUp's items") as rows:
        yield [_item(row["image_path"], row["caption_options"], image) for row in rows]


def _item(path: str, captions: list[str], image: ImageFolder) -> _Item:
    file = PurePosixPath(path).name
    stem = PurePosixPath(file).stem
    relation = next((r for r in _RELATIONS if f"_{r}_" in stem), None)
    if relation is None:
        raise ValueError(f"the image name {file!r} holds none of the relations")
    objects = stem.replace(f"_{relation}_", ", ", 1)
    ref = image(_SWAPPED.get(file, file))
    return _Item(stem, objects, relation, ref, tuple(caption(c) for c in captions))


def _read_four(folder: DatasetFolder, split: str, *, part: str) -> Iterator[Group]:
    """One image, four captions; tag `relation`."""
    with _items(folder, part) as items:
        for item in items:
            tags = {"relation": item.relation}
            yield Group(f"whatsup-{part}-{item.name}", (item.image,), item.captions, (0,), tags)


def _read_pairs(folder: DatasetFolder, split: str, *, variant: str) -> Iterator[Group]:
    """Two images of the same objects in opposite relations, and their two true captions."""
    sides: dict[str, tuple[list[_Item], list[_Item]]] = defaultdict(lambda: ([], []))
    with _items(folder, variant[0]) as items:
        for item in items:
            if item.relation in _PAIRS[variant]:
                sides[item.objects][_PAIRS[variant].index(item.relation)].append(item)
        for objects, (ones, others) in sides.items():
            if len(ones) != len(others):
                raise ValueError(f"{objects} has {len(ones)} and {len(others)} images of opposite relations")
            for one, other in zip(ones, others, strict=True):
                pictures, captions = (one.image, other.image), (one.captions[0], other.captions[0])
                yield Group(f"whatsup-{variant}-{one.name}", pictures, captions, (0, 1), {"objects": objects})


_SETS = {
    "a-1x4": ("A", (1, 4), 412, "A"),
    "b-1x4": ("B", (1, 4), 408, "B"),
    "a-left-right": ("A, left and right", (2, 2), 103, "A-Left-Right"),
    "a-on-under": ("A, on and under", (2, 2), 103, "A-On-Under"),
    "b-left-right": ("B, left and right", (2, 2), 102, "B-Left-Right"),
    "b-front-behind": ("B, in front and behind", (2, 2), 102, "B-Front-Behind"),
}


def _benchmark(variant: str) -> Benchmark:
    title, shape, count, reference = _SETS[variant]
    part, four = variant[0], variant.endswith("1x4")
    file = _FILES[part]
    return Benchmark(
        name=f"whatsup/{variant}",
        title=f"What'sUp {title}",
        source="https://github.com/amitakamath/whatsup_vlms",
        licence="MIT",
        citation="WhatsUp",
        metric="text_score" if four else "group_score",
        read=partial(_read_four, part=part) if four else partial(_read_pairs, variant=variant),
        layout=(f"{file}_dataset.json | data/{file}_dataset.json", f"{file} | data/{file}"),
        shape=shape,
        counts={"test": (count,)},
        note="The images pillow_left_of_chair and pillow_right_of_chair are exchanged upstream (whatsup_vlms issue 4) "
        "and put right here, as in TTM."
        if part == "a"
        else "",
        tags=("relation",) if four else ("objects",),
        reference=("WhatsUp", reference),
    )


BENCHMARKS = tuple(_benchmark(variant) for variant in _SETS)
