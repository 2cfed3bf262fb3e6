"""Scenes as pages draw them, each once for all tests: a page that opens again finds its pictures in a folder.

A picture of 480 pixels takes a tenth of a second, and hundreds of tests open the same groups, in three workers and in
the servers that browsers visit. What the renderer draws is tested without this.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np

from core.scenes import render
from core.scenes.world import Scene

VARIABLE = "TEST_DRAWN"  # the folder, for the processes
_SMALLEST = 128  # pixels: what models see is drawn in less time than a file takes
_DRAW = render._render


def drawn(scene: Scene, size: int = render.MODEL_SIZE) -> np.ndarray:
    """The picture as the renderer draws it, uint8 (size, size, 3)."""
    if size < _SMALLEST:
        return _DRAW(scene, size)
    path = Path(os.environ[VARIABLE]) / f"{render.SceneImage(scene).key}-{size}.npy"
    if path.exists():
        return np.load(path)
    picture = _DRAW(scene, size)
    aside = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.aside")
    with aside.open("wb") as file:
        np.save(file, picture)
    aside.replace(path)  # whole or not there: another worker may look for it meanwhile
    return picture
