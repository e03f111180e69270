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

"""Mechanisms made in Python: those whose size is a parameter or that no file can describe."""

from __future__ import annotations


from .dynamics.constraints import Driven, OnCurve, rolling_disk
from .model.model import Attachment, IDENTITY, Joint, Link, Loop, Model, Vec3
from .model.rigid import link_parameters
from .robot import Robot

_Y = (0.0, -1.0, 0.0)


def rod(name: str, length: float, mass: float) -> Link:
    """Return a thin uniform rod along x from the link origin."""
    I = mass * length ** 2 / 12.0  # noqa: E741
    inertia = ((1e-3 * I, 0.0, 0.0), (0.0, I, 0.0), (0.0, 0.0, I))
    return Link(name, link_parameters(mass, (0.5 * length, 0.0, 0.0), inertia, IDENTITY))


def four_bar_chain(windows: int, length: float = 1.0, mass: float = 1.0) -> Robot:
    """
    Return the N-four-bar mechanism of the IFToMM benchmarks: 2 N + 1 rods, one freedom.

    N + 1 rods stand on the ground `length` apart (joints rod_0, ...; pi/2 is upright), N
    couplers tie the tips together (joint coupler_k on rod k, loop closure_k to rod k + 1). When
    all rods lie flat the chain is singular: N freedoms more for a moment.
    """
    if windows < 1:
        raise ValueError(f'a chain has at least one window, not {windows}')
    links, joints, loops = [Link('ground')], [], []
    for k in range(windows + 1):
        links.append(rod(f'rod{k}', length, mass))
        joints.append(Joint(f'rod_{k}', 'continuous', 'ground', f'rod{k}',
                            position=(k * length, 0.0, 0.0), axis=_Y))
        if k < windows:
            links.append(rod(f'coupler{k}', length, mass))
            joints.append(Joint(f'coupler_{k}', 'continuous', f'rod{k}', f'coupler{k}',
                                position=(length, 0.0, 0.0), axis=_Y))
            tip = (length, 0.0, 0.0)
            loops.append(Loop(f'closure_{k}', 'revolute',
                              Attachment(f'coupler{k}', position=tip),
                              Attachment(f'rod{k + 1}', position=tip), _Y))
    return Robot(Model(f'four_bar_chain_{windows}', tuple(links), tuple(joints),
                       loops=tuple(loops)))


def bead_on_wire(k: float = 1.5, mass: float = 0.8, rate: float | None = None,
                 inertia: float = 0.05) -> Robot:
    """
    Return a bead on the wire z = k x^2 that turns about z (theory.md section 12).

    Joints: turn, along (x), up (z). With `rate`, in rad/s, the wire is driven: turn = rate t.
    """
    spin = ((inertia, 0.0, 0.0), (0.0, inertia, 0.0), (0.0, 0.0, inertia))
    links = (Link('ground'), Link('wire', link_parameters(1.0, (0.0, 0.0, 0.0), spin, IDENTITY)),
             Link('slider'), Link('bead', (mass, *(0.0,) * 9)))
    joints = (Joint('turn', 'continuous', 'ground', 'wire', axis=(0.0, 0.0, 1.0)),
              Joint('along', 'prismatic', 'wire', 'slider', axis=(1.0, 0.0, 0.0)),
              Joint('up', 'prismatic', 'slider', 'bead', axis=(0.0, 0.0, 1.0)))
    wire = OnCurve('wire', Attachment('wire'), Attachment('bead'),
                   lambda x, y, z: [z - k * x * x])
    drive = [] if rate is None else [Driven('turn', lambda t: rate * t)]
    return Robot(Model('bead_on_wire', links, joints), constraints=[wire, *drive])


def rolling_disk_robot(radius: float = 0.3, mass: float = 2.0) -> Robot:
    """Return a thin uniform disk that rolls on the plane z = 0; its axis is the link's z axis."""
    across = 0.25 * mass * radius ** 2
    inertia = ((across, 0.0, 0.0), (0.0, across, 0.0), (0.0, 0.0, 2.0 * across))
    links = (Link('ground'), Link('disk', link_parameters(mass, (0.0,) * 3, inertia, IDENTITY)))
    return Robot(Model('rolling_disk', links, (Joint('free', 'floating', 'ground', 'disk'),)),
                 constraints=rolling_disk('rolling', 'disk', radius))


def bricard(length: float = 1.0, mass: float = 1.0) -> Robot:
    """
    Return Bricard's orthogonal six-bar: rods along edges of a cube, hinges square to both rods.

    Six hinges in space should lock (Gruebler: 0); this one moves with one freedom. At q = 0 the
    rods run along x, y, z, -x, -y from the origin, the ground along -z.
    """
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    # hinge k sits at the start of rod k; rods keep world axes at q = 0
    steps: list[Vec3] = [x, y, z, (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)]
    hinges = [y, z, x, y, z]
    links, joints = [Link('ground')], []
    for k, (step, axis) in enumerate(zip(steps, hinges)):
        before = (0.0, 0.0, 0.0) if k == 0 else steps[k - 1]
        links.append(_rod_along(f'rod{k}', step, length, mass))
        joints.append(Joint(f'hinge_{k}', 'continuous', links[k].name, f'rod{k}',
                            position=_times(length, before), axis=axis))
    end = Loop('closure', 'revolute', Attachment('rod4', position=(0.0, -length, 0.0)),
               Attachment('ground', position=(0.0, 0.0, length)), x)
    return Robot(Model('bricard', tuple(links), tuple(joints), loops=(end,)))


def _rod_along(name: str, direction: Vec3, length: float, mass: float) -> Link:
    """Return a thin uniform rod from the link origin along a coordinate axis."""
    across = mass * length ** 2 / 12.0
    x, y, z = (across * (1.0 - 0.999 * c * c) for c in direction)
    inertia = ((x, 0.0, 0.0), (0.0, y, 0.0), (0.0, 0.0, z))
    centre = _times(0.5 * length, direction)
    return Link(name, link_parameters(mass, centre, inertia, IDENTITY))


def _times(factor: float, a: Vec3) -> Vec3:
    return factor * a[0], factor * a[1], factor * a[2]
