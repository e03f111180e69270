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
Operational-space dynamics of a frame (theory.md section 8; Khatib 1987).

Mx x'' + Cx x' + gx = F with Mx = (J M^-1 J^T)^-1 and the dynamically consistent inverse
Jbar = M^-1 J^T Mx in place of J^-1. With fewer than six freedoms, or at a singularity, Mx does
not exist: `mobility` and `cartesian_terms` are separate so that a damped inverse fits between.
"""

import math

from .coriolis import coriolis_matrix
from .crba import mass_matrix
from .forward import definiteness
from .kinematics import jacobian, jacobian_dot
from .ltdl import coordinate_parents, factorised, solved_lower, solved_transposed
from .rnea import gravity
from ..compiler.functions import sqrt, where

#: the singularity measure below which the inverse of A is damped
DAMPED_BELOW = 1e-6


def cartesian_dynamics(tree, parameters, q, v, frame):
    """Return Mx, Cx, gx, J, J', Jbar, the singularity; last, positive where all is regular."""
    M = mass_matrix(tree, parameters, q)
    factors = factorised(M, coordinate_parents(tree))
    J, J_dot = jacobian(tree, q, frame), jacobian_dot(tree, q, v, frame)
    A, response = mobility(factors, J)
    Mx = symmetric_inverse(A)
    C, g = coriolis_matrix(tree, parameters, q, v), gravity(tree, parameters, q)
    measure = singularity(A, Mx)
    regular = where(DAMPED_BELOW, measure, definiteness(M, factors), -1.0)
    Cx, gx, J_bar = cartesian_terms(C, g, J_dot, response, Mx)
    return Mx, Cx, gx, J, J_dot, J_bar, measure, regular


def mobility(factors, J):
    """Return A = J M^-1 J^T and the rows of J M^-1, for factors of M (see ltdl)."""
    L, inverse = factors
    Y = [solved_transposed(L, row) for row in J]
    weighted = [[d * y for d, y in zip(inverse, row)] for row in Y]
    A = [[None] * len(J) for _ in J]
    for i in range(len(J)):
        for j in range(i + 1):
            A[i][j] = A[j][i] = _dot(weighted[i], Y[j])
    return A, [solved_lower(L, row) for row in weighted]


def symmetric_inverse(A):
    """Return the inverse of a positive definite matrix through A = L D L^T."""
    n = len(A)
    H = [list(row) for row in A]
    inverse = [0.0] * n
    G = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    # Gauss without pivoting on [A, 1]: leaves the pivots D on the diagonal and G = L^-1
    for k in range(n):
        # a direction the frame can never move in: no inverse, whatever the state
        lost = isinstance(H[k][k], float) and H[k][k] == 0.0
        inverse[k] = math.nan if lost else 1.0 / H[k][k]
        for i in range(k + 1, n):
            element = H[k][i] * inverse[k]
            for j in range(i, n):
                H[i][j] = H[i][j] - element * H[k][j]
            for j in range(k + 1):
                G[i][j] = G[i][j] - element * G[k][j]
    weighted = [[d * x for x in row] for d, row in zip(inverse, G)]
    result = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            # G is lower triangular: A^-1 = G^T D^-1 G
            element = _dot([row[i] for row in weighted[j:]], [row[j] for row in G[j:]])
            result[i][j] = result[j][i] = element
    return result


def singularity(A, Mx):
    """
    Return 1 / |A^-1|, Frobenius, with A made dimensionless: small means near singular.

    The linear and the angular rows and columns of A are divided by s with
    s^2 = trace / 3 of their block, so the inverse is multiplied by it.
    """
    linear = (A[0][0] + A[1][1] + A[2][2]) * (1.0 / 3.0)
    angular = (A[3][3] + A[4][4] + A[5][5]) * (1.0 / 3.0)
    blocks = [_square(Mx, rows, columns) for rows, columns in
              ((range(3), range(3)), (range(3), range(3, 6)), (range(3, 6), range(3, 6)))]
    cross_term = linear * angular * blocks[1]
    square = (linear * linear * blocks[0] + (cross_term + cross_term)
              + angular * angular * blocks[2])
    return 1.0 / sqrt(square)


def cartesian_terms(C, g, J_dot, response, Mx):
    """
    Return Cx, gx and Jbar, for the rows `response` of J M^-1 and Mx.

    Cx = Jbar^T C Jbar - Mx J' Jbar = Mx (J M^-1 C - J') Jbar.
    """
    size, nv = len(Mx), len(g)
    J_bar = [[_dot(Mx[r], [response[s][k] for s in range(size)]) for r in range(size)]
             for k in range(nv)]
    C_columns, J_bar_columns = list(zip(*C)), list(zip(*J_bar))
    inner = [[_dot(response[r], C_columns[k]) - J_dot[r][k] for k in range(nv)]
             for r in range(size)]
    middle = [[_dot(inner[r], J_bar_columns[s]) for r in range(size)] for s in range(size)]
    Cx = [[_dot(Mx[r], middle[s]) for s in range(size)] for r in range(size)]
    return Cx, [_dot(column, g) for column in J_bar_columns], J_bar


def _dot(a, b):
    total = 0.0
    for x, y in zip(a, b):
        total = total + x * y
    return total


def _square(A, rows, columns):
    return _dot([A[i][j] for i in rows for j in columns], [A[i][j] for i in rows for j in columns])
