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

"""The state of the robot as joint_states brings it, in one message or in parts."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
from sensor_msgs.msg import JointState

from .messages import JointMap

#: how many lists of names are remembered: one a publisher is enough
REMEMBERED = 16


class JointStates:
    """
    Keeps the last q and v of every joint.

    `joints` come together, in one message. If they are not all that the robot has, the others may
    come with them or on their own, whoever publishes them; before that they are at rest in the
    neutral position. Positions must be finite. A velocity that is missing or NaN is estimated: the
    way since the last position over the time between the two stamps; zero where there was none.
    """

    def __init__(self, robot: Any, joints: JointMap) -> None:
        """Begin at rest in the neutral position, which no estimate uses."""
        self._robot, self._joints = robot, joints
        self.q, self.v = robot.neutral(), np.zeros(robot.nv)
        #: of the last positions in ns, 0: none; one number as long as all joints come together
        self._stamps: Any = 0
        self._parts: dict[tuple[str, ...], JointMap] = {}

    def restart(self) -> None:
        """Estimate no velocity from positions known so far: time has passed unseen."""
        self._stamps = 0

    def take(self, message: JointState, stamp: int) -> bool:
        """
        Take over a message of the time `stamp` in ns, or complain and change nothing.

        Return whether it brings the joints.
        """
        joints = self._joints
        # the usual case, which comes a thousand times a second, makes no detours
        whole = joints.places is None
        part = joints if whole else self._part(message.name)
        position = part.read(message, 'position')
        q = position if whole else part.among(position, self.q)
        v = (part.read(message, 'velocity', lambda: part.of(self._estimate(q, stamp)))
             if len(message.velocity) else part.of(self._estimate(q, stamp)))
        self.q = q
        if whole:
            self.v, self._stamps = v, stamp
            return True
        self.v = part.among(v, self.v)
        self._stamps = part.among(stamp, np.broadcast_to(self._stamps, q.shape))
        return joints.names[0] in part.names

    def _part(self, names: Sequence[str]) -> JointMap:
        """Return the joints of a message: all of ours, or others alone."""
        part = self._parts.get(tuple(names))
        if part is None:
            brought = [name for name in self._robot.joint_names if name in names]
            if not brought or set(brought) & set(self._joints.names):
                # complains unless all are there
                self._joints.order(list(names))
            if len(self._parts) >= REMEMBERED:
                self._parts.clear()
            part = self._parts[tuple(names)] = JointMap(self._robot, brought)
        return part

    def _estimate(self, q: np.ndarray, stamp: int) -> np.ndarray:
        passed = 1e-9 * (stamp - np.broadcast_to(self._stamps, q.shape))
        usable = (np.broadcast_to(self._stamps, q.shape) > 0) & (passed > 0.0)
        v = self._robot.difference(self.q, q) / np.where(usable, passed, 1.0)
        # no time passed: the same state once more
        return np.where(usable, v, np.where(passed == 0.0, self.v, 0.0))
