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
Forward dynamics: articulated bodies (Featherstone 2008, table 7.1), linear in the joints.

The articulated inertia [A, B^T; B, C] takes the acceleration [a; w'] of a body to the force and
torque [f; n] at its origin. A floating joint is eliminated coordinate by coordinate, which is the
factorisation of its 6 x 6 block.
"""

from .kinematics import joint_motion, local_placements, motion_axes
from .rnea import acceleration_gradient, applied_wrenches, body_wrench, wrench_in_parent
from .spatial import (
    add, apply, apply_transposed, cross, dot, inertia_of, product, scale, sub, transposed,
    turned_back, turned_symmetric, ZERO,
)

#: rows and columns of the six elements of a symmetric matrix
PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def articulated_bodies(tree, parameters, q, v, tau, wrenches=None):
    """Acceleration of a tree in which no joint mimics another."""
    places = local_placements(tree, q)
    w, drifts = _drifts(tree, places, v)
    blocks = [inertia_of(parameters[i]) for i in range(len(tree.bodies))]
    inertias = [_rigid(*block) for block in blocks]
    forces = [body_wrench(block, ZERO, acceleration_gradient(w[i], ZERO))
              for i, block in enumerate(blocks)]
    for i, force, torque in applied_wrenches(tree, q, wrenches):
        forces[i] = sub(forces[i][0], force), sub(forces[i][1], torque)
    eliminated = [None] * len(tree.bodies)
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        eliminated[i], inertia, force = _without_joint(
            inertias[i], forces[i], motion_axes(body), tau, tree.rotor)
        if body.parent >= 0:
            force = _sum(force, _force_of(inertia, *drifts[i]))
            force = wrench_in_parent(places[i], *force)
            inertias[body.parent] = _sum_inertias(
                inertias[body.parent], _in_parent(places[i], inertia))
            forces[body.parent] = _sum(forces[body.parent], force)
    return _accelerations(tree, places, drifts, eliminated)


def _drifts(tree, places, v):
    """Angular velocities, and the accelerations that velocities alone cause at each joint."""
    angular = {-1: ZERO}
    drifts = []
    for i, (body, (turn, p)) in enumerate(zip(tree.bodies, places)):
        v_joint, w_joint = joint_motion(body, v)
        w_parent = turned_back(turn, angular[body.parent])
        angular[i] = add(w_parent, w_joint)
        centripetal = apply(acceleration_gradient(angular[body.parent], ZERO), p)
        coriolis = add(scale(2.0, cross(w_parent, v_joint)), cross(w_joint, v_joint))
        drifts.append((add(turned_back(turn, centripetal), coriolis), cross(w_parent, w_joint)))
    return angular, drifts


def _without_joint(inertia, force, axes, tau, rotor):
    """Inertia and force felt through a joint, and what is needed to find its acceleration."""
    steps = []
    for k, linear, angular in reversed(axes):
        U = _force_of(inertia, linear, angular)
        d = 1.0 / (dot(linear, U[0]) + dot(angular, U[1]) + rotor[k])
        u = d * (tau[k] - (dot(linear, force[0]) + dot(angular, force[1])))
        W = _divided(U, d, (linear, angular), rotor[k])
        inertia = _less_square(inertia, U, W)
        force = _sum(force, (scale(u, U[0]), scale(u, U[1])))
        steps.append((k, linear, angular, W, u))
    return steps[::-1], inertia, force


def _accelerations(tree, places, drifts, eliminated):
    moving = {-1: (scale(-1.0, tree.gravity), ZERO)}
    result = [0.0] * tree.nv
    for i, (body, (turn, p)) in enumerate(zip(tree.bodies, places)):
        a, w_dot = moving[body.parent]
        a = add(turned_back(turn, add(a, cross(w_dot, p))), drifts[i][0])
        w_dot = add(turned_back(turn, w_dot), drifts[i][1])
        for k, linear, angular, W, u in eliminated[i]:
            result[k] = u - (dot(W[0], a) + dot(W[1], w_dot))
            a = add(a, scale(result[k], linear))
            w_dot = add(w_dot, scale(result[k], angular))
        moving[i] = a, w_dot
    return result


def _rigid(m, h, S):
    xx, xy, xz, yy, yz, zz = S
    return ((m, 0.0, 0.0, m, 0.0, m), _skew(h), (yy + zz, -xy, -xz, xx + zz, -yz, xx + yy))


def _skew(a):
    return (0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0)


def _full(S):
    xx, xy, xz, yy, yz, zz = S
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def _force_of(inertia, a, w_dot):
    A, B, C = inertia
    return (add(apply(_full(A), a), apply_transposed(B, w_dot)),
            add(apply(B, a), apply(_full(C), w_dot)))


def _divided(U, d, axis, rotor):
    """Return U / D; along a coordinate axis without rotor D is the element of U itself."""
    return tuple(tuple(a if a in (1.0, -1.0) and rotor == 0.0 else d * x
                       for x, a in zip(*pair)) for pair in zip(U, axis))


def _less_square(inertia, U, W):
    """Return the inertia less U W^T = W U^T; what the joint cannot feel becomes 0.0."""
    A, B, C = inertia
    (f, n), (g, o) = U, W
    return (tuple(x - _shared(f[i], g[i], f[j], g[j]) for x, (i, j) in zip(A, PAIRS)),
            tuple(tuple(x - _shared(n[i], o[i], f[j], g[j]) for j, x in enumerate(row))
                  for i, row in enumerate(B)),
            tuple(x - _shared(n[i], o[i], n[j], o[j]) for x, (i, j) in zip(C, PAIRS)))


def _shared(U_i, W_i, U_j, W_j):
    """Return U_i W_j = W_i U_j, by the factor that is a number."""
    return W_i * U_j if isinstance(W_i, float) else U_i * W_j


def _in_parent(place, inertia):
    """Carry an articulated inertia to the parent's origin and axes."""
    turn, p = place
    A, B, C = inertia
    A, C = turned_symmetric(turn, A), turned_symmetric(turn, C)
    for R in reversed(turn):
        B = product(R, product(B, transposed(R)))
    P = _skew(p)
    B_moved = tuple(add(row, moved) for row, moved in zip(B, product(P, _full(A))))
    # C + P B_moved^T + (P B^T)^T with P = S(p)
    left, right = product(P, transposed(B_moved)), product(P, transposed(B))
    C = tuple(x + (left[i][j] + right[j][i]) for x, (i, j) in zip(C, PAIRS))
    return A, B_moved, C


def _sum(one, other):
    return add(one[0], other[0]), add(one[1], other[1])


def _sum_inertias(one, other):
    return (tuple(x + y for x, y in zip(one[0], other[0])),
            tuple(add(x, y) for x, y in zip(one[1], other[1])),
            tuple(x + y for x, y in zip(one[2], other[2])))
