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

"""The robot as its file tells it: links, joints, limits. Immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
import math

Vec3 = tuple[float, float, float]
Mat3 = tuple[Vec3, Vec3, Vec3]

IDENTITY: Mat3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ZERO: Vec3 = (0.0, 0.0, 0.0)

#: (nq, nv) of every joint kind
COORDINATES = {
    'revolute': (1, 1),
    'continuous': (1, 1),
    'prismatic': (1, 1),
    'planar': (3, 3),
    'floating': (7, 6),
    'fixed': (0, 0),
}


class ModelError(ValueError):
    """Something is wrong with a robot model; the message names the culprit and the choices."""


@dataclass(frozen=True)
class Link:
    """A rigid body of the file. SI units, link axes, about the link origin."""

    name: str
    #: m, m cx, m cy, m cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz (the inertia matrix's own elements)
    parameters: tuple[float, ...] = (0.0,) * 10


@dataclass(frozen=True)
class Mimic:
    """This joint's position is `multiplier` times that of `joint` plus `offset`."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """How the child link moves on the parent link. Limits not given are infinite."""

    name: str
    kind: str
    parent: str
    child: str
    rotation: Mat3 = IDENTITY
    position: Vec3 = ZERO
    axis: Vec3 = (1.0, 0.0, 0.0)
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    mimic: Mimic | None = None
    independent: bool | None = None


@dataclass(frozen=True)
class Attachment:
    """A point and axes on a link: one end of a loop joint."""

    link: str
    rotation: Mat3 = IDENTITY
    position: Vec3 = ZERO


@dataclass(frozen=True)
class Loop:
    """URDF+ loop joint between two links of the tree."""

    name: str
    kind: str
    predecessor: Attachment
    successor: Attachment
    axis: Vec3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Coupling:
    """URDF+ coupling: ratio times the joint sum to the predecessor is that to the successor."""

    name: str
    predecessor: str
    successor: str
    ratio: float


@dataclass(frozen=True)
class Model:
    """A whole robot. Links and joints in depth-first order, the root link first."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Vec3 = (0.0, 0.0, -9.81)
    loops: tuple[Loop, ...] = ()
    couplings: tuple[Coupling, ...] = ()
