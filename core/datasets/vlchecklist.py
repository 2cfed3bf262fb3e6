"""VL-CheckList: an image, a caption, and the caption with one object, attribute or relation replaced.

Layout: github.com/om-ai-lab/VL-CheckList. `data/` holds lists of [image, {"POS": [caption], "NEG": [caption]}], images
lie in `vg/` (also VAW's), `swig/` and `hake/` (DATASETS.md); the first caption of each list counts
(vl_checklist/evaluate.py). Upstream leaves out every item whose image is missing; here it is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import Benchmark
from core.groups import Group

_ATTRIBUTES = ("action", "color", "material", "size", "state")
_PLACES = {"Location": ("center", "margin", "mid"), "Size": ("large", "medium", "small")}
_SWIG = ("agent", "destination", "item", "tool")
_IMAGES = {
    "vg": "vg | visual-genome:",
    "swig": "swig",
    "hake": "hake",
}


class _File(NamedTuple):
    path: str  # inside data/
    images: str  # key of _IMAGES
    tags: dict[str, str]


def _files(part: str) -> Iterator[_File]:
    """The annotation files of a part, as upstream's corpus/*.yaml list them."""
    if part == "attribute":
        for source in ("vaw", "vg"):
            for kind in _ATTRIBUTES:
                yield _File(f"Attribute/{source}/{kind}.json", "vg", {"kind": kind, "source": source})
    elif part == "relation":
        for source in ("hake", "swig"):
            yield _File(f"Relation/{source}_action.json", source, {"kind": "action", "source": source})
        for kind in ("action", "spatial"):
            yield _File(f"Relation/vg/{kind}.json", "vg", {"kind": kind, "source": "vg"})
    else:
        for aspect, values in _PLACES.items():
            for value in values:
                yield from _objects(aspect, value)


def _objects(aspect: str, value: str) -> Iterator[_File]:
    low = aspect.lower()
    names = [("hake", "hake_obj", "")]
    names += [("swig", f"swig_{role}", f"swig_{role}/") for role in _SWIG]
    names += [("vg", f"vg_{role}", "") for role in ("obj", "subj")]
    for source, stem, inner in names:
        path = f"Object/{aspect}/{source}_{low}/{inner}{stem}_{value}.json"
        yield _File(path, source, {"kind": low, "value": value, "source": source})


def _read(folder: DatasetFolder, split: str, *, part: str) -> Iterator[Group]:
    """One image, the right caption, the altered one; tags `kind`, `source` and, for objects, `value`."""
    images = {key: folder.images(where) for key, where in _IMAGES.items()}
    for file in _files(part):
        stem = Path(file.path).with_suffix("").as_posix().lower().replace("/", "-")
        with folder.json(f"data/{file.path}", "a list of VL-CheckList's items") as rows:
            for i, (name, texts) in enumerate(rows):
                captions = (caption(texts["POS"][0]), caption(texts["NEG"][0]))
                yield Group(f"{stem}-{i}", (images[file.images](name),), captions, (0,), file.tags)


def _benchmark(part: str) -> Benchmark:
    files = list(_files(part))
    images = sorted({file.images for file in files})
    return Benchmark(
        name=f"vl-checklist/{part}",
        title=f"VL-CheckList: {part.capitalize()}",
        source="https://github.com/om-ai-lab/VL-CheckList",
        licence="none stated for the captions; images: Visual Genome CC BY 4.0, SWiG and HAKE for research",
        citation="VL-CheckList",
        metric="text_score",
        read=partial(_read, part=part),
        layout=(*(f"data/{file.path}" for file in files), *(_IMAGES[key] for key in images)),
        shape=(1, 2),
        note="Upstream publishes no count per part, and skips items whose images are missing.",
        tags=("kind", "source", *(("value",) if part == "object" else ())),
        reference=("VL-CheckList", part.capitalize()),
    )


BENCHMARKS = tuple(_benchmark(part) for part in ("object", "attribute", "relation"))
