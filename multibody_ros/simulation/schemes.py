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
Schemes that take Q and V over a step of time, as calls of programs on buffers.

Each tries a step of `clock[0]` seconds: from Q, V, w (the works) and the modes m under the torques
u to Q1, V1, w1; A and R are the acceleration and the reactions at its beginning.
"""

from __future__ import annotations

from dataclasses import replace
import math
from types import SimpleNamespace
from typing import Any, Callable, Sequence

from .forces import forces, free_factors, geared, motion
from .structure import Structure, WORK
from ..compiler.flow import Call, Node, While
from ..compiler.functions import where
from ..compiler.program import Input, Output, Program
from ..dynamics import derivatives, manifold, rnea
from ..dynamics.crba import mass_matrix
from ..dynamics.ltdl import solved
from ..dynamics.spatial import cross, sub
from ..model.tree import Tree

#: iterations of the implicit midpoint rule, and the change of velocity at which they end
ITERATIONS = 60
CONVERGED = 1e-12


class Buffers:
    """The buffers of a simulation and programs on them; 'Q2' is another buffer like 'Q'."""

    def __init__(self, tree: Tree, blocks: Callable[[Any], Any], structure: Structure) -> None:
        """Take the tree, the function from the parameters to those of the bodies, the physics."""
        s = structure
        self.tree, self.blocks, self.structure = tree, blocks, s
        modal = len(s.modal)
        self.kinds = {
            'parameters': 10 * (len(tree.bodies) + 1), 'values': s.size, 'u': s.nv, 'Q': s.nQ,
            'V': s.nV, 'A': s.nV, 'K': s.nV, 'p': s.nV, 'f': s.nV, 'm': modal, 'R': modal,
            'pending': modal, 'w': len(WORK), 'P': len(WORK), 'clock': 3, 'G': 1, 'status': 1,
            'alarm': 1, 'more': 1, 'any': 1}
        self.used: dict[str, int] = {}
        self._programs: dict[str, Program] = {}

    def call(self, function: Callable[..., Any], inputs: str, outputs: str) -> Call:
        """Return a call of `function` (known by its name) on buffers."""
        before, after = tuple(inputs.split()), tuple(outputs.split())
        for name in before + after:
            self.used[name] = self._size(name)
        name = function.__name__.strip('_')
        if name not in self._programs:
            self._programs[name] = Program(
                name, tuple(Input(x, self._size(x)) for x in before),
                tuple(Output(x, (self._size(x),)) for x in after), function)
        return Call(self._programs[name], before, after)

    def _size(self, name: str) -> int:
        return self.kinds[name.rstrip('0123456789')]

    def motion(self, parameters: Any, flat: Any, Q: Any, V: Any, m: Any, u: Any) -> Any:
        """Return A, P, R and the guard."""
        return motion(self.tree, self.blocks(parameters), self.structure, self.named(flat),
                      Q, V, m, u)

    def named(self, flat: Any) -> SimpleNamespace:
        """Return the run-time values by name."""
        return self.structure.named(flat)

    def moved(self, Q: Any, d: Any) -> list[Any]:
        """Return the positions after moving by `d`."""
        s = self.structure
        robot = manifold.integrate(self.tree, Q[:s.nq], d[:s.nv])
        return [*robot, *(q + x for q, x in zip(Q[s.nq:], d[s.nv:]))]

    def stage(self, state: str, results: str) -> Call:
        """Return the call that computes `results` = 'A P R G' at `state` = 'Q V'."""
        return self.call(self.motion, f'parameters values {state} m u', results)


def status(*numbers: Any) -> Any:
    """Return 0 if all numbers are finite, else NaN."""
    return where(sum((x * x for x in numbers), 0.0), math.inf, 0.0, math.nan)


def trusted(*guards: Any) -> Any:
    """Return 0 if all guards are positive, else NaN."""
    return sum((where(0.0, guard[0], 0.0, math.nan) for guard in guards), 0.0)


def along(x: Sequence[Any], h: Any, *slopes: Any) -> list[Any]:
    """Return x + h (sum of slopes)."""
    return [y + h * sum(rates[1:], rates[0]) for y, *rates in zip(x, *slopes)]


def _euler(b: Buffers) -> list[Node]:
    def step(clock: Any, Q: Any, V: Any, w: Any, A: Any, P: Any, G: Any) -> Any:
        h = clock[0]
        d = [h * (v + 0.5 * h * a) for v, a in zip(V, A)]
        Q1, V1 = b.moved(Q, d), along(V, h, A)
        return Q1, V1, along(w, h, P), status(*Q1, *V1) + trusted(G)
    return [b.stage('Q V', 'A P R G'), b.call(step, 'clock Q V w A P G', 'Q1 V1 w1 status')]


def _semi_implicit_euler(b: Buffers) -> list[Node]:
    def step(clock: Any, Q: Any, V: Any, w: Any, A: Any, P: Any, G: Any) -> Any:
        h = clock[0]
        V1 = along(V, h, A)
        Q1 = b.moved(Q, [h * v for v in V1])
        return Q1, V1, along(w, h, P), status(*Q1, *V1) + trusted(G)
    return [b.stage('Q V', 'A P R G'), b.call(step, 'clock Q V w A P G', 'Q1 V1 w1 status')]


def _rk4(b: Buffers) -> list[Node]:
    """
    Runge and Kutta's classical method in the form of Munthe-Kaas (1999).

    The stages live in the tangent space at Q: with Q(t) = Q exp(theta), theta' is V corrected by
    `chart_rate`, which is plain V but for floating joints.
    """
    def second(clock: Any, Q: Any, V: Any, A: Any) -> Any:
        h = 0.5 * clock[0]
        return b.moved(Q, [h * v for v in V]), along(V, h, A)

    def third(clock: Any, Q: Any, V: Any, A2: Any, V2: Any) -> Any:
        h = 0.5 * clock[0]
        K2 = chart_rate(b.tree, [h * v for v in V], V2)
        return b.moved(Q, [h * k for k in K2]), along(V, h, A2), K2

    def fourth(clock: Any, Q: Any, V: Any, A3: Any, V3: Any, K2: Any) -> Any:
        h = clock[0]
        K3 = chart_rate(b.tree, [0.5 * h * k for k in K2], V3)
        return b.moved(Q, [h * k for k in K3]), along(V, h, A3), K3

    def last(clock: Any, Q: Any, V: Any, w: Any, K2: Any, K3: Any, V4: Any, A: Any, A2: Any,
             A3: Any, A4: Any, P: Any, P2: Any, P3: Any, P4: Any, G: Any, G2: Any, G3: Any,
             G4: Any) -> Any:
        h = clock[0]
        K4 = chart_rate(b.tree, [h * k for k in K3], V4)
        Q1 = b.moved(Q, _weighted(h, V, K2, K3, K4))
        V1 = [v + d for v, d in zip(V, _weighted(h, A, A2, A3, A4))]
        w1 = [x + d for x, d in zip(w, _weighted(h, P, P2, P3, P4))]
        return Q1, V1, w1, status(*Q1, *V1) + trusted(G, G2, G3, G4)

    return [b.stage('Q V', 'A P R G'), b.call(second, 'clock Q V A', 'Q2 V2'),
            b.stage('Q2 V2', 'A2 P2 R2 G2'), b.call(third, 'clock Q V A2 V2', 'Q3 V3 K2'),
            b.stage('Q3 V3', 'A3 P3 R2 G3'), b.call(fourth, 'clock Q V A3 V3 K2', 'Q4 V4 K3'),
            b.stage('Q4 V4', 'A4 P4 R2 G4'),
            b.call(last, 'clock Q V w K2 K3 V4 A A2 A3 A4 P P2 P3 P4 G G2 G3 G4',
                   'Q1 V1 w1 status')]


def _weighted(h: Any, k1: Any, k2: Any, k3: Any, k4: Any) -> list[Any]:
    sixth = h * (1.0 / 6.0)
    return [sixth * (a + 2.0 * (b + c) + d) for a, b, c, d in zip(k1, k2, k3, k4)]


def _symplectic(b: Buffers) -> list[Node]:
    """
    Return the implicit midpoint rule in q and the momenta p = M v, solved by iteration.

    q' = v, p' = r - g + C^T v, with C^T v = M' v - C v. Symplectic, symmetric, of order 2
    (Hairer, Lubich, Wanner, Geometric Numerical Integration, theorem VI.3.5).
    """
    s = b.structure
    if any(body.kind == 'floating' for body in b.tree.bodies):
        raise ValueError("integrator 'symplectic' works on robots without floating joints: its "
                         "coordinates are canonical; take 'rk4'")

    def momentum(parameters: Any, flat: Any, Q: Any, V: Any) -> Any:
        values = b.named(flat)
        M = mass_matrix(geared(b.tree, s, values), b.blocks(parameters), Q[:s.nq])
        p = [sum((x * v for x, v in zip(row, V)), 0.0) for row in M]
        return p, [B * v for B, v in zip(values.motor_inertia, V[s.nv:])], V, 1.0

    def middle(parameters: Any, flat: Any, clock: Any, Q: Any, K: Any, p: Any, f: Any, P: Any,
               more: Any, m: Any, u: Any) -> Any:
        last = (*K, *f, *P)
        h, values = 0.5 * clock[0], b.named(flat)
        Qm = [q + h * v for q, v in zip(Q, K)]
        f, P = _force_of_momentum(b, b.blocks(parameters), values, Qm, K, m, u)
        Vm = _velocity(b, parameters, values, Qm, along(p, h, f), m)
        change = sum(((x - y) * (x - y) for x, y in zip(Vm, K)), 0.0)
        size = sum((x * x for x in Vm), 0.0) + 1e-20
        again = where(CONVERGED * CONVERGED * size, change, 1.0, 0.0)
        # a lane that has converged stays as it is while others go on
        return [where(0.5, more[0], new, old) for new, old in zip(
            [*Vm, *f, *P, again], [*last, 0.0])]

    def end(parameters: Any, flat: Any, clock: Any, Q: Any, w: Any, K: Any, p: Any, f: Any,
            m: Any, P: Any, more: Any) -> Any:
        h, values = clock[0], b.named(flat)
        Q1 = along(Q, h, K)
        V1 = _velocity(b, parameters, values, Q1, along(p, h, f), m)
        return Q1, V1, along(w, h, P), status(*Q1, *V1) + where(0.5, more[0], math.nan, 0.0)

    return [b.stage('Q V', 'A P R G'), b.call(momentum, 'parameters values Q V', 'p K more'),
            While((b.call(middle, 'parameters values clock Q K p f P more m u', 'K f P more'),),
                  'more', ITERATIONS),
            b.call(end, 'parameters values clock Q w K p f m P more',
                   'Q1 V1 w1 status')]


def _force_of_momentum(b: Buffers, blocks: Any, values: SimpleNamespace, Q: Any, V: Any, m: Any,
                       u: Any) -> tuple[list[Any], Any]:
    """Return p' and the powers."""
    s = b.structure
    tree = geared(b.tree, s, values)
    acting = forces(tree, s, values, Q, V, m, u)
    r, wrenches = acting.joint_forces(), acting.wrenches()
    q, v, none = Q[:s.nq], V[:s.nv], [0.0] * s.nv
    bias = rnea.bias(tree, blocks, q, v, wrenches)
    # constant rotors have no share in M', and duals do not mix with their expressions
    weightless = replace(tree, gravity=(0.0, 0.0, 0.0), rotor=tuple(none))
    M_dot_v = derivatives.inverse_dynamics_derivative(
        weightless, blocks, q, none, v, v, none, none)
    return [x - y + z for x, y, z in zip(r, bias, M_dot_v)] + r[s.nv:], acting.powers


def _velocity(b: Buffers, parameters: Any, values: SimpleNamespace, Q: Any, p: Any,
              m: Any) -> list[Any]:
    """Return V with M V = p, zero where a joint is held."""
    s = b.structure
    tree = geared(b.tree, s, values)
    M = mass_matrix(tree, b.blocks(parameters), Q[:s.nq])
    free = free_factors(tree, s, M, m)
    v = solved(free.factors, [x if f is None else f * x for x, f in zip(p, free.mask)])
    motors = []
    for e, inertia in enumerate(values.motor_inertia):
        i = s.nv + e
        moving = m[s.modal.index(i)] if i in s.modal else 1.0
        motors.append(moving * moving * p[i] / inertia)
    return [*v, *motors]


def chart_rate(tree: Tree, theta: Sequence[Any], V: Sequence[Any]) -> list[Any]:
    """
    Return theta' where Q exp(theta) moves with body velocity V.

    theta' = V + [theta, V]/2 + [theta, [theta, V]]/12 + ..., cut where order 4 allows (Hairer,
    Lubich, Wanner, III.4.2). The bracket of se(3) is
    [v1; w1], [v2; w2] -> [w1 x v2 - w2 x v1; w1 x w2].
    """
    rate = list(V)
    for body in tree.bodies:
        if body.kind == 'floating':
            i = body.v
            x, y = tuple(theta[i:i + 6]), tuple(V[i:i + 6])
            first = _bracket(x, y)
            second = _bracket(x, first)
            rate[i:i + 6] = [a + 0.5 * c + d * (1.0 / 12.0)
                             for a, c, d in zip(y, first, second)]
    return rate


def _bracket(x: Any, y: Any) -> tuple[Any, ...]:
    linear = sub(cross(x[3:], y[:3]), cross(y[3:], x[:3]))
    return (*linear, *cross(x[3:], y[3:]))


SCHEMES: dict[str, Callable[[Buffers], list[Node]]] = {
    'euler': _euler, 'semi_implicit_euler': _semi_implicit_euler, 'rk4': _rk4,
    'symplectic': _symplectic}
