"""Scene graphs of CLEVR, CLEVR-CoGenT and PACO: what Cola's queries over them are made from.

Layouts: `CLEVR_<split>_scenes.json` (CoGenT: `CLEVR_trainA_scenes.json`, `CLEVR_valB_scenes.json`, ...) as
github.com/facebookresearch/clevr-dataset-gen writes it (objects with shape, color, material, size;
`relationships[name][i]` lists the objects that are `name` of object i); `paco_lvis_v1_<split>.json` as
github.com/facebookresearch/paco reads it (LVIS with `attribute_ids`; an object's annotation is its own `obj_ann_id`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from core.datasets._file_reading import DatasetFolder, ImageFolder
from core.datasets.base import graph_benchmark
from core.datasets.sets import Relation, SceneGraph, SceneObject

_CLEVR_SPLITS = {"validation": "val", "train": "train"}
# Condition A: cubes are gray, blue, brown or yellow, cylinders red, green, purple or cyan. B: the other way round.
_COGENT_SPLITS = {"test": "valB", "validation": "valA", "train": "trainA"}
_CLEVR_WORDS = {"left": "left of", "right": "right of", "front": "in front of", "behind": "behind"}
_CLEVR, _COGENT = "CLEVR_v1.0", "CLEVR_CoGenT_v1.0"
_CLEVR_IMAGES = "images/val | images/train | images | CLEVR_v1.0/images/val"
_COGENT_IMAGES = f"{_COGENT}/images/valB | images/valB | images"
_PACO_IMAGES = "val2017 | train2017 | images | coco:val2017 | coco:train2017"


def _clevr_files(part: str, archive: str) -> str:
    name = f"CLEVR_{part}_scenes.json"
    return f"{archive}/scenes/{name} | scenes/{name} | {name}"


def _read_clevr(
    folder: DatasetFolder, split: str, *, archive: str, parts: Mapping[str, str]
) -> Iterator[SceneGraph]:
    """CLEVR's scenes: the shape is the noun; colour, size and material are the attributes."""
    part = parts[split]
    image = folder.images(f"{archive}/images/{part} | images/{part} | images")
    with folder.json(_clevr_files(part, archive), "CLEVR's scenes") as value:
        for scene in value["scenes"]:
            yield _clevr_graph(scene, image)


def _clevr_object(index: int, o: Mapping[str, Any]) -> SceneObject:
    x, y = (int(number) for number in o["pixel_coords"][:2])
    return SceneObject(str(index), (o["shape"],), (o["color"], o["size"], o["material"]), (x, y, 0, 0))


def _clevr_graph(scene: Mapping[str, Any], image: ImageFolder) -> SceneGraph:
    objects = tuple(_clevr_object(i, o) for i, o in enumerate(scene["objects"]))
    relations = tuple(
        Relation(str(j), _CLEVR_WORDS.get(name, name), str(i))
        for name, lists in scene.get("relationships", {}).items()
        for i, others in enumerate(lists)
        for j in others
    )
    file = scene["image_filename"]
    return SceneGraph(PurePosixPath(file).stem, image(file), objects, relations)


def _paco_file(split: str) -> str:
    name = f"paco_lvis_v1_{'val' if split == 'validation' else split}.json"
    return f"annotations/{name} | {name}"


def _read_paco(folder: DatasetFolder, split: str) -> Iterator[SceneGraph]:
    """PACO-LVIS' objects with their attributes; parts of objects are left out. It has no relations."""
    image = folder.images(_PACO_IMAGES)
    with folder.json(_paco_file(split), "PACO's annotations") as value:
        nouns = {c["id"]: c["name"].replace("_", " ").split("(")[0].strip() for c in value["categories"]}
        words = {a["id"]: a["name"] for a in value["attributes"]}
        objects: dict[int, list[SceneObject]] = defaultdict(list)
        for annotation in value["annotations"]:
            if annotation["id"] == annotation["obj_ann_id"]:
                attributes = tuple(words[i] for i in annotation["attribute_ids"] if i in words)
                x, y, w, h = map(int, annotation["bbox"])
                names = (nouns[annotation["category_id"]],)
                objects[annotation["image_id"]].append(
                    SceneObject(str(annotation["id"]), names, attributes, (x, y, w, h))
                )
        for i in value["images"]:
            if i["id"] in objects:
                picture = image(PurePosixPath(i["file_name"]).name)
                yield SceneGraph(f"paco-{i['id']}", picture, tuple(objects[i["id"]]), ())


BENCHMARKS = (
    graph_benchmark(
        name="clevr",
        title="CLEVR scenes",
        source="https://cs.stanford.edu/people/jcjohns/clevr/",
        licence="CC BY 4.0",
        citation="CLEVR",
        read=partial(_read_clevr, archive=_CLEVR, parts=_CLEVR_SPLITS),
        layout=(_clevr_files("val", _CLEVR), _CLEVR_IMAGES),
        counts={"train": (70000,), "validation": (15000,)},
        note="Material for queries and swaps. Cola trains and tests on CLEVR-CoGenT instead.",
        splits=("validation", "train"),
    ),
    graph_benchmark(
        name="clevr/cogent",
        title="CLEVR-CoGenT scenes",
        source="https://cs.stanford.edu/people/jcjohns/clevr/",
        licence="CC BY 4.0",
        citation="CLEVR",
        read=partial(_read_clevr, archive=_COGENT, parts=_COGENT_SPLITS),
        layout=(_clevr_files("valB", _COGENT), _COGENT_IMAGES),
        split_layout={s: (_clevr_files(_COGENT_SPLITS[s], _COGENT),) for s in ("validation", "train")},
        counts={"train": (70000,), "validation": (15000,), "test": (15000,)},
        note="Material for Cola's queries: trained on condition A, tested on B, where cubes and cylinders exchange "
        "their colours.",
        splits=("test", "validation", "train"),
        download="clevr-cogent",
    ),
    graph_benchmark(
        name="paco",
        title="PACO objects with attributes",
        source="https://github.com/facebookresearch/paco",
        licence="MIT (annotations); images: COCO, Flickr's terms of use",
        citation="PACO",
        read=_read_paco,
        layout=(_paco_file("test"), _PACO_IMAGES),
        split_layout={split: (_paco_file(split),) for split in ("validation", "train")},
        note="Material for Cola's queries; it has no relations between objects.",
        splits=("test", "validation", "train"),
    ),
)
