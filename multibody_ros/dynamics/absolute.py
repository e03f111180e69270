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
Absolute coordinates: every body free, every joint a constraint (theory.md section 7).

A body's coordinates are the position r of its centre of mass and orientation parameters; its
velocities r' in world axes and w in body axes. The space offers the same `motion` as joint
coordinates do, so the same constraints serve both.
"""

from __future__ import annotations

from .constraints import Constraint, Holonomic, LoopClosure, Pfaffian
from .orientation import ORIENTATIONS
from .spatial import add, apply, apply_transposed, cross, dot, product, sub
from ..compiler.functions import atan2, cos, sin
from ..model.lump import plane_axes
from ..model.model import Attachment, IDENTITY, Loop, ZERO
from ..model.rigid import place_in


class BodySpace:
    """The coordinates of free bodies: r and theta of each."""

    def __init__(self, model, centres, orientation='euler_parameters'):
        """
        Group links that fixed joints hold together; `centres` {body: centre in its first link}.

        The first link of a group names the body.
        """
        self.model = model
        self.orientation = ORIENTATIONS[orientation]
        self.frames, self.bodies = link_frames(model)
        for link, (body, R, p) in self.frames.items():
            if body is not None:
                self.frames[link] = body, R, sub(p, centres[body])
        self.index = {body: i for i, body in enumerate(self.bodies)}
        self.stride = 3 + self.orientation.size
        self.nq, self.nv = self.stride * len(self.bodies), 6 * len(self.bodies)
        self.joints = {joint.name: joint for joint in model.joints if joint.kind != 'fixed'}

    def rates(self, x, u):
        """Return dx/dt."""
        result = []
        for i in range(len(self.bodies)):
            theta = x[self.stride * i + 3:self.stride * (i + 1)]
            v = u[6 * i:6 * i + 6]
            result += [*v[:3], *self.orientation.rates(theta, tuple(v[3:]))]
        return result

    def motion(self, x, u, t):
        """Return the motion at a state; without velocities `u` is None."""
        return BodyMotion(self, x, u, t)


def link_frames(model):
    """Return {link: (body or None for the ground, R, p in its first link)} and the bodies."""
    frames = {model.links[0].name: (None, IDENTITY, ZERO)}
    bodies = []
    for joint in model.joints:
        if joint.kind == 'fixed':
            body, R, p = frames[joint.parent]
            frames[joint.child] = (body, *place_in(R, p, joint.rotation, joint.position))
        else:
            bodies.append(joint.child)
            frames[joint.child] = joint.child, IDENTITY, ZERO
    return frames, bodies


class BodyMotion:
    """Links and joints as the coordinates of the bodies place them."""

    def __init__(self, space, x, u, t):
        """Hold a state."""
        self.space, self.x, self.u, self.t = space, x, u, t
        self.touched = set()

    def _body(self, name):
        space = self.space
        i = space.index[name]
        self.touched.update(range(6 * i, 6 * i + 6))
        x = self.x[space.stride * i:space.stride * (i + 1)]
        return space.orientation.rotation(x[3:]), tuple(x[:3])

    def pose(self, link):
        """Return R_WL and p_WL of a link."""
        body, R_BL, p_BL = self.space.frames[link]
        if body is None:
            return R_BL, p_BL
        R, r = self._body(body)
        return product(R, R_BL), add(r, apply(R, p_BL))

    def placed(self, end):
        """Return R and p of an attachment in the world."""
        R, p = self.pose(end.link)
        return product(R, end.rotation), add(p, apply(R, end.position))

    def pair(self, first, second):
        """Return R and p of two attachments in the world."""
        return self.placed(first), self.placed(second)

    def velocity(self, link):
        """Return linear and angular velocity of a link's origin, world axes."""
        body, _, p_BL = self.space.frames[link]
        if body is None:
            return ZERO, ZERO
        R, _ = self._body(body)
        i = 6 * self.space.index[body]
        w = tuple(self.u[i + 3:i + 6])
        return add(tuple(self.u[i:i + 3]), apply(R, cross(w, p_BL))), apply(R, w)

    def position(self, joint, k=0):
        """Return the k-th coordinate of a joint, angles between -pi and pi."""
        return joint_positions(self, self.space.joints[joint])[k]

    def deviation(self, joint, wanted):
        """Return how far a joint of one coordinate is from where it is wanted, the short way."""
        way = self.position(joint) - wanted
        return way if self.space.joints[joint].kind == 'prismatic' else atan2(sin(way), cos(way))

    def rate(self, joint, k=0):
        """Return the k-th velocity of a joint."""
        return joint_rates(self, self.space.joints[joint])[k]


def ends(joint):
    """Return where a joint sits on its parent and on its child."""
    return Attachment(joint.parent, joint.rotation, joint.position), Attachment(joint.child)


def joint_positions(motion, joint):
    """Return the coordinates of a joint from the poses of its links."""
    (R_J, p_J), (R_C, p_C) = motion.pair(*ends(joint))
    if joint.kind == 'prismatic':
        return [dot(joint.axis, apply_transposed(R_J, sub(p_C, p_J)))]
    x, y = plane_axes(joint.axis)
    moved = apply_transposed(R_J, apply(R_C, x))
    angle = atan2(dot(y, moved), dot(x, moved))
    if joint.kind == 'planar':
        shift = apply_transposed(R_J, sub(p_C, p_J))
        return [dot(x, shift), dot(y, shift), angle]
    return [angle]


def joint_rates(motion, joint):
    """Return the velocities of a joint from those of its links."""
    parent, child = ends(joint)
    (R_J, p_J), (R_C, p_C) = motion.pair(parent, child)
    v_P, w_P = motion.velocity(joint.parent)
    v_C, w_C = motion.velocity(joint.child)
    p_P = motion.pose(joint.parent)[1]
    spin = sub(w_C, w_P)
    slide = sub(v_C, add(v_P, cross(w_P, sub(p_C, p_P))))
    if joint.kind == 'floating':
        return [*apply_transposed(R_C, slide), *apply_transposed(R_C, spin)]
    turn = dot(apply(R_J, joint.axis), spin)
    if joint.kind == 'prismatic':
        return [dot(apply(R_J, joint.axis), slide)]
    if joint.kind == 'planar':
        x, y = plane_axes(joint.axis)
        return [dot(apply(R_J, x), slide), dot(apply(R_J, y), slide), turn]
    return [turn]


def joint_constraints(model):
    """Return what the joints ask of free bodies; followers also copy their leader."""
    result: list[Constraint] = []
    for joint in model.joints:
        if joint.kind in ('fixed', 'floating'):
            continue
        parent, child = ends(joint)
        result.append(LoopClosure(Loop(joint.name, joint.kind, parent, child, joint.axis)))
        if joint.mimic is not None:
            def follow(motion, name=joint.name, mimic=joint.mimic):
                return [motion.position(name)
                        - (mimic.multiplier * motion.position(mimic.joint) + mimic.offset)]
            result.append(Holonomic(f'{joint.name} mimic', follow, joints=(joint.name,)))
    return result


def joint_coordinates(model):
    """Return one velocity map a coordinate: {joint: Pfaffian of its rates}, in the order of v."""
    return [Pfaffian(joint.name, lambda motion, joint=joint: joint_rates(motion, joint))
            for joint in model.joints if joint.kind != 'fixed' and joint.mimic is None]
