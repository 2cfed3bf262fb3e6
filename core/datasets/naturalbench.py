"""NaturalBench: two natural images and two questions, each with opposite answers on them; and a retrieval form.

Layout: `data/train-*.parquet` of huggingface.co/datasets/BaiqiL/NaturalBench, three files by the hub's list, with the
columns of github.com/Baiqi-Li/NaturalBench (naturalbench_vqa.py). Licence: the hub's label. Retrieval:
`NaturalBench-Retrieval/metadata.json` and `images/` of the zip archive beside it, as naturalbench_retrieval.py reads
them; its number of groups is the one that the numbers of the paper's Table 7 are multiples of.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.datasets._file_reading import DatasetFolder, caption, matched_group
from core.datasets.base import Benchmark
from core.groups import Group

_TABLE = "data/train-*.parquet | train-*.parquet"
_LIST = "NaturalBench-Retrieval/metadata.json | metadata.json"
_IMAGES = "NaturalBench-Retrieval/images | images"
_PICTURES = ("Image_0", "Image_1")
# Right answers of question j on images 0 and 1; upstream's scores rely on this order.
_ANSWERS = ((("Yes", "No"), ("A", "B")), (("No", "Yes"), ("B", "A")))


def _read(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """A group per question: two images, and the question with the answer that is right on each; tag `sample`."""
    answers = [[f"Image_{i}_Question_{j}" for i in range(2)] for j in range(2)]
    texts = ("Index", "Question_0", "Question_1", *answers[0], *answers[1])
    with folder.table(_TABLE, "NaturalBench's table", texts, _PICTURES) as rows:
        for row in rows:
            for j, columns in enumerate(answers):
                found = tuple(row[column] for column in columns)
                if found not in _ANSWERS[j]:
                    raise ValueError(f"question {j} of sample {row['Index']} has the answers {found}")
                captions = tuple(f"{caption(row[f'Question_{j}'])} {answer}" for answer in found)
                kind = "yes/no" if "Yes" in found else "A/B"
                tags = {"sample": str(row["Index"]), "answers": kind}
                name = f"naturalbench-{row['Index']}-{j}"
                yield matched_group(name, (row["Image_0"], row["Image_1"]), captions, tags)


def _read_retrieval(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """Groups of two images and two captions; image i belongs to caption i."""
    image = folder.images(_IMAGES)
    with folder.json(_LIST, "NaturalBench-Retrieval's list") as rows:
        for row in rows:
            images, captions = (
                map(image, (row["image_0"], row["image_1"])),
                (row["caption_0"], row["caption_1"]),
            )
            yield matched_group(f"naturalbench-retrieval-{row['index']}", images, captions)


_SOURCE = "https://huggingface.co/datasets/BaiqiL/NaturalBench"
_LICENCE = "Apache 2.0; images: Flickr30k and DOCCI, on their own terms"
BENCHMARKS = (
    Benchmark(
        name="naturalbench/questions",
        title="NaturalBench",
        source=_SOURCE,
        licence=_LICENCE,
        citation="NaturalBench",
        metric="text_score",
        read=_read,
        layout=(_TABLE,),
        shape=(2, 2),
        counts={"test": (3800,)},
        note="1,900 samples of two questions, a group per question: its captions are the question with each answer. "
        "Q-Acc is TextScore, Acc IndividualMatch; G-Acc asks that both groups of a sample are right (tag `sample`). "
        "Upstream reads answers out of generated text, here the more likely one counts. None of the three papers "
        "reports it.",
        tags=("sample", "answers"),
        download="naturalbench/questions",
    ),
    Benchmark(
        name="naturalbench/retrieval",
        title="NaturalBench-Retrieval",
        source=_SOURCE,
        licence=_LICENCE,
        citation="NaturalBench",
        metric="group_score",
        read=_read_retrieval,
        layout=(_LIST, _IMAGES),
        shape=(2, 2),
        counts={"test": (1227, 1200)},
        note="The paper speaks of 1,200 groups; the numbers of its Table 7 are multiples of 1/1227. Its pairs are "
        "those that a CLIP (LAION400M ViT-L/14) mismatched: that model cannot be compared. None of the three papers "
        "reports it.",
        download="naturalbench/retrieval",
    ),
)
