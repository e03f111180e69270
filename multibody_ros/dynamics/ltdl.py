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
Sparse factorisation M = L^T D L along the tree (Featherstone 2008, tables 6.3 and 6.5).

Eliminating from the leaves to the root leaves the zeros between branches untouched.
"""

from .kinematics import motion_axes, path


def coordinate_parents(tree):
    """
    Return the parent in the elimination tree of every velocity coordinate (-1: none).

    Without mimic joints this is the coordinate before it on the path to the root. A follower
    ties the branches it sits on together; elimination then fills in, which is followed here.
    """
    related = [set() for _ in range(tree.nv)]
    for i in range(len(tree.bodies)):
        coordinates = {k for j in path(tree, i) for k, _, _ in motion_axes(tree.bodies[j])}
        for k in {k for k, _, _ in motion_axes(tree.bodies[i])}:
            for j in coordinates:
                related[max(j, k)].add(min(j, k))
    parents = [-1] * tree.nv
    for k in reversed(range(tree.nv)):
        before = related[k] - {k}
        if before:
            parents[k] = max(before)
            related[parents[k]] |= before
    return parents


def _ancestors(parents, k):
    k = parents[k]
    while k >= 0:
        yield k
        k = parents[k]


def factorised(M, parents):
    """Return L (unit lower triangular, a list of {column: element}) and the reciprocals 1 / D."""
    H = [list(row) for row in M]
    L = [{} for _ in H]
    inverse = [None] * len(H)
    for k in reversed(range(len(H))):
        inverse[k] = 1.0 / H[k][k]
        for i in _ancestors(parents, k):
            L[k][i] = H[k][i] * inverse[k]
            H[i][i] = H[i][i] - L[k][i] * H[k][i]
            for j in _ancestors(parents, i):
                H[i][j] = H[i][j] - L[k][i] * H[k][j]
    return L, inverse


def solved_transposed(L, b):
    """Return x with L^T x = b."""
    x = list(b)
    for k in reversed(range(len(x))):
        for i, element in L[k].items():
            x[i] = x[i] - element * x[k]
    return x


def solved_lower(L, b):
    """Return x with L x = b."""
    x = list(b)
    for k in range(len(x)):
        for i, element in L[k].items():
            x[k] = x[k] - element * x[i]
    return x


def solved(factors, b):
    """Return x with M x = b, for factors of M."""
    L, inverse = factors
    y = solved_transposed(L, b)
    return solved_lower(L, [d * element for d, element in zip(inverse, y)])
