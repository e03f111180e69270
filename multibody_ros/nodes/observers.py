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

"""What the simulator tells those who listen: time, energies, the reactions of the joints."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from .messages import time_message, wrench_message
from .names import topic_tokens
from .qos import NEWEST, STREAM

ENERGIES = ('kinetic', 'gravity', 'springs', 'balance')


class Observers:
    """
    Publishes ~/energies and ~/joint_wrenches/<joint> where somebody listens, and /clock.

    Every joint of the model has its topic: fixed ones, which may be force sensors, and mimics too.
    """

    def __init__(self, node: Node, robot: Any, clock: bool) -> None:
        """Open the topics; who listens is looked up ten times a second, not at every step."""
        self._clock = node.create_publisher(ClockMessage, '/clock', NEWEST) if clock else None
        self._energies = node.create_publisher(Float64MultiArray, '~/energies', STREAM)
        self._children = {joint.name: joint.child for joint in robot.model.joints}
        self._reactions = {
            name: node.create_publisher(WrenchStamped, f'~/joint_wrenches/{token}', STREAM)
            for name, token in topic_tokens(self._children).items()}
        self._heard: list[str] = []
        self._energies_heard = False
        node.create_timer(0.1, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def publish(self, ns: int, simulation: Any) -> None:
        """Publish what is wanted of this moment."""
        if self._clock is not None:
            self._clock.publish(ClockMessage(clock=time_message(ns)))
        if self._energies_heard:
            message = Float64MultiArray(data=[*simulation.energies, simulation.balance])
            message.layout.dim = [MultiArrayDimension(label=name, size=1, stride=1)
                                  for name in ENERGIES]
            self._energies.publish(message)
        if self._heard:
            stamp, wrenches = time_message(ns), simulation.joint_wrenches
            for name in self._heard:
                wrench = WrenchStamped(wrench=wrench_message(wrenches[name]))
                wrench.header.stamp, wrench.header.frame_id = stamp, self._children[name]
                self._reactions[name].publish(wrench)

    def _look(self) -> None:
        self._energies_heard = listened(self._energies)
        self._heard = [name for name, topic in self._reactions.items() if listened(topic)]


def listened(publisher: Publisher) -> bool:
    """Tell whether somebody listens."""
    return bool(publisher.get_subscription_count())
