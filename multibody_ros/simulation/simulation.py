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

"""The simulation: torque in, state out. The only owner of state in this package."""

from __future__ import annotations

import math
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .integrators import INTEGRATORS

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


class Simulation:
    """
    A robot moving under joint torques, friction not yet counted.

    `q` and `v` are copies: changing them does not move the robot, `reset` does.
    """

    def __new__(cls, robot: Robot, *arguments: Any, **options: Any) -> Any:
        """Return a ConstrainedSimulation, which works alike, for a robot with constraints."""
        if robot.constraints:
            from .closed import ConstrainedSimulation
            return ConstrainedSimulation(robot, *arguments, **options)
        return super().__new__(cls)

    def __init__(self, robot: Robot, q: ArrayLike | None = None, v: ArrayLike | None = None,
                 dt: float = 1e-3, integrator: str = 'rk4') -> None:
        """Start at time 0 from `q` (neutral), `v` (rest), with steps of `dt` seconds."""
        if not (dt > 0.0 and math.isfinite(dt)):
            raise ValueError(f'dt must be a positive time in seconds, not {dt}')
        if integrator not in INTEGRATORS:
            raise ValueError(f'no integrator {integrator!r}, only: ' + ', '.join(INTEGRATORS))
        self.robot = robot
        self.dt = float(dt)
        self.integrator = integrator
        self._advance = INTEGRATORS[integrator]
        self.reset(q, v)

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Go back to time 0, to configuration `q` (neutral) and velocity `v` (rest)."""
        robot = self.robot
        self._q = robot.neutral() if q is None else self._vector('q', q, robot.nq)
        self._v = np.zeros(robot.nv) if v is None else self._vector('v', v, robot.nv)
        self._tau = np.zeros(robot.nv)
        self._steps = 0

    def step(self, tau: ArrayLike, steps: int = 1) -> None:
        """Apply the torques `tau`, constant, for `steps` steps; on an error the state is kept."""
        tau = self._vector('tau', tau, self.robot.nv)
        q, v = self._q, self._v
        for k in range(1, steps + 1):
            q, v = self._advance(self.robot, q, v, tau, self.dt)
            # a sum is finite only if every term is: one pass instead of two
            if not math.isfinite(q.sum() + v.sum()):
                self._explain(q, v, self._steps + k)
        self._q, self._v, self._tau = q, v, tau
        self._steps += steps

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
        return self.robot.forward_dynamics(self._q, self._v, self._tau)

    @property
    def energy(self) -> float:
        """Kinetic plus potential energy, in joules."""
        return float(self.robot.kinetic_energy(self._q, self._v)
                     + self.robot.potential_energy(self._q))

    def _vector(self, name: str, values: ArrayLike, size: int) -> Array:
        array = np.array(values, dtype=np.float64)
        if array.shape != (size,):
            raise ValueError(f'{name} must have {size} entries for robot {self.robot.name!r}, '
                             f'not shape {array.shape}')
        if not np.isfinite(array).all():
            raise ValueError(f'{name} is {self._first_bad(name, array)}')
        return array

    def _first_bad(self, name: str, values: Array) -> str:
        """Name the joint of the first entry of `values` that is not finite, with the value."""
        places = self.robot.q_index if name == 'q' else self.robot.v_index
        index = int(np.argmin(np.isfinite(values)))
        joint = next(j for j, place in places.items() if place.start <= index < place.stop)
        return f'{values[index]} at joint {joint!r}'

    def _explain(self, q: Array, v: Array, steps: int) -> None:
        name, values = ('q', q) if not np.isfinite(q).all() else ('v', v)
        if not np.isfinite(values).all():
            raise FloatingPointError(
                f'the motion diverged: {name} is {self._first_bad(name, values)} at '
                f't = {steps * self.dt:g} s; take a smaller dt than {self.dt:g} s')
