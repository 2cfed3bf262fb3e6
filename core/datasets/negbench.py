"""NegBench: an image and four captions that say what is there and what is not; multiple choice.

Layout: `images/<set>_mcq_llama3.1_rephrased.csv` of the folder that github.com/m1k2zoo/negbench links, with the columns
that its benchmarks/src/training/data.py reads. Images are found by their file's name: the paths in the tables are those
of the authors' machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import Benchmark
from core.groups import Group

# Set -> file, title, images.
_SETS = {
    "coco": ("COCO_val_mcq", "COCO", "val2017 | coco:val2017 | coco:images/val2017 | sugarcrepe:val2017"),
    "voc2007": ("VOC2007_mcq", "VOC2007", "VOCdevkit/VOC2007/JPEGImages | JPEGImages | VOC2007/JPEGImages"),
}
_CHOICES = tuple(f"caption_{j}" for j in range(4))


def _read(folder: DatasetFolder, split: str, *, part: str) -> Iterator[Group]:
    """Groups of one image and four captions; tag `template`: positive, negative or hybrid, as the true one is."""
    image = folder.images(_SETS[part][2])
    columns = ("image_path", "correct_answer", "correct_answer_template", *_CHOICES)
    with folder.table(_file(part), "a multiple-choice table of NegBench", columns) as rows:
        for i, row in enumerate(rows):
            captions = tuple(caption(row[name]) for name in _CHOICES)
            picture = image(PurePosixPath(caption(row["image_path"])).name)
            tags = {"template": caption(row["correct_answer_template"])}
            yield Group(
                f"negbench-{part}-{i}", (picture,), captions, (int(float(row["correct_answer"])),), tags
            )


def _file(part: str) -> str:
    name = f"{_SETS[part][0]}_llama3.1_rephrased.csv"
    return f"{name} | images/{name} | MCQ/{name} | images/MCQ/{name}"


def _benchmark(part: str) -> Benchmark:
    _, title, images = _SETS[part]
    return Benchmark(
        name=f"negbench/{part}",
        title=f"NegBench: {title}, multiple choice",
        source="https://github.com/m1k2zoo/negbench",
        licence="MIT (upstream's repository); images: COCO and PASCAL VOC, Flickr's terms of use",
        citation="NegBench",
        metric="text_score",
        read=partial(_read, part=part),
        layout=(_file(part), images),
        shape=(1, 4),
        note="Upstream's numbers of before March 2025 lack the normalisation of embeddings (its changelog). We could "
        "not check upstream's count. None of the three papers reports it.",
        tags=("template",),
        download=f"negbench/{part}",
    )


BENCHMARKS = tuple(_benchmark(part) for part in _SETS)
