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

"""Computed torque control as a node: follows joint trajectories."""

from __future__ import annotations

import sys

from .executor import run_node
from .joint_law_controller import JointLawController
from .parameters import declare
from ..control import ComputedTorque


class ComputedTorqueController(JointLawController):
    """Every joint's error obeys e'' + d e' + p e = 0."""

    gains = {'kp': ('gains.{joint}.p', 'position gain in 1/s^2'),
             'kd': ('gains.{joint}.d', 'velocity gain in 1/s')}

    def __init__(self) -> None:
        """Name the node."""
        super().__init__('computed_torque_controller')

    def make_law(self) -> ComputedTorque:
        """Return the law, critically damped with a time constant of 0.1 s."""
        friction = declare(self, 'friction_compensation', True,
                           "feed the URDF's friction at the desired velocity forward")
        return ComputedTorque(self.robot, friction=friction, safety=self.safety)


def main() -> int:
    """Run the node."""
    return run_node(ComputedTorqueController)


if __name__ == '__main__':
    sys.exit(main())
