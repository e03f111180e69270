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
What the nodes are measured against: rclpy with the same messages, executor and QoS, nothing else.

    python bare_nodes.py ping            publishes a joint state whenever the last one is answered
    python bare_nodes.py echo E1 E2 ...  answers every joint state with these efforts
"""

from __future__ import annotations

from array import array
import sys
from time import monotonic

from multibody_ros.nodes.executor import run_node
from multibody_ros.nodes.qos import NEWEST, STREAM
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

NAMES = [f'joint{k}' for k in range(1, 8)]
SEVEN = array('d', [0.1] * 7)


class Ping(Node):
    """Sends state k+1 when state k is answered, and tells the cycles per second."""

    def __init__(self) -> None:
        """Begin."""
        super().__init__('ping')
        self._states = self.create_publisher(JointState, 'joint_states', STREAM)
        self._rates = self.create_publisher(Float64, '~/rate', 10)
        self.create_subscription(JointState, 'joint_commands', self._on_command, NEWEST)
        self._count, self._before = 0, (monotonic(), 0)
        self.create_timer(1.0, self._report)
        self.create_timer(0.1, self._watch)
        self._sent = 0.0

    def _send(self) -> None:
        message = JointState(name=NAMES)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self._count, 10**6)
        message.position = message.velocity = message.effort = SEVEN
        self._states.publish(message)
        self._sent = monotonic()

    def _on_command(self, message: JointState) -> None:
        stamp = message.header.stamp
        if stamp.sec * 10**6 + stamp.nanosec == self._count and len(message.effort) == 7:
            self._count += 1
            self._send()

    def _watch(self) -> None:
        if monotonic() - self._sent >= 0.1:
            self._send()

    def _report(self) -> None:
        now = (monotonic(), self._count)
        rate = (now[1] - self._before[1]) / (now[0] - self._before[0])
        self._before = now
        self._rates.publish(Float64(data=rate))


class Echo(Node):
    """Answers every state at once."""

    def __init__(self) -> None:
        """Begin."""
        super().__init__('echo')
        self._efforts = array('d', map(float, sys.argv[2:9]))
        self._commands = self.create_publisher(JointState, 'joint_commands', STREAM)
        self.create_subscription(JointState, 'joint_states', self._on_state, NEWEST)

    def _on_state(self, state: JointState) -> None:
        message = JointState(name=NAMES)
        message.header.stamp = state.header.stamp
        message.effort = self._efforts
        self._commands.publish(message)


if __name__ == '__main__':
    sys.exit(run_node({'ping': Ping, 'echo': Echo}[sys.argv[1]]))
