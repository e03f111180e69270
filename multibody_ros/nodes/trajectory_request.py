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

"""From a JointTrajectory message to the reference a law follows."""

from __future__ import annotations

from typing import Any

import numpy as np
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from .messages import JointMap, MessageError, nanoseconds
from ..control.trajectory import JointTrajectory, spline_velocities

#: a trajectory must end at rest, to this many rad/s or m/s: planners leave rounding behind
REST = 0.01


def followed(message: JointTrajectoryMessage, joints: JointMap, robot: Any,
             present: JointTrajectory, t: float, epoch: int) -> JointTrajectory:
    """
    Return the way from the reference at hand, `present`, through the points still ahead of `t`.

    Velocities not given are those of a spline. `epoch` is the stamp of t = 0 in ns.
    """
    stamp = nanoseconds(message.header.stamp)
    start = t if stamp == 0 else (stamp - epoch) * 1e-9
    times = np.array([start + 1e-9 * nanoseconds(p.time_from_start) for p in message.points])
    if not len(times):
        raise MessageError('no points')
    if times[-1] <= t + 1e-9:
        raise MessageError(f'no point lies ahead: the last one is {t - times[-1]:.3f} s in the '
                           'past')
    q = joints.rows(message, 'positions')
    if q is None:
        raise MessageError('points have no positions')
    v = joints.rows(message, 'velocities')
    a = joints.rows(message, 'accelerations')
    efforts = joints.rows(message, 'effort')
    _check_limits(q, joints, robot)
    if v is not None and np.abs(v[-1]).max() > REST:
        fast = int(np.argmax(np.abs(v[-1])))
        raise MessageError(f'the last point must be at rest, but joint {joints.names[fast]!r} '
                           f'has {v[-1, fast]:g}')
    if np.any(np.diff(times) <= 0.0):
        late = int(np.argmax(np.diff(times) <= 0.0)) + 1
        raise MessageError(f'times must increase, but point {late} comes at '
                           f'{times[late] - start:g} s after {times[late - 1] - start:g} s')
    if v is None:
        handover = max(t, start)
        here = present.sample(handover)
        left = times > handover + 1e-9
        times, q = times[left], q[left]
        efforts = None if efforts is None else efforts[left]
        v = spline_velocities(np.concatenate([[handover], times]), np.vstack([here[0], q]),
                              start=here[1])[1:]
        a = np.zeros_like(q)
    return present.replaced(t, JointTrajectory(times, q, v, a, efforts), start, joints.turning)


def _check_limits(q: np.ndarray, joints: JointMap, robot: Any) -> None:
    lower, upper = joints.of(robot.limits.lower), joints.of(robot.limits.upper)
    outside = (q < lower) | (q > upper)
    if outside.any():
        point, joint = (int(i) for i in np.argwhere(outside)[0])
        raise MessageError(
            f'point {point}: joint {joints.names[joint]!r} at {q[point, joint]:g} is outside '
            f'{lower[joint]:g} to {upper[joint]:g}')
