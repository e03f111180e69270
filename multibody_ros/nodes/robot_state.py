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

"""Where chosen links are, how they move, how far their Jacobians are from singular, as topics."""

from __future__ import annotations

import sys
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String

from .description import declare_description, described_text, load_robot
from .executor import run_node
from .health import Health, OK, WARN
from .joint_states import JointStates
from .messages import JointMap, nanoseconds, pose_message, twist_message
from .names import topic_tokens
from .observers import listened
from .parameters import declare
from .qos import LATCHED, NEWEST, STREAM
from .realtime import take_priority
from ..arguments import known
from ..control.rotation import log_rotation


class RobotState(Node):
    """Publishes ~/<link>/current_pose, current_twist and jacobian_condition of `links`."""

    def __init__(self) -> None:
        """Take the robot of the parameters, or wait for the robot_description topic."""
        super().__init__('robot_state')
        take_priority(self)
        declare_description(self)
        self._links = declare(self, 'links', '',
                              'links with spaces between; empty: the last one of the model'
                              ).split()
        self._base = declare(self, 'base_frame', '',
                             'link in which poses and twists are given; empty: the first one')
        self.robot: Any = None
        self._count = 0
        self.health = Health(self, self._report)
        text = described_text(self)
        if text:
            self._load(text)
        else:
            self.create_subscription(String, 'robot_description', self._on_description, LATCHED,
                                     event_callbacks=self.health.watch('robot_description'))

    def _on_description(self, message: String) -> None:
        try:
            if self.robot is not None:
                raise ValueError('a robot is loaded already; restart the node')
            self._load(message.data)
        except ValueError as error:
            self.health.reject('robot_description', error)

    def _load(self, text: str) -> None:
        robot = load_robot(self, text)
        self._states = JointStates(robot, JointMap(robot))
        self._links = self._links or [robot.link_names[-1]]
        self._base = self._base or robot.link_names[0]
        for link in (*self._links, self._base):
            known(robot.name, 'link', link, robot.link_names)
        kinds = {'current_pose': PoseStamped, 'current_twist': TwistStamped,
                 'jacobian_condition': Float64}
        self._topics = {link: [self.create_publisher(kind, f'~/{token}/{topic}', STREAM)
                               for topic, kind in kinds.items()]
                        for link, token in topic_tokens(self._links).items()}
        self.robot, self.health.hardware = robot, robot.name
        self.create_subscription(JointState, 'joint_states', self._on_state, NEWEST)

    def _on_state(self, message: JointState) -> None:
        try:
            self._states.take(message, nanoseconds(message.header.stamp))
        except ValueError as error:
            self.health.reject('joint_states', error)
            return
        q, v = self._states.q, self._states.v
        self._count += 1
        T_BW = np.linalg.inv(self.robot.pose(q, self._base))
        for link in self._links:
            self._publish(message.header.stamp, link, T_BW, q, v)

    def _publish(self, stamp: Time, link: str, T_BW: np.ndarray, q: np.ndarray,
                 v: np.ndarray) -> None:
        poses, twists, conditions = self._topics[link]
        if listened(poses):
            T = T_BW @ self.robot.pose(q, link)
            pose = PoseStamped(pose=pose_message(T, log_rotation(T[:3, :3])))
            pose.header.stamp, pose.header.frame_id = stamp, self._base
            poses.publish(pose)
        if listened(twists):
            twist = TwistStamped(twist=twist_message(T_BW[:3, :3],
                                                     self.robot.velocity(q, v, link)))
            twist.header.stamp, twist.header.frame_id = stamp, self._base
            twists.publish(twist)
        if listened(conditions):
            conditions.publish(Float64(data=float(
                np.linalg.cond(self.robot.jacobian(q, link)))))

    def _report(self) -> tuple[bytes, str, dict[str, object]]:
        values: dict[str, object] = {'states': self._count, 'links': ' '.join(self._links)}
        if self.robot is None:
            return WARN, 'no robot_description yet', values
        return OK, 'publishing', values


def main() -> int:
    """Run the node."""
    return run_node(RobotState)


if __name__ == '__main__':
    sys.exit(main())
