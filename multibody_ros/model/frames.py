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
Body frames placed so that the algorithms have little to multiply.

A body's frame may sit anywhere on the body. It is put on the joint axis with z along it, and slid
and turned so that x is the common normal to the next axis (Khalil and Kleinfinger 1986): the
constant part of a joint is then a rotation about x and a shift along x and z, and right angles
cost nothing. Coordinates, velocities and results stay the same; `Tree.frames` and `Tree.lump`
take care of the difference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .lump import lump_blocks
from .model import Mat3, Vec3
from .tree import Body, Frame, Tree

#: rounding errors of rotations and shifts that are meant to be 0, 1 or -1, some ulps of 1
TINY = 1e-14

Place = tuple[np.ndarray, np.ndarray]
_Z = np.array([0.0, 0.0, 1.0])


def turned_frames(tree: Tree) -> Tree:
    """Return the same tree in frames that cost little."""
    children = _main_children(tree)
    moved: dict[int, Place] = {-1: (np.eye(3), np.zeros(3))}
    bodies = []
    for i, body in enumerate(tree.bodies):
        joint = _arrays(body)
        if body.kind == 'floating':
            # its velocity is given in its own axes: the frame stays
            moved[i] = np.eye(3), np.zeros(3)
            place, turn = _after(_inverse(moved[body.parent]), joint), 0.0
        else:
            child = tree.bodies[children[i]] if i in children else None
            moved[i] = _frame(body, child, _after(_inverse(moved[body.parent]), joint))
            place = _after(_inverse(moved[body.parent]), _after(joint, moved[i]))
            place, turn = _split(place) if body.kind == 'revolute' else (place, 0.0)
            body = replace(body, axis=(0.0, 0.0, 1.0), offset=body.offset + turn)
        bodies.append(replace(body, R=_rows(place[0]), p=_triple(place[1])))
    frames = {name: _in_moved(frame, moved) for name, frame in tree.frames.items()}
    links = [_in_moved(frame, moved) for frame in tree.frames.values()]
    return replace(tree, bodies=tuple(bodies), frames=frames, lump=tuple(
        zip((frame.body for frame in links), lump_blocks(links))))


def _main_children(tree: Tree) -> dict[int, int]:
    """Return for every body the child that carries most: the one its frame is made for."""
    weight = [1] * len(tree.bodies)
    children: dict[int, int] = {}
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        if parent >= 0:
            weight[parent] += weight[i]
            if tree.bodies[i].kind != 'floating' and (
                    parent not in children or weight[i] >= weight[children[parent]]):
                children[parent] = i
    return children


def _frame(body: Body, child: Body | None, joint: Place) -> Place:
    """
    Place the new frame in the old: z along the axis, x and the height as the child wants.

    `joint` is the joint's place in the parent's new frame.
    """
    u = np.array(body.axis)
    x = _perpendicular(u)
    height = 0.0
    if child is not None:
        direction = np.array(child.R) @ child.axis
        normal = np.cross(u, direction)
        sine = np.linalg.norm(normal)
        offset = np.array(child.p)
        if sine > TINY:
            x = normal / sine
            if child.kind == 'revolute':
                # foot of the common normal, unless nearly parallel axes put it far away
                foot = np.dot(np.cross(offset, direction), normal) / sine ** 2
                height = foot if abs(foot) <= 2.0 * np.linalg.norm(offset) else 0.0
        elif child.kind == 'revolute':
            height = u @ offset
            beside = offset - height * u
            if np.linalg.norm(beside) > 1e-9:
                x = beside / np.linalg.norm(beside)
    R = np.column_stack([x, np.cross(u, x), u])
    if body.kind == 'prismatic':
        # slides without turning: any origin will do, so take the parent's
        return R, -joint[0].T @ joint[1]
    return R, height * u


def _perpendicular(u: np.ndarray) -> np.ndarray:
    """Return a unit vector perpendicular to u, a coordinate axis where that is possible."""
    x = np.zeros(3)
    x[int(np.argmin(np.abs(u)))] = 1.0
    x -= (x @ u) * u
    return x / np.linalg.norm(x)


def _split(place: Place) -> tuple[Place, float]:
    """Take the part of a rotation that is a turn about z out of it, into the joint's offset."""
    R, p = place
    z = R[:, 2]
    x = np.array([1.0, 0.0, 0.0])
    if abs(z[0]) > TINY:
        x = np.cross(_Z, z)
        x /= np.linalg.norm(x)
    else:
        z = z * [0.0, 1.0, 1.0]
    plain = np.column_stack([x, np.cross(z, x), z])
    turn = float(np.arctan2(R[:, 0] @ plain[:, 1], R[:, 0] @ plain[:, 0]))
    quarters = round(turn / (np.pi / 2))
    if abs(turn - quarters * (np.pi / 2)) <= TINY:
        c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[quarters % 4]
        return (plain @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), p), 0.0
    return (plain, p), turn


def _arrays(body: Body | Frame) -> Place:
    return np.array(body.R), np.array(body.p)


def _after(outer: Place, inner: Place) -> Place:
    return outer[0] @ inner[0], outer[0] @ inner[1] + outer[1]


def _inverse(place: Place) -> Place:
    return place[0].T, -place[0].T @ place[1]


def _in_moved(frame: Frame, moved: dict[int, Place]) -> Frame:
    R, p = _after(_inverse(moved[frame.body]), _arrays(frame))
    return Frame(frame.body, _rows(R), _triple(p))


def _rows(R: np.ndarray) -> Mat3:
    a, b, c = (_triple(row) for row in R)
    return a, b, c


def _triple(vector: np.ndarray) -> Vec3:
    """Return three floats; what is a rounding error from 0 or 1 becomes exact."""
    x, y, z = (float(round(c)) if abs(c - round(c)) <= TINY else float(c) for c in vector)
    return x, y, z
