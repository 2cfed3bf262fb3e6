"""The camera, and where a ground point lands in the picture.

Ground frame: x to the camera's right, y away from the camera, z up, all in scene units. The camera has no yaw,
so "left of" and "in front of" can be read off x and y directly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Camera:
    """A pinhole camera that looks at a point near the origin of the ground frame."""

    shift: float  # sideways offset of camera and aim, scene units
    elevation: float  # degrees above the ground
    distance: float  # from the aim point, scene units
    zoom: float  # focal length in half picture widths
    roll: float  # degrees, clockwise

    @property
    def aim(self) -> Vector:
        """The point in the middle of the picture."""
        return self.shift, 0.1, 0.35

    @cached_property
    def position(self) -> Vector:
        """The pinhole, in the ground frame."""
        x, y, z = self.aim
        angle = math.radians(self.elevation)
        return x, y - self.distance * math.cos(angle), z + self.distance * math.sin(angle)

    @cached_property
    def axes(self) -> tuple[Vector, Vector, Vector]:
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
