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

"""Absolute coordinates: three formulations, one answer; orientation parameters."""

from closed_chains import all_mechanisms, allowed, chain_at, energy, mechanism, shipped, URDF
import multibody_ros as mb
from multibody_ros import mechanisms
from multibody_ros.dynamics.orientation import body_equations, ORIENTATIONS
from multibody_ros.dynamics.rotations import orientation_parameters
from multibody_ros.loops.absolute import AbsoluteMechanism
from multibody_ros.simulation.constrained import ConstrainedStepper
import numpy as np
import pytest
from random_trees import random_model, random_rotation

TREES = ('pendulum', 'double_pendulum', 'cartesian_arm', 'planar_2r', 'geared_arm', 'arm6', 'arm7')
KINDS = list(ORIENTATIONS)


def close(actual, expected, tolerance):
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def random_tree(seed):
    rng = np.random.default_rng(seed)
    return mb.Robot(random_model(rng, 5, mimic=0.3)), rng


@pytest.mark.parametrize(('name', 'kind'), [
    *((name, 'euler_parameters') for name in (*all_mechanisms(), *TREES)), ('five_bar', 'rpy'),
    ('five_bar', 'rodrigues'), ('five_bar', 'zxz'), ('disk', 'zxz'), ('driven bead', 'rpy')])
def test_joint_null_space_and_absolute_form_agree(name, kind):
    rng = np.random.default_rng(5)
    if name in TREES:
        robot = mb.load_urdf(URDF / f'{name}.urdf')
        q, v = rng.uniform(-0.8, 0.8, robot.nq), rng.normal(size=robot.nv)
    else:
        robot, q = mechanism(name)
        v = allowed(robot, q, rng.normal(size=robot.nv))
    tau = rng.normal(size=robot.nv)
    bodies = AbsoluteMechanism(robot, kind)
    x, u = bodies.state(q, v)
    close(bodies.residual(x), np.zeros(len(bodies.residual(x))), 1e-9)
    close(bodies.joint_velocity(x, u), v, 1e-12)
    motion = bodies.dynamics(x, u, tau)
    acceleration = bodies.joint_acceleration(x, u, motion.acceleration)
    reactions = bodies.reactions(x, u, tau)
    if name in TREES:
        expected = robot.forward_dynamics(q, v, tau)
        joints = robot.joint_wrenches(q, v, expected)
    else:
        result = robot.reactions(q, v, tau)
        expected = result.acceleration
        close(robot.reduced_dynamics(q, v, tau, ()), expected, 1e-9)
        joints = {**result.joints, **{name: reaction.joint for name, reaction
                                      in result.constraints.items() if reaction.joint is not None}}
    close(acceleration, expected, 1e-9)
    if name == 'bricard':
        # hyperstatic: which joint carries what is not unique, and said so
        assert result.not_unique
        return
    for joint, wrench in reactions.items():
        if np.isfinite(wrench).all():
            close(wrench, joints[joint], 1e-7)


@pytest.mark.parametrize('seed', range(3))
def test_random_trees_with_followers_and_all_joint_kinds(seed):
    robot, rng = random_tree(seed)
    q = robot.integrate(robot.neutral(), rng.normal(scale=0.6, size=robot.nv))
    v, tau = rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    bodies = AbsoluteMechanism(robot)
    x, u = bodies.state(q, v)
    motion = bodies.dynamics(x, u, tau)
    close(bodies.joint_acceleration(x, u, motion.acceleration),
          robot.forward_dynamics(q, v, tau), 1e-8)
    np.testing.assert_allclose(
        robot.difference(bodies.configuration(x), q), 0.0, atol=1e-9)


@pytest.mark.parametrize('kind', KINDS)
def test_same_motion_from_all_parameters(kind):
    robot, q = shipped('four_bar')
    v = robot.velocity_analysis(q, {'crank_joint': 4.0})
    bodies, stepper = AbsoluteMechanism(robot, kind), ConstrainedStepper(robot)
    x, u = bodies.state(q, v)
    start = energy(robot, q, v)
    for k in range(100):
        q, v = stepper.rk4(k * 2e-3, q, v, np.zeros(3), 2e-3)
        x, u = bodies.rk4(k * 2e-3, x, u, None, 2e-3)
    found, rates = bodies.configuration(x), bodies.joint_velocity(x, u)
    np.testing.assert_allclose(robot.difference(q, found), 0.0, atol=1e-6)
    np.testing.assert_allclose(rates, v, atol=1e-5)
    assert energy(robot, found, rates) == pytest.approx(start, rel=1e-6)
    assert np.abs(bodies.residual(x)).max() < 1e-9


def test_rotor_behind_a_gear_and_payload_count():
    robot = mb.load_urdf(URDF / 'geared_arm.urdf')
    robot.set_payload(robot.link_names[-1], 1.3, (0.1, 0.0, 0.05))
    rng = np.random.default_rng(0)
    q, v, tau = (rng.normal(size=robot.nv) for _ in range(3))
    bodies = AbsoluteMechanism(robot)
    x, u = bodies.state(q, v)
    close(bodies.joint_acceleration(x, u, bodies.dynamics(x, u, tau).acceleration),
          robot.forward_dynamics(q, v, tau), 1e-10)


def test_long_chain_is_sparse():
    robot = mechanisms.four_bar_chain(5)
    q = chain_at(robot, 1.2)
    v = robot.velocity_analysis(q, {'rod_0': 2.0})
    bodies = AbsoluteMechanism(robot)
    x, u = bodies.state(q, v)
    a = bodies.joint_acceleration(x, u, bodies.dynamics(x, u).acceleration)
    close(a, robot.constrained_dynamics(q, v, np.zeros(robot.nv)).acceleration, 1e-8)


@pytest.mark.parametrize('kind', KINDS)
def test_rotation_and_parameters_are_inverse(kind):
    rng = np.random.default_rng(4)
    for _ in range(20):
        R = random_rotation(rng)
        try:
            theta = orientation_parameters(kind, R)
        except ValueError:
            assert kind == 'rodrigues' and np.trace(R) < -1.0 + 1e-9
            continue
        np.testing.assert_allclose(ORIENTATIONS[kind].rotation(theta), R, atol=1e-12)


@pytest.mark.parametrize('kind', KINDS)
def test_angular_velocity_is_linear_in_the_rates(kind):
    rng = np.random.default_rng(3)
    o = ORIENTATIONS[kind]
    theta, rate, h = rng.uniform(0.3, 0.9, o.size), rng.normal(size=o.size), 1e-6
    if kind == 'euler_parameters':
        theta /= np.linalg.norm(theta)
        rate -= (rate @ theta) * theta
    R = np.array(o.rotation(theta))
    ends = [np.array(o.rotation(theta + s * h * rate)) for s in (1, -1)]
    slope = (ends[0] - ends[1]) / (2 * h)
    w = np.array(o.rate_matrix(theta)) @ rate
    np.testing.assert_allclose(R.T @ slope, skew(w), atol=1e-8)
    np.testing.assert_allclose(o.rates(theta, w), rate, atol=1e-12)


@pytest.mark.parametrize('kind', KINDS)
def test_one_body_by_lagrange(kind):
    # d/dt dT/dq' - dT/dq of T(q, q') by finite differences against M q'' - f_v (section 1)
    rng = np.random.default_rng(2)
    o = ORIENTATIONS[kind]
    points, masses = rng.normal(size=(4, 3)), rng.uniform(0.5, 1.0, 4)
    m, c = masses.sum(), masses @ points / masses.sum()
    inertia = sum(mass * (p @ p * np.eye(3) - np.outer(p, p)) for mass, p in zip(masses, points))
    theta, rate = rng.uniform(0.3, 0.9, o.size), rng.normal(size=o.size)
    if kind == 'euler_parameters':
        theta /= np.linalg.norm(theta)
        rate -= (rate @ theta) * theta
    q, v, a = (np.concatenate([rng.normal(size=3), x]) for x in (
        theta, rate, rng.normal(size=o.size)))

    def mass(q):
        return np.array(body_equations(kind, m, tuple(c), inertia, q[3:], v[3:])[0])

    def kinetic(q, v):
        R, w = np.array(o.rotation(q[3:])), np.array(o.rate_matrix(q[3:])) @ v[3:]
        return 0.5 * sum(k * np.sum((v[:3] + R @ np.cross(w, p)) ** 2)
                         for k, p in zip(masses, points))

    M, f_v = body_equations(kind, m, tuple(c), inertia, q[3:], v[3:])
    assert 0.5 * v @ np.array(M) @ v == pytest.approx(kinetic(q, v), rel=1e-12)
    h = 1e-5
    M_dot = (mass(q + h * v) - mass(q - h * v)) / (2 * h)
    slope = np.array([(kinetic(q + h * e, v) - kinetic(q - h * e, v)) / (2 * h)
                      for e in np.eye(len(q))])
    left = M_dot @ v - slope + np.array(f_v)
    if kind == 'euler_parameters':
        # along the quaternion itself nothing is said: its length stays one
        left[3:] -= (left[3:] @ theta) * theta
    np.testing.assert_allclose(left, 0.0, atol=1e-7)


def test_singular_parameters_are_told():
    robot, q = shipped('slider_crank')
    bodies = AbsoluteMechanism(robot, 'zxz')
    x, u = bodies.state(q, np.zeros(3))
    with pytest.raises(ValueError, match="orientation parameters of body 'piston' are singular"):
        bodies.dynamics(x, u)
    with pytest.raises(ValueError, match="parameters 'xyz', only: euler_parameters"):
        AbsoluteMechanism(robot, 'xyz')
