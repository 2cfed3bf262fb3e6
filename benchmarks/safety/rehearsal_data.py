"""Made-up data of full size in the layouts that upstream publishes, as `core.datasets` finds them in a data root.

Each function of `WRITTEN` writes one folder. Counts of groups are upstream's. EqBen, COCO and GQA have a few hundred
distinct pictures, every other name is a hard link to one of them: half a million files take the disk of a few hundred.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.safety.rehearsal_pictures import picture, pictures
from benchmarks.safety.samples import winoground_rows, write_json
from core.datasets.sugarcrepe import SUBSETS

COLOURS = ("red", "blue", "green", "yellow", "black", "white", "brown", "grey")
THINGS = (
    "dog",
    "cat",
    "man",
    "woman",
    "tree",
    "house",
    "car",
    "bird",
    "table",
    "chair",
    "boat",
    "horse",
    "cup",
)
PLACES = ("on", "under", "beside", "behind", "near", "above")
WORDS = ("a", "the", "of", "photo", "is", "and", *COLOURS, *THINGS, *PLACES)

_MMVP_TYPES = (
    "Orientation and Direction",
    "Presence of Specific Features",
    "State and Condition",
    "Quantity and Count",
    "Positional and Relational Context",
    "Color and Appearance",
    "Structural Characteristics",
    "Texts",
    "Viewpoint and Perspective",
)
# Groups of EqBen's parts (evaluate_eqben_locally.py).
_EQBEN = {
    "eqbenag": 195_872,
    "eqbenyoucook2": 45_849,
    "eqbengebc": 1_814,
    "eqbenkubric_loc": 2_000,
    "eqbenkubric_attr": 2_000,
    "eqbenkubric_cnt": 2_000,
    "eqbensd": 1_513,
}
_VIDEO = 500  # groups of EqBen whose pictures share a folder


def sentences(seed: int) -> Iterator[tuple[str, str]]:
    """Pairs of captions of the same ten words, as Winoground's are, without end."""
    rng = np.random.default_rng(seed)
    while True:
        (one, other), place = rng.choice(THINGS, 2, replace=False), rng.choice(PLACES)
        first, second = rng.choice(COLOURS, 2, replace=False)
        yield (
            f"a photo of the {first} {one} {place} a {second} {other}",
            f"a photo of the {second} {other} {place} a {first} {one}",
        )


def winoground(folder: Path, groups: int = 400, large: bool = True) -> None:
    """Winoground's Parquet with the pictures in it."""
    made, rows, first = pictures(0, large), [], winoground_rows()[0]
    for i, (one, other) in enumerate(islice(sentences(0), groups)):
        images = {f"image_{j}": {"bytes": next(made), "path": None} for j in range(2)}
        rows.append({**first, "id": i, "caption_0": one, "caption_1": other, **images})
    (folder / "data").mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_parquet(folder / "data" / "test-00000-of-00001.parquet", row_group_size=100)


def mmvp(folder: Path, pairs: int = 15, large: bool = True) -> None:
    """MMVP-VLM's folders, one for each of nine patterns with so many pairs, and its CSV."""
    made, texts, rows = pictures(1, large), sentences(1), []
    for kind in _MMVP_TYPES:
        for statement in (text for pair in islice(texts, pairs) for text in pair):
            rows.append({"Question ID": len(rows) + 1, "Type": kind, "Statement": statement})
            _write(folder / "MLLM_VLM Images" / kind / f"{len(rows)}.jpg", next(made))
    with open(folder / "Questions.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def sugarcrepe(folder: Path, groups: int | None = None, images: int = 1000, large: bool = True) -> None:
    """SugarCrepe's seven files; its pictures under COCO's names in `coco/val2017` beside the folder."""
    names = [f"{139 + 575 * i:012d}.jpg" for i in range(images)]
    for name, data in zip(names, pictures(2, large), strict=False):
        _write(folder.parent / "coco" / "val2017" / name, data)
    for number, (subset, (whole, _)) in enumerate(SUBSETS.items()):
        rows: dict[str, Any] = {}
        for i, (one, other) in enumerate(islice(sentences(20 + number), groups or whole)):
            name = names[(7 * i + number) % images]
            rows[str(i)] = {"filename": name, "caption": one, "negative_caption": other}
        write_json(folder / "data" / f"{subset}.json", rows)


def whatsup(folder: Path, sets: int | None = None, damaged: bool = True) -> None:
    """What'sUp's two lists and folders. damaged : the last picture of the second is cut short."""
    for file, whole, relations in (
        ("controlled_images", 103, ("left_of", "right_of", "on", "under")),
        ("controlled_clevr", 102, ("left_of", "right_of", "in-front_of", "behind")),
    ):
        made, rows = pictures(whole, large=False), []
        pairs = [(one, other) for one in THINGS for other in THINGS if one != other][: sets or whole]
        for one, other in pairs:
            texts = [f"A {one} {relation.replace('_', ' ')} a {other}" for relation in relations]
            for i, relation in enumerate(relations):
                path = f"data/{file}/{one}_{relation}_{other}.jpeg"
                rows.append({"image_path": path, "caption_options": [texts[i], *texts[:i], *texts[i + 1 :]]})
                _write(folder / path, next(made))
        if damaged and file == "controlled_clevr":
            _write(folder / rows[-1]["image_path"], picture(np.random.default_rng(9), "truncated"))
        write_json(folder / "data" / f"{file}_dataset.json", rows)


def eqben(folder: Path, share: float = 1.0, distinct: int = 400) -> None:
    """EqBen's list of 251,048 groups, and all pictures; YouCook2's are arrays, Action Genome's captions lists.

    share : of the groups of each part. distinct : pictures that are written; the other names are links to them.
    """
    texts, rows = sentences(3), []
    for part, whole in _EQBEN.items():
        folders, arrays = "images", part == "eqbenyoucook2"
        linked = _Linked(distinct, arrays)
        for i in range(round(share * whole)):
            names = [f"{part}/{i // _VIDEO:04d}/{i % _VIDEO:06d}_{j}{linked.ending}" for j in range(2)]
            for name in names:
                linked.write(folder / folders / name)
            captions = [[text] if part == "eqbenag" else text for text in next(texts)]
            rows.append(
                {"image0": names[0], "caption0": captions[0], "image1": names[1], "caption1": captions[1]}
            )
    write_json(folder / "private_info_global.json", rows)


def coco(folder: Path, images: int = 5000, distinct: int = 600) -> None:
    """COCO's 5,000 test pictures of Karpathy's split with five captions each."""
    texts, rows, linked = sentences(4), [], _Linked(distinct)
    for i in range(images):
        name = f"val2014/COCO_val2014_{42 + 116 * i:012d}.jpg"
        linked.write(folder / name)
        rows.append({"image": name, "caption": [next(texts)[j % 2] for j in range(5)]})
    write_json(folder / "annotations" / "coco_karpathy_test.json", rows)


def cola(folder: Path, groups: int = 210, images: int = 1952, queries: int = 320) -> None:
    """Cola's multi-object pairs and its GQA queries; the pictures in `gqa/images` beside the folder."""
    rng, linked, texts = np.random.default_rng(5), _Linked(600), sentences(5)
    names = [f"{2_300_000 + i}.jpg" for i in range(images)]
    for name in names:
        linked.write(folder.parent / "gqa" / "images" / name)
    address = "https://cs-people.bu.edu/array/data/vg_gqa_images/"
    pairs = [(next(texts), names[2 * i % images], names[(2 * i + 1) % images]) for i in range(groups)]
    multi = [[address + one, first, address + other, second] for (first, second), one, other in pairs]
    write_json(folder / "data" / "COLA_multiobjects_matching_benchmark.json", multi)
    labels = [
        f"{colour} {size} {thing}" for colour in COLOURS for size in ("big", "small") for thing in THINGS
    ]
    labels = [label for kind in ("", " wooden") for label in (f"{text}{kind}" for text in labels)][:queries]
    rows: list[list[Any]] = []
    for name in names:
        hard = rng.random(len(labels)) < 0.1
        right = hard & (rng.random(len(labels)) < 0.1)
        rows.append([name, [], right.astype(int).tolist(), hard.astype(int).tolist()])
    write_json(folder / "data" / "COLA_singleobjects_benchmark_GQA.json", {"labels": labels, "data": rows})


def gqa(folder: Path, train: int = 74_942, validation: int = 10_696) -> None:
    """GQA's scene graphs, sixteen objects a picture."""
    rng, linked = np.random.default_rng(6), _Linked(600)
    for split, count, first in (("train", train, 2_310_000), ("val", validation, 2_400_000)):
        graphs = {}
        for name in map(str, range(first, first + count)):
            linked.write(folder / "images" / f"{name}.jpg")
            graphs[name] = _graph(rng, name)
        write_json(folder / f"{split}_sceneGraphs.json", graphs)


def _graph(rng: np.random.Generator, name: str) -> dict[str, Any]:
    ids = [f"{name}{i:02d}" for i in range(16)]
    objects = {}
    for i, (key, (thing, colour, place, x, y)) in enumerate(
        zip(ids, rng.integers(0, 300, (16, 5)), strict=True)
    ):
        relation = {"name": PLACES[place % len(PLACES)], "object": ids[(i + 1) % 16]}
        objects[key] = {
            "name": THINGS[thing % len(THINGS)],
            "attributes": [COLOURS[colour % len(COLOURS)], ("big", "small")[colour % 2]][: 1 + place % 2],
            "relations": [relation] if i % 2 else [],
            "x": int(x),
            "y": int(y),
            "w": 120,
            "h": 100,
        }
    return {"width": 500, "height": 375, "objects": objects}


class _Linked:
    """Pictures of which a few are written and all further ones are hard links to these."""

    def __init__(self, distinct: int, arrays: bool = False) -> None:
        self.ending = ".npy" if arrays else ".jpg"
        self._made = _arrays() if arrays else pictures(7, large=False)
        self._distinct, self._written, self._count = distinct, [Path()][:0], 0

    def write(self, path: Path) -> None:
        if len(self._written) < self._distinct:
            _write(path, next(self._made))
            self._written.append(path)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.link(self._written[self._count % self._distinct], path)
        self._count += 1


def _arrays() -> Iterator[bytes]:
    """Frames of YouCook2, uint8 (224, 398, 3), as NumPy's files."""
    rng = np.random.default_rng(8)
    while True:
        made = io.BytesIO()
        np.save(made, np.repeat(np.repeat(rng.integers(0, 256, (28, 50, 3), np.uint8), 8, 0), 8, 1)[:, :398])
        yield made.getvalue()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # never through a hard link
    path.write_bytes(data)


# Folder of a data root -> what writes it.
WRITTEN: dict[str, Callable[[Path], None]] = {
    "winoground": winoground,
    "mmvp-vlm": mmvp,
    "sugarcrepe": sugarcrepe,
    "whatsup": whatsup,
    "eqben": eqben,
    "coco": coco,
    "cola": cola,
    "gqa": gqa,
}


def write_all(root: Path, names: Sequence[str] = ()) -> None:
    """Write all, or those named, into a data root."""
    for name in names or WRITTEN:
        WRITTEN[name](root / name)
        print(name, flush=True)
