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

"""The simulation of a robot with constraints: loops, couplings, drives, rolling."""

from __future__ import annotations

import math
from typing import Any, Callable, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .constrained import ConstrainedStepper
from .engine import Energies
from .sensors import Measurement, Sensors
from ..arguments import known, vector

if TYPE_CHECKING:
    from ..loops.reactions import Reactions
    from ..robot import Robot

Array = NDArray[np.float64]

#: the speed, rad/s or m/s, over which dry friction turns round: it is smooth in mechanisms
SMOOTH = 0.01


class ConstrainedSimulation:
    """
    A mechanism moving under joint torques.

    What Simulation makes of a robot with constraints. Stabilised and projected (see
    ConstrainedStepper): `drift` tells by how much a step left the constraints before projection.
    """

    def __init__(self, robot: Robot, q: ArrayLike | None = None, v: ArrayLike | None = None,
                 dt: float = 1e-3, integrator: str = 'rk4', *, baumgarte: float = 10.0,
                 tolerance: float = 1e-12, project: bool = True, damping: bool = True,
                 friction: bool = True, sensors: Sensors | None = None,
                 forces: Callable[[float, Array, Array], Array] | None = None) -> None:
        """
        Start at time 0 from `q` (neutral), `v` (rest), with steps of `dt` seconds.

        q and v are moved onto the constraints. integrator: rk4 or semi_implicit_euler. baumgarte
        in 1/s and tolerance in m and rad as in ConstrainedStepper. damping and friction of the
        URDF act, the dry one smoothed. `sensors` are what `measured` tells. forces(t, q, v):
        further generalised forces, for example of springs.
        """
        if not (isinstance(dt, (int, float)) and 0.0 < dt < math.inf):
            raise ValueError(f'dt must be a positive time in seconds, not {dt}')
        choices = ('rk4', 'semi_implicit_euler')
        if integrator not in choices:
            raise ValueError(f"no integrator {integrator!r} for robot '{robot.name}', which has "
                             'constraints, only: ' + ', '.join(choices))
        self.robot, self.dt, self.integrator = robot, float(dt), integrator
        self._stepper = ConstrainedStepper(robot, baumgarte, tolerance, project)
        self._advance = getattr(self._stepper, integrator)
        self._damping = robot.damping if damping else np.zeros(robot.nv)
        self._friction = robot.friction if friction else np.zeros(robot.nv)
        self._free = forces is None and not (self._damping.any() or self._friction.any())
        self._forces = forces
        self.sensors = sensors or Sensors()
        self._watches = self.sensors != Sensors()
        self._wrenches: dict[str, Array] = {}
        self.reset(q, v)

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Go back to time 0, to the closed configuration next to `q` and velocity next to v."""
        robot = self.robot
        start = robot.neutral() if q is None else self._vector('q', q, robot.nq)
        rates = np.zeros(robot.nv) if v is None else self._vector('v', v, robot.nv)
        start = robot.assemble(start, ())
        self._q, self._v = self._stepper.projected(0.0, start, rates)
        self._tau = np.zeros(robot.nv)
        self._steps = 0
        self._work = 0.0
        self._initial_energy = self.energy
        self._measurement = Measurement(self.sensors, self.dt, self._q, self._v)

    def set_wrench(self, link: str, wrench: ArrayLike) -> None:
        """Let [force; torque] act at a link's origin, world axes, from now on."""
        known(self.robot.name, 'link', link, self.robot.link_names)
        self._wrenches[link] = vector(self.robot.name, f"wrench on link '{link}'", wrench, 6)
        if not self._wrenches[link].any():
            del self._wrenches[link]

    def step(self, tau: ArrayLike, steps: int = 1) -> None:
        """Apply the torques `tau`, constant, for `steps` steps; on an error the state is kept."""
        torque = self._vector('tau', tau, self.robot.nv)
        free = self._free and not self._wrenches
        acting: Any = torque if free else lambda t, q, v: self._total(torque, t, q, v)
        q, v, work = self._q, self._v, self._work
        power = self._total(torque, self.t, q, v) @ v
        seen: list[tuple[Array, Array]] = []
        for k in range(steps):
            q, v = self._advance((self._steps + k) * self.dt, q, v, acting, self.dt)
            before, power = power, self._total(torque, (self._steps + k + 1) * self.dt, q, v) @ v
            work += 0.5 * self.dt * float(before + power)
            # a sum is finite only if every term is
            if not math.isfinite(q.sum() + v.sum()):
                raise FloatingPointError(
                    f"the motion of robot '{self.robot.name}' diverged at "
                    f't = {(self._steps + k + 1) * self.dt:g} s; take a smaller dt than '
                    f'{self.dt:g} s')
            if self._watches:
                seen.append((q, v))
        self._q, self._v, self._tau, self._work = q, v, torque, work
        self._steps += steps
        for state in seen:
            self._measurement.take(*state)

    def measure(self, steps: int = 1) -> None:
        """Let the sensors measure the state as it is, `steps` times."""
        for _ in range(steps if self._watches else 0):
            self._measurement.take(self._q, self._v)

    def _total(self, tau: Array, t: float, q: Array, v: Array) -> Array:
        if self._free and not self._wrenches:
            return tau
        total = tau - self._damping * v - self._friction * np.tanh(v / SMOOTH)
        if self._wrenches:
            total = total + self.robot._generalised(q, self._wrenches)
        return total if self._forces is None else total + self._forces(t, q, v)

    @property
    def t(self) -> float:
        """Time in seconds since the start or the last reset."""
        return self._steps * self.dt

    @property
    def q(self) -> Array:
        """Configuration (a copy)."""
        return self._q.copy()

    @property
    def v(self) -> Array:
        """Velocity (a copy)."""
        return self._v.copy()

    @property
    def a(self) -> Array:
        """Acceleration here under the torques of the last step."""
        return self.robot.constrained_dynamics(self._q, self._v, self._here(), self.t).acceleration

    @property
    def reactions(self) -> Reactions:
        """Forces in joints and constraints under the torques of the last step."""
        pushes = self.robot._generalised(self._q, self._wrenches)
        return self.robot.reactions(self._q, self._v, self._here() - pushes, self.t,
                                    self._wrenches)

    @property
    def joint_wrenches(self) -> dict[str, Array]:
        """Forces in the joints, see Robot.joint_wrenches, those of the constraints counted in."""
        return self.reactions.joints

    @property
    def measured(self) -> tuple[Array, Array]:
        """Return q and v as the sensors tell them now."""
        return self._measurement.state if self._watches else (self.q, self.v)

    @property
    def energies(self) -> Energies:
        """Kinetic energy, weight, springs (none here: `forces` are outside), in joules."""
        return Energies(float(self.robot.kinetic_energy(self._q, self._v)),
                        float(self.robot.potential_energy(self._q)), 0.0)

    @property
    def energy(self) -> float:
        """Kinetic plus potential energy, in joules; springs among `forces` are not in it."""
        return math.fsum(self.energies)

    @property
    def balance(self) -> float:
        """
        Energy gained less the work of torques, forces, wrenches and damping, in joules.

        The work is summed by the trapezoidal rule; what drives (Driven) do is left over.
        """
        return self.energy - self._initial_energy - self._work

    @property
    def residual(self) -> float:
        """Largest residual of the constraints now, in m or rad."""
        return float(np.abs(self.robot.constraint_residual(self._q, self.t)).max(initial=0.0))

    @property
    def drift(self) -> tuple[float, float]:
        """Residuals of positions and of velocities that the last step left, before projection."""
        return self._stepper.drift

    def _here(self) -> Array:
        return self._total(self._tau, self.t, self._q, self._v)

    def _vector(self, name: str, values: ArrayLike, size: int) -> Array:
        array = vector(self.robot.name, name, values, size, self.robot.joint_names).copy()
        if array.ndim != 1 or not np.isfinite(array).all():
            raise ValueError(f'{name} must be {size} finite numbers for robot '
                             f"'{self.robot.name}', "
                             f'not {array.tolist()}')
        return array
