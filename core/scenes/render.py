"""Pictures of scenes: an analytic ray caster with soft shadows, glossy metal and a soft floor.

Deterministic: everything comes from the scene's own fields, so a scene is drawn the same way every time and at
any size. Light is computed in linear RGB and stored as sRGB.
"""

from __future__ import annotations

import hashlib
import math
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from multiprocessing import get_context, parent_process

import numpy as np
from PIL import Image

from core.base.errors import InputError
from core.scenes.ray_tracing import Triple, along, hit, normal, pick, primary_rays, screen_box
from core.scenes.shading import floor_colour, object_colour, tone
from core.scenes.world import Scene

RENDERER = "crossmatch-scenes-1"  # part of every image's key: change it whenever pixels change
MODEL_SIZE = 64  # pixels a side, what the built-in models see
_MAX_SIZE = 2048


def render(scene: Scene, size: int = MODEL_SIZE) -> np.ndarray:
    """The picture, uint8 (size, size, 3), sRGB."""
    if not 8 <= size <= _MAX_SIZE:
        raise InputError(f"A picture of {size} px cannot be drawn; choose a size from 8 to {_MAX_SIZE}.")
    side = 2 * size  # four samples a pixel
    direction = primary_rays(scene.camera, side)
    depth, index = _visible(scene, direction, side)
    colour = floor_colour(scene, direction, side)  # (3, side * side)
    where = np.flatnonzero(index >= 0)
    if where.size:
        which = index.ravel()[where]
        x, y, z = direction
        rays = pick((x.ravel(), y.ravel(), z.ravel()), where)
        point = along(scene.camera.position, rays, depth.ravel()[where])
        colour[:, where] = object_colour(scene, which, point, _normals(scene, which, point), rays)
    colour = colour.reshape(3, side, side)
    rows = colour[:, ::2] + colour[:, 1::2]
    linear = 0.25 * (rows[..., ::2] + rows[..., 1::2])
    return np.ascontiguousarray(tone(linear).transpose(1, 2, 0))


def segment(scene: Scene, size: int = MODEL_SIZE) -> np.ndarray:
    """Which object each pixel's centre shows: int8 (size, size), -1 for the floor."""
    return _visible(scene, primary_rays(scene.camera, size), size)[1]


def _visible(scene: Scene, direction: Triple, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Distance to the nearest solid, float32 (side, side), inf on the floor; and its index, int8, -1 there."""
    depth = np.full((side, side), np.inf, dtype=np.float32)
    index = np.full((side, side), -1, dtype=np.int8)
    for number, item in enumerate(scene.objects):
        box = screen_box(scene.camera, item, side)
        t = hit(item, scene.camera.position, pick(direction, box))
        nearer = t < depth[box]
        depth[box][nearer] = t[nearer]
        index[box][nearer] = number
    return depth, index


def _normals(scene: Scene, which: np.ndarray, point: Triple) -> Triple:
    found = np.empty_like(point[0]), np.empty_like(point[0]), np.empty_like(point[0])
    for number, item in enumerate(scene.objects):
        mine = np.flatnonzero(which == number)
        for target, values in zip(found, normal(item, pick(point, mine)), strict=True):
            target[mine] = values
    return found


def render_many(scenes: Sequence[Scene], size: int = MODEL_SIZE, processes: int = 1) -> np.ndarray:
    """All pictures, uint8 (n, size, size, 3); equal to `render` one by one, on `processes` processes."""
    scenes = list(scenes)
    pictures = np.empty((len(scenes), size, size, 3), dtype=np.uint8)
    if processes <= 1 or len(scenes) < 64:
        for i, scene in enumerate(scenes):
            pictures[i] = render(scene, size)
        return pictures
    # Spawned, not forked: the caller may have threads (torch, a web server) that a fork would freeze.
    with ProcessPoolExecutor(processes, get_context("spawn"), _end_with_parent) as pool:
        chunk = math.ceil(len(scenes) / (8 * processes))
        parts = [scenes[i : i + chunk] for i in range(0, len(scenes), chunk)]
        for i, part in enumerate(pool.map(partial(render_many, size=size), parts)):
            pictures[i * chunk : i * chunk + len(part)] = part
    return pictures


def _end_with_parent() -> None:
    """In a process of the pool: end when whoever started it is killed. It would wait for work for ever."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@dataclass(frozen=True)
class SceneImage:
    """A scene as an image of a group (`core.groups.ImageRef`), drawn when somebody opens it."""

    scene: Scene

    @cached_property
    def key(self) -> str:
        """Hash of the renderer's version and the scene, hex; nothing is drawn for it."""
        return hashlib.sha256(f"{RENDERER}\n{self.scene.to_json()}".encode()).hexdigest()

    def open(self, size: int | None = None) -> Image.Image:
        """RGB picture: 64 px for the models, or `size` px for display."""
        if size is None or size == MODEL_SIZE:
            return Image.fromarray(_for_models(self.scene))
        return Image.fromarray(render(self.scene, size))


@lru_cache(maxsize=4096)  # 12 kB each: one model after another reads the same pictures
def _for_models(scene: Scene) -> np.ndarray:
    picture = render(scene)
    picture.flags.writeable = False
    return picture
