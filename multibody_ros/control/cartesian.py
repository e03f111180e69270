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

"""Control laws in operational space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bounds import bounded, gain
from .rotation import log_rotation
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


def pose_error(T_WB: Array, T_WD: Array) -> Array:
    """Return what carries B to D: [way; rotation vector of R_WD R_WB^T], world axes."""
    turn = log_rotation(T_WD[:3, :3] @ T_WB[:3, :3].T)
    return np.concatenate([T_WD[:3, 3] - T_WB[:3, 3], turn])


class CartesianControl:
    """
    Operational space control of one link's pose (Khatib, 1987), a posture in its null space.

    tau = J^T Mx (x_d'' + K_d e' + K_p e - J' q') + C q' + g + N M (kd_n (-q') + kp_n (q_n - q))
    with N = 1 - J^T Jbar^T. This is theory's F = Mx (...) + Cx x' + gx with the velocity products
    taken from q' itself, so that motion in the null space does not disturb the task. Closed
    loop away from singularities and limits: e'' + K_d e' + K_p e = 0 with e the pose error in
    world axes (for rotations to first order in e), whatever the null space does.
    """

    def __init__(self, robot: Robot, link: str, trajectory: Trajectory,
                 kp: ArrayLike = 100.0, kd: ArrayLike = 20.0, posture: ArrayLike | None = None,
                 posture_kp: ArrayLike = 0.0, posture_kd: ArrayLike = 5.0) -> None:
        """
        Take the `link` to guide and a `trajectory` of poses, see PoseTrajectory.

        `kp` in 1/s^2 and `kd` in 1/s are one number or six, [linear; angular]; `posture_kp` and
        `posture_kd` act in the null space only, towards the configuration `posture`.
        """
        if link not in robot.link_names:
            raise ValueError(f'robot {robot.name!r} has no link {link!r}, only: '
                             + ', '.join(robot.link_names))
        self.robot = robot
        self.link = link
        self.trajectory = trajectory
        self.kp = _six('kp', kp)
        self.kd = _six('kd', kd)
        self.posture = None if posture is None else np.array(posture, dtype=np.float64)
        if self.posture is not None and self.posture.shape != (robot.nq,):
            raise ValueError(f'posture must have {robot.nq} entries, not {self.posture.shape}')
        self.posture_kp = gain(robot, 'posture_kp', posture_kp)
        self.posture_kd = gain(robot, 'posture_kd', posture_kd)

    def torque(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint torques for state `q`, `v` at time `t`."""
        robot = self.robot
        pose_d, twist_d, rate_d = self.trajectory.sample(t)
        x = robot.cartesian_dynamics(q, v, self.link)
        J = x.jacobian
        e = pose_error(robot.pose(q, self.link), pose_d)
        a = rate_d + self.kd * (twist_d - J @ v) + self.kp * e
        tau = J.T @ (x.mass @ (a - x.jacobian_dot @ v)) + robot.bias_torque(q, v)
        a_null = -self.posture_kd * v
        if self.posture is not None:
            a_null += self.posture_kp * robot.difference(q, self.posture)
        tau_null = robot.mass_matrix(q) @ a_null
        tau += tau_null - J.T @ (x.consistent_inverse.T @ tau_null)
        return bounded(robot, tau, t)


def _six(name: str, values: ArrayLike) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (6,)) or not np.isfinite(array).all() or (array < 0.0).any():
        raise ValueError(f'{name} must be one or six non-negative numbers, not {values}')
    return np.broadcast_to(array, (6,)).copy()
