"""ColorSwap: two images and two captions whose colour words are exchanged.

Layout: `data/train.json`, `data/test.json` and `data/images/img_0_1.png` of the archive that
github.com/Top34051/colorswap links (README), or `data/test-*.parquet` of huggingface.co/datasets/stanfordnlp/colorswap
with the same columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.datasets._file_reading import DatasetFolder, expecting, matched_group, read_rows
from core.datasets.base import Benchmark
from core.groups import Group

_PICTURES = ("image_1", "image_2")
_TEXTS = ("id", "caption_1", "caption_2", "image_source", "caption_source")


def _read(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """Groups of two images and two captions; tags `image_source` and `caption_source`."""
    parquet = folder.find(f"data/{split}-*.parquet | {split}-*.parquet")
    if parquet:
        with expecting(parquet, "ColorSwap's table"):
            yield from map(_group, read_rows(parquet, _TEXTS, _PICTURES))
        return
    image = folder.images("data | .")
    with folder.json(f"data/{split}.json | {split}.json", "ColorSwap's table") as rows:
        for row in rows:
            yield _group({**row, **{name: image(row[name]) for name in _PICTURES}})


def _group(row: Mapping[str, Any]) -> Group:
    images, captions = (row["image_1"], row["image_2"]), (row["caption_1"], row["caption_2"])
    tags = {key: str(row[key]) for key in ("image_source", "caption_source")}
    return matched_group(f"colorswap-{row['id']}", images, captions, tags)


BENCHMARKS = (
    Benchmark(
        name="colorswap",
        title="ColorSwap",
        source="https://github.com/Top34051/colorswap",
        licence="MIT",
        citation="ColorSwap",
        metric="group_score",
        read=_read,
        layout=(
            "data/test.json | test.json | data/test-*.parquet | test-*.parquet",
            "data/images | images | data/test-*.parquet | test-*.parquet",
        ),
        shape=(2, 2),
        counts={"test": (300,), "train": (700,)},
        tags=("image_source", "caption_source"),
        splits=("test", "train"),
        reference=("ColorSwap", ""),
    ),
)
