"""MMVP-VLM: pairs of images that CLIP sees as alike, with a statement each.

Layout: `Questions.csv` and `MLLM_VLM Images/<Type>/<Question ID>.jpg` of huggingface.co/datasets/MMVP/MMVP_VLM, read as
github.com/tsb0601/MMVP (scripts/evaluate_vlm.py) and github.com/yinglunz/test-time-matching (dataset.py) do: two
successive rows are a pair.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.datasets._file_reading import DatasetFolder, matched_group
from core.datasets.base import Benchmark
from core.groups import Group

_FILE, _IMAGES = "Questions.csv", "MLLM_VLM Images"


def _read(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """135 groups of two images and two statements, 15 of each of nine visual patterns; tag `type`."""
    image, columns = folder.images(_IMAGES), ("Question ID", "Type", "Statement")
    with folder.table(_FILE, "MMVP-VLM's question table", columns) as rows:
        if len(rows) % 2:
            raise ValueError(f"{len(rows)} rows do not make pairs")
        for pair in zip(rows[::2], rows[1::2], strict=True):
            name = f"mmvp-{pair[0]['Question ID']}-{pair[1]['Question ID']}"
            images = (image(f"{row['Type']}/{int(row['Question ID'])}.jpg") for row in pair)
            yield matched_group(name, images, (row["Statement"] for row in pair), {"type": pair[0]["Type"]})


BENCHMARKS = (
    Benchmark(
        name="mmvp-vlm",
        title="MMVP-VLM",
        source="https://huggingface.co/datasets/MMVP/MMVP_VLM",
        licence="MIT",
        citation="MMVP-VLM",
        metric="group_score",
        read=_read,
        layout=(_FILE, _IMAGES),
        shape=(2, 2),
        counts={"test": (135,)},
        note="TTM reports GroupScore and GroupMatch; MMVP's own script scores images by caption (the image score) and "
        "puts 'a photo of' before each statement.",
        tags=("type",),
        reference=("MMVP-VLM", ""),
    ),
)
