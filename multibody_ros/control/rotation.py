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

"""The exponential map of rotations and its inverse, over any scalars."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .vectors import dot, Matrix, times, Vector
from ..compiler.functions import atan2, cos, sin, sqrt, where
from ..dynamics.spatial import cross

Array = NDArray[np.float64]

#: the square of an angle below which (1 - x/2 cot x/2) / x^2 is taken from its series
SMALL = 0.01


def cross_matrix(w: Array) -> Array:
    """Return S(w): S(w) x = w x x."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def exp_rotation(w: Array) -> Array:
    """Return the matrix of the turn by |w| about w: 1 + S(u) sin t + 2 S(u)^2 sin^2(t/2)."""
    angle = float(np.linalg.norm(w))
    S = cross_matrix(w)
    # sin(t)/t and 2 sin^2(t/2)/t^2 in forms that are exact at t = 0 (numpy's sinc is of pi x)
    first = np.sinc(angle / np.pi)
    second = 0.5 * np.sinc(0.5 * angle / np.pi)**2
    return np.asarray(np.eye(3) + first * S + second * S @ S)


def log_rotation(R: Array) -> Array:
    """Return the rotation vector of `R`, of length 0 to pi."""
    return np.array(rotation_vector(R.tolist()))


def rotation_vector(R: Matrix) -> Vector:
    """
    Return the rotation vector of `R`, of length 0 to pi, by way of the quaternion.

    The quaternion is taken from its largest component (Shepperd, 1978), so that half turns and
    vanishing turns are both exact.
    """
    (a, b, c), (d, e, f), (g, h, i) = R
    choices = ((a - e - i, (1.0 + (a - e - i), b + d, c + g, h - f)),
               (e - a - i, (b + d, 1.0 + (e - a - i), f + h, c - g)),
               (i - a - e, (c + g, f + h, 1.0 + (i - a - e), d - b)),
               (a + e + i, (h - f, c - g, d - b, 1.0 + (a + e + i))))
    largest, x = choices[0]
    for size, other in choices[1:]:
        x = tuple(where(largest, size, new, old) for new, old in zip(other, x))
        largest = where(largest, size, size, largest)
    sign = where(x[3], 0.0, -1.0, 1.0)
    u, w = times(sign, x[:3]), sign * x[3]
    square = dot(u, u)
    tiny = where(square, 1e-16 * (w * w), 1.0, -1.0)
    sine = sqrt(where(0.0, tiny, 1.0, square))
    ratio = where(0.0, tiny, 2.0 / where(0.0, tiny, w, 1.0), 2.0 * atan2(sine, w) / sine)
    return times(ratio, u)


def rotation_gradient(w: Vector, y: Vector) -> Vector:
    """
    Return -d(1/2 w.K w)/d(turn) for y = K w, where w = log(R_WD R_WB^T) and B is turned.

    It is J_r(w)^-T y = y - 1/2 w x y + k w x (w x y), k = (1 - t/2 cot t/2) / t^2, t = |w|, as
    w' = -J_r(w)^-1 omega (Chirikjian, 2012, section 10.8): a spring with this torque stores and
    gives back 1/2 w.K w. For K = k 1 it is k w.
    """
    t = dot(w, w)
    safe = where(t, SMALL, 1.0, t)
    half = 0.5 * sqrt(safe)
    # cot without poles: near t = pi the cosine vanishes, the sine does not
    k = where(t, SMALL, 1.0 / 12.0 + t * (1.0 / 720.0 + t * (1.0 / 30240.0)),
              (1.0 - half * cos(half) / sin(half)) / safe)
    first = cross(w, y)
    second = cross(w, first)
    return [b - 0.5 * c + k * d for b, c, d in zip(y, first, second)]
