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

"""Cartesian impedance: the link behaves as if it hung on springs and dampers."""

from __future__ import annotations

import math
from typing import Mapping, Sequence, TYPE_CHECKING

from numpy.typing import ArrayLike

from .bounds import matrix
from .law import Outcome, Setting
from .rotation import rotation_gradient
from .safety import Safety
from .state import State
from .task import TaskLaw
from .trajectory import Trajectory
from .vectors import add, apply, apply_transposed, minus, Vector

if TYPE_CHECKING:
    from ..robot import Robot


class CartesianImpedance(TaskLaw):
    """
    A spring and a damper between a link and its target, the weight carried (Hogan, 1985).

    tau = J^T (F_K + D e') + g(q), where F_K is the exact gradient of U = 1/2 e.K e, whatever the
    stiffness K. Closed loop for a target at rest: d/dt (T + U) = -x'.D x' plus the power of who
    pushes: the arm never gives more energy than it was given. A damping of all joints in the
    null space, N M (-kd_n q'), takes energy out too; a pull to a posture is not passive.
    """

    stiffness = Setting(matrix)
    damping = Setting(matrix)

    def __init__(self, robot: Robot, link: str, trajectory: Trajectory | None = None,
                 stiffness: ArrayLike = (400.0, 400.0, 400.0, 30.0, 30.0, 30.0),
                 damping: ArrayLike = (40.0, 40.0, 40.0, 3.0, 3.0, 3.0),
                 posture: ArrayLike | None = None, posture_kp: ArrayLike = 0.0,
                 posture_kd: ArrayLike = 1.0, *, directions: str | Sequence[str] = 'pose',
                 axes: ArrayLike | None = None, damped_below: float | None = None,
                 safety: Safety | None = None) -> None:
        """
        Take a `trajectory` of poses, see PoseTrajectory.

        `stiffness` in N/m and N m/rad, `damping` in N s/m and N m s/rad: six numbers,
        [linear; angular], or 6x6 matrices, symmetric and without negative eigenvalues. A law made
        to give way has no limit of tracking unless Safety gives one. The rest, see TaskLaw.
        """
        super().__init__(
            robot, link, trajectory, {'stiffness': stiffness, 'damping': damping},
            posture, posture_kp, posture_kd, directions, axes, damped_below, safety,
            tracking=math.inf)

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Write the law."""
        pose_d, twist_d, _ = reference
        e = self.errors(x, k, pose_d)
        J, _ = self.jacobians(x, k)
        Mx, margin = self.mass(x, k, J)
        K, D = ([[k[name][6 * i + j] for j in self.rows] for i in self.rows]
                for name in ('stiffness', 'damping'))
        twist_d = self.along(k, twist_d)
        force = dict(zip(self.rows, apply(K, [e[i] for i in self.rows])))
        full = [force.get(i, 0.0) for i in range(6)]
        full[3:] = rotation_gradient(e[3:], full[3:])
        slip = minus([twist_d[i] for i in self.rows], apply(J, x.v))
        F = add([full[i] for i in self.rows], apply(D, slip))
        return Outcome({'gravity': x.gravity, 'feedback': apply_transposed(J, F),
                        'posture': self.null_space(x, k, J, Mx)}, e, [margin])
