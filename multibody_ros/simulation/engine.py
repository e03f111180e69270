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

"""A robot's step of time in machine code: the flow of a scheme, with events if there are any."""

from __future__ import annotations

from typing import Any, NamedTuple, TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from . import events
from .forces import forces, geared, motion, spring_energy
from .schemes import Buffers, SCHEMES
from .structure import Structure, WORK
from ..compiler.flow import Flow, If, Node, While
from ..compiler.kernel import Kernel
from ..compiler.machine import Machine
from ..compiler.program import Input, Output, Program
from ..dynamics import crba, derivatives, energy, rnea

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]

#: buffers that stay from step to step
STATE = ('Q', 'V', 'm', 'w')


class Energies(NamedTuple):
    """In joules: kinetic energy, weight, springs."""

    kinetic: float
    gravity: float
    springs: float


class Anatomy(NamedTuple):
    """
    The acceleration and the generalised forces on V that give it, by cause.

    inertia = motor + damping + friction + springs + wrenches + stops - bias, with bias = C v + g.
    Friction is what it is while sliding and the reaction while holding.
    """

    acceleration: Array
    inertia: Array
    motor: Array
    damping: Array
    friction: Array
    springs: Array
    wrenches: Array
    stops: Array
    bias: Array
    gravity: Array


class Rates(NamedTuple):
    """Time derivatives of Q, V and w, and the reactions of held joints."""

    Q: Array
    V: Array
    w: Array
    reactions: Array


class Pivot(NamedTuple):
    """Whether a mode was wrong, and the modes with the first wrong one changed."""

    found: Array
    m: Array


class Jump(NamedTuple):
    """V, m, w after an impulse, what is still pending, and whether anything is."""

    V: Array
    m: Array
    w: Array
    pending: Array
    more: Array


def flow_of(buffers: Buffers, integrator: str) -> Flow:
    """Return what happens in a step."""
    s = buffers.structure
    scheme = SCHEMES[integrator](buffers)

    def start(flat: Any) -> Any:
        dt = buffers.named(flat).dt[0]
        return dt, dt, 0.0

    def take(Q1: Any, V1: Any, w1: Any) -> Any:
        return Q1, V1, w1

    body: list[Node] = [buffers.call(start, 'values', 'clock')]
    body += _with_events(buffers, scheme) if s.modal else [
        *scheme, buffers.call(take, 'Q1 V1 w1', 'Q V w')]
    state = {name: buffers.kinds[name] for name in STATE}
    shared = {name: buffers.kinds[name] for name in ('parameters', 'values')}
    work = {name: size for name, size in buffers.used.items()
            if name not in state and name not in shared and name != 'u'}
    return Flow(integrator, shared, 'u', state, work, tuple(body), 'status')


def _with_events(b: Buffers, scheme: list[Node]) -> list[Node]:
    """Try, watch, accept; or judge and try again until the step is over."""
    s = b.structure

    def watch(flat: Any, *rest: Any) -> Any:
        return events.watch(s, b.named(flat), *rest)

    def accept(clock: Any, Q: Any, V: Any, w: Any, Q1: Any, V1: Any, w1: Any) -> Any:
        result = events.accept(clock, Q, V, w, Q1, V1, w1)
        return result, result[-2]

    def judge(flat: Any, *rest: Any) -> Any:
        result = events.judge(s, b.named(flat), *rest)
        return result, result[s.nQ + s.nV + len(s.modal) + len(WORK) + 1]

    def jump(parameters: Any, flat: Any, *rest: Any) -> Any:
        return events.jump(b.tree, b.blocks(parameters), s, b.named(flat), *rest)

    return [While((
        *scheme,
        b.call(watch, 'values clock Q V m A R Q1 V1', 'alarm'),
        If('alarm', (
            b.call(judge, 'values clock Q V m w A R Q1 V1 w1',
                   'Q V m w clock pending any more'),
            If('any', (While((
                b.call(jump, 'parameters values Q V m w pending clock',
                       'V m w pending any'),
            ), 'any', events.INSTANT),)),
        ), (b.call(accept, 'clock Q V w Q1 V1 w1', 'Q V w clock more'),)),
    ), 'more', events.TRIES + 20)]


def engine_of(robot: Robot, structure: Structure, integrator: str) -> Engine:
    """Return the engine of a robot, the one made before if there is one."""
    return _engines.setdefault(robot, {}).setdefault(
        (structure, integrator), Engine(robot, structure, integrator))


class Engine:
    """The compiled functions of one robot with one set of mechanisms."""

    def __init__(self, robot: Robot, structure: Structure, integrator: str) -> None:
        """Prepare; code is made when first used and kept in the cache."""
        programs = robot._programs
        self.structure = structure
        self.parameters = robot._shared
        self.buffers = Buffers(programs.tree, programs._blocks, structure)
        key = programs.key + repr(structure).encode()
        self._key = key
        self.machine = Machine(flow_of(self.buffers, integrator), key)

    def kernel(self, name: str, values: Array) -> Kernel:
        """
        Return a function of one state with these values.

        'energies' of Q, V; 'anatomy' of Q, V, m, u; 'rates' of Q, V, m, u: Q', V', w' and the
        reactions; 'pivot' and 'jump': see events.py.
        """
        b, modal = self.buffers, len(self.structure.modal)
        table: dict[str, tuple[str, Any, list[tuple[int, ...]]]] = {
            'energies': ('Q V', Energies, [()] * 3),
            'anatomy': ('Q V m u', Anatomy, [(b.structure.nV,)] * len(Anatomy._fields)),
            'rates': ('Q V m u', Rates, [(b.kinds[x],) for x in 'QVwm']),
            'pivot': ('Q V m A R', Pivot, [(), (modal,)]),
            'jump': ('Q V m w pending clock', Jump, [*((b.kinds[x],) for x in 'Vmwm'), ()])}
        inputs, result, shapes = table[name]
        program = Program(
            f'simulation_{name}',
            (Input('parameters', b.kinds['parameters'], True), Input('values', len(values), True),
             *(Input(x, b.kinds[x]) for x in inputs.split())),
            tuple(Output(x, shape) for x, shape in zip(result._fields, shapes)),
            getattr(self, f'_{name}'))
        return Kernel(program, self._key, [self.parameters, values], result)

    def _rates(self, parameters: Any, flat: Any, Q: Any, V: Any, m: Any, u: Any) -> Any:
        s = self.structure
        moving = self.buffers.motion(parameters, flat, Q, V, m, u)
        positions = derivatives.position_rates(self.buffers.tree, Q[:s.nq], V[:s.nv])
        return ([*positions, *V[s.nv:]], moving.acceleration, moving.powers, moving.reactions)

    def _pivot(self, parameters: Any, flat: Any, *rest: Any) -> Any:
        return events.pivot(self.structure, self._named(flat), *rest)

    def _jump(self, parameters: Any, flat: Any, *rest: Any) -> Any:
        return events.jump(self.buffers.tree, self.buffers.blocks(parameters), self.structure,
                           self._named(flat), *rest)

    def _energies(self, parameters: Any, flat: Any, Q: Any, V: Any) -> Any:
        s, blocks, values = self.structure, self.buffers.blocks(parameters), self._named(flat)
        tree = geared(self.buffers.tree, s, values)
        kinetic = energy.kinetic_energy(tree, blocks, Q[:s.nq], V[:s.nv])
        for inertia, omega in zip(values.motor_inertia, V[s.nv:]):
            kinetic = kinetic + 0.5 * inertia * (omega * omega)
        return (kinetic, energy.potential_energy(tree, blocks, Q[:s.nq]),
                spring_energy(tree, s, values, Q))

    def _anatomy(self, parameters: Any, flat: Any, Q: Any, V: Any, m: Any, u: Any) -> Any:
        s, blocks, values = self.structure, self.buffers.blocks(parameters), self._named(flat)
        tree = geared(self.buffers.tree, s, values)
        acting = forces(tree, s, values, Q, V, m, u)
        moving = motion(self.buffers.tree, blocks, s, values, Q, V, m, u)
        q, v, motors = Q[:s.nq], V[:s.nv], [0.0] * len(s.elastic)
        bias = rnea.bias(tree, blocks, q, v) + motors
        gravity = crba.gravity(tree, blocks, q) + motors
        sprung = rnea.bias(tree, blocks, q, v, acting.at_frames) + motors
        pushed = rnea.bias(tree, blocks, q, v, acting.wrenches()) + motors
        springs = [x + y - z for x, y, z in zip(acting.springs, bias, sprung)]
        wrenches = [x - y for x, y in zip(sprung, pushed)]
        friction, stops = list(acting.friction), [0.0] * s.nV
        for k, i in enumerate(s.modal):
            held = (1.0 - m[k] * m[k]) * moving.reactions[k]
            limit = values.stiction[k] if i in s.dry else 0.0
            rubbed = events.smaller(limit, held)
            rubbed = -events.smaller(limit, -rubbed)
            friction[i] = friction[i] + rubbed
            stops[i] = held - rubbed
        inertia = [sum(x) - y for *x, y in zip(
            acting.motor, acting.damping, friction, springs, wrenches, stops, bias)]
        return (moving.acceleration, inertia, acting.motor, acting.damping, friction, springs,
                wrenches, stops, bias, gravity)

    def _named(self, flat: Any) -> Any:
        return self.structure.named(flat)


_engines: WeakKeyDictionary[Robot, dict[tuple[Structure, str], Engine]] = WeakKeyDictionary()
