"""BiVLC: a COCO image and its caption beside SugarCrepe's negative caption and an image generated from that.

Layout: `data/test-*.parquet` of huggingface.co/datasets/imirandam/BiVLC, two files by the hub's list; its columns are
those of the README and evaluation code of github.com/IMirandaM/BiVLC. Counts: upstream's results/BiVLC_ViT-B-32.csv,
a row per instance.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.datasets._file_reading import DatasetFolder, caption, matched_group
from core.datasets.base import Benchmark
from core.groups import Group

_TABLE = "data/test-*.parquet | test-*.parquet"
_PICTURES = ("image", "negative_image")
_TEXTS = ("caption", "negative_caption", "type", "subtype")


def _read(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """Groups of two images and two captions, the photograph first; tags `type`, `subtype`."""
    with folder.table(_TABLE, "BiVLC's table", _TEXTS, _PICTURES) as rows:
        for i, row in enumerate(rows):
            images, texts = (row["image"], row["negative_image"]), (row["caption"], row["negative_caption"])
            tags = {tag: caption(row[tag]) for tag in ("type", "subtype")}
            yield matched_group(f"bivlc-{i}", images, texts, tags)


BENCHMARKS = (
    Benchmark(
        name="bivlc",
        title="BiVLC",
        source="https://github.com/IMirandaM/BiVLC",
        licence="MIT (upstream's code and data); photographs: COCO, Flickr's terms of use",
        citation="BiVLC",
        metric="group_score",
        read=_read,
        layout=(_TABLE,),
        shape=(2, 2),
        counts={"test": (2933,)},
        note="BiVLC's I2T, T2I and group score are TextScore, ImageScore and GroupScore. Image A is always a photo "
        "and image B always generated (SD-XL), so what tells those apart tells the images apart. None of the three "
        "papers reports it.",
        tags=("type", "subtype"),
    ),
)
