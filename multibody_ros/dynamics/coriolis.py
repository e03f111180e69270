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
Coriolis matrix with Christoffel symbols, C_ij = integral x_i . (d/dt x_j) dm.

The velocity of a mass point is x' = sum of columns x_j v_j, and M_ij = integral x_i . x_j dm, so
this C gives M' = C + C^T. It is the matrix of Echeandia and Wensing 2021, whose
B = 1/2 [(v x*) I - I (v x) + (I v) xbar*] is written differently here: a column of a joint is the
field x_j(r) = linear + angular x r with the momentum F_j = I_j S_j of all that it moves, and

    C_ij = S_i . (F_j' - [0; spin_j])          for i on the way from the root to j,
    C_ji = S_i' . F_j + angular_i . spin_j     with spin_j = integral x' x x_j dm.

F_j' is cheap in the axes of body j: S_j does not change there, and of the composite inertia I_j
only what the joints behind j move.
"""

from .crba import accumulate, composite_inertias, no_mass
from .kinematics import body_velocities, joint_motion, local_placements, motion_axes
from .rnea import wrench_in_parent
from .spatial import (
    add, cross, dot, inertia_of, momentum_of, scale, sub, turned, turned_symmetric, ZERO,
)
from ..compiler.functions import lane, side_by_side


def coriolis_matrix(tree, parameters, q, v):
    """Return C(q, v), nv x nv: C v + g is the bias, M' - 2 C skew-symmetric."""
    return mass_and_coriolis(tree, parameters, q, v)[1]


def mass_and_coriolis(tree, parameters, q, v):
    """Return M(q) and C(q, v)."""
    places = local_placements(tree, q)
    composites = composite_inertias(tree, parameters, places)
    velocities = body_velocities(tree, q, v)
    inside = _motion_inside(tree, composites, places, v)
    axes = [[(k, *column, *_derivative(*column, *velocities[i]))
             for k, *column in motion_axes(body)] for i, body in enumerate(tree.bodies)]
    M, C = no_mass(tree), [[0.0] * tree.nv for _ in range(tree.nv)]
    for i in range(len(tree.bodies)):
        for k, *column in axes[i]:
            F, F_dot, spin = _column(composites[i], inside[i], velocities[i], column)
            for row, l_i, s_i, _, _ in axes[i]:
                C[row][k] = C[row][k] + (dot(l_i, F_dot[0]) + dot(s_i, F_dot[1]))
                if row <= k:
                    accumulate(M, (row, l_i, s_i), k, F, same=True)
            # both go the same way to the root: one instruction serves the two
            both = [[side_by_side(pair) for pair in zip(*halves)] for halves in zip(F, F_dot)]
            j = i
            while tree.bodies[j].parent >= 0:
                both = wrench_in_parent(places[j], *both)
                F, F_dot = _lanes(both, 0), _lanes(both, 1)
                spin = turned(places[j][0], spin)
                j = tree.bodies[j].parent
                for row, l_i, s_i, l_dot, s_dot in axes[j]:
                    accumulate(M, (row, l_i, s_i), k, F)
                    C[row][k] = C[row][k] + (dot(l_i, F_dot[0]) + dot(s_i, F_dot[1]))
                    C[k][row] = C[k][row] + (
                        dot(l_dot, F[0]) + dot(s_dot, F[1]) + dot(s_i, spin))
    return M, C


def _lanes(wrenches, k):
    return [[lane(x, k) for x in vector] for vector in wrenches]


def _derivative(linear, angular, v, w):
    """Return the rate of a column fixed in a body: the motion product v x column."""
    return sub(cross(w, linear), cross(angular, v)), cross(w, angular)


def _column(composite, inside, velocity, column):
    """Return F, F' - [0; spin] and spin of a column of a joint, at its body's origin and axes."""
    rate, momentum = inside
    linear, angular, linear_dot, angular_dot = column
    F = momentum_of(composite, linear, angular)
    within = momentum_of(rate, linear, angular)
    v, w = velocity
    F_dot = (add(within[0], cross(w, F[0])),
             add(within[1], add(cross(w, F[1]), cross(v, F[0]))))
    p, spin = momentum_of(composite, v, w)
    p, spin = add(p, momentum[0]), add(spin, momentum[1])
    # F' = I' S + I S', and I' S holds twice the symmetric part of integral x' x x_j dm
    kept = momentum_of(composite, linear_dot, angular_dot)[1]
    spin = scale(0.5, add(sub(sub(F_dot[1], kept), cross(angular, spin)), cross(p, linear)))
    return F, (F_dot[0], sub(F_dot[1], spin)), spin


def _motion_inside(tree, composites, places, v):
    """
    Return the rate of each composite inertia and its momentum, seen from its own body.

    Only the joints behind the body have a part in them.
    """
    rates = [(0.0,) * 10 for _ in tree.bodies]
    momenta = [(ZERO, ZERO) for _ in tree.bodies]
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            motion = joint_motion(tree.bodies[i], v)
            rate = _sum(rates[i], _drift(composites[i], *motion))
            rates[parent] = _sum(rates[parent], _rate_in_parent(places[i], rate))
            own = momentum_of(composites[i], *motion)
            carried = wrench_in_parent(
                places[i], add(own[0], momenta[i][0]), add(own[1], momenta[i][1]))
            momenta[parent] = tuple(add(x, y) for x, y in zip(momenta[parent], carried))
    return list(zip(rates, momenta))


def _drift(parameters, v, w):
    """Return the rate of the ten parameters, about a fixed point, of a body that moves so."""
    m, h, (xx, xy, xz, yy, yz, zz) = inertia_of(parameters)
    spun = [cross(w, column) for column in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
    Q = [[v[i] * h[j] + spun[j][i] for j in range(3)] for i in range(3)]
    return (0.0, *add(scale(m, v), cross(w, h)),
            *(Q[i][j] + Q[j][i] for i in range(3) for j in range(i, 3)))


def _rate_in_parent(place, rate):
    """Carry a rate of the ten parameters to the parent's origin and axes."""
    turn, arm = place
    _, h, S = inertia_of(rate)
    h = turned(turn, h)
    return (0.0, *h, *_sum(turned_symmetric(turn, S), _doubled_symmetric(h, arm)))


def _sum(a, b):
    return tuple(x + y for x, y in zip(a, b))


def _doubled_symmetric(a, b):
    """Return the six elements of a b^T + b a^T; b is mostly constant."""
    return (a[0] * (b[0] + b[0]), a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[2] * b[0],
            a[1] * (b[1] + b[1]), a[1] * b[2] + a[2] * b[1], a[2] * (b[2] + b[2]))
