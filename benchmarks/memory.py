"""Peak memory of scoring against the number of groups: images stream from disk, only what describes them adds up.

Each size runs in a process of its own (`python -m benchmarks.memory GROUPS FOLDER`), whose largest resident set is
taken. What grows with the set is its description (ids, captions, paths, keys of the cache) and the scores.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from core.groups import FileImage, Group, GroupSet

SIZES = (5_000, 20_000)
SIDE = 64
_COLOURS = ("red", "green", "blue", "yellow", "purple", "orange", "grey", "cyan")
_SHAPES = ("cube", "ball", "cone")


def measure(sizes: tuple[int, ...] = SIZES) -> Iterator[dict[str, object]]:
    """One row per size, and the growth per 2x2 group beside what its pixels would take."""
    found = []
    with TemporaryDirectory() as folder:
        draw(Path(folder), 2 * max(sizes))
        for size in sizes:
            row = alone(size, folder)
            found.append(row)
            yield {"groups": size, "images": 2 * size, **row}
    growth = (found[-1]["peak"] - found[0]["peak"]) / (sizes[-1] - sizes[0])
    pixels = 2 * 3 * SIDE * SIDE * 4
    yield {
        "bytes per group": round(growth),
        "of which before scoring": round((found[-1]["before"] - found[0]["before"]) / (sizes[-1] - sizes[0])),
        "pixels of a group as the model takes them": pixels,
    }


def alone(groups: int, folder: str) -> dict[str, int]:
    """Largest resident set in bytes, at the end and before scoring began, of a process that scores so many groups."""
    command = [sys.executable, "-m", "benchmarks.memory", str(groups), folder]
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


def main() -> None:
    """Score so many groups with the built-in CLIP, and print the peaks."""
    from core.scorers import load_scorer
    from core.scores import score_groups

    few = described(64, Path(sys.argv[2]))
    score_groups(load_scorer("builtin/clip", "cpu"), few)  # libraries and buffers are the same for any size
    groups = described(int(sys.argv[1]), Path(sys.argv[2]))
    before = peak()
    score_groups(load_scorer("builtin/clip", "cpu"), groups)
    print(json.dumps({"peak": peak(), "before": before}))


def peak() -> int:
    """The largest resident set of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main()
