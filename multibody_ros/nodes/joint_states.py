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

"""The state of the robot as joint_states brings it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from .messages import JointMap, nanoseconds


class JointStates:
    """
    Keeps q and v of the last message.

    Positions must be there and finite. A velocity that is missing or NaN is estimated: the way
    since the last position over the time between the two stamps; zero where there was none.
    """

    def __init__(self, robot: Any, joints: JointMap) -> None:
        """Begin at rest in the neutral position, which no estimate uses."""
        self._robot, self._joints = robot, joints
        self.q, self.v = robot.neutral(), np.zeros(robot.nv)
        self._stamp = 0

    def restart(self) -> None:
        """Estimate no velocity from positions known so far: time has passed unseen."""
        self._stamp = 0

    def take(self, message: JointState) -> None:
        """Take over a message, or complain and change nothing."""
        q = self._joints.read(message, 'position')
        stamp = nanoseconds(message.header.stamp)
        self.v = self._velocity(message, q, stamp)
        self.q, self._stamp = q, stamp

    def _velocity(self, message: JointState, q: np.ndarray, stamp: int) -> np.ndarray:
        given = message.velocity
        if not len(given):
            return self._estimate(q, stamp)
        v = self._joints.numbers(message, 'velocity')
        # a sum is finite only if every term is, and quicker than a look at every number
        if math.isfinite(sum(given)):
            return v
        return self._joints.finite(np.where(np.isnan(v), self._estimate(q, stamp), v), 'velocity')

    def _estimate(self, q: np.ndarray, stamp: int) -> np.ndarray:
        if stamp == self._stamp:
            # the same state once more
            return self.v
        if not 0 < self._stamp < stamp:
            return np.zeros_like(q)
        v: np.ndarray = self._robot.difference(self.q, q) / (1e-9 * (stamp - self._stamp))
        return v
