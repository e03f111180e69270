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

"""Control that learns the inertial parameters while it moves."""

from __future__ import annotations

import math
from typing import Any, Mapping, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bounds import gain
from .joint import error_limits, JointLaw, middle
from .law import Law, Outcome, Setting
from .safety import Safety
from .state import State
from .trajectory import Trajectory
from .vectors import add, clamped, minus, times, Vector
from ..dynamics.regressor import regressor

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]
#: the longest time in s over which one adaptation rate is trusted
LONGEST = 0.02
#: a bound of Y^T s that only nonsense reaches
STEEP = 1e9
#: how far a parameter may be learned away, in multiples of itself and of the mean scale
FACTOR = 5.0


class AdaptiveControl(JointLaw):
    """
    Passivity-based adaptive control (Slotine and Li, 1987).

    tau = Y(q, q', v_r, a_r) pi_hat + K s, pi_hat' = Gamma Y^T s, with v_r = q_d' + L e,
    a_r = q_d'' + L e', s = e' + L e. Closed loop: M s' + (C + K) s = Y (pi - pi_hat), and
    d/dt (1/2 s.M s + 1/2 |pi - pi_hat|^2 over Gamma) = -s.K s: e goes to zero whatever the masses.
    The estimate is kept within a box about its beginning, which leaves that argument as it is.
    """

    convergence = Setting(gain)
    damping_gain = Setting(gain)

    def __init__(self, robot: Robot, trajectory: Trajectory | None = None,
                 convergence: ArrayLike = 5.0, damping: ArrayLike | None = None,
                 adaptation: float = 1.0, *, safety: Safety | None = None) -> None:
        """
        Begin with the parameters of the `robot`.

        `convergence` is L in 1/s; `damping` is K in N m s/rad or N s/m, not given: 20/s times the
        inertia M_ii in the middle of the range; both one number or one a velocity coordinate.
        `adaptation` scales Gamma, diagonal, made of the arm's mean mass and length, in 1/(N m s).
        """
        tree = robot._programs.tree
        inertia = np.diagonal(robot.mass_matrix(middle(robot)))
        K = gain(robot, 'damping', 20.0 * inertia if damping is None else damping)
        if not (adaptation >= 0.0 and math.isfinite(adaptation)):
            raise ValueError(f'adaptation must be finite and not negative, not {adaptation}')
        mass = float(np.sum(robot.parameters[::10])) / max(1, len(tree.bodies))
        length = float(np.mean([math.hypot(*body.p) for body in tree.bodies] or [0.0])) or 1.0
        scales = mass * length ** np.array([0.0] + 3 * [1.0] + 6 * [2.0])
        self._gamma = adaptation * np.tile(scales**2, len(tree.bodies))
        Law.__init__(
            self, robot, safety, {
                'convergence': convergence, 'damping_gain': K, 'estimate': robot._shared},
            {'q_d': robot.nq, 'v_d': robot.nv, 'a_d': robot.nv, 'effort_d': robot.nv},
            robot.nv, error_limits(robot), self._gamma.size)
        self._friction = False
        self._no_effort = np.zeros(robot.nv)
        self._estimate = self._settings['estimate'][:self._gamma.size]
        room = FACTOR * (np.abs(self._estimate) + np.tile(scales, len(tree.bodies)))
        self._least, self._most = self._estimate - room, self._estimate + room
        self.trajectory = trajectory

    @property
    def estimate(self) -> Array:
        """The parameters learned: m, h, S of every body, regrouped (see Programs.parameters)."""
        return self._estimate.copy()

    def torque(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint torques for the state `q`, `v` at time `t` in seconds."""
        if -math.inf < self._t < t and not (self.stopped or self._starting):
            slope = self._latest[-self._gamma.size:]
            estimate = self._estimate
            estimate += min(t - self._t, LONGEST) * (self._gamma * slope)
            np.maximum(estimate, self._least, out=estimate)
            np.minimum(estimate, self._most, out=estimate)
        return super().torque(t, q, v)

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Write the law."""
        q_d, v_d, a_d, effort_d = reference
        L = k['convergence']
        e, e_dot = x.way_to(q_d), minus(v_d, x.v)
        v_r, a_r = add(v_d, times(L, e)), add(a_d, times(L, e_dot))
        s = minus(v_r, x.v)
        hat = State(self.robot._programs, k['estimate'], x.q, x.v)
        # parameters that the tree has regrouped into others have no part in the torque
        kept = [n not in moved for moved in self.robot._programs._moved for n in range(10)]
        slope = [clamped(y, -STEEP, STEEP) if own else 0.0
                 for y, own in zip(_slope(x, v_r, a_r, s), kept)]
        return Outcome({'inertia': hat.inertia(a_r), 'coriolis': hat.coriolis_with(v_r),
                        'gravity': hat.gravity, 'feedback': times(k['damping_gain'], s),
                        'feedforward': effort_d}, e, slope)


def _slope(x: State, v_r: Vector, a_r: Vector, s: Vector) -> Vector:
    """Return Y(q, q', v_r, a_r)^T s; velocity products as in State.coriolis_with."""
    none: Vector = [0.0] * len(s)
    tree, mean = x.tree, times(0.5, add(x.v, v_r))
    half = times(0.5, minus(x.v, v_r))
    parts = [(1.0, regressor(tree, x.q, mean, a_r)), (-1.0, regressor(tree, x.q, half, none)),
             (1.0, regressor(tree, x.q, none, none))]
    slope: list[Any] = [0.0] * (10 * len(tree.bodies))
    for sign, Y in parts:
        for row, speed in zip(Y, s):
            slope = [total + (sign * y) * speed for total, y in zip(slope, row)]
    return slope
