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

from math import pi, sqrt

from .dynamics.constraints import Driven, OnCurve, rolling_disk
from .model.model import Attachment, IDENTITY, Joint, Link, Loop, Model, Vec3
from .model.rigid import link_parameters, rotation_rpy
from .robot import Robot

_Y = (0.0, -1.0, 0.0)


def rod(name: str, length: float, mass: float) -> Link:
    """Return a thin uniform rod along x from the link origin."""
    I = mass * length ** 2 / 12.0  # noqa: E741
    inertia = ((1e-3 * I, 0.0, 0.0), (0.0, I, 0.0), (0.0, 0.0, I))
    return Link(name, link_parameters(mass, (0.5 * length, 0.0, 0.0), inertia, IDENTITY))


def four_bar_chain(windows: int, length: float = 1.0, mass: float = 1.0) -> Robot:
    """Return the N-four-bar mechanism of the IFToMM benchmarks: 2 N + 1 equal rods, one freedom.

    N + 1 rods stand on the ground `length` apart (joints rod_0, ...; pi/2 is upright), N
    couplers tie the tips together (joint coupler_k on rod k, loop closure_k to rod k + 1). When all
    rods lie flat the chain is singular: N freedoms more for a moment.
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
