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

"""From rest to rest in the shortest time that limits of velocity and acceleration allow."""

from __future__ import annotations

import math
from typing import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .motion import finite, minimum_jerk, PEAK_ACCELERATION, PEAK_SPEED, shortest

Array = NDArray[np.float64]


class PointToPoint:
    """
    All joints on a straight line in joint space: they start, and arrive, at the same time.

    The speed along the line is a trapezoid (Lynch and Park, 2017, section 9.2.2.2), or with
    `smooth` a minimum-jerk step, whose acceleration does not jump.
    """

    def __init__(self, start: ArrayLike, goal: ArrayLike, velocity: ArrayLike,
                 acceleration: ArrayLike, begin: float = 0.0, smooth: bool = False,
                 continuous: Iterable[int] = ()) -> None:
        """
        Take limits in rad/s or m/s and rad/s^2 or m/s^2, one or one a joint; infinite: none.

        `begin` is the time of departure in s; `continuous` are the indices of joints that turn
        without end and take the short way.
        """
        self.start = finite('start', start, 1)
        self.goal = finite('goal', goal, 1)
        if self.start.shape != self.goal.shape:
            raise ValueError(f'start has {len(self.start)} joints, goal {len(self.goal)}')
        self._way = shortest(self.goal - self.start, continuous)
        self.goal = self.start + self._way
        self.begin = float(begin)
        self.smooth = smooth
        speed, gain = (self._along(name, x) for name, x in (
            ('velocity', velocity), ('acceleration', acceleration)))
        if not self._way.any():
            self.duration = self._rise = 0.0
        elif math.isinf(gain):
            raise ValueError('acceleration must limit a joint that moves')
        elif smooth:
            self.duration = max(PEAK_SPEED / speed, math.sqrt(PEAK_ACCELERATION / gain))
        else:
            self._rise = min(speed / gain, math.sqrt(1.0 / gain))
            self._gain = gain
            self.duration = 1.0 / (gain * self._rise) + self._rise

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return q, v, a at time `t` in seconds."""
        t -= self.begin
        if t >= self.duration or t <= 0.0:
            end = self.start if t <= 0.0 < self.duration else self.goal
            return end.copy(), np.zeros(len(end)), np.zeros(len(end))
        if self.smooth:
            s, ds, dds = minimum_jerk(t / self.duration)
            ds, dds = ds / self.duration, dds / self.duration**2
        else:
            s, ds, dds = self._trapezoid(t)
        return self.start + s * self._way, ds * self._way, dds * self._way

    def _trapezoid(self, t: float) -> tuple[float, float, float]:
        a, rise, left = self._gain, self._rise, self.duration - t
        if t < rise:
            return 0.5 * a * t * t, a * t, a
        if left < rise:
            return 1.0 - 0.5 * a * left * left, a * left, -a
        return a * rise * (t - 0.5 * rise), a * rise, 0.0

    def _along(self, name: str, limits: ArrayLike) -> float:
        """Return the limit for the share of the way, of the joint that has the least room."""
        array = np.broadcast_to(np.asarray(limits, dtype=np.float64), self._way.shape)
        if not (array > 0.0).all():
            raise ValueError(f'{name} must be positive, not {limits!r}')
        moving = self._way != 0.0
        return float(np.min(array[moving] / np.abs(self._way[moving]), initial=math.inf))
