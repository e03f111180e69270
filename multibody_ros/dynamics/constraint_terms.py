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
Residual, Jacobian and acceleration terms of constraints, by dual numbers.

For a space of coordinates with dq/dt = rates(q, v) the derivative of a residual along (v, 1) is
Phi_q v + Phi_t, along a unit velocity a column of Phi_q, along (v, 1) twice -gamma
(theory.md section 6). Entries that vanish for every state stay the float 0.0: `Structure` keeps
the others, and the rows that have any.
"""

from ..compiler.dual import derivative, Dual, is_zero
from ..compiler.expression import Tape


def residual(space, constraint, q, t):
    """Return Phi(q, t); a Pfaffian constraint has none and counts as satisfied."""
    if constraint.holonomic:
        return list(constraint.residual(space.motion(q, None, t)))
    return [0.0 for _ in constraint.rate(space.motion(q, [0.0] * space.nv, t))]


def rate(space, constraint, q, v, t, t_rate=1.0):
    """Return Phi_q v + Phi_t t_rate, or A^T v + a_0."""
    if not constraint.holonomic:
        return list(constraint.rate(space.motion(q, v, t)))
    moving = [Dual(x, dx) for x, dx in zip(q, space.rates(q, v))]
    return [derivative(x) for x in constraint.residual(
        space.motion(moving, None, Dual(t, t_rate)))]


def columns(space, constraint, q, t):
    """Return {index in v: column of Phi_q}, only those that are not structurally zero."""
    motion = space.motion(q, [0.0] * space.nv, t)
    constraint.residual(motion) if constraint.holonomic else constraint.rate(motion)
    still = [0.0] * space.nv
    rest = [0.0] if constraint.holonomic else rate(space, constraint, q, still, t)
    result = {}
    for k in sorted(motion.touched):
        unit = list(still)
        unit[k] = 1.0
        column = rate(space, constraint, q, unit, t, 0.0)
        if not constraint.holonomic:
            column = [x - x_0 for x, x_0 in zip(column, rest)]
        if not all(map(is_zero, column)):
            result[k] = column
    return result


def acceleration(space, constraint, q, v, t):
    """Return gamma: Phi_q a = gamma keeps the constraint satisfied."""
    moving = [Dual(x, dx) for x, dx in zip(q, space.rates(q, v))]
    values = rate(space, constraint, moving, [Dual(x) for x in v], Dual(t, 1.0))
    return [-derivative(x) for x in values]


class Structure:
    """The equations of a list of constraints: how many, of whom, and which entries can differ."""

    def __init__(self, space, constraints):
        """Record the Jacobian once to see its zeros."""
        self.space, self.constraints = space, tuple(constraints)
        tape = Tape()
        q = [tape.write('input', 0, i) for i in range(space.nq)]
        t = tape.write('input', 1, 0)
        self.rows = {}
        self.entries = []
        first = 0
        for constraint in self.constraints:
            size = len(residual(space, constraint, q, t))
            self.rows[constraint.name] = slice(first, first + size)
            for k, column in columns(space, constraint, q, t).items():
                self.entries += [(first + i, k) for i, x in enumerate(column) if not is_zero(x)]
            first += size
        self.entries.sort()
        self.size = first
        #: the equations that depend on the coordinates at all
        self.active = sorted({row for row, _ in self.entries})
        #: those of them that determine the motion; fewer where equations follow from others
        self.kept = self.active

    def labels(self):
        """Return (constraint, equation) of every row."""
        names = []
        for constraint in self.constraints:
            place = self.rows[constraint.name]
            for k in range(place.stop - place.start):
                label = constraint.labels[k] if k < len(constraint.labels) else str(k)
                names.append((constraint.name, label))
        return names

    def residual(self, q, t):
        """Return Phi, all rows."""
        return [x for c in self.constraints for x in residual(self.space, c, q, t)]

    def jacobian(self, q, t):
        """Return Phi_q as rows {index in v: element}."""
        rows = [{} for _ in range(self.size)]
        for constraint in self.constraints:
            first = self.rows[constraint.name].start
            for k, column in columns(self.space, constraint, q, t).items():
                for i, x in enumerate(column):
                    if not is_zero(x):
                        rows[first + i][k] = x
        return rows

    def drift(self, q, t):
        """Return Phi_t, or a_0, all rows."""
        still = [0.0] * self.space.nv
        return [x for c in self.constraints for x in rate(self.space, c, q, still, t)]

    def gamma(self, q, v, t):
        """Return gamma, all rows."""
        return [x for c in self.constraints for x in acceleration(self.space, c, q, v, t)]

    def terms(self, q, v, t):
        """Return Phi, the entries of Phi_q in the order of `entries`, Phi_t, gamma."""
        J = self.jacobian(q, t)
        return (self.residual(q, t), [J[row].get(k, 0.0) for row, k in self.entries],
                self.drift(q, t), self.gamma(q, v, t))
