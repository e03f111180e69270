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

"""Constrained dynamics against Pinocchio's proximal solver (Carpentier and others, 2021)."""

from dataclasses import replace

from closed_chains import allowed
import multibody_ros as mb
from multibody_ros.model.lump import tree_of
from multibody_ros.model.model import Attachment, Loop
from multibody_ros.model.urdf import read_urdf
import numpy as np
from peer import Peer
import pinocchio as pin
import pytest
from random_trees import random_model, random_rotation, urdf_of

CONTACTS = {'spherical': pin.ContactType.CONTACT_3D, 'fixed': pin.ContactType.CONTACT_6D}


@pytest.mark.parametrize('seed', [1, 2, 4, 5])
@pytest.mark.parametrize('kind', list(CONTACTS))
def test_loop_of_a_random_tree(kind, seed):
    rng = np.random.default_rng(seed)
    kinds = ('revolute', 'continuous', 'prismatic', 'floating')
    model = random_model(rng, 8, kinds, mimic=0.0, rotors=False)
    urdf = urdf_of(model)
    model = read_urdf(urdf, gravity=model.gravity)
    peer, tree = Peer(tree_of(model), urdf, gravity=model.gravity), mb.Robot(model)
    q = tree.integrate(tree.neutral(), rng.normal(scale=0.5, size=tree.nv))
    first, second = (model.joints[k].child for k in rng.choice(8, 2, replace=False))
    places = np.eye(4), np.eye(4)
    places[0][:3, :3], places[0][:3, 3] = random_rotation(rng), rng.uniform(-0.2, 0.2, 3)
    places[1][:] = np.linalg.inv(tree.pose(q, second)) @ tree.pose(q, first) @ places[0]
    ends = [Attachment(link, tuple(map(tuple, T[:3, :3].tolist())), tuple(T[:3, 3].tolist()))
            for link, T in zip((first, second), places)]
    robot = mb.Robot(replace(model, loops=(Loop('closure', kind, *ends),)))
    v, tau = allowed(robot, q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    a = robot.constrained_dynamics(q, v, tau).acceleration

    where = []
    for link, T in zip((first, second), places):
        frame = peer.model.frames[peer.model.getFrameId(link, pin.BODY)]
        where += [frame.parentJoint, frame.placement * pin.SE3(T)]
    contact = pin.RigidConstraintModel(CONTACTS[kind], peer.model, *where, pin.LOCAL)
    data = contact.createData()
    pin.initConstraintDynamics(peer.model, peer.data, [contact], [data])
    settings = pin.ProximalSettings(1e-14, 1e-12, 100)
    expected = pin.constraintDynamics(
        peer.model, peer.data, peer.q(q), peer.v(v), peer.v(tau), [contact], [data], settings)
    scale = max(1.0, np.abs(a).max())
    np.testing.assert_allclose(a, expected[peer.order], atol=1e-8 * scale)
    if robot.mobility(q).hyperstatic:
        # a loop of fewer joints than equations: the force is not unique, only the motion is
        return
    force = robot.reactions(q, v, tau).constraints['closure'].wrenches[first][:3]
    R = tree.pose(q, first)[:3, :3] @ places[0][:3, :3]
    np.testing.assert_allclose(R.T @ force, data.contact_force.linear, atol=1e-7 * scale)
