"""Pictures of many built-in scenes at the models' size: drawn once, then mapped from the user's cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

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
    path, part = folder / f"{name}.npy", folder / f"{name}.{os.getpid()}.part.npy"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        shape = (len(scenes), MODEL_SIZE, MODEL_SIZE, 3)
        pictures = np.lib.format.open_memmap(part, "w+", np.uint8, shape)
        for start in range(0, len(scenes), _CHUNK):
            if progress is not None:
                progress("rendering", start / len(scenes))
            some = scenes[start : start + _CHUNK]
            pictures[start : start + _CHUNK] = render_many(some, processes=processes)
        pictures.flush()
        part.replace(path)
    pictures = np.load(path, mmap_mode="r")
    AHEAD.update(zip(scenes, pictures, strict=True))
    return pictures
