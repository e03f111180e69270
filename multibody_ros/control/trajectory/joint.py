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
Joint trajectories through waypoints, as ros2_controllers' joint_trajectory_controller runs them.

See joint_trajectory_controller/doc/trajectory.rst and src/trajectory.cpp there.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .motion import finite, shortest

Array = NDArray[np.float64]


class JointTrajectory:
    """
    Polynomials through waypoints: linear, with velocities cubic, with accelerations too quintic.

    Before the first waypoint the first position is held, after the last one the last position.
    `effort(t)`, linear between the waypoints, is there to be fed forward where efforts are given.
    """

    def __init__(self, times: ArrayLike, q: ArrayLike, v: ArrayLike | None = None,
                 a: ArrayLike | None = None, efforts: ArrayLike | None = None) -> None:
        """Take n `times` in seconds, increasing, and n rows of `q`, `v`, `a`, `efforts`."""
        self.times = finite('times', times, 1)
        self.q = finite('q', q, 2)
        if len(self.times) != len(self.q) or len(self.q) == 0:
            raise ValueError(f'{len(self.times)} times for {len(self.q)} waypoints')
        if np.any(np.diff(self.times) <= 0.0):
            late = int(np.argmax(np.diff(self.times) <= 0.0)) + 1
            raise ValueError(f'times must increase, but time {late} is {self.times[late]:g} s '
                             f'after {self.times[late - 1]:g} s')
        if a is not None and v is None:
            raise ValueError('a needs v: accelerations are given without velocities')
        self.v, self.a = self._rows('v', v), self._rows('a', a)
        self.efforts = self._rows('efforts', efforts, like_q=False)
        self.effort: Callable[[float], Array] | None = None
        if self.efforts is not None:
            self.effort = self._effort
        self._effort_times, self._effort_rows = self.times, self.efforts
        self._join([], [], self.times, self.q, self.v, self.a)

    @property
    def duration(self) -> float:
        """Seconds from the first to the last waypoint."""
        return float(self.times[-1] - self.times[0])

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return q, v, a at time `t` in seconds."""
        knots, n = self._knots, self.q.shape[1]
        if knots[0] <= t < knots[-1]:
            k = bisect_right(knots, t) - 1
            s = (t - knots[k]) / (knots[k + 1] - knots[k])
            s2 = s * s
            x = np.array((1.0, s, s2, s2 * s, s2 * s2, s2 * s2 * s)).dot(self._segments[k])
            return x[:n], x[n:2 * n], x[2 * n:]
        rest = np.zeros(2 * n)
        return (self._first if t < knots[0] else self.q[-1]).copy(), rest[:n], rest[n:]

    def replaced(self, now: float, new: JointTrajectory, start: float | None = None,
                 continuous: Iterable[int] = ()) -> JointTrajectory:
        """
        Return this trajectory up to `start` (default: `now`) and from there on the `new` one.

        What ends before `now` is dropped, so that a stream of references does not pile up: before
        the segment that `now` lies in, the position where it begins is held, and the effort.
        Waypoints of `new` before the handover are left out. From the handover, with the position,
        velocity and acceleration this trajectory has then, the way leads to the first waypoint
        that is left, of the same degree as the rest; `continuous` are the indices of joints that
        turn without end, which take the short way. If nothing is left: ValueError.
        """
        handover = now if start is None else max(now, start)
        ahead = new.times > handover
        if not ahead.any():
            raise ValueError(f'no waypoint lies ahead of {handover:g} s: the last one is '
                             f'{handover - new.times[-1]:g} s before')
        if new.q.shape[1] != self.q.shape[1]:
            raise ValueError(f'{new.q.shape[1]} joints cannot follow {self.q.shape[1]}')
        here = self.sample(handover)
        q = new.q[ahead]
        q = q + (here[0] + shortest(q[0] - here[0], continuous) - q[0])
        v = None if new.v is None else new.v[ahead]
        a = None if new.a is None else new.a[ahead]
        efforts = None if new.efforts is None else new.efforts[ahead]
        result = JointTrajectory(new.times[ahead], q, v, a, efforts)
        kept = [k for k in range(_place(self._knots, now), len(self._knots) - 1)
                if self._knots[k] < handover]
        knots = [self._knots[k] for k in kept]
        segments = [self._cut(k, handover) for k in kept]
        if self._knots[-1] < handover:
            knots.append(self._knots[-1])
            segments.append(_segment(1.0, self.q[-1], self.q[-1]))
        result._join(
            knots, segments, np.concatenate([[handover], result.times]), np.vstack([here[0], q]),
            None if v is None else np.vstack([here[1], v]),
            None if a is None else np.vstack([here[2], a]))
        if self.effort is not None or result.effort is not None:
            result._keep_effort(self, now, handover)
        return result

    def _join(self, knots: list[float], segments: list[Array], times: Array, q: Array,
              v: Array | None, a: Array | None) -> None:
        """Put segments in front of those through waypoints."""
        for k, T in enumerate(np.diff(times)):
            ends = [x[i] for x in (q, v, a) if x is not None for i in (k, k + 1)]
            segments.append(_segment(float(T), *ends))
        self._knots: list[float] = knots + times.tolist()
        self._segments = segments
        self._first = segments[0][0, :q.shape[1]] if segments else q[0]

    def _cut(self, k: int, end: float) -> Array:
        """Return segment `k`, over a shorter time if it ends at `end` already."""
        share = min(1.0, (end - self._knots[k]) / (self._knots[k + 1] - self._knots[k]))
        return np.asarray(self._segments[k] * share ** np.arange(6.0)[:, None])

    def _effort(self, t: float) -> Array:
        times, rows = self._effort_times, np.asarray(self._effort_rows)
        if t <= times[0] or t >= times[-1]:
            return np.array(rows[0 if t <= times[0] else -1])
        k = int(np.searchsorted(times, t, side='right')) - 1
        s = (t - times[k]) / (times[k + 1] - times[k])
        return np.asarray((1.0 - s) * rows[k] + s * rows[k + 1])

    def _keep_effort(self, old: JointTrajectory, now: float, handover: float) -> None:
        """Put the `old` trajectory's efforts from `now` to the handover in front, 0 if none."""
        own = np.zeros((len(self.times), self.q.shape[1])) if self.efforts is None \
            else self.efforts
        times = old._effort_times
        kept = slice(_place(times.tolist(), now), int(np.searchsorted(times, handover)))
        rows = np.zeros((len(times), own.shape[1])) if old._effort_rows is None \
            else old._effort_rows
        here = np.zeros(own.shape[1]) if old.effort is None else old.effort(handover)
        self._effort_times = np.concatenate([times[kept], [handover], self.times])
        self._effort_rows = np.vstack([rows[kept], here, own])
        self.effort = self._effort

    def _rows(self, name: str, values: ArrayLike | None, like_q: bool = True) -> Array | None:
        if values is None:
            return None
        rows = finite(name, values, 2)
        if len(rows) != len(self.q) or (like_q and rows.shape != self.q.shape):
            raise ValueError(f'{name} {rows.shape} must have the shape of q {self.q.shape}')
        return rows


def _place(times: Sequence[float], now: float) -> int:
    """Return the index of the last of `times` that is not after `now`, or of the first one."""
    return max(0, bisect_right(times, now) - 1)


def spline_velocities(times: Sequence[float] | Array, q: ArrayLike,
                      start: ArrayLike = 0.0) -> Array:
    """
    Return velocities that make the cubics through waypoints continuous in acceleration too.

    The spline has the velocity `start` at the first waypoint and ends at rest.
    """
    rows = finite('q', q, 2)
    T = np.diff(finite('times', times, 1))
    if len(T) != len(rows) - 1 or (T <= 0.0).any():
        raise ValueError(f'{len(T) + 1} times that do not increase, or not one of {len(rows)} '
                         'waypoints each')
    slope = np.diff(rows, axis=0) / T[:, None]
    v = np.zeros_like(rows)
    v[0] = start if len(rows) > 1 else 0.0
    # v[k-1] / T[k-1] + 2 v[k] (1 / T[k-1] + 1 / T[k]) + v[k+1] / T[k] = 3 (slopes over T), de Boor
    # (2001), chapter IV, solved by elimination forth and substitution back
    share = np.zeros(len(rows))
    for k in range(1, len(rows) - 1):
        pivot = 2.0 / T[k - 1] + 2.0 / T[k] - share[k - 1] / T[k - 1]
        share[k] = 1.0 / (T[k] * pivot)
        v[k] = (3.0 * (slope[k - 1] / T[k - 1] + slope[k] / T[k]) - v[k - 1] / T[k - 1]) / pivot
    for k in range(len(rows) - 2, 0, -1):
        v[k] -= share[k] * v[k + 1]
    return v


def _segment(T: float, q0: Array, q1: Array, v0: Array | None = None, v1: Array | None = None,
             a0: Array | None = None, a1: Array | None = None) -> Array:
    """Return six rows of coefficients in s = time / T, columns q, v, a, that meet both ends."""
    c = np.zeros((6, len(q0)))
    way = q1 - q0
    if v0 is None or v1 is None:
        c[:2] = q0, way
    elif a0 is None or a1 is None:
        c[:4] = q0, T * v0, 3.0 * way - T * (2.0 * v0 + v1), T * (v0 + v1) - 2.0 * way
    else:
        dq = way - T * v0 - 0.5 * T**2 * a0
        dv, da = T * (v1 - v0 - T * a0), T**2 * (a1 - a0)
        c[:] = (q0, T * v0, 0.5 * T**2 * a0, 10.0 * dq - 4.0 * dv + 0.5 * da,
                -15.0 * dq + 7.0 * dv - da, 6.0 * dq - 3.0 * dv + 0.5 * da)
    dc = np.zeros_like(c)
    dc[:5] = c[1:] * np.arange(1.0, 6.0)[:, None] / T
    ddc = np.zeros_like(c)
    ddc[:5] = dc[1:] * np.arange(1.0, 6.0)[:, None] / T
    return np.hstack([c, dc, ddc])
