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

"""One step of time: (robot, q, v, tau, dt) in, (q, v) at the end of the step out."""

from __future__ import annotations

from typing import Callable, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]
Integrator = Callable[['Robot', Array, Array, Array, float], tuple[Array, Array]]


def semi_implicit_euler(robot: Robot, q: Array, v: Array, tau: Array,
                        dt: float) -> tuple[Array, Array]:
    """Advance v with the old state, then q with the new v. Order 1, bounded energy error."""
    v = v + dt * robot.forward_dynamics(q, v, tau)
    return robot.integrate(q, v, dt), v


def rk4(robot: Robot, q: Array, v: Array, tau: Array, dt: float) -> tuple[Array, Array]:
    """
    Advance with the classical Runge-Kutta method in the form of Munthe-Kaas (1999). Order 4.

    The stages live in the tangent space at `q`: with q(t) = q exp(theta), theta' is v corrected
    by `_chart_rate`, which is plain v but for floating joints.
    """
    h = 0.5 * dt
    a1 = robot.forward_dynamics(q, v, tau)
    v2 = v + h * a1
    theta2 = h * v
    a2 = robot.forward_dynamics(robot.integrate(q, v, h), v2, tau)
    k2 = _chart_rate(robot, theta2, v2)
    v3 = v + h * a2
    theta3 = h * k2
    a3 = robot.forward_dynamics(robot.integrate(q, k2, h), v3, tau)
    k3 = _chart_rate(robot, theta3, v3)
    v4 = v + dt * a3
    theta4 = dt * k3
    a4 = robot.forward_dynamics(robot.integrate(q, k3, dt), v4, tau)
    k4 = _chart_rate(robot, theta4, v4)
    q = robot.integrate(q, (v + 2.0 * (k2 + k3) + k4) / 6.0, dt)
    return q, v + dt / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)


INTEGRATORS: dict[str, Integrator] = {'rk4': rk4, 'semi_implicit_euler': semi_implicit_euler}


def _chart_rate(robot: Robot, theta: Array, v: Array) -> Array:
    """
    Return theta' where q exp(theta) moves with body velocity `v`.

    theta' = v + [theta, v]/2 + [theta, [theta, v]]/12 + ..., cut where order 4 allows
    (Hairer, Lubich, Wanner, Geometric Numerical Integration, III.4.2). The bracket of se(3) is
    [v1; w1], [v2; w2] -> [w1 x v2 - w2 x v1; w1 x w2].
    """
    if robot.nq == robot.nv:
        return v
    rate = v.copy()
    for place in robot.v_index.values():
        if place.stop - place.start == 6:
            first = _bracket(theta[place], v[place])
            rate[place] += 0.5 * first + _bracket(theta[place], first) / 12.0
    return rate


def _bracket(x: Array, y: Array) -> Array:
    linear = np.cross(x[3:], y[:3]) - np.cross(y[3:], x[:3])
    return np.concatenate([linear, np.cross(x[3:], y[3:])])
