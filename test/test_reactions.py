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

"""Forces in joints and constraints, and the torques that cause a motion."""

from closed_chains import all_mechanisms, allowed, mechanism, shipped
import multibody_ros as mb
from multibody_ros.dynamics.constraints import Distance, Driven, LoopClosure
from multibody_ros.model.model import Attachment, Joint, Link, Loop, Model
import numpy as np
import pytest
from random_trees import random_model, random_state

G = 9.81


@pytest.mark.parametrize('name', all_mechanisms())
def test_every_body_is_in_balance(name):
    # Newton and Euler for each link by itself: what joints and constraints do to it
    robot, q = mechanism(name)
    rng = np.random.default_rng(7)
    v, tau = allowed(robot, q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    result = robot.reactions(q, v, tau)
    h = 1e-6
    a = result.acceleration
    parameters = robot.parameters.reshape(-1, 10)
    for k, link in enumerate(robot.link_names):
        if k == 0 or not parameters[k].any():
            continue

        def momentum(s, link=link, row=parameters[k]):
            x = robot.integrate(q, v + 0.5 * s * a, s)
            T, twist = robot.pose(x, link), robot.velocity(x, v + s * a, link)
            R, m = T[:3, :3], row[0]
            c = R @ (row[1:4] / m)
            I_o = np.zeros((3, 3))
            I_o[np.triu_indices(3)] = row[4:]
            I_o = I_o + np.triu(I_o, 1).T
            linear = m * (twist[:3] + np.cross(twist[3:], c))
            about_origin = R @ I_o @ R.T @ twist[3:] + m * np.cross(c, twist[:3])
            # about the world origin
            return np.concatenate([linear, about_origin + np.cross(T[:3, 3], linear)])

        change = (momentum(h) - momentum(-h)) / (2 * h)
        T = robot.pose(q, link)
        m, h_c = parameters[k][0], T[:3, :3] @ parameters[k][1:4]
        weight = m * np.array(robot.model.gravity)
        total = np.concatenate([weight, np.cross(m * T[:3, 3] + h_c, np.array(
            robot.model.gravity))])
        for joint in robot.model.joints:
            C = robot.pose(q, joint.child)
            wrench = result.joints[joint.name]
            force, torque = C[:3, :3] @ wrench[:3], C[:3, :3] @ wrench[3:]
            moment = np.concatenate([force, torque + np.cross(C[:3, 3], force)])
            total = total + moment * ((joint.child == link) - float(joint.parent == link))
        for reaction in result.constraints.values():
            if link in reaction.wrenches:
                w = reaction.wrenches[link]
                total = total + np.concatenate([w[:3], w[3:] + np.cross(T[:3, 3], w[:3])])
        # a rotor behind a gear and the point mass of a slider aside, none of which is here
        np.testing.assert_allclose(total, change, atol=2e-6 * max(1.0, np.abs(total).max()))


@pytest.mark.parametrize('name', all_mechanisms())
def test_generalised_reaction_is_the_work_of_the_wrenches(name):
    robot, q = mechanism(name)
    rng = np.random.default_rng(9)
    v = allowed(robot, q, rng.normal(size=robot.nv))
    result = robot.reactions(q, v, rng.normal(size=robot.nv))
    for constraint in robot.constraints:
        reaction = result.constraints[constraint.name]
        if not constraint.links:
            continue
        work = sum(robot.jacobian(q, link).T @ w for link, w in reaction.wrenches.items())
        np.testing.assert_allclose(work, reaction.generalised, atol=1e-9)
        # ideal constraints that do not move do no work
        assert reaction.generalised @ v == pytest.approx(0.0, abs=1e-8)
        if isinstance(constraint, LoopClosure):
            first, second = (reaction.wrenches[link][:3] for link in constraint.links)
            np.testing.assert_allclose(first, -second, atol=1e-10)


def test_pendulum_rod():
    # tension m (g cos + l w^2) from the multipliers of a loop that replaces the pivot
    mass, length, angle, w = 1.5, 0.8, 0.5, 2.0
    bob = Link('bob', (mass, 0.0, 0.0, -mass * length, mass * length ** 2, 0.0, 0.0,
                       mass * length ** 2, 0.0, 0.0))
    tree = mb.Robot(Model('pendulum', (Link('world'), bob), (
        Joint('pivot', 'continuous', 'world', 'bob', axis=(0.0, -1.0, 0.0)),)))
    # the bob slides in the plane, and the loop holds it to the pivot
    free = mb.Robot(Model('free', (Link('world'), bob), (
        Joint('plane', 'planar', 'world', 'bob', axis=(0.0, -1.0, 0.0)),), loops=(
            Loop('pivot', 'revolute', Attachment('world'), Attachment('bob'), (0.0, -1.0, 0.0)),)))
    a = -G / length * np.sin(angle)
    reaction = free.reactions([0.0, 0.0, angle], [0.0, 0.0, w], np.zeros(3))
    assert reaction.acceleration[2] == pytest.approx(a, rel=1e-12)
    along_rod = mass * (G * np.cos(angle) + length * w ** 2)
    np.testing.assert_allclose(
        reaction.constraints['pivot'].joint, [0.0, 0.0, along_rod, 0.0, 0.0, 0.0], atol=1e-11)
    np.testing.assert_allclose(
        tree.joint_wrenches([angle], [w], [a])['pivot'][:3], [0.0, 0.0, along_rod], atol=1e-11)


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_multipliers_of_an_open_arm_are_the_reactions_of_the_recursion(seed):
    # cut one joint of a tree: the branch floats and a loop takes the joint's place
    rng = np.random.default_rng(seed)
    model = random_model(rng, 5, ('revolute', 'prismatic'), mimic=0.0, branching=0.2, rotors=False)
    arm = mb.Robot(model)
    cut = model.joints[2]
    joints = tuple(Joint(cut.name, 'floating', model.links[0].name, cut.child)
                   if j is cut else j for j in model.joints)
    loop = Loop('cut', cut.kind, Attachment(cut.parent, cut.rotation, cut.position),
                Attachment(cut.child), cut.axis)
    free = mb.Robot(Model('cut', model.links, joints, model.gravity, (loop,)))
    q, v, _ = (np.array(x) for x in random_state(rng, arm._programs.tree))
    tau = rng.normal(size=arm.nv)
    k = arm.v_index[cut.name].start
    tau[k] = 0.0
    a = arm.forward_dynamics(q, v, tau)
    expected = arm.joint_wrenches(q, v, a)
    T, twist = arm.pose(q, cut.child), arm.velocity(q, v, cut.child)
    R = T[:3, :3]
    q_free, v_free = np.empty(free.nq), np.empty(free.nv)
    tau_free = np.zeros(free.nv)
    for name in arm.joint_names:
        if name != cut.name:
            q_free[free.q_index[name]] = q[arm.q_index[name]]
            v_free[free.v_index[name]] = v[arm.v_index[name]]
            tau_free[free.v_index[name]] = tau[arm.v_index[name]]
    from multibody_ros.dynamics.rotations import quaternion_of
    q_free[free.q_index[cut.name]] = [*T[:3, 3], *quaternion_of(R)]
    v_free[free.v_index[cut.name]] = [*(R.T @ twist[:3]), *(R.T @ twist[3:])]
    result = free.reactions(q_free, v_free, tau_free)
    np.testing.assert_allclose(result.constraints['cut'].joint, expected[cut.name], atol=1e-9)
    for name in arm.joint_names:
        if name != cut.name:
            np.testing.assert_allclose(result.joints[name], expected[name], atol=1e-9)
            assert result.acceleration[free.v_index[name]] == pytest.approx(
                a[arm.v_index[name]], abs=1e-9)
    np.testing.assert_allclose(result.joints[cut.name], 0.0, atol=1e-10)


@pytest.mark.parametrize('name', ['four_bar', 'five_bar', 'parallelogram_arm', 'slider_crank',
                                  'remote_2r'])
def test_inverse_undoes_forward_with_passive_joints(name):
    robot, q = shipped(name)
    rng = np.random.default_rng(1)
    v, tau = allowed(robot, q, rng.normal(size=robot.nv)), np.zeros(robot.nv)
    for joint in robot.independent_joints:
        tau[robot.v_index[joint]] = rng.normal()
    a, multipliers = robot.constrained_dynamics(q, v, tau)
    found = robot.constrained_inverse_dynamics(q, v, a)
    np.testing.assert_allclose(found[0], tau, atol=1e-9)
    np.testing.assert_allclose(found[1], multipliers, atol=1e-9)


def test_more_actuators_than_freedoms_share_the_load():
    robot, q = shipped('four_bar')
    v = robot.velocity_analysis(q, {'crank_joint': 1.0})
    a = robot.acceleration_analysis(q, v, {'crank_joint': 2.0})
    single = robot.constrained_inverse_dynamics(q, v, a, ['crank_joint'])[0]
    both = robot.constrained_inverse_dynamics(q, v, a, ['crank_joint', 'rocker_joint'])[0]
    assert np.linalg.norm(both) < np.linalg.norm(single)
    # the same power, and the shortest: torques in the proportion of the velocities
    assert both @ v == pytest.approx(single @ v, rel=1e-10)
    assert both[2] / both[0] == pytest.approx(v[2] / v[0], rel=1e-9)
    assert both[1] == 0.0


def test_too_few_actuators_are_told():
    robot, q = shipped('five_bar')
    with pytest.raises(ValueError, match='left_motor cannot give robot .five_bar.'):
        robot.constrained_inverse_dynamics(q, np.zeros(4), np.zeros(4), ['left_motor'])


@pytest.mark.parametrize('name', ['five_bar', 'parallelogram_arm'])
def test_gravity_compensation_with_passive_joints_holds_still(name):
    robot, q = shipped(name)
    tau = robot.constrained_inverse_dynamics(q, np.zeros(4), np.zeros(4))[0]
    a = robot.constrained_dynamics(q, np.zeros(4), tau).acceleration
    np.testing.assert_allclose(a, 0.0, atol=1e-10)
    passive = [k for name, k in robot.v_index.items() if name not in robot.independent_joints]
    assert all(tau[k] == 0.0 for k in passive)


def test_drive_does_the_power():
    robot, q = shipped('slider_crank')
    driven = robot.with_constraints(Driven('crank_joint', lambda t: 0.7 + 3.0 * t + t * t))
    q = driven.assemble(q, ())
    v = driven.velocity_analysis(q)
    result = driven.reactions(q, v, np.zeros(3))
    h = 1e-6
    ends = [robot.integrate(q, v + 0.5 * s * result.acceleration, s) for s in (h, -h)]
    energies = [robot.kinetic_energy(x, v + s * result.acceleration) + robot.potential_energy(x)
                for x, s in zip(ends, (h, -h))]
    power = result.constraints['driven crank_joint'].generalised @ v
    assert power == pytest.approx((energies[0] - energies[1]) / (2 * h), rel=1e-6)


def test_two_rods_in_one_place_share_the_load():
    # redundant: either rod could carry all; the shortest multipliers share it, and that is said
    ball = Link('ball', (2.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    model = Model('m', (Link('world'), ball), (Joint('free', 'floating', 'world', 'ball'),))
    rods = [Distance(name, Attachment('world'), Attachment('ball'), 1.0) for name in ('a', 'b')]
    robot = mb.Robot(model, constraints=rods)
    q = np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0])
    result = robot.reactions(q, np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(result.multipliers, [G, G], rtol=1e-12)
    np.testing.assert_allclose(result.acceleration, 0.0, atol=1e-12)
    assert result.not_unique == (('a', 'length'), ('b', 'length'))
