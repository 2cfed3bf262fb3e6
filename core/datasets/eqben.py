"""EqBen: two images that differ a little, and two captions that tell them apart; from five video and graphics sources.

Layout: github.com/Wangt-CN/EqBen (README, src/eqben/eqben_utils.py): lists of `{image0, caption0, image1, caption1}`;
`image0` begins with its source, frames of YouCook2 are NumPy arrays (BGR). Full: `private_info_global.json` (README:
"formalized similar to Winoground"; not seen by us, so names with an underscore are read too). Subset, a tenth:
`eqben_subset_10percent_final.json` with `image_subset/`. Mini: `eqben_vllm/all_select.json` with
`eqben_vllm/images/`, and val: `eqben_val/metadata.csv`, both as the loaders EqBen_Mini and EqBen_Val of the
VisualGPTScore and VQAScore code do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from core.datasets._file_reading import DatasetFolder, ImageFolder, caption
from core.datasets._images import ArrayImage
from core.datasets.base import Benchmark
from core.groups import Group, ImageRef

# First part of an image's path -> its source, as EqBen-Mini's results are grouped.
_SOURCES = {
    "eqbenag": "action-genome",
    "eqbengebc": "gebc",
    "eqbenkubric_attr": "kubric",
    "eqbenkubric_cnt": "kubric",
    "eqbenkubric_loc": "kubric",
    "eqbensd": "stable-diffusion",
    "eqbenyoucook2": "youcook2",
}
_PARTS = {  # part -> annotation file, images
    "full": ("private_info_global.json", "image | images | eqben_image_full"),
    "mini": (
        "eqben_vllm/all_select.json | all_select.json",
        "eqben_vllm/images | images",
    ),
    "subset": ("eqben_subset_10percent_final.json", "image_subset | images"),
    "val": ("eqben_val/metadata.csv | metadata.csv", "eqben_val | ."),
}


def _read(folder: DatasetFolder, split: str, *, part: str) -> Iterator[Group]:
    """Groups of two images and two captions; image i belongs to caption i; tags `source` and `part`."""
    where, images = _PARTS[part]
    image, what = folder.images(images), "a list of EqBen's pairs"
    columns = ("image_0", "caption_0", "image_1", "caption_1")
    opened = folder.table(where, what, columns) if part == "val" else folder.json(where, what)
    with opened as rows:
        for i, row in enumerate(rows):
            yield _group(f"eqben-{part}-{i}", row, image)


def _group(name: str, row: Mapping[str, Any], image: ImageFolder) -> Group:
    join = "_" if "image_0" in row else ""
    pictures = tuple(_picture(row[f"image{join}{i}"], image) for i in range(2))
    captions = tuple(_first(row[f"caption{join}{i}"]) for i in range(2))
    top = str(row[f"image{join}0"]).partition("/")[0]
    return Group(name, pictures, captions, (0, 1), {"source": _SOURCES.get(top, top), "part": top})


def _picture(name: str, image: ImageFolder) -> ImageRef:
    return ArrayImage(image.path(name)) if name.endswith(".npy") else image(name)


def _first(value: Any) -> str:
    """Action Genome's captions are lists, of which upstream uses the first."""
    return caption(value[0] if isinstance(value, list) else value)


_TITLES = {"full": "EqBen", "mini": "EqBen-Mini", "subset": "EqBen, a tenth", "val": "EqBen (val)"}
_COUNTS = {"full": (251048,), "mini": (140,)}
_NOTES = {
    "full": "The count is the sum of the parts' lengths in upstream's evaluate_eqben_locally.py. "
    "None of the three papers reports it.",
    "mini": "140 pairs: every EqBen-Mini score of the VisualGPTScore paper is a multiple of 1/140.",
    "subset": "About 25 thousand image-text pairs; upstream gives no exact count. None of the three papers reports it.",
    "val": "The copy that the VisualGPTScore paper calls EqBen (val); no count is published.",
}
_REFERENCES = {"full": None, "mini": ("EqBen", "Mini"), "subset": None, "val": ("EqBen", "val")}


def _benchmark(part: str) -> Benchmark:
    return Benchmark(
        name=f"eqben/{part}",
        title=_TITLES[part],
        source="https://github.com/Wangt-CN/EqBen",
        licence="MIT (upstream's package); frames: Action Genome, GEBC and YouCook2, for research",
        citation="EqBen",
        metric="group_score",
        read=partial(_read, part=part),
        layout=_PARTS[part],
        shape=(2, 2),
        counts={"test": _COUNTS[part]} if part in _COUNTS else {},
        note=_NOTES[part],
        tags=("source", "part"),
        reference=_REFERENCES[part],
        download=f"eqben/{part}",
    )


BENCHMARKS = tuple(_benchmark(part) for part in _PARTS)
