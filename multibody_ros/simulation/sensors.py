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

"""Sensors as they are: encoders count, velocities are differences, signals are noisy and late."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Sensors:
    """
    How q and v are measured; all off by default.

    resolution: rad or m per encoder count. differences: v is the difference of the last two
    measured positions over dt. position_noise, velocity_noise: standard deviations, drawn from
    `seed`. delay: whole steps.
    """

    resolution: float = 0.0
    differences: bool = False
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    delay: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        for name in ('resolution', 'position_noise', 'velocity_noise'):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf:
                raise ValueError(f'sensors: {name} must be 0 or more, not {value!r}')
        if not isinstance(self.delay, int) or self.delay < 0:
            raise ValueError('sensors: delay must be a whole number of steps, 0 or more, not '
                             f'{self.delay!r}')


class Measurement:
    """The sensors of one run: remembers what it needs, draws the noise."""

    def __init__(self, sensors: Sensors, dt: float, q: Array, v: Array) -> None:
        """Begin with the robot at q, v for ever before."""
        self.sensors, self.dt = sensors, dt
        self._rng = np.random.default_rng(sensors.seed)
        self._last = self._position(q)
        first = self._last, np.zeros_like(v) if sensors.differences else v.copy()
        self._line = deque([first] * (sensors.delay + 1), sensors.delay + 1)

    def take(self, q: Array, v: Array) -> None:
        """Measure once, at the end of a step."""
        position = self._position(q)
        if self.sensors.differences:
            v = (position - self._last) / self.dt
        if self.sensors.velocity_noise:
            v = v + self._rng.normal(size=len(v)) * self.sensors.velocity_noise
        self._last = position
        self._line.append((position, v))

    @property
    def state(self) -> tuple[Array, Array]:
        """What arrives now: q and v as measured `delay` steps ago (copies)."""
        q, v = self._line[0]
        return q.copy(), v.copy()

    def _position(self, q: Array) -> Array:
        if self.sensors.position_noise:
            q = q + self._rng.normal(size=len(q)) * self.sensors.position_noise
        step = self.sensors.resolution
        return np.floor(q / step + 0.5) * step if step else q.copy()
