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
Where the bodies are and how they move: placements, velocities, Jacobians.

Notation as in Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 4, with vectors
[linear; angular]. Only bodies on the path from the world to a frame are visited.
"""

from .spatial import (
    add, apply, cross, product, rotation, rotation_of_quaternion, scale, sub,
    transposed, turn_of, turned, turned_back, UNITS, ZERO,
)


def motion_axes(body):
    """Columns of the joint's motion subspace: (index in v, linear, angular), body axes."""
    if body.kind == 'floating':
        return ([(body.v + k, UNITS[k], ZERO) for k in range(3)]
                + [(body.v + 3 + k, ZERO, UNITS[k]) for k in range(3)])
    if body.kind == 'fixed':
        return []
    axis = scale(body.ratio, body.axis)
    return [(body.v, ZERO, axis) if body.kind == 'revolute' else (body.v, axis, ZERO)]


def joint_motion(body, v):
    """Linear and angular part of the sum of the motion axes times `v`, in body axes."""
    if body.kind == 'floating':
        return tuple(v[body.v:body.v + 3]), tuple(v[body.v + 3:body.v + 6])
    if body.kind == 'fixed':
        return ZERO, ZERO
    (index, linear, angular), = motion_axes(body)
    return scale(v[index], linear), scale(v[index], angular)


def local_placement(body, q):
    """Turn and position of a body in its parent."""
    if body.kind == 'floating':
        x = tuple(q[body.q:body.q + 3])
        B = rotation_of_quaternion(q[body.q + 3:body.q + 7])
        return turn_of(body.R, B), add(body.p, apply(body.R, x))
    if body.kind == 'fixed':
        return (body.R,), body.p
    x = body.ratio * q[body.q] + body.offset
    if body.kind == 'prismatic':
        return (body.R,), add(body.p, scale(x, apply(body.R, body.axis)))
    return turn_of(body.R, rotation(body.axis, x)), body.p


def local_placements(tree, q):
    """Turn and position of every body in its parent."""
    return [local_placement(body, q) for body in tree.bodies]


def path(tree, index):
    """Return the indices of the bodies from the root to body `index`."""
    indices = []
    while index >= 0:
        indices.append(index)
        index = tree.bodies[index].parent
    return indices[::-1]


def placements(tree, q, indices=None, ancestor=-1):
    """
    Return {body index: (R, p)} of the bodies `indices` (parents first; default: all).

    Placed in the world, or in the body `ancestor` from which `indices` lead outwards.
    """
    places = {ancestor: (UNITS, ZERO)}
    for i in range(len(tree.bodies)) if indices is None else indices:
        R, p = places[tree.bodies[i].parent]
        turn, p_local = local_placement(tree.bodies[i], q)
        p = add(p, apply(R, p_local))
        for factor in turn:
            R = product(R, factor)
        places[i] = R, p
    return places


def pose(tree, q, frame):
    """Return R_WF and p_WF of a frame."""
    R, p = placements(tree, q, path(tree, frame.body))[frame.body]
    return product(R, frame.R), add(p, apply(R, frame.p))


def body_velocities(tree, q, v, indices=None):
    """Return {body index: (linear, angular)}, of the body origin, in body axes."""
    velocities = {-1: (ZERO, ZERO)}
    for i in range(len(tree.bodies)) if indices is None else indices:
        body = tree.bodies[i]
        turn, p = local_placement(body, q)
        linear, angular = velocities[body.parent]
        linear_joint, angular_joint = joint_motion(body, v)
        linear = turned_back(turn, add(linear, cross(angular, p)))
        velocities[i] = (add(linear, linear_joint),
                         add(turned_back(turn, angular), angular_joint))
    return velocities


def in_world(tree, q, index, x):
    """Return the vector `x` of body `index` in world axes."""
    for i in reversed(path(tree, index)):
        x = turned(local_placement(tree.bodies[i], q)[0], x)
    return x


def in_body(tree, q, index, x):
    """Return the vector `x` of the world in the axes of body `index`."""
    for i in path(tree, index):
        x = turned_back(local_placement(tree.bodies[i], q)[0], x)
    return x


def velocity(tree, q, v, frame):
    """Return [linear; angular] of a frame's origin, in world axes."""
    linear, angular = body_velocities(tree, q, v, path(tree, frame.body))[frame.body]
    linear = add(linear, cross(angular, frame.p))
    return [*in_world(tree, q, frame.body, linear), *in_world(tree, q, frame.body, angular)]


def jacobian(tree, q, frame):
    """Return the 6 x nv matrix J with velocity(frame) = J v."""
    J = [[0.0] * 6 for _ in range(tree.nv)]
    for columns in jacobian_columns(tree, q, frame).values():
        for k, linear, angular in columns:
            _accumulate(J[k], linear, angular)
    return _rows(J, 6)


def jacobian_columns(tree, q, frame):
    """Return {body index: [(index in v, linear, angular)]} of the bodies that carry the frame."""
    places = placements(tree, q, path(tree, frame.body))
    R, p = places[frame.body]
    p_WF = add(p, apply(R, frame.p))
    columns = {}
    for i in path(tree, frame.body):
        R, p = places[i]
        columns[i] = []
        for k, linear, angular in motion_axes(tree.bodies[i]):
            s = apply(R, angular)
            columns[i].append((k, add(apply(R, linear), cross(s, sub(p_WF, p))), s))
    return columns


def jacobian_dot(tree, q, v, frame):
    """
    Return the time derivative of `jacobian` along v.

    A column rides on a body that turns by w, but is taken at the frame's origin, which moves on
    from that body's point there by `ahead`: what the joints between the body and the frame do.
    """
    columns = jacobian_columns(tree, q, frame)
    riding = {}
    w = ZERO
    for i in columns:
        before = w
        for k, _, s in columns[i]:
            w = add(w, scale(v[k], s))
        # the axis of a joint with one freedom rides on the parent, too, which moves more simply
        riding[i] = w if tree.bodies[i].kind == 'floating' else before
    J_dot = [[0.0] * 6 for _ in range(tree.nv)]
    ahead = ZERO
    for i in reversed(columns):
        before = ahead
        for k, linear, _ in columns[i]:
            ahead = add(ahead, scale(v[k], linear))
        moved = before if tree.bodies[i].kind == 'floating' else ahead
        for k, linear, s in columns[i]:
            _accumulate(J_dot[k], add(cross(riding[i], linear), cross(s, moved)),
                        cross(riding[i], s))
    return _rows(J_dot, 6)


def _accumulate(column, linear, angular):
    for k in range(3):
        column[k] = column[k] + linear[k]
        column[3 + k] = column[3 + k] + angular[k]


def _rows(columns, height):
    return [list(row) for row in transposed(columns)] if columns else [[] for _ in range(height)]
