"""SugarCrepe++: a COCO image, two captions of it in different words, and a negative one in nearly the same words.

Layout: `data/<subset>.json` of github.com/Sri-Harsha/scpp (also on the hub: Aman-J/SugarCrepe_pp), a list of
`{"id", "filename", "caption", "caption2", "negative_caption"}`, with the images of COCO's val2017. The counts are those
of upstream's files (commit c083bbf).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import Benchmark
from core.groups import Group

# Subset -> number of groups, title, what its file spoils.
_SUBSETS = {
    "replace_att": (788, "Replace Attribute", "Both true captions of item 14 are the same."),
    "replace_obj": (1652, "Replace Object", ""),
    "replace_rel": (1406, "Replace Relation", ""),
    "swap_att": (666, "Swap Attribute", ""),
    "swap_obj": (
        245,
        "Swap Object",
        "The negative captions of items 2 and 8 are their true ones, so that nothing gets them right.",
    ),
}
_IMAGES = "val2017 | images | images/val2017 | coco:val2017 | coco:images/val2017 | sugarcrepe:val2017"


def _read(folder: DatasetFolder, split: str, *, subset: str) -> Iterator[Group]:
    """Groups of one image and three captions, of which the first two are true."""
    image = folder.images(_IMAGES)
    with folder.json(_file(subset), "a SugarCrepe++ subset") as rows:
        for row in rows:
            captions = tuple(caption(row[name]) for name in ("caption", "caption2", "negative_caption"))
            name = f"sugarcrepe-pp-{subset}-{int(row['id'])}"
            yield Group(name, (image(row["filename"]),), captions, (0, 1))


def _file(subset: str) -> str:
    return f"{subset}.json | data/{subset}.json"


def _benchmark(subset: str) -> Benchmark:
    count, title, flaw = _SUBSETS[subset]
    note = (
        "The paper's image-to-text accuracy (ITT), that both true captions beat the negative one, is TextScore; a coin "
        "reaches 1/3. Its text-only accuracy (TOT), that the two are closer to each other than either is to the "
        f"negative one, is `crossmatch evaluate sugarcrepe-pp/{subset} --text-only`, which opens no image; a coin "
        "reaches 1/3. None of the three papers reports it."
    )
    return Benchmark(
        name=f"sugarcrepe-pp/{subset}",
        title=f"SugarCrepe++: {title}",
        source="https://github.com/Sri-Harsha/scpp",
        licence="CC BY 4.0 (captions); images: COCO, Flickr's terms of use",
        citation="SugarCrepe++",
        metric="text_score",
        read=partial(_read, subset=subset),
        layout=(_file(subset), _IMAGES),
        shape=(1, 3),
        counts={"test": (count,)},
        note=f"{flaw} {note}".strip(),
    )


BENCHMARKS = tuple(_benchmark(subset) for subset in _SUBSETS)
