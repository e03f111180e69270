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

"""The exponential map of rotations and its inverse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def exp_rotation(w: Array) -> Array:
    """Return the matrix of the turn by |w| about w: 1 + S(u) sin t + 2 S(u)^2 sin^2(t/2)."""
    angle = float(np.linalg.norm(w))
    S = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    # sin(t)/t and 2 sin^2(t/2)/t^2 in forms that are exact at t = 0 (numpy's sinc is of pi x)
    first = np.sinc(angle / np.pi)
    second = 0.5 * np.sinc(0.5 * angle / np.pi)**2
    return np.asarray(np.eye(3) + first * S + second * S @ S)


def log_rotation(R: Array) -> Array:
    """
    Return the rotation vector of `R`, of length 0 to pi, by way of the unit quaternion.

    The quaternion is taken from its largest component (Shepperd, 1978), so that half turns and
    vanishing turns are both exact.
    """
    K = np.array([R[0, 0] - R[1, 1] - R[2, 2], R[1, 1] - R[0, 0] - R[2, 2],
                  R[2, 2] - R[0, 0] - R[1, 1], R[0, 0] + R[1, 1] + R[2, 2]])
    i = int(np.argmax(K))
    if i == 3:
        x = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1.0 + K[3]])
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        x = np.empty(4)
        x[i], x[3] = 1.0 + K[i], R[k, j] - R[j, k]
        x[j], x[k] = R[j, i] + R[i, j], R[k, i] + R[i, k]
    x /= np.linalg.norm(x) * (1.0 if x[3] >= 0.0 else -1.0)
    half_sine = float(np.linalg.norm(x[:3]))
    scale = 2.0 * np.arctan2(half_sine, x[3]) / half_sine if half_sine > 0.0 else 2.0
    return np.asarray(scale * x[:3])
