"""Scenes of coloured solids on a ground plane: what they hold, and which relations are clear to the eye.

Ground frame: x to the camera's right, y away from the camera, z up, all in scene units. The camera has no yaw,
so "left of" and "in front of" can be read off x and y directly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any, Protocol

from core.base.errors import InputError

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
RELATIVE = {"left-right": ("left of", "right of"), "front-behind": ("in front of", "behind")}
# A difference of position at or above _CLEAR_GAP states a relation, one at or below LEVEL denies it both ways, and
# in between nothing is said. Scene units, (sideways, in depth); depth needs more because it is foreshortened.
_CLEAR_GAP = (0.9, 1.2)
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


_Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Camera:
    """A pinhole camera that looks at a point near the origin of the ground frame."""

    shift: float  # sideways offset of camera and aim, scene units
    elevation: float  # degrees above the ground
    distance: float  # from the aim point, scene units
    zoom: float  # focal length in half picture widths
    roll: float  # degrees, clockwise

    @property
    def aim(self) -> _Vector:
        """The point in the middle of the picture."""
        return self.shift, 0.1, 0.35

    @cached_property
    def position(self) -> _Vector:
        """The pinhole, in the ground frame."""
        x, y, z = self.aim
        angle = math.radians(self.elevation)
        return x, y - self.distance * math.cos(angle), z + self.distance * math.sin(angle)

    @cached_property
    def axes(self) -> tuple[_Vector, _Vector, _Vector]:
        """Unit vectors to the right, up and forward, as the picture sees them."""
        angle, roll = math.radians(self.elevation), math.radians(self.roll)
        up = (0.0, math.sin(angle), math.cos(angle))
        forward = (0.0, math.cos(angle), -math.sin(angle))
        c, s = math.cos(roll), math.sin(roll)
        return (c, -s * up[1], -s * up[2]), (s, c * up[1], c * up[2]), forward

    def project(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """Picture coordinates (u, v) in [-1, 1] inside the frame, u right and v up, and the depth."""
        px, py, pz = self.position
        right, up, forward = self.axes
        x, y, z = x - px, y - py, z - pz
        depth = x * forward[0] + y * forward[1] + z * forward[2]
        scale = self.zoom / depth
        u = (x * right[0] + y * right[1] + z * right[2]) * scale
        v = (x * up[0] + y * up[1] + z * up[2]) * scale
        return u, v, depth

    @property
    def unit(self) -> float:
        """Picture length of one scene unit at the aim point."""
        return self.zoom / self.distance

    def outline(self, item: SceneObject) -> Box:
        """Box of the solid in the picture: (u low, v low, u high, v high), tight to about a pixel at 64 px."""
        if item.shape == "sphere":
            u, v, depth = self.project(item.x, item.y, item.radius)
            reach = 1.01 * item.radius * self.zoom / depth
            return u - reach, v - reach, u + reach, v + reach
        points = [
            self.project(item.x + dx, item.y + dy, z) for dx, dy in item.corners for z in (0.0, item.height)
        ]
        us, vs = [p[0] for p in points], [p[1] for p in points]
        return min(us), min(vs), max(us), max(vs)


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
            "objects": [_values(o) for o in self.objects],
            "camera": _values(self.camera),
            "light": _values(self.light),
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
                f"This is not a scene description ({type(error).__name__}: {error}); write one with Scene.to_json."
            ) from None
        return scene

    @cached_property
    def split(self) -> str:
        """Which split the scene was drawn for."""
        return SPLITS[self.noise % 4]

    @cached_property
    def seen(self) -> bool:
        """Whether every colour-shape combination and every colour pair occurs in training."""
        return not held_out_kinds(self.objects)

    def clear_relations(self) -> Iterator[tuple[int, str, int]]:
        """Every (i, relation, j) that clearly holds between two objects."""
        for i, j in permutations(range(len(self.objects)), 2):
            for name in RELATIONS:
                if self.relation(name, self.objects[i], self.objects[j]):
                    yield i, name, j

    def relation(self, name: str, first: SceneObject, second: SceneObject) -> bool | None:
        """Whether `first` is `name` (such as "left of") `second`; None where the eye could argue.

        Sideways, the ground positions and the places in the picture have to agree: perspective can move a near
        object past a far one.
        """
        if name in ("right of", "behind"):
            return self.relation(INVERSE[name], second, first)
        if name == "left of":
            camera = self.camera
            shown = [camera.project(o.x, o.y, o.height / 2)[0] / camera.unit for o in (first, second)]
            gaps, axis = [second.x - first.x, shown[1] - shown[0]], 0
        else:
            gaps, axis = [second.y - first.y], 1
        if min(gaps) >= _CLEAR_GAP[axis]:
            return True
        if max(gaps) <= -_CLEAR_GAP[axis] or max(map(abs, gaps)) <= LEVEL[axis]:
            return False
        return None


def _values(part: SceneObject | Camera | Light) -> list[Any]:
    """The fields' values in their order; `dataclasses.astuple` would copy each of these numbers and words."""
    return [getattr(part, name) for name in part.__dataclass_fields__]


def _check(scene: Scene) -> None:
    known = {"shape": SHAPES, "colour": COLOURS, "size": SIZES, "material": MATERIALS}
    for item in scene.objects:
        for name, values in known.items():
            if getattr(item, name) not in values:
                raise ValueError(f"{name} {getattr(item, name)!r} is none of {', '.join(values)}")
    numbers = [n for o in scene.objects for n in (o.x, o.y, o.rotation)]
    numbers += [*_values(scene.camera), *_values(scene.light), scene.floor]
    if not all(math.isfinite(number) for number in numbers):
        raise ValueError("a number is not finite")
    if not 0 <= scene.noise < 2**32 or scene.noise % 4 >= len(SPLITS):
        raise ValueError(f"noise {scene.noise} encodes no split")


class _Composed(Protocol):
    """A solid, or a phrase about one."""

    @property
    def colour(self) -> str | None: ...
    @property
    def shape(self) -> str | None: ...


def held_out_kinds(items: Iterable[_Composed]) -> tuple[str, ...]:
    """Kinds of held-out composition that these solids, or phrases, use: "colour-shape", "colour-pair"."""
    items = tuple(items)
    colours = {item.colour for item in items}
    used = {
        "colour-shape": any((item.colour, item.shape) in HELD_OUT_COMBINATIONS for item in items),
        "colour-pair": any(pair <= colours for pair in HELD_OUT_PAIRS),
    }
    return tuple(kind for kind, is_used in used.items() if is_used)


Box = tuple[float, float, float, float]  # u low, v low, u high, v high
