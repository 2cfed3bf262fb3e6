"""Light: the floor, its shadows, rubber, metal and what metal mirrors.

The lamp is far away, so a solid's shadow is the same shape wherever it falls: slide every surface point along the
light onto the ground, and the solid's shadow there is an ellipse (sphere), a capsule (cylinder) or a hexagon
(cube) whose signed distance is known in closed form. That gives soft edges with one evaluation a point.
"""

from __future__ import annotations

import math

import numpy as np

from core.scenes.ray_tracing import Triple, along, hit, normal, pick, pixel_box, to_local
from core.scenes.world import COLOURS, Light, Scene, SceneObject

_LINEAR = {name: tuple(c**2.2 for c in rgb) for name, rgb in COLOURS.items()}
_FLOOR = 0.45  # linear albedo of the floor
_SKY, _KEY = 0.42, 0.78  # ambient light and lamp
_CURVE = (np.linspace(0.0, 1.0, 4096) ** (1 / 2.2) * 255 + 0.5).astype(np.uint8)


def tone(linear: np.ndarray) -> np.ndarray:
    """Linear light, float (...), to sRGB uint8; the brightest part is rolled off instead of cut."""
    rolled = np.where(linear > 0.7, 1.0 - 0.3 * np.exp((0.7 - linear) / 0.3), linear)
    return _CURVE[(rolled * 4095).astype(np.int32).clip(0, 4095)]


def lamp_direction(light: Light) -> tuple[float, float, float]:
    """Unit vector towards the lamp."""
    azimuth, elevation = math.radians(light.azimuth), math.radians(light.elevation)
    c = math.cos(elevation)
    return c * math.sin(azimuth), -c * math.cos(azimuth), math.sin(elevation)


def lamp_colour(light: Light) -> np.ndarray:
    """Linear RGB (3, 1) of the lamp."""
    return (
        np.array([[1 + 0.06 * light.warmth], [1.0], [1 - 0.06 * light.warmth]], np.float32) * light.strength
    )


def floor_colour(scene: Scene, direction: Triple, side: int) -> np.ndarray:
    """Linear RGB of the floor for every primary ray, float32 (3, side * side)."""
    px, py, pz = scene.camera.position
    t = -pz / direction[2]
    x, y = px + direction[0] * t, py + direction[1] * t
    lamp = lamp_direction(scene.light)
    lit, sky = np.ones((side, side), np.float32), np.ones((side, side), np.float32)
    for item in scene.objects:
        box = _shadow_box(scene, item, lamp, side)
        bx, by = x[box], y[box]
        lit[box] *= 1.0 - shadow(item, bx, by, 0.0, lamp, scene.light.softness)
        sky[box] *= 1.0 - _contact(item, bx, by)
    base = floor_albedo(scene, x, y)
    key = lamp_colour(scene.light) * (_KEY * lamp[2])
    return base.ravel() * (key * lit.ravel() + _SKY * sky.ravel())


def floor_albedo(scene: Scene, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Grey of the bare floor at ground points: faint waves of the scene's own, lighter in the middle."""
    rng = np.random.default_rng(scene.noise)
    grey = 1.0 - 0.006 * (x * x + (y - 0.5) * (y - 0.5))
    for angle, phase, pitch in zip(
        rng.uniform(0, np.pi, 4), rng.uniform(0, 6.28, 4), (0.9, 2.1, 5.3, 9.0), strict=True
    ):
        kx, ky = np.float32(pitch * math.cos(angle)), np.float32(pitch * math.sin(angle))
        grey += 0.014 * np.sin(kx * x + ky * y + np.float32(phase))
    return grey * np.float32(_FLOOR * scene.floor)


def _shadow_box(scene: Scene, item: SceneObject, lamp: tuple, side: int) -> tuple[slice, slice]:
    """Pixels that the solid's shadow and contact shade can reach."""
    sx, sy = (-lamp[i] / lamp[2] * item.height for i in (0, 1))
    reach = item.footprint + _shadow_extent(item)
    xs = (item.x - reach + min(sx, 0), item.x + reach + max(sx, 0))
    ys = (item.y - reach + min(sy, 0), item.y + reach + max(sy, 0))
    return pixel_box([scene.camera.project(a, b, 0.0)[:2] for a in xs for b in ys], side)


def _contact(item: SceneObject, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """How much of the sky the solid hides from ground points, in [0, 0.65]; none beyond `_shadow_extent`."""
    x, y = to_local(item, x - item.x, y - item.y)
    if item.shape == "sphere":
        return 0.65 * np.exp((x * x + y * y) * (-1.1 / item.radius**2))
    if item.shape == "cube":
        x, y = np.maximum(np.abs(x) - item.radius, 0), np.maximum(np.abs(y) - item.radius, 0)
        gap = np.sqrt(x * x + y * y)
    else:
        gap = np.maximum(np.sqrt(x * x + y * y) - item.radius, 0)
    return 0.55 * np.maximum(1.0 - gap / _shadow_extent(item), 0.0) ** 3


def _shadow_extent(item: SceneObject) -> float:
    return 0.75 * item.height


def shadow(
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
    length = math.hypot(sx, sy)
    if item.shape == "sphere":
        along, across = (-x * sx - y * sy) / length, (x * sy - y * sx) / length
        stretch = math.sqrt(1 + length * length)
        ring = np.sqrt(((along - r * length) / stretch) ** 2 + across * across)
        return ring - r
    if item.shape == "cylinder":
        along, across = (-x * sx - y * sy) / length, (x * sy - y * sx) / length
        over = along - np.clip(along, 0.0, item.height * length)
        return np.sqrt(over * over + across * across) - r
    x, y = to_local(item, x, y)
    end = to_local(item, np.float32(-sx * item.height), np.float32(-sy * item.height))
    return _hexagon_gap(x, y, r, float(end[0]), float(end[1]))


def _hexagon_gap(x: np.ndarray, y: np.ndarray, r: float, ex: float, ey: float) -> np.ndarray:
    """Largest excess over the six edges of the square [-r, r]^2 swept along (ex, ey)."""
    length = math.hypot(ex, ey)
    nx, ny = ey / length, -ex / length
    across = np.abs(nx * (x - ex / 2) + ny * (y - ey / 2)) - r * (abs(nx) + abs(ny))
    wide = np.abs(x - ex / 2) - (r + abs(ex) / 2)
    deep = np.abs(y - ey / 2) - (r + abs(ey) / 2)
    return np.maximum(across, np.maximum(wide, deep))


def object_colour(scene: Scene, which: np.ndarray, point: Triple, n: Triple, ray: Triple) -> np.ndarray:
    """Linear RGB of surface points, float32 (3, p).

    `which` int (p,) names the object of each point; `point`, unit normals `n` and unit `ray`s are triples of (p,).
    """
    lamp = lamp_direction(scene.light)
    albedo = np.array([_LINEAR[o.colour] for o in scene.objects], np.float32).T[:, which]
    metal = np.array([o.material == "metal" for o in scene.objects])[which]
    lit = _lit(scene, which, point, lamp)
    facing = n[0] * lamp[0] + n[1] * lamp[1] + n[2] * lamp[2]
    back = 2 * (n[0] * ray[0] + n[1] * ray[1] + n[2] * ray[2])
    mirror = along(ray, n, -back)
    gloss = np.maximum(mirror[0] * lamp[0] + mirror[1] * lamp[1] + mirror[2] * lamp[2], 0.0)
    # Ambient light: sky from above, a little from the floor, less close to it.
    near_floor = np.minimum(point[2] * 1.6, 1.0)
    ambient = _SKY * (0.62 + 0.38 * n[2]) * (0.55 + 0.45 * near_floor)
    lamp_rgb = lamp_colour(scene.light)
    diffuse = lamp_rgb * (1.25 * _KEY * np.maximum(facing, 0.0) * lit) + ambient
    colour = albedo * diffuse + lamp_rgb * (0.05 * lit * gloss**6)
    shiny = np.flatnonzero(metal)
    if shiny.size:
        seen = _mirrored(scene, which[shiny], pick(point, shiny), pick(mirror, shiny), lamp)
        rim = np.clip(1.0 + 0.5 * back[shiny], 0, 1) ** 4  # `back` is minus twice the cosine to the viewer
        tint = albedo[:, shiny]
        tint = tint + (1.0 - tint) * (0.04 + 0.35 * rim)
        glow, spark = gloss[shiny] ** 12, gloss[shiny] ** 70
        colour[:, shiny] = 0.22 * tint * diffuse[:, shiny] + tint * seen
        colour[:, shiny] += lamp_rgb * lit[shiny] * (2.2 * spark + 0.35 * tint * glow)
    return colour


def _lit(scene: Scene, which: np.ndarray, point: Triple, lamp: tuple) -> np.ndarray:
    """Share of the lamp that reaches surface points past the other solids, (p,)."""
    lit = np.ones(which.shape, np.float32)
    for number, item in enumerate(scene.objects):
        others = np.flatnonzero(which != number)
        if others.size:
            x, y, z = pick(point, others)
            lit[others] *= 1.0 - shadow(item, x, y, z, lamp, scene.light.softness)
    return lit


def _mirrored(scene: Scene, which: np.ndarray, point: Triple, mirror: Triple, lamp: tuple) -> np.ndarray:
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
        t = hit(item, point, mirror)
        nearer = np.flatnonzero((t < nearest) & (which != number))
        if nearer.size:
            nearest[nearer] = t[nearer]
            n = normal(item, along(pick(point, nearer), pick(mirror, nearer), t[nearer]))
            shade = 0.35 + 0.45 * n[2] + 0.5 * np.maximum(n[0] * lamp[0] + n[1] * lamp[1] + n[2] * lamp[2], 0)
            colour[:, nearer] = np.array(_LINEAR[item.colour], np.float32)[:, None] * shade
    return colour
