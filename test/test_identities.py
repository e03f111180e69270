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

"""Laws the dynamics must keep, on random trees of all joint kinds."""

from complex_step import derivatives as stepped_derivatives, stepped
from multibody_ros.compiler.expression import record
from multibody_ros.dynamics import (
    aba, cartesian, coriolis, crba, derivatives, energy, forward, kinematics, ltdl, regressor,
    rnea,
)
from multibody_ros.model.lump import tree_of
import numpy as np
import pytest
from random_trees import body_parameters, random_model, random_state

#: joints, seed, share of mimic joints
TREES = [(1, 0, 0.0), (3, 1, 0.3), (6, 2, 0.3), (9, 3, 0.0), (12, 4, 0.4), (15, 5, 0.0),
         (20, 6, 0.2), (40, 8, 0.1)]


def close(actual, expected, tolerance=1e-11):
    expected = np.asarray(expected)
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(
        np.reshape(actual, expected.shape), expected, rtol=0, atol=tolerance * scale)


class Case:
    """A random tree, its parameters and a state."""

    def __init__(self, joints, seed, mimic):
        """Draw it."""
        self.rng = np.random.default_rng(100 + seed)
        self.model = random_model(self.rng, joints, mimic=mimic)
        self.tree = tree_of(self.model)
        self.parameters = body_parameters(self.tree, self.model)
        self.q, self.v, self.a = random_state(self.rng, self.tree)
        self.robot = self.tree, self.parameters
        self.tip = max(self.tree.frames.values(), key=lambda frame: frame.body)

    def direction(self):
        """Return a random tangent."""
        return self.rng.normal(size=self.tree.nv).tolist()

    def along(self, dq):
        """Return q on a complex step along the tangent dq."""
        return stepped(self.q, derivatives.position_rates(self.tree, self.q, dq))


@pytest.fixture(params=TREES, ids=str)
def case(request):
    return Case(*request.param)


def test_forward_undoes_inverse(case):
    wrenches = {case.tip: case.rng.normal(size=6).tolist()}
    tau = rnea.inverse_dynamics(*case.robot, case.q, case.v, case.a, wrenches)
    M = np.reshape(crba.mass_matrix(*case.robot, case.q), (case.tree.nv, case.tree.nv))
    tolerance = 1e-12 * np.linalg.cond(M) if M.size else 0.0
    close(forward.forward_dynamics(*case.robot, case.q, case.v, tau, wrenches), case.a, tolerance)
    close(forward.factorised_dynamics(*case.robot, case.q, case.v, tau, wrenches)[0], case.a,
          tolerance)
    if not forward.has_mimic(case.tree):
        close(aba.articulated_bodies(*case.robot, case.q, case.v, tau, wrenches), case.a,
              tolerance)


def test_inverse_dynamics_is_affine_in_acceleration(case):
    M = crba.mass_matrix(*case.robot, case.q)
    bias = rnea.bias(*case.robot, case.q, case.v)
    close(rnea.inverse_dynamics(*case.robot, case.q, case.v, case.a),
          np.reshape(M, (case.tree.nv, case.tree.nv)) @ case.a + bias)


def test_mass_matrix_is_positive_definite_and_shares_its_halves(case):
    M = crba.mass_matrix(*case.robot, case.q)
    assert all(M[i][j] is M[j][i] for i in range(len(M)) for j in range(i))
    assert np.linalg.eigvalsh(np.reshape(M, (len(M), len(M)))).min(initial=1.0) > 0


def test_coriolis_matrix_gives_the_bias(case):
    C = np.reshape(coriolis.coriolis_matrix(*case.robot, case.q, case.v), (case.tree.nv,) * 2)
    bias = rnea.bias(*case.robot, case.q, case.v)
    close(C @ case.v + crba.gravity(*case.robot, case.q), bias)


def test_mass_rate_less_twice_coriolis_is_skew(case):
    C = np.reshape(coriolis.coriolis_matrix(*case.robot, case.q, case.v), (case.tree.nv,) * 2)
    M = crba.mass_matrix(*case.robot, case.along(case.v))
    M_dot = np.reshape([stepped_derivatives(row) for row in M], C.shape)
    close(M_dot - 2 * C + (M_dot - 2 * C).T, np.zeros_like(C))


def test_power_balance(case):
    wrench = case.rng.normal(size=6).tolist()
    tau = rnea.inverse_dynamics(*case.robot, case.q, case.v, case.a, {case.tip: wrench})
    q, v = case.along(case.v), stepped(case.v, case.a)
    total = energy.kinetic_energy(*case.robot, q, v) + energy.potential_energy(*case.robot, q)
    tip = kinematics.velocity(case.tree, case.q, case.v, case.tip)
    close(stepped_derivatives([total]), [np.dot(tau, case.v) + np.dot(wrench, tip)])


def test_gravity_is_the_gradient_of_potential_energy(case):
    gradient = []
    for k in range(case.tree.nv):
        unit = [float(i == k) for i in range(case.tree.nv)]
        gradient += stepped_derivatives([energy.potential_energy(*case.robot, case.along(unit))])
    close(crba.gravity(*case.robot, case.q), gradient)


def test_momentum_changes_by_weight_wrench_and_the_ground(case):
    wrench = np.array(case.rng.normal(size=6))
    q, v = case.along(case.v), stepped(case.v, case.a)
    rate = stepped_derivatives(energy.momentum(*case.robot, q, v))
    ground = np.zeros(6)
    wrenches = rnea.joint_wrenches(
        *case.robot, case.q, case.v, case.a, {case.tip: wrench.tolist()})
    for i, body in enumerate(case.tree.bodies):
        if body.parent < 0:
            R, p = kinematics.placements(case.tree, case.q, [i])[i]
            f, n = (np.array(R) @ x for x in wrenches[i])
            ground += [*f, *(n + np.cross(p, f))]
    places = kinematics.placements(case.tree, case.q)
    for i, block in enumerate(case.parameters):
        R, p = places[i]
        f = block[0] * np.array(case.tree.gravity)
        c = block[0] * np.array(p) + np.array(R) @ block[1:4]
        ground += [*f, *np.cross(c, case.tree.gravity)]
    if case.tip.body >= 0:
        _, p = kinematics.pose(case.tree, case.q, case.tip)
        ground += [*wrench[:3], *(wrench[3:] + np.cross(p, wrench[:3]))]
    close(rate, ground)


def test_wrench_acts_through_the_transposed_jacobian(case):
    wrench = case.rng.normal(size=6).tolist()
    J = kinematics.jacobian(case.tree, case.q, case.tip)
    without = rnea.inverse_dynamics(*case.robot, case.q, case.v, case.a)
    within = rnea.inverse_dynamics(*case.robot, case.q, case.v, case.a, {case.tip: wrench})
    close(np.subtract(without, within), np.transpose(J) @ wrench)


def test_jacobian_rate(case):
    J = kinematics.jacobian(case.tree, case.along(case.v), case.tip)
    close(kinematics.jacobian_dot(case.tree, case.q, case.v, case.tip),
          np.reshape([stepped_derivatives(row) for row in J], (6, case.tree.nv)))


def test_regressor_is_linear_in_the_parameters(case):
    Y = np.reshape(regressor.regressor(case.tree, case.q, case.v, case.a), (case.tree.nv, -1))
    rotors = np.multiply(case.tree.rotor, case.a)
    close(Y @ np.ravel(case.parameters) + rotors,
          rnea.inverse_dynamics(*case.robot, case.q, case.v, case.a))


def test_length_of_the_quaternion_is_harmless(case):
    q = list(case.q)
    for body in case.tree.bodies:
        if body.kind == 'floating':
            q[body.q + 3:body.q + 7] = [1.7 * x for x in q[body.q + 3:body.q + 7]]
    close(rnea.inverse_dynamics(*case.robot, q, case.v, case.a),
          rnea.inverse_dynamics(*case.robot, case.q, case.v, case.a))


def test_inverse_dynamics_derivative(case):
    dq, dv, da = (case.direction() for _ in range(3))
    wrenches = {case.tip: case.rng.normal(size=6).tolist()}
    tau = rnea.inverse_dynamics(*case.robot, case.along(dq), stepped(case.v, dv),
                                stepped(case.a, da), wrenches)
    close(derivatives.inverse_dynamics_derivative(
        *case.robot, case.q, case.v, case.a, dq, dv, da, wrenches), stepped_derivatives(tau))


def test_forward_dynamics_derivative(case):
    dq, dv, dtau = (case.direction() for _ in range(3))
    wrenches = {case.tip: case.rng.normal(size=6).tolist()}
    a, _ = forward.factorised_dynamics(*case.robot, case.along(dq), stepped(case.v, dv),
                                       stepped(case.a, dtau), wrenches)
    M = np.reshape(crba.mass_matrix(*case.robot, case.q), (case.tree.nv,) * 2)
    tolerance = 1e-12 * np.linalg.cond(M) if M.size else 0.0
    close(derivatives.forward_dynamics_derivative(
        *case.robot, case.q, case.v, case.a, dq, dv, dtau, wrenches),
        stepped_derivatives(a), tolerance)


def test_sparse_factors_rebuild_the_mass_matrix(case):
    M = crba.mass_matrix(*case.robot, case.q)
    factors, inverse = ltdl.factorised(M, ltdl.coordinate_parents(case.tree))
    L = np.eye(case.tree.nv)
    for k, row in enumerate(factors):
        for i, element in row.items():
            L[k, i] = element
    close(L.T @ np.diag([1 / d for d in inverse]) @ L, np.reshape(M, L.shape))


def arm(seed):
    """Return a case of seven revolute joints in a row, away from singularity."""
    case = Case(1, seed, 0.0)
    case.model = random_model(case.rng, 7, ('revolute',), mimic=0.0, branching=0.0)
    case.tree = tree_of(case.model)
    case.parameters = body_parameters(case.tree, case.model)
    case.q, case.v, case.a = random_state(case.rng, case.tree)
    case.robot = case.tree, case.parameters
    case.tip = case.tree.frames[case.model.links[-1].name]
    return case


def operational(case, q, v):
    """Return A, Mx, Cx, gx, Jbar, J, J' with any scalars."""
    factors = ltdl.factorised(crba.mass_matrix(*case.robot, q),
                              ltdl.coordinate_parents(case.tree))
    J = kinematics.jacobian(case.tree, q, case.tip)
    J_dot = kinematics.jacobian_dot(case.tree, q, v, case.tip)
    A, response = cartesian.mobility(factors, J)
    Mx = cartesian.symmetric_inverse(A)
    C = coriolis.coriolis_matrix(*case.robot, q, v)
    g = crba.gravity(*case.robot, q)
    return A, Mx, *cartesian.cartesian_terms(C, g, J_dot, response, Mx), J, J_dot


@pytest.mark.parametrize('seed', range(4))
def test_operational_space_terms_meet_their_definition(seed):
    case = arm(seed)
    A, Mx, Cx, gx, J_bar, J, J_dot = map(np.array, operational(case, case.q, case.v))
    M = np.array(crba.mass_matrix(*case.robot, case.q))
    C = np.array(coriolis.coriolis_matrix(*case.robot, case.q, case.v))
    tolerance = 1e-13 * np.linalg.cond(A) * np.linalg.cond(M)
    close(A, J @ np.linalg.solve(M, J.T), tolerance)
    close(Mx @ A, np.eye(6), tolerance)
    close(J @ J_bar, np.eye(6), tolerance)
    close(Cx, J_bar.T @ C @ J_bar - Mx @ J_dot @ J_bar, tolerance)
    close(gx, J_bar.T @ crba.gravity(*case.robot, case.q), tolerance)


@pytest.mark.parametrize('seed', range(4))
def test_cartesian_force_gives_the_cartesian_acceleration(seed):
    case = arm(seed)
    _, Mx, Cx, gx, J_bar, J, J_dot = map(np.array, operational(case, case.q, case.v))
    x_dot, x_ddot = case.rng.normal(size=(2, 6))
    v = (J_bar @ x_dot).tolist()
    _, Mx, Cx, gx, _, J, J_dot = map(np.array, operational(case, case.q, v))
    tau = J.T @ (Mx @ x_ddot + Cx @ x_dot + gx)
    a = forward.forward_dynamics(*case.robot, case.q, v, tau.tolist())
    close(J @ a + J_dot @ v, x_ddot, 1e-13 * np.linalg.cond(Mx) ** 2)


def test_singularity_measure_ignores_units_and_vanishes_when_singular():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(6, 6))
    A = B @ B.T
    measure = cartesian.singularity(A, np.linalg.inv(A))
    s = np.sqrt([np.trace(A[:3, :3]) / 3] * 3 + [np.trace(A[3:, 3:]) / 3] * 3)
    assert measure == pytest.approx(1 / np.linalg.norm(np.linalg.inv(A / np.outer(s, s))))
    units = np.diag([1e3] * 3 + [1.0] * 3)
    scaled = units @ A @ units
    assert cartesian.singularity(scaled, np.linalg.inv(scaled)) == pytest.approx(measure)
    B[5] = B[4] + 1e-4 * B[5]
    near = B @ B.T
    assert cartesian.singularity(near, np.linalg.inv(near)) < 1e-6


def test_unrelated_branches_share_structural_zeros():
    rng = np.random.default_rng(3)
    model = random_model(rng, 12, ('revolute',), mimic=0.0, branching=0.6)
    tree = tree_of(model)
    M = crba.mass_matrix(tree, body_parameters(tree, model), random_state(rng, tree)[0])
    paths = [set(kinematics.path(tree, i)) for i in range(tree.nv)]
    unrelated = [(i, j) for i in range(tree.nv) for j in range(i)
                 if j not in paths[i] and i not in paths[j]]
    assert unrelated
    assert all(isinstance(M[i][j], float) and M[i][j] == 0.0 for i, j in unrelated)


def chain(joints):
    """Return a chain of equal revolute joints."""
    rng = np.random.default_rng(5)
    model = random_model(rng, joints, ('revolute',), mimic=0.0, branching=0.0)
    tree = tree_of(model)
    return tree, body_parameters(tree, model)


def test_long_chains_cost_linear_time():
    counts = []
    for joints in (40, 80, 160):
        tree, parameters = chain(joints)
        recording = record(lambda q, v, tau, t=tree, p=parameters: forward.forward_dynamics(
            t, p, q, v, tau), (joints,) * 3)
        counts.append(len(recording.operations))
    assert (counts[2] - counts[1]) / (counts[1] - counts[0]) < 2.3


def test_a_chain_of_a_thousand_joints_does_not_recurse():
    tree, parameters = chain(1000)
    q, v, a = random_state(np.random.default_rng(0), tree)
    scaled = [[0.01 * x for x in part] for part in (q, v, a)]
    tau = rnea.inverse_dynamics(tree, parameters, *scaled)
    back = forward.forward_dynamics(tree, parameters, *scaled[:2], tau)
    assert np.isfinite(back).all()
    again = rnea.inverse_dynamics(tree, parameters, *scaled[:2], back)
    close(again, tau, 1e-8)
