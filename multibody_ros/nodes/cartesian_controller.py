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

"""Operational space control as a node: guides one link to target poses."""

from __future__ import annotations

import sys

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
import numpy as np

from .controller import Controller
from .executor import run_node
from .messages import MessageError, pose_matrix, pose_message
from .parameters import declare
from .qos import STREAM, TARGET
from ..control import CartesianControl, pose_error
from ..control.rotation import log_rotation
from ..control.trajectory import PoseTrajectory

#: peak of the minimum-jerk profile's speed over its mean
PEAK = 1.875


class CartesianController(Controller):
    """Holds the pose it finds, then moves end_effector_frame to what comes on ~/target_pose."""

    def __init__(self) -> None:
        """Name the node."""
        super().__init__('cartesian_controller')

    def setup(self) -> None:
        """Declare frames, gains and speeds, and open the topics."""
        links = self.robot.link_names
        self._link = declare(self, 'end_effector_frame', links[-1], 'link to guide')
        self._base = declare(self, 'base_frame', links[0], 'link current_pose is given in')
        for link in (self._link, self._base):
            if link not in links:
                raise ValueError(f'robot {self.robot.name!r} has no link {link!r}, only: '
                                 + ', '.join(links))
        self._kp = self._pair('stiffness', 100.0, 'stiffness in 1/s^2')
        self._kd = self._pair('damping', 20.0, 'damping in 1/s')
        self._null_kp = declare(self, 'nullspace.stiffness', 10.0,
                                'pull to the pose at the start, in the null space, in 1/s^2',
                                0.0, 1e6)
        self._null_kd = declare(self, 'nullspace.damping', 6.0,
                                'damping in the null space in 1/s', 0.0, 1e4)
        self._speed = declare(self, 'max_speed.linear', 0.25, 'peak speed in m/s', 1e-6, 100.0)
        self._turn_speed = declare(self, 'max_speed.angular', 1.0, 'peak turning speed in rad/s',
                                   1e-6, 100.0)
        self._current = self.create_publisher(PoseStamped, '~/current_pose', STREAM)
        self.create_subscription(PoseStamped, '~/target_pose', self._on_target, TARGET)

    def begin(self) -> None:
        """Hold the present pose."""
        T_WE = self.robot.pose(self.q, self._link)
        self.law = CartesianControl(
            self.robot, self._link, PoseTrajectory(T_WE, T_WE), self._kp, self._kd,
            posture=self.q, posture_kp=self._null_kp, posture_kd=self._null_kd, friction=False)

    def publish_details(self, stamp: Time, tau: np.ndarray) -> None:
        """Publish where the link is."""
        if self._current.get_subscription_count():
            T_WB = self.robot.pose(self.q, self._base)
            T_BE = np.linalg.inv(T_WB) @ self.robot.pose(self.q, self._link)
            message = PoseStamped(pose=pose_message(T_BE, log_rotation(T_BE[:3, :3])))
            message.header.stamp, message.header.frame_id = stamp, self._base
            self._current.publish(message)

    def _on_target(self, message: PoseStamped) -> None:
        try:
            self.beginning()
            frame = message.header.frame_id
            if frame not in self.robot.link_names:
                raise MessageError(f'frame_id {frame!r} is no link of {self.robot.name!r}, only: '
                                   + ', '.join(self.robot.link_names))
            T_WD = self.robot.pose(self.q, frame) @ pose_matrix(message.pose)
            start = self.law.trajectory.sample(self.t)[0]
            way = pose_error(start, T_WD)
            duration = PEAK * max(float(np.linalg.norm(way[:3])) / self._speed,
                                  float(np.linalg.norm(way[3:])) / self._turn_speed)
            self.law.trajectory = PoseTrajectory(start, T_WD, self.t, duration)
        except ValueError as error:
            self.health.reject('~/target_pose', error)

    def _pair(self, name: str, default: float, description: str) -> list[float]:
        return [declare(self, f'{name}.{part}', default, f'{description} ({part})', 0.0, 1e6)
                for part in ('linear', 'angular') for _ in range(3)]


def main() -> int:
    """Run the node."""
    return run_node(CartesianController)


if __name__ == '__main__':
    sys.exit(main())
