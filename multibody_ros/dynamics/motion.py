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
What a constraint sees of a mechanism: poses, velocities, joint positions, over any scalar.

A constraint is a function of a motion and does not know which coordinates are behind it: joint
coordinates here (JointSpace), those of free bodies in absolute.py. A space names the coordinates,
`rates` their time derivatives, `motion` what they say about links and joints.
"""

from .derivatives import position_rates
from .kinematics import path, placements, velocity
from .spatial import add, apply, product
from ..model.model import COORDINATES
from ..model.rigid import place_in

#: rounding errors of constants that are meant to be 0, 1 or -1
TINY = 1e-14


class JointSpace:
    """The joint coordinates of a tree, with the model's joints by name."""

    def __init__(self, tree, model):
        """Give the joints their places in q and v; a follower has those of its leader."""
        self.tree = tree
        self.nq, self.nv = tree.nq, tree.nv
        self.joints = joint_table(model)
        self.links = [link.name for link in model.links]
        self.above = {joint.child: joint for joint in model.joints}

    def rates(self, q, v):
        """Return dq/dt."""
        return position_rates(self.tree, q, v)

    def motion(self, q, v, t):
        """Return the motion at a state; without velocities `v` is None."""
        return JointMotion(self, q, v, t)


class JointMotion:
    """
    Links and joints as the joint coordinates place them.

    `touched` collects the velocity coordinates that what was asked for depends on.
    """

    def __init__(self, space, q, v, t):
        """Hold a state; nothing is computed before it is asked for."""
        self.space, self.q, self.v, self.t = space, q, v, t
        self.touched = set()

    def pair(self, first, second):
        """Return (R, p) of two attachments in axes they share: those of their common ancestor."""
        tree = self.space.tree
        frames = [attached(tree.frames[end.link], end) for end in (first, second)]
        ways = [path(tree, body) for body, _, _ in frames]
        shared = 0
        while all(shared < len(way) for way in ways) and ways[0][shared] == ways[1][shared]:
            shared += 1
        ancestor = ways[0][shared - 1] if shared else -1
        return tuple(self._placed(frame, way[shared:], ancestor)
                     for frame, way in zip(frames, ways))

    def pose(self, link):
        """Return R_WL and p_WL of a link."""
        frame = self.space.tree.frames[link]
        return self._placed((frame.body, frame.R, frame.p), path(self.space.tree, frame.body), -1)

    def velocity(self, link):
        """Return linear and angular velocity of a link's origin, world axes."""
        frame = self.space.tree.frames[link]
        self._touch(path(self.space.tree, frame.body))
        twist = velocity(self.space.tree, self.q, self.v, frame)
        return tuple(twist[:3]), tuple(twist[3:])

    def position(self, joint, k=0):
        """Return the k-th coordinate of a joint, in rad or m."""
        q, v, ratio, offset, _ = self.space.joints[joint]
        self.touched.add(v + k)
        return ratio * self.q[q + k] + offset

    def deviation(self, joint, wanted):
        """Return how far a joint of one coordinate is from where it is wanted."""
        return self.position(joint) - wanted

    def rate(self, joint, k=0):
        """Return the k-th velocity of a joint."""
        _, v, ratio, _, _ = self.space.joints[joint]
        self.touched.add(v + k)
        return ratio * self.v[v + k]

    def _placed(self, frame, indices, ancestor):
        tree = self.space.tree
        body, R_BF, p_BF = frame
        self._touch(indices)
        if not indices:
            return R_BF, p_BF
        R, p = placements(tree, self.q, indices, ancestor)[body]
        return product(R, R_BF), add(p, apply(R, p_BF))

    def _touch(self, indices):
        for i in indices:
            body = self.space.tree.bodies[i]
            self.touched.update(range(body.v, body.v + (6 if body.kind == 'floating' else 1)))


def joint_table(model):
    """Return {joint: (index in q, index in v, multiplier, offset, kind)} of all that move."""
    table = {}
    nq = nv = 0
    for joint in model.joints:
        if joint.kind != 'fixed' and joint.mimic is None:
            table[joint.name] = nq, nv, 1.0, 0.0, joint.kind
            nq, nv = nq + COORDINATES[joint.kind][0], nv + COORDINATES[joint.kind][1]
    for joint in model.joints:
        if joint.kind != 'fixed' and joint.mimic is not None:
            q, v, *_ = table[joint.mimic.joint]
            table[joint.name] = q, v, joint.mimic.multiplier, joint.mimic.offset, joint.kind
    return table


def attached(frame, end):
    """Return body, R and p of an attachment on the link of `frame`, right angles exact."""
    R, p = place_in(frame.R, frame.p, end.rotation, end.position)
    return frame.body, tuple(_exact(row) for row in R), _exact(p)


def _exact(vector):
    return tuple(float(round(x)) if abs(x - round(x)) <= TINY else x for x in vector)
