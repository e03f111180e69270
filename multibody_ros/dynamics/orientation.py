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

"""
Orientation by parameters theta: rotation, w = G(theta) theta', and back (theory.md section 1).

w is the angular velocity in body axes. Euler parameters (a quaternion x y z w) are never singular;
the angles z-x-z have one at theta_2 = 0 and pi, roll-pitch-yaw at a pitch of pi/2 either way,
Rodrigues' parameters u tan(angle/2) at half a turn.
"""

from __future__ import annotations

from typing import Callable, NamedTuple

from .spatial import (
    add, apply, cross, dot, product, rotation, rotation_of_quaternion, scale, sub, UNITS)
from ..compiler.dual import derivative, Dual
from ..compiler.functions import cos, sin


class Orientation(NamedTuple):
    """One kind of parameters."""

    size: int
    #: theta -> R_WB
    rotation: Callable
    #: theta -> G, rows of 3 x size
    rate_matrix: Callable
    #: theta, w -> theta'
    rates: Callable


def _zxz(theta):
    phi, tilt, psi = theta
    z, x = UNITS[2], UNITS[0]
    return product(product(rotation(z, phi), rotation(x, tilt)), rotation(z, psi))


def _zxz_matrix(theta):
    _, tilt, psi = theta
    s, c = sin(tilt), cos(tilt)
    return ((s * sin(psi), cos(psi), 0.0), (s * cos(psi), -sin(psi), 0.0), (c, 0.0, 1.0))


def _zxz_rates(theta, w):
    _, tilt, psi = theta
    s, c = sin(psi), cos(psi)
    phi_rate = (w[0] * s + w[1] * c) / sin(tilt)
    return phi_rate, w[0] * c - w[1] * s, w[2] - phi_rate * cos(tilt)


def _rpy(theta):
    roll, pitch, yaw = theta
    x, y, z = UNITS
    return product(product(rotation(z, yaw), rotation(y, pitch)), rotation(x, roll))


def _rpy_matrix(theta):
    roll, pitch, _ = theta
    s, c = sin(roll), cos(roll)
    return ((1.0, 0.0, -sin(pitch)), (0.0, c, cos(pitch) * s), (0.0, -s, cos(pitch) * c))


def _rpy_rates(theta, w):
    roll, pitch, _ = theta
    s, c = sin(roll), cos(roll)
    yaw_rate = (w[1] * s + w[2] * c) / cos(pitch)
    return w[0] + yaw_rate * sin(pitch), w[1] * c - w[2] * s, yaw_rate


def _rodrigues(theta):
    x, y, z = theta
    return rotation_of_quaternion((x, y, z, 1.0))


def _rodrigues_matrix(theta):
    x, y, z = theta
    k = 2.0 / (1.0 + dot(theta, theta))
    return ((k, k * z, -(k * y)), (-(k * z), k, k * x), (k * y, -(k * x), k))


def _rodrigues_rates(theta, w):
    along = dot(theta, w)
    return scale(0.5, add(add(w, cross(theta, w)), scale(along, theta)))


def _quaternion_matrix(theta):
    x, y, z, w = theta
    return ((2.0 * w, 2.0 * z, -2.0 * y, -2.0 * x), (-2.0 * z, 2.0 * w, 2.0 * x, -2.0 * y),
            (2.0 * y, -2.0 * x, 2.0 * w, -2.0 * z))


def _quaternion_rates(theta, rate):
    x, y, z, w = theta
    a, b, c = scale(0.5, rate)
    return (w * a + (y * c - z * b), w * b + (z * a - x * c), w * c + (x * b - y * a),
            -(x * a + y * b + z * c))


ORIENTATIONS = {
    'euler_parameters': Orientation(
        4, rotation_of_quaternion, _quaternion_matrix, _quaternion_rates),
    'zxz': Orientation(3, _zxz, _zxz_matrix, _zxz_rates),
    'rpy': Orientation(3, _rpy, _rpy_matrix, _rpy_rates),
    'rodrigues': Orientation(3, _rodrigues, _rodrigues_matrix, _rodrigues_rates),
}


def body_equations(kind, m, c, inertia, theta, theta_dot):
    """
    Return M and f_v of one body in q = (r, theta): M q'' = f_v + applied forces.

    r is the body's origin in the world, c its centre in body axes, `inertia` 3x3 about the origin.
    M = [m 1, -m R S(c) G; sym, G^T I G],
    f_v = [-m R S(w)^2 c + m R S(c) G' theta'; -G^T (w x I w + I G' theta')].
    """
    o = ORIENTATIONS[kind]
    G = o.rate_matrix(theta)
    R = o.rotation(theta)
    columns = list(zip(*G))
    w = _combined(columns, theta_dot)
    moving = [Dual(x, dx) for x, dx in zip(theta, theta_dot)]
    G_rate = [[derivative(x) for x in row] for row in o.rate_matrix(moving)]
    extra = _combined(list(zip(*G_rate)), theta_dot)
    coupling = [scale(-m, apply(R, cross(c, column))) for column in columns]
    spun = [apply(inertia, column) for column in columns]
    size = 3 + o.size
    M = [[0.0] * size for _ in range(size)]
    for i in range(3):
        M[i][i] = m
        for j, column in enumerate(coupling):
            M[i][3 + j] = M[3 + j][i] = column[i]
    for i, column in enumerate(columns):
        for j in range(o.size):
            M[3 + i][3 + j] = dot(column, spun[j])
    centrifugal = sub(cross(c, extra), cross(w, cross(w, c)))
    gyroscopic = add(cross(w, apply(inertia, w)), apply(inertia, extra))
    return M, [*scale(m, apply(R, centrifugal)), *(-dot(column, gyroscopic) for column in columns)]


def _combined(columns, factors):
    total = (0.0, 0.0, 0.0)
    for column, factor in zip(columns, factors):
        total = add(total, scale(factor, column))
    return total
