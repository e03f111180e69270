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

"""The simulation: it alone owns the state."""

from __future__ import annotations

from collections import deque
import math
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .adaptive import Adaptive
from .engine import Anatomy, Energies, engine_of
from .log import Log
from .physics import checked_wrench, Physics
from .recorder import Recorder
from .schemes import SCHEMES
from .sensors import Sensors
from .state import divergence, first_states, joint_of, Torques, vector_of
from .structure import WORK
from ..arguments import known
from ..compiler.layout import address
from ..compiler.machine import aligned, Steps

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


class Simulation:
    """
    A robot moving under joint torques, with the mechanisms of `Physics`.

    `q` and `v` are copies: changing them does not move the robot, `reset` does.
    """

    def __new__(cls, robot: Robot, *arguments: Any, **options: Any) -> Any:
        """Return a ConstrainedSimulation, which works alike, for a robot with constraints."""
        if robot.constraints:
            from .closed import ConstrainedSimulation
            return ConstrainedSimulation(robot, *arguments, **options)
        return super().__new__(cls)

    def __init__(self, robot: Robot, q: ArrayLike | None = None, v: ArrayLike | None = None,
                 dt: float = 1e-3, integrator: str = 'rk4', *, tolerance: float = 1e-9,
                 command_delay: int = 0, sensors: Sensors | None = None, log_every: int = 0,
                 **physics: Any) -> None:
        """
        Start at time 0 from `q` (neutral), `v` (rest), with steps of `dt` seconds.

        integrator: euler, semi_implicit_euler, rk4, symplectic, or adaptive, which keeps its error
        below `tolerance` (relative) however long dt is. physics: see `Physics`. With command_delay
        a torque acts that many steps after it was given, zero before; `sensors` are what
        `measured` tells; `log` holds a sample after each log_every steps.
        """
        if not (isinstance(dt, (int, float)) and 0.0 < dt < math.inf):
            raise ValueError(f'dt must be a positive time in seconds, not {dt}')
        if integrator not in (*SCHEMES, 'adaptive'):
            raise ValueError(f'no integrator {integrator!r}, only: '
                             + ', '.join((*SCHEMES, 'adaptive')))
        if not (isinstance(tolerance, float) and 1e-13 <= tolerance < 1.0):
            raise ValueError(f'tolerance must be a number from 1e-13 to 1, not {tolerance!r}')
        self.tolerance = tolerance
        if not isinstance(command_delay, int) or command_delay < 0:
            raise ValueError('command_delay must be a whole number of steps, 0 or more, not '
                             f'{command_delay!r}')
        self.robot, self.dt, self.integrator = robot, float(dt), integrator
        self.command_delay = command_delay
        self.sensors, self.log_every = sensors or Sensors(), log_every
        self._physics = Physics(**physics)
        self._build()
        self._recorder = Recorder(robot, self.structure, self.dt, self.sensors, log_every)
        self.reset(q, v)

    def _build(self) -> None:
        """Compile for the mechanisms that are on."""
        self.structure, self.values = self._physics.build(self.robot, self.dt)
        adaptive = self.integrator == 'adaptive'
        self.engine = engine_of(self.robot, self.structure, 'rk4' if adaptive else self.integrator)
        self._torques = Torques(self.robot, self.structure)
        self._state, self._done = aligned(self.engine.machine.flow.state_size), aligned(1)
        # plain memory, read and copied in a fraction of numpy's time
        memories: Any = self._state.data, np.empty_like(self._state).data, self._done.data
        self._memory, self._before, self._done_memory = memories
        # Q, V, m, w
        sizes = list(self.engine.machine.flow.state.values())
        self._views = np.split(self._state, np.cumsum(sizes)[:-1])
        self._q, self._v = self._views[0][:self.robot.nq], self._views[1][:self.robot.nv]
        self._kernels: dict[str, Any] = {}
        self._adaptive = Adaptive(
            self.structure, self.values, self._kernel_run, self.robot._coordinates.quaternions(),
            self.tolerance) if adaptive else None
        self._run = None if adaptive else Steps(
            self.engine.machine.function(1), [address(self.engine.parameters),
                                              address(self.values)],
            address(self._state), address(self._done))

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None,
              theta: ArrayLike | None = None, omega: ArrayLike | None = None) -> None:
        """
        Go back to time 0, to configuration `q` (neutral) and velocity `v` (rest).

        theta, omega: motor positions and velocities of the elastic joints, those of the links
        unless given.
        """
        robot, s = self.robot, self.structure
        q = robot.neutral() if q is None else vector_of(robot, s, 'q', q, robot.nq)
        v = np.zeros(robot.nv) if v is None else vector_of(robot, s, 'v', v, robot.nv)
        robot.kinetic_energy(q, v)
        links = list(s.elastic)
        theta = q[[s.position[i] for i in links]] if theta is None else vector_of(
            robot, s, 'theta', theta, len(links))
        omega = v[links] if omega is None else vector_of(
            robot, s, 'omega', omega, len(links))
        Q, V = np.concatenate([q, theta]), np.concatenate([v, omega])
        self._state[:] = first_states(robot, s, self.values, Q[None], V[None])[0]
        self._tau = np.zeros(robot.nv)
        self._commands: deque[Array] = deque(
            [np.zeros(robot.nv)] * self.command_delay, self.command_delay or None)
        self._steps = 0
        self._initial_energy = math.fsum(self.energies)
        self._recorder.start(self._state, self._tau)

    def step(self, tau: ArrayLike, steps: int = 1) -> None:
        """
        Apply the torques `tau` for `steps` steps; on an error the state is kept.

        tau: nv numbers, held constant; or steps x nv, one row a step.
        """
        if not (isinstance(steps, (int, np.integer)) and steps >= 0):
            raise ValueError(f'steps must be a whole number, 0 or more, not {steps!r}')
        control = self._control(tau, int(steps))
        before = self._steps
        states = self._advance(control, int(steps), 1 if self._recorder.watches else 0)
        if states is not None:
            self._recorder.take(states, control, before)

    def measure(self, steps: int = 1) -> None:
        """Let the sensors measure the state as it is, `steps` times."""
        self._recorder.look(self._state, steps)

    @property
    def measured(self) -> tuple[Array, Array]:
        """Return q and v as the sensors tell them now."""
        return self._recorder.measured if self._recorder.watches else (self.q, self.v)

    @property
    def joint_wrenches(self) -> dict[str, Array]:
        """Forces in the joints under the wrenches of the moment, see Robot.joint_wrenches."""
        return self.robot.joint_wrenches(self.q, self.v, self.a, self._physics.wrenches)

    @property
    def log(self) -> Log:
        """Samples since the last reset: states, torques by cause, energies, works."""
        return self._recorder.log(self._kernel_run)

    def _advance(self, control: Array, steps: int, every: int) -> Array | None:
        """Run the machine code; return the states after each `every` steps, if not 0."""
        stored = np.empty((steps // every, len(self._state))) if every else None
        self._before[:] = self._memory
        self._done_memory[0] = 0.0
        if self._run is None:
            self._adapt(control, steps, every, stored)
        else:
            self._run(steps, every, control.shape[1] if len(control) > 1 else 0,
                      address(control), 0 if stored is None else address(stored))
        if self._done_memory[0] < steps:
            after = self._state.copy()
            self._memory[:] = self._before
            raise divergence(self.robot, self.structure, after,
                             self.t + (self._done_memory[0] + 1) * self.dt, self.dt)
        if steps:
            self._tau = control[-1].copy()
        self._steps += steps
        return stored

    def _adapt(self, control: Array, steps: int, every: int, stored: Array | None) -> None:
        """Do with SciPy what the machine code does."""
        solver = self._adaptive
        if solver is None:
            return
        solver.pieces.clear()
        chunk = 1 if len(control) > 1 else every or steps
        for first in range(0, steps, chunk):
            last = min(first + chunk, steps)
            tau = control[first if len(control) > 1 else 0]
            self._state[:] = solver.advance(
                self._state, tau, (last - first) * self.dt, self.t + first * self.dt)
            if not np.isfinite(self._state).all():
                return
            self._done_memory[0] = last
            if stored is not None and last % every == 0:
                stored[last // every - 1] = self._state

    def at(self, t: float) -> tuple[Array, Array]:
        """Return q and v at a time of the last call of `step` (integrator 'adaptive' only)."""
        if self._adaptive is None:
            raise ValueError(f"integrator {self.integrator!r} has no dense output, 'adaptive' has")
        y = self._adaptive.interpolated(t)
        n = self.structure.nQ
        return y[:self.robot.nq], y[n:n + self.robot.nv]

    def _control(self, tau: ArrayLike, steps: int) -> Array:
        """Return the torques as rows, one for all steps or one a step, delayed if need be."""
        rows = self._torques.rows(tau, steps)
        if not self.command_delay or not steps:
            return rows
        line = np.concatenate([np.array(self._commands),
                               np.broadcast_to(rows, (steps, self.robot.nv))])
        self._commands.extend(line[-self.command_delay:])
        return np.ascontiguousarray(line[:steps])

    def set_wrench(self, link: str, wrench: ArrayLike) -> None:
        """Let [force; torque] act at a link's origin, world axes, from now on."""
        known(self.robot.name, 'link', link, self.robot.link_names)
        F = checked_wrench(link, wrench)
        new = link not in self._physics.wrenches
        self._physics.wrenches = wrenches = {**self._physics.wrenches, link: F}
        if new:
            state = self._state
            self._build()
            self._state[:] = state
        else:
            place = 6 * list(wrenches).index(link)
            self.structure.named(self.values).wrench[place:place + 6] = F

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
    def theta(self) -> Array:
        """Motor positions of the elastic joints (a copy)."""
        return self._views[0][self.robot.nq:].copy()

    @property
    def omega(self) -> Array:
        """Motor velocities of the elastic joints (a copy)."""
        return self._views[1][self.robot.nv:].copy()

    @property
    def a(self) -> Array:
        """Acceleration here under the torques of the last step."""
        return self.anatomy.acceleration[:self.robot.nv]

    @property
    def sticking(self) -> tuple[str, ...]:
        """Joints held by friction or by a stop."""
        s = self.structure
        return tuple(joint_of(self.robot, s, i) for i, mode in zip(s.modal, self._views[2])
                     if mode == 0.0)

    @property
    def anatomy(self) -> Anatomy:
        """Acceleration and the forces behind it under the torques of the last step."""
        Q, V, m, _ = self._views
        return Anatomy(*self._kernel_run('anatomy', Q, V, m, self._tau))

    @property
    def energies(self) -> Energies:
        """Kinetic energy, weight, springs, in joules."""
        Q, V, _, _ = self._views
        return Energies(*(float(x) for x in self._kernel_run('energies', Q, V)))

    @property
    def energy(self) -> float:
        """Kinetic plus potential energy, springs included, in joules."""
        return math.fsum(self.energies)

    @property
    def work(self) -> dict[str, float]:
        """Joules since the start: work of the motors and wrenches; losses (positive) by cause."""
        return dict(zip(WORK, self._views[3].tolist()))

    @property
    def balance(self) -> float:
        """Energy gained less work done plus losses since the start, in joules: zero by theory."""
        work = self.work
        return math.fsum([self.energy, -self._initial_energy, -work['input'], -work['wrenches'],
                          work['damping'], work['friction'], work['stops']])

    def _kernel_run(self, name: str, *inputs: Array) -> list[Array]:
        if name not in self._kernels:
            self._kernels[name] = self.engine.kernel(name, self.values)
        rows = inputs[0].shape[0] if inputs[0].ndim > 1 else None
        outputs, _ = self._kernels[name].run([np.ascontiguousarray(x) for x in inputs], rows)
        return list(outputs)
