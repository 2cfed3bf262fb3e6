"""ColorFoil: an image of COCO, a caption of it that names a colour, and the same caption with another colour.

Upstream (github.com/samin9796/ColorFoil) is a notebook and no file: it takes the first caption of an image that holds
a CSS colour name as a word of its own, and draws the foil anew for everybody who runs it. Which captions is read here
as it does; the foil is drawn from the caption's number, so that it is the same on every machine.
Layout: `annotations/captions_val2017.json` and `val2017/` of COCO.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import Benchmark
from core.groups import Group

_FILE = (
    "annotations/captions_val2017.json | captions_val2017.json | coco:annotations/captions_val2017.json | "
    "coco:captions_val2017.json"
)
_IMAGES = "val2017 | coco:val2017 | coco:images/val2017 | sugarcrepe:val2017"
# What a foil may say, as upstream has it.
_COMMON = ("blue", "black", "red", "pink", "yellow", "grey", "orange", "white", "green", "brown")
_SAME = {"gray": "grey"}
# What its notebook leaves out as greyscale, by its places in the list (550, 1164, 1752, 2236), by COCO's numbers.
_GREYSCALE = {431848, 209222, 130465, 7888}


def _read(folder: DatasetFolder, split: str) -> Iterator[Group]:
    """Groups of one image and two captions, the first true; tag `colour`: the words that the foil replaces."""
    image, named = folder.images(_IMAGES), _colour_names()
    with folder.json(_FILE, "COCO's captions of 2017") as value:
        captions = defaultdict(list)
        for row in value["annotations"]:
            captions[row["image_id"]].append((int(row["id"]), caption(row["caption"])))
        for row in value["images"]:
            if row["id"] not in _GREYSCALE and (found := _first_coloured(captions[row["id"]], named)):
                number, text, colours = found
                foil = _foil(number, text, colours)
                tags = {"colour": " and ".join(colours)}
                yield Group(f"colorfoil-{row['id']}", (image(row["file_name"]),), (text, foil), (0,), tags)


def _colour_names() -> frozenset[str]:
    """The 147 colour names of CSS 3."""
    from PIL import ImageColor

    return frozenset(ImageColor.colormap) - {"rebeccapurple"}  # of CSS 4


def _first_coloured(captions: Sequence[tuple[int, str]], named: frozenset[str]) -> Any:
    """The first of (number, text) that names a colour, with its colours in their order; None where there is none."""
    for number, text in captions:
        if colours := tuple(dict.fromkeys(word for word in text.split(" ") if word in named)):
            return number, text, colours
    return None


def _foil(number: int, text: str, colours: Sequence[str]) -> str:
    """The caption with every colour replaced by a common one of its own that it does not name, whole words alone."""
    said = {_SAME.get(colour, colour) for colour in colours}
    free = [colour for colour in _COMMON if colour not in said]
    other = {colour: free.pop(_draw(f"{number} {colour}", len(free))) for colour in colours if free}
    return " ".join(other.get(word, word) for word in text.split(" "))


def _draw(seed: str, count: int) -> int:
    """A number below `count`, the same for a seed everywhere."""
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big") % count


BENCHMARKS = (
    Benchmark(
        name="colorfoil",
        title="ColorFoil",
        source="https://github.com/samin9796/ColorFoil",
        licence="MIT (upstream's notebook); captions: COCO, CC BY 4.0; images: COCO, Flickr's terms of use",
        citation="ColorFoil",
        metric="text_score",
        read=_read,
        layout=(_FILE, _IMAGES),
        shape=(1, 2),
        counts={"test": (2507,)},
        note="Upstream draws the foils anew at each run, so that no two of its numbers are of the same captions. Ours "
        "are the same everywhere, replace whole words alone (upstream also the 'red' of 'covered'), and name no colour "
        "that the caption names. As upstream: 2,511 captions less 4 greyscale images; CSS names such as snow, "
        "chocolate and tomato count as colours though they are mostly things, and a colour at a sentence's start or "
        "before a comma does not. None of the three papers reports it.",
        tags=("colour",),
    ),
)
