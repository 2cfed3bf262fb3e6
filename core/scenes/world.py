"""Scenes of coloured solids on a ground plane: what they hold, and which relations are clear to the eye."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

from core.base.errors import InputError
from core.scenes.camera import Camera

# sRGB albedo in [0, 1]: hues far apart, and one achromatic colour lighter than the floor.
COLOURS: dict[str, tuple[float, float, float]] = {
    "red": (0.84, 0.10, 0.10),
    "orange": (0.96, 0.50, 0.08),
    "yellow": (0.97, 0.87, 0.12),
    "green": (0.13, 0.62, 0.18),
    "cyan": (0.15, 0.80, 0.85),
    "blue": (0.13, 0.27, 0.87),
    "purple": (0.53, 0.16, 0.68),
    "white": (0.96, 0.96, 0.94),
}
SHAPES = ("cube", "sphere", "cylinder")
SIZES = {"large": 0.80, "small": 0.46}  # radius of the sphere of that size, scene units
MATERIALS = ("rubber", "metal")
ATTRIBUTES = ("colour", "shape", "size", "material")
SPLITS = ("train", "validation", "test")

# Compositions that no training scene holds, so that groups can be tagged seen or unseen. Every colour keeps at
# least two shapes, and every colour misses exactly one partner colour.
HELD_OUT_COMBINATIONS = frozenset(
    {("cyan", "cube"), ("yellow", "sphere"), ("purple", "cylinder"), ("green", "cube")}
)
HELD_OUT_PAIRS = frozenset(
    frozenset(pair)
    for pair in (("red", "cyan"), ("blue", "orange"), ("green", "purple"), ("yellow", "white"))
)

RELATIONS = ("left of", "right of", "in front of", "behind")
INVERSE = {"left of": "right of", "right of": "left of", "in front of": "behind", "behind": "in front of"}
# A difference of position at or above CLEAR states a relation, one at or below LEVEL denies it both ways, and
# in between nothing is said. Scene units, (sideways, in depth); depth needs more because it is foreshortened.
CLEAR_GAP = (0.9, 1.2)
LEVEL = (0.35, 0.45)

_CUBE, _CYLINDER = 0.80, 0.86  # half side and radius, relative to the sphere's radius, for about equal bulk


@dataclass(frozen=True)
class SceneObject:
    """One solid standing on the ground at (x, y) of the camera's ground frame (scene units)."""

    shape: str
    colour: str
    size: str
    material: str
    x: float
    y: float
    rotation: int  # degrees about the vertical; only cubes show it

    @property
    def radius(self) -> float:
        """Sphere's or cylinder's radius, or the cube's half side."""
        return SIZES[self.size] * {"cube": _CUBE, "cylinder": _CYLINDER, "sphere": 1.0}[self.shape]

    @property
    def height(self) -> float:
        """Top of the solid above the ground."""
        return 2.0 * self.radius

    @property
    def footprint(self) -> float:
        """Radius of the upright cylinder that holds the solid."""
        return self.radius * (math.sqrt(2.0) if self.shape == "cube" else 1.0)

    @property
    def corners(self) -> tuple[tuple[float, float], ...]:
        """The cube's four corners, or the cylinder's outermost points, on the ground relative to (x, y)."""
        angle = math.radians(self.rotation if self.shape == "cube" else 0.0)
        a, b = self.radius * math.cos(angle), self.radius * math.sin(angle)
        if self.shape == "cube":
            return (a - b, b + a), (a + b, b - a), (b - a, -b - a), (-a - b, a - b)
        return (a, 0.0), (0.0, a), (-a, 0.0), (0.0, -a)


@dataclass(frozen=True)
class Light:
    """A far lamp above and on the camera's side."""

    azimuth: float  # degrees; 0 shines from the camera, positive from the right
    elevation: float  # degrees above the ground
    strength: float  # 1 is nominal
    warmth: float  # -1 bluish to 1 reddish
    softness: float  # width of the shadow's edge per unit of distance from the object


@dataclass(frozen=True)
class Scene:
    """Everything a picture depends on. `noise % 4` is the split, so no two splits share a scene."""

    objects: tuple[SceneObject, ...]
    camera: Camera
    light: Light
    floor: float  # brightness of the floor, 1 is nominal
    noise: int  # picks the floor's texture; 0 <= noise < 2**32

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, in a fixed order."""
        return {
            "objects": [list(astuple(o)) for o in self.objects],
            "camera": list(astuple(self.camera)),
            "light": list(astuple(self.light)),
            "floor": self.floor,
            "noise": self.noise,
        }

    def to_json(self) -> str:
        """Canonical text: equal scenes give equal text, and `from_json` gives back an equal scene."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scene:
        """The scene that `to_dict` described."""
        try:
            scene = cls(
                tuple(SceneObject(*row) for row in data["objects"]),
                Camera(*data["camera"]),
                Light(*data["light"]),
                data["floor"],
                data["noise"],
            )
            _check(scene)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"This is no scene description ({type(error).__name__}: {error}); write one with Scene.to_json."
            ) from None
        return scene

    @classmethod
    def from_json(cls, text: str) -> Scene:
        """The scene that `to_json` wrote."""
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"The scene is not JSON ({error}); write one with Scene.to_json.") from None
        return cls.from_dict(data)

    @cached_property
    def split(self) -> str:
        """Which split the scene was drawn for."""
        return SPLITS[self.noise % 4]

    @cached_property
    def seen(self) -> bool:
        """Whether every colour-shape combination and every colour pair occurs in training."""
        return not held_out(self.objects)


def _check(scene: Scene) -> None:
    known = {"shape": SHAPES, "colour": COLOURS, "size": SIZES, "material": MATERIALS}
    for item in scene.objects:
        for name, values in known.items():
            if getattr(item, name) not in values:
                raise ValueError(f"{name} {getattr(item, name)!r} is none of {', '.join(values)}")
    numbers = [n for o in scene.objects for n in (o.x, o.y, o.rotation)]
    numbers += [*astuple(scene.camera), *astuple(scene.light), scene.floor]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError("a number is not finite")
    if not 0 <= scene.noise < 2**32 or scene.noise % 4 >= len(SPLITS):
        raise ValueError(f"noise {scene.noise} encodes no split")


def held_out(objects: Iterable[SceneObject]) -> tuple[str, ...]:
    """Which kinds of held-out composition these objects use: "colour-shape", "colour-pair", both or none."""
    objects = tuple(objects)
    found = []
    if any((o.colour, o.shape) in HELD_OUT_COMBINATIONS for o in objects):
        found.append("colour-shape")
    colours = {o.colour for o in objects}
    if any(pair <= colours for pair in HELD_OUT_PAIRS):
        found.append("colour-pair")
    return tuple(found)


def relation(scene: Scene, name: str, first: SceneObject, second: SceneObject) -> bool | None:
    """Whether `first` is `name` (such as "left of") `second`; None where the eye could argue.

    Sideways, the ground positions and the places in the picture have to agree: perspective can move a near
    object past a far one.
    """
    if name in ("right of", "behind"):
        return relation(scene, INVERSE[name], second, first)
    if name == "left of":
        camera = scene.camera
        seen = [camera.project(o.x, o.y, o.height / 2)[0] / camera.unit for o in (first, second)]
        gaps, axis = [second.x - first.x, seen[1] - seen[0]], 0
    else:
        gaps, axis = [second.y - first.y], 1
    if min(gaps) >= CLEAR_GAP[axis]:
        return True
    if max(gaps) <= -CLEAR_GAP[axis] or max(map(abs, gaps)) <= LEVEL[axis]:
        return False
    return None


def clear_relations(scene: Scene) -> Iterator[tuple[int, str, int]]:
    """Every (i, relation, j) that clearly holds between two objects."""
    for i, j in permutations(range(len(scene.objects)), 2):
        for name in RELATIONS:
            if relation(scene, name, scene.objects[i], scene.objects[j]):
                yield i, name, j


def scene_graph(scene: Scene) -> dict[str, Any]:
    """The scene in words: objects with attributes, position and picture box, and all clear relations.

    Boxes are (left, top, right, bottom) as shares of the picture, in [0, 1].
    """
    objects = []
    for index, item in enumerate(scene.objects):
        left, bottom, right, top = outline(scene.camera, item)
        box = [(left + 1) / 2, (1 - top) / 2, (right + 1) / 2, (1 - bottom) / 2]
        attributes = {name: getattr(item, name) for name in ATTRIBUTES}
        objects.append(
            {"id": index, **attributes, "position": [item.x, item.y], "box": [round(b, 4) for b in box]}
        )
    relations = [{"subject": i, "relation": name, "object": j} for i, name, j in clear_relations(scene)]
    return {"objects": objects, "relations": relations}


def outline(camera: Camera, item: SceneObject) -> tuple[float, float, float, float]:
    """Box of the solid in the picture: (u low, v low, u high, v high), tight to about a pixel at 64 px."""
    if item.shape == "sphere":
        u, v, depth = camera.project(item.x, item.y, item.radius)
        reach = 1.01 * item.radius * camera.zoom / depth
        return u - reach, v - reach, u + reach, v + reach
    points = [
        camera.project(item.x + dx, item.y + dy, z) for dx, dy in item.corners for z in (0.0, item.height)
    ]
    us, vs = [p[0] for p in points], [p[1] for p in points]
    return min(us), min(vs), max(us), max(vs)


FRAME = 0.97  # solids stay this far inside the picture, |u| and |v|
GAP = 0.22  # least free ground between two solids, scene units
OVERLAP = 0.22  # largest share of a farther solid's box that a nearer one's box may cover


def in_frame(box: tuple[float, float, float, float]) -> bool:
    """Whether a picture box lies inside the frame."""
    return box[0] >= -FRAME and box[1] >= -FRAME and box[2] <= FRAME and box[3] <= FRAME


def are_separated(first: SceneObject, second: SceneObject) -> bool:
    """Whether two solids leave free ground between them."""
    reach = first.footprint + second.footprint + GAP
    return (first.x - second.x) ** 2 + (first.y - second.y) ** 2 >= reach * reach


def is_occluded(near: tuple[float, float, float, float], far: tuple[float, float, float, float]) -> float:
    """Share of the box `far` that the box `near` covers."""
    width = min(near[2], far[2]) - max(near[0], far[0])
    height = min(near[3], far[3]) - max(near[1], far[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / ((far[2] - far[0]) * (far[3] - far[1]))


def is_valid_layout(scene: Scene) -> bool:
    """Whether all solids are inside the frame, apart from each other and hardly occluded."""
    boxes = [outline(scene.camera, o) for o in scene.objects]
    if not all(in_frame(box) for box in boxes):
        return False
    for i, j in combinations(range(len(boxes)), 2):
        first, second = scene.objects[i], scene.objects[j]
        near, far = (i, j) if first.y < second.y else (j, i)
        if not are_separated(first, second) or is_occluded(boxes[near], boxes[far]) > OVERLAP:
            return False
    return True
