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
An inverse that stays finite at singularities, over any scalars and without branches.

How small an eigenvalue is near a singularity depends on the arm: a light wrist turns easily and
makes all other directions look heavy. `typical_mobility` tells what is usual for an arm.
"""

from __future__ import annotations

from typing import Any, Sequence, TYPE_CHECKING

import numpy as np

from .vectors import dot, Matrix, maximum, minimum, Vector
from ..compiler.functions import sqrt, where

if TYPE_CHECKING:
    from ..robot import Robot

#: configurations looked at, and the eigenvalue below which a direction is never there
SAMPLES, ABSENT = 100, 1e-9
#: sweeps of Jacobi rotations; each squares what is left: six rows are diagonal to rounding, with
#: one sweep less in all but some of ten thousand cases
SWEEPS = 7


def damped_inverse(A: Matrix, groups: Sequence[Sequence[int]], below: Any) -> tuple[Matrix, Any]:
    """
    Return the inverse of the mobility A, damped along the directions it loses, and the margin.

    A is made dimensionless: the rows and columns of each group (linear, angular) are divided by
    the root of the mean of its diagonal. An eigenvalue x of at least e = `below` is then inverted
    as it is; a smaller one becomes x / (x^2 + e^2 (1 - x^2/e^2)^2), which leaves 1/x with the same
    value and slope at e, is nowhere above 1.07/e and goes to 0 with x: nothing jumps, and what is
    lost carries no force. The margin is the smallest eigenvalue over e: 1 and more is undamped.
    """
    n = len(A)
    scale: list[Any] = [1.0] * n
    for group in groups:
        mean = sum((A[i][i] for i in group), 0.0) / float(len(group))
        for i in group:
            scale[i] = 1.0 / sqrt(where(0.0, mean, mean, 1.0))
    values, vectors = eigen([[scale[i] * A[i][j] * scale[j] for j in range(n)] for i in range(n)])
    inverse, smallest = [], None
    for value in values:
        x = maximum(value, 0.0)
        smallest = x if smallest is None else minimum(smallest, x)
        missing = maximum(0.0, 1.0 - (x * x) / (below * below))
        inverse.append(x / (x * x + below * below * (missing * missing)))
    rows = [[scale[i] * y for y in row] for i, row in enumerate(vectors)]
    weighted = [[f * y for f, y in zip(inverse, row)] for row in rows]
    result: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            result[i][j] = result[j][i] = dot(weighted[i], rows[j])
    return result, smallest / below


def typical_mobility(robot: Robot, link: str, rows: Sequence[int]) -> float:
    """
    Return the median, over the arm's range, of the smallest eigenvalue that is damped.

    Directions the link can never move in are left out.
    """
    rng = np.random.default_rng(0)
    q = np.array([robot.random(rng) for _ in range(SAMPLES)])
    J = robot.jacobian(q, link)[:, list(rows)]
    A = J @ np.linalg.solve(robot.mass_matrix(q), J.transpose(0, 2, 1))
    diagonal = np.diagonal(A, axis1=1, axis2=2)
    scale = np.ones_like(diagonal)
    for part in (0, 1):
        group = [n for n, i in enumerate(rows) if i // 3 == part]
        if group:
            scale[:, group] = np.sqrt(diagonal[:, group].mean(axis=1))[:, None]
    scale[scale == 0.0] = 1.0
    values = np.linalg.eigvalsh(A / (scale[:, :, None] * scale[:, None, :]))
    smallest = np.where(values > ABSENT, values, np.inf).min(axis=1)
    return float(np.median(smallest)) if np.isfinite(smallest).any() else 1.0


def eigen(A: Matrix) -> tuple[Vector, Matrix]:
    """
    Return the eigenvalues of a symmetric matrix and the matrix of its eigenvectors as columns.

    Jacobi's method (Golub and Van Loan, 2013, section 8.5) with a fixed number of sweeps. Pairs
    that do not touch each other come one after the other, so that a processor turns them together.
    """
    n = len(A)
    B = [list(row) for row in A]
    V: list[list[Any]] = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for _ in range(SWEEPS):
        for p, q in _pairs(n):
            _rotate(B, V, p, q)
    return [B[i][i] for i in range(n)], V


def _rotate(B: list[list[Any]], V: list[list[Any]], p: int, q: int) -> None:
    """Turn rows and columns p, q so that B[p][q] vanishes."""
    off, gap = B[p][q], B[q][q] - B[p][p]
    twice = off + off
    # tan of the smaller angle: 2 b / (d + sign(d) sqrt(d^2 + 4 b^2)), 0 for 0 / 0
    root = sqrt(gap * gap + twice * twice)
    below = where(gap, 0.0, gap - root, gap + root)
    square = gap * gap + twice * twice
    t = where(0.0, square, twice / where(0.0, square, below, 1.0), 0.0)
    c = 1.0 / sqrt(t * t + 1.0)
    s = t * c
    B[p][p], B[q][q] = B[p][p] - t * off, B[q][q] + t * off
    B[p][q] = B[q][p] = 0.0
    for i in range(len(B)):
        if i not in (p, q):
            x, y = B[i][p], B[i][q]
            B[i][p] = B[p][i] = c * x - s * y
            B[i][q] = B[q][i] = s * x + c * y
    for row in V:
        row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]


def _pairs(n: int) -> list[tuple[int, int]]:
    """Return all pairs below n, in rounds of pairs that do not touch, as in a tournament."""
    players = list(range(n + n % 2))
    pairs = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        pairs += [(min(i, j), max(i, j)) for i, j in zip(players[:half], reversed(players[half:]))
                  if max(i, j) < n]
        players.insert(1, players.pop())
    return pairs
