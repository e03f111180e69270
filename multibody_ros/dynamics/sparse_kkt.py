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
The equations of constrained motion as one sparse matrix.

It is factorised with -e 1 in the lower corner, which leaves dependent equations solvable, and
iterated on until the equations hold (Vanderbei 1995; Nocedal and Wright 2006, section 17.3).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: e, relative to the largest diagonal element of Phi M^-1 Phi^T, and iterations at most
SOFT = 1e-8
ITERATIONS = 60


def sparse_solution(M: Any, J: Any, force: Array, gamma: Array) -> tuple[Array, Array]:
    """Solve the sparse equations of motion; the multipliers are the shortest possible."""
    from scipy import sparse
    from scipy.sparse.linalg import splu
    n, m = J.shape[1], J.shape[0]
    if not m:
        return np.asarray(splu(M.tocsc()).solve(force)), np.zeros(0)
    weights = np.maximum(M.diagonal(), 1e-300)
    soft = SOFT * float(np.max(J.multiply(J) @ (1.0 / weights), initial=1.0)) \
        if weights.min() > 1e-300 else SOFT
    matrix = sparse.bmat([[M, J.T], [J, -soft * sparse.identity(m)]], format='csc')
    factors = splu(matrix)
    a, multipliers = np.zeros(n), np.zeros(m)
    scale = max(float(np.abs(force).max()), float(np.abs(gamma).max(initial=0.0)), 1e-300)
    best = np.inf
    for _ in range(ITERATIONS):
        left = np.concatenate([force - M @ a - J.T @ multipliers, gamma - J @ a])
        size = float(np.abs(left).max())
        if size <= 1e-15 * scale or size >= best:
            break
        best = 0.999 * size
        step = factors.solve(left)
        a, multipliers = a + step[:n], multipliers + step[n:]
    return a, multipliers
