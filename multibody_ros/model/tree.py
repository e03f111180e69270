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
The tree the algorithms run on: moving bodies only, one placement and one joint each.

Fixed links are lumped into the body they ride on, a mimic joint becomes `ratio * q + offset` of
the coordinate it follows, a planar joint three joints in a row (along x, along y, about z). The
inertia of a body is a linear function of the link parameters (`Tree.lump`), so that masses stay
run-time inputs while geometry is constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .model import Mat3, Vec3


@dataclass(frozen=True)
class Body:
    """
    One moving body and the joint it hangs on.

    The joint frame sits at (R, p) in the parent body; the body frame is the joint frame moved by
    the joint. kind is 'revolute' (turned about axis by x) or 'prismatic' (slid along axis by x),
    with x = ratio * q[self.q] + offset and velocity ratio * v[self.v]; or 'floating'
    (x y z qx qy qz qw in the joint frame, velocity [linear; angular] in body axes); or 'fixed',
    where the forces a fixed joint transmits are wanted.
    """

    joint: str
    parent: int
    kind: str
    axis: Vec3
    R: Mat3
    p: Vec3
    q: int
    v: int
    ratio: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Frame:
    """A frame fixed to a body (-1: the world): x_body = R x_frame + p."""

    body: int
    R: Mat3
    p: Vec3


@dataclass(frozen=True, eq=False)
class Tree:
    """Bodies with parents before children, and how links and parameters map onto them."""

    bodies: tuple[Body, ...]
    nq: int
    nv: int
    gravity: Vec3
    #: link name -> its place
    frames: dict[str, Frame]
    #: reflected rotor inertia N^2 J of every velocity coordinate
    rotor: tuple[float, ...]
    #: for every link of the model, in its order: the body it rides on (-1: the fixed base, whose
    #: share no motion depends on) and the 10x10 matrix that takes the link's parameters to its
    #: share of the body's m, h (3) = m c, Sxx Sxy Sxz Syy Syz Szz, with the second moments
    #: S = integral r r^T dm = tr(I)/2 1 - I, about the body origin in body axes
    lump: tuple[tuple[int, np.ndarray], ...]

    def body_parameters(self, link_parameters: np.ndarray) -> np.ndarray:
        """Return m, h, S of every body (bodies, 10) from m, m c, I of every link (links, 10)."""
        bodies = np.zeros((len(self.bodies) + 1, 10))
        for (body, block), parameters in zip(self.lump, link_parameters):
            bodies[body] += block @ parameters
        return bodies[:-1]
