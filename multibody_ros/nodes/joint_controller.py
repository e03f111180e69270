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

"""The other laws in joint coordinates as a node; the parameter `law` chooses."""

from __future__ import annotations

import sys
from typing import Any

from .executor import run_node
from .joint_law_controller import JointLawController
from .parameters import declare, declare_choice
from ..control import AdaptiveControl, IndependentJoint, PDGravity, PDPlus

SPRINGS = {'independent_joint': IndependentJoint, 'pd_gravity': PDGravity, 'pd_plus': PDPlus}
SPRING_GAINS = {'kp': ('gains.{joint}.p', 'stiffness in N m/rad or N/m'),
                'kd': ('gains.{joint}.d', 'damping in N m s/rad or N s/m')}
ADAPTIVE_GAINS = {
    'convergence': ('gains.{joint}.convergence', 'rate in 1/s at which errors die out'),
    'damping_gain': ('gains.{joint}.damping', 'damping in N m s/rad or N s/m')}


class JointController(JointLawController):
    """Springs and dampers at the joints, with as much of the model as the law says."""

    def __init__(self) -> None:
        """Name the node."""
        super().__init__('joint_controller')

    def make_law(self) -> Any:
        """Return the law that the parameter names; gains fit the arm's inertia."""
        name = declare_choice(self, 'law', 'pd_plus', 'law of the controller',
                              (*SPRINGS, 'adaptive'))
        if name == 'adaptive':
            self.gains = ADAPTIVE_GAINS
            rate = declare(self, 'adaptation', 1.0, 'how fast parameters are learned, relative',
                           0.0, 1e6)
            return AdaptiveControl(self.robot, adaptation=rate, safety=self.safety)
        self.gains = SPRING_GAINS
        friction = declare(self, 'friction_compensation', True,
                           "feed the URDF's friction at the desired velocity forward")
        return SPRINGS[name](self.robot, friction=friction, safety=self.safety)


def main() -> int:
    """Run the node."""
    return run_node(JointController)


if __name__ == '__main__':
    sys.exit(main())
