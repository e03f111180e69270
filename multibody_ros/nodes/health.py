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

"""What a node says about itself on /diagnostics (REP-107), and messages it had to refuse."""

from __future__ import annotations

from time import monotonic
from typing import Any, Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import qos_policy_name_from_kind

#: level, one line, values
Report = Callable[[], 'tuple[bytes, str, dict[str, Any]]']
#: least seconds between a report and one that news bring about
PAUSE = 0.01
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


class Health:
    """Publishes a report once a second, and when there is news; counts what came."""

    def __init__(self, node: Node, report: Report) -> None:
        """Ask `report` for level, message and values whenever it is time."""
        self.accepted = self.rejected = 0
        self._published = monotonic()
        self.last_reason = ''
        self.hardware = ''
        self._node = node
        self._report = report
        self._mismatches: set[str] = set()
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._timer = node.create_timer(1.0, self.publish,
                                        clock=Clock(clock_type=ClockType.STEADY_TIME))

    def reject(self, what: str, reason: object) -> None:
        """Count a refused message and say why, at most once a second."""
        self.rejected += 1
        self.last_reason = f'{what} rejected: {reason}'
        self._node.get_logger().warning(self.last_reason, throttle_duration_sec=1.0)
        self._publish_soon()

    def accept(self) -> None:
        """Count a request that was taken over."""
        self.accepted += 1
        self._publish_soon()

    def _publish_soon(self) -> None:
        if monotonic() - self._published > PAUSE:
            self.publish()

    def watch(self, topic: str) -> SubscriptionEventCallbacks:
        """Return what reports a publisher of `topic` that cannot connect."""
        return SubscriptionEventCallbacks(
            incompatible_qos=lambda info: self._mismatch(topic, 'publisher', info))

    def watch_listeners(self, topic: str) -> PublisherEventCallbacks:
        """Return what reports a subscriber of `topic` that cannot connect."""
        return PublisherEventCallbacks(
            incompatible_qos=lambda info: self._mismatch(topic, 'subscriber', info))

    def _mismatch(self, topic: str, who: str, info: Any) -> None:
        policy = qos_policy_name_from_kind(info.last_policy_kind).lower()
        text = f'a {who} of {topic} cannot connect: its QoS differs in {policy}'
        self._mismatches.add(text)
        self._node.get_logger().warning(text)

    def publish(self) -> None:
        """Publish the report now."""
        self._published = monotonic()
        level, message, values = self._report()
        values = {**values, 'accepted': self.accepted, 'rejected': self.rejected,
                  'last rejection': self.last_reason,
                  'QoS mismatches': '; '.join(sorted(self._mismatches))}
        if self._mismatches and level == OK:
            level, message = WARN, 'QoS mismatch'
        status = DiagnosticStatus(
            level=level, name=self._node.get_fully_qualified_name(), message=message,
            hardware_id=self.hardware,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()])
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
