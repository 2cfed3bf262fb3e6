"""SVO-Probes: a sentence and two images, of which the other one differs in the subject, the verb or the object.

Layout: `svo_probes.csv` of github.com/google-deepmind/svo_probes with the columns that its README and notebook name.
Images are addresses of the web (pos_url, neg_url) with a number each; they lie here as `images/<number>.jpg`, whatever
their format.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import RETRIEVAL, Benchmark
from core.datasets.sets import RetrievalSet
from core.groups import ImageRef

_FILE = "svo_probes.csv | data/svo_probes.csv"
_IMAGES = "images"
_FLAGS = {"subject": "subj_neg", "verb": "verb_neg", "object": "obj_neg"}
_COLUMNS = ("sentence", "pos_image_id", "neg_image_id", *_FLAGS.values())


def _read(folder: DatasetFolder, split: str, *, part: str) -> RetrievalSet:
    """A sentence for each choice between two images; rows of which an image is nowhere to be had are left out."""
    image = folder.images(_IMAGES)

    def items(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[ImageRef], int]]:
        wanted = [row for row in rows if _differs_in(row, part)]
        names = [[f"{int(row[f'{side}_image_id'])}.jpg" for side in ("pos", "neg")] for row in wanted]
        here = [all(map(image.has, pair)) for pair in names]
        for row, pair, found in zip(wanted, names, here, strict=True):
            if found or not any(here):  # with no image at all the first one says what is missing
                yield caption(row["sentence"]), [image(name) for name in pair], 0

    with folder.table(_FILE, "the table of SVO-Probes", _COLUMNS) as rows:
        return RetrievalSet.of_choices(f"svo-probes/{part}", split, items(rows))


def _differs_in(row: dict[str, Any], part: str) -> bool:
    """Whether the other image differs in this part alone, as upstream's notebook keeps them."""
    flags = {name: str(row[column]).strip().lower() for name, column in _FLAGS.items()}
    if set(flags.values()) - {"true", "false"}:
        raise ValueError(f"{set(flags.values())} are not all true or false")
    return [name for name, flag in flags.items() if flag == "true"] == [part]


def _benchmark(part: str) -> Benchmark:
    return Benchmark(
        name=f"svo-probes/{part}",
        title=f"SVO-Probes: {part}",
        source="https://github.com/google-deepmind/svo_probes",
        licence="CC BY 4.0 (upstream's table); images: of the web, under their own",
        citation="SVO-Probes",
        metric="image_choice",
        read=partial(_read, part=part),
        layout=(_FILE, _IMAGES),
        kind=RETRIEVAL,
        note="A sentence chooses between its image and the other one; a tie is lost. The paper asks whether each image "
        "fits, yes or no, so that its accuracies are of another question. Many addresses are dead (upstream's issue 1, "
        "of 2022) and the authors may not share the images: rows without both are left out, so compare models that "
        "were measured on the same images, and say the count. None of the three papers reports it.",
    )


BENCHMARKS = tuple(map(_benchmark, _FLAGS))
