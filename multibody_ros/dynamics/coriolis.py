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
Coriolis matrix with Christoffel symbols (Echeandia and Wensing 2021, algorithm 1).

The velocity of a mass point is x' = sum of columns x_j v_j, and M_ij = integral x_i . x_j dm.
Taking C_ij = integral x_i . (d/dt x_j) dm gives the Christoffel symbols, hence M' = C + C^T.
A column of a joint is the field x_j(r) = linear + angular x r, so of the moving mass only its
momentum [p; l] and the rate E of its second moments are wanted besides m, h, S: the paper's
B = 1/2 [(v x*) I - I (v x) + (I v) xbar*] comes down to these.
"""

from .crba import composite_inertias
from .kinematics import body_velocities, local_placements, motion_axes
from .rnea import wrench_in_parent
from .spatial import (
    add, cross, dot, inertia_of, inertia_times, momentum_of, scale, sub, turned, turned_symmetric,
)


def coriolis_matrix(tree, parameters, q, v):
    """Return C(q, v), nv x nv: C v + g is the bias, M' - 2 C skew-symmetric."""
    places = local_placements(tree, q)
    composites = composite_inertias(tree, parameters, places)
    velocities = body_velocities(tree, q, v)
    flows = _composite_flows(tree, parameters, places, velocities)
    axes = [[(k, *column, *_derivative(*column, *velocities[i]))
             for k, *column in motion_axes(body)] for i, body in enumerate(tree.bodies)]
    C = [[0.0] * tree.nv for _ in range(tree.nv)]
    for i in range(len(tree.bodies)):
        for k, linear, angular, linear_dot, angular_dot in axes[i]:
            changing = momentum_of(composites[i], linear_dot, angular_dot)
            flowing, spin = _flow_wrenches(flows[i], linear, angular)
            changing = add(changing[0], flowing[0]), add(changing[1], flowing[1])
            momentum = momentum_of(composites[i], linear, angular)
            for j, *axis in axes[i]:
                C[j][k] = C[j][k] + (dot(axis[0], changing[0]) + dot(axis[1], changing[1]))
            j = i
            while tree.bodies[j].parent >= 0:
                changing = wrench_in_parent(places[j], *changing)
                momentum = wrench_in_parent(places[j], *momentum)
                spin = turned(places[j][0], spin)
                j = tree.bodies[j].parent
                for row, l_i, s_i, l_dot, s_dot in axes[j]:
                    C[row][k] = C[row][k] + (dot(l_i, changing[0]) + dot(s_i, changing[1]))
                    C[k][row] = C[k][row] + (
                        dot(l_dot, momentum[0]) + dot(s_dot, momentum[1]) + dot(s_i, spin))
    return C


def _derivative(linear, angular, v, w):
    """Return the rate of a column fixed in a body: the motion product v x column."""
    return sub(cross(w, linear), cross(angular, v)), cross(w, angular)


def _composite_flows(tree, parameters, places, velocities):
    """Momentum p, l and E = integral (x' r^T + r x'^T) dm of every body and all it carries."""
    flows = [_flow(inertia_of(parameters[i]), *velocities[i]) for i in range(len(tree.bodies))]
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            turn, arm = places[i]
            p, spin, E = flows[i]
            p, spin = wrench_in_parent(places[i], p, spin)
            E = [x + y for x, y in zip(turned_symmetric(turn, E), _doubled_symmetric(p, arm))]
            flows[parent] = (add(flows[parent][0], p), add(flows[parent][1], spin),
                             tuple(x + y for x, y in zip(flows[parent][2], E)))
    return flows


def _flow(inertia, v, w):
    """Return p, l and E of one body from Q = integral x' r^T dm = v h^T + S(w) S."""
    m, h, (xx, xy, xz, yy, yz, zz) = inertia
    spun = [cross(w, column) for column in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
    Q = [[v[i] * h[j] + spun[j][i] for j in range(3)] for i in range(3)]
    return (add(scale(m, v), cross(w, h)),
            (Q[2][1] - Q[1][2], Q[0][2] - Q[2][0], Q[1][0] - Q[0][1]),
            tuple(Q[i][j] + Q[j][i] for i in range(3) for j in range(i, 3)))


def _doubled_symmetric(a, b):
    """Return the six elements of a b^T + b a^T; b is mostly constant."""
    return (a[0] * (b[0] + b[0]), a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[2] * b[0],
            a[1] * (b[1] + b[1]), a[1] * b[2] + a[2] * b[1], a[2] * (b[2] + b[2]))


def _flow_wrenches(flow, linear, angular):
    """Return integral [1; r x] (angular x x') dm, and integral x' x (linear + angular x r) dm."""
    p, spin, E = flow
    straight, across = inertia_times(E, angular), cross(angular, spin)
    return ((cross(angular, p), scale(0.5, add(straight, across))),
            add(cross(p, linear), scale(0.5, sub(straight, across))))
