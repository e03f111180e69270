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

"""The anatomy of the torque as topics: ~/terms/<term>, where somebody listens."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from sensor_msgs.msg import JointState

from .observers import listened
from ..control import Torque


class TermPublishers:
    """One JointState a term, its effort being the term's torque; their sum is the command."""

    def __init__(self, controller: Any) -> None:
        """Open the topics; who listens is looked up ten times a second, not at every state."""
        self._controller = controller
        self._publishers = {term: controller.send(JointState, f'~/terms/{term}')
                            for term in Torque._fields}
        self._heard: list[str] = []
        timer = controller.create_timer(0.1, self._look,
                                        clock=Clock(clock_type=ClockType.STEADY_TIME))
        controller.close_with(lambda: controller.destroy_timer(timer))

    def publish(self, stamp: Time) -> None:
        """Publish the terms of the last torque that somebody listens to."""
        if self._heard:
            terms, commanded = self._controller.law.terms, self._controller.commanded
            for name in self._heard:
                self._publishers[name].publish(commanded.message(
                    stamp, effort=commanded.of(getattr(terms, name))))

    def _look(self) -> None:
        self._heard = [name for name, topic in self._publishers.items() if listened(topic)]
