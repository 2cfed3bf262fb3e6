"""Winoground, with the tags of Diwan et al.

Layout: huggingface.co/datasets/facebook/winoground, as a Parquet file (`data/test-*.parquet`, columns as its card lists
them) or as before (`examples.jsonl` and `images/ex_0_img_0.png`). The tags: `new_tag_assignments.json` of
github.com/ajd12342/why-winoground-hard, which calls NonCompositional of the paper "Non Minimal".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.datasets._file_reading import DatasetFolder, expecting, matched_group, read_rows
from core.datasets.base import Benchmark
from core.groups import Group

_TAGS = (
    "AmbiguouslyCorrect",
    "ComplexReasoning",
    "NoTag",
    "NonCompositional",
    "UnusualImage",
    "UnusualText",
    "VisuallyDifficult",
)
_RENAMED = {"NonMinimal": "NonCompositional"}
_PARQUET = "data/test-*.parquet | test-*.parquet"
_ROWS = "examples.jsonl | data/examples.jsonl | captions_and_tags.csv"
_TAG_FILES = "new_tag_assignments.json | diwan_tags.json | why_winoground_hard.json"
_COLUMNS = (
    "id",
    "caption_0",
    "caption_1",
    "tag",
    "secondary_tag",
    "collapsed_tag",
    "num_main_preds",
)


def _read(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """400 groups of two images and two captions with the same words; image i belongs to caption i."""
    path = folder.find(_PARQUET) or folder.require(_ROWS)
    columns = () if path.suffix == ".jsonl" else _COLUMNS
    rows = read_rows(path, columns, ("image_0", "image_1") if path.suffix == ".parquet" else ())
    tags = _read_tags(folder, {str(row.get("id")) for row in rows}) if folder.find(_TAG_FILES) else None
    image = folder.images("images | data/images")
    with expecting(path, "Winoground's examples"):
        for row in rows:
            if path.suffix != ".parquet":  # a table without image names follows upstream's naming
                names = [row.get(f"image_{i}") or f"ex_{row['id']}_img_{i}" for i in range(2)]
                row |= {f"image_{i}": image(f"{name}.png") for i, name in enumerate(names)}
            yield _group(row, tags)


def _read_tags(folder: DatasetFolder, ids: set[str]) -> dict[str, list[str]]:
    with folder.json(_TAG_FILES, "the tags of Diwan et al.") as value:
        named = {key: [tag.replace(" ", "") for tag in tags] for key, tags in value.items()}
        result = {key: [_RENAMED.get(t, t) for t in tags] or ["NoTag"] for key, tags in named.items()}
        unknown = {tag for tags in result.values() for tag in tags} - set(_TAGS)
        if unknown:
            raise ValueError(f"it has the unknown tag {min(unknown)!r}")
        if ids - set(result):
            raise ValueError(f"it says nothing of example {min(ids - set(result))}")
        return result


def _group(row: Mapping[str, Any], extra: Mapping[str, list[str]] | None) -> Group:
    name = str(row["id"])
    tags = {key: str(row[key]) for key in ("collapsed_tag", "tag", "num_main_preds")}
    tags |= {"secondary_tag": str(row["secondary_tag"])} if row.get("secondary_tag") else {}
    if extra is not None:  # one tag each, a group may carry several
        tags |= {tag: "yes" if tag in extra[name] else "no" for tag in _TAGS}
    images, captions = (row["image_0"], row["image_1"]), (row["caption_0"], row["caption_1"])
    return matched_group(f"winoground-{name}", images, captions, tags)


BENCHMARKS = (
    Benchmark(
        name="winoground",
        title="Winoground",
        source="https://huggingface.co/datasets/facebook/winoground",
        licence="Meta's research licence: no redistribution of the images (Getty); tags of Diwan et al.: MIT",
        citation="Winoground",
        metric="group_score",
        read=_read,
        layout=(f"{_PARQUET} | {_ROWS}", f"images | data/images | {_PARQUET}"),
        shape=(2, 2),
        counts={"test": (400,)},
        note="Tags of Diwan et al. (2022) appear where new_tag_assignments.json lies beside the data; their file gives "
        "172 groups no tag, their paper counts 171.",
        tags=("collapsed_tag", "tag", "secondary_tag", "num_main_preds", *_TAGS),
        reference=("Winoground", ""),
    ),
)
