"""COCO-Counterfactuals: two captions that differ in one noun, and an image generated for each.

Layout: `data/examples.jsonl`, lines of `{"id", "image_0", "caption_0", "image_1", "caption_1"}`, and `data/images.zip`,
which unpacks to `images/<image>.jpg`, of huggingface.co/datasets/Intel/COCO-Counterfactuals, read as its loading script
does.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.datasets._file_reading import DatasetFolder, matched_group
from core.datasets.base import Benchmark
from core.groups import Group

_ROWS = "data/examples.jsonl | examples.jsonl"
_IMAGES = "data/images | images"


def _read(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """Groups of two images and two captions; image i belongs to caption i."""
    image = folder.images(_IMAGES)
    columns = ("id", "image_0", "image_1", "caption_0", "caption_1")
    with folder.table(_ROWS, "COCO-Counterfactuals' examples", columns) as rows:
        for row in rows:
            images = (image(f"{row[name]}.jpg") for name in ("image_0", "image_1"))
            captions = (row["caption_0"], row["caption_1"])
            yield matched_group(f"coco-counterfactuals-{row['id']}", images, captions)


BENCHMARKS = (
    Benchmark(
        name="coco-counterfactuals",
        title="COCO-Counterfactuals",
        source="https://huggingface.co/datasets/Intel/COCO-Counterfactuals",
        licence="CC BY 4.0 (its card, as we remember it); images are generated",
        citation="COCO-Counterfactuals",
        metric="group_score",
        read=_read,
        layout=(_ROWS, _IMAGES),
        shape=(2, 2),
        note="We could not check upstream's count. Both images of a group are generated. None of the three papers "
        "reports it.",
    ),
)
