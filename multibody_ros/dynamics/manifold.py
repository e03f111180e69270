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
Configurations as points of a manifold: moving along a velocity, and the way between two.

Joints of one freedom add and subtract; a continuous joint's way is the short one. A floating joint
moves by the exponential map of rigid motions (Murray, Li, Sastry 1994, equation 2.36), whose
velocity is constant in body axes.
"""

import math

from .spatial import (
    add, apply, apply_transposed, cross, dot, rotation_of_quaternion, scale, sub)
from ..compiler.functions import atan2, cos, sin, sqrt, where

#: Taylor series in t = angle^2 of (1 - sin x / x) / x^2 and of (1 - x/2 cot x/2) / x^2
_SINE = tuple((-1.0) ** k / math.factorial(2 * k + 3) for k in range(7))
_COTANGENT = (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000,
              1 / 74724249600)
#: the square of an angle below which the series are exact and the closed forms cancel
_SERIES_BELOW = 0.2
_TINY = 1e-8


def integrate(tree, q, d):
    """Return the configuration reached from `q` by moving one second at the velocity `d`."""
    result = list(q)
    for body in tree.bodies:
        if body.kind == 'floating':
            p, x = q[body.q:body.q + 3], q[body.q + 3:body.q + 7]
            p, x = _moved(p, x, tuple(d[body.v:body.v + 3]), tuple(d[body.v + 3:body.v + 6]))
            result[body.q:body.q + 7] = (*p, *x)
        elif result[body.q] is q[body.q]:
            # a follower shares the coordinate of its leader, which has moved already
            result[body.q] = q[body.q] + d[body.v]
    return result


def difference(tree, continuous, q0, q1):
    """Return `d` with integrate(q0, d) = q1; `continuous` are the indices of full turns in q."""
    result = [0.0] * tree.nv
    for body in tree.bodies:
        if body.kind == 'floating':
            place = slice(body.q, body.q + 7)
            linear, angular = _way(q0[place], q1[place])
            result[body.v:body.v + 6] = (*linear, *angular)
        else:
            way = q1[body.q] - q0[body.q]
            result[body.v] = atan2(sin(way), cos(way)) if body.q in continuous else way
    return result


def _moved(p, quaternion, v, w):
    t = dot(w, w)
    small = where(t, _TINY, 1.0, t)
    angle = sqrt(small)
    # h is the half angle's sine over the half angle, c its cosine
    h = where(t, _TINY, 1.0 - t * (1 / 24), 2.0 * sin(0.5 * angle) / angle)
    c = where(t, _TINY, 1.0 - t * 0.125, cos(0.5 * angle))
    k = where(t, _SERIES_BELOW, _polynomial(_SINE, t), (1.0 - h * c) / small)
    swept = add(v, add(scale(0.5 * h * h, cross(w, v)), scale(k, cross(w, cross(w, v)))))
    p = add(p, apply(rotation_of_quaternion(quaternion), swept))
    return p, _unit(_quaternion_product(quaternion, (*scale(0.5 * h, w), c)))


def _way(x0, x1):
    d = apply_transposed(rotation_of_quaternion(x0[3:]), sub(x1[:3], x0[:3]))
    turn = _quaternion_product((*scale(-1.0, x0[3:6]), x0[6]), x1[3:])
    # a quaternion and its negative are the same turn: take the shorter way
    sign = where(turn[3], 0.0, -1.0, 1.0)
    u, c = scale(sign, turn[:3]), sign * turn[3]
    s2 = dot(u, u)
    tiny = 1e-16 * (s2 + c * c)
    s = sqrt(where(s2, tiny, 1.0, s2))
    ratio = where(s2, tiny, 2.0 / where(s2, tiny, c, 1.0), 2.0 * atan2(s, c) / s)
    w = scale(ratio, u)
    t = dot(w, w)
    safe = where(t, _SERIES_BELOW, 1.0, t)
    k = where(t, _SERIES_BELOW, _polynomial(_COTANGENT, t), (1.0 - 0.5 * ratio * c) / safe)
    across = cross(w, d)
    return add(d, add(scale(-0.5, across), scale(k, cross(w, across)))), w


def _polynomial(coefficients, t):
    value = 0.0
    for c in reversed(coefficients):
        value = value * t + c
    return value


def _quaternion_product(a, b):
    x, y, z, w = a
    i, j, k, r = b
    return (w * i + x * r + (y * k - z * j), w * j + y * r + (z * i - x * k),
            w * k + z * r + (x * j - y * i), w * r - (x * i + y * j + z * k))


def _unit(quaternion):
    x, y, z, w = quaternion
    s = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    return s * x, s * y, s * z, s * w
