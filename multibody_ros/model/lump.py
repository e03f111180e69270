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

"""From the file's links and joints to the tree of moving bodies the algorithms run on."""

from __future__ import annotations

from typing import Sequence

import numpy as np

from .model import COORDINATES, IDENTITY, Joint, Mat3, Model, Vec3, ZERO
from .rigid import place_in
from .tree import Body, Frame, Tree

#: 4x4 basis of the pseudo-inertia [S, h; h^T, m] for m, h (3), Sxx Sxy Sxz Syy Syz Szz
_ELEMENTS = ((3, 3), (0, 3), (1, 3), (2, 3), (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def tree_of(model: Model, lump_fixed: bool = True) -> Tree:
    """Return the tree: fixed joints lumped, mimic folded, planar joints split in three."""
    first_q, first_v, nq, nv = _coordinates(model)
    bodies: list[Body] = []
    frames = {model.links[0].name: Frame(-1, IDENTITY, ZERO)}
    rotor = [0.0] * nv
    for joint in model.joints:
        mount = frames[joint.parent]
        R, p = place_in(mount.R, mount.p, joint.rotation, joint.position)
        if joint.kind == 'fixed':
            if lump_fixed:
                frames[joint.child] = Frame(mount.body, R, p)
            else:
                frames[joint.child] = Frame(len(bodies), IDENTITY, ZERO)
                bodies.append(Body(joint.name, mount.body, 'fixed', ZERO, R, p, 0, 0))
            continue
        leader = joint.name if joint.mimic is None else joint.mimic.joint
        bodies += _bodies(joint, mount.body, R, p, len(bodies), first_q[leader], first_v[leader])
        frames[joint.child] = Frame(len(bodies) - 1, IDENTITY, ZERO)
        ratio = 1.0 if joint.mimic is None else joint.mimic.multiplier
        rotor[first_v[leader]] += (ratio * joint.gear_ratio) ** 2 * joint.rotor_inertia
    links = [frames[link.name] for link in model.links]
    return Tree(
        bodies=tuple(bodies), nq=nq, nv=nv, gravity=model.gravity, frames=frames,
        rotor=tuple(rotor),
        lump=tuple(zip((frame.body for frame in links), lump_blocks(links))))


def _coordinates(model: Model) -> tuple[dict[str, int], dict[str, int], int, int]:
    """Count the coordinates: depth-first order, none for joints that are fixed or follow."""
    first_q, first_v = {}, {}
    nq = nv = 0
    for joint in model.joints:
        if joint.kind != 'fixed' and joint.mimic is None:
            first_q[joint.name], first_v[joint.name] = nq, nv
            nq += COORDINATES[joint.kind][0]
            nv += COORDINATES[joint.kind][1]
    return first_q, first_v, nq, nv


def _bodies(
        joint: Joint, parent: int, R: Mat3, p: Vec3, index: int, q: int, v: int) -> list[Body]:
    if joint.kind == 'planar':
        x, y = plane_axes(joint.axis)
        steps = (('prismatic', x), ('prismatic', y), ('revolute', joint.axis))
        return [
            Body(joint.name, index + k - 1 if k else parent, kind, axis,
                 IDENTITY if k else R, ZERO if k else p, q + k, v + k)
            for k, (kind, axis) in enumerate(steps)]
    kind = 'revolute' if joint.kind == 'continuous' else joint.kind
    if joint.mimic is None:
        return [Body(joint.name, parent, kind, joint.axis, R, p, q, v)]
    return [Body(joint.name, parent, kind, joint.axis, R, p, q, v,
                 joint.mimic.multiplier, joint.mimic.offset)]


def plane_axes(normal: Vec3) -> tuple[Vec3, Vec3]:
    """
    Return the x and y axes carried along when z is turned to the normal by the shortest arc.

    R = 1 + S(z x n) + S(z x n)^2 / (1 + z.n); for n = -z, half a turn about x.
    """
    nx, ny, nz = normal
    if nz == -1.0:
        return (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)
    c = 1.0 / (1.0 + nz)
    return (1.0 - c * nx * nx, -c * nx * ny, -nx), (-c * nx * ny, 1.0 - c * ny * ny, -ny)


def lump_blocks(frames: Sequence[Frame]) -> np.ndarray:
    """
    Return for every frame the 10x10 matrix from link parameters to the body's m, h, S.

    The pseudo-inertia P = [S, h; h^T, m] moves by T P T^T with T the placement in the body
    (Wensing, Kim, Slotine, 2018, equation 14).
    """
    T = np.zeros((len(frames), 4, 4))
    T[:, 3, 3] = 1.0
    for k, frame in enumerate(frames):
        T[k, :3, :3] = frame.R
        T[k, :3, 3] = frame.p
    basis = np.zeros((10, 4, 4))
    for k, (i, j) in enumerate(_ELEMENTS):
        basis[k, i, j] = basis[k, j, i] = 1.0
    moved = np.einsum('lab,kbc,ldc->lkad', T, basis, T, optimize=True)
    rows, columns = np.array(_ELEMENTS).T
    blocks: np.ndarray = moved[:, :, rows, columns].transpose(0, 2, 1) @ _second_moments()
    return blocks


def _second_moments() -> np.ndarray:
    """Return the matrix from m, m c, I to m, h, S with S = tr(I)/2 1 - I."""
    D = np.diag([1.0] * 4 + [-1.0] * 6)
    diagonal = [4, 7, 9]
    D[np.ix_(diagonal, diagonal)] = 0.5 - np.eye(3)
    return D
