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
What a simulation is made of: which mechanisms act (compiled), and their values (run time).

The coordinates of a simulation are those of the robot, followed by one motor angle (seen behind
the gear) for every elastic joint: Q = (q, theta), V = (v, omega).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.tree import Frame

Array = NDArray[np.float64]

#: what the energy balance is made of: work done on the robot, then losses
WORK = ('input', 'wrenches', 'damping', 'friction', 'stops')


@dataclass(frozen=True)
class Structure:
    """The mechanisms that are switched on; everything here is compiled in."""

    nq: int
    nv: int
    #: for every entry of V its place in Q, -1 where there is no single one (floating joints)
    position: tuple[int, ...]
    #: velocity index of every elastic joint
    elastic: tuple[int, ...] = ()
    #: entries of v with reflected rotor inertia
    rotor: tuple[int, ...] = ()
    #: entries of V with viscous friction
    damped: tuple[int, ...] = ()
    #: entries of V that can stand still: by dry friction, or against a stop
    modal: tuple[int, ...] = ()
    #: those of `modal` with dry friction, and those between stops
    dry: tuple[int, ...] = ()
    stopped: tuple[int, ...] = ()
    stribeck: bool = False
    limited: bool = False
    speed_limited: bool = False
    #: velocity index of every joint spring
    joint_springs: tuple[int, ...] = ()
    #: the two ends of every spring between links
    link_springs: tuple[tuple[Frame, Frame], ...] = ()
    #: where external wrenches act
    wrenches: tuple[Frame, ...] = ()

    @property
    def nQ(self) -> int:
        """Count the positions."""
        return self.nq + len(self.elastic)

    @property
    def nV(self) -> int:
        """Count the velocities."""
        return self.nv + len(self.elastic)

    def layout(self) -> dict[str, int]:
        """Return the names and lengths of all run-time values, in their order in memory."""
        joints, springs, modal = (len(x) for x in (
            self.joint_springs, self.link_springs, self.modal))
        motors = self.nv if self.limited else 0
        return {
            'dt': 1, 'rest_speed': 1, 'rotor': len(self.rotor), 'damping': len(self.damped),
            'coulomb': modal, 'stiction': modal, 'stribeck_speed': modal, 'lower': modal,
            'upper': modal, 'restitution': modal, 'effort': motors, 'no_load_speed': motors,
            'stiffness': len(self.elastic), 'coupling_damping': len(self.elastic),
            'motor_inertia': len(self.elastic), 'joint_stiffness': joints, 'joint_rest': joints,
            'joint_damping': joints, 'link_stiffness': springs, 'link_length': springs,
            'link_damping': springs, 'wrench': 6 * len(self.wrenches)}

    @property
    def size(self) -> int:
        """Count the run-time values."""
        return sum(self.layout().values())

    def named(self, flat: Any) -> SimpleNamespace:
        """Return the run-time values by name: slices of `flat`."""
        values, start = SimpleNamespace(), 0
        for name, length in self.layout().items():
            setattr(values, name, flat[start:start + length])
            start += length
        return values
