"""ColorSwap: two images and two captions whose colour words are exchanged.

Layout: `data/train.json`, `data/test.json` and `data/images/img_0_1.png` of the archive that
github.com/Top34051/colorswap links (README), or `data/test-*.parquet` of huggingface.co/datasets/stanfordnlp/colorswap
with the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.datasets._file_reading import (
    ImageFolder,
    caption,
    find_file,
    find_layout,
    read_json,
    read_rows,
    require,
)
from core.datasets.base import Benchmark
from core.groups import Group, GroupSet

_TEXTS = ("id", "caption_1", "caption_2", "image_source", "caption_source")


def _read(folder: Path, split: str, images: bool = True) -> GroupSet:
    """Groups of two images and two captions; tags `image_source` and `caption_source`."""
    parquet = find_file(folder, f"data/{split}-*.parquet | {split}-*.parquet")
    path = parquet or require(folder, f"data/{split}.json | {split}.json")
    rows: list[Mapping[str, Any]]
    if parquet:
        rows = list(read_rows(path, _TEXTS, ("image_1", "image_2")))
    else:
        image = ImageFolder(path.parent, ".", images)
        with find_layout(path, "ColorSwap's table"):
            rows = [{**row, **{c: image(row[c]) for c in ("image_1", "image_2")}} for row in read_json(path)]
    with find_layout(path, "ColorSwap's table"):
        return GroupSet("colorswap", tuple(_group(row) for row in rows))


def _group(row: Mapping[str, Any]) -> Group:
    return Group(
        f"colorswap-{row['id']}",
        (row["image_1"], row["image_2"]),
        (caption(row["caption_1"]), caption(row["caption_2"])),
        (0, 1),
        {key: str(row[key]) for key in ("image_source", "caption_source")},
    )


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
