# Copyright 2026 multibody_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Rotations and placements as plain tuples: 3x3 products, roll-pitch-yaw, inertia moved about."""

from __future__ import annotations

import math
from typing import Sequence

from .model import Mat3, Vec3

#: below this a sine or cosine is the rounding of a right angle and is taken as exact
RIGHT_ANGLE = 1e-15


def product(A: Mat3, B: Mat3) -> Mat3:
    """Return the matrix product A B."""
    x, y, z = transpose(B)
    return transpose((rotate(A, x), rotate(A, y), rotate(A, z)))


def transpose(A: Mat3) -> Mat3:
    """Return A with rows and columns exchanged."""
    (a, b, c), (d, e, f), (g, h, i) = A
    return (a, d, g), (b, e, h), (c, f, i)


def rotate(A: Mat3, x: Vec3) -> Vec3:
    """Return the product A x."""
    (a, b, c), (d, e, f), (g, h, i) = A
    u, v, w = x
    return a * u + b * v + c * w, d * u + e * v + f * w, g * u + h * v + i * w


def place_in(R: Mat3, p: Vec3, R_inner: Mat3, p_inner: Vec3) -> tuple[Mat3, Vec3]:
    """Compose two placements: the inner frame given in the outer, the outer in the base."""
    moved = rotate(R, p_inner)
    return product(R, R_inner), (moved[0] + p[0], moved[1] + p[1], moved[2] + p[2])


def rotation_rpy(rpy: Sequence[float]) -> Mat3:
    """Return the rotation Rz(yaw) Ry(pitch) Rx(roll) of URDF's fixed-axis angles, radians."""
    (sr, cr), (sp, cp), (sy, cy) = (_sine_cosine(angle) for angle in rpy)
    return (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def _sine_cosine(angle: float) -> tuple[float, float]:
    s, c = math.sin(angle), math.cos(angle)
    if abs(s) < RIGHT_ANGLE:
        return 0.0, math.copysign(1.0, c)
    if abs(c) < RIGHT_ANGLE:
        return math.copysign(1.0, s), 0.0
    return s, c


def unit(axis: Sequence[float]) -> Vec3:
    """Return the axis with length one; an axis along x, y or z stays exact."""
    largest = max(abs(x) for x in axis)
    x, y, z = (value / largest for value in axis)
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length)


def link_parameters(
        mass: float, com: Vec3, I_c: Mat3, R: Mat3) -> tuple[float, ...]:
    """
    Return m, m c and the six elements of the inertia about the link origin, link axes.

    `I_c` is about the centre of mass, in axes turned by R: I = R I_c R^T + m (|c|^2 1 - c c^T)
    (theory.md section 1, parallel axes).
    """
    turned = product(product(R, I_c), transpose(R))
    square = sum(c * c for c in com)
    inertia = [
        turned[i][j] + mass * ((square if i == j else 0.0) - com[i] * com[j])
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    ]
    return (mass, *(mass * c for c in com), *inertia)
