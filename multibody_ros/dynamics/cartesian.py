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

from .coriolis import mass_and_coriolis
from .crba import gravity
from .forward import definiteness
from .kinematics import jacobian, jacobian_dot
from .ltdl import coordinate_parents, factorised, solved_lower, solved_transposed
from ..compiler.functions import lane, side_by_side, sqrt, where

#: the singularity measure below which the inverse of A is damped
DAMPED_BELOW = 1e-6


def cartesian_dynamics(tree, parameters, q, v, frame):
    """Return Mx, Cx, gx, J, J', Jbar, the singularity; last, positive where all is regular."""
    M, C = mass_and_coriolis(tree, parameters, q, v)
    factors = factorised(M, coordinate_parents(tree))
    J, J_dot = jacobian(tree, q, frame), jacobian_dot(tree, q, v, frame)
    A, response = mobility(factors, J)
    Mx = symmetric_inverse(A)
    g = gravity(tree, parameters, q)
    measure = singularity(A, Mx)
    # joints that have no part in the motion of the frame are left out
    involved = [k for k, column in enumerate(zip(*response)) if column != (0.0,) * len(J)]
    regular = where(DAMPED_BELOW, measure, definiteness(M, factors, involved), -1.0)
    Cx, gx, J_bar = cartesian_terms(C, g, J_dot, response, Mx)
    return Mx, Cx, gx, J, J_dot, J_bar, measure, regular


def mobility(factors, J):
    """Return A = J M^-1 J^T and J M^-1, for factors of M (see ltdl)."""
    L, inverse = factors
    size = len(J)
    Y = solved_transposed(L, _columns(J))
    weighted = [d * y for d, y in zip(inverse, Y)]
    A = [_dot([lane(y, i) for y in Y], weighted) for i in range(size)]
    response = _elements(solved_lower(L, weighted), size)
    return _elements(A, size), [[row[i] for row in response] for i in range(size)]


def symmetric_inverse(A):
    """Return the inverse of a positive definite matrix through A = L D L^T."""
    n = len(A)
    H = [list(row) for row in A]
    G = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    inverse = [0.0] * n
    # Gauss without pivoting on [A, 1]: leaves the pivots D on the diagonal and G = L^-1
    for k in range(n):
        pivot = H[k][k]
        # a direction the frame can never move in: no inverse, whatever the state
        lost = isinstance(pivot, float) and pivot <= 0.0
        inverse[k] = math.nan if lost else 1.0 / pivot
        for i in range(k + 1, n):
            element = H[i][k] * inverse[k]
            for j in range(k + 1, i + 1):
                H[i][j] = H[i][j] - element * H[j][k]
            for j in range(k + 1):
                G[i][j] = G[i][j] - element * G[k][j]
    # A^-1 = G^T D^-1 G with G lower triangular: the rows of D^-1/2 G above i have nothing there
    root = [[sqrt(d) * x for x in row] for d, row in zip(inverse, G)]
    rows = _rows(root)
    return _elements([_dot([row[i] for row in root[i:]], rows[i:]) for i in range(n)], n)


def singularity(A, Mx):
    """
    Return 1 / |A^-1|, Frobenius, with A made dimensionless: small means near singular.

    The linear and the angular rows and columns of A are divided by s with
    s^2 = trace / 3 of their block, so the inverse is multiplied by it.
    """
    linear = (A[0][0] + A[1][1] + A[2][2]) * (1.0 / 3.0)
    angular = (A[3][3] + A[4][4] + A[5][5]) * (1.0 / 3.0)
    scale = [linear] * 3 + [angular] * 3
    weighted = _dot(scale, [row * row for row in _rows(Mx)])
    return 1.0 / sqrt(_dot(scale, [lane(weighted, i) for i in range(6)]))


def cartesian_terms(C, g, J_dot, response, Mx):
    """
    Return Cx, gx and Jbar, for response = J M^-1 and the symmetric Mx.

    Cx = Jbar^T C Jbar - Mx J' Jbar = Mx (J M^-1 C - J') Jbar.
    """
    size, nv = len(Mx), len(g)
    columns, rate = _columns(response), _columns(J_dot)
    J_bar = [_dot([row[k] for row in response], _rows(Mx)) for k in range(nv)]
    inner = [_dot([row[k] for row in C], columns) - rate[k] for k in range(nv)]
    middle = [_dot([lane(column, r) for column in inner], J_bar) for r in range(size)]
    Cx = [_dot(row, middle) for row in Mx]
    gx, = _elements([_dot(g, J_bar)], size)
    return _elements(Cx, size), gx, _elements(J_bar, size)


def _rows(A):
    return [side_by_side(row) for row in A]


def _columns(A):
    return [side_by_side(column) for column in zip(*A)]


def _elements(rows, width):
    return [[lane(row, k) for k in range(width)] for row in rows]


def _dot(a, b):
    total = 0.0
    for x, y in zip(a, b):
        total = total + x * y
    return total
