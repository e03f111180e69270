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

"""Control laws in joint coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bounds import bounded, gain
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


class ComputedTorque:
    """
    Inverse dynamics of the reference acceleration plus feedback.

    tau = M(q) (q_d'' + K_d e' + K_p e) + C q' + g, with e = q_d - q. Closed loop, as long as no
    effort limit is met: e'' + K_d e' + K_p e = 0, every joint on its own.
    """

    def __init__(self, robot: Robot, trajectory: Trajectory, kp: ArrayLike = 100.0,
                 kd: ArrayLike = 20.0) -> None:
        """Take gains `kp` in 1/s^2 and `kd` in 1/s, one number or one a velocity coordinate."""
        self.robot = robot
        self.trajectory = trajectory
        self.kp = gain(robot, 'kp', kp)
        self.kd = gain(robot, 'kd', kd)

    def torque(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint torques for state `q`, `v` at time `t`."""
        q_d, v_d, a_d = self.trajectory.sample(t)
        e = self.robot.difference(q, q_d)
        a = a_d + self.kd * (v_d - v) + self.kp * e
        return bounded(self.robot, self.robot.inverse_dynamics(q, v, a), t)


class GravityCompensation:
    """
    The weight carried, the arm free to be led by hand.

    tau = g(q) - D q'. Closed loop: M q'' + C q' + D q' = 0, so that d/dt T = -q'.D q' <= 0.
    """

    def __init__(self, robot: Robot, damping: ArrayLike = 0.0) -> None:
        """Take `damping` in N m s/rad or N s/m, one number or one a velocity coordinate."""
        self.robot = robot
        self.damping = gain(robot, 'damping', damping)

    def torque(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint torques for state `q`, `v`; `t` only appears in errors."""
        return bounded(self.robot, self.robot.gravity_torque(q) - self.damping * v, t)


class SafeHold:
    """
    The safe stop that does not drop the arm: the weight carried, the motion braked.

    tau = M(q) (-rate q') + C q' + g. Closed loop: q'' = -rate q', every joint comes to rest with
    the same time constant 1/rate whatever inertia it moves.
    """

    def __init__(self, robot: Robot, rate: float = 10.0) -> None:
        """Take the braking `rate` in 1/s."""
        self.robot = robot
        self.rate = float(gain(robot, 'rate', rate)[0]) if robot.nv else rate

    def torque(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint torques for state `q`, `v`; `t` only appears in errors."""
        return bounded(self.robot, self.robot.inverse_dynamics(q, v, -self.rate * v), t)
