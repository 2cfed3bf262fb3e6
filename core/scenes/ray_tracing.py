"""Rays and the three solids: where a ray meets them, and the surface direction there.

All arrays are float32. A bundle of rays is a triple of arrays (x, y, z) for origins and one for unit directions;
scalars stand for a shared value. Distances are along the ray, inf where it misses.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from core.scenes.camera import Camera, Vector
from core.scenes.world import SceneObject

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
_TINY = np.float32(1e-7)  # keeps divisions finite; no ray of a random camera is that parallel
_BEVEL = 0.10  # rounded rim of cubes and cylinders, relative to their half extent


def primary_rays(camera: Camera, side: int) -> Triple:
    """Unit directions through the centres of side x side pixels, each (side, side); row 0 is the top."""
    grid = ((np.arange(side, dtype=np.float32) + 0.5) * (2.0 / side) - 1.0) / np.float32(camera.zoom)
    right, up, forward = camera.axes
    u, v = grid[None, :], -grid[:, None]
    norm = 1.0 / np.sqrt(1.0 + u * u + v * v)
    x, y, z = ((forward[i] + right[i] * u + up[i] * v) * norm for i in range(3))
    return x, y, z


def pick(triple: Triple, where: np.ndarray | tuple[slice, slice]) -> Triple:
    """The rays or points at these places."""
    return triple[0][where], triple[1][where], triple[2][where]


def along(start: Triple | Vector, direction: Triple, t: np.ndarray) -> Triple:
    """Points start + t * direction."""
    x, y, z = (s + d * t for s, d in zip(start, direction, strict=True))
    return x, y, z


def to_local(item: SceneObject, x: Any, y: Any) -> tuple[Any, Any]:
    """Turn ground coordinates (or directions) into the cube's own axes; other solids need no turn."""
    if item.shape != "cube":
        return x, y
    angle = math.radians(item.rotation)
    c, s = math.cos(angle), math.sin(angle)
    return c * x + s * y, c * y - s * x


def hit(item: SceneObject, origin: Triple | Vector, direction: Triple) -> np.ndarray:
    """Distance to the solid's surface, from rays that start outside it."""
    ox, oy = to_local(item, origin[0] - item.x, origin[1] - item.y)
    dx, dy = to_local(item, direction[0], direction[1])
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


def normal(item: SceneObject, point: Triple) -> Triple:
    """Outward unit normals at surface points; rims of cubes and cylinders are shaded as if rounded."""
    x, y, z = (
        (point[0] - item.x) / item.radius,
        (point[1] - item.y) / item.radius,
        point[2] / item.radius - 1.0,
    )
    if item.shape == "cube":
        x, y = to_local(item, x, y)
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


def screen_box(camera: Camera, item: SceneObject, side: int) -> tuple[slice, slice]:
    """Rows and columns of pixels that surely hold the whole solid."""
    reach, top = item.footprint, item.height
    corners = [
        (item.x + i * reach, item.y + j * reach, k * top) for i in (-1, 1) for j in (-1, 1) for k in (0, 1)
    ]
    return pixel_box([camera.project(*c)[:2] for c in corners], side)


def pixel_box(corners: list[tuple[float, float]], side: int) -> tuple[slice, slice]:
    """Rows and columns of the pixels that hold the hull of these picture points, with one to spare."""
    us, vs = [c[0] for c in corners], [c[1] for c in corners]
    left, right = _pixels(min(us), max(us), side)
    top, bottom = _pixels(-max(vs), -min(vs), side)
    return slice(top, bottom), slice(left, right)


def _pixels(low: float, high: float, side: int) -> tuple[int, int]:
    first = math.floor((low + 1) / 2 * side) - 1
    last = math.ceil((high + 1) / 2 * side) + 1
    return min(max(first, 0), side), min(max(last, 0), side)
