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

"""The tree of moving bodies against the file's links, with Pinocchio as the judge."""

import math

from multibody_ros.model.lump import plane_axes, tree_of
from multibody_ros.model.urdf import read_urdf
import numpy as np
import pytest
from robots import arm, chain, each, example_robots, joint, link, robot, shipped
from test_urdf import BROKEN

READABLE = [path for path in shipped() + example_robots() if path.stem not in BROKEN]
#: Pinocchio's order of the six inertia elements in ours
PINOCCHIO_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def parameters_of(model):
    return np.array([part.parameters for part in model.links])


def rotation(axis, angle):
    """Return the rotation of theory.md section 1, A = 1 + S(u) sin t + 2 S(u)^2 sin^2(t/2)."""
    x, y, z = axis
    S = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + S * math.sin(angle) + 2 * S @ S * math.sin(angle / 2) ** 2


def body_poses(tree, q):
    """Walk the tree outward: (R_WB, p_WB) of every body, the world last."""
    poses = {-1: (np.eye(3), np.zeros(3))}
    for index, body in enumerate(tree.bodies):
        R, p = poses[body.parent]
        p = p + R @ body.p
        R = R @ np.array(body.R)
        if body.kind == 'floating':
            x, y, z, w = q[body.q + 3:body.q + 7]
            p = p + R @ q[body.q:body.q + 3]
            angle = 2 * math.atan2(math.hypot(x, y, z), w)
            R = R @ rotation(np.array([x, y, z]) / math.hypot(x, y, z), angle)
        else:
            value = body.ratio * q[body.q] + body.offset
            if body.kind == 'revolute':
                R = R @ rotation(body.axis, value)
            else:
                p = p + R @ (value * np.array(body.axis))
        poses[index] = (R, p)
    return poses


def link_pose(tree, q, name):
    frame = tree.frames[name]
    R, p = body_poses(tree, q)[frame.body]
    return R @ np.array(frame.R), p + R @ frame.p


@pytest.mark.parametrize('path', each(READABLE))
def test_lumped_inertias_agree_with_pinocchio(path):
    pinocchio = pytest.importorskip('pinocchio')
    model = read_urdf(path)
    tree = tree_of(model)
    other = pinocchio.buildModelFromUrdf(str(path))
    found = tree.body_parameters(parameters_of(model))
    for body, (m, hx, hy, hz, xx, xy, xz, yy, yz, zz) in zip(tree.bodies, found):
        expected = other.inertias[other.getJointId(body.joint)].toDynamicParameters()
        inertia = [yy + zz, -xy, -xz, xx + zz, -yz, xx + yy]
        assert [m, hx, hy, hz, *inertia] == pytest.approx(
            expected[PINOCCHIO_ORDER], rel=1e-12, abs=1e-13 * max(1, abs(expected).max()))


@pytest.mark.parametrize('path', each(READABLE))
def test_link_poses_agree_with_pinocchio(path):
    pinocchio = pytest.importorskip('pinocchio')
    model = read_urdf(path)
    tree = tree_of(model)
    if any(body.kind == 'floating' for body in tree.bodies):
        pytest.skip('compared with a floating base elsewhere')
    other = pinocchio.buildModelFromUrdf(str(path))
    data = other.createData()
    q = np.random.default_rng(1).uniform(-1, 1, tree.nq)
    x = pinocchio.neutral(other)
    for body in tree.bodies:
        part = other.joints[other.getJointId(body.joint)]
        value = body.ratio * q[body.q] + body.offset
        x[part.idx_q:part.idx_q + part.nq] = (
            value if part.nq == 1 else [math.cos(value), math.sin(value)])
    pinocchio.framesForwardKinematics(other, data, x)
    poses = body_poses(tree, q)
    for frame in other.frames:
        if frame.type == pinocchio.FrameType.BODY and frame.name in tree.frames:
            own = tree.frames[frame.name]
            R, p = poses[own.body]
            pose = data.oMf[other.getFrameId(frame.name, pinocchio.FrameType.BODY)]
            assert R @ np.array(own.R) == pytest.approx(pose.rotation, abs=1e-12)
            assert p + R @ own.p == pytest.approx(pose.translation, abs=1e-12)


def test_total_mass_is_kept_by_lumping():
    model = read_urdf(shipped()[0], floating_base=True)
    tree = tree_of(model)
    masses = tree.body_parameters(parameters_of(model))[:, 0]
    assert masses.sum() == pytest.approx(sum(part.parameters[0] for part in model.links))


def test_fixed_base_share_moves_nothing():
    model = read_urdf(arm())
    tree = tree_of(model)
    assert [body for body, _ in tree.lump] == [-1, 0]
    assert tree.body_parameters(parameters_of(model))[:, 0].tolist() == [1.0]


def test_second_moments_are_those_of_points():
    """Ten point masses on a welded link have S = sum m r r^T in the body they ride on."""
    rng = np.random.default_rng(2)
    points, masses = rng.normal(size=(10, 3)), rng.uniform(0.1, 1, 10)
    I_o = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points))
    parameters = [masses.sum(), *(masses @ points), *I_o[np.triu_indices(3)]]
    tree = tree_of(read_urdf(robot(
        link('base', ''), link('body', ''), link('weld', ''), joint('j', 'base', 'body'),
        joint('w', 'body', 'weld', 'fixed', '<origin xyz="1 2 3" rpy="0.4 0.5 0.6"/>'))))
    found = tree.body_parameters(np.array([[0.0] * 10, [0.0] * 10, parameters]))[0]
    frame = tree.frames['weld']
    moved = points @ np.array(frame.R).T + frame.p
    S = sum(m * np.outer(r, r) for m, r in zip(masses, moved))
    assert found == pytest.approx([masses.sum(), *(masses @ moved), *S[np.triu_indices(3)]])


def test_mimic_joint_has_no_coordinate_of_its_own():
    """The follower comes first in the file, the leader owns the coordinate."""
    tree = tree_of(read_urdf(robot(
        *map(link, 'abc'),
        joint('f', 'a', 'b', inside='<mimic joint="l" multiplier="-2" offset="0.5"/>'),
        joint('l', 'a', 'c'))))
    follower, leader = tree.bodies
    assert (tree.nq, tree.nv) == (1, 1)
    assert (follower.q, follower.v, follower.ratio, follower.offset) == (0, 0, -2.0, 0.5)
    assert (leader.q, leader.v, leader.ratio, leader.offset) == (0, 0, 1.0, 0.0)


def test_rotor_inertia_grows_with_the_square_of_every_ratio():
    gear = ('<transmission name="{0}"><joint name="{0}"/><mechanicalReduction>{1}'
            '</mechanicalReduction><rotorInertia>{2}</rotorInertia></transmission>')
    tree = tree_of(read_urdf(robot(
        *map(link, 'abc'), joint('l', 'a', 'b'),
        joint('f', 'b', 'c', inside='<mimic joint="l" multiplier="-3"/>'),
        gear.format('l', 10, 0.01), gear.format('f', 5, 0.02))))
    assert tree.rotor == pytest.approx((10 ** 2 * 0.01 + (3 * 5) ** 2 * 0.02,))


@pytest.mark.parametrize('normal', [
    (0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0), (0.6, 0, -0.8), (2 / 3, -2 / 3, 1 / 3)])
def test_plane_axes_are_right_handed_and_lie_in_the_plane(normal):
    x, y = plane_axes(normal)
    R = np.array([x, y, normal]).T
    assert R.T @ R == pytest.approx(np.eye(3), abs=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)


def test_planar_joint_slides_in_its_plane_and_turns_about_the_normal():
    tree = tree_of(read_urdf(arm('<axis xyz="0 0 1"/><origin xyz="0 0 1"/>', 'planar')))
    assert (tree.nq, tree.nv, len(tree.bodies)) == (3, 3, 3)
    R, p = link_pose(tree, [0.1, 0.2, 0.3], 'tip')
    assert p == pytest.approx([0.1, 0.2, 1.0])
    assert R == pytest.approx(rotation((0, 0, 1), 0.3))


def test_floating_joint_has_seven_coordinates_and_six_velocities():
    tree = tree_of(read_urdf(arm(), floating_base=True))
    assert (tree.nq, tree.nv) == (8, 7)
    assert (tree.bodies[1].q, tree.bodies[1].v) == (7, 6)
    s = math.sqrt(0.5)
    R, p = link_pose(tree, [1, 2, 3, 0, 0, s, s, 0], 'base')
    assert p == pytest.approx([1, 2, 3])
    assert R == pytest.approx(rotation((0, 0, 1), math.pi / 2))


def test_long_chain_is_lumped():
    model = read_urdf(chain(1000))
    tree = tree_of(model)
    assert tree.nv == 1000
    assert link_pose(tree, np.zeros(1000), 'l1000')[1] == pytest.approx([0, 0, 100])
