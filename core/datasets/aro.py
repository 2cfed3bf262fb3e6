"""ARO: who does what to whom (VG-Relation), which attribute is whose (VG-Attribution), and word order.

Layout: github.com/mertyg/vision-language-models-are-bows (dataset_zoo/aro_datasets.py). `visual_genome_relation.json`
and `visual_genome_attribution.json`: lists of `{image_path, bbox_x, bbox_y, bbox_w, bbox_h, true_caption,
false_caption}` with `relation_name`, or `attributes` of the two objects; images in `images`, cropped to the box; the
false caption comes first.
COCO-Order and Flickr30k-Order: upstream shuffles the captions anew in every run (spaCy, NLTK, no file). A fixed copy
is read instead: `coco-order/data/test-*.parquet` as huggingface.co/datasets/gowitheflow/ARO-COCO-order has it
(columns images, correct_caption, hard_text_1 to 4), or upstream's `test_cases` written as JSON: `{image,
caption_options}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from core.datasets._file_reading import DatasetFolder, caption, expecting, read_rows
from core.datasets.base import Benchmark
from core.groups import Group, ImageRef

_GENOME = "images | gqa:images"
_ORDER_IMAGES = {
    "coco": "val2014 | coco:val2014 | coco:images/val2014",
    "flickr30k": "flickr30k-images | flickr30k:flickr30k-images | flickr30k:images",
}
_TEXTS = ("correct_caption", *(f"hard_text_{i}" for i in range(1, 5)))


def _read_genome(folder: DatasetFolder, split: str, *, part: str) -> Iterator[Group]:
    """One cropped image, the false caption, the true one; tag `relation` or `attributes`."""
    image = folder.images(_GENOME)
    with folder.json(f"visual_genome_{part}.json", f"ARO's VG-{part.capitalize()}") as rows:
        for i, row in enumerate(rows):
            x, y, width, height = (int(row[f"bbox_{side}"]) for side in "xywh")
            picture = image(row["image_path"], (x, y, x + width, y + height))
            captions = caption(row["false_caption"]), caption(row["true_caption"])
            relation = {"relation": row["relation_name"]} if part == "relation" else {}
            tags = relation or {"attributes": "_".join(row["attributes"][:2])}
            yield Group(f"aro-{part}-{i}", (picture,), captions, (1,), tags)


def _read_order(folder: DatasetFolder, split: str, *, part: str) -> Iterator[Group]:
    """One image, its caption first, then four shuffles of its words."""
    parquet = folder.find(f"{part}-order/data/test-*.parquet")
    if parquet:
        with expecting(parquet, "ARO's shuffled captions"):
            for i, row in enumerate(read_rows(parquet, _TEXTS, ("images",))):
                yield _order_group(part, i, row["images"], [row[c] for c in _TEXTS])
        return
    image = folder.images(_ORDER_IMAGES[part])
    where = f"{part}_order.json | {part}-order/{part}_order.json"
    with folder.json(where, "a list of ARO's test cases") as rows:
        for i, row in enumerate(rows):
            yield _order_group(part, i, image(PurePosixPath(row["image"]).name), row["caption_options"])


def _order_group(part: str, i: int, picture: ImageRef, captions: list[str]) -> Group:
    return Group(f"aro-{part}-order-{i}", (picture,), tuple(caption(c) for c in captions), (0,))


def _genome(part: str, count: int, tag: str, note: str) -> Benchmark:
    return Benchmark(
        name=f"aro/vg-{part}",
        title=f"ARO: VG-{part.capitalize()}",
        source="https://github.com/mertyg/vision-language-models-are-bows",
        licence="MIT (captions); images: Visual Genome, CC BY 4.0",
        citation="ARO",
        metric="text_score",
        read=partial(_read_genome, part=part),
        layout=(f"visual_genome_{part}.json", _GENOME),
        shape=(1, 2),
        counts={"test": (count,)},
        note=note,
        tags=(tag,),
        reference=("ARO", f"VG-{part.capitalize()}"),
        download="aro/vg",
    )


def _order(part: str, title: str, count: int, licence: str) -> Benchmark:
    table = f"{part}-order/data/test-*.parquet"
    return Benchmark(
        name=f"aro/{part}-order",
        title=f"ARO: {title}-Order",
        source="https://github.com/mertyg/vision-language-models-are-bows",
        licence=licence,
        citation="ARO",
        metric="text_score",
        read=partial(_read_order, part=part),
        layout=(
            f"{table} | {part}_order.json | {part}-order/{part}_order.json",
            f"{table} | {_ORDER_IMAGES[part]}",
        ),
        shape=(1, 5),
        counts={"test": (count,)},
        note="ARO draws new shuffles in every run; these are one fixed draw, so results differ a little from "
        "published ones.",
        reference=("ARO", f"{title}-Order"),
        download=f"aro/{part}-order",
    )


BENCHMARKS = (
    _genome("relation", 23937, "relation", "ARO's paper averages over relations, not over images."),
    _genome(
        "attribution",
        28748,
        "attributes",
        "ARO's paper averages over pairs of attributes of 25 and more images.",
    ),
    _order("coco", "COCO", 25010, "images: COCO, Flickr's terms of use"),
    _order("flickr30k", "Flickr30k", 5000, "research and education alone (Flickr30k)"),
)
