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
Constrained dynamics over scalars: multipliers eliminated through the mass matrix.

Good where the rows kept of Phi_q are independent; `trust` tells. Where they are not, kkt.py
solves the same equations with numpy, rank-revealing.
"""

import math

from .crba import mass_matrix
from .forward import definiteness
from .ltdl import coordinate_parents, factorised, solved, solved_lower, solved_transposed
from .rnea import bias
from ..compiler.dual import is_zero
from ..compiler.functions import where

#: pivot of Phi_q M^-1 Phi_q^T, relative to its mean diagonal, below which rows count as lost
DEPENDENT = 1e-9


class Elimination:
    """
    M and A = Phi_q M^-1 Phi_q^T of the rows kept, factorised over scalars.

    The zeros between loops that share no body fold away: a chain of loops costs linear time.
    """

    def __init__(self, structure, tree, parameters, q, t):
        """Factorise at a configuration."""
        M = mass_matrix(tree, parameters, q)
        self.factors = factorised(M, coordinate_parents(tree))
        J = structure.jacobian(q, t)
        self.all_rows = J
        rows = [J[row] for row in structure.kept]
        L, inverse = self.factors
        Y = [solved_transposed(L, [row.get(k, 0.0) for k in range(tree.nv)]) for row in rows]
        weighted = [[0.0 if is_zero(y) else d * y for d, y in zip(inverse, row)] for row in Y]
        self.A = [[_dot(a, b) for b in Y[:i + 1]] for i, a in enumerate(weighted)]
        self.spread = [solved_lower(L, row) for row in weighted]
        self.L, self.inverse = cholesky(self.A)
        n = len(self.inverse)
        mean = sum((self.A[k][k] for k in range(n)), 0.0) * (1.0 / n)
        worst = 0.0
        for inverse_pivot in self.inverse:
            ratio = mean * inverse_pivot
            worst = worst + where(0.0, ratio, ratio, math.nan)
        #: goes to 0 where a row kept vanishes or depends on others
        self.regularity = n / worst
        #: positive where M and A are regular
        self.trust = where(worst, 1.0 / DEPENDENT, definiteness(M, self.factors), -1.0)

    def multipliers(self, right):
        """Return x with A x = right."""
        x = list(right)
        for i in range(len(x)):
            for j, element in self.L[i].items():
                x[i] = x[i] - element * x[j]
        x = [d * y for d, y in zip(self.inverse, x)]
        for i in reversed(range(len(x))):
            for j, element in self.L[i].items():
                x[j] = x[j] - element * x[i]
        return x

    def pushed(self, multipliers):
        """Return M^-1 Phi_q^T multipliers."""
        return [_dot(multipliers, column) for column in zip(*self.spread)]

    def along(self, v):
        """Return Phi_q v, all rows."""
        return [_dot(row.values(), [v[k] for k in row]) for row in self.all_rows]


def constrained_dynamics(structure, tree, parameters, q, v, tau, t):
    """
    Return acceleration and multipliers; last, positive where regular.

    Rows that are not kept carry nothing. Phi_q M^-1 Phi_q^T lambda = Phi_q M^-1 Q - gamma,
    a = M^-1 (Q - Phi_q^T lambda).
    """
    solver = Elimination(structure, tree, parameters, q, t)
    held = bias(tree, parameters, q, v)
    free = solved(solver.factors, [x - b for x, b in zip(tau, held)])
    gamma = structure.gamma(q, v, t)
    forced = solver.along(free)
    multipliers = solver.multipliers([forced[row] - gamma[row] for row in structure.kept])
    a = [x - y for x, y in zip(free, solver.pushed(multipliers))]
    all_rows = [0.0] * structure.size
    for row, x in zip(structure.kept, multipliers):
        all_rows[row] = x
    return a, all_rows, solver.trust


def projection(structure, tree, parameters, q, v, t):
    """
    Return the steps dq and dv back onto the constraints, smallest in the metric of M.

    Also the squared lengths of both errors and the regularity; last, positive where regular.
    """
    solver = Elimination(structure, tree, parameters, q, t)
    phi, drift = structure.residual(q, t), structure.drift(q, t)
    dq = solver.pushed(solver.multipliers([phi[row] for row in structure.kept]))
    slip = [x + y for x, y in zip(solver.along(v), drift)]
    dv = solver.pushed(solver.multipliers([slip[row] for row in structure.kept]))
    return ([-x for x in dq], [-x for x in dv], _dot(phi, phi), _dot(slip, slip),
            solver.regularity, solver.trust)


def cholesky(A):
    """
    Return L (unit lower triangular, a list of {column: element}) and 1 / D, A = L D L^T.

    `A` holds the lower triangle. What is structurally zero is skipped.
    """
    H = [list(row) for row in A]
    n = len(H)
    L = [{} for _ in H]
    inverse = [0.0] * n
    for k in range(n):
        # rows that are dependent whatever the state have no inverse
        inverse[k] = math.nan if is_zero(H[k][k]) else 1.0 / H[k][k]
        below = [i for i in range(k + 1, n) if not is_zero(H[i][k])]
        for i in below:
            L[i][k] = H[i][k] * inverse[k]
            for j in below:
                if j <= i:
                    H[i][j] = H[i][j] - L[i][k] * H[j][k]
    return L, inverse


def _dot(a, b):
    total = 0.0
    for x, y in zip(a, b):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total
