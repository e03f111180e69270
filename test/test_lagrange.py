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

"""Recursion against the Lagrange form of homogeneous transforms, on random trees."""

from multibody_ros.dynamics import coriolis, crba, energy, kinematics, rnea
from multibody_ros.model.lump import tree_of
import numpy as np
from oracle import Lagrange
import pytest
from random_trees import body_parameters, random_model, random_state, SCALAR_KINDS

KINDS = (*SCALAR_KINDS, 'fixed', 'planar')


def close(actual, expected):
    expected = np.asarray(expected)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    actual = np.reshape(actual, expected.shape)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12 * scale)


@pytest.fixture(params=range(24))
def case(request):
    rng = np.random.default_rng(request.param)
    model = random_model(rng, 1 + request.param % 12, KINDS, mimic=0.3)
    tree = tree_of(model)
    q, v, a = random_state(rng, tree)
    return model, tree, body_parameters(tree, model), q, v, a, Lagrange(model, q)


def test_inverse_dynamics(case):
    _, tree, parameters, q, v, a, lagrange = case
    close(rnea.inverse_dynamics(tree, parameters, q, v, a), lagrange.inverse_dynamics(v, a))


def test_gravity(case):
    _, tree, parameters, q, _, _, lagrange = case
    close(crba.gravity(tree, parameters, q), lagrange.gravity())


def test_mass_matrix(case):
    _, tree, parameters, q, _, _, lagrange = case
    close(crba.mass_matrix(tree, parameters, q), lagrange.mass_matrix())


def test_coriolis_matrix_is_christoffels(case):
    _, tree, parameters, q, v, _, lagrange = case
    close(coriolis.coriolis_matrix(tree, parameters, q, v), lagrange.coriolis_matrix(v))


def test_energies_and_momentum(case):
    model, tree, parameters, q, v, _, lagrange = case
    close(energy.kinetic_energy(tree, parameters, q, v), v @ lagrange.mass_matrix() @ v / 2)
    base = sum(block @ link.parameters
               for (body, block), link in zip(tree.lump, model.links) if body < 0)
    with_base = [*parameters, tuple(map(float, base))]
    close(energy.potential_energy(tree, with_base, q), lagrange.potential_energy())
    close(energy.momentum(tree, parameters, q, v), lagrange.momentum(v))


def test_poses_and_jacobians(case):
    model, tree, _, q, v, _, lagrange = case
    for link in model.links:
        frame = tree.frames[link.name]
        R, p = kinematics.pose(tree, q, frame)
        close(np.column_stack([R, p]), lagrange.T[link.name][:3])
        close(kinematics.jacobian(tree, q, frame), lagrange.jacobian(link.name))
        close(kinematics.jacobian_dot(tree, q, v, frame), lagrange.jacobian_dot(link.name, v))
        close(kinematics.velocity(tree, q, v, frame), lagrange.jacobian(link.name) @ v)
