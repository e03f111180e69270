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

"""Control of a link's motion, and of the force it exerts, in operational space."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, TYPE_CHECKING

from numpy.typing import ArrayLike

from . import bounds
from .bounds import six
from .friction import smooth_friction
from .law import Outcome, Setting
from .safety import Safety
from .state import State
from .task import chosen, DIRECTIONS, TaskLaw
from .trajectory import Trajectory
from .vectors import apply, apply_transposed, Vector

if TYPE_CHECKING:
    from ..robot import Robot


class CartesianControl(TaskLaw):
    """
    Operational space control of one link's pose (Khatib, 1987), a posture in its null space.

    tau = J^T Mx (x_d'' + K_d e' + K_p e - J' q') + C q' + g + N M (kd_n (-q') + kp_n (q_n - q))
    with N = 1 - J^T Jbar^T. This is theory's F = Mx (...) + Cx x' + gx with the velocity products
    taken from q' itself, so that motion in the null space does not disturb the task. Closed
    loop away from singularities and limits: e'' + K_d e' + K_p e = 0 with e the pose error in
    world axes (for rotations to first order in e), whatever the null space does. Along force
    directions the link exerts `wrench` instead of following, with x'' = -K_d x' while it is free.
    """

    kp = Setting(six)
    kd = Setting(six)
    wrench = Setting(bounds.wrench)

    def __init__(self, robot: Robot, link: str, trajectory: Trajectory | None = None,
                 kp: ArrayLike = 100.0, kd: ArrayLike = 20.0, posture: ArrayLike | None = None,
                 posture_kp: ArrayLike = 0.0, posture_kd: ArrayLike = 5.0, *,
                 friction: bool = True, directions: str | Sequence[str] = 'pose',
                 force_directions: Sequence[str] = (),
                 wrench: ArrayLike = 0.0, axes: ArrayLike | None = None,
                 damped_below: float | None = None, safety: Safety | None = None) -> None:
        """
        Take the `link` to guide and a `trajectory` of poses, see PoseTrajectory.

        `kp` in 1/s^2 and `kd` in 1/s are one number or six, [linear; angular]. `wrench` is what
        the link exerts along the `force_directions`, [N; N m]. With `friction` that of the URDF
        is fed forward, made smooth about rest, at the joint velocity Jbar x_d'. The rest, see
        TaskLaw.
        """
        forced = chosen(force_directions) if len(force_directions) else ()
        rows = sorted({*chosen(directions), *forced})
        self._forced, self._friction = forced, friction
        super().__init__(
            robot, link, trajectory, {'kp': kp, 'kd': kd, 'wrench': wrench,
                                      'damping': robot.damping, 'coulomb': robot.friction},
            posture, posture_kp, posture_kd, [DIRECTIONS[i] for i in rows], axes, damped_below,
            safety, kind=repr((forced, friction)))

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Write the law."""
        pose_d, twist_d, rate_d = reference
        way = self.errors(x, k, pose_d)
        twist_d, rate_d = self.along(k, twist_d), self.along(k, rate_d)
        J, drift = self.jacobians(x, k)
        Mx, margin = self.mass(x, k, J)
        wanted, corrected, speeds = [], [], []
        pushed: list[Any] = [0.0] * len(self.rows)
        error: list[Any] = [0.0] * 6
        for n, (i, speed) in enumerate(zip(self.rows, apply(J, x.v))):
            if i in self._forced:
                wanted.append(-drift[n])
                corrected.append(-1.0 * k['kd'][i] * speed)
                speeds.append(0.0)
                pushed[n] = k['wrench'][i]
            else:
                wanted.append(rate_d[i] - drift[n])
                corrected.append(k['kd'][i] * (twist_d[i] - speed) + k['kp'][i] * way[i])
                speeds.append(twist_d[i])
                error[i] = way[i]
        friction: Vector = [0.0] * len(x.v)
        if self._friction:
            v_d = x.response(apply_transposed(J, apply(Mx, speeds)))
            friction = smooth_friction(k['damping'], k['coulomb'], v_d)
        return Outcome({
            'inertia': apply_transposed(J, apply(Mx, wanted)), 'coriolis': x.coriolis,
            'gravity': x.gravity, 'feedback': apply_transposed(J, apply(Mx, corrected)),
            'feedforward': apply_transposed(J, pushed),
            'friction': friction, 'posture': self.null_space(x, k, J, Mx)}, error, [margin])
