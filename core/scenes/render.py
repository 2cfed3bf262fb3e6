"""Images of scenes: an analytic ray caster with soft shadows, glossy metal and a soft floor.

Deterministic: everything comes from the scene's own fields, so a scene is drawn the same way every time and at
any size. Light is computed in linear RGB and stored as sRGB. Arrays of rays and points are float32; a bundle of them is
a triple of arrays (x, y, z), in which scalars stand for a shared value.
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
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from PIL import Image

from core.base.errors import InputError
from core.scenes.world import COLOURS, Camera, Light, Scene, SceneObject

RENDERER = "crossmatch-scenes-1"  # part of every image's key: change it whenever pixels change
MODEL_SIZE = 64  # pixels a side, what the built-in models see
_MAX_SIZE = 2048
_BAND = 2**17  # rays drawn at once: a large picture as one would take ten times the memory of a small one


def _render(scene: Scene, size: int = MODEL_SIZE) -> np.ndarray:
    """The picture, uint8 (size, size, 3), sRGB."""
    if not 8 <= size <= _MAX_SIZE:
        raise InputError(f"A picture of {size} px cannot be drawn; choose a size from 8 to {_MAX_SIZE}.")
    side = 2 * size  # four samples a pixel
    height = 2 * max(1, _BAND // (2 * side))
    return np.concatenate(
        [_band(scene, side, top, min(top + height, side)) for top in range(0, side, height)]
    )


def _band(scene: Scene, side: int, top: int, bottom: int) -> np.ndarray:
    """Of a picture of side x side samples, the rows `top` to `bottom` (even): uint8 (rows / 2, side / 2, 3), sRGB."""
    direction = _primary_rays(scene.camera, side, top, bottom)
    depth, index = _visible(scene, direction, side, top)
    colour = _floor_colour(scene, direction, side, top)  # (3, rows * side)
    where = np.flatnonzero(index >= 0)
    if where.size:
        which = index.ravel()[where]
        x, y, z = direction
        rays = _pick((x.ravel(), y.ravel(), z.ravel()), where)
        point = _along(scene.camera.position, rays, depth.ravel()[where])
        colour[:, where] = _object_colour(scene, which, point, _normals(scene, which, point), rays)
    colour = colour.reshape(3, bottom - top, side)
    rows = colour[:, ::2] + colour[:, 1::2]
    linear = 0.25 * (rows[..., ::2] + rows[..., 1::2])
    return np.ascontiguousarray(_tone(linear).transpose(1, 2, 0))


def _visible(scene: Scene, direction: _Triple, side: int, top: int) -> tuple[np.ndarray, np.ndarray]:
    """Distance to the nearest solid, float32 (rows, side), inf on the floor; and its index, int8, -1 there."""
    depth = np.full(direction[0].shape, np.inf, dtype=np.float32)
    index = np.full(depth.shape, -1, dtype=np.int8)
    for number, item in enumerate(scene.objects):
        box = _in_band(_screen_box(scene.camera, item, side), top, len(depth))
        t = _hit(item, scene.camera.position, _pick(direction, box))
        nearer = t < depth[box]
        depth[box][nearer] = t[nearer]
        index[box][nearer] = number
    return depth, index


def _normals(scene: Scene, which: np.ndarray, point: _Triple) -> _Triple:
    normals = np.empty_like(point[0]), np.empty_like(point[0]), np.empty_like(point[0])
    for number, item in enumerate(scene.objects):
        mine = np.flatnonzero(which == number)
        for target, values in zip(normals, _surface_normal(item, _pick(point, mine)), strict=True):
            target[mine] = values
    return normals


def render_many(scenes: Sequence[Scene], size: int = MODEL_SIZE, processes: int = 1) -> np.ndarray:
    """All pictures, uint8 (n, size, size, 3); equal to `_render` one by one, on `processes` processes."""
    scenes = list(scenes)
    pictures = np.empty((len(scenes), size, size, 3), dtype=np.uint8)
    if processes <= 1 or len(scenes) < 64:
        for i, scene in enumerate(scenes):
            pictures[i] = _render(scene, size)
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
        return Image.fromarray(_render(self.scene, size))


# Pictures at MODEL_SIZE that core/scenes/pictures.py has drawn before anybody opens them; forgotten with the scenes.
AHEAD: WeakKeyDictionary[Scene, np.ndarray] = WeakKeyDictionary()


def _for_models(scene: Scene) -> np.ndarray:
    ahead = AHEAD.get(scene)
    return _drawn(scene) if ahead is None else ahead


@lru_cache(maxsize=4096)  # 12 kB each: one model after another reads the same pictures
def _drawn(scene: Scene) -> np.ndarray:
    picture = _render(scene)
    picture.flags.writeable = False
    return picture


# Rays and the three solids: where a ray meets them, and the surface direction there

_Triple = tuple[Any, Any, Any]  # x, y and z
_TINY = np.float32(1e-7)  # keeps divisions finite; no ray of a random camera is that parallel
_BEVEL = 0.10  # rounded rim of cubes and cylinders, relative to their half extent


def _primary_rays(camera: Camera, side: int, top: int, bottom: int) -> _Triple:
    """Unit directions through the centres of side x side pixels, each (bottom - top, side); row 0 is the top."""
    grid = ((np.arange(side, dtype=np.float32) + 0.5) * (2.0 / side) - 1.0) / np.float32(camera.zoom)
    right, up, forward = camera.axes
    u, v = grid[None, :], -grid[top:bottom, None]
    norm = 1.0 / np.sqrt(1.0 + u * u + v * v)
    x, y, z = ((forward[i] + right[i] * u + up[i] * v) * norm for i in range(3))
    return x, y, z


def _pick(triple: _Triple, where: np.ndarray | tuple[slice, slice]) -> _Triple:
    """The rays or points at these places."""
    return triple[0][where], triple[1][where], triple[2][where]


def _dot(a: _Triple, b: _Triple) -> np.ndarray:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _along(start: _Triple, direction: _Triple, t: np.ndarray) -> _Triple:
    """Points start + t * direction."""
    x, y, z = (s + d * t for s, d in zip(start, direction, strict=True))
    return x, y, z


def _to_local(item: SceneObject, x: Any, y: Any) -> tuple[Any, Any]:
    """Turn ground coordinates (or directions) into the cube's own axes; other solids need no turn."""
    if item.shape != "cube":
        return x, y
    angle = math.radians(item.rotation)
    c, s = math.cos(angle), math.sin(angle)
    return c * x + s * y, c * y - s * x


def _hit(item: SceneObject, origin: _Triple, direction: _Triple) -> np.ndarray:
    """Distance to the solid's surface, from rays that start outside it."""
    ox, oy = _to_local(item, origin[0] - item.x, origin[1] - item.y)
    dx, dy = _to_local(item, direction[0], direction[1])
    oz, dz = origin[2] - item.radius, direction[2]
    if item.shape == "sphere":
        near, far = _quadratic(1.0, ox * dx + oy * dy + oz * dz, ox * ox + oy * oy + oz * oz - item.radius**2)
    else:
        near, far = _slab(oz, dz, item.radius)
        if item.shape == "cylinder":
            a = dx * dx + dy * dy + _TINY
            sides = [_quadratic(a, ox * dx + oy * dy, ox * ox + oy * oy - item.radius**2)]
        else:
            sides = [_slab(ox, dx, item.radius), _slab(oy, dy, item.radius)]
        for low, high in sides:
            near, far = np.maximum(near, low), np.minimum(far, high)
    return np.where((near < far) & (near > 1e-4), near, np.float32(np.inf))


def _quadratic(a: np.ndarray | float, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both roots of a t^2 + 2 b t + c; an empty interval where there are none."""
    inside = b * b - a * c
    root = np.sqrt(np.maximum(inside, 0.0))
    miss = np.where(inside > 0.0, np.float32(0.0), np.float32(np.inf))
    return (-b - root) / a + miss, (-b + root) / a - miss


def _slab(origin: np.ndarray | float, direction: np.ndarray, half: float) -> tuple[np.ndarray, np.ndarray]:
    """Interval in which the ray is between the planes at -half and +half."""
    inverse = 1.0 / (direction + _TINY)
    centre, reach = -origin * inverse, half * np.abs(inverse)
    return centre - reach, centre + reach


def _surface_normal(item: SceneObject, point: _Triple) -> _Triple:
    """Outward unit normals at surface points; rims of cubes and cylinders are shaded as if rounded."""
    x, y, z = (
        (point[0] - item.x) / item.radius,
        (point[1] - item.y) / item.radius,
        point[2] / item.radius - 1.0,
    )
    if item.shape == "cube":
        x, y = _to_local(item, x, y)
        x, y = _rim(x), _rim(y)
        angle = math.radians(item.rotation)
        c, s = math.cos(angle), math.sin(angle)
        x, y, z = c * x - s * y, s * x + c * y, _rim(z)
    elif item.shape == "cylinder":
        ring = np.sqrt(x * x + y * y) + _TINY
        scale = _rim(ring) / ring
        x, y, z = x * scale, y * scale, _rim(z)
    norm = 1.0 / np.sqrt(x * x + y * y + z * z + _TINY)
    return x * norm, y * norm, z * norm


def _rim(x: np.ndarray) -> np.ndarray:
    return np.sign(x) * np.maximum(np.abs(x) - (1.0 - _BEVEL), 0.0)


def _screen_box(camera: Camera, item: SceneObject, side: int) -> tuple[slice, slice]:
    """Rows and columns of pixels that surely hold the whole solid."""
    reach, top = item.footprint, item.height
    corners = [
        (item.x + i * reach, item.y + j * reach, k * top) for i in (-1, 1) for j in (-1, 1) for k in (0, 1)
    ]
    return _pixel_box([camera.project(*c)[:2] for c in corners], side)


def _pixel_box(corners: list[tuple[float, float]], side: int) -> tuple[slice, slice]:
    """Rows and columns of the pixels that hold the hull of these picture points, with one to spare."""
    us, vs = zip(*corners, strict=True)

    def span(low: float, high: float) -> slice:
        first, last = math.floor((low + 1) / 2 * side) - 1, math.ceil((high + 1) / 2 * side) + 1
        return slice(min(max(first, 0), side), min(max(last, 0), side))

    return span(-max(vs), -min(vs)), span(min(us), max(us))


def _in_band(box: tuple[slice, slice], top: int, rows: int) -> tuple[slice, slice]:
    """What of a box lies in a band of `rows` rows, counted from its `top`."""
    first, last = (min(max(row - top, 0), rows) for row in (box[0].start, box[0].stop))
    return slice(first, last), box[1]


# Light: the floor, its shadows, rubber, metal and what metal mirrors
#
# The lamp is far away, so a solid's shadow is the same shape wherever it falls: slide every surface point along the
# light onto the ground, and the solid's shadow there is an ellipse (sphere), a capsule (cylinder) or a hexagon
# (cube) whose signed distance is known in closed form. That gives soft edges with one evaluation a point.

_LINEAR = {name: tuple(c**2.2 for c in rgb) for name, rgb in COLOURS.items()}
_FLOOR = 0.45  # linear albedo of the floor
_SKY, _KEY = 0.42, 0.78  # ambient light and lamp
_CONTACT = 0.75  # how far around itself a solid darkens the floor, relative to its height
_CURVE = (np.linspace(0.0, 1.0, 4096) ** (1 / 2.2) * 255 + 0.5).astype(np.uint8)


def _tone(linear: np.ndarray) -> np.ndarray:
    """Linear light, float (...), to sRGB uint8; the brightest part is rolled off instead of cut."""
    rolled = np.where(linear > 0.7, 1.0 - 0.3 * np.exp((0.7 - linear) / 0.3), linear)
    return _CURVE[(rolled * 4095).astype(np.int32).clip(0, 4095)]


def _lamp_direction(light: Light) -> tuple[float, float, float]:
    """Unit vector towards the lamp."""
    azimuth, elevation = math.radians(light.azimuth), math.radians(light.elevation)
    c = math.cos(elevation)
    return c * math.sin(azimuth), -c * math.cos(azimuth), math.sin(elevation)


def _lamp_colour(light: Light) -> np.ndarray:
    """Linear RGB (3, 1) of the lamp."""
    red, blue = 1 + 0.06 * light.warmth, 1 - 0.06 * light.warmth
    return np.array([[red], [1.0], [blue]], np.float32) * light.strength


def _floor_colour(scene: Scene, direction: _Triple, side: int, top: int) -> np.ndarray:
    """Linear RGB of the floor for every primary ray of a band, float32 (3, rows * side)."""
    px, py, pz = scene.camera.position
    t = -pz / direction[2]
    x, y = px + direction[0] * t, py + direction[1] * t
    lamp = _lamp_direction(scene.light)
    lit, sky = np.ones_like(x), np.ones_like(x)
    for item in scene.objects:
        box = _in_band(_shadow_box(scene, item, lamp, side), top, len(x))
        bx, by = x[box], y[box]
        lit[box] *= 1.0 - _shadow(item, bx, by, 0.0, lamp, scene.light.softness)
        sky[box] *= 1.0 - _contact(item, bx, by)
    base = _floor_albedo(scene, x, y)
    key = _lamp_colour(scene.light) * (_KEY * lamp[2])
    return base.ravel() * (key * lit.ravel() + _SKY * sky.ravel())


def _floor_albedo(scene: Scene, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Grey of the bare floor at ground points: faint waves of the scene's own, lighter in the middle."""
    rng = np.random.default_rng(scene.noise)
    grey = 1.0 - 0.006 * (x * x + (y - 0.5) * (y - 0.5))
    angles, phases = rng.uniform(0, np.pi, 4), rng.uniform(0, 6.28, 4)
    for angle, phase, pitch in zip(angles, phases, (0.9, 2.1, 5.3, 9.0), strict=True):
        kx, ky = np.float32(pitch * math.cos(angle)), np.float32(pitch * math.sin(angle))
        grey += 0.014 * np.sin(kx * x + ky * y + np.float32(phase))
    return grey * np.float32(_FLOOR * scene.floor)


def _shadow_box(scene: Scene, item: SceneObject, lamp: tuple, side: int) -> tuple[slice, slice]:
    """Pixels that the solid's shadow and contact shade can reach."""
    sx, sy = (-lamp[i] / lamp[2] * item.height for i in (0, 1))
    reach = item.footprint + _CONTACT * item.height
    xs = (item.x - reach + min(sx, 0), item.x + reach + max(sx, 0))
    ys = (item.y - reach + min(sy, 0), item.y + reach + max(sy, 0))
    return _pixel_box([scene.camera.project(a, b, 0.0)[:2] for a in xs for b in ys], side)


def _contact(item: SceneObject, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How much of the sky the solid hides from ground points, in [0, 0.65]; none beyond `_CONTACT`."""
    x, y = _to_local(item, x - item.x, y - item.y)
    if item.shape == "sphere":
        return 0.65 * np.exp((x * x + y * y) * (-1.1 / item.radius**2))
    if item.shape == "cube":
        x, y = np.maximum(np.abs(x) - item.radius, 0), np.maximum(np.abs(y) - item.radius, 0)
        gap = np.sqrt(x * x + y * y)
    else:
        gap = np.maximum(np.sqrt(x * x + y * y) - item.radius, 0)
    return 0.55 * np.maximum(1.0 - gap / (_CONTACT * item.height), 0.0) ** 3


def _shadow(
    item: SceneObject, x: np.ndarray, y: np.ndarray, z: np.ndarray | float, lamp: tuple, softness: float
) -> np.ndarray:
    """How much of the lamp the solid hides from points (x, y, z) outside it, in [0, 1]."""
    slope_x, slope_y = lamp[0] / lamp[2], lamp[1] / lamp[2]
    # Along the light, relative to the solid's axis: only points on its far side can be in its shadow.
    dx, dy = x - item.x, y - item.y
    behind = -(dx * slope_x + dy * slope_y) / math.hypot(slope_x, slope_y)
    edge = 0.025 + softness * np.maximum(behind, 0.0)
    gap = _shadow_gap(item, dx - slope_x * z, dy - slope_y * z, slope_x, slope_y)
    hidden = np.clip(0.5 - gap / (2 * edge), 0.0, 1.0)
    return np.where(behind > -item.footprint, hidden * hidden * (3 - 2 * hidden), 0.0)


def _shadow_gap(item: SceneObject, x: np.ndarray, y: np.ndarray, sx: float, sy: float) -> np.ndarray:
    """Signed distance (about) on the ground from the solid's shadow; points relative to its centre."""
    r = item.radius
    if item.shape == "cube":
        x, y = _to_local(item, x, y)
        end = _to_local(item, np.float32(-sx * item.height), np.float32(-sy * item.height))
        return _hexagon_gap(x, y, r, float(end[0]), float(end[1]))
    length = math.hypot(sx, sy)
    along, across = (-x * sx - y * sy) / length, (x * sy - y * sx) / length
    if item.shape == "sphere":
        over = (along - r * length) / math.sqrt(1 + length * length)
    else:
        over = along - np.clip(along, 0.0, item.height * length)
    return np.sqrt(over * over + across * across) - r


def _hexagon_gap(x: np.ndarray, y: np.ndarray, r: float, ex: float, ey: float) -> np.ndarray:
    """Largest excess over the six edges of the square [-r, r]^2 swept along (ex, ey)."""
    length = math.hypot(ex, ey)
    nx, ny = ey / length, -ex / length
    across = np.abs(nx * (x - ex / 2) + ny * (y - ey / 2)) - r * (abs(nx) + abs(ny))
    wide = np.abs(x - ex / 2) - (r + abs(ex) / 2)
    deep = np.abs(y - ey / 2) - (r + abs(ey) / 2)
    return np.maximum(across, np.maximum(wide, deep))


def _object_colour(scene: Scene, which: np.ndarray, point: _Triple, n: _Triple, ray: _Triple) -> np.ndarray:
    """Linear RGB of surface points, float32 (3, p).

    `which` int (p,) names the object of each point; `point`, unit normals `n` and unit `ray`s are triples of (p,).
    """
    lamp = _lamp_direction(scene.light)
    albedo = np.array([_LINEAR[o.colour] for o in scene.objects], np.float32).T[:, which]
    metal = np.array([o.material == "metal" for o in scene.objects])[which]
    lit = _lit(scene, which, point, lamp)
    facing = _dot(n, lamp)
    back = 2 * _dot(n, ray)
    mirror = _along(ray, n, -back)
    gloss = np.maximum(_dot(mirror, lamp), 0.0)
    # Ambient light: sky from above, a little from the floor, less close to it.
    near_floor = np.minimum(point[2] * 1.6, 1.0)
    ambient = _SKY * (0.62 + 0.38 * n[2]) * (0.55 + 0.45 * near_floor)
    lamp_rgb = _lamp_colour(scene.light)
    diffuse = lamp_rgb * (1.25 * _KEY * np.maximum(facing, 0.0) * lit) + ambient
    colour = albedo * diffuse + lamp_rgb * (0.05 * lit * gloss**6)
    shiny = np.flatnonzero(metal)
    if shiny.size:
        reflection = _mirrored(scene, which[shiny], _pick(point, shiny), _pick(mirror, shiny), lamp)
        rim = np.clip(1.0 + 0.5 * back[shiny], 0, 1) ** 4  # `back` is minus twice the cosine to the viewer
        bare = albedo[:, shiny]
        tint = bare + (1.0 - bare) * (0.04 + 0.35 * rim)
        glow, spark = gloss[shiny] ** 12, gloss[shiny] ** 70
        colour[:, shiny] = 0.22 * tint * diffuse[:, shiny] + tint * reflection
        colour[:, shiny] += lamp_rgb * lit[shiny] * (2.2 * spark + 0.35 * tint * glow)
    return colour


def _lit(scene: Scene, which: np.ndarray, point: _Triple, lamp: tuple) -> np.ndarray:
    """Share of the lamp that reaches surface points past the other solids, (p,)."""
    lit = np.ones(which.shape, np.float32)
    for number, item in enumerate(scene.objects):
        others = np.flatnonzero(which != number)
        if others.size:
            x, y, z = _pick(point, others)
            lit[others] *= 1.0 - _shadow(item, x, y, z, lamp, scene.light.softness)
    return lit


def _mirrored(scene: Scene, which: np.ndarray, point: _Triple, mirror: _Triple, lamp: tuple) -> np.ndarray:
    """Linear RGB that metal sees along its mirror directions: sky, a window, the floor and the other solids."""
    up = mirror[2]
    # A dark studio with a bright ceiling and a long soft window beside the lamp: contrast makes metal look like it.
    sky = 0.10 + 0.95 * np.clip(up * 1.15, 0, 1) ** 2
    window = np.clip((mirror[0] * lamp[0] + mirror[1] * lamp[1]) * 3.0 - 1.1, 0, 1) * np.clip(up * 6, 0, 1)
    far = np.clip(point[2] / np.maximum(-up, 0.05), 0, 3)
    floor = _FLOOR * scene.floor * (0.3 + 0.9 * np.clip(far * 0.8, 0, 1))
    # Brushed metal: brighter where the side faces the lamp, darker across.
    facing = (mirror[0] * lamp[0] + mirror[1] * lamp[1]) / (
        math.hypot(lamp[0], lamp[1]) * np.sqrt(mirror[0] * mirror[0] + mirror[1] * mirror[1] + 1e-6)
    )
    floor = floor * (0.62 + 0.2 * np.abs(facing) + 1.1 * np.clip(facing, 0, 1) ** 10)
    blend = np.clip(up * 8 + 0.5, 0, 1)
    colour = np.repeat((floor + blend * (sky + 0.8 * window - floor))[None], 3, axis=0)
    nearest = np.full(up.shape, np.inf, np.float32)
    for number, item in enumerate(scene.objects):
        t = _hit(item, point, mirror)
        nearer = np.flatnonzero((t < nearest) & (which != number))
        if nearer.size:
            nearest[nearer] = t[nearer]
            n = _surface_normal(item, _along(_pick(point, nearer), _pick(mirror, nearer), t[nearer]))
            shade = 0.35 + 0.45 * n[2] + 0.5 * np.maximum(_dot(n, lamp), 0)
            colour[:, nearer] = np.array(_LINEAR[item.colour], np.float32)[:, None] * shade
    return colour
