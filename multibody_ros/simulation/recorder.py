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

"""What is seen of a simulation while it runs: measurements and samples for the log."""

from __future__ import annotations

from typing import Callable, Mapping, Sequence, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .engine import Anatomy
from .log import Log
from .sensors import Measurement, Sensors
from .structure import Structure

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


class Recorder:
    """Sees the state after every step, if it watches at all."""

    def __init__(self, robot: Robot, structure: Structure, dt: float, sensors: Sensors,
                 log_every: int) -> None:
        """Measure with `sensors`; keep a sample after each `log_every` steps, 0 for none."""
        if not isinstance(log_every, int) or log_every < 0:
            raise ValueError('log_every must be a whole number of steps, 0 or more, not '
                             f'{log_every!r}')
        self.robot, self.structure, self.dt = robot, structure, dt
        self.sensors, self.log_every = sensors, log_every
        self.watches = log_every > 0 or sensors != Sensors()

    def start(self, state: Array, tau: Array) -> None:
        """Forget everything; the robot is in `state` at time 0."""
        self._measurement = Measurement(self.sensors, self.dt, *self._state(state))
        self._samples = [(0.0, state.copy(), tau)]

    def take(self, states: Array, control: Array, before: int) -> None:
        """See the states after each of the steps that follow step `before`."""
        for k, state in enumerate(states):
            self._measurement.take(*self._state(state))
            if self.log_every and (before + k + 1) % self.log_every == 0:
                self._samples.append(((before + k + 1) * self.dt, state,
                                      control[k if len(control) > 1 else 0].copy()))

    def look(self, state: Array, steps: int) -> None:
        """Measure a state that stays as it is, as often as there are `steps`."""
        for _ in range(steps if self.watches else 0):
            self._measurement.take(*self._state(state))

    @property
    def measured(self) -> tuple[Array, Array]:
        """Return q and v as the sensors tell them."""
        return self._measurement.state

    def log(self, run: Callable[..., Sequence[Array]]) -> Log:
        """Return the samples; run(name, *arrays) are the compiled functions."""
        if not self.log_every:
            raise ValueError('nothing is recorded: give log_every to Simulation')
        s, nq, nv = self.structure, self.robot.nq, self.robot.nv
        t, states, tau = (np.array(x) for x in zip(*self._samples))
        ends = np.cumsum([s.nQ, s.nV, len(s.modal)])
        Q, V, m, w = (np.ascontiguousarray(x) for x in np.split(states, ends, axis=1))
        anatomy = Anatomy(*run('anatomy', Q, V, m, tau))
        arrays = {'t': t, 'q': Q[:, :nq], 'v': V[:, :nv], 'a': anatomy.acceleration[:, :nv],
                  'tau': tau, 'theta': Q[:, nq:], 'omega': V[:, nv:],
                  **{name: x[:, :nv] for name, x in zip(anatomy._fields[1:], anatomy[1:])},
                  'energies': np.stack(run('energies', Q, V), axis=1), 'work': w}
        if not s.elastic:
            del arrays['theta'], arrays['omega']
        return Log(entries(self.robot.v_index), entries(self.robot.q_index), arrays)

    def _state(self, state: Array) -> tuple[Array, Array]:
        nQ = self.structure.nQ
        return state[:self.robot.nq], state[nQ:nQ + self.robot.nv]


def entries(index: Mapping[str, slice]) -> tuple[str, ...]:
    """Return a name for every entry of q or v."""
    return tuple(name if place.stop - place.start == 1 else f'{name}[{k}]'
                 for name, place in index.items() for k in range(place.stop - place.start))
