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

"""Poses along lines and arcs, with the shortest turn (slerp) and a minimum-jerk profile."""

from __future__ import annotations

import math
from typing import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .motion import finite, minimum_jerk
from ..rotation import cross_matrix, log_rotation

Array = NDArray[np.float64]


class PoseTrajectory:
    """A straight line and a turn about one axis from pose to pose."""

    def __init__(self, start: ArrayLike, goal: ArrayLike, begin: float = 0.0,
                 duration: float = 0.0) -> None:
        """Take 4x4 poses in the world, the time of departure and the `duration`, in seconds."""
        self.start = finite('start', start, 2)
        self.goal = finite('goal', goal, 2)
        if self.start.shape != (4, 4) or self.goal.shape != (4, 4):
            raise ValueError(f'poses are 4x4 matrices, not {self.start.shape}, {self.goal.shape}')
        if not (duration >= 0.0 and np.isfinite(duration) and np.isfinite(begin)):
            raise ValueError(f'cannot take {duration} s from {begin} s on')
        self.begin = begin
        self.duration = duration
        R = self.start[:3, :3]
        turn = log_rotation(self.goal[:3, :3] @ R.T)
        self._angle = float(np.linalg.norm(turn))
        S = cross_matrix(turn / self._angle if self._angle > 0.0 else turn)
        constant = self.start.copy()
        constant[3] = 0.0, 0.0, 0.0, 1.0
        self._set_path(constant, turn, [S @ R, S @ S @ R],
                       [self.goal[:3, 3] - self.start[:3, 3]])

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return pose (4x4), twist and its rate ([linear; angular], world axes) at time `t`."""
        if self.duration == 0.0 or t >= self.begin + self.duration:
            return self.goal.copy(), np.zeros(6), np.zeros(6)
        s, ds, dds = minimum_jerk((t - self.begin) / self.duration)
        ds, dds = ds / self.duration, dds / self.duration**2
        angle = s * self._angle
        place, first, second = self._place(s)
        pose = np.array((1.0, math.sin(angle), 2.0 * math.sin(0.5 * angle)**2, *place))
        twist = np.array((ds, *[ds * x for x in first]))
        rate = np.array((dds, *[dds * x + ds * ds * y for x, y in zip(first, second)]))
        return (pose.dot(self._pose_rows).reshape(4, 4), twist.dot(self._twist_rows),
                rate.dot(self._twist_rows))

    def _place(self, s: float) -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
        """Return the factors of the path's vectors at the share `s` of the way, derivatives."""
        return (s,), (1.0,), (0.0,)

    def _set_path(self, constant: Array, turn: Array, turns: list[Array],
                  vectors: list[Array]) -> None:
        """
        Keep what pose and twist are sums of.

        R = R_0 + sin(t) S(u) R_0 + 2 sin^2(t/2) S(u)^2 R_0, p = p_0 + the path's vectors.
        """
        rows = [constant]
        for R in turns:
            rows.append(np.zeros((4, 4)))
            rows[-1][:3, :3] = R
        twists = [np.concatenate([np.zeros(3), turn])]
        for vector in vectors:
            rows.append(np.zeros((4, 4)))
            rows[-1][:3, 3] = vector
            twists.append(np.concatenate([vector, np.zeros(3)]))
        self._pose_rows = np.array(rows).reshape(len(rows), 16)
        self._twist_rows = np.array(twists)


class ArcTrajectory(PoseTrajectory):
    """The arc of a circle through three points, and the shortest turn from pose to pose."""

    def __init__(self, start: ArrayLike, via: ArrayLike, goal: ArrayLike, begin: float = 0.0,
                 duration: float = 0.0) -> None:
        """Take 4x4 poses, a point `via` on the way between them in m, and times in s."""
        super().__init__(start, goal, begin, duration)
        a, b, c = self.start[:3, 3], finite('via', via, 1), self.goal[:3, 3]
        if b.shape != (3,):
            raise ValueError(f'via must be a point, three numbers in m, not {b.tolist()}')
        u, w = b - a, c - a
        normal = np.cross(u, w)
        square = float(normal @ normal)
        if square <= 1e-18 * float(u @ u) * float(w @ w):
            raise ValueError(f'no circle leads through {a.tolist()}, {b.tolist()}, {c.tolist()}: '
                             'they lie on one line')
        # the circle through 0, u, w
        centre = np.cross((u @ u) * w - (w @ w) * u, normal) / (2.0 * square)
        self.centre = a + centre
        self.radius = float(np.linalg.norm(centre))
        first, second = -centre, np.cross(centre, normal / math.sqrt(square))
        end = c - self.centre
        # about u x w, a goes by b to c the positive way
        self.angle = math.atan2(float(end @ second), float(end @ first)) % (2.0 * math.pi)
        constant = self._pose_rows[0].reshape(4, 4).copy()
        constant[:3, 3] = self.centre
        self._set_path(constant, self._twist_rows[0, 3:],
                       [self._pose_rows[k].reshape(4, 4)[:3, :3] for k in (1, 2)],
                       [first, second])

    def _place(self, s: float) -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
        k = self.angle
        sine, cosine = math.sin(k * s), math.cos(k * s)
        return (cosine, sine), (-k * sine, k * cosine), (-k * k * cosine, -k * k * sine)
