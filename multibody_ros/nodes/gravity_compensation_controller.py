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

"""Gravity compensation as a node: the arm floats and can be led by hand."""

from __future__ import annotations

import sys
from typing import Any, Callable

from .controller import Controller
from .executor import run_node
from .parameters import declare, declare_per_joint
from ..control import GravityCompensation


class GravityCompensationController(Controller):
    """Carries the arm's weight, with `damping.<joint>` against drift."""

    def __init__(self) -> None:
        """Name the node."""
        super().__init__('gravity_compensation_controller')

    def setup(self) -> GravityCompensation:
        """Declare the damping of every joint and make the law, which has no memory."""
        damping = declare_per_joint(
            self, 'damping.{joint}', self.robot.joint_names, 0.0,
            'damping in N m s/rad or N s/m', 0.0, 1e6, changeable=True)
        share = declare(self, 'friction_compensation', 0.0,
                        "share of the URDF's friction that is made up for", 0.0, 0.99)
        return GravityCompensation(self.robot, damping, friction=share, safety=self.safety)

    def tune(self, value: Callable[[str], Any]) -> None:
        """Take over the damping."""
        self.law.damping = [value(f'damping.{joint}') for joint in self.robot.joint_names]


def main() -> int:
    """Run the node."""
    return run_node(GravityCompensationController)


if __name__ == '__main__':
    sys.exit(main())
