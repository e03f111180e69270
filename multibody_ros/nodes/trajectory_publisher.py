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

"""Sends a joint trajectory from a file to a controller, once, and ends."""

from __future__ import annotations

from pathlib import Path
import sys
from time import monotonic

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from .executor import run_node
from .parameters import declare
from .qos import REQUEST
from .trajectory_file import read_trajectory


class TrajectoryPublisher(Node):
    """Waits until somebody listens, publishes, and shuts down when the message has arrived."""

    def __init__(self) -> None:
        """Read the file and begin to wait."""
        super().__init__('trajectory_publisher')
        file = declare(self, 'file', '', 'trajectory to send, .yaml or .csv')
        topic = declare(self, 'topic', 'computed_torque_controller/joint_trajectory',
                        'where to send it')
        self._patience = declare(self, 'patience', 10.0,
                                 'seconds to wait for somebody who listens', 0.1, 3600.0)
        if not file:
            raise ValueError('no file: set the parameter file (.yaml or .csv)')
        self._message = read_trajectory(Path(file).expanduser())
        self._publisher = self.create_publisher(JointTrajectory, topic, REQUEST)
        self._began = monotonic()
        self._sent = False
        self.exit_status = 0
        # of the wall: it must end even where use_sim_time is set and nobody publishes /clock
        self.create_timer(0.2, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _look(self) -> None:
        if self._sent:
            # the listener has had time to take it over
            rclpy.try_shutdown()
        elif self._publisher.get_subscription_count():
            self._publisher.publish(self._message)
            self._sent = True
            self.get_logger().info(f'{len(self._message.points)} points sent to '
                                   f'{self._publisher.topic_name}')
        elif monotonic() - self._began > self._patience:
            self.get_logger().error(f'nobody listens to {self._publisher.topic_name}')
            self.exit_status = 1
            rclpy.try_shutdown()


def main() -> int:
    """Run the node."""
    return run_node(TrajectoryPublisher)


if __name__ == '__main__':
    sys.exit(main())
