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

"""Linearity in the parameters: tau = Y pi + rotor a (theory.md section 2)."""

from .kinematics import local_placements, motion_axes
from .rnea import acceleration_fields, body_wrench, wrench_in_parent
from .spatial import dot, inertia_of

#: the ten unit bodies: one parameter of m, h, S is one, the others are zero
UNIT_BODIES = tuple(
    inertia_of(tuple(1.0 if k == c else 0.0 for k in range(10))) for c in range(10))


def link_regressor(tree, q, v, a):
    """Return Y, nv x 10 links; columns m, m c, I of each link (see Tree.lump)."""
    bodies = regressor(tree, q, v, a)
    rows = []
    for body_row in bodies:
        row = []
        for body, block in tree.lump:
            own = body_row[10 * body:10 * body + 10] if body >= 0 else []
            row += [sum((y * float(b) for y, b in zip(own, column)), 0.0) for column in block.T]
        rows.append(row)
    return rows


def regressor(tree, q, v, a):
    """Return Y, nv x 10 bodies; columns m, h, S of each body, without the rotors' share."""
    places = local_placements(tree, q)
    fields = acceleration_fields(tree, places, v, a)
    Y = [[0.0] * (10 * len(tree.bodies)) for _ in range(tree.nv)]
    for i, field in enumerate(fields):
        for c, unit in enumerate(UNIT_BODIES):
            wrench = body_wrench(unit, *field)
            column, j = 10 * i + c, i
            while True:
                for k, linear, angular in motion_axes(tree.bodies[j]):
                    Y[k][column] = Y[k][column] + (
                        dot(linear, wrench[0]) + dot(angular, wrench[1]))
                if tree.bodies[j].parent < 0:
                    break
                wrench = wrench_in_parent(places[j], *wrench)
                j = tree.bodies[j].parent
    return Y
