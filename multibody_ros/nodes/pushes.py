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

"""Pushes on links: what comes on ~/external_wrench acts for a while, in the link's own axes."""

from __future__ import annotations

from typing import Any, NamedTuple

from geometry_msgs.msg import WrenchStamped
import numpy as np

from .messages import MessageError, nanoseconds, wrench_vector
from ..arguments import known


class Push(NamedTuple):
    """A wrench in the axes of a link, from `begin` to before `end` in ns."""

    link: str
    wrench: np.ndarray
    begin: int
    end: int


class Pushes:
    """Pushes to come and pushes that act."""

    def __init__(self, robot: Any) -> None:
        """Begin with none."""
        self._robot = robot
        self._pushes: list[Push] = []
        self._acting: set[str] = set()

    def add(self, message: WrenchStamped, now: int, duration: float) -> None:
        """Plan a push for the message's stamp, 0: `now`; a later one of the same link wins."""
        link = known(self._robot.name, 'link', message.header.frame_id, self._robot.link_names)
        begin = nanoseconds(message.header.stamp) or now
        end = begin + round(duration * 1e9)
        if end <= now:
            raise MessageError(f'the push ended {1e-9 * (now - end):.3f} s ago')
        self._pushes.append(Push(link, wrench_vector(message.wrench), begin, end))

    def clear(self) -> None:
        """Forget all."""
        self._pushes.clear()

    @property
    def pending(self) -> bool:
        """Whether there is something to apply, or to end."""
        return bool(self._pushes or self._acting)

    def apply(self, simulation: Any, now: int) -> None:
        """Let the pushes of this moment act on the simulation."""
        self._pushes = [push for push in self._pushes if push.end > now]
        acting = {push.link: push for push in self._pushes if push.begin <= now}
        for link in self._acting - set(acting):
            simulation.set_wrench(link, np.zeros(6))
        for link, push in acting.items():
            R_WB = self._robot.pose(simulation.q, link)[:3, :3]
            simulation.set_wrench(link, np.concatenate(
                [R_WB @ push.wrench[:3], R_WB @ push.wrench[3:]]))
        self._acting = set(acting)
