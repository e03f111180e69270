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
Base parameters: the share of a body's inertia that its joint does not move goes to its parent.

A rod along a revolute joint's axis z (m, hz, Szz) does not notice the joint turning; the second
moments of a body on a sliding joint do not notice it sliding. Carried to the parent they give the
same energies, momenta and joint torques, and the algorithms find zeros in their place (Gautier and
Khalil 1990). Reactions inside the joints do change: those use the parameters as they are.
"""

from __future__ import annotations

import numpy as np

from .tree import Body, Tree

#: places in m, hx, hy, hz, Sxx, Sxy, Sxz, Syy, Syz, Szz
_ROD = (0, 3, 9)
_MOMENTS = (4, 5, 6, 7, 8, 9)


def moved_parameters(body: Body) -> tuple[int, ...]:
    """Return which of a body's ten parameters go to its parent; z must be the joint's axis."""
    return {'revolute': _ROD, 'prismatic': _MOMENTS}.get(body.kind, ())


def regrouped(tree: Tree, parameters: np.ndarray) -> np.ndarray:
    """Return (bodies + 1, 10) from (bodies, 10): the last row is what the world carries."""
    rest = np.vstack([parameters, np.zeros(10)])
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        which = list(moved_parameters(body))
        share = np.zeros(10)
        share[which] = rest[i, which]
        rest[i, which] = 0.0
        rest[body.parent] += _in_parent(body, share)
    return rest


def _in_parent(body: Body, share: np.ndarray) -> np.ndarray:
    """Carry parameters across the joint, wherever it stands: T P T^T with P = [S, h; h^T, m]."""
    m, h = share[0], share[1:4]
    xx, xy, xz, yy, yz, zz = share[4:]
    P = np.array([[xx, xy, xz, h[0]], [xy, yy, yz, h[1]], [xz, yz, zz, h[2]], [*h, m]])
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = body.R, body.p
    P = T @ P @ T.T
    return np.array([P[3, 3], *P[:3, 3], P[0, 0], P[0, 1], P[0, 2], P[1, 1], P[1, 2], P[2, 2]])
