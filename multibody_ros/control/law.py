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

"""What all control laws share: compiled equations, a guard, and the torque's anatomy."""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping, NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bounds import bound, joint_at
from .compiled import Compiled
from .safety import avoidance, finite, limited, protected, Safety, Torque
from .state import State
from .trajectory import minimum_jerk, Trajectory
from .vectors import add, dot, magnitude, maximum, minus, Vector
from ..compiler.functions import where
from ..compiler.program import Input, Output, Program
from ..model.finding import choices

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]
ROWS = len(Torque._fields) + 1
#: what control.closed has for mechanisms with loops
MECHANISM_LAWS = ('MechanismComputedTorque', 'MechanismGravityCompensation', 'MechanismHold')


class Answer(NamedTuple):
    """What one run of the compiled law gives."""

    torque: Array
    #: the terms, the torque, the tracking error, and what a law notes besides
    record: Array
    #: the largest tracking error as a share of its limit
    excess: float


class Outcome(NamedTuple):
    """What the equations of a law give: terms by name, the error they act on, and notes."""

    terms: Mapping[str, Vector]
    error: Vector = ()
    notes: Vector = ()


class Setting:
    """A number or vector of a law that may be changed at any time: the compiled code reads it."""

    def __init__(self, check: Callable[[Robot, str, ArrayLike], Array]) -> None:
        """Take what makes the array from a name and what users give, or complains (see bounds)."""
        self.check = check

    def __set_name__(self, owner: type, name: str) -> None:
        """Keep the name."""
        self.name = name

    def __get__(self, law: Any, owner: type | None = None) -> Any:
        """Return the array the compiled code reads."""
        return self if law is None else self._array(law)

    def __set__(self, law: Any, values: ArrayLike) -> None:
        """Change the numbers in it."""
        self._array(law)[...] = self.check(law.robot, self.name, values)

    def _array(self, law: Any) -> Array:
        settings: dict[str, Array] = law._settings
        if self.name not in settings:
            own = [name for name in settings if isinstance(getattr(type(law), name, 0), Setting)]
            raise AttributeError(f"{type(law).__name__} has no setting '{self.name}', only: "
                                 + ', '.join(own))
        return settings[self.name]


class Law:
    """
    A control law for trees: time and state in, torque out.

    A kind of law writes its `equations` over scalars; they are compiled together with the guard
    (see Safety). The first torque begins at the weight of the arm, and where time goes back the
    law begins anew.
    """

    #: the law of control.closed that does the same for mechanisms with loops, if there is one
    mechanism_law = ''

    effort = Setting(bound)
    rates = Setting(bound)

    def __init__(self, robot: Robot, safety: Safety | None, settings: Mapping[str, ArrayLike],
                 reference: Mapping[str, int], errors: int = 0, tracking: ArrayLike = math.inf,
                 notes: int = 0, kind: str = '') -> None:
        """
        Compile the equations for a robot.

        `settings` are the numbers the equations read, `reference` names the arrays that come with
        every call and gives their sizes, `errors` is the length of the tracking error and
        `tracking` its limit, `notes` how many numbers the law notes besides; `kind` tells apart
        laws of one class whose equations differ.
        """
        if robot.constraints:
            raise self._no_tree(robot)
        self.robot = robot
        self.safety = Safety() if safety is None else safety
        safe = self.safety
        own = {'effort': safe.efforts(robot), 'rates': safe.rates(robot),
               'tracking': np.full(errors, math.inf), 'clock': np.array([math.inf, 1.0, 0.0])}
        arrays = {**{name: self._checked(name, x) for name, x in settings.items()}, **own}
        self._flat = np.concatenate([np.ravel(x) for x in arrays.values()])
        self._settings: dict[str, Array] = {}
        self._places: dict[str, slice] = {}
        for name, values in arrays.items():
            start = sum(x.size for x in self._settings.values())
            self._places[name] = slice(start, start + values.size)
            self._settings[name] = self._flat[self._places[name]].reshape(values.shape)
        self._limit = np.broadcast_to(np.asarray(
            tracking if safe.tracking is None else safe.tracking, dtype=np.float64), (errors,))
        self._clock = self._settings['clock']
        self._stops = safe.stops(robot) if safe.limit_rate > 0.0 else []
        size = ROWS * robot.nv + errors + notes
        inputs = {'q': robot.nq, 'v': robot.nv, 'before': size, **reference}
        program = Program(
            type(self).__name__,
            (Input('parameters', robot._shared.size, True),
             Input('settings', self._flat.size, True),
             *(Input(name, n) for name, n in inputs.items())),
            (Output('torque', (robot.nv,)), Output('record', (size,)), Output('excess', ())),
            self._guarded, guarded=True)
        key = repr((kind, self._places, self._stops, safe.limit_rate, safe.stop_rate))
        self._compiled = Compiled(robot, program, key, self._flat, Answer)
        self._run = self._compiled.function
        self._reference: tuple[Array, ...] = tuple(np.zeros(n) for n in reference.values())
        self._errors = slice(ROWS * robot.nv, ROWS * robot.nv + errors)
        self._latest = self._before = np.zeros(size)
        self._arguments: tuple[Array, ...] = ()
        self.stopped = ''
        self.trajectory: Trajectory | None = None
        self._held: Trajectory | None = None
        self._t = -math.inf
        self._starting = True

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Return the terms for the state `x`, the settings `k` and the reference."""
        raise NotImplementedError

    def reference(self, t: float, q: Array) -> tuple[Array, ...]:
        """Return what the equations take as their reference at time `t`."""
        return self._reference

    def torque(self, t: float, q: Array, v: Array) -> Array:
        """Return the joint torques for the state `q`, `v` at time `t` in seconds."""
        if self._t < t < math.inf:
            self._clock[0] = t - self._t
            self._before, self._t = self._latest, t
        elif t != self._t or t == -math.inf:
            if not math.isfinite(t):
                raise ValueError(f'time must be finite, not {t}')
            self.start()
            self._t = t
        if self._starting:
            self._ramp(t)
        if not self.stopped:
            self._reference = self.reference(t, q)
        answer: Answer = self._run(q, v, self._before, *self._reference)
        self._arguments = q, v
        self._latest = answer.record
        if self._starting or answer.excess > 1.0:
            self._judge(answer)
        return answer.torque

    def start(self) -> None:
        """
        Begin anew with the next call: from the weight of the arm, whatever happened before.

        A law without a trajectory then holds the pose it finds.
        """
        self.stopped = ''
        if self.trajectory is self._held:
            self.trajectory = None
        self._starting = True
        self._t = -math.inf
        self._clock[:] = math.inf, 1.0, 0.0
        self._settings['tracking'][:] = math.inf

    def stop(self, reason: str = 'stopped on request') -> None:
        """Brake and hold the weight from the next call on, until `start`."""
        self.stopped = reason
        self._clock[2] = 1.0

    @property
    def terms(self) -> Torque:
        """The anatomy of the last torque."""
        if not self._arguments:
            raise ValueError(f'{type(self).__name__} has given no torque yet')
        rows = self._rows(self._latest)
        if not self._compiled.loaded():
            return Torque(*rows[:-1])
        # the law is linear in the parameters: what the load needs is what the bare arm needs not
        bare = self._rows(self._compiled.bare(
            *self._arguments, self._before, *self._reference).record)
        names = Torque._fields
        bare[names.index('payload')] = (rows - bare)[:names.index('limiter')].sum(axis=0)
        bare[names.index('limiter')] = rows[names.index('limiter')]
        return Torque(*bare[:-1])

    @property
    def error(self) -> Array:
        """The tracking error of the last call, in rad or m."""
        return self._latest[self._errors].copy()

    def _no_tree(self, robot: Robot) -> ValueError:
        """Say why a robot with constraints is refused, and what to use."""
        there = self.mechanism_law or 'none of this kind, only: ' + ', '.join(MECHANISM_LAWS)
        return ValueError(
            f"{type(self).__name__} is for trees: robot '{robot.name}' has the constraints "
            f'{choices(c.name for c in robot.constraints)}, and joints without motors would get '
            f'torques. For mechanisms there is {there}')

    def _checked(self, name: str, values: ArrayLike) -> Array:
        setting = getattr(type(self), name, None)
        return setting.check(self.robot, name, values) if isinstance(setting, Setting) \
            else np.asarray(values, dtype=np.float64)

    def _rows(self, record: Array) -> Array:
        return record[:ROWS * self.robot.nv].reshape(ROWS, self.robot.nv).copy()

    def _ramp(self, t: float) -> None:
        """Let the law take over from holding the weight."""
        if self._clock[0] == math.inf:
            self._begin = t
        ramp = self.safety.ramp_time
        self._clock[1] = minimum_jerk((t - self._begin) / ramp)[0] if ramp > 0.0 else 1.0

    def _judge(self, answer: Answer) -> None:
        """Count the tracking error from the start on, and stop where it is too large."""
        limit = self._settings['tracking']
        if self._starting:
            if self._clock[0] == math.inf:
                limit[:] = self._limit + np.abs(self.error)
            self._starting = self._clock[1] < 1.0
        if answer.excess > 1.0 and not self.stopped:
            worst = int(np.argmax(np.abs(self.error) / limit))
            self.stop(f'tracking error {self.error[worst]:.4g} at {self._error_name(worst)}, '
                      f'limit {limit[worst]:.4g}, at t = {self._t:g} s')

    def _error_name(self, index: int) -> str:
        return f"joint '{joint_at(self.robot, index)}'"

    def _guarded(self, parameters: Vector, settings: Vector, q: Vector, v: Vector,
                 before: Vector, *reference: Vector) -> Any:
        """Record the equations and the guard around them."""
        x = State(self.robot._programs, parameters, q, v)
        k = {name: settings[place] for name, place in self._places.items()}
        outcome = self.equations(x, k, *reference)
        excess: Any = 0.0
        for e, limit in zip(outcome.error, k['tracking']):
            excess = maximum(excess, magnitude(e) / limit)
        dt, weight, stop = k['clock']
        running = where(1.0, maximum(excess, stop + stop), 0.0, 1.0)
        terms = protected(x, outcome.terms, running, weight, self.safety.stop_rate)
        tau = add(*terms.values())
        if self._stops:
            terms['avoidance'] = avoidance(x, minus(tau, terms['friction']), self._stops,
                                           self.safety.limit_rate)
            tau = add(tau, terms['avoidance'])
        nv = len(v)
        reach = [rate * dt for rate in k['rates']]
        bounded = limited(tau, before[(ROWS - 1) * nv:ROWS * nv], reach, k['effort'])
        terms['limiter'] = minus(bounded, tau)
        record = [*terms.values(), bounded, list(outcome.error), list(outcome.notes)]
        good = where(0.0, x.definiteness, finite(tau), -1.0) if self._stops else finite(tau)
        for place in self.robot._programs.coordinates.quaternions():
            good = where(0.0, dot(q[place], q[place]), good, -1.0)
        return bounded, record, excess, good
