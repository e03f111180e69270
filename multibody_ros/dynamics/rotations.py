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

"""Orientation parameters of a rotation matrix, as numbers."""

from __future__ import annotations

import math

import numpy as np

#: sine or cosine of the middle angle below which the outer two turn about the same axis
GIMBAL = 1e-12


def orientation_parameters(kind, R):
    """Return theta of a rotation matrix: euler_parameters, zxz, rpy or rodrigues."""
    if kind == 'zxz':
        tilt = math.hypot(R[0][2], R[1][2])
        if tilt < GIMBAL:
            # only the sum or difference of the outer angles is determined: the first takes it all
            return math.atan2(R[1][0], R[0][0]), math.atan2(tilt, R[2][2]), 0.0
        return (math.atan2(R[0][2], -R[1][2]), math.atan2(tilt, R[2][2]),
                math.atan2(R[2][0], R[2][1]))
    if kind == 'rpy':
        level = math.hypot(R[0][0], R[1][0])
        if level < GIMBAL:
            return 0.0, math.atan2(-R[2][0], level), math.atan2(-R[0][1], R[1][1])
        return (math.atan2(R[2][1], R[2][2]), math.atan2(-R[2][0], level),
                math.atan2(R[1][0], R[0][0]))
    quaternion = quaternion_of(np.asarray(R))
    if kind == 'rodrigues':
        if abs(quaternion[3]) < 1e-12:
            raise ValueError('half a turn has no Rodrigues parameters')
        return tuple(quaternion[:3] / quaternion[3])
    return tuple(quaternion)


def quaternion_of(R):
    """Return x y z w, w >= 0, from the largest of the four squares (Shepperd 1978)."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    squares = np.array([1.0 + 2.0 * R[i, i] - trace for i in range(3)] + [1.0 + trace])
    k = int(squares.argmax())
    q = np.empty(4)
    if k == 3:
        q[:] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], squares[3]
    else:
        i, j = (k + 1) % 3, (k + 2) % 3
        q[k], q[3] = squares[k], R[j, i] - R[i, j]
        q[i], q[j] = R[i, k] + R[k, i], R[j, k] + R[k, j]
    q /= np.linalg.norm(q)
    return -q if q[3] < 0.0 else q
