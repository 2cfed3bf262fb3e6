"""Pictures of many built-in scenes at the models' size: drawn once, then mapped from the user's cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from core.base import files
from core.base.paths import home
from core.scenes.render import AHEAD, MODEL_SIZE, RENDERER, render_many
from core.scenes.world import Scene

_Progress = Callable[[str, float], None]  # (what is being done, share done in [0, 1])
_CHUNK = 8192  # pictures between two progress reports


def draw_ahead(
    scenes: Sequence[Scene],
    progress: _Progress | None = None,
    cache: Path | None = None,
    processes: int = 1,
) -> np.ndarray:
    """uint8 (scenes, side, side, 3), mapped from a file named after scenes and renderer.

    Whoever opens one of these scenes at the models' size gets its picture from there, as long as the scene lives.
    processes : that draw what is not there yet; more than one only where the main module can be imported anew.
    """
    folder = home() / "cache" / "pictures" if cache is None else cache
    described = RENDERER + "".join(scene.to_json() for scene in scenes)
    # The first pixels are part of the name: a renderer that changed without saying so must not find old pictures.
    name = hashlib.sha256(described.encode() + render_many(scenes[:4]).tobytes()).hexdigest()[:24]
    path = folder / f"{name}.npy"
    if not path.is_file():
        with files.storage_errors(path):
            folder.mkdir(parents=True, exist_ok=True)
            with files.aside(path) as part:
                _draw(scenes, part, progress or (lambda what, share: None), processes)
    pictures = np.load(path, mmap_mode="r")
    AHEAD.update(zip(scenes, pictures, strict=True))
    return pictures


def _draw(scenes: Sequence[Scene], path: Path, progress: _Progress, processes: int) -> None:
    """Write their pictures as an NPY file, some at a time: a disk that is full says so, where a mapped file crashes."""
    shape = (len(scenes), MODEL_SIZE, MODEL_SIZE, 3)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
        for start in range(0, len(scenes), _CHUNK):
            progress("rendering", start / len(scenes))
            file.write(render_many(scenes[start : start + _CHUNK], processes=processes).data)
