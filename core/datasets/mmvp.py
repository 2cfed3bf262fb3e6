"""MMVP-VLM: pairs of images that CLIP sees as alike, with a statement each.

Layout: `Questions.csv` and `MLLM_VLM Images/<Type>/<Question ID>.jpg` of huggingface.co/datasets/MMVP/MMVP_VLM, read as
github.com/tsb0601/MMVP (scripts/evaluate_vlm.py) and github.com/yinglunz/test-time-matching (dataset.py) do: two
successive rows are a pair.
"""

from __future__ import annotations

from pathlib import Path

from core.datasets._file_reading import ImageFolder, find_layout, read_rows, require
from core.datasets.base import Benchmark
from core.groups import Group, GroupSet

_FILE, _IMAGES = "Questions.csv", "MLLM_VLM Images"


def _read(folder: Path, split: str, images: bool = True) -> GroupSet:
    """135 groups of two images and two statements, 15 of each of nine visual patterns; tag `type`."""
    path = require(folder, _FILE)
    rows = read_rows(path, ("Question ID", "Type", "Statement"))
    image = ImageFolder(folder, _IMAGES, images)
    with find_layout(path, "MMVP-VLM's question table"):
        if len(rows) % 2:
            raise ValueError(f"{len(rows)} rows do not make pairs")
        groups = []
        for one, other in zip(rows[::2], rows[1::2], strict=True):
            pair = (one, other)
            groups.append(
                Group(
                    f"mmvp-{one['Question ID']}-{other['Question ID']}",
                    tuple(image(f"{row['Type']}/{int(row['Question ID'])}.jpg") for row in pair),
                    tuple(row["Statement"] for row in pair),
                    (0, 1),
                    {"type": one["Type"]},
                )
            )
    return GroupSet("mmvp-vlm", tuple(groups))


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
