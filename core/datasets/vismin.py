"""VisMin: two images that differ in one object, attribute, count or spatial relation, with a caption each.

Layout: the `test` split of huggingface.co/datasets/mair-lab/vismin-bench, with the columns that
github.com/rabiulcste/vismin reads (vismin-bench/eval.py, by `load_from_disk`): three files of `save_to_disk`,
data/test/data-00000-of-00003.arrow and on, which the hub listed when we last knew, in January 2025. Tables of Parquet,
as the hub's converter writes them, are read as well. Counts: the data set's card (579 objects, 294 attributes, 589
counts, 622 relations). Licence: the hub's label of the test set; the training set, mair-lab/vismin, is CC BY-SA 4.0.
The order of captions: solutions/sim_solution.csv of upstream's commit 4fdeb0f, gone with 680a3ee.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.datasets._file_reading import DatasetFolder, caption, matched_group
from core.datasets.base import Benchmark
from core.groups import Group

_TABLE = "data/test/data-*.arrow | test/data-*.arrow | data/test-*.parquet | test-*.parquet"


def _read(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """Groups of two images and two captions; image i belongs to caption i; tag `category`."""
    texts = ("id", "text_0", "text_1", "category")
    with folder.table(_TABLE, "VisMin's table", texts, ("image_0", "image_1")) as rows:
        for row in rows:
            images, captions = (row["image_0"], row["image_1"]), (row["text_0"], row["text_1"])
            tags = {"category": caption(row["category"])}
            yield matched_group(f"vismin-{row['id']}", images, captions, tags)


BENCHMARKS = (
    Benchmark(
        name="vismin",
        title="VisMin",
        source="https://huggingface.co/datasets/mair-lab/vismin-bench",
        licence="CC BY 4.0; photographs: COCO, Flickr's terms of use",
        citation="VisMin",
        metric="group_score",
        read=_read,
        layout=(_TABLE,),
        shape=(2, 2),
        counts={"test": (2084,)},
        note="The paper reports text, image and group score by category. Until January 2025 the hub's rows were in "
        "random order: in 1,020 of the 2,084 caption 0 belongs to image 1, by upstream's solutions of then, and "
        "nothing in the files tells it; fetch older copies again. None of the three papers reports it.",
        tags=("category",),
    ),
)
