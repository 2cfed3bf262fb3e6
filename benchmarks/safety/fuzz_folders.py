"""Folders that `benchmarks/safety/fuzz.py` spoils: benchmarks' files and models of maps, each packed as a zip."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.safety import mutations as change
from core.base.errors import InputError
from core.groups import GroupSet

# How a file inside an archive or folder is spoiled, by its ending.
BY_ENDING: dict[str, change.Change] = {
    "csv": change.changed_csv,
    "jsonl": change.changed_lines,
    "json": change.changed_json,
    "npz": change.changed_npz,
    "png": change.changed_image,
    "jpg": change.changed_image,
    "jpeg": change.changed_image,
    "parquet": change.changed_parquet,
}


def check_sentence(error: InputError) -> None:
    text = str(error)
    assert text.strip() and "\n" not in text and len(text) < 8000, repr(text[:300])
    text.encode()  # half a surrogate could not even be shown


def all_of(*acts: Callable[[], Any]) -> None:
    """Every act, also after one refused; the first refusal where none was done."""
    refusals = []
    for act in acts:
        try:
            act()
        except InputError as error:
            refusals.append(error)
            check_sentence(error)
    if len(refusals) == len(acts):
        raise refusals[0]


def benchmarks(place: Path) -> list[bytes]:
    """Samples of every benchmark's files, each packed with its name."""
    from benchmarks.safety.samples import SAMPLES

    packed = []
    for name, write in SAMPLES.items():
        folder = place / "samples" / name
        write(folder)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for path in sorted(p for p in folder.rglob("*") if p.is_file()):
                archive.write(path, path.relative_to(folder).as_posix())
            archive.comment = name.encode()
        packed.append(buffer.getvalue())
    return packed


def changed_folder(random: Random, data: bytes) -> bytes:
    """One to three of a folder's files spoiled, images seldom, or left out."""
    from benchmarks.safety.samples import IMAGES

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files, name = {entry: archive.read(entry) for entry in archive.namelist()}, archive.comment
    told = [entry for entry in files if Path(entry).suffix not in IMAGES]
    for _ in range(random.choice((1, 1, 2, 3))):
        entry = random.choice(told if told and random.random() < 0.9 else list(files))
        how = change.either(BY_ENDING.get(entry.rpartition(".")[2].lower(), change.changed_bytes), share=0.2)
        files[entry] = change.spoiled(random, files[entry], how)
        if random.random() < 0.03 and len(files) > 1:
            del files[entry]
            told = [other for other in told if other != entry]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for entry, content in files.items():
            archive.writestr(entry, content)
        archive.comment = name
    return out.getvalue()


def read_benchmark(data: bytes, place: Path) -> None:
    """A benchmark as `datasets.load` reads it, and its first images opened."""
    from core import datasets

    folder = place / "benchmark"
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:  # ours, in memory: what is in it is what was spoiled
        archive.extractall(folder)
        entry = datasets.benchmark_entry(archive.comment.decode())
    assert entry is not None
    found = entry.load(None, folder, True, partial=True)
    if isinstance(found, GroupSet):
        images = [image for group in found.groups[:3] for image in group.images]
    else:
        images = [graph.image for graph in found.graphs[:3]] if hasattr(found, "graphs") else found.images[:3]
    all_of(*(image.open for image in images)) if images else None


def maps(place: Path) -> list[bytes]:
    """Model folders of maps over embeddings, as runs on an embeddings file leave them."""
    from core.scorers.embedding import EmbeddingModel

    rows = np.random.default_rng(0).normal(size=(2, 4, 3))
    names = [f"{kind} {i}" for kind in "ab" for i in range(4)]
    EmbeddingModel(rows[0], rows[1], names[:4], names[4:]).save(place / "maps")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted((place / "maps").iterdir()):
            archive.write(path, path.name)
    return [buffer.getvalue()]


def read_maps(data: bytes, place: Path) -> None:
    """Such a model as a page loads it, and a score of it."""
    from core.groups import BytesImage
    from core.scorers.embedding import load

    folder = place / "maps"
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)
    model = load("maps", str(folder))
    assert model.key
    image = next(iter(model._image_row), None)
    if isinstance(image, str):
        named = BytesImage(b"")
        named.__dict__["key"] = image
        model.score([named], [next(iter(model._caption_row))], np.array([[0, 0]]))
