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

"""A load on the robot as parameters: checked, ramped in, taken away without a trace."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from rclpy.node import Node

from .parameters import declare
from ..arguments import known

#: mass in kg, com in m (3), inertia about it in kg m^2 (6)
Load = np.ndarray


class PayloadParameters:
    """Declares payload.* and lets the robot carry what they say, changing over `ramp_time`."""

    def __init__(self, node: Node, robot: Any, ramp_time: float) -> None:
        """Declare the parameters; the first payload is there at once."""
        self._robot = robot
        links = robot.link_names
        declare(node, 'payload.link', links[-1], 'link that carries the load', changeable=True)
        declare(node, 'payload.mass', 0.0, 'mass of the load in kg', 0.0, 1e6, changeable=True)
        declare(node, 'payload.com', [0.0, 0.0, 0.0],
                'centre of mass of the load in m, axes of its link', changeable=True)
        declare(node, 'payload.inertia', [0.0] * 6,
                'Ixx Ixy Ixz Iyy Iyz Izz of the load about its centre of mass in kg m^2',
                changeable=True)
        self._ramp_time = declare(
            node, 'payload.ramp_time', ramp_time,
            'seconds in which one payload turns into the next', 0.0, 60.0)
        self._from: dict[str, Load] = {}
        self._to: dict[str, Load] = {}
        self._carried: dict[str, Load] = {}
        self._since: float | None = None

    def check(self, value: Callable[[str], Any]) -> None:
        """Complain about a payload that no link can carry; the robot itself is the judge."""
        carried = self._carried
        try:
            self._carry(self._wanted(value))
        finally:
            self._carry(carried)

    def take_over(self, value: Callable[[str], Any], t: float) -> None:
        """Begin to change over at time `t` to the payload that is asked for."""
        wanted = self._wanted(value)
        if wanted.keys() == self._to.keys() and all(
                np.array_equal(load, self._to[name]) for name, load in wanted.items()):
            return
        self._from, self._to, self._since = self._mixed(t), wanted, t
        self.advance(t)

    def _wanted(self, value: Callable[[str], Any]) -> dict[str, Load]:
        link = known(self._robot.name, 'link', value('payload.link'), self._robot.link_names)
        com, inertia = list(value('payload.com')), list(value('payload.inertia'))
        if len(com) != 3 or len(inertia) != 6:
            raise ValueError(f'payload.com takes 3 numbers and payload.inertia 6, not {len(com)} '
                             f'and {len(inertia)}')
        load = np.array([value('payload.mass'), *com, *inertia])
        return {link: load} if load[0] > 0.0 or any(inertia) else {}

    def advance(self, t: float) -> None:
        """Carry what is due at time `t`."""
        if self._since is not None:
            self._carry(self._mixed(t))
            if t >= self._since + self._ramp_time:
                self._since = None

    def settle(self) -> None:
        """Be done with changing over."""
        self._since = None
        self._carry(self._to)

    def _mixed(self, t: float) -> dict[str, Load]:
        """Return the loads at time `t`: a mean of two bodies is a body again."""
        if self._since is None:
            return dict(self._to)
        s = 1.0 if self._ramp_time == 0.0 else min(1.0, (t - self._since) / self._ramp_time)
        nothing = np.zeros(10)
        return {link: (1.0 - s) * self._from.get(link, nothing) + s * self._to.get(link, nothing)
                for link in {**self._from, **self._to}}

    def _carry(self, loads: dict[str, Load]) -> None:
        self._robot.clear_payload()
        for link, load in loads.items():
            if load.any():
                self._robot.set_payload(link, float(load[0]), load[1:4], load[4:])
        self._carried = loads
