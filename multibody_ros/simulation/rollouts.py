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

"""Many simulations at once: one a lane of the vector registers, blocks of lanes on threads."""

from __future__ import annotations

from concurrent.futures import as_completed, ThreadPoolExecutor
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .engine import engine_of
from .physics import Physics
from .progress import bar
from .schemes import SCHEMES
from .state import divergence, first_states
from .structure import WORK
from ..compiler.machine import aligned, lanes

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


class Rollouts(NamedTuple):
    """Times (samples,), q, v and works (rollouts, samples, ...), and when each diverged (inf)."""

    t: Array
    q: Array
    v: Array
    work: Array
    diverged: Array


def rollouts(robot: Robot, x0: ArrayLike, controls: ArrayLike, dt: float = 1e-3,
             integrator: str = 'rk4', *, steps: int | None = None, every: int = 1,
             threads: int = 1, progress: bool = False, keep_diverged: bool = False,
             **physics: Any) -> Rollouts:
    """
    Run independent simulations from rows x0 = (q, v).

    controls: torques (rollouts, steps, nv), or (steps, nv) for all alike, or (rollouts, nv) held
    for `steps` steps. Samples are kept after each `every` steps, 0 for the last state only. A
    rollout that diverges is an error, or with keep_diverged NaN in the result and noted there.
    physics: see `Physics`. The results do not depend on the number of threads.
    """
    states = _rows(robot, x0)
    torques, steps = _torques(robot, controls, len(states), steps)
    if not (isinstance(dt, (int, float)) and 0.0 < dt < math.inf):
        raise ValueError(f'dt must be a positive time in seconds, not {dt}')
    if integrator not in SCHEMES:
        raise ValueError(f'no integrator {integrator!r}, only: ' + ', '.join(SCHEMES))
    if not (isinstance(every, int) and 0 <= every <= max(1, steps)):
        raise ValueError(f'every must be a whole number from 0 to {steps}, not {every!r}')
    if not (isinstance(threads, int) and threads > 0):
        raise ValueError(f'threads must be a whole number above 0, not {threads!r}')
    return _Batch(robot, Physics(**physics), dt, integrator, states, torques, steps, every).run(
        threads, progress, keep_diverged)


class _Batch:
    """Rollouts cut into blocks of lanes."""

    def __init__(self, robot: Robot, physics: Physics, dt: float, integrator: str, states: Array,
                 torques: Array, steps: int, every: int) -> None:
        structure, self.values = physics.build(robot, dt)
        self.robot, self.dt, self.steps, self.every = robot, dt, steps, every or max(1, steps)
        self.engine = engine_of(robot, structure, integrator)
        self.width = lanes()
        self.function = self.engine.machine.function(self.width)
        nq, links = robot.nq, list(structure.elastic)
        q, v = states[:, :nq], states[:, nq:]
        theta = q[:, [structure.position[i] for i in links]]
        self.first = first_states(robot, structure, self.values, np.hstack([q, theta]),
                                  np.hstack([v, v[:, links]]))
        self.torques = torques
        self.samples = steps // self.every
        self.stored = np.empty((len(states), self.samples, self.first.shape[1]))
        self.last = np.empty_like(self.first)
        self.done = np.empty(len(states))

    def run(self, threads: int, progress: bool, keep_diverged: bool) -> Rollouts:
        starts = range(0, len(self.first), self.width)
        with ThreadPoolExecutor(threads) as pool:
            jobs = [pool.submit(self._block, start) for start in starts]
            for job in bar(as_completed(jobs), len(jobs), progress):
                job.result()
        s, robot = self.engine.structure, self.robot
        diverged = np.where(self.done < self.steps, (self.done + 1.0) * self.dt, math.inf)
        if not keep_diverged and np.isfinite(diverged).any():
            row = int(np.argmin(diverged))
            raise divergence(robot, s, self.last[row], float(diverged[row]), self.dt,
                             f' in rollout {row}')
        t = self.dt * self.every * np.arange(1.0, self.samples + 1.0)
        self.stored[t[None, :] >= diverged[:, None] - 0.5 * self.dt] = math.nan
        return Rollouts(t, self.stored[:, :, :robot.nq],
                        self.stored[:, :, s.nQ:s.nQ + robot.nv],
                        self.stored[:, :, -len(WORK):], diverged)

    def _block(self, start: int) -> None:
        """Run one block; the last is filled up with copies of its first row."""
        width, size = self.width, self.first.shape[1]
        count = min(width, len(self.first) - start)
        rows = [start + k if k < count else start for k in range(width)]
        state = aligned(size, width)
        state[:] = self.first[rows].T
        control = aligned(self.torques.shape[1], self.robot.nv, width)
        control[:] = self.torques[rows if len(self.torques) > 1 else [0]].transpose(1, 2, 0)
        stride = self.robot.nv * width if control.shape[0] > 1 else 0
        stored, done = aligned(self.samples, size, width), aligned(width)
        self.function(self.steps, self.every, stride, self.engine.parameters.ctypes.data,
                      self.values.ctypes.data, control.ctypes.data, state.ctypes.data,
                      done.ctypes.data, stored.ctypes.data)
        self.stored[start:start + count] = stored.transpose(2, 0, 1)[:count]
        self.last[start:start + count] = state.T[:count]
        self.done[start:start + count] = done[:count]


def _rows(robot: Robot, x0: ArrayLike) -> Array:
    states = np.array(x0, dtype=np.float64)
    size = robot.nq + robot.nv
    if states.ndim != 2 or states.shape[1] != size or not len(states):
        raise ValueError(f'x0 must be rows of {robot.nq} positions and {robot.nv} velocities for '
                         f"robot '{robot.name}', not shape {states.shape}")
    if not np.isfinite(states).all():
        row, column = np.argwhere(~np.isfinite(states))[0]
        raise ValueError(f'x0 is {states[row, column]} in row {row}, column {column}')
    return states


def _torques(robot: Robot, controls: ArrayLike, rows: int,
             steps: int | None) -> tuple[Array, int]:
    """Return torques (1 or rows, 1 or steps, nv) and the number of steps."""
    torques = np.asarray(controls, dtype=np.float64)
    nv = robot.nv
    if steps is not None and torques.shape == (rows, nv):
        torques = torques[:, None, :]
    elif torques.ndim == 2 and torques.shape[1] == nv and steps in (None, len(torques)):
        torques, steps = torques[None], len(torques)
    elif (torques.ndim == 3 and torques.shape[::2] == (rows, nv)
            and steps in (None, torques.shape[1])):
        steps = torques.shape[1]
    else:
        raise ValueError(
            f'controls must have shape ({rows}, steps, {nv}), (steps, {nv}), or ({rows}, {nv}) '
            f"with steps given, for robot '{robot.name}', not {torques.shape}")
    if not np.isfinite(torques).all():
        row, step, joint = np.argwhere(~np.isfinite(torques))[0]
        raise ValueError(f'controls are {torques[row, step, joint]} in row {row}, step {step}, at '
                         f"velocity {joint} of robot '{robot.name}'")
    if not isinstance(steps, int) or steps < 1:
        raise ValueError(f'steps must be a whole number above 0, not {steps!r}')
    return torques, steps
