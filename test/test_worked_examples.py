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

"""The worked examples of theory.md sections 1, 2, 3 and 12, in closed form."""

from math import cos, pi, sin

from multibody_ros.dynamics import coriolis, crba, energy, forward, kinematics, rnea
from multibody_ros.dynamics.spatial import inertia_times, momentum_of
from multibody_ros.model.lump import tree_of
from multibody_ros.model.model import Joint, Link, Model
import numpy as np
import pytest
from random_trees import body_parameters

G = 9.81


def planar_link(name, mass, r, inertia, along=(1.0, 0.0, 0.0)):
    """Return a link whose centre is at r along x or so, inertia about z through the centre."""
    x, y, z = along
    c = [r * x, r * y, r * z]
    # only the moment about the joint axes matters in a plane; all axes get the same
    I_o = inertia * np.eye(3) + mass * (np.dot(c, c) * np.eye(3) - np.outer(c, c))
    return Link(name, (mass, *(mass * x for x in c), *map(float, I_o[np.triu_indices(3)])))


def robot(links, joints, gravity):
    """Return a tree and its parameters."""
    model = Model('example', (Link('base'), *links), tuple(joints), gravity)
    tree = tree_of(model)
    return tree, body_parameters(tree, model)


def two_link_arm(gravity=(0.0, -G, 0.0), l1=0.7, rotor=0.0, gear=1.0):
    """Return the planar 2R arm of section 12 in the xy plane."""
    return robot(
        (planar_link('upper', 2.0, 0.3, 0.05), planar_link('lower', 1.5, 0.25, 0.04)),
        (Joint('shoulder', 'revolute', 'base', 'upper', axis=(0.0, 0.0, 1.0),
               rotor_inertia=rotor, gear_ratio=gear),
         Joint('elbow', 'revolute', 'upper', 'lower', position=(l1, 0.0, 0.0),
               axis=(0.0, 0.0, 1.0))), gravity)


def test_two_masses():
    points = np.array([[1.0, 2.0, 0.0], [3.0, 2.0, 0.0]])
    w = (0.0, 0.0, 1.0)

    def moments(about):
        r = points - about
        return tuple((r.T @ r)[np.triu_indices(3)])
    columns = [inertia_times(moments(np.zeros(3)), e) for e in np.eye(3)]
    np.testing.assert_array_equal(columns, [[8, -8, 0], [-8, 10, 0], [0, 0, 18]])
    columns = [inertia_times(moments(points.mean(axis=0)), e) for e in np.eye(3)]
    np.testing.assert_array_equal(columns, np.diag([0, 2, 2]))
    still = (0.0, 0.0, 0.0)
    about_origin = (2.0, *points.sum(axis=0), *moments(np.zeros(3)))
    assert momentum_of(about_origin, still, w)[1] == (0.0, 0.0, 18.0)
    about_centre = (2.0, 0.0, 0.0, 0.0, *moments(points.mean(axis=0)))
    assert momentum_of(about_centre, still, w)[1] == (0.0, 0.0, 2.0)


def test_planar_2r():
    tree, parameters = two_link_arm()
    q, v = [0.4, -1.1], [0.8, 1.7]
    m1, r1, I1, m2, r2, I2, l1 = 2.0, 0.3, 0.05, 1.5, 0.25, 0.04, 0.7
    c2, h = cos(q[1]), -m2 * l1 * r2 * sin(q[1])
    M12 = I2 + m2 * (r2 ** 2 + l1 * r2 * c2)
    M11 = I1 + I2 + m1 * r1 ** 2 + m2 * (l1 ** 2 + r2 ** 2 + 2 * l1 * r2 * c2)
    np.testing.assert_allclose(crba.mass_matrix(tree, parameters, q),
                               [[M11, M12], [M12, I2 + m2 * r2 ** 2]], rtol=1e-14)
    np.testing.assert_allclose(coriolis.coriolis_matrix(tree, parameters, q, v),
                               [[h * v[1], h * (v[0] + v[1])], [-h * v[0], 0.0]],
                               rtol=1e-13, atol=1e-15)
    g2 = m2 * G * r2 * cos(q[0] + q[1])
    np.testing.assert_allclose(crba.gravity(tree, parameters, q),
                               [(m1 * r1 + m2 * l1) * G * cos(q[0]) + g2, g2], rtol=1e-14)


def test_double_pendulum_of_point_masses():
    # the printed equations of the double pendulum, absolute angles from the downward vertical
    l1, l2, m1, m2 = 0.8, 0.5, 1.2, 0.7
    tree, parameters = robot(
        (planar_link('one', m1, l1, 0.0, (0.0, -1.0, 0.0)),
         planar_link('two', m2, l2, 0.0, (0.0, -1.0, 0.0))),
        (Joint('first', 'continuous', 'base', 'one', axis=(0.0, 0.0, 1.0)),
         Joint('second', 'continuous', 'one', 'two', position=(0.0, -l1, 0.0),
               axis=(0.0, 0.0, 1.0))), (0.0, -G, 0.0))
    t1, t2, w1, w2 = 0.9, -0.4, 1.3, -2.1
    d = t1 - t2
    a = forward.forward_dynamics(tree, parameters, [t1, t2 - t1], [w1, w2 - w1], [0.0, 0.0])
    M = [[(m1 + m2) * l1, m2 * l2 * cos(d)], [l1 * cos(d), l2]]
    right = [-m2 * l2 * w2 ** 2 * sin(d) - (m1 + m2) * G * sin(t1),
             l1 * w1 ** 2 * sin(d) - G * sin(t2)]
    expected = np.linalg.solve(M, right)
    np.testing.assert_allclose([a[0], a[0] + a[1]], expected, rtol=1e-13)


def test_simple_pendulum_energy():
    tree, parameters = robot(
        (planar_link('bob', 2.0, 0.5, 0.0, (0.0, -1.0, 0.0)),),
        (Joint('pivot', 'continuous', 'base', 'bob', axis=(0.0, 0.0, 1.0)),), (0.0, -G, 0.0))
    assert energy.potential_energy(tree, parameters, [0.6]) == pytest.approx(
        -2.0 * G * 0.5 * cos(0.6), rel=1e-14)
    assert energy.kinetic_energy(tree, parameters, [0.6], [3.0]) == pytest.approx(
        0.5 * 2.0 * (0.5 * 3.0) ** 2, rel=1e-14)


def test_cartesian_arm_is_decoupled():
    tree, parameters = robot(
        (planar_link('column', 3.0, 0.2, 0.1), planar_link('beam', 2.0, 0.3, 0.1)),
        (Joint('lift', 'prismatic', 'base', 'column', axis=(0.0, 0.0, 1.0)),
         Joint('reach', 'prismatic', 'column', 'beam', axis=(1.0, 0.0, 0.0))), (0.0, 0.0, -G))
    q, v = [0.3, 0.8], [1.0, -2.0]
    np.testing.assert_array_equal(crba.mass_matrix(tree, parameters, q), [[5.0, 0.0], [0.0, 2.0]])
    np.testing.assert_allclose(rnea.bias(tree, parameters, q, v), [5.0 * G, 0.0], atol=1e-15)
    np.testing.assert_array_equal(coriolis.coriolis_matrix(tree, parameters, q, v),
                                  np.zeros((2, 2)))


def test_sliding_on_a_turning_arm_feels_twice_w_cross_v():
    # a bead at distance x on a bar turning at w: radial force -m x w^2, torque 2 m x x' w
    tree, parameters = robot(
        (planar_link('bar', 0.0, 0.0, 0.0), planar_link('bead', 1.5, 0.0, 0.0)),
        (Joint('turn', 'revolute', 'base', 'bar', axis=(0.0, 0.0, 1.0)),
         Joint('slide', 'prismatic', 'bar', 'bead', axis=(1.0, 0.0, 0.0))), (0.0, 0.0, 0.0))
    x, w, x_dot = 0.4, 3.0, 0.7
    np.testing.assert_allclose(rnea.bias(tree, parameters, [0.2, x], [w, x_dot]),
                               [2 * 1.5 * x * x_dot * w, -1.5 * x * w ** 2], rtol=1e-14)


def test_rotor_behind_a_gear_is_reflected_by_the_ratio_squared():
    plain, parameters = two_link_arm()
    geared, _ = two_link_arm(rotor=2e-4, gear=100.0)
    difference = np.subtract(crba.mass_matrix(geared, parameters, [0.3, 0.4]),
                             crba.mass_matrix(plain, parameters, [0.3, 0.4]))
    np.testing.assert_allclose(difference, [[2.0, 0.0], [0.0, 0.0]], atol=1e-14)


def test_torque_free_body_keeps_its_momentum():
    model = Model('free', (Link('world'), Link('body', (2.0, 0.2, -0.1, 0.3, 0.5, 0.01, 0.02,
                                                        0.4, 0.03, 0.6))),
                  (Joint('free', 'floating', 'world', 'body'),), (0.0, 0.0, 0.0))
    tree = tree_of(model)
    parameters = body_parameters(tree, model)
    q = [0.1, 0.2, 0.3, 0.5, -0.5, 0.5, 0.5]
    v = [0.3, -0.2, 0.1, 1.0, 2.0, -1.5]
    a = forward.forward_dynamics(tree, parameters, q, v, [0.0] * 6)
    p = np.array(momentum_of(parameters[0], v[:3], v[3:]))
    p_dot = np.array(momentum_of(parameters[0], a[:3], a[3:]))
    # Euler: the momentum in body axes turns against the body
    np.testing.assert_allclose(p_dot[0] + np.cross(v[3:], p[0]), np.zeros(3), atol=1e-14)
    np.testing.assert_allclose(p_dot[1] + np.cross(v[3:], p[1]) + np.cross(v[:3], p[0]),
                               np.zeros(3), atol=1e-14)


def test_weight_hangs_on_the_joint():
    tree, parameters = two_link_arm()
    wrenches = rnea.joint_wrenches(tree, parameters, [-pi / 2, 0.0], [0.0] * 2, [0.0] * 2)
    # hanging straight down the body x axis points down: the parent pulls up, along -x
    np.testing.assert_allclose(wrenches[0][0], [-3.5 * G, 0.0, 0.0], atol=1e-13)
    np.testing.assert_allclose(wrenches[1][0], [-1.5 * G, 0.0, 0.0], atol=1e-13)
    np.testing.assert_allclose(wrenches[0][1], np.zeros(3), atol=1e-13)


def test_pose_of_the_elbow():
    tree, _ = two_link_arm()
    _, p = kinematics.pose(tree, [0.4, 0.0], tree.frames['lower'])
    np.testing.assert_allclose(p, [0.7 * cos(0.4), 0.7 * sin(0.4), 0.0], rtol=1e-15)
