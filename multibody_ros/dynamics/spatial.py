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
Vectors, rotations and symmetric matrices over any scalar.

A vector is a 3-tuple, a matrix a 3-tuple of rows, a symmetric matrix the six elements
xx xy xz yy yz zz. A *turn* is a tuple of matrices whose product is a rotation: kept as factors
because two rotations about coordinate axes cost less one after the other than multiplied out.
"""

from ..compiler.functions import cos, sin
from ..model.model import IDENTITY

UNITS = IDENTITY
ZERO = (0.0, 0.0, 0.0)


def add(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def sub(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(s, a):
    """Return the vector `a` times the scalar `s`."""
    return s * a[0], s * a[1], s * a[2]


def dot(a, b):
    """Return the scalar product a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    """Return the vector product a x b."""
    return (a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0])


def apply(R, x):
    """Return R x."""
    return dot(R[0], x), dot(R[1], x), dot(R[2], x)


def apply_transposed(R, x):
    """Return R^T x."""
    return apply(transposed(R), x)


def transposed(R):
    """Return R^T."""
    return tuple(zip(*R))


def product(A, B):
    """Return the matrix product A B."""
    return transposed(apply(A, column) for column in zip(*B))


def rotation(axis, angle):
    """Rotation about a unit axis of floats (theory.md section 1, Rodrigues)."""
    s, c = sin(angle), cos(angle)
    for k in range(3):
        if axis[k] in (1.0, -1.0):
            return _rotation_about_coordinate(k, axis[k] * s, c)
    x, y, z = axis
    d = 1.0 - c
    xy, xz, yz = x * y * d, x * z * d, y * z * d
    return ((c + x * x * d, xy - z * s, xz + y * s),
            (xy + z * s, c + y * y * d, yz - x * s),
            (xz - y * s, yz + x * s, c + z * z * d))


def _rotation_about_coordinate(k, s, c):
    if k == 0:
        return UNITS[0], (0.0, c, -s), (0.0, s, c)
    if k == 1:
        return (c, 0.0, s), UNITS[1], (-s, 0.0, c)
    return (c, -s, 0.0), (s, c, 0.0), UNITS[2]


def rotation_of_quaternion(quaternion):
    """Rotation of a quaternion x y z w of any length but zero."""
    x, y, z, w = quaternion
    k = 2.0 / (x * x + y * y + z * z + w * w)
    kx, ky, kz = k * x, k * y, k * z
    xx, xy, xz, xw = kx * x, kx * y, kx * z, kx * w
    yy, yz, yw = ky * y, ky * z, ky * w
    zz, zw = kz * z, kz * w
    return ((1.0 - (yy + zz), xy - zw, xz + yw),
            (xy + zw, 1.0 - (xx + zz), yz - xw),
            (xz - yw, yz + xw, 1.0 - (xx + yy)))


def turn_of(A, B):
    """Return the turn A B of a constant and a joint rotation, in its cheapest form."""
    if A == IDENTITY:
        return (B,)
    # at most five elements: a rotation about a coordinate axis, or right angles
    sparse = sum(element != 0.0 for row in A for element in row) <= 5
    return (A, B) if sparse else (product(A, B),)


def turned(turn, x):
    """Return R x for a turn R."""
    for R in reversed(turn):
        x = apply(R, x)
    return x


def turned_back(turn, x):
    """Return R^T x for a turn R."""
    for R in turn:
        x = apply_transposed(R, x)
    return x


def turned_symmetric(turn, S):
    """Return R S R^T for a turn R and a symmetric S of six elements."""
    for R in reversed(turn):
        S = _conjugated(R, S)
    return S


def _is_unit(row, k):
    return all(isinstance(x, float) and x == u for x, u in zip(row, UNITS[k]))


def _only_right_angles(R):
    return all(isinstance(x, float) and x in (-1.0, 0.0, 1.0) for row in R for x in row)


def _conjugated(R, S):
    """Return R S R^T, in eight products when R turns about a coordinate axis."""
    xx, xy, xz, yy, yz, zz = S
    turns_about = next((k for k in range(3) if _is_unit(R[k], k)), None)
    if turns_about is None or _only_right_angles(R):
        A = product(R, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
        return (dot(A[0], R[0]), dot(A[0], R[1]), dot(A[0], R[2]),
                dot(A[1], R[1]), dot(A[1], R[2]), dot(A[2], R[2]))
    if turns_about == 2:
        xx, xy, yy, xz, yz = _conjugated_plane(R[0][0], R[1][0], xx, xy, yy, xz, yz)
    elif turns_about == 0:
        yy, yz, zz, xy, xz = _conjugated_plane(R[1][1], R[2][1], yy, yz, zz, xy, xz)
    else:
        zz, xz, xx, yz, xy = _conjugated_plane(R[2][2], R[0][2], zz, xz, xx, yz, xy)
    return xx, xy, xz, yy, yz, zz


def _conjugated_plane(c, s, aa, ab, bb, an, bn):
    """Turn the elements in and across the plane (a, b) about its normal n."""
    u = s * (aa - bb) + c * (ab + ab)
    k = s * u
    return aa - k, c * u - ab, bb + k, c * an - s * bn, s * an + c * bn


def inertia_times(S, w):
    """Return I w for I = tr(S) 1 - S, the inertia matrix of the second moments S."""
    xx, xy, xz, yy, yz, zz = S
    return ((yy + zz) * w[0] - xy * w[1] - xz * w[2],
            (xx + zz) * w[1] - xy * w[0] - yz * w[2],
            (xx + yy) * w[2] - xz * w[0] - yz * w[1])


def momentum_of(parameters, linear, angular):
    """Momentum [linear, angular about the body origin] of a body that moves so."""
    m, h, S = inertia_of(parameters)
    return (add(scale(m, linear), cross(angular, h)),
            add(inertia_times(S, angular), cross(h, linear)))


def inertia_of(parameters):
    """Split the ten parameters of a body into m, h = m c and the second moments S."""
    return parameters[0], tuple(parameters[1:4]), tuple(parameters[4:10])
