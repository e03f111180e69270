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

"""Agreement with Pinocchio on random trees and on the robots of example-robot-data."""

from pathlib import Path

from multibody_ros.dynamics import aba, crba, energy, forward, kinematics, regressor, rnea
from multibody_ros.model.lump import tree_of
from multibody_ros.model.model import ModelError
from multibody_ros.model.urdf import read_urdf
import numpy as np
from peer import Peer
import pinocchio
import pytest
from random_trees import body_parameters, random_model, random_state, SCALAR_KINDS, urdf_of

ROBOTS = next((p / 'share/example-robot-data/robots' for p in Path(pinocchio.__file__).parents
               if (p / 'share/example-robot-data/robots').is_dir()), Path('none'))
FILES = sorted(str(path.relative_to(ROBOTS)) for path in ROBOTS.rglob('*.urdf'))
TREES = [(1, 0), (2, 1), (3, 2), (5, 3), (8, 4), (12, 5), (20, 6), (40, 7)]


def close(actual, expected, tolerance=1e-12):
    expected = np.asarray(expected)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(
        np.reshape(actual, expected.shape), expected, rtol=0, atol=tolerance * scale)


def random_case(joints, seed, mimic):
    rng = np.random.default_rng(seed)
    # Pinocchio lets no continuous joint follow another
    scalar = SCALAR_KINDS[::2] if mimic else SCALAR_KINDS
    kinds = (*scalar, 'revolute', 'fixed', 'floating')
    model = random_model(rng, joints, kinds, mimic=mimic, rotors=False)
    urdf = urdf_of(model)
    model = read_urdf(urdf, gravity=model.gravity)
    tree = tree_of(model)
    return model, tree, Peer(tree, urdf, gravity=model.gravity), rng


def file_case(name, floating_base):
    text = (ROBOTS / name).read_text()
    try:
        model = read_urdf(text, floating_base=floating_base)
    except ModelError as error:
        pytest.skip(str(error))
    tree = tree_of(model)
    try:
        peer = Peer(tree, text, floating_base=floating_base)
    except ValueError as error:
        if 'parent joint of the mimic joint is not in the kinematic tree' in str(error):
            pytest.skip('Pinocchio wants the joint that is followed before the follower')
        raise
    return model, tree, peer, np.random.default_rng(1)


def test_example_robots_are_there():
    assert len(FILES) > 40


@pytest.fixture(params=[*TREES, *((n, f) for n in FILES for f in (False, True))], ids=str)
def mimicking(request):
    if isinstance(request.param[0], str):
        return file_case(*request.param)
    return random_case(*request.param, mimic=0.2)


@pytest.fixture(params=TREES, ids=str)
def plain(request):
    return random_case(*request.param, mimic=0.0)


def test_inverse_dynamics(mimicking):
    model, tree, peer, rng = mimicking
    q, v, a = random_state(rng, tree)
    parameters = body_parameters(tree, model)
    close(rnea.inverse_dynamics(tree, parameters, q, v, a), peer.inverse_dynamics(q, v, a))


def test_external_wrenches_in_world_axes(mimicking):
    model, tree, peer, rng = mimicking
    q, v, a = random_state(rng, tree)
    parameters = body_parameters(tree, model)
    moving = [link for link, frame in tree.frames.items() if frame.body >= 0]
    picked = rng.choice(moving, min(3, len(moving)), replace=False)
    wrenches = {str(link): rng.normal(size=6) for link in picked}
    by_frame = {}
    for link, wrench in wrenches.items():
        old = by_frame.get(tree.frames[link], np.zeros(6))
        by_frame[tree.frames[link]] = (old + wrench).tolist()
    close(rnea.inverse_dynamics(tree, parameters, q, v, a, by_frame),
          peer.inverse_dynamics(q, v, a, wrenches))


def test_mass_matrix(mimicking):
    model, tree, peer, rng = mimicking
    q, _, _ = random_state(rng, tree)
    close(crba.mass_matrix(tree, body_parameters(tree, model), q), peer.mass_matrix(q))


def test_joint_wrenches(plain):
    model, tree, peer, rng = plain
    q, v, a = random_state(rng, tree)
    ours = rnea.joint_wrenches(tree, body_parameters(tree, model), q, v, a)
    peer.inverse_dynamics(q, v, a)
    theirs = peer.joint_wrenches()
    for body, (f, n) in zip(tree.bodies, ours):
        close([*f, *n], theirs[body.joint])


def test_jacobians(plain):
    model, tree, peer, rng = plain
    q, v, _ = random_state(rng, tree)
    for link in model.links[::3]:
        frame = tree.frames[link.name]
        if frame.body < 0:
            # Pinocchio crashes when asked about the world
            continue
        J, J_dot = peer.jacobians(q, v, link.name)
        close(kinematics.jacobian(tree, q, frame), J)
        close(kinematics.jacobian_dot(tree, q, v, frame), J_dot)


def test_forward_dynamics_by_both_routes(plain):
    model, tree, peer, rng = plain
    q, v, tau = random_state(rng, tree)
    parameters = body_parameters(tree, model)
    M = crba.mass_matrix(tree, parameters, q)
    tolerance = 1e-12 * (np.linalg.cond(M) if M else 1.0)
    expected = peer.forward_dynamics(q, v, tau)
    for a in (forward.factorised_dynamics(tree, parameters, q, v, tau)[0],
              aba.articulated_bodies(tree, parameters, q, v, tau),
              forward.forward_dynamics(tree, parameters, q, v, tau)):
        close(a, expected, tolerance)


def test_energies(plain):
    model, tree, peer, rng = plain
    q, v, _ = random_state(rng, tree)
    parameters = body_parameters(tree, model)
    kinetic, potential = peer.energies(q, v)
    close(energy.kinetic_energy(tree, parameters, q, v), kinetic)
    close(energy.potential_energy(tree, parameters, q), potential)


def test_regressor(plain):
    model, tree, peer, rng = plain
    q, v, a = random_state(rng, tree)
    Y = np.reshape(regressor.regressor(tree, q, v, a), (tree.nv, 10 * len(tree.bodies)))
    theirs = peer.regressor(q, v, a)
    for k, body in enumerate(tree.bodies):
        # Pinocchio's columns: m, h, Ixx, Ixy, Iyy, Ixz, Iyz, Izz; I = tr(S) 1 - S
        inertia = theirs[body.joint][:, 4:]
        xx, xy, yy, xz, yz, zz = inertia.T
        expected = np.column_stack([theirs[body.joint][:, :4], yy + zz, -xy, -xz, xx + zz, -yz,
                                    xx + yy])
        close(Y[:, 10 * k:10 * k + 10], expected)
