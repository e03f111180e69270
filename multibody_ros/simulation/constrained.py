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

"""
Time steps of constrained mechanisms: index-1 form, stabilised, projected (theory.md section 6).

The acceleration carries Baumgarte's terms, a + 2 alpha dv + alpha^2 dq, with the steps dq and dv
back onto the constraints, smallest in the metric of M (Baumgarte 1972 with equal roots -alpha).
After a step q and v are projected by the same steps until the residual is below the tolerance.

Through a singular configuration (all rods of a parallelogram in line) the equations lose rank
while the motion goes on smoothly: there the reactions of the last steps are extrapolated and the
bodies move freely under them, for the few steps that the equations cannot be trusted.
"""

from __future__ import annotations

from typing import Callable, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]
#: generalised forces: constant, or a function of t, q, v
Forces = Array | Callable[[float, Array, Array], Array]

#: Newton steps of a projection, and those that leave out equations which follow from others
PROJECTIONS = 10
QUICK = 2
#: reactions that are extrapolated through a singular configuration: steps on either side of it,
#: known values that are used, and residuals (m, rad; per second) above which it is given up
MARGIN = 4.0
KNOWN = 5
ASTRAY = (1e-8, 1e-6)


class ConstrainedStepper:
    """Advances states of a robot with constraints; `drift` is the residual before projection."""

    def __init__(self, robot: Robot, baumgarte: float = 10.0, tolerance: float = 1e-12,
                 project: bool = True) -> None:
        """Take the rate of Baumgarte's terms in 1/s, 0: none, and the tolerance in m and rad."""
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
        self._forget()

    def _forget(self) -> None:
        #: where the last step ended, the reactions known, steps since the last one, how far from
        #: a singular configuration the last two steps ended, and how fast that fell
        self._end: Array | None = None
        self._reactions: list[Array] = []
        self._coasted = 0
        self._distance = (np.inf, np.inf)
        self._approach = 0.0

    def acceleration(self, t: float, q: Array, v: Array, tau: Forces) -> Array:
        """Return a, with Baumgarte's terms."""
        time = np.array([t])
        a = self._dynamics(q, v, _force(tau, t, q, v), time)[0]
        if self.rate:
            back = self._projection(q, v, time)
            a = a + (2.0 * self.rate) * back[1] + self.rate ** 2 * back[0]
        return a

    def projected(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return q and v on the constraints, as near as the masses allow."""
        time = np.array([t])
        back = self._projection(q, v, time)
        self.drift = float(back[2]) ** 0.5, float(back[3]) ** 0.5
        self._distance = self._distance[1], float(back[4]) ** 0.5
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
        if q is not self._end:
            self._forget()
        if self._singular_ahead():
            found = self._coast(t, q, v, tau, dt)
            if found is not None:
                return found
        if self._coasted:
            self._reactions, self._coasted = [], 0
            q, v = self.projected(t, q, v)
        a = self._dynamics(q, v, _force(tau, t, q, v), np.array([t]))[0]
        self._reactions = [*self._reactions[1 - KNOWN:], self.robot.inverse_dynamics(q, v, a)
                           - _force(tau, t, q, v)]
        q, v = _rk4(self.robot, lambda s, x, y: self.acceleration(t + s, x, y, tau), q, v, dt)
        q, v = self.projected(t + dt, q, v)
        self._end = q
        return q, v

    def semi_implicit_euler(self, t: float, q: Array, v: Array, tau: Forces,
                            dt: float) -> tuple[Array, Array]:
        """Advance v with the old state, then q with the new v."""
        v = v + dt * self.acceleration(t, q, v, tau)
        return self.projected(t + dt, self.robot.integrate(q, v, dt), v)

    def _singular_ahead(self) -> bool:
        """Tell whether a singular configuration is less than MARGIN steps away."""
        before, now = self._distance
        if not self._coasted:
            self._approach = before - now
        return now < MARGIN * self._approach and len(self._reactions) == KNOWN

    def _coast(self, t: float, q: Array, v: Array, tau: Forces,
               dt: float) -> tuple[Array, Array] | None:
        """Advance freely under extrapolated reactions; None where that leads astray."""
        robot, known = self.robot, np.array(self._reactions)

        def acceleration(s: float, x: Array, y: Array) -> Array:
            weights = _extrapolation(1.0 + self._coasted + s / dt)
            return robot.forward_dynamics(x, y, _force(tau, t + s, x, y) + weights @ known)

        x, y = _rk4(robot, acceleration, q, v, dt)
        back = self._projection(x, y, np.array([t + dt]))
        drift = float(back[2]) ** 0.5, float(back[3]) ** 0.5
        if drift[0] > ASTRAY[0] or drift[1] > ASTRAY[1]:
            return None
        self.drift, self._end, self._coasted = drift, x, self._coasted + 1
        self._distance = self._distance[1], float(back[4]) ** 0.5
        return x, y


def _force(tau: Forces, t: float, q: Array, v: Array) -> Array:
    return tau(t, q, v) if callable(tau) else tau


def _extrapolation(s: float) -> Array:
    """Return Lagrange's weights, at time s, of values at 1 - KNOWN, ..., -1, 0."""
    nodes = np.arange(1.0 - KNOWN, 1.0)
    weights = np.ones(KNOWN)
    for k in range(KNOWN):
        others = np.delete(nodes, k)
        weights[k] = np.prod((s - others) / (nodes[k] - others))
    return weights


def _rk4(robot: Robot, acceleration: Callable[[float, Array, Array], Array], q: Array, v: Array,
         dt: float) -> tuple[Array, Array]:
    """Return the state after dt; acceleration(s, q, v) at s seconds into the step."""
    h = 0.5 * dt
    a1 = acceleration(0.0, q, v)
    v2 = v + h * a1
    a2 = acceleration(h, robot.integrate(q, v, h), v2)
    k2 = chart_rate(robot, h * v, v2)
    v3 = v + h * a2
    a3 = acceleration(h, robot.integrate(q, k2, h), v3)
    k3 = chart_rate(robot, h * k2, v3)
    v4 = v + dt * a3
    a4 = acceleration(dt, robot.integrate(q, k3, dt), v4)
    k4 = chart_rate(robot, dt * k3, v4)
    q = robot.integrate(q, (v + 2.0 * (k2 + k3) + k4) / 6.0, dt)
    return q, v + dt / 6.0 * (a1 + 2.0 * (a2 + a3) + a4)


def chart_rate(robot: Robot, theta: Array, v: Array) -> Array:
    """
    Return theta' where q exp(theta) moves with body velocity `v` (see integrators.rk4).

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
    """Return [w1 x v2 - w2 x v1; w1 x w2] of two twists [v; w]."""
    a, b, c, i, j, k = x
    d, e, f, u, v, w = y
    return [j * f - k * e - (v * c - w * b), k * d - i * f - (w * a - u * c),
            i * e - j * d - (u * b - v * a), j * w - k * v, k * u - i * w, i * v - j * u]
