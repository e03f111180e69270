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

"""Reference motions: objects whose `sample(t)` gives position, velocity and acceleration."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .rotation import exp_rotation, log_rotation

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


class JointTrajectory:
    """
    Quintic polynomials through waypoints: position, velocity and acceleration are continuous.

    Before the first waypoint the first position is held, after the last one the last position.
    Velocities not given are central differences (zero at both ends), accelerations zero.
    """

    def __init__(self, times: ArrayLike, q: ArrayLike, v: ArrayLike | None = None,
                 a: ArrayLike | None = None) -> None:
        """Take n `times` in seconds, increasing, and n rows of `q`, `v`, `a` (rad, m, per s)."""
        self.times = _finite('times', times, 1)
        self.q = _finite('q', q, 2)
        if len(self.times) != len(self.q) or len(self.q) == 0:
            raise ValueError(f'{len(self.times)} times for {len(self.q)} waypoints')
        if np.any(np.diff(self.times) <= 0.0):
            late = int(np.argmax(np.diff(self.times) <= 0.0)) + 1
            raise ValueError(f'times must increase, but time {late} is {self.times[late]:g} s '
                             f'after {self.times[late - 1]:g} s')
        self.v = self._central_differences() if v is None else _finite('v', v, 2)
        self.a = np.zeros_like(self.q) if a is None else _finite('a', a, 2)
        if self.v.shape != self.q.shape or self.a.shape != self.q.shape:
            raise ValueError(f'v {self.v.shape} and a {self.a.shape} must have the shape of q '
                             f'{self.q.shape}')
        self._coefficients = [self._segment(k) for k in range(len(self.times) - 1)]

    @property
    def duration(self) -> float:
        """Seconds from the first to the last waypoint."""
        return float(self.times[-1] - self.times[0])

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return q, v, a at time `t` in seconds."""
        if t < self.times[0] or t >= self.times[-1]:
            rest = np.zeros(self.q.shape[1])
            return self.q[0 if t < self.times[0] else -1].copy(), rest, rest.copy()
        k = int(np.searchsorted(self.times, t, side='right')) - 1
        s = t - self.times[k]
        powers = np.array([[1.0, s, s**2, s**3, s**4, s**5],
                           [0.0, 1.0, 2 * s, 3 * s**2, 4 * s**3, 5 * s**4],
                           [0.0, 0.0, 2.0, 6 * s, 12 * s**2, 20 * s**3]])
        q, v, a = powers @ self._coefficients[k]
        return q, v, a

    def _central_differences(self) -> Array:
        v = np.zeros_like(self.q)
        if len(self.q) > 2:
            v[1:-1] = (self.q[2:] - self.q[:-2]) / (self.times[2:] - self.times[:-2])[:, None]
        return v

    def _segment(self, k: int) -> Array:
        """Return the six coefficients that meet q, v, a at both ends of segment `k`."""
        T = self.times[k + 1] - self.times[k]
        q0, v0, a0 = self.q[k], self.v[k], self.a[k]
        dq = self.q[k + 1] - q0 - v0 * T - 0.5 * a0 * T**2
        dv = self.v[k + 1] - v0 - a0 * T
        da = self.a[k + 1] - a0
        return np.array([q0, v0, 0.5 * a0,
                         10 * dq / T**3 - 4 * dv / T**2 + da / (2 * T),
                         -15 * dq / T**4 + 7 * dv / T**3 - da / T**2,
                         6 * dq / T**5 - 3 * dv / T**4 + da / (2 * T**3)])


class SineTrajectory:
    """
    Sines about a centre, from rest and back to rest: centre + envelope * amplitude sin(w t + phase).

    The envelope swells and fades with the minimum-jerk profile.
    """

    def __init__(self, centre: ArrayLike, amplitude: ArrayLike, frequency: ArrayLike,
                 phase: ArrayLike = 0.0, ramp: float = 1.0, duration: float = math.inf) -> None:
        """
        Take `frequency` in Hz, `phase` in rad, one number or one a joint.

        The sines swell during the first `ramp` seconds and fade during the last, before `duration`.
        """
        self.centre = _finite('centre', centre, 1)
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
        left = self.duration - t
        direction, time = (1.0, t) if t <= left else (-1.0, left)
        s, ds, dds = minimum_jerk(time / self.ramp)
        ds, dds = direction * ds / self.ramp, dds / self.ramp**2
        x = self.amplitude * np.sin(self.omega * t + self.phase)
        dx = self.amplitude * self.omega * np.cos(self.omega * t + self.phase)
        ddx = -self.omega**2 * x
        return self.centre + s * x, s * dx + ds * x, s * ddx + 2.0 * ds * dx + dds * x

    def _each(self, name: str, values: ArrayLike) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.shape not in ((), self.centre.shape) or not np.isfinite(array).all():
            raise ValueError(f'{name} must be one finite number or {len(self.centre)}, not {array}')
        return np.broadcast_to(array, self.centre.shape).copy()


class PoseTrajectory:
    """A straight line and a turn about one axis from pose to pose, with a minimum-jerk profile."""

    def __init__(self, start: ArrayLike, goal: ArrayLike, begin: float = 0.0,
                 duration: float = 0.0) -> None:
        """Take 4x4 poses in the world, the time of departure and the `duration`, in seconds."""
        self.start = _finite('start', start, 2)
        self.goal = _finite('goal', goal, 2)
        if self.start.shape != (4, 4) or self.goal.shape != (4, 4):
            raise ValueError(f'poses are 4x4 matrices, not {self.start.shape}, {self.goal.shape}')
        if not (duration >= 0.0 and np.isfinite(duration) and np.isfinite(begin)):
            raise ValueError(f'cannot take {duration} s from {begin} s on')
        self.begin = begin
        self.duration = duration
        self._line = self.goal[:3, 3] - self.start[:3, 3]
        self._turn = log_rotation(self.goal[:3, :3] @ self.start[:3, :3].T)

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return pose (4x4), twist and its rate ([linear; angular], world axes) at time `t`."""
        if self.duration == 0.0 or t >= self.begin + self.duration:
            return self.goal.copy(), np.zeros(6), np.zeros(6)
        s, ds, dds = minimum_jerk((t - self.begin) / self.duration)
        pose = self.start.copy()
        pose[:3, 3] += s * self._line
        pose[:3, :3] = exp_rotation(s * self._turn) @ self.start[:3, :3]
        path = np.concatenate([self._line, self._turn])
        return pose, ds / self.duration * path, dds / self.duration**2 * path


def _finite(name: str, values: Any, dimensions: int) -> Array:
    array = np.array(values, dtype=np.float64)
    if array.ndim != dimensions:
        raise ValueError(f'{name} must have {dimensions} axes, not {array.ndim}')
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f'{name}{list(where)} is {array[where]}')
    return array
