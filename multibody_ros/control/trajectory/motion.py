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

"""What trajectories share: the protocol, the smooth step, the check of their numbers."""

from __future__ import annotations

import math
from typing import Any, Iterable, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Trajectory(Protocol):
    """Anything a control law can follow."""

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration at time `t` in seconds."""


def minimum_jerk(s: float) -> tuple[float, float, float]:
    """
    Return the quintic from 0 to 1 on 0 <= s <= 1 at rest at both ends, and two derivatives.

    Flash and Hogan (1985), equation 3: 10 s^3 - 15 s^4 + 6 s^5. Outside the interval it stays put.
    """
    if s <= 0.0 or s >= 1.0:
        return (0.0 if s <= 0.0 else 1.0), 0.0, 0.0
    rest = 1.0 - s
    return (s * s * s * (10.0 - 15.0 * s + 6.0 * s * s), 30.0 * s * s * rest * rest,
            60.0 * s * rest * (1.0 - 2.0 * s))


#: the largest first and second derivative of the minimum-jerk step
PEAK_SPEED, PEAK_ACCELERATION = 1.875, 10.0 / 3.0**0.5


def finite(name: str, values: Any, dimensions: int) -> Array:
    """Return `values` as an array with this many axes, all finite."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise ValueError(f'{name} must have {dimensions} axes, not {array.ndim}')
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f'{name}{list(where)} is {array[where]}')
    return array


def shortest(way: Array, continuous: Iterable[int]) -> Array:
    """Return a way with the entries of the indices `continuous` within half a turn."""
    way = way.copy()
    for k in continuous:
        way[k] = math.remainder(way[k], 2.0 * math.pi)
    return way
