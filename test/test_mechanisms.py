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

"""The mechanisms of theory.md section 12 that are no trees, against closed forms."""

from math import atan2, cos, hypot, pi, sin, sqrt

from closed_chains import allowed, chain_at, energy, mechanism, shipped, simulated, wrapped
import multibody_ros as mb
from multibody_ros import mechanisms
from multibody_ros.dynamics.constraints import Driven
from multibody_ros.loops.assembly import AssemblyError
import numpy as np
import pytest

G = 9.81


def circles(first, r1, second, r2, side):
    """Return the angles of two rods that meet: centres in a plane, `side` +1 left of the line."""
    dx, dy = second[0] - first[0], second[1] - first[1]
    d = hypot(dx, dy)
    along = (r1 ** 2 - r2 ** 2 + d ** 2) / (2 * d)
    height = side * sqrt(r1 ** 2 - along ** 2)
    x = first[0] + (along * dx - height * dy) / d
    y = first[1] + (along * dy + height * dx) / d
    return atan2(y - first[1], x - first[0]), atan2(y - second[1], x - second[0])


@pytest.mark.parametrize('side', [1, -1])
@pytest.mark.parametrize('crank', [-2.5, -0.4, 1.0, 3.0])
def test_four_bar_closes_where_circles_meet(crank, side):
    robot, _ = shipped('four_bar')
    tip = 0.4 * cos(crank), 0.4 * sin(crank)
    coupler, rocker = circles(tip, 0.9, (1.0, 0.0), 0.7, side)
    # both assembly modes, each from a guess that is half a radian off
    q = robot.assemble([crank, coupler - crank + 0.4, rocker - 0.4])
    np.testing.assert_allclose(wrapped(q - [crank, coupler - crank, rocker]), 0.0, atol=1e-11)


def test_four_bar_velocity_ratio():
    # w_rocker / w_crank = r_crank sin(coupler - crank) / (r_rocker sin(coupler - rocker))
    robot, q = shipped('four_bar')
    crank, coupler, rocker = q[0], q[0] + q[1], q[2]
    v = robot.velocity_analysis(q, {'crank_joint': 2.0})
    ratio = 0.4 * sin(coupler - crank) / (0.7 * sin(coupler - rocker))
    assert v[2] == pytest.approx(2.0 * ratio, rel=1e-12)
    a = robot.acceleration_analysis(q, v, {'crank_joint': 0.5})
    h = 1e-5
    ends = [robot.velocity_analysis(
        robot.assemble(q + s * h * v + 0.5 * h * h * a), {'crank_joint': 2.0 + s * h * 0.5})
        for s in (1, -1)]
    np.testing.assert_allclose(a, (ends[0] - ends[1]) / (2 * h), atol=1e-8)


def test_four_bar_with_spring_and_damper_obeys_lagrange():
    # one freedom: m(q) q'' + m'(q) q'^2 / 2 + V'(q) = -damping of the rocker, V with the spring
    robot, q = shipped('four_bar')
    k, rest = 30.0, 1.2
    rate = 1.7
    v = robot.velocity_analysis(q, {'crank_joint': rate})

    def forces(q, v):
        return np.array([0.0, 0.0, -k * (q[2] - rest)]) - robot.damping * v

    a = robot.constrained_dynamics(q, v, forces(q, v)).acceleration

    def along(angle):
        at = robot.assemble([angle, q[1], q[2]])
        unit = robot.velocity_analysis(at, {'crank_joint': 1.0})
        mass = 2.0 * robot.kinetic_energy(at, unit)
        return mass, robot.potential_energy(at) + 0.5 * k * (at[2] - rest) ** 2

    h = 1e-4
    (mass, _), (above, V_above), (below, V_below) = (along(q[0] + s * h) for s in (0, 1, -1))
    damped = robot.damping[2] * v[2] ** 2 / rate
    expected = -(0.5 * (above - below) / (2 * h) * rate ** 2
                 + (V_above - V_below) / (2 * h) + damped) / mass
    assert a[0] == pytest.approx(expected, rel=1e-6)
    # the damper takes out what the energy with the spring loses
    t, qs, vs, _ = simulated(robot, q, v, 1.0, tau=lambda t, q, v: forces(q, v), every=1)
    total = [energy(robot, x, y) + 0.5 * k * (x[2] - rest) ** 2 for x, y in zip(qs, vs)]
    power = robot.damping[2] * vs[:, 2] ** 2
    assert total[0] - total[-1] == pytest.approx(np.trapezoid(power, t), rel=1e-5)


@pytest.mark.parametrize('crank', [-2.0, -0.3, 0.7, 2.8])
def test_slider_crank_position(crank):
    robot, _ = shipped('slider_crank')
    rod = -np.arcsin(0.2 / 0.6 * sin(crank))
    x = 0.2 * cos(crank) + sqrt(0.6 ** 2 - (0.2 * sin(crank)) ** 2)
    q = robot.assemble([crank, rod - crank + 0.3, x - 0.1])
    np.testing.assert_allclose(wrapped(q - [crank, rod - crank, x]), 0.0, atol=1e-11)
    v = robot.velocity_analysis(q, {'crank_joint': 1.0})
    assert v[2] == pytest.approx(-0.2 * sin(crank) - 0.2 ** 2 * sin(crank) * cos(crank) / sqrt(
        0.6 ** 2 - (0.2 * sin(crank)) ** 2), rel=1e-11)


@pytest.mark.parametrize(('left', 'right'), [(2.2, 0.9), (1.5, 1.4), (2.9, 0.2)])
def test_five_bar_closes_where_circles_meet(left, right):
    robot, _ = shipped('five_bar')
    elbows = [(x + 0.3 * cos(angle), 0.3 * sin(angle)) for x, angle in (
        (-0.1, left), (0.1, right))]
    # the tool above the line from the left elbow to the right one
    first, second = circles(elbows[0], 0.4, elbows[1], 0.4, 1)
    q = robot.assemble([left, first - left + 0.2, right, second - right - 0.2])
    np.testing.assert_allclose(
        wrapped(q - [left, first - left, right, second - right]), 0.0, atol=1e-11)
    tool = robot.pose(q, 'tool')[:3, 3]
    np.testing.assert_allclose(
        tool[[0, 2]], np.add(elbows[0], [0.4 * cos(first), 0.4 * sin(first)]), atol=1e-12)


def test_parallelogram_arm_decouples_its_motors():
    # Asada and Youcef-Toumi: with m3 l2 r3 = m4 l1 r4 the reduced mass matrix is diagonal
    robot, _ = shipped('parallelogram_arm')
    upper, crank, rod, fore = (
        mb.Robot(robot.model).parameters.reshape(-1, 10)[robot.link_names.index(name)]
        for name in ('upper_arm', 'crank', 'rod', 'forearm'))
    # Iyy about the link origin holds the parallel-axis part already
    shoulder = upper[7] + rod[7] + fore[0] * 0.5 ** 2
    motor = crank[7] + fore[7] + rod[0] * 0.15 ** 2
    for q1, q2 in ((1.0, 2.3), (0.2, 1.9), (-0.7, 0.9)):
        q = robot.assemble([q1, q2 - q1, q2, q1 - q2])
        np.testing.assert_allclose(q, [q1, q2 - q1, q2, q1 - q2], atol=1e-12)
        B = robot.null_space(q, ['shoulder', 'crank_joint'])
        np.testing.assert_allclose(B, [[1, 0], [-1, 1], [0, 1], [1, -1]], atol=1e-11)
        np.testing.assert_allclose(
            B.T @ robot.mass_matrix(q) @ B, np.diag([shoulder, motor]), atol=1e-11)


def test_remote_actuators_see_absolute_angles():
    # planar 2R with the second motor on the base, theory.md section 12 in (q1, q1 + q2)
    robot, _ = shipped('remote_2r')
    q1, absolute = 0.4, 1.3
    q = robot.assemble([q1, absolute - q1, absolute])
    B = robot.null_space(q)
    I1, I2, pulley = (robot.parameters.reshape(-1, 10)[robot.link_names.index(name)][7]
                      for name in ('link1', 'link2', 'pulley'))
    across = 1.5 * 0.5 * 0.2 * cos(absolute - q1)
    np.testing.assert_allclose(
        B.T @ robot.mass_matrix(q) @ B,
        [[I1 + 1.5 * 0.5 ** 2, across], [across, I2 + pulley]], atol=1e-12)


def test_no_assembly_is_told_with_the_gap():
    robot, _ = shipped('slider_crank')
    with pytest.raises(AssemblyError, match=r"piston_joint held: 'closure' stays open by") as e:
        robot.assemble([0.7, -0.9, 0.7], {'piston_joint': 0.95})
    # the longest reach is 0.2 + 0.6
    assert np.linalg.norm(e.value.residual) == pytest.approx(0.15, abs=1e-6)


#: mechanism, velocity that all joints start with, as far as the constraints allow it
UNDAMPED = [('four_bar', 6.0), ('five_bar', 0.0), ('parallelogram_arm', 0.0),
            ('slider_crank', 2.0), ('remote_2r', 1.0), ('chain', 2.0), ('bricard', 0.0),
            ('disk', 6.0), ('bead', 1.5)]
#: the five-bar hangs: falling from above, it reaches 50 rad/s, too fast for steps of 1 ms
CALM = {'five_bar': [-1.9, 0.6, -1.2, -0.6]}


@pytest.mark.parametrize(('name', 'rate'), UNDAMPED)
def test_energy_and_constraints_hold_for_ten_seconds(name, rate):
    robot, q = mechanism(name)
    if name in CALM:
        q = robot.assemble(CALM[name])
    # the disk spins about its axis: wobbling, it would clatter down ever faster
    v = allowed(robot, q, np.full(robot.nv, rate) if name != 'disk' else rate * np.eye(6)[5])
    start = energy(robot, q, v)
    _, _, vs, (drift, residual, slip) = simulated(robot, q, v, 10.0)
    assert np.abs(vs).max() > 1.0
    assert drift <= 1e-6 * abs(start)
    assert residual <= 1e-8
    assert slip <= 1e-6


def test_bead_equation_of_motion_and_driving_torque():
    k, mass, W = 1.5, 0.8, 2.0
    robot, _ = mechanism('driven bead')
    x, rate, t = 0.37, -0.6, 0.8
    q = robot.assemble([W * t, x, k * x * x], (), t)
    v = robot.velocity_analysis(q, {'along': rate}, t)
    a, multipliers = robot.constrained_dynamics(q, v, np.zeros(3), t)
    right = 4 * k ** 2 * x * rate ** 2 - x * W ** 2 + 2 * G * k * x
    expected = -right / (1 + 4 * k ** 2 * x * x)
    assert a[1] == pytest.approx(expected, rel=1e-12)
    # the drive gives d/dt of the angular momentum m x^2 W (the wire turns evenly)
    assert -multipliers[-1] == pytest.approx(mass * 2 * x * rate * W, rel=1e-11)


def test_every_place_is_an_equilibrium_of_the_bead_at_the_critical_rate():
    k = 1.5
    robot = mechanisms.bead_on_wire(k, rate=sqrt(2 * G * k))
    for x in (0.0, 0.2, 0.9):
        q = robot.assemble([0.0, x, k * x * x], ['along'])
        v = robot.velocity_analysis(q, {'along': 0.0})
        a = robot.constrained_dynamics(q, v, np.zeros(3)).acceleration
        np.testing.assert_allclose(a, 0.0, atol=1e-11)
    slower = mechanisms.bead_on_wire(k, rate=0.9 * sqrt(2 * G * k))
    q = slower.assemble([0.0, 0.5, k * 0.25], ['along'])
    assert slower.constrained_dynamics(
        q, slower.velocity_analysis(q, {'along': 0.0}), np.zeros(3)).acceleration[1] < -0.1


def test_free_wire_keeps_its_angular_momentum():
    robot, q = mechanism('bead')
    v = allowed(robot, q, np.array([3.0, 0.4, 0.0]))
    _, qs, vs, _ = simulated(robot, q, v, 2.0)
    spin = [robot.momentum(x, y)[5] for x, y in zip(qs, vs)]
    np.testing.assert_allclose(spin, spin[0], rtol=1e-9)


def steady_circle(radius, mass, tilt, precession):
    """
    Return q, v of a disk in steady precession, from d/dt L = torque about its centre.

    The disk's plane is at `tilt` from the horizontal; the centre moves on a circle of radius rho
    about the vertical axis with rate `precession`. Unknown is the spin, rolling gives rho.
    """
    n = np.array([sin(tilt), 0.0, cos(tilt)])
    # the contact lies outside, at +x: the lowest rim point
    down = np.array([cos(tilt), 0.0, -sin(tilt)])
    I1, I3 = mass * radius ** 2 / 4, mass * radius ** 2 / 2
    z = np.array([0.0, 0.0, 1.0])

    def imbalance(spin):
        w = precession * z + spin * n
        v_centre = -np.cross(w, radius * down)
        rho = v_centre[1] / precession
        force = mass * np.array([-rho * precession ** 2, 0.0, G])
        L = I1 * (w - (w @ n) * n) + I3 * (w @ n) * n
        return (precession * np.cross(z, L) - np.cross(radius * down, force))[1], rho, w, v_centre

    zero, one = imbalance(0.0)[0], imbalance(1.0)[0]
    spin = -zero / (one - zero)
    left, rho, w, v_centre = imbalance(spin)
    assert abs(left) < 1e-9
    q = np.array([rho, 0.0, radius * sin(tilt), 0.0, sin(tilt / 2), 0.0, cos(tilt / 2)])
    R = np.array([[cos(tilt), 0.0, sin(tilt)], [0.0, 1.0, 0.0], [-sin(tilt), 0.0, cos(tilt)]])
    return q, np.concatenate([R.T @ v_centre, R.T @ w]), rho


def test_rolling_disk_keeps_to_the_steady_circle():
    robot, _ = mechanism('disk')
    q, v, rho = steady_circle(0.3, 2.0, 1.1, 1.5)
    np.testing.assert_allclose(robot.constraint_residual(q), 0.0, atol=1e-13)
    np.testing.assert_allclose(robot.constraint_rate(q, v), 0.0, atol=1e-12)
    t, qs, vs, _ = simulated(robot, q, v, 3.0)
    angle = 1.5 * t
    np.testing.assert_allclose(qs[:, 0], rho * np.cos(angle), atol=1e-7)
    np.testing.assert_allclose(qs[:, 1], rho * np.sin(angle), atol=1e-7)
    np.testing.assert_allclose(qs[:, 2], q[2], atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(vs[:, :3], axis=1), abs(rho * 1.5), atol=1e-7)


def test_upright_disk_rolls_straight():
    robot, _ = mechanism('disk')
    q = np.array([0.0, 0.0, 0.3, 0.0, sqrt(0.5), 0.0, sqrt(0.5)])
    v = np.array([0.0, 0.6, 0.0, 0.0, 0.0, -2.0])
    v = allowed(robot, q, v)
    assert abs(v[5]) * 0.3 == pytest.approx(abs(v[1]), abs=1e-12) and abs(v[5]) > 1.0
    a, multipliers = robot.constrained_dynamics(q, v, np.zeros(6))
    # no acceleration in the world; the axes of the velocity turn
    np.testing.assert_allclose(a[:3] + np.cross(v[3:], v[:3]), 0.0, atol=1e-12)
    np.testing.assert_allclose(a[3:], 0.0, atol=1e-12)
    # the ground carries the weight, nothing sideways
    np.testing.assert_allclose(multipliers, [-2.0 * G, 0.0, 0.0], atol=1e-12)


@pytest.mark.parametrize('windows', [1, 2, 5])
def test_four_bar_chain_passes_its_singular_position(windows):
    robot = mechanisms.four_bar_chain(windows)
    q = chain_at(robot, pi / 2)
    v = robot.velocity_analysis(q, {'rod_0': -5.0})
    start = energy(robot, q, v)
    t, qs, vs, (drift, residual, slip) = simulated(robot, q, v, 10.0)
    assert drift <= 1e-9 * start
    assert residual <= 1e-8
    rods = [robot.v_index[f'rod_{k}'].start for k in range(windows + 1)]
    # goes round many times, all rods parallel: it never leaves the branch it came on
    assert abs(qs[-1, rods[0]]) > 40.0
    np.testing.assert_allclose(qs[:, rods], qs[:, rods[:1]].repeat(windows + 1, 1), atol=1e-6)
    # a rigid parallel motion has one freedom: T = sum of rods + couplings in translation
    rate = vs[:, rods[0]]
    mass = (windows + 1) / 3 + windows
    height = (windows + 1) / 2 + windows
    total = 0.5 * mass * rate ** 2 + G * height * np.sin(qs[:, rods[0]])
    np.testing.assert_allclose(total, start, rtol=2e-6)


def test_bricard_moves_though_it_should_not():
    robot, q = mechanism('bricard')
    found = robot.mobility(q)
    assert (found.freedoms, found.gruebler, found.hyperstatic) == (1, 0, 1)
    t, qs, vs, _ = simulated(robot, q, np.zeros(5), 2.0)
    assert np.abs(qs - q).max() > 1.0
    # rods keep their length: the last hinge stays on the ground's end
    tip = [robot.pose(x, 'rod4') @ [0.0, -1.0, 0.0, 1.0] for x in qs]
    np.testing.assert_allclose(tip, [[0.0, 0.0, 1.0, 1.0]] * len(qs), atol=1e-9)


def test_drive_is_followed_round_a_full_turn():
    robot, q = shipped('slider_crank')
    driven = robot.with_constraints(Driven('crank_joint', lambda t: 0.7 + 4.0 * t))
    q = driven.assemble(q, ())
    v = driven.velocity_analysis(q)
    t, qs, vs, worst = simulated(driven, q, v, 2.0)
    np.testing.assert_allclose(qs[:, 0], 0.7 + 4.0 * t, atol=1e-9)
    x = 0.2 * np.cos(qs[:, 0]) + np.sqrt(0.36 - (0.2 * np.sin(qs[:, 0])) ** 2)
    np.testing.assert_allclose(qs[:, 2], x, atol=1e-9)


@pytest.mark.parametrize(('project', 'baumgarte'), [(False, 20.0), (False, 0.0)])
def test_baumgarte_terms_keep_drift_down(project, baumgarte):
    robot, q = shipped('four_bar')
    v = robot.velocity_analysis(q, {'crank_joint': 6.0})
    _, _, _, (_, residual, _) = simulated(robot, q, v, 4.0, project=project, baumgarte=baumgarte)
    # without any stabilisation the residual grows, with Baumgarte's terms alone it stays
    assert (residual < 1e-8) == (baumgarte > 0.0)
