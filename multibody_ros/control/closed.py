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

"""Control of mechanisms with passive joints: five-bar linkages, parallelogram arms."""

from __future__ import annotations

from typing import Protocol, Sequence, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


class Sampled(Protocol):
    """A trajectory of the independent joints."""

    def sample(self, t: float) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations at a time."""


class MechanismComputedTorque:
    """
    Computed torque through the constraints.

    tau: shortest torques of the actuated joints with M a + C v + g = tau - Phi_q^T lambda, for
    the acceleration whose independent part is a_d + K_d e' + K_p e. Closed loop of the independent
    joints: e'' + K_d e' + K_p e = 0.
    """

    def __init__(self, robot: Robot, trajectory: Sampled, kp: float = 100.0, kd: float = 20.0,
                 independent: Sequence[str] | None = None,
                 actuated: Sequence[str] | None = None) -> None:
        """
        Take gains in 1/s^2 and 1/s.

        independent: the joints the trajectory is for, None: those the file calls so. actuated: the
        joints with motors, None: the same.
        """
        self.robot, self.trajectory, self.kp, self.kd = robot, trajectory, kp, kd
        self.independent = list(independent or robot.independent_joints)
        if not self.independent:
            raise ValueError(f"robot '{robot.name}' names no independent joints: give some")
        self.actuated = list(actuated or self.independent)
        self._places = [robot.v_index[name].start for name in self.independent]

    def torque(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the torques of all joints, zero at the passive ones."""
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        q_d, v_d, a_d = self.trajectory.sample(t)
        wanted = a_d + self.kd * (v_d - v[self._places]) + self.kp * (q_d - q[self._places])
        a = self.robot.acceleration_analysis(q, v, dict(zip(self.independent, wanted)), t)
        return self.robot.constrained_inverse_dynamics(q, v, a, self.actuated, t)[0]


class MechanismHold:
    """
    The safe stop of a mechanism: the weight carried, the motion braked.

    tau of the actuated joints for the acceleration -rate v of the independent ones. Closed loop:
    q_i'' = -rate q_i'. Where the file names no independent joint, all of them help.
    """

    def __init__(self, robot: Robot, rate: float = 10.0) -> None:
        """Take the braking `rate` in 1/s."""
        self.robot, self.rate = robot, rate
        self.independent = list(robot.independent_joints)
        self._places = [robot.v_index[name].start for name in self.independent]

    def torque(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the torques of all joints, zero at the passive ones."""
        robot, v = self.robot, np.asarray(v, dtype=np.float64)
        if not self.independent:
            # v obeys the constraints, so -rate v is an acceleration they allow, at small speeds
            return robot.constrained_inverse_dynamics(
                q, v, -self.rate * v, robot.joint_names, t)[0]
        wanted = dict(zip(self.independent, -self.rate * v[self._places]))
        a = robot.acceleration_analysis(q, v, wanted, t)
        return robot.constrained_inverse_dynamics(q, v, a, self.independent, t)[0]


class MechanismGravityCompensation:
    """
    The weight, carried by the actuated joints through the constraints, and damping.

    tau = tau_g(q) - D v on the actuated joints. Closed loop: d/dt T = -v.D v <= 0.
    """

    def __init__(self, robot: Robot, damping: float = 0.0,
                 actuated: Sequence[str] | None = None) -> None:
        """Take the damping D of the actuated joints in N m s/rad."""
        self.robot, self.damping = robot, damping
        self.actuated = list(actuated or robot.independent_joints or robot.joint_names)

    def torque(self, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the torques of all joints, zero at the passive ones."""
        robot, still = self.robot, np.zeros(self.robot.nv)
        tau = robot.constrained_inverse_dynamics(q, still, still, self.actuated, t)[0]
        for name in self.actuated:
            place = robot.v_index[name]
            tau[place] -= self.damping * np.asarray(v, dtype=np.float64)[place]
        return tau
