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

"""Targets of a link that come while it moves: they take over without a jump."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .motion import finite, PEAK_ACCELERATION, PEAK_SPEED, Trajectory
from .pose import PoseTrajectory
from ..rotation import cross_matrix, log_rotation

Array = NDArray[np.float64]


class MotionLimits(NamedTuple):
    """How fast a target may move: m/s, rad/s, m/s^2, rad/s^2."""

    linear_speed: float
    angular_speed: float
    linear_acceleration: float
    angular_acceleration: float


class TwistTrajectory:
    """
    A pose that goes over from one twist to another one, evenly, and on with it for ever.

    With u the share of the new twist w, A its integral and B that of 1 - u, both in s:
    p = p_0 + B v_0 + A v, R = exp(A w) exp(B w_0) R_0, so that the angular velocity is
    u w + (1 - u) exp(A w) w_0. A motion that is begun anew on the way, to the same w, is the same.
    """

    def __init__(self, start: ArrayLike, twist: ArrayLike, goal: ArrayLike, begin: float = 0.0,
                 duration: float = 0.0) -> None:
        """Take a pose, its twist, the twist to reach ([linear; angular], world) and times in s."""
        self.start = finite('start', start, 2)
        self.twist, self.goal = finite('twist', twist, 1), finite('goal', goal, 1)
        if self.start.shape != (4, 4) or self.twist.shape != (6,) or self.goal.shape != (6,):
            raise ValueError(f'a pose is a 4x4 matrix and a twist six numbers, not '
                             f'{self.start.shape}, {self.twist.shape}, {self.goal.shape}')
        if not (duration >= 0.0 and math.isfinite(duration) and math.isfinite(begin)):
            raise ValueError(f'cannot take {duration} s from {begin} s on')
        self.begin = begin
        self.duration = duration
        self._turns = _Turn(self.goal[3:], np.eye(3))
        self._fading = _Turn(self.twist[3:], self.start[:3, :3])
        self._spin = cross_matrix(self.goal[3:])

    @property
    def end(self) -> float:
        """When the new twist is reached."""
        return self.begin + self.duration

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return pose (4x4), twist and its rate ([linear; angular], world axes) at time `t`."""
        s, duration = max(0.0, t - self.begin), self.duration
        if s < duration:
            share, slope, after = s / duration, 1.0 / duration, 0.5 * s * s / duration
        else:
            share, slope, after = 1.0, 0.0, s - 0.5 * duration
        before = min(s, duration) - 0.5 * min(s, duration)**2 / duration if duration else 0.0
        turn = self._turns.at(after)
        pose = self.start.copy()
        pose[:3, 3] += before * self.twist[:3] + after * self.goal[:3]
        pose[:3, :3] = turn @ self._fading.at(before)
        old = self.twist.copy()
        old[3:] = turn @ self.twist[3:]
        rate = slope * (self.goal - old)
        rate[3:] += (1.0 - share) * share * (self._spin @ old[3:])
        return pose, share * self.goal + (1.0 - share) * old, rate


class _Turn:
    """exp(x w) R for any x: R + sin(t) S(u) R + 2 sin^2(t/2) S(u)^2 R, t = x |w|, u = w / |w|."""

    def __init__(self, w: Array, R: Array) -> None:
        self._speed = float(np.linalg.norm(w))
        S = cross_matrix(w / self._speed if self._speed > 0.0 else w)
        self._rows = np.array([R, S @ R, S @ S @ R]).reshape(3, 9)

    def at(self, x: float) -> Array:
        t = x * self._speed
        factors = np.array((1.0, math.sin(t), 2.0 * math.sin(0.5 * t)**2))
        return factors.dot(self._rows).reshape(3, 3)


class JoinedTrajectory:
    """One motion up to a time, another one from then on."""

    def __init__(self, first: Trajectory, switch: float, second: Trajectory) -> None:
        """Take the time of the change in s."""
        self.first, self.switch, self.second = first, switch, second

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return what the motion of that time gives."""
        return (self.first if t < self.switch else self.second).sample(t)


def along_twist(present: Trajectory, t: float, twist: ArrayLike, hold: float,
                limits: MotionLimits) -> JoinedTrajectory:
    """
    Return the way from the motion at hand, at time `t`, on with a twist, and to rest.

    A twist beyond the speed limits is made smaller, its direction kept. The motion comes to rest
    `hold` seconds from now on: who wants to go on renews the twist.
    """
    _check(limits)
    if not (hold >= 0.0 and math.isfinite(hold)):
        raise ValueError(f'hold must be 0 s or more, not {hold}')
    pose, now, _ = present.sample(t)
    goal = finite('twist', twist, 1)
    if goal.shape != (6,):
        raise ValueError(f'a twist has six numbers, not {len(goal)}')
    linear, angular = _sizes(goal)
    goal = goal / max(1.0, linear / limits.linear_speed, angular / limits.angular_speed)
    moving = _changed(pose, now, goal, t, limits)
    pose, now, _ = moving.sample(t + hold)
    return JoinedTrajectory(moving, t + hold, _changed(pose, now, 0.0 * goal, t + hold, limits))


def toward_pose(present: Trajectory, t: float, goal: ArrayLike,
                limits: MotionLimits) -> Trajectory:
    """Return the way from the motion at hand, at time `t`: to rest, and from there to a pose."""
    _check(limits)
    pose, now, _ = present.sample(t)
    stop = _changed(pose, now, np.zeros(6), t, limits)
    rest = stop.sample(stop.end)[0]
    target = finite('goal', goal, 2)
    linear, angular = _sizes(np.concatenate([
        target[:3, 3] - rest[:3, 3], log_rotation(target[:3, :3] @ rest[:3, :3].T)]))
    duration = max(PEAK_SPEED * linear / limits.linear_speed,
                   PEAK_SPEED * angular / limits.angular_speed,
                   math.sqrt(PEAK_ACCELERATION * linear / limits.linear_acceleration),
                   math.sqrt(PEAK_ACCELERATION * angular / limits.angular_acceleration))
    return JoinedTrajectory(stop, stop.end, PoseTrajectory(rest, target, stop.end, duration))


def _changed(pose: Array, twist: Array, goal: Array, t: float,
             limits: MotionLimits) -> TwistTrajectory:
    """Return the change from twist to twist that the accelerations allow."""
    linear, angular = _sizes(goal - twist)
    return TwistTrajectory(pose, twist, goal, t, max(linear / limits.linear_acceleration,
                                                     angular / limits.angular_acceleration))


def _check(limits: MotionLimits) -> None:
    for name, value in limits._asdict().items():
        if not value > 0.0:
            raise ValueError(f'{name} must be positive, not {value}')


def _sizes(vector: Array) -> tuple[float, float]:
    """Return the lengths of the linear and of the angular part."""
    return float(np.linalg.norm(vector[:3])), float(np.linalg.norm(vector[3:]))
