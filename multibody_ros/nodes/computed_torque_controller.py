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

"""Computed torque control as a node: follows joint trajectories."""

from __future__ import annotations

import sys

from builtin_interfaces.msg import Time
import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from .controller import Controller
from .executor import run_node
from .messages import MessageError, nanoseconds
from .parameters import declare_per_joint
from .qos import REQUEST, STREAM
from ..control import ComputedTorque
from ..control.trajectory import JointTrajectory, spline_velocities

#: a trajectory must end at rest, to this many rad/s or m/s: planners leave rounding behind
REST = 0.01


class ComputedTorqueController(Controller):
    """Holds the pose it finds, then follows what comes on ~/joint_trajectory."""

    def __init__(self) -> None:
        """Name the node."""
        super().__init__('computed_torque_controller')

    def setup(self) -> None:
        """Declare the gains and open the topics."""
        joints = self.robot.joint_names
        self._kp = declare_per_joint(self, 'gains.{joint}.p', joints, 100.0,
                                     'position gain in 1/s^2', 0.0, 1e6)
        self._kd = declare_per_joint(self, 'gains.{joint}.d', joints, 20.0,
                                     'velocity gain in 1/s', 0.0, 1e4)
        self._desired = self.create_publisher(JointState, '~/desired_state', STREAM)
        self.create_subscription(JointTrajectoryMessage, '~/joint_trajectory',
                                 self._on_trajectory, REQUEST)

    def begin(self) -> None:
        """Hold the present pose."""
        here = JointTrajectory([0.0], [self.q])
        self.law = ComputedTorque(self.robot, here, self._kp, self._kd, friction=False)

    def publish_details(self, stamp: Time, tau: np.ndarray) -> None:
        """Publish the reference the command was made for."""
        if self._desired.get_subscription_count():
            q, v, _ = self.law.trajectory.sample(self.t)
            self._desired.publish(self.joints.message(stamp, position=q, velocity=v, effort=tau))

    def _on_trajectory(self, message: JointTrajectoryMessage) -> None:
        try:
            self.law.trajectory = self._follow(message, self.beginning())
        except ValueError as error:
            self.health.reject('~/joint_trajectory', error)

    def _follow(self, message: JointTrajectoryMessage, epoch: int) -> JointTrajectory:
        """Return the way from the present reference through the points that are still ahead."""
        order = self.joints.order(message.joint_names)
        stamp = nanoseconds(message.header.stamp)
        start = self.t if stamp == 0 else (stamp - epoch) * 1e-9
        times = np.array([start + 1e-9 * nanoseconds(p.time_from_start) for p in message.points])
        ahead = times > self.t + 1e-9
        if not ahead.any():
            raise MessageError('no point lies ahead: the last one is '
                               f'{self.t - times[-1]:.3f} s in the past' if len(times)
                               else 'no points')
        q = self._rows(message, 'positions', order)
        v = self._rows(message, 'velocities', order)
        a = self._rows(message, 'accelerations', order)
        if q is None:
            raise MessageError('points have no positions')
        if any(len(p.effort) for p in message.points):
            raise MessageError('effort in points is not supported')
        self._within_limits(q)
        if v is not None and np.abs(v[-1]).max() > REST:
            fast = int(np.argmax(np.abs(v[-1])))
            raise MessageError(f'the last point must be at rest, but joint '
                               f'{self.joints.names[fast]!r} has {v[-1, fast]:g}')
        times, q = times[ahead], q[ahead]
        if v is None:
            here = self.law.trajectory.sample(self.t)
            v = spline_velocities(np.concatenate([[self.t], times]), np.vstack([here[0], q]),
                                  start=here[1])[1:]
        else:
            v = v[ahead]
        a = np.zeros_like(q) if a is None else a[ahead]
        return self._join(max(start, self.t), times, q, v, a)

    def _join(self, start: float, times: np.ndarray, q: np.ndarray, v: np.ndarray,
              a: np.ndarray) -> JointTrajectory:
        """Put the present reference in front, and hold it until a `start` that is still ahead."""
        here = self.law.trajectory.sample(self.t)
        knots, rows = [self.t], [here]
        if start > self.t and start < times[0]:
            knots, rows = [self.t, start], [here, (here[0], 0.0 * here[1], 0.0 * here[2])]
        fronts = [np.vstack([row[i] for row in rows]) for i in range(3)]
        return JointTrajectory(np.concatenate([knots, times]), np.vstack([fronts[0], q]),
                               np.vstack([fronts[1], v]), np.vstack([fronts[2], a]))

    def _rows(self, message: JointTrajectoryMessage, field: str,
              order: np.ndarray) -> np.ndarray | None:
        rows = [np.array(getattr(point, field), dtype=np.float64) for point in message.points]
        sizes = {len(row) for row in rows}
        if sizes == {0}:
            return None
        if sizes != {len(message.joint_names)}:
            raise MessageError(f'every point needs {len(message.joint_names)} {field}, '
                               f'they have {sorted(sizes)}')
        return np.array([self.joints.finite(row[order], field) for row in rows])

    def _within_limits(self, q: np.ndarray) -> None:
        limits = self.robot.limits
        outside = (q < limits.lower) | (q > limits.upper)
        if outside.any():
            point, joint = (int(i) for i in np.argwhere(outside)[0])
            raise MessageError(
                f'point {point}: joint {self.joints.names[joint]!r} at {q[point, joint]:g} is '
                f'outside {limits.lower[joint]:g} to {limits.upper[joint]:g}')


def main() -> int:
    """Run the node."""
    return run_node(ComputedTorqueController)


if __name__ == '__main__':
    sys.exit(main())
