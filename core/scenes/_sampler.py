"""Random scenes: objects, places, camera and light, all from one generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from core.scenes.world import (
    COLOURS,
    MATERIALS,
    SHAPES,
    SIZES,
    SPLITS,
    Box,
    Camera,
    Light,
    Scene,
    SceneObject,
    held_out_kinds,
)

_COLOURS, _SIZES = tuple(COLOURS), tuple(SIZES)
_WIDTH, _NEAR, _FAR = 2.3, -2.7, 3.2  # where centres may stand: |x| and the range of y, scene units
_FRAME = 0.97  # solids stay this far inside the picture, |u| and |v|
_GAP = 0.22  # least free ground between two solids, scene units
_OVERLAP = 0.22  # largest share of a farther solid's box that a nearer one's box may cover


def sample_scene(
    rng: np.random.Generator,
    count: int,
    split: str = "train",
    seen: bool = True,
    given: Sequence[SceneObject] = (),
) -> Scene:
    """One scene of `count` objects. With `seen` it holds no composition that is kept out of training.

    The first objects have the attributes of the `given` ones. Places are drawn symmetrically about x = 0, so
    left and right say nothing about near and far.
    """
    while True:
        camera, light = _camera(rng), _light(rng)
        objects = _placed(rng, draw_objects(rng, count, seen, given), camera)
        if objects is not None:
            return Scene(objects, camera, light, _uniform(rng, 0.92, 1.08), _noise(rng, SPLITS.index(split)))


def jitter(scene: Scene, rng: np.random.Generator, amount: float = 1.0) -> Scene | None:
    """The same scene photographed again: camera, light, texture and places move a little.

    None where the moved solids would collide, leave the frame or hide each other.
    """
    moved = tuple(_jittered(item, rng.uniform(-amount, amount, 3)) for item in scene.objects)
    light = scene.light
    d_azimuth, d_elevation = rng.uniform(-6, 6), rng.uniform(-3, 3)
    again = Scene(
        moved,
        _camera(rng),
        replace(
            _light(rng),
            azimuth=round(light.azimuth + d_azimuth),
            elevation=round(light.elevation + d_elevation),
        ),
        _uniform(rng, 0.92, 1.08),
        _noise(rng, scene.noise % 4),
    )
    return again if _is_valid_layout(again) else None


def _jittered(item: SceneObject, by: np.ndarray) -> SceneObject:
    x, y, turn = round(item.x + 0.07 * by[0], 2), round(item.y + 0.09 * by[1], 2), round(10 * by[2])
    return replace(item, x=float(x), y=float(y), rotation=int(item.rotation + turn) % 90)


def _uniform(rng: np.random.Generator, low: float, high: float) -> float:
    # Rounded so that the scene's JSON stays short and is exact.
    return round(float(rng.uniform(low, high)), 2)


def _camera(rng: np.random.Generator) -> Camera:
    u = rng.random(5).tolist()
    return Camera(
        shift=round(0.2 * u[0] - 0.1, 2),
        elevation=round(36 + 4 * u[1], 1),
        distance=round(11.8 + 0.8 * u[2], 2),
        zoom=round(4.4 + 0.3 * u[3], 2),
        roll=round(3 * u[4] - 1.5, 1),
    )


def _light(rng: np.random.Generator) -> Light:
    u = rng.random(5).tolist()
    return Light(
        azimuth=round(130 * u[0] - 65),
        elevation=round(46 + 16 * u[1]),
        strength=round(0.9 + 0.2 * u[2], 2),
        warmth=round(2 * u[3] - 1, 2),
        softness=round(0.05 + 0.15 * u[4], 2),
    )


def _noise(rng: np.random.Generator, split: int) -> int:
    return int(rng.integers(2**30)) * 4 + split


def _placed(
    rng: np.random.Generator, items: Sequence[SceneObject], camera: Camera
) -> tuple[SceneObject, ...] | None:
    # What the objects are is settled before where they stand: a solid that does not fit is moved, not replaced,
    # so large and small ones stay about equally frequent.
    placed: list[tuple[SceneObject, Box]] = []
    for item in items:
        for x, y in rng.random((14, 2)).tolist():
            item = replace(item, x=round(_WIDTH * (2 * x - 1), 2), y=round(_NEAR + (_FAR - _NEAR) * y, 2))
            box = camera.outline(item)
            if _in_frame(box) and all(_stand_free(item, box, *other) for other in placed):
                placed.append((item, box))
                break
        else:
            return None
    return tuple(item for item, _ in placed)


def draw_objects(
    rng: np.random.Generator, count: int, seen: bool = True, given: Sequence[SceneObject] = ()
) -> list[SceneObject]:
    """`count` objects that stand nowhere yet, the `given` ones first."""
    chosen = list(given)
    while len(chosen) < count:
        u = rng.random(5).tolist()
        item = SceneObject(
            shape=SHAPES[int(u[0] * len(SHAPES))],
            colour=_COLOURS[int(u[1] * len(_COLOURS))],
            size=_SIZES[int(u[2] * len(_SIZES))],
            material=MATERIALS[int(u[3] * len(MATERIALS))],
            x=0.0,
            y=0.0,
            rotation=int(90 * u[4]),
        )
        if not seen or not held_out_kinds((*chosen, item)):
            chosen.append(item)
    return chosen


def _in_frame(box: Box) -> bool:
    """Whether a picture box lies inside the frame."""
    return min(box) >= -_FRAME and max(box) <= _FRAME


def _stand_free(first: SceneObject, first_box: Box, second: SceneObject, second_box: Box) -> bool:
    """Whether two solids, with their picture boxes, leave free ground between them and hardly hide each other."""
    reach = first.footprint + second.footprint + _GAP
    if (first.x - second.x) ** 2 + (first.y - second.y) ** 2 < reach * reach:
        return False
    near, far = (first_box, second_box) if first.y < second.y else (second_box, first_box)
    width = min(near[2], far[2]) - max(near[0], far[0])
    height = min(near[3], far[3]) - max(near[1], far[1])
    if width <= 0 or height <= 0:
        return True
    return width * height / ((far[2] - far[0]) * (far[3] - far[1])) <= _OVERLAP


def _is_valid_layout(scene: Scene) -> bool:
    """Whether all solids are inside the frame, apart from each other and hardly occluded."""
    placed = [(item, scene.camera.outline(item)) for item in scene.objects]
    return all(_in_frame(box) for _, box in placed) and all(
        _stand_free(*one, *other) for one, other in combinations(placed, 2)
    )
