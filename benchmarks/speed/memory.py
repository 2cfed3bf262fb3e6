"""Peak memory of scoring against the number of groups: images stream from disk, only what describes them adds up.

Each size runs in a process of its own (`python -m benchmarks.speed.memory WHAT SIZE FOLDER`), whose largest resident
set is taken. What grows with the set is its description (ids, captions, paths, keys of the cache) and the scores.
Recall of a set as large as COCO's five thousand test images never holds the scores at all.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from core.datasets.sets import RetrievalSet
from core.debiasing import retrieval as searches
from core.groups import FileImage, Group, GroupSet
from core.scoring.load import load_scorer
from core.scoring.scores import score_groups

MODEL = "builtin/clip"
SIZES = (5_000, 20_000)
COCO = 5_000, 25_000
SCORES = 4 * COCO[0] * COCO[1]  # bytes, were they held
SIDE = 64
_COLOURS = ("red", "green", "blue", "yellow", "purple", "orange", "grey", "cyan")
_SHAPES = ("cube", "ball", "cone")


def measure(sizes: tuple[int, ...] = SIZES) -> Iterator[dict[str, object]]:
    """One row per size, and the growth per 2x2 group beside what its pixels would take."""
    found = []
    with TemporaryDirectory() as folder:
        draw(Path(folder), max(COCO[0], 2 * max(sizes)))
        yield {
            "recall of images": COCO[0],
            "captions": COCO[1],
            **alone("recall", COCO[0], folder),
            "scores": SCORES,
        }
        for size in sizes:
            row = alone("groups", size, folder)
            found.append(row)
            yield {"groups": size, "images": 2 * size, **row}
    growth = (found[-1]["peak"] - found[0]["peak"]) / (sizes[-1] - sizes[0])
    pixels = 2 * 3 * SIDE * SIDE * 4
    yield {
        "bytes per group": round(growth),
        "of which before scoring": round((found[-1]["before"] - found[0]["before"]) / (sizes[-1] - sizes[0])),
        "pixels of a group as the model takes them": pixels,
    }


def alone(what: str, size: int, folder: str) -> dict[str, int]:
    """Largest resident set in bytes, at the end and before scoring began, of a process that measures so much."""
    command = [sys.executable, "-m", "benchmarks.speed.memory", what, str(size), folder]
    return json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    )


def draw(folder: Path, count: int) -> None:
    """So many different PNG files: noise in large pixels."""
    rng = np.random.default_rng(0)
    for i in range(count):
        small = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(small).resize((SIDE, SIDE), Image.Resampling.NEAREST).save(folder / f"{i}.png")


def described(groups: int, folder: Path) -> GroupSet:
    """2x2 groups over these files."""
    words = [f"a {a} {b} left of a {c} {b}" for a in _COLOURS for b in _SHAPES for c in _COLOURS if a != c]
    made = []
    for i in range(groups):
        images = FileImage(folder / f"{2 * i}.png"), FileImage(folder / f"{2 * i + 1}.png")
        made.append(Group(f"group-{i}", images, (words[i % len(words)], words[(i + 1) % len(words)])))
    return GroupSet(f"memory/{groups}", tuple(made))


def retrieval(images: int, folder: Path) -> RetrievalSet:
    """These files with five captions each."""
    files = tuple(FileImage(folder / f"{i}.png") for i in range(images))
    queries = tuple(f"{_COLOURS[j % 8]} {_SHAPES[j % 3]} number {j}" for j in range(5 * images))
    links = np.column_stack([np.arange(5 * images), np.arange(5 * images) // 5])
    return RetrievalSet("memory/retrieval", "test", files, queries, links)


def main(what: str, size: int, folder: Path) -> None:
    """Score so many groups, or find the captions of so many images, with the built-in CLIP; print the peaks."""
    score_groups(
        load_scorer(MODEL, "cpu"), described(64, folder)
    )  # libraries and buffers are the same for any size
    if what == "recall":
        searches.load_retrieval = lambda *_: retrieval(size, folder)
        work = partial(searches.retrieval_record, "memory/retrieval", "test", MODEL)
    else:
        work = partial(score_groups, load_scorer(MODEL, "cpu"), described(size, folder))
    before = peak()
    work()
    print(json.dumps({"peak": peak(), "before": before}))


def peak() -> int:
    """The largest resident set of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
