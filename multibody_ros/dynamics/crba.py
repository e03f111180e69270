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

"""Mass matrix and weight: composite rigid bodies (Featherstone 2008, table 6.2) in body axes."""

from .kinematics import local_placements, motion_axes
from .rnea import wrench_in_parent
from .spatial import (
    add, cross, dot, inertia_of, momentum_of, scale, turned, turned_back, turned_symmetric,
)


def mass_matrix(tree, parameters, q):
    """Return M(q), nv x nv; entries between unrelated branches are the float 0.0."""
    places = local_placements(tree, q)
    composites = composite_inertias(tree, parameters, places)
    M = no_mass(tree)
    for i, body in enumerate(tree.bodies):
        own = motion_axes(body)
        for k, linear, angular in own:
            wrench = momentum_of(composites[i], linear, angular)
            for row in own:
                if row[0] <= k:
                    accumulate(M, row, k, wrench, same=True)
            j = i
            while tree.bodies[j].parent >= 0:
                wrench = wrench_in_parent(places[j], *wrench)
                j = tree.bodies[j].parent
                for row in motion_axes(tree.bodies[j]):
                    accumulate(M, row, k, wrench)
    return M


def no_mass(tree):
    """Return the mass matrix of the rotors alone."""
    M = [[0.0] * tree.nv for _ in range(tree.nv)]
    for k, rotor in enumerate(tree.rotor):
        M[k][k] = rotor
    return M


def accumulate(M, row, k, wrench, same=False):
    j, linear, angular = row
    element = dot(linear, wrench[0]) + dot(angular, wrench[1])
    M[j][k] = M[j][k] + element
    if j != k:
        M[k][j] = M[j][k]
    elif not same:
        # a follower and the joint it mimics on one path: both halves meet on the diagonal
        M[k][k] = M[k][k] + element


def gravity(tree, parameters, q):
    """Return g(q), the forces that hold the robot at rest: each joint carries all behind it."""
    places = local_placements(tree, q)
    composites = composite_inertias(tree, parameters, places)
    field = {-1: tree.gravity}
    g = [0.0] * tree.nv
    for i, body in enumerate(tree.bodies):
        field[i] = turned_back(places[i][0], field[body.parent])
        m, h, _ = inertia_of(composites[i])
        for k, linear, angular in motion_axes(body):
            g[k] = g[k] - (dot(linear, scale(m, field[i])) + dot(angular, cross(h, field[i])))
    return g


def composite_inertias(tree, parameters, places):
    """Ten parameters of every body together with all it carries."""
    composites = [tuple(parameters[i]) for i in range(len(tree.bodies))]
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            moved = inertia_in_parent(places[i], composites[i])
            composites[parent] = tuple(x + y for x, y in zip(composites[parent], moved))
    return composites


def inertia_in_parent(place, parameters):
    """Carry the ten parameters of a body to its parent's origin and axes."""
    turn, p = place
    m, h, S = inertia_of(parameters)
    h = turned(turn, h)
    xx, xy, xz, yy, yz, zz = turned_symmetric(turn, S)
    # S + h p^T + p h^T + m p p^T = S + h p^T + p k^T with k = h + m p
    k = add(h, scale(m, p))
    s = add(h, k)
    return (m, *k,
            xx + p[0] * s[0], xy + (h[0] * p[1] + p[0] * k[1]), xz + (h[0] * p[2] + p[0] * k[2]),
            yy + p[1] * s[1], yz + (h[1] * p[2] + p[1] * k[2]), zz + p[2] * s[2])
