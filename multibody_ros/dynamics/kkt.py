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
The equations of constrained motion solved with numpy, rank-revealing; any leading batch axes.

[M, Phi_q^T; Phi_q, 0] [a; lambda] = [Q; gamma] (theory.md section 6). With M = L L^T and the
singular values of Y = L^-1 Phi_q^T the acceleration is unique even where rows of Phi_q depend on
each other; the multipliers are then the shortest of all that do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: singular value, relative to the largest, below which a direction counts as lost
RANK = 1e-9


def constrained_solution(M: Array, J: Array, Q: Array, gamma: Array) -> tuple[Array, Array]:
    """Return a and lambda; raises LinAlgError where masses leave the motion open."""
    L, Q = _factor(M, J, Q, gamma)
    Y = np.asarray(np.linalg.solve(L, np.swapaxes(J, -1, -2)), dtype=np.float64)
    c = np.linalg.solve(L, Q[..., None])
    U, inverse, V = singular_directions(Y)
    along = np.swapaxes(U, -1, -2) @ c
    forced = inverse * (V @ gamma[..., None])
    half = c - U @ (along - forced)
    a = np.linalg.solve(np.swapaxes(L, -1, -2), half)
    multipliers = np.swapaxes(V, -1, -2) @ (inverse * (along - forced))
    return np.asarray(a[..., 0], dtype=np.float64), multipliers[..., 0]


def projection_step(M: Array, J: Array, error: Array) -> Array:
    """Return the step d, smallest in the metric of M, with Phi_q d = -error as far as possible."""
    L, _ = _factor(M, J, M[..., 0], error)
    Y = np.asarray(np.linalg.solve(L, np.swapaxes(J, -1, -2)), dtype=np.float64)
    U, inverse, V = singular_directions(Y)
    half = U @ (inverse * (V @ error[..., None]))
    return np.asarray(-np.linalg.solve(np.swapaxes(L, -1, -2), half)[..., 0])


def singular_directions(Y: Array) -> tuple[Array, Array, Array]:
    """Return U, 1/s as a column (0 where the direction is lost), V^T of Y = U s V^T."""
    U, s, V = np.linalg.svd(Y, full_matrices=False)
    largest = s.max(axis=-1, keepdims=True, initial=0.0)
    kept = s > RANK * largest
    inverse = np.where(kept, 1.0, 0.0) / np.where(kept, s, 1.0)
    return U * kept[..., None, :], inverse[..., None], V


def rank(J: Array) -> int:
    """Return the number of independent rows of one matrix."""
    if not J.size:
        return 0
    s = np.linalg.svd(J, compute_uv=False)
    return int(np.count_nonzero(s > RANK * s.max())) if s.max() > 0.0 else 0


def regularity(J: Array) -> float:
    """Return the squared ratio of the smallest singular value to the largest."""
    s = np.linalg.svd(J, compute_uv=False)
    return float((s.min() / s.max()) ** 2) if s.size and s.max() > 0.0 else 0.0


def null_space(J: Array) -> Array:
    """Return an orthonormal basis, in columns, of the velocities with Phi_q v = 0."""
    _, _, V = np.linalg.svd(J, full_matrices=True)
    return np.asarray(V[rank(J):].T)


def dependent_rows(J: Array) -> list[int]:
    """Return the rows that depend on those before them (Gram and Schmidt, twice)."""
    basis: list[Array] = []
    found = []
    largest = max((float(np.linalg.norm(row)) for row in J), default=0.0)
    for k, row in enumerate(J):
        rest = row.copy()
        for _ in range(2):
            for direction in basis:
                rest = rest - (direction @ rest) * direction
        length = float(np.linalg.norm(rest))
        if length <= 1e-8 * largest:
            found.append(k)
        else:
            basis.append(rest / length)
    return found


def independent_rows(J: Array) -> list[int]:
    """Return rows that span all others, the largest first (Gram and Schmidt with pivoting)."""
    rest = J.copy()
    largest = max((float(np.linalg.norm(row)) for row in J), default=0.0)
    found: list[int] = []
    while len(found) < len(J):
        lengths = np.linalg.norm(rest, axis=1)
        k = int(lengths.argmax())
        if lengths[k] <= 1e-8 * largest:
            break
        found.append(k)
        direction = rest[k] / lengths[k]
        for _ in range(2):
            rest = rest - np.outer(rest @ direction, direction)
        rest[k] = 0.0
    return found


def shared_rows(J: Array) -> list[int]:
    """Return the rows whose multipliers are not unique: those a dependency runs through."""
    if not J.size:
        return []
    U, s, _ = np.linalg.svd(J, full_matrices=True)
    left = U[:, rank(J):]
    return [int(k) for k in np.flatnonzero(np.abs(left).max(axis=1, initial=0.0) > 1e-7)]


def _factor(M: Array, J: Array, Q: Array, gamma: Array) -> tuple[Array, Array]:
    """
    Return the Cholesky factor of M and Q; of M + k Phi_q^T Phi_q where M alone is singular.

    Both have the same solution: k Phi_q^T (Phi_q a - gamma) is zero on it.
    """
    try:
        return np.asarray(np.linalg.cholesky(M), dtype=np.float64), Q
    except np.linalg.LinAlgError:
        J_t = np.swapaxes(J, -1, -2)
        k = np.trace(M, axis1=-2, axis2=-1) / np.maximum((J * J).sum(axis=(-1, -2)), 1e-300)
        stiffened = M + k[..., None, None] * (J_t @ J)
        L = np.asarray(np.linalg.cholesky(stiffened), dtype=np.float64)
        return L, Q + k[..., None] * (J_t @ gamma[..., None])[..., 0]
