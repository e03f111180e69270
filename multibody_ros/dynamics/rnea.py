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
Inverse dynamics: recursive Newton-Euler (Luh, Walker, Paul 1980) in body axes.

Written with the second moments S = integral r r^T dm and U = S(w') + S(w) S(w), the matrix of
the acceleration field a + U r (Khalil and Kleinfinger 1987), which costs the fewest operations.
"""

from .kinematics import in_body, joint_motion, local_placements, motion_axes
from .spatial import (
    add, apply, cross, dot, inertia_of, scale, sub, turned, turned_back, ZERO,
)

STILL = ((0.0, 0.0, 0.0),) * 3


def inverse_dynamics(tree, parameters, q, v, a, wrenches=None):
    """
    Generalised forces tau that give the acceleration `a`.

    wrenches: {Frame: [force; torque] at the frame's origin, world axes} acting on the robot.
    """
    tau = [rotor * acceleration for rotor, acceleration in zip(tree.rotor, a)]
    joints = joint_wrenches(tree, parameters, q, v, a, wrenches)
    for body, (f, n) in zip(tree.bodies, joints):
        for k, linear, angular in motion_axes(body):
            tau[k] = tau[k] + (dot(linear, f) + dot(angular, n))
    return tau


def bias(tree, parameters, q, v, wrenches=None):
    """Return C(q, v) v + g(q): the forces that hold the robot at constant v."""
    return inverse_dynamics(tree, parameters, q, v, [0.0] * tree.nv, wrenches)


def joint_wrenches(tree, parameters, q, v, a, wrenches=None):
    """Force and torque every body gets from its parent, at its origin, in its axes."""
    places = local_placements(tree, q)
    fields = acceleration_fields(tree, places, v, a)
    forces = [list(body_wrench(inertia_of(block), *field))
              for block, field in zip(parameters, fields)]
    for i, force, torque in applied_wrenches(tree, q, wrenches):
        forces[i] = [sub(forces[i][0], force), sub(forces[i][1], torque)]
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            f, n = wrench_in_parent(places[i], *forces[i])
            forces[parent] = [add(forces[parent][0], f), add(forces[parent][1], n)]
    return [(f, n) for f, n in forces]


def applied_wrenches(tree, q, wrenches):
    """Return (body, force, torque) of external wrenches, at the body's origin, in its axes."""
    applied = []
    for frame, wrench in (wrenches or {}).items():
        if frame.body >= 0:
            force = in_body(tree, q, frame.body, tuple(wrench[:3]))
            torque = in_body(tree, q, frame.body, tuple(wrench[3:]))
            applied.append((frame.body, force, add(torque, cross(frame.p, force))))
    return applied


def acceleration_fields(tree, places, v, a):
    """Return (a, U) of every body: its point r accelerates, less gravity, by a + U r."""
    moving = {-1: (ZERO, ZERO, scale(-1.0, tree.gravity), STILL)}
    for i, (body, (turn, p)) in enumerate(zip(tree.bodies, places)):
        w, w_dot, acceleration, U = moving[body.parent]
        v_joint, w_joint = joint_motion(body, v)
        a_joint, w_dot_joint = joint_motion(body, a)
        acceleration = turned_back(turn, add(acceleration, apply(U, p)))
        w_parent = turned_back(turn, w)
        w = add(w_parent, w_joint)
        w_dot = add(add(turned_back(turn, w_dot), cross(w_parent, w_joint)), w_dot_joint)
        # the point of the parent that the origin slides over moves with w_parent: Coriolis'
        # term is 2 w_parent x v; v is given in axes that turn by w_joint themselves
        coriolis = add(scale(2.0, cross(w_parent, v_joint)), cross(w_joint, v_joint))
        acceleration = add(add(acceleration, coriolis), a_joint)
        moving[i] = w, w_dot, acceleration, acceleration_gradient(w, w_dot)
    return [moving[i][2:] for i in range(len(tree.bodies))]


def acceleration_gradient(w, w_dot):
    """Return U = S(w') + S(w) S(w)."""
    x, y, z = w
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return ((-(yy + zz), xy - w_dot[2], xz + w_dot[1]),
            (xy + w_dot[2], -(xx + zz), yz - w_dot[0]),
            (xz - w_dot[1], yz + w_dot[0], -(xx + yy)))


def body_wrench(inertia, a, U):
    """
    Force and torque about the origin that a body of (m, h, S) needs for the field (a, U).

    F = m a + U h and N = h x a + axial vector of U S - (U S)^T, which equals
    h x a + I w' + w x I w.
    """
    m, h, (xx, xy, xz, yy, yz, zz) = inertia
    spin = (U[2][0] * xy - U[1][0] * xz + U[2][1] * yy - U[1][2] * zz + (U[2][2] - U[1][1]) * yz,
            U[0][1] * yz - U[2][1] * xy + U[0][2] * zz - U[2][0] * xx + (U[0][0] - U[2][2]) * xz,
            U[1][2] * xz - U[0][2] * yz + U[1][0] * xx - U[0][1] * yy + (U[1][1] - U[0][0]) * xy)
    return add(scale(m, a), apply(U, h)), add(spin, cross(h, a))


def wrench_in_parent(place, f, n):
    """Carry a force and torque from a body's origin and axes to those of its parent."""
    turn, p = place
    f = turned(turn, f)
    return f, add(turned(turn, n), cross(p, f))
