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

"""Time steps of constrained mechanisms: index-1 form, stabilised, projected (theory.md section 6).

The acceleration carries Baumgarte's terms, a + 2 alpha dv + alpha^2 dq, with the steps dq and dv
back onto the constraints, smallest in the metric of M (Baumgarte 1972 with equal roots -alpha).
After a step q and v are projected by the same steps until the residual is below the tolerance.
"""

from __future__ import annotations

from typing import Callable, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..dynamics.spatial import cross, sub

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]
#: generalised forces: constant, or a function of t, q, v
Forces = Array | Callable[[float, Array, Array], Array]

#: Newton steps of a projection; each at least squares the error
PROJECTIONS = 10
#: those of them that leave out equations which follow from others
QUICK = 2


class ConstrainedStepper:
    """Advances states of a robot with constraints; `drift` is the residual before projection."""

    def __init__(self, robot: Robot, baumgarte: float = 10.0, tolerance: float = 1e-10,
                 project: bool = True) -> None:
        """Take the rate of Baumgarte's terms in 1/s, 0 for none, and the tolerance in m and rad."""
        if not baumgarte >= 0.0:
            raise ValueError(f'the rate of Baumgarte terms must not be negative, not {baumgarte}')
        if not tolerance > 0.0:
            raise ValueError(f'the tolerance of the constraints must be positive, not {tolerance}')
        self.robot = robot
        self.rate, self.tolerance, self.project = float(baumgarte), float(tolerance), project
        self._dynamics = robot._fast_dynamics
        self._projection = robot._closure.fast_projection()
        self._full = robot._closure.full_projection
        #: residuals found after the last step, before projection: positions (m, rad), velocities
        self.drift = (0.0, 0.0)

    def acceleration(self, t: float, q: Array, v: Array, tau: Forces) -> Array:
        """Return a, with Baumgarte's terms."""
        force = tau(t, q, v) if callable(tau) else tau
        time = np.array([t])
        a = self._dynamics(q, v, force, time)[0]
        if self.rate:
            back = self._projection(q, v, time)
            a = a + (2.0 * self.rate) * back[1] + self.rate ** 2 * back[0]
        return a

    def projected(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return q and v on the constraints, as near as the masses allow."""
        time = np.array([t])
        back = self._projection(q, v, time)
        self.drift = float(back[2]) ** 0.5, float(back[3]) ** 0.5
        if not self.project:
            return q, v
        square = self.tolerance ** 2
        for k in range(PROJECTIONS):
            if back[2] <= square:
                break
            q = self.robot.integrate(q, back[0])
            # what equations that were left out leave open, all of them together close
            back = (self._projection if k < QUICK else self._full)(q, v, time)
        v = v + back[1]
        if self.robot._closure.redundant and self._projection(q, v, time)[3] > square:
            v = v + self._full(q, v, time)[1]
        return q, v

    def rk4(self, t: float, q: Array, v: Array, tau: Forces, dt: float) -> tuple[Array, Array]:
        """Advance by dt with the classical Runge-Kutta method (see integrators.rk4)."""
        robot, h = self.robot, 0.5 * dt
        a1 = self.acceleration(t, q, v, tau)
        v2 = v + h * a1
        a2 = self.acceleration(t + h, robot.integrate(q, v, h), v2, tau)
        k2 = chart_rate(robot, h * v, v2)
        v3 = v + h * a2
        a3 = self.acceleration(t + h, robot.integrate(q, k2, h), v3, tau)
        k3 = chart_rate(robot, h * k2, v3)
        v4 = v + dt * a3
        a4 = self.acceleration(t + dt, robot.integrate(q, k3, dt), v4, tau)
        k4 = chart_rate(robot, dt * k3, v4)
        q = robot.integrate(q, (v + 2.0 * (k2 + k3) + k4) / 6.0, dt)
        return self.projected(t + dt, q, v + dt / 6.0 * (a1 + 2.0 * (a2 + a3) + a4))

    def semi_implicit_euler(self, t: float, q: Array, v: Array, tau: Forces,
                            dt: float) -> tuple[Array, Array]:
        """Advance v with the old state, then q with the new v."""
        v = v + dt * self.acceleration(t, q, v, tau)
        return self.projected(t + dt, self.robot.integrate(q, v, dt), v)


def chart_rate(robot: Robot, theta: Array, v: Array) -> Array:
    """Return theta' where q exp(theta) moves with body velocity `v` (see integrators.rk4).

    theta' = v + [theta, v]/2 + [theta, [theta, v]]/12, with the bracket of rigid motions.
    """
    if robot.nq == robot.nv:
        return v
    rate = v.copy()
    for place in robot.v_index.values():
        if place.stop - place.start == 6:
            x = theta[place].tolist()
            first = _bracket(x, v[place].tolist())
            second = _bracket(x, first)
            rate[place] += [0.5 * a + b / 12.0 for a, b in zip(first, second)]
    return rate


def _bracket(x: list[float], y: list[float]) -> list[float]:
    linear = sub(cross(x[3:], y[:3]), cross(y[3:], x[:3]))
    return [*linear, *cross(x[3:], y[3:])]
