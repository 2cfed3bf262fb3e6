"""VALSE: a caption of an image, and the same caption with one word or phrase exchanged (the foil), by phenomenon.

Layout: `data/<piece>.json` of github.com/Heidelberg-NLP/VALSE, `{id: {"image_file", "caption", "foil", "mturk"}}`, read
as its README says: an item is valid where two or more of three annotators chose the caption and not the foil. Images
are those of five other data sets, in the folders of upstream's config.py or beside this one. The counts are those of
upstream's files (commit 2152d90) and of the paper's Table 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import Benchmark
from core.groups import Group

_VOTES = 2  # of three annotators


class _Piece(NamedTuple):
    title: str  # as the paper says it
    items: int  # valid ones
    images: str


_VISUAL7W = "visual7w/images | visual7w | images | visual7w:images | visual7w:"
_SWIG = "images_512 | actions/images_512 | images | swig:images_512 | swig:"
_PIECES = {
    "existence": _Piece("existence", 505, _VISUAL7W),
    "plurals": _Piece("plurality", 851, "val2017 | images | coco:val2017"),
    "counting-hard": _Piece("counting, balanced", 868, _VISUAL7W),
    "counting-small-quant": _Piece("counting, small numbers", 900, _VISUAL7W),
    "counting-adversarial": _Piece("counting, adversarial", 691, _VISUAL7W),
    "relations": _Piece("spatial relations", 535, "val2017 | images | coco:val2017"),
    "action-replacement": _Piece("action replacement", 648, _SWIG),
    "actant-swap": _Piece("actant swap", 949, _SWIG),
    "coreference-standard": _Piece("coreference", 708, "train2014 | images | coco:train2014"),
    "coreference-hard": _Piece(
        "coreference, clean",
        104,
        "VisualDialog_val2018 | images | visual-dialog:VisualDialog_val2018 | visual-dialog:",
    ),
    "foil-it": _Piece("noun phrases (FOIL it!)", 943, "val2014 | images | coco:val2014"),
}


def _read(folder: DatasetFolder, split: str, *, piece: str) -> Iterator[Group]:
    """Groups of one image and two captions, the true one first; tag `votes`, how many of three chose it."""
    image = folder.images(_PIECES[piece].images)
    with folder.json(_file(piece), "a piece of VALSE") as rows:
        for key, row in rows.items():
            votes = int(row["mturk"]["caption"])
            if votes >= _VOTES:
                captions = caption(row["caption"]), caption(row["foil"])
                tags = {"votes": str(votes)}
                yield Group(f"valse-{piece}-{key}", (image(row["image_file"]),), captions, (0,), tags)


def _file(piece: str) -> str:
    return f"data/{piece}.json | {piece}.json"


def _benchmark(piece: str) -> Benchmark:
    about = _PIECES[piece]
    return Benchmark(
        name=f"valse/{piece}",
        title=f"VALSE: {about.title}",
        source="https://github.com/Heidelberg-NLP/VALSE",
        licence="MIT (captions and foils); images: COCO, Visual7W, SWiG and VisDial, on their own terms",
        citation="VALSE",
        metric="text_score",
        read=partial(_read, piece=piece),
        layout=(_file(piece), about.images),
        shape=(1, 2),
        counts={"test": (about.items,)},
        note="Upstream's files hold items that annotators did not accept too, some with a foil equal to its caption; "
        "they are left out, as the README asks. The paper's pairwise accuracy is TextScore; its other measures compare "
        "a probability with 0.5. None of the three papers reports it.",
        tags=("votes",),
    )


BENCHMARKS = tuple(_benchmark(piece) for piece in _PIECES)
