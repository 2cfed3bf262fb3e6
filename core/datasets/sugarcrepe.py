"""SugarCrepe: a COCO image, its caption, and a fluent negative caption; seven kinds of negatives.

Layout: `data/<subset>.json` of github.com/RAIVNLab/sugar-crepe, `{"0": {"filename", "caption", "negative_caption"}}`,
with the images of COCO's val2017. (The first release wrote `ent` for `obj`: add_ent.json.)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import Benchmark
from core.groups import Group

# Subset -> number of groups in upstream's file, its title.
SUBSETS = {
    "add_att": (692, "Add Attribute"),
    "add_obj": (2062, "Add Object"),
    "replace_att": (788, "Replace Attribute"),
    "replace_obj": (1652, "Replace Object"),
    "replace_rel": (1406, "Replace Relation"),
    "swap_att": (666, "Swap Attribute"),
    "swap_obj": (245, "Swap Object"),
}
_REFERENCED = ("add_att", "replace_rel", "swap_att", "swap_obj")  # the subsets of TTM's tables
# Of the others VGPT prints the mean over the subsets of their kind.
_KINDS = {"add_obj": "Add", "replace_att": "Replace", "replace_obj": "Replace"}
_IMAGES = "val2017 | images/val2017 | coco:val2017 | coco:images/val2017"


def _read(folder: DatasetFolder, split: str, *, subset: str) -> Iterator[Group]:
    """Groups of one image and two captions, the true one first."""
    image = folder.images(_IMAGES)
    with folder.json(_files(subset), "a SugarCrepe subset") as rows:
        for key, row in rows.items():
            captions = caption(row["caption"]), caption(row["negative_caption"])
            yield Group(f"sugarcrepe-{subset}-{key}", (image(row["filename"]),), captions, (0,))


def _files(subset: str) -> str:
    return f"{subset}.json | data/{subset}.json"


def _benchmark(subset: str) -> Benchmark:
    count, title = SUBSETS[subset]
    kind = _KINDS.get(subset)
    note = f"The papers print the mean over the subsets of the kind {kind} alone." if kind else ""
    if subset == "swap_obj":
        note = "Published results count 246 groups; upstream's file has no item 108."
    return Benchmark(
        name=f"sugarcrepe/{subset}",
        title=f"SugarCrepe: {title}",
        source="https://github.com/RAIVNLab/sugar-crepe",
        licence="MIT (captions); images: COCO, Flickr's terms of use",
        citation="SugarCrepe",
        metric="text_score",
        read=partial(_read, subset=subset),
        layout=(_files(subset), _IMAGES),
        shape=(1, 2),
        counts={"test": (count, count + 1) if subset == "swap_obj" else (count,)},
        note=note,
        reference=("SugarCrepe", title if subset in _REFERENCED else _KINDS[subset]),
    )


BENCHMARKS = tuple(_benchmark(subset) for subset in SUBSETS)
