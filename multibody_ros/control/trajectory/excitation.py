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

"""Motions that shake every joint: sines and chirps about a centre, from rest and back to rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .motion import finite, minimum_jerk

Array = NDArray[np.float64]


class SineTrajectory:
    """
    Sines about a centre: centre + envelope * amplitude sin(w t + phase).

    The envelope swells and fades with the minimum-jerk profile.
    """

    def __init__(self, centre: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike,
                 phase: ArrayLike = 0.0, ramp: float = 1.0, duration: float = math.inf) -> None:
        """
        Take `frequency` in Hz, `phase` in rad, one number or one a joint.

        The sines swell during the first `ramp` seconds and fade during the last before `duration`.
        """
        self.centre = finite('centre', centre, 1)
        self.amplitude = self._each('amplitude', amplitude)
        self.omega = 2.0 * np.pi * self._each('frequency', frequency)
        self.phase = self._each('phase', phase)
        if not (ramp > 0.0 and duration >= 2.0 * ramp):
            raise ValueError(f'ramp must be positive and fit twice into the duration, but they '
                             f'are {ramp} s and {duration} s')
        self.ramp = ramp
        self.duration = duration

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return q, v, a at time `t` in seconds."""
        if t <= 0.0 or t >= self.duration:
            rest = np.zeros(len(self.centre))
            return self.centre.copy(), rest, rest.copy()
        angle, rate, growth = self._angle(t)
        sine, cosine = self.amplitude * np.sin(angle), self.amplitude * np.cos(angle)
        dx = rate * cosine
        ddx = growth * cosine - rate * (rate * sine)
        left = self.duration - t
        if self.ramp <= t <= self.duration - self.ramp:
            return self.centre + sine, dx, ddx
        direction, time = (1.0, t) if t <= left else (-1.0, left)
        s, ds, dds = minimum_jerk(time / self.ramp)
        ds, dds = direction * ds / self.ramp, dds / self.ramp**2
        return (self.centre + s * sine, s * dx + ds * sine,
                s * ddx + 2.0 * ds * dx + dds * sine)

    def _angle(self, t: float) -> tuple[Any, Any, Any]:
        """Return the argument of the sines and its derivatives."""
        return self.omega * t + self.phase, self.omega, 0.0

    def _each(self, name: str, values: ArrayLike) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.shape not in ((), self.centre.shape) or not np.isfinite(array).all():
            raise ValueError(f'{name} must be one finite number or {len(self.centre)}, '
                             f'not {array}')
        return np.broadcast_to(array, self.centre.shape).copy()


class ChirpTrajectory(SineTrajectory):
    """Sines whose frequency grows, evenly in time, from `frequency` to `last_frequency`."""

    def __init__(self, centre: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike,
                 last_frequency: ArrayLike, duration: float, phase: ArrayLike = 0.0,
                 ramp: float = 1.0) -> None:
        """Take frequencies in Hz, the `duration` in s, the rest as SineTrajectory does."""
        super().__init__(centre, amplitude, frequency, phase, ramp, duration)
        if not math.isfinite(duration):
            raise ValueError('a chirp has an end: duration must be finite')
        last = 2.0 * np.pi * self._each('last_frequency', last_frequency)
        self._growth = (last - self.omega) / duration

    def _angle(self, t: float) -> tuple[Any, Any, Any]:
        rate = self.omega + self._growth * t
        return 0.5 * t * (self.omega + rate) + self.phase, rate, self._growth
