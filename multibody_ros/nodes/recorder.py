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

"""Records the topics of the control loop as raw bytes, to be read once the run is over."""

from __future__ import annotations

from struct import unpack_from
from time import monotonic
from typing import Callable

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from .messages import JointMap, nanoseconds
from .qos import DEEP


class Recorder(Node):
    """Listens to joint states, commands and diagnostics."""

    def __init__(self) -> None:
        """Begin to listen."""
        super().__init__('recorder')
        self._raw: dict[str, list[bytes]] = {}
        #: seconds of the wall at which messages came
        self.arrivals: dict[str, list[float]] = {}
        self.health: dict[str, dict[str, str]] = {}
        for topic in ('joint_states', 'joint_commands'):
            kept = self._raw.setdefault(topic, [])
            times = self.arrivals.setdefault(topic, [])
            self.create_subscription(JointState, topic, self._keeper(kept, times), DEEP, raw=True)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_health, 10)

    def count(self, topic: str) -> int:
        """Return how many messages came on `topic`."""
        return len(self._raw[topic])

    def forget(self) -> None:
        """Begin the recording anew."""
        for topic, kept in self._raw.items():
            kept.clear()
            self.arrivals[topic].clear()

    def last(self, topic: str, joints: JointMap, field: str) -> tuple[int, np.ndarray]:
        """Return stamp in ns and `field` of the newest message."""
        message = deserialize_message(self._raw[topic][-1], JointState)
        return nanoseconds(message.header.stamp), joints.read(message, field)

    def last_stamp(self, topic: str) -> int:
        """Return the stamp of the newest message in ns, 0 before there is one."""
        if not self._raw[topic]:
            return 0
        raw = self._raw[topic][-1]
        # CDR: four bytes that say the byte order, then seconds and nanoseconds of the header
        sec, nanosec = unpack_from('<iI' if raw[1] else '>iI', raw, 4)
        return int(sec) * 1_000_000_000 + int(nanosec)

    def read(self, topic: str, joints: JointMap, field: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the stamps in ns and `field`, one row a message, in the robot's order."""
        messages = [deserialize_message(raw, JointState) for raw in self._raw[topic]]
        stamps = [nanoseconds(message.header.stamp) for message in messages]
        rows = [joints.read(message, field) for message in messages]
        return (np.array(stamps, dtype=np.int64),
                np.array(rows, dtype=float).reshape(len(rows), len(joints.names)))

    def _keeper(self, kept: list[bytes], times: list[float]) -> Callable[[bytes], None]:
        def keep(raw: bytes) -> None:
            kept.append(raw)
            times.append(monotonic())

        return keep

    def _on_health(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.health[status.name] = {item.key: item.value for item in status.values}
