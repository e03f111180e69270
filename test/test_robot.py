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

"""What users see of a Robot: laws of mechanics, names, errors, payload, copies."""

import copy
import gc
import pickle
import weakref

import multibody_ros as mb
from multibody_ros.dynamics.cartesian import DAMPED_BELOW
import numpy as np
import pytest
from random_trees import random_model, urdf_of
from robots import arm, BALL, chain, joint, LIMIT, link, robot as robot_text, SHIPPED


@pytest.fixture(scope='module')
def arm7():
    return mb.load_urdf(SHIPPED / 'arm7.urdf')


@pytest.fixture
def state(arm7):
    rng = np.random.default_rng(5)
    return arm7.random(rng), rng.normal(size=7), rng.normal(size=7)


def test_names_are_the_order_of_the_vectors():
    text = robot_text(
        link('base'), link('a'), link('b'), link('c'), link('d'),
        joint('slide', 'base', 'a', 'prismatic'), joint('float', 'a', 'b', 'floating', ''),
        joint('plane', 'base', 'c', 'planar', ''), joint('weld', 'c', 'd', 'fixed', ''))
    robot = mb.load_urdf(text)
    assert robot.name == 'test'
    assert robot.joint_names == ('slide', 'float', 'plane')
    assert robot.link_names == ('base', 'a', 'b', 'c', 'd')
    assert (robot.nq, robot.nv) == (11, 10)
    assert robot.q_index == {'slide': slice(0, 1), 'float': slice(1, 8), 'plane': slice(8, 11)}
    assert robot.v_index == {'slide': slice(0, 1), 'float': slice(1, 7), 'plane': slice(7, 10)}
    assert robot.neutral().tolist() == [0.0] * 7 + [1.0] + [0.0] * 3
    assert robot.limits.lower.shape == robot.limits.upper.shape == (11,)
    assert robot.limits.velocity.shape == robot.limits.effort.shape == (10,)
    assert robot.limits.effort[0] == 50 and np.isinf(robot.limits.effort[1:]).all()
    assert repr(robot) == "<Robot 'test': 10 velocities, 5 links>"


def test_limits_damping_and_friction_are_those_of_the_file(arm7):
    assert arm7.limits.upper[0] == 2.96 and arm7.limits.lower[0] == -2.96
    assert arm7.limits.effort[0] == 180 and arm7.limits.velocity[0] == 2
    assert arm7.damping[0] == 0.8 and arm7.friction[0] == 0.6
    with pytest.raises(ValueError, match='read-only'):
        arm7.limits.lower[0] = 0.0


def test_random_configurations_stay_within_the_limits(arm7):
    rng = np.random.default_rng(0)
    for _ in range(50):
        q = arm7.random(rng)
        assert ((q >= arm7.limits.lower) & (q <= arm7.limits.upper)).all()
    floating = mb.load_urdf(SHIPPED / 'arm7.urdf', floating_base=True)
    assert np.linalg.norm(floating.random(rng)[3:7]) == pytest.approx(1.0)
    assert floating.joint_names[0] == 'floating_base'


def test_forward_undoes_inverse_under_wrenches(arm7, state):
    q, v, a = state
    wrenches = {'tool': [1.0, -2.0, 3.0, 0.1, 0.2, -0.3], 'link3': np.ones(6)}
    tau = arm7.inverse_dynamics(q, v, a, wrenches)
    free = arm7.inverse_dynamics(q, v, a)
    pushed = sum(arm7.jacobian(q, name).T @ F for name, F in wrenches.items())
    np.testing.assert_allclose(tau, free - pushed, atol=1e-12)
    np.testing.assert_allclose(arm7.forward_dynamics(q, v, tau, wrenches=wrenches), a, atol=1e-10)
    batch = arm7.inverse_dynamics([q, q], [v, v], [a, a], wrenches)
    np.testing.assert_allclose(batch, [tau, tau], atol=1e-12)


def test_mass_rate_less_twice_coriolis_is_skew(arm7, state):
    q, v, _ = state
    h = 1e-5
    M_dot = (arm7.mass_matrix(arm7.integrate(q, v, h))
             - arm7.mass_matrix(arm7.integrate(q, v, -h))) / (2 * h)
    S = M_dot - 2 * arm7.coriolis_matrix(q, v)
    assert np.abs(S + S.T).max() < 1e-8
    np.testing.assert_allclose(arm7.coriolis_matrix(q, v) @ v + arm7.gravity_torque(q),
                               arm7.bias_torque(q, v), atol=1e-12)


def test_joint_wrenches_project_to_the_torques_and_carry_the_weight(arm7, state):
    q, v, a = state
    wrenches = arm7.joint_wrenches(q, v, a)
    tau = arm7.inverse_dynamics(q, v, a)
    for k, joint_name in enumerate(arm7.joint_names):
        axis = next(j.axis for j in arm7.model.joints if j.name == joint_name)
        rotor = arm7._programs.tree.rotor[k] * a[k]
        assert wrenches[joint_name][3:] @ axis + rotor == pytest.approx(tau[k], abs=1e-12)
    still = arm7.joint_wrenches(q, np.zeros(7), np.zeros(7))
    tool = arm7.model.links[arm7.link_names.index('tool')].parameters
    weight = arm7.pose(q, 'tool')[:3, :3].T @ [0, 0, 9.81 * tool[0]]
    np.testing.assert_allclose(still['tool_joint'][:3], weight, atol=1e-12)
    batch = arm7.joint_wrenches([q, q], [v, v], [a, a])
    np.testing.assert_allclose(batch['joint4'], [wrenches['joint4']] * 2)


def test_a_push_is_carried_by_the_joints_below(arm7, state):
    """The torques of pushed motion are the axes' shares, and joints beyond the push feel none."""
    q, v, a = state
    push = {'link5': [3.0, -1.0, 2.0, 0.3, 0.1, -0.2]}
    wrenches, tau = arm7.joint_wrenches(q, v, a, push), arm7.inverse_dynamics(q, v, a, push)
    for k, joint_name in enumerate(arm7.joint_names):
        axis = next(j.axis for j in arm7.model.joints if j.name == joint_name)
        assert wrenches[joint_name][3:] @ axis == pytest.approx(tau[k], abs=1e-12)
    free = arm7.joint_wrenches(q, v, a)
    np.testing.assert_array_equal(wrenches['joint6'], free['joint6'])
    ground = arm7.pose(q, 'link1')[:3, :3] @ (free['joint1'] - wrenches['joint1'])[:3]
    np.testing.assert_allclose(ground, push['link5'][:3], atol=1e-12)
    batch = arm7.joint_wrenches([q, q], [v, v], [a, a], push)
    np.testing.assert_allclose(batch['joint2'], [wrenches['joint2']] * 2)


def test_payload_is_a_body_welded_on_and_leaves_no_trace(arm7, state):
    q, v, a = state
    before = arm7.inverse_dynamics(q, v, a), arm7.parameters.copy()
    inertia = np.diag([0.01, 0.012, 0.015])
    arm7.set_payload('tool', 2.0, (0.01, 0.02, 0.05), inertia)
    loaded = arm7.inverse_dynamics(q, v, a)
    load = ('<link name="load"><inertial><origin xyz="0.01 0.02 0.05"/><mass value="2"/>'
            '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.015"/></inertial>'
            '</link>' + joint('grip', 'tool', 'load', 'fixed', ''))
    text = (SHIPPED / 'arm7.urdf').read_text().replace('</robot>', load + '</robot>')
    np.testing.assert_allclose(
        loaded, mb.load_urdf(text).inverse_dynamics(q, v, a), atol=1e-12)
    assert arm7.joint_wrenches(q, v, a)['joint1'][:3] == pytest.approx(
        mb.load_urdf(text).joint_wrenches(q, v, a)['joint1'][:3])
    np.testing.assert_array_equal(arm7.parameters, before[1])
    arm7.set_payload('tool', 0.0)
    np.testing.assert_array_equal(arm7.inverse_dynamics(q, v, a), before[0])
    arm7.set_payload('link5', 1.0)
    arm7.clear_payload()
    np.testing.assert_array_equal(arm7.inverse_dynamics(q, v, a), before[0])


@pytest.mark.parametrize('arguments, words', [
    (('hand', 1.0), "no link 'hand', only: base_link"), (('tool', -1.0), 'not negative'),
    (('tool', np.nan), 'finite'), (('tool', 1.0, (0, 0)), 'three'),
    (('tool', 1.0, (0, 0, np.inf)), 'three finite'),
    (('tool', 1.0, (0, 0, 0), np.eye(2)), '3x3'),
    (('tool', 1.0, (0, 0, 0), np.diag([1.0, 1.0, 3.0])), 'principal moments'),
    (('tool', 'heavy'), 'mass')])
def test_impossible_payloads_are_refused(arm7, state, arguments, words):
    before = arm7.gravity_torque(state[0])
    with pytest.raises(ValueError, match=words):
        arm7.set_payload(*arguments)
    np.testing.assert_array_equal(arm7.gravity_torque(state[0]), before)


def test_parameters_can_be_set_and_are_linear(state):
    robot = mb.load_urdf(SHIPPED / 'arm7.urdf')
    q, v, a = state
    Y = robot.regressor(q, v, a)
    assert Y.shape == (7, 10 * len(robot.link_names))
    rotor = np.array(robot._programs.tree.rotor) * a
    changed = robot.parameters * np.random.default_rng(0).uniform(0.5, 2.0, robot.parameters.size)
    robot.parameters = changed
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), Y @ changed + rotor, atol=1e-10)
    with pytest.raises(ValueError, match='100 entries'):
        robot.parameters = np.zeros(7)
    with pytest.raises(ValueError, match="link 'link2'.*not finite"):
        broken = changed.copy()
        broken[25] = np.nan
        robot.parameters = broken
    with pytest.raises(ValueError, match='read-only'):
        robot.parameters[0] = 1.0
    np.testing.assert_array_equal(robot.parameters, changed)


def test_results_are_fresh_arrays(arm7, state):
    q, v, a = state
    kept = [arm7.inverse_dynamics(q, v, k * a) for k in range(5)]
    np.testing.assert_array_equal(kept[1], arm7.inverse_dynamics(q, v, a))
    assert len({x.ctypes.data for x in kept}) == 5
    M = arm7.mass_matrix(q)
    M *= 0.0
    assert arm7.mass_matrix(q).any()


@pytest.mark.parametrize('kind', [list, tuple, lambda x: x.astype(np.float32).astype(object),
                                  lambda x: np.repeat(x, 2)[::2], np.asfortranarray])
def test_anything_that_holds_numbers_is_taken(arm7, state, kind):
    q, v, a = (np.float32(x).astype(float) for x in state)
    np.testing.assert_array_equal(
        arm7.inverse_dynamics(kind(q), kind(v), kind(a)), arm7.inverse_dynamics(q, v, a))


NAN, INF = [np.nan] + [0.0] * 6, [0.0] * 6 + [np.inf]


@pytest.mark.parametrize('call, words', [
    (lambda r, x: r.inverse_dynamics(NAN, x, x), "q is nan at joint 'joint1' of robot 'arm7'"),
    (lambda r, x: r.inverse_dynamics(np.array(NAN), x, x), "q is nan at joint 'joint1'"),
    (lambda r, x: r.forward_dynamics(x, INF, x), "v is inf at joint 'joint7'"),
    (lambda r, x: r.mass_matrix([x, x, NAN]), "joint 'joint1' of robot 'arm7', row 2"),
    (lambda r, x: r.inverse_dynamics(x[:6], x, x), r'q must have 7 entries .*joint1, joint2'),
    (lambda r, x: r.inverse_dynamics(x, x, 1.0), 'a must have 7 entries .*a single number'),
    (lambda r, x: r.gravity_torque('up'), "q must hold real numbers, not 'up'"),
    (lambda r, x: r.gravity_torque(None), 'q must hold real numbers, not None'),
    (lambda r, x: r.gravity_torque(x + 1j), 'q must hold real numbers'),
    (lambda r, x: r.mass_matrix([[1.0, 2.0], [3.0]]), 'q must hold real numbers'),
    (lambda r, x: r.inverse_dynamics(np.zeros((3, 7)), np.zeros((4, 7)), x), 'batch axes'),
    (lambda r, x: r.pose(x, 'elbow'), "robot 'arm7' has no link 'elbow', only: base_link, link1"),
    (lambda r, x: r.q_index['elbow'], "robot 'arm7' has no joint 'elbow', only: joint1, joint2"),
    (lambda r, x: r.jacobian(x[:2], 'tool'), 'q must have 7 entries'),
    (lambda r, x: r.inverse_dynamics(x, x, x, {'elbow': [0] * 6}), "no link 'elbow'"),
    (lambda r, x: r.inverse_dynamics(x, x, x, {'tool': [0] * 3}), "wrench on link 'tool'.* 6"),
    (lambda r, x: r.forward_dynamics(x, x, x, {'tool': [np.nan] * 6}), 'not finite'),
    (lambda r, x: r.integrate(x, NAN, 0.1), "v is nan at joint 'joint1'")])
def test_errors_name_the_culprit(arm7, call, words):
    with pytest.raises(ValueError, match=words):
        call(arm7, np.zeros(7))


@pytest.mark.parametrize('call', [
    lambda robot, q, v: robot.forward_dynamics(q, v, v), lambda robot, q, v: robot.assemble(q),
    lambda robot, q, v: robot.cartesian_dynamics(q, v, 'tool'),
    lambda robot, q, v: mb.control.ComputedTorque(robot).torque(0.0, q, v)])
def test_angles_that_no_sine_can_tell_are_refused_where_results_are_checked(arm7, state, call):
    q = state[0].copy()
    q[2] = 1e25
    with pytest.raises(ValueError, match=r"q is 1e\+25 at joint 'joint3' of robot 'arm7', beyond"):
        call(arm7, q, state[1])


def test_a_vanishing_quaternion_is_refused():
    robot = mb.load_urdf(SHIPPED / 'arm7.urdf', floating_base=True)
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[6] = 0.0
    for call in (lambda: robot.inverse_dynamics(q, v, v), lambda: robot.integrate(q, v, 0.1),
                 lambda: robot.pose(q, 'tool'),
                 lambda: robot.mass_matrix([robot.neutral(), q])):
        with pytest.raises(ValueError, match="quaternion of length zero at joint 'floating_base'"):
            call()


def test_massless_joints_are_named():
    text = robot_text(link('base'), link('ghost', ''), link('tip'),
                      joint('first', 'base', 'ghost'),
                      joint('second', 'ghost', 'tip', 'revolute', LIMIT))
    robot = mb.load_urdf(text.replace(BALL, BALL.replace('0.1', '0.0')))
    with pytest.raises(mb.ModelError, match="mass matrix is singular, .*'first'"):
        robot.forward_dynamics([0.1, 0.2], [0, 0], [0, 0])
    assert not robot.check().ok


def test_copies_are_equal_and_independent(arm7, state):
    q, v, a = state
    robot = mb.load_urdf(SHIPPED / 'arm7.urdf')
    robot.set_payload('tool', 1.5, (0, 0, 0.1))
    robot.parameters = 1.1 * robot.parameters
    tau = robot.inverse_dynamics(q, v, a)
    for other in (copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))):
        np.testing.assert_array_equal(other.inverse_dynamics(q, v, a), tau)
        other.clear_payload()
        assert np.abs(other.inverse_dynamics(q, v, a) - tau).max() > 0.1
    np.testing.assert_array_equal(robot.inverse_dynamics(q, v, a), tau)


def test_a_forgotten_robot_is_collected():
    robot = mb.load_urdf(arm())
    robot.mass_matrix([0.1])
    robot.jacobian([0.1], 'tip')
    reference = weakref.ref(robot)
    del robot
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize('rows', [1, 5, 7])
def test_integrate_takes_one_time_a_row(arm7, rows):
    rng = np.random.default_rng(3)
    q = np.array([arm7.random(rng) for _ in range(rows)])
    v, dt = rng.normal(size=(rows, 7)), np.linspace(0.1, 1.0, rows)
    expected = [arm7.integrate(a, b, t) for a, b, t in zip(q, v, dt)]
    for times in (dt, dt.tolist(), dt[:, None]):
        np.testing.assert_array_equal(arm7.integrate(q, v, times), expected)
    np.testing.assert_array_equal(arm7.integrate(q[0], v, dt),
                                  [arm7.integrate(q[0], b, t) for b, t in zip(v, dt)])
    np.testing.assert_array_equal(arm7.integrate(q, v, 2), arm7.integrate(q, v, 2.0))


@pytest.mark.parametrize('dt, words', [
    (np.ones(7), r'dt must be one number, not shape \(7,\)'),
    (np.nan, 'dt must be finite, not nan'), ('soon', "dt must hold real numbers, not 'soon'")])
def test_integrate_refuses_other_times(arm7, state, dt, words):
    with pytest.raises(ValueError, match=words):
        arm7.integrate(*state[:2], dt)
    with pytest.raises(ValueError, match=r'one a row, shape \(3,\), not shape \(7,\)'):
        arm7.integrate(np.zeros((3, 7)), np.zeros(7), np.ones(7))


def test_continuous_joints_take_the_short_way():
    robot = mb.load_urdf(arm('', 'continuous'))
    assert robot.difference([3.0], [-3.0]) == pytest.approx(2 * np.pi - 6.0)
    assert mb.load_urdf(arm()).difference([3.0], [-3.0]) == pytest.approx(-6.0)


def test_operational_space_equation_holds(arm7, state):
    q, v, _ = state
    x = arm7.cartesian_dynamics(q, v, 'tool')
    assert x.singularity > DAMPED_BELOW
    M, C = arm7.mass_matrix(q), arm7.coriolis_matrix(q, v)
    np.testing.assert_allclose(x.jacobian @ x.consistent_inverse, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(x.mass @ x.jacobian @ np.linalg.solve(M, x.jacobian.T), np.eye(6),
                               atol=1e-8)
    np.testing.assert_allclose(x.gravity, x.consistent_inverse.T @ arm7.gravity_torque(q),
                               atol=1e-9)
    J_bar = x.consistent_inverse
    np.testing.assert_allclose(
        x.coriolis, J_bar.T @ C @ J_bar - x.mass @ x.jacobian_dot @ J_bar,
        atol=1e-9 * np.abs(x.coriolis).max())


def test_damped_inverse_meets_the_plain_one_without_a_jump():
    """Stretch a 6-joint arm to its elbow singularity: every term stays finite and continuous."""
    robot = mb.load_urdf(SHIPPED / 'arm6.urdf')
    link_name, v = robot.link_names[-1], np.full(6, 0.1)
    q0 = np.array([0.3, 0.4, 0.0, 0.2, 0.7, 0.1])
    masses, measures = [], []
    for bend in np.linspace(0.0, 0.05, 2001):
        x = robot.cartesian_dynamics(q0 + [0, 0, bend, 0, 0, 0], v, link_name)
        assert all(np.isfinite(term).all() for term in x)
        masses.append(x.mass)
        measures.append(x.singularity)
    measures = np.array(measures)
    assert measures[0] < DAMPED_BELOW < measures[-1]
    steps = np.linalg.norm(np.diff(masses, axis=0), axis=(1, 2))
    size = np.linalg.norm(masses, axis=(1, 2))
    assert (steps < 0.2 * size.max()).all()
    crossing = int(np.argmax(measures > DAMPED_BELOW))
    assert steps[crossing - 1] < 0.02 * size[crossing]


def test_a_planar_arm_has_no_force_where_it_cannot_move():
    robot = mb.load_urdf(SHIPPED / 'planar_2r.urdf')
    q, v = np.array([0.3, 0.9]), np.array([0.5, -1.0])
    x = robot.cartesian_dynamics(q, v, robot.link_names[-1])
    assert x.singularity == pytest.approx(0.0, abs=1e-12)
    A = x.jacobian @ np.linalg.solve(robot.mass_matrix(q), x.jacobian.T)
    np.testing.assert_allclose(A @ x.mass @ A, A, atol=1e-9)
    assert np.linalg.matrix_rank(x.mass, tol=1e-6 * np.abs(x.mass).max()) == 2
    batch = robot.cartesian_dynamics([q, q], [v, v], robot.link_names[-1])
    np.testing.assert_allclose(batch.mass, [x.mass, x.mass])


def test_a_robot_that_cannot_move_answers_too():
    robot = mb.load_urdf(robot_text(link('base')))
    assert (robot.nq, robot.nv) == (0, 0)
    nothing = np.zeros(0)
    assert robot.inverse_dynamics(nothing, nothing, nothing).shape == (0,)
    assert robot.mass_matrix(nothing).shape == (0, 0)
    assert robot.jacobian(nothing, 'base').shape == (6, 0)
    assert robot.kinetic_energy(nothing, nothing) == 0.0
    np.testing.assert_array_equal(robot.pose(nothing, 'base'), np.eye(4))


def test_empty_batches_are_empty(arm7):
    nothing = np.zeros((0, 7))
    assert arm7.inverse_dynamics(nothing, nothing, nothing).shape == (0, 7)
    assert arm7.mass_matrix(nothing).shape == (0, 7, 7)


@pytest.mark.timeout(300)
def test_a_long_chain_works():
    robot = mb.load_urdf(chain(200))
    rng = np.random.default_rng(0)
    q, v, a = 0.01 * rng.normal(size=(3, 200))
    tau = robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(
        robot.inverse_dynamics(q, v, robot.forward_dynamics(q, v, tau)), tau,
        atol=1e-9 * np.abs(tau).max())
    M = robot.mass_matrix(q)
    np.testing.assert_allclose(M @ a + robot.bias_torque(q, v), tau,
                               atol=1e-10 * np.abs(tau).max())


def test_planar_and_floating_joints_fit_the_lagrange_form():
    """Random trees with every kind of joint: power balance through the compiled functions."""
    rng = np.random.default_rng(8)
    model = random_model(rng, 10, mimic=0.2)
    robot = mb.load_urdf(urdf_of(model), gravity=model.gravity)
    q, v, a = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    h = 1e-5

    def total(t):
        moved = robot.integrate(q, v + 0.5 * t * a, t)
        return robot.kinetic_energy(moved, v + t * a) + robot.potential_energy(moved)
    power = robot.inverse_dynamics(q, v, a) @ v
    assert (total(h) - total(-h)) / (2 * h) == pytest.approx(power, rel=1e-6, abs=1e-6)


def test_threads_give_the_same_bits(arm7):
    rng = np.random.default_rng(1)
    q, v, a = rng.uniform(-1, 1, (3, 5000, 7))
    alone = arm7.inverse_dynamics(q, v, a)
    mb.set_threads(2)
    try:
        np.testing.assert_array_equal(arm7.inverse_dynamics(q, v, a), alone)
    finally:
        mb.set_threads(1)
    with pytest.raises(ValueError, match='threads'):
        mb.set_threads(0)


def test_the_gravity_vector_is_the_users():
    tilted = mb.load_urdf(SHIPPED / 'arm7.urdf', gravity=(9.81, 0.0, 0.0))
    plain = mb.load_urdf(SHIPPED / 'arm7.urdf')
    q = np.zeros(7)
    assert np.abs(tilted.gravity_torque(q) - plain.gravity_torque(q)).max() > 1.0
    for gravity in ((0, 0), (0, 0, np.nan), 'down'):
        with pytest.raises(ValueError, match='gravity'):
            mb.load_urdf(SHIPPED / 'arm7.urdf', gravity=gravity)


def test_check_wants_a_file(arm7):
    assert arm7.check().ok
    with pytest.raises(ValueError, match='not read from a file'):
        mb.Robot(arm7.model).check()
