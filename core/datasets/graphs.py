"""Scene graphs of GQA and Visual Genome: objects with attributes and boxes, and their relations.

Layouts: `train_sceneGraphs.json`, `val_sceneGraphs.json` as cs.stanford.edu/people/dorarad/gqa/download.html describes
them; `scene_graphs.json` with `attributes.json` of Visual Genome as github.com/ranjaykrishna/
visual_genome_python_driver (visual_genome/local.py) reads them. As there, a relation of an object that is not listed is
left out. Visual Genome's file takes several gigabytes of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from core.datasets._file_reading import DatasetFolder, ImageFolder
from core.datasets.base import graph_benchmark
from core.datasets.sets import GraphSet, Relation, SceneGraph, SceneObject

_GQA_FILES = {"validation": "val_sceneGraphs.json", "train": "train_sceneGraphs.json"}
_GQA_IMAGES = "images | visual-genome:VG_100K | visual-genome:VG_100K_2"
_VG_IMAGES = "VG_100K | VG_100K_2"


def _read_gqa(folder: DatasetFolder, split: str) -> Iterator[SceneGraph]:
    """GQA's graphs: one name per object, ids as GQA's."""
    image = folder.images(_GQA_IMAGES)
    with folder.json(_gqa_file(split), "GQA's scene graphs") as value:
        for key, graph in value.items():
            yield _gqa_graph(key, graph, image)


def _gqa_file(split: str) -> str:
    file = _GQA_FILES[split]
    return f"{file} | sceneGraphs/{file}"


def _gqa_graph(name: str, graph: Mapping[str, Any], image: ImageFolder) -> SceneGraph:
    objects = tuple(
        SceneObject(key, (o["name"],), tuple(o["attributes"]), _box(o)) for key, o in graph["objects"].items()
    )
    relations = tuple(
        Relation(key, r["name"], r["object"])
        for key, o in graph["objects"].items()
        for r in o["relations"]
        if r["object"] in graph["objects"]
    )
    return SceneGraph(f"gqa-{name}", image(f"{name}.jpg"), objects, relations)


def _read_visual_genome(folder: DatasetFolder, split: str) -> Iterator[SceneGraph]:
    """Visual Genome's graphs; attributes from `attributes.json` where the graphs have none."""
    image, attributes = folder.images(_VG_IMAGES), _vg_attributes(folder)
    with folder.json("scene_graphs.json", "Visual Genome's scene graphs") as value:
        for graph in value:
            yield _vg_graph(graph, image, attributes)


def _vg_attributes(folder: DatasetFolder) -> dict[int, tuple[str, ...]]:
    """Object id -> attributes."""
    file = "attributes.json"
    if folder.find(file) is None:
        return {}
    with folder.json(file, "Visual Genome's attributes") as value:
        return {
            o["object_id"]: tuple(o.get("attributes", ())) for entry in value for o in entry["attributes"]
        }


def _vg_graph(
    graph: Mapping[str, Any], image: ImageFolder, attributes: Mapping[int, tuple[str, ...]]
) -> SceneGraph:
    objects = tuple(
        SceneObject(
            str(o["object_id"]),
            tuple(o["names"]),
            tuple(o["attributes"]) if "attributes" in o else attributes.get(o["object_id"], ()),
            _box(o),
        )
        for o in graph["objects"]
    )
    known = {o.id for o in objects}
    triples = [(str(r["subject_id"]), r["predicate"], str(r["object_id"])) for r in graph["relationships"]]
    relations = tuple(Relation(*t) for t in triples if t[0] in known and t[2] in known)
    name = graph["image_id"]
    return SceneGraph(f"vg-{name}", image(f"{name}.jpg"), objects, relations)


def read_regions(folder: Path, graphs: GraphSet) -> list[tuple[int, str]]:
    """(place in `graphs`, region caption) of Visual Genome's `region_descriptions.json`; [] where it is not there.

    GQA's images are Visual Genome's and have its numbers, so the file serves both.
    """
    data, file = DatasetFolder(folder), "region_descriptions.json"
    if data.find(file) is None:
        return []
    places = {graph.id.partition("-")[2]: n for n, graph in enumerate(graphs.graphs)}
    with data.json(file, "Visual Genome's region descriptions") as value:
        return [
            (places[str(image["id"])], region["phrase"])
            for image in value
            if str(image["id"]) in places
            for region in image["regions"]
        ]


def _box(o: Mapping[str, Any]) -> tuple[int, int, int, int]:
    return int(o["x"]), int(o["y"]), int(o["w"]), int(o["h"])


BENCHMARKS = (
    graph_benchmark(
        name="gqa",
        title="GQA scene graphs",
        source="https://cs.stanford.edu/people/dorarad/gqa/download.html",
        licence="CC BY 4.0",
        citation="GQA",
        read=_read_gqa,
        layout=(_gqa_file("validation"), _GQA_IMAGES),
        split_layout={"train": (_gqa_file("train"),)},
        counts={"train": (74942,)},
        note="Material for Cola's queries and swaps; the test images have no graphs.",
        splits=("validation", "train"),
    ),
    graph_benchmark(
        name="visual-genome",
        title="Visual Genome scene graphs",
        source="https://homes.cs.washington.edu/~ranjay/visualgenome/api.html",
        licence="CC BY 4.0",
        citation="Visual Genome",
        read=_read_visual_genome,
        layout=("scene_graphs.json", _VG_IMAGES),
        counts={"all": (108077, 108249)},
        note="108077 images since version 1.2, 108249 before.",
        splits=("all",),
    ),
)
