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

"""Laws of constraints: loops of all kinds, couplings, drives, distances, rolling."""

from dataclasses import replace

from closed_chains import (
    all_mechanisms, allowed, LOOPS, mechanism, random_loop_robot, shipped, URDF)
import multibody_ros as mb
from multibody_ros.compiler.functions import cos, sin
from multibody_ros.dynamics.constraints import Distance, Driven, Holonomic, Pfaffian, ROWS
from multibody_ros.dynamics.kkt import constrained_solution
from multibody_ros.model.model import Attachment, Coupling, Joint, Link, Loop, Model
import numpy as np
import pytest
from random_trees import random_link

SEEDS = (1, 2, 3)


def cases():
    return [pytest.param(kind, seed, id=f'{kind}-{seed}') for kind in LOOPS for seed in SEEDS]


def close(actual, expected, tolerance):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize(('kind', 'seed'), cases())
def test_ends_that_coincide_close_the_loop(kind, seed):
    robot, q, _ = random_loop_robot(kind, seed)
    close(robot.constraint_residual(q), np.zeros(len(ROWS[kind].split())), 1e-13)


@pytest.mark.parametrize(('kind', 'seed'), cases())
def test_jacobian_is_the_slope_of_the_residual(kind, seed):
    robot, q, rng = random_loop_robot(kind, seed)
    q = robot.integrate(q, rng.normal(scale=0.2, size=robot.nv))
    d, h = rng.normal(size=robot.nv), 1e-6
    slope = (robot.constraint_residual(robot.integrate(q, d, h))
             - robot.constraint_residual(robot.integrate(q, d, -h))) / (2 * h)
    close(robot.constraint_jacobian(q) @ d, slope, 1e-7)


@pytest.mark.parametrize(('kind', 'seed'), cases())
def test_gamma_is_what_the_velocity_residual_loses(kind, seed):
    robot, q, rng = random_loop_robot(kind, seed)
    q = robot.integrate(q, rng.normal(scale=0.2, size=robot.nv))
    v, h = rng.normal(size=robot.nv), 1e-6
    slope = (robot.constraint_rate(robot.integrate(q, v, h), v)
             - robot.constraint_rate(robot.integrate(q, v, -h), v)) / (2 * h)
    close(-robot.constraint_gamma(q, v), slope, 1e-6)


@pytest.mark.parametrize(('kind', 'seed'), cases())
def test_motion_and_multipliers_satisfy_both_equations(kind, seed):
    robot, q, rng = random_loop_robot(kind, seed)
    v, tau = allowed(robot, q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    a, multipliers = robot.constrained_dynamics(q, v, tau)
    J, gamma = robot.constraint_jacobian(q), robot.constraint_gamma(q, v)
    close(J @ a, gamma, 1e-9)
    close(robot.inverse_dynamics(q, v, a), tau - J.T @ multipliers, 1e-9)


@pytest.mark.parametrize('name', all_mechanisms())
def test_compiled_elimination_is_the_solution_by_singular_values(name):
    robot, q = mechanism(name)
    rng = np.random.default_rng(3)
    v, tau = allowed(robot, q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    a, multipliers = robot.constrained_dynamics(q, v, tau)
    expected = constrained_solution(
        robot.mass_matrix(q), robot.constraint_jacobian(q), tau - robot.bias_torque(q, v),
        robot.constraint_gamma(q, v))
    close(a, expected[0], 1e-9)
    close(multipliers, expected[1], 1e-9)


@pytest.mark.parametrize('name', all_mechanisms())
def test_no_multipliers_are_needed_along_the_null_space(name):
    robot, q = mechanism(name)
    rng = np.random.default_rng(4)
    v, tau = allowed(robot, q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    a = robot.constrained_dynamics(q, v, tau).acceleration
    close(robot.reduced_dynamics(q, v, tau, independent=()), a, 1e-9)
    if robot.independent_joints:
        B = robot.null_space(q)
        close(robot.constraint_jacobian(q) @ B, np.zeros((len(robot.constraint_labels),
                                                          B.shape[1])), 1e-12)
        chosen = [robot.v_index[name].start for name in robot.independent_joints]
        close(B[chosen], np.eye(len(chosen)), 1e-12)
        close(robot.reduced_dynamics(q, v, tau), a, 1e-9)


#: joints in a row that move like a loop joint along or about z (x: the second axis)
ROWS_OF_JOINTS = {
    'revolute': ['turn z'], 'prismatic': ['slide z'], 'fixed': [],
    'cylindrical': ['slide z', 'turn z'],
    'planar': ['slide x', 'slide y', 'turn z'], 'universal': ['turn z', 'turn x'],
    'spherical': ['turn x', 'turn y', 'turn z'],
}


@pytest.mark.parametrize('kind', LOOPS)
def test_a_free_body_with_a_loop_joint_moves_like_one_on_joints(kind):
    rng = np.random.default_rng(8)
    body = random_link(rng, 'body')
    loop = Loop('held', kind, Attachment('world', position=(0.1, 0.2, 0.3)), Attachment('body'))
    free = mb.Robot(Model('free', (Link('world'), body),
                          (Joint('float', 'floating', 'world', 'body'),), loops=(loop,)))
    steps = ROWS_OF_JOINTS[kind]
    if not steps:
        q = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0])
        close(free.constrained_dynamics(q, np.zeros(6), np.zeros(6)).acceleration, np.zeros(6),
              1e-13)
        return
    axes = dict(zip('xyz', np.eye(3)))
    links = [Link('world'), *(Link(f'l{k}') for k in range(len(steps) - 1)), body]
    joints = [Joint(f'j{k}', 'continuous' if step[:4] == 'turn' else 'prismatic', links[k].name,
                    links[k + 1].name, position=(0.1, 0.2, 0.3) if k == 0 else (0.0, 0.0, 0.0),
                    axis=tuple(axes[step[-1]])) for k, step in enumerate(steps)]
    tree = mb.Robot(Model('tree', tuple(links), tuple(joints)))
    q_t, v_t = rng.uniform(0.2, 1.0, tree.nv), rng.normal(size=tree.nv)
    a_t = tree.forward_dynamics(q_t, v_t, np.zeros(tree.nv))
    h = 1e-5

    def free_state(q, v):
        T = tree.pose(q, 'body')
        twist = tree.velocity(q, v, 'body')
        R = T[:3, :3]
        w = np.linalg.eigh(_quaternion_matrix(R))[1][:, -1]
        return np.concatenate([T[:3, 3], w]), np.concatenate([R.T @ twist[:3], R.T @ twist[3:]])

    q, v = free_state(q_t, v_t)
    _, after = free_state(tree.integrate(q_t, v_t + 0.5 * h * a_t, h), v_t + h * a_t)
    _, before = free_state(tree.integrate(q_t, v_t - 0.5 * h * a_t, -h), v_t - h * a_t)
    close(free.constraint_residual(q), np.zeros(len(free.constraint_labels)), 1e-13)
    close(free.constraint_rate(q, v), np.zeros(len(free.constraint_labels)), 1e-13)
    motion = free.reactions(q, v, np.zeros(6))
    close(motion.acceleration, (after - before) / (2 * h), 1e-7)
    assert motion.not_unique == ()
    # the loop transmits what the joints in a row do
    close(motion.constraints['held'].joint, tree.joint_wrenches(q_t, v_t, a_t)[joints[-1].name],
          1e-9)


def _quaternion_matrix(R):
    """Return the matrix whose largest eigenvector is the quaternion (Bar-Itzhack 2000)."""
    K = np.empty((4, 4))
    K[:3, :3] = R + R.T - np.trace(R) * np.eye(3)
    K[3, :3] = K[:3, 3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    K[3, 3] = np.trace(R)
    return K


@pytest.mark.parametrize('kind', LOOPS)
def test_half_a_turn_does_not_close_a_loop(kind):
    # a body upside down satisfies 'axes parallel' up to a sign, but is not assembled
    rng = np.random.default_rng(0)
    loop = Loop('held', kind, Attachment('world'), Attachment('body'))
    robot = mb.Robot(Model('free', (Link('world'), random_link(rng, 'body')),
                           (Joint('float', 'floating', 'world', 'body'),), loops=(loop,)))
    q = robot.assemble([0.3, 0.1, -0.2, 0.999, 0.02, 0.01, 0.02])
    R = robot.pose(q, 'body')[:3, :3]
    if 'rx' in ROWS[kind]:
        assert R[2, 2] == pytest.approx(1.0, abs=1e-12)
    close(robot.constraint_residual(q), np.zeros(len(ROWS[kind].split())), 1e-12)


def test_coupling_keeps_the_ratio_of_joint_sums():
    parents = {'side by side': ('link0', 'link0', 'link2'), 'one after the other': (
        'link0', 'link1', 'link2')}
    for case, places in parents.items():
        rng = np.random.default_rng(6)
        links = [random_link(rng, f'link{k}') for k in range(4)]
        joints = [Joint(f'joint{k + 1}', 'revolute', places[k], f'link{k + 1}',
                        position=(0.3, 0.0, 0.1)) for k in range(3)]
        robot = mb.Robot(Model('m', tuple(links), tuple(joints), couplings=(
            Coupling('gear', 'link1', 'link3', -1.5),)))
        q = robot.assemble([0.4, 0.1, -0.3], ['joint1', 'joint2'])
        # on one chain the common ancestor is link1 itself: its sum is empty
        left = 0.4 if case == 'side by side' else 0.0
        assert q[1] + q[2] == pytest.approx(-1.5 * left, abs=1e-12)
        np.testing.assert_array_equal(q[:2], [0.4, 0.1])


def test_coupling_of_a_joint_of_several_coordinates_is_refused():
    model = Model('m', (Link('a'), Link('b')), (Joint('free', 'floating', 'a', 'b'),),
                  couplings=(Coupling('gear', 'a', 'b', 2.0),))
    with pytest.raises(mb.ModelError, match="coupling 'gear' runs over the floating joint 'free'"):
        _ = mb.Robot(model).constraints


def test_driven_joint_follows_its_law():
    robot, _ = shipped('slider_crank')
    driven = robot.with_constraints(Driven('crank_joint', lambda t: 0.5 + 2.0 * t + sin(t)))
    t = 0.3
    q = driven.assemble([0.5, -0.9, 0.7], (), t)
    assert q[0] == pytest.approx(0.5 + 2.0 * t + np.sin(t), abs=1e-12)
    v = driven.velocity_analysis(q, t=t)
    assert v[0] == pytest.approx(2.0 + np.cos(t), abs=1e-12)
    a, multipliers = driven.constrained_dynamics(q, v, np.zeros(3), t)
    assert a[0] == pytest.approx(-np.sin(t), abs=1e-9)
    # the drive's torque -lambda is what inverse dynamics asks of the crank
    needed = robot.constrained_inverse_dynamics(q, v, a, ['crank_joint'])[0]
    assert -multipliers[-1] == pytest.approx(needed[0], rel=1e-9)


def test_distance_is_a_massless_rod():
    # a ball on a rod of length l through a floating joint: centripetal force plus weight
    mass, length, w = 2.0, 0.7, 3.0
    ball = Link('ball', (mass, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    model = Model('pendulum', (Link('world'), ball), (Joint('free', 'floating', 'world', 'ball'),))
    robot = mb.Robot(model, constraints=[
        Distance('rod', Attachment('world'), Attachment('ball'), length)])
    angle = 0.4
    q = np.array([length * np.sin(angle), 0.0, -length * np.cos(angle), 0.0, 0.0, 0.0, 1.0])
    v = np.array([length * w * np.cos(angle), 0.0, length * w * np.sin(angle), 0.0, 0.0, 0.0])
    result = robot.reactions(q, v, np.zeros(6))
    tension = mass * (9.81 * np.cos(angle) + length * w ** 2)
    assert result.multipliers[0] == pytest.approx(tension, rel=1e-12)
    to_pivot = np.array([-np.sin(angle), 0.0, np.cos(angle)])
    np.testing.assert_allclose(
        result.constraints['rod'].wrenches['ball'], [*(tension * to_pivot), 0.0, 0.0, 0.0],
        atol=1e-12)
    np.testing.assert_allclose(
        result.constraints['rod'].wrenches['world'], [*(-tension * to_pivot), 0.0, 0.0, 0.0],
        atol=1e-12)
    assert result.acceleration[0] * np.cos(angle) + result.acceleration[2] * np.sin(
        angle) == pytest.approx(-9.81 * np.sin(angle), rel=1e-12)


def test_pfaffian_constraint_is_the_rate_of_the_holonomic_one():
    robot, q = shipped('five_bar')
    free = mb.Robot(replace(robot.model, loops=()))
    first, second = (f'{side}_distal' for side in ('left', 'right'))

    def tip(motion, link):
        R, p = motion.pose(link)
        return [x + 0.4 * row[0] for x, row in zip(p, R)]

    def tip_rate(motion, link):
        R, _ = motion.pose(link)
        linear, w = motion.velocity(link)
        arm = [0.4 * row[0] for row in R]
        return [linear[0] + w[1] * arm[2] - w[2] * arm[1],
                linear[2] + w[0] * arm[1] - w[1] * arm[0]]

    position = free.with_constraints(Holonomic('tips', lambda m: [
        tip(m, first)[k] - tip(m, second)[k] for k in (0, 2)], [first, second]))
    velocity = free.with_constraints(Pfaffian('tips', lambda m: [
        x - y for x, y in zip(tip_rate(m, first), tip_rate(m, second))], [first, second]))
    v = allowed(robot, q, np.array([1.0, -2.0, 0.5, 1.5]))
    expected = robot.constrained_dynamics(q, v, np.ones(4)).acceleration
    for other in (position, velocity):
        close(other.constrained_dynamics(q, v, np.ones(4)).acceleration, expected, 1e-11)
    close(velocity.constraint_jacobian(q), position.constraint_jacobian(q), 1e-13)
    first_wrench, second_wrench = (
        other.reactions(q, v, np.ones(4)).constraints['tips'].wrenches[first]
        for other in (position, velocity))
    close(first_wrench, second_wrench, 1e-10)
    close(first_wrench, robot.reactions(q, v, np.ones(4)).constraints['closure'].wrenches[first],
          1e-10)


def test_time_enters_the_acceleration_of_a_moving_surface():
    # a point on a table that heaves: z = 0.1 cos(3 t), from theory.md section 6 gamma = -Phi_tt
    ball = Link('ball', (1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    model = Model('table', (Link('world'), ball),
                  (Joint('x', 'prismatic', 'world', 'ball', axis=(0.0, 0.0, 1.0)),))
    robot = mb.Robot(model, constraints=[Holonomic(
        'table', lambda m: [m.pose('ball')[1][2] - 0.1 * cos(3.0 * m.t)], ['ball'])])
    t = 0.2
    a, multipliers = robot.constrained_dynamics(
        [0.1 * np.cos(0.6)], [-0.3 * np.sin(0.6)], [0.0], t)
    assert a[0] == pytest.approx(-0.9 * np.cos(3.0 * t), rel=1e-12)
    assert -multipliers[0] == pytest.approx(9.81 - 0.9 * np.cos(3.0 * t), rel=1e-12)


@pytest.mark.parametrize('name', ['five_bar', 'bricard'])
def test_batch_is_row_by_row(name):
    robot, q = mechanism(name)
    rng = np.random.default_rng(2)
    v = np.array([allowed(robot, q, rng.normal(size=robot.nv)) for _ in range(20)])
    tau = rng.normal(size=(20, robot.nv))
    a, multipliers = robot.constrained_dynamics(q, v, tau)
    assert a.shape == (20, robot.nv) and multipliers.shape == (20, 5)
    for k in (0, 7, 19):
        one = robot.constrained_dynamics(q, v[k], tau[k])
        close(a[k], one.acceleration, 1e-10)
        close(multipliers[k], one.multipliers, 1e-10)
    assert robot.constraint_residual(np.tile(q, (20, 1))).shape == (20, 5)
    assert robot.constraint_jacobian(np.tile(q, (20, 1))).shape == (20, 5, robot.nv)


def test_batch_of_the_analyses_is_row_by_row():
    robot, q = shipped('five_bar')
    rng = np.random.default_rng(5)
    motors = robot.independent_joints
    rates = {name: rng.normal(size=6) for name in motors}
    v = robot.velocity_analysis(np.tile(q, (6, 1)), rates)
    a = robot.acceleration_analysis(q, v, {motors[0]: 0.5, motors[1]: rng.normal(size=6)})
    B, tau = robot.null_space(np.tile(q, (6, 1))), rng.normal(size=(6, robot.nv))
    reduced = robot.reduced_dynamics(q, v, tau)
    needed = robot.constrained_inverse_dynamics(q, v, a)
    for k in range(6):
        one = {name: values[k] for name, values in rates.items()}
        close(v[k], robot.velocity_analysis(q, one), 1e-12)
        given = {name: a[k][robot.v_index[name]] for name in motors}
        close(a[k], robot.acceleration_analysis(q, v[k], given), 1e-12)
        np.testing.assert_array_equal(B[k], robot.null_space(q))
        np.testing.assert_array_equal(reduced[k], robot.reduced_dynamics(q, v[k], tau[k]))
        for x, y in zip(needed, robot.constrained_inverse_dynamics(q, v[k], a[k])):
            np.testing.assert_array_equal(x[k], y)
    with pytest.raises(ValueError, match=r"joint 'left_motor' takes one number or one a row, "
                                         r'shape \(6,\), not shape \(5,\)'):
        robot.velocity_analysis(np.tile(q, (6, 1)), {'left_motor': np.ones(5)})


def test_functions_of_one_state_refuse_a_batch():
    robot, q = shipped('four_bar')
    Q = np.tile(q, (5, 1))
    for name, arguments in (('mobility', (Q,)), ('singularity', (Q, 0.0 * Q)),
                            ('reactions', (Q, 0.0 * Q, 0.0 * q))):
        with pytest.raises(ValueError, match=f"{name} of robot 'four_bar' takes one state, not a "
                                             r'batch of shape \(5,\)'):
            getattr(robot, name)(*arguments)


def test_masses_are_read_at_every_call():
    robot, q = shipped('four_bar')
    before = robot.constrained_dynamics(q, np.zeros(3), np.zeros(3)).acceleration
    robot.set_payload('coupler', 3.0, (0.4, 0.0, 0.0))
    heavy = robot.constrained_dynamics(q, np.zeros(3), np.zeros(3)).acceleration
    assert np.abs(heavy - before).max() > 0.01
    close(heavy, constrained_solution(
        robot.mass_matrix(q), robot.constraint_jacobian(q), -robot.gravity_torque(q),
        np.zeros(5))[0], 1e-12)
    robot.clear_payload()
    again = robot.constrained_dynamics(q, np.zeros(3), np.zeros(3)).acceleration
    np.testing.assert_array_equal(again, before)


def test_errors_name_the_culprit():
    robot, q = shipped('four_bar')
    with pytest.raises(ValueError, match="tau must have 3 entries for robot 'four_bar'"):
        robot.constrained_dynamics(q, q, [0.0, 0.0])
    with pytest.raises(ValueError, match="v is nan at joint 'coupler_joint'"):
        robot.constrained_dynamics(q, [0.0, np.nan, 0.0], np.zeros(3))
    with pytest.raises(mb.ModelError, match="no joint 'elbow', only: crank_joint"):
        robot.assemble(q, ['elbow'])
    with pytest.raises(mb.ModelError, match="'driven elbow': robot 'four_bar' has no joint"):
        _ = robot.with_constraints(Driven('elbow', lambda t: t)).constraints
    with pytest.raises(mb.ModelError, match="two constraints 'closure'"):
        _ = robot.with_constraints(Holonomic('closure', lambda m: [m.t])).constraints
    with pytest.raises(ValueError, match="distance 'd' must be positive"):
        Distance('d', Attachment('a'), Attachment('b'), 0.0)


def test_external_wrench_acts_through_the_loop():
    robot, q = shipped('four_bar')
    push = {'rocker': [3.0, 0.0, -1.0, 0.0, 0.5, 0.0]}
    tau = robot.jacobian(q, 'rocker').T @ push['rocker']
    expected = robot.constrained_dynamics(q, np.zeros(3), tau)
    given = robot.constrained_dynamics(q, np.zeros(3), np.zeros(3), wrenches=push)
    close(given.acceleration, expected.acceleration, 1e-13)


def test_a_tree_is_a_mechanism_without_constraints():
    robot = mb.load_urdf(URDF / 'arm6.urdf')
    rng = np.random.default_rng(0)
    q, v, tau = (rng.normal(size=6) for _ in range(3))
    assert robot.constraints == ()
    a, multipliers = robot.constrained_dynamics(q, v, tau)
    np.testing.assert_array_equal(a, robot.forward_dynamics(q, v, tau))
    assert multipliers.shape == (0,)
    close(robot.constrained_inverse_dynamics(q, v, a)[0], tau, 1e-10)
    np.testing.assert_array_equal(robot.assemble(q), q)
    assert robot.constraint_jacobian(q).shape == (0, 6)
    assert robot.constraint_jacobian(np.zeros((3, 6))).shape == (3, 0, 6)
    assert robot.constraint_residual(q).shape == robot.constraint_rate(q, v).shape == (0,)
    assert robot.constraint_gamma(np.zeros((3, 6)), v).shape == (3, 0)
    moved = robot.velocity_analysis(q, {'shoulder_lift_joint': 0.5})
    assert moved.tolist() == [0.0, 0.5, 0.0, 0.0, 0.0, 0.0]
    close(robot.reduced_dynamics(q, v, tau), a, 1e-10)
    reactions = robot.reactions(q, v, tau)
    assert reactions.constraints == {} and robot.constraint_labels == []
    for name, wrench in robot.joint_wrenches(q, v, a).items():
        close(reactions.joints[name], wrench, 1e-10)
    with pytest.raises(ValueError, match="robot 'arm6' has no constraints: its file"):
        robot.singularity(q, v)


@pytest.mark.parametrize('name', ['arm6', 'five_bar'])
def test_what_is_no_configuration_is_refused_with_and_without_constraints(name):
    robot = mb.load_urdf(URDF / f'{name}.urdf')
    for function in (robot.assemble, robot.constraint_residual, robot.constraint_jacobian):
        with pytest.raises(ValueError, match=f"q is nan at joint '{robot.joint_names[0]}'"):
            function([np.nan] * robot.nq)
        with pytest.raises(ValueError, match=f"q must have {robot.nq} entries for robot '{name}'"):
            function([0.0])
    joint = robot.joint_names[0]
    with pytest.raises(ValueError, match=f"joint '{joint}' is given nan, which is not finite"):
        robot.assemble(robot.neutral(), {joint: np.nan})
    with pytest.raises(ValueError, match=f"joint '{joint}' takes one number, not shape"):
        robot.assemble(robot.neutral(), {joint: [1.0, 2.0]})
