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
Constraints: what a motion must satisfy, in basic geometric form (theory.md section 6).

A holonomic constraint has `residual(motion)`, zero where it holds. A Pfaffian one has
`rate(motion)`, linear in the velocities, zero where it holds. Each is written once over plain
scalars; Jacobians and acceleration terms are derived by dual numbers (constraint_terms.py).

Residuals are measured in axes of the predecessor: they do not depend on who looks. The rotation
rows are 2 tan(angle / 2), which grows without bound towards half a turn and so has no second root
with the part upside down, and has the slope of the angle where it vanishes.
"""

from __future__ import annotations

from typing import Callable

from .spatial import apply_transposed, cross, dot, product, sub, transposed
from ..compiler.functions import sqrt
from ..model.lump import plane_axes
from ..model.model import Attachment, Coupling, Loop, ModelError

#: equations of every kind of loop: x y z are shifts, rx ry rz rotations, z along the loop's axis
ROWS = {
    'revolute': 'x y z rx ry', 'continuous': 'x y z rx ry', 'prismatic': 'x y rx ry rz',
    'cylindrical': 'x y rx ry', 'planar': 'z rx ry', 'spherical': 'x y z',
    'fixed': 'x y z rx ry rz', 'universal': 'x y z cross', 'floating': '',
}


class Constraint:
    """A named condition; `links` are those it may push on, `joints` those it acts along."""

    holonomic = True

    def __init__(self, name, labels=(), links=(), joints=()):
        """Name the constraint and its equations."""
        self.name = name
        self.labels = tuple(labels)
        self.links = tuple(links)
        self.joints = tuple(joints)

    def __repr__(self):
        """Return kind and name."""
        return f'<{type(self).__name__} {self.name!r}>'

    def residual(self, motion):
        """Return the left-hand sides of Phi(q, t) = 0."""
        raise NotImplementedError

    def rate(self, motion):
        """Return the left-hand sides of A^T v + a_0 = 0."""
        raise NotImplementedError


class LoopClosure(Constraint):
    """A joint that closes a loop: `<loop>` of the file, or a joint between free bodies."""

    def __init__(self, loop: Loop):
        """
        Take the loop joint; a universal joint's second axis is carried by the successor.

        Its first axis is the loop's, on the predecessor, its second the x axis that goes with it
        (see lump.plane_axes: x for an axis along z), on the successor.
        """
        super().__init__(loop.name, ROWS[loop.kind].split(),
                         (loop.predecessor.link, loop.successor.link))
        self.loop = loop

    def residual(self, motion):
        """Return the rows of the loop's kind."""
        loop = self.loop
        x, y = plane_axes(loop.axis)
        z = loop.axis
        (R_P, p_P), (R_S, p_S) = motion.pair(loop.predecessor, loop.successor)
        rows = {}
        if 'x' in self.labels or 'z' in self.labels:
            shift = apply_transposed(R_P, sub(p_S, p_P))
            rows.update(x=dot(x, shift), y=dot(y, shift), z=dot(z, shift))
        R = product(transposed(R_P), R_S)
        if 'rz' in self.labels:
            rows.update(zip(('rx', 'ry', 'rz'), rotation_vector(R, (x, y, z))))
        elif 'rx' in self.labels:
            rows.update(zip(('rx', 'ry'), tilt(R, x, y, z)))
        elif 'cross' in self.labels:
            rows['cross'] = dot(z, tuple(dot(row, x) for row in R))
        return [rows[label] for label in self.labels]


def rotation_vector(R, axes):
    """Return 2 tan(angle / 2) along each axis of the rotation R: twice Rodrigues' parameters."""
    k = 2.0 / (1.0 + (R[0][0] + R[1][1] + R[2][2]))
    u = (R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1])
    return [k * dot(axis, u) for axis in axes]


def tilt(R, x, y, z):
    """Return by how much R turns z about x and about y, as 2 tan(angle / 2)."""
    moved = tuple(dot(row, z) for row in R)
    k = 2.0 / (1.0 + dot(z, moved))
    return [-(k * dot(y, moved)), k * dot(x, moved)]


class JointCoupling(Constraint):
    """URDF+ coupling: ratio times the joint sum to one link equals that to the other."""

    def __init__(self, coupling: Coupling, above: dict):
        """Find the joints from the common ancestor; `above` is {link: joint it hangs on}."""
        ways = [_joints_to(link, above) for link in (coupling.predecessor, coupling.successor)]
        shared = {joint.name for joint in ways[0]} & {joint.name for joint in ways[1]}
        self.sides = [[joint.name for joint in way if joint.name not in shared and
                       joint.kind != 'fixed'] for way in ways]
        for joint in (*ways[0], *ways[1]):
            if joint.name not in shared and joint.kind in ('floating', 'planar'):
                raise ModelError(f"coupling '{coupling.name}' runs over the {joint.kind} joint "
                                 f"'{joint.name}': only joints of one coordinate can be coupled")
        super().__init__(coupling.name, ('ratio',), joints=[*self.sides[0], *self.sides[1]])
        self.ratio = coupling.ratio

    def residual(self, motion):
        """Return ratio times one sum less the other."""
        first, second = ([motion.position(joint) for joint in side] for side in self.sides)
        return [self.ratio * sum(first, 0.0) - sum(second, 0.0)]


def _joints_to(link, above):
    way = []
    while link in above:
        way.append(above[link])
        link = above[link].parent
    return way


class Driven(Constraint):
    """A joint that follows a given motion: q = f(t), f over scalars (compiler.functions)."""

    def __init__(self, joint: str, function: Callable, name: str | None = None):
        """Drive `joint`, of one coordinate, in rad or m, t in seconds."""
        super().__init__(name or f'driven {joint}', ('q',), joints=(joint,))
        self.joint, self.function = joint, function

    def residual(self, motion):
        """Return q - f(t)."""
        return [motion.deviation(self.joint, self.function(motion.t))]


class Distance(Constraint):
    """Two points stay at a distance: a massless rod with ball ends."""

    def __init__(self, name: str, first: Attachment, second: Attachment, length: float):
        """Tie the origins of two attachments together, `length` in m."""
        if not length > 0.0:
            raise ValueError(f"distance '{name}' must be positive, not {length}; "
                             'a spherical loop holds two points together')
        super().__init__(name, ('length',), (first.link, second.link))
        self.first, self.second, self.length = first, second, float(length)

    def residual(self, motion):
        """Return (l^2 - length^2) / (2 length): l - length to first order, also at l = 0."""
        (_, p_P), (_, p_S) = motion.pair(self.first, self.second)
        d = sub(p_S, p_P)
        return [(dot(d, d) - self.length ** 2) * (0.5 / self.length)]


class OnCurve(Constraint):
    """
    A point of the second attachment stays on a curve or surface fixed to the first.

    equations(x, y, z) returns what vanishes there, in axes of the first attachment, metres.
    """

    def __init__(self, name: str, first: Attachment, second: Attachment, equations: Callable):
        """Guide the origin of `second`."""
        super().__init__(name, links=(first.link, second.link))
        self.first, self.second, self.equations = first, second, equations

    def residual(self, motion):
        """Return the equations of the curve at the point."""
        (R, p_P), (_, p_S) = motion.pair(self.first, self.second)
        return list(self.equations(*apply_transposed(R, sub(p_S, p_P))))


class Holonomic(Constraint):
    """Any other condition on positions: function(motion) returns what vanishes."""

    def __init__(self, name: str, function: Callable, links=(), joints=()):
        """Use motion.pose(link), motion.pair, motion.position(joint), motion.t."""
        super().__init__(name, links=links, joints=joints)
        self.function = function

    def residual(self, motion):
        """Return what vanishes."""
        return list(self.function(motion))


class Pfaffian(Constraint):
    """
    A condition on velocities, A(q)^T v + a_0 = 0: function(motion) returns the left-hand sides.

    It may use motion.velocity(link) and motion.rate(joint) and must be linear in them.
    """

    holonomic = False

    def __init__(self, name: str, function: Callable, links=(), joints=()):
        """Take the function."""
        super().__init__(name, links=links, joints=joints)
        self.function = function

    def rate(self, motion):
        """Return what vanishes."""
        return list(self.function(motion))


def rolling_disk(name: str, link: str, radius: float, axis=(0.0, 0.0, 1.0)) -> list[Constraint]:
    """
    Return the constraints of a thin disk that rolls on the plane z = 0 without slipping.

    The disk's centre is the link's origin, `axis` its axis in link axes. The rim point below the
    centre touches the plane, and does not move.
    """
    def contact(motion):
        R, p = motion.pose(link)
        n = tuple(dot(row, axis) for row in R)
        # the steepest direction down in the plane of the disk: (n x z) x n, made a unit vector
        length = sqrt(n[0] * n[0] + n[1] * n[1])
        down = tuple(-(x / length) for x in cross(cross(n, (0.0, 0.0, 1.0)), n))
        return p, tuple(radius * x for x in down)

    def height(motion):
        p, arm = contact(motion)
        return [p[2] + arm[2]]

    def slip(motion):
        _, arm = contact(motion)
        linear, angular = motion.velocity(link)
        moved = cross(angular, arm)
        return [linear[0] + moved[0], linear[1] + moved[1]]

    return [Holonomic(f'{name} height', height, [link]), Pfaffian(f'{name} slip', slip, [link])]
