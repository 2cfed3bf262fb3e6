"""CIFAR-10's test images, each with a caption per class: what [Cola] section 7 checks an adapted model on.

Layout: `plain_text/test-*.parquet` of huggingface.co/datasets/uoft-cs/cifar10, columns `img` and `label`, the classes
in the order of its README. The archives of the authors' page are pickles, which are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.datasets._file_reading import DatasetFolder
from core.datasets.base import Benchmark
from core.groups import Group

_CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_TEMPLATE = "a photo of a {}."
_CAPTIONS = tuple(_TEMPLATE.format(name) for name in _CLASSES)
_TABLE = "plain_text/{split}-*.parquet | {split}-*.parquet"


def _read(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """Groups of one image and ten captions; tag `class`, the true one."""
    with folder.table(_TABLE.format(split=split), "CIFAR-10's table", ("label",), ("img",)) as rows:
        for i, row in enumerate(rows):
            label = row["label"]
            if label not in range(len(_CLASSES)):
                raise ValueError(f"row {i + 1} has the label {label!r}, not one of 0 to {len(_CLASSES) - 1}")
            yield Group(
                f"cifar10-{split}-{i}", (row["img"],), _CAPTIONS, (int(label),), {"class": _CLASSES[label]}
            )


BENCHMARKS = (
    Benchmark(
        name="cifar-10",
        title="CIFAR-10",
        source="https://huggingface.co/datasets/uoft-cs/cifar10",
        licence="not stated upstream; images: 80 Million Tiny Images, which its authors have withdrawn",
        citation="CIFAR-10",
        metric="text_score",
        read=_read,
        layout=(_TABLE.format(split="test"),),
        split_layout={"train": (_TABLE.format(split="train"),)},
        shape=(1, 10),
        counts={"test": (10_000,), "train": (50_000,)},
        tags=("class",),
        splits=("test", "train"),
        note=f"Zero-shot classification of 32 x 32 pixels: TextScore is the accuracy. Captions follow {_TEMPLATE!r}; "
        "the paper does not say which it used.",
        reference=("CIFAR-10", ""),
    ),
)
