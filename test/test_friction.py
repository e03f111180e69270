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

"""Dry friction: sticking, breaking away, sliding; hard stops."""

from __future__ import annotations

import math

import multibody_ros as mb
from multibody_ros.simulation import JointSpring, LinkSpring
import numpy as np
import pytest
from robots import joint, link, robot, SHIPPED

SLIDER = '<axis xyz="1 0 0"/>'


def mass(value):
    return (f'<inertial><mass value="{value}"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" '
            'iyz="0" izz="0.1"/></inertial>')


@pytest.fixture(scope='module')
def block():
    """Return 2 kg that slide along x."""
    return mb.load_urdf(robot(link('base', ''), link('block', mass(2.0)),
                              joint('slide', 'base', 'block', 'prismatic', SLIDER)))


@pytest.fixture(scope='module')
def falling():
    """Return 2 kg that slide along z, weighing 19.62 N."""
    return mb.load_urdf(robot(link('base', ''), link('block', mass(2.0)), joint(
        'slide', 'base', 'block', 'prismatic', '<axis xyz="0 0 1"/>')))


@pytest.fixture(scope='module')
def arm():
    return mb.load_urdf(SHIPPED / 'arm7.urdf')


def test_a_joint_on_a_slope_stays_put_for_an_hour():
    model = mb.load_urdf(SHIPPED / 'pendulum.urdf')
    weight = abs(model.gravity_torque(np.array([0.3]))[0])
    sim = mb.Simulation(model, [0.3], friction=1.0001 * weight, dt=1e-3)
    sim.step([0.0], 3_600_000)
    assert sim.q[0] == 0.3 and sim.v[0] == 0.0 and sim.a[0] == 0.0
    assert sim.sticking == ('joint1',) and sim.t == pytest.approx(3600.0)


def test_an_arm_held_by_friction_does_not_creep(arm):
    q = np.array([0.3, 0.8, -0.2, 1.0, 0.1, 0.7, 0.0])
    sim = mb.Simulation(arm, q, friction=1.01 * np.abs(arm.gravity_torque(q)) + 0.1)
    sim.step(np.zeros(7), 100_000)
    assert np.array_equal(sim.q, q) and not sim.v.any() and len(sim.sticking) == 7


@pytest.mark.parametrize('excess, moves', [(-1e-6, False), (1e-6, True)])
def test_breakaway_torque_is_the_stiction(block, excess, moves):
    sim = mb.Simulation(block, friction=3.0, stiction=5.0, stribeck_velocity=0.1)
    sim.step([5.0 + excess], 100)
    assert (sim.q[0] > 0.0) == moves and (sim.sticking == ()) == moves


def test_reaction_is_the_load_while_sticking(block):
    sim = mb.Simulation(block, friction=3.0)
    sim.step([-2.5])
    assert sim.anatomy.friction[0] == pytest.approx(2.5, abs=1e-14)
    assert sim.anatomy.inertia[0] == 0.0


def test_terminal_velocity(block):
    sim = mb.Simulation(block, damping=4.0, friction=3.0)
    sim.step([11.0], 20_000)
    assert sim.v[0] == pytest.approx((11.0 - 3.0) / 4.0, rel=1e-12)


def test_sliding_block_stops_where_coulomb_says(block):
    # distance v^2 m / (2 c), time v m / c; the stop falls inside a step
    sim = mb.Simulation(block, v=[1.0], friction=3.0, dt=7e-3)
    sim.step([0.0], 200)
    assert sim.q[0] == pytest.approx(1.0 * 2.0 / (2.0 * 3.0), abs=1e-12)
    assert sim.v[0] == 0.0 and sim.sticking == ('slide',)
    assert sim.work['friction'] == pytest.approx(1.0, abs=1e-12)


def test_order_four_while_sliding():
    model = mb.load_urdf(SHIPPED / 'pendulum.urdf')
    physics = {'friction': 0.2, 'stiction': 0.6, 'stribeck_velocity': 2.0}

    def end(dt):
        sim = mb.Simulation(model, [-0.3], [5.0], dt=dt, **physics)
        sim.step([0.0], round(0.16 / dt))
        assert sim.v[0] > 0.0
        return np.concatenate([sim.q, sim.v])

    exact = end(2e-4)
    errors = [np.abs(end(dt) - exact).max() for dt in (8e-3, 4e-3)]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


def test_friction_changes_sign_with_the_velocity(block):
    # m x'' + k x = -+ c: each half swing is shorter by 4 c / k than the one before
    k, c = 50.0, 1.0
    sim = mb.Simulation(block, [1.0], friction=c, springs=[JointSpring('slide', k)], dt=1e-3)
    half = math.pi * math.sqrt(2.0 / k)
    steps = round(half / 1e-3) + 1
    turning = [1.0]
    for n in range(1, 5):
        largest = 0.0
        while sim.t < n * half + 0.05:
            sim.step([0.0], 1)
            largest = max(largest, (-1.0) ** n * sim.q[0])
        turning.append(largest)
    assert steps > 100
    np.testing.assert_allclose(turning, [1.0 - 2.0 * n * c / k for n in range(5)], atol=5e-6)


def test_stick_slip_on_a_belt():
    """A block on a belt, tied to the ground by a spring, sticks until the spring pulls with s."""
    model = mb.load_urdf(robot(
        link('base', ''), link('belt', mass(1e9)), link('block', mass(1.0)),
        joint('drive', 'base', 'belt', 'prismatic', SLIDER),
        joint('contact', 'belt', 'block', 'prismatic', SLIDER)), gravity=(0, 0, 0))
    speed, k, s, c = 0.1, 100.0, 3.0, 2.0
    spring = LinkSpring('base', 'block', k, 1.0, point_a=(-1.0, 0.0, 0.0))
    sim = mb.Simulation(model, v=[speed, 0.0], friction={'contact': c}, stiction={'contact': s},
                        stribeck_velocity=1e-6, springs=[spring], dt=1e-4)
    slips, sticks, position = [], [], []
    held = True
    for _ in range(40_000):
        sim.step([0.0, 0.0])
        x = sim.q.sum()
        position.append(x)
        now = 'contact' in sim.sticking
        if held and not now:
            slips.append((sim.t, x))
        elif now and not held:
            sticks.append((sim.t, x))
        held = now
    assert 5 < len(slips) <= len(sticks) + 1 < 20
    # it breaks away where k x = s, at the latest one step late
    for _, x in slips:
        assert s / k <= x < s / k + 2.0 * speed * 1e-4
    # it swings about c / k and sticks again as far on the other side: x = (2 c - s) / k
    for _, x in sticks:
        assert x == pytest.approx((2.0 * c - s) / k, abs=2e-4)
    # the time it sticks is the way over the speed
    for (t0, x0), (t1, x1) in zip(sticks, slips[1:]):
        assert t1 - t0 == pytest.approx((x1 - x0) / speed, abs=2.1e-4)


@pytest.mark.parametrize('seed', range(3))
def test_friction_never_does_work_and_reactions_stay_in_bounds(arm, seed):
    rng = np.random.default_rng(seed)
    c, s = np.full(7, 1.5), np.full(7, 2.5)
    sim = mb.Simulation(arm, arm.random(rng), rng.normal(size=7), friction=c, stiction=s,
                        stribeck_velocity=0.2)
    lost, held = 0.0, 0
    for _ in range(300):
        sim.step(sim.robot.gravity_torque(sim.q) + rng.normal(size=7) * 3.0, 3)
        assert sim.work['friction'] >= lost
        lost = sim.work['friction']
        anatomy, v = sim.anatomy, sim.v
        for i, name in enumerate(arm.joint_names):
            if name in sim.sticking:
                held += 1
                assert v[i] == 0.0 and anatomy.acceleration[i] == 0.0
            elif v[i] != 0.0:
                size = c[i] + (s[i] - c[i]) * math.exp(-(v[i] / 0.2) ** 2)
                assert anatomy.friction[i] == pytest.approx(-math.copysign(size, v[i]), rel=1e-12)
    assert held > 20


def test_who_sticks_is_decided_for_all_joints_together(arm):
    """At rest: a = 0 within the bounds, friction at its bound where a joint breaks away."""
    rng = np.random.default_rng(5)
    broke = 0
    for _ in range(40):
        q = arm.random(rng)
        tau = arm.gravity_torque(q) + rng.normal(size=7) * 2.0
        sim = mb.Simulation(arm, q, friction=1.5, dt=1e-7)
        sim.step(tau)
        a, f = sim.anatomy.acceleration, sim.anatomy.friction
        moving = np.array([name not in sim.sticking for name in arm.joint_names])
        broke += moving.any()
        assert (np.abs(f) <= 1.5 * (1.0 + 1e-9)).all() and not a[~moving].any()
        np.testing.assert_allclose(f[moving], -1.5 * np.sign(a[moving]), rtol=1e-9)
        np.testing.assert_allclose(arm.inverse_dynamics(sim.q, sim.v, a),
                                   tau + f + sim.anatomy.damping, atol=1e-9)
    assert broke > 20


def test_bounces_lose_height_by_the_square_of_the_restitution(falling):
    e, height = 0.7, 1.0
    sim = mb.Simulation(falling, [height], stops=([0.0], [2.0]), restitution=e, dt=1e-3)
    peaks, v = [], 0.0
    while len(peaks) < 4:
        before = sim.q[0]
        sim.step([0.0])
        if v > 0.0 >= sim.v[0]:
            peaks.append(max(before, sim.q[0]))
        v = sim.v[0]
    np.testing.assert_allclose(peaks, [height * e ** (2 * n) for n in range(1, 5)], rtol=2e-5)


def test_first_impact_is_exact(falling):
    sim = mb.Simulation(falling, [1.0], stops=([0.0], [2.0]), restitution=0.5, dt=1e-3)
    fall = math.sqrt(2.0 / 9.81)
    sim.step([0.0], 600)
    since = 0.6 - fall
    speed = 0.5 * 9.81 * fall
    assert sim.q[0] == pytest.approx(speed * since - 0.5 * 9.81 * since ** 2, abs=1e-8)
    assert sim.work['stops'] == pytest.approx(0.75 * 2.0 * 9.81, rel=1e-8)


def test_a_joint_rests_on_its_stop(falling):
    sim = mb.Simulation(falling, [0.5], stops=([0.0], [2.0]), restitution=0.6)
    sim.step([0.0], 5000)
    assert sim.sticking == ('slide',) and sim.v[0] == 0.0
    assert sim.q[0] == pytest.approx(0.0, abs=1e-9)
    assert sim.anatomy.stops[0] == pytest.approx(2.0 * 9.81, rel=1e-12)
    # the stop pushes but does not pull
    sim.step([25.0], 10)
    assert sim.q[0] == pytest.approx(0.5 * (25.0 / 2.0 - 9.81) * 1e-4, rel=1e-4)


def test_stops_hold_an_arm_that_falls(arm):
    sim = mb.Simulation(arm, np.array([0.0, 0.5, 0.0, 0.8, 0.0, 0.5, 0.0]), stops=True,
                        restitution=0.3)
    for _ in range(100):
        sim.step(np.zeros(7), 50)
        assert (sim.q >= arm.limits.lower - 1e-8).all()
        assert (sim.q <= arm.limits.upper + 1e-8).all()
    assert sim.work['stops'] > 0.0


@pytest.mark.parametrize('name', ['arm6', 'arm7'])
def test_stops_hold_whatever_happens(name):
    """Random torques on light wrists, bounces of all kinds, friction here and there."""
    model = mb.load_urdf(SHIPPED / f'{name}.urdf')
    lower, upper = model.limits.lower, model.limits.upper
    hits = 0
    for seed in (4, 6, 9, 17, 26, 36):
        rng = np.random.default_rng(seed + 100)
        nv = model.nv
        sim = mb.Simulation(model, model.random(rng), rng.normal(size=nv) * 2.0, stops=True,
                            friction=rng.uniform(0.0, 2.0, nv) * rng.integers(0, 2, nv),
                            restitution=rng.uniform(0.0, 1.0))
        for _ in range(40):
            sim.step(rng.normal(size=nv) * 10.0, 20)
            assert (sim.q > lower - 2e-9).all() and (sim.q < upper + 2e-9).all()
        hits += sim.work['stops'] > 0.0
    assert hits == 6


def test_same_steady_states_as_mujoco(block):
    import mujoco
    spec = mujoco.MjSpec.from_string(
        '<mujoco><option timestep="1e-4" integrator="RK4" gravity="0 0 0"/><worldbody><body>'
        '<joint type="slide" axis="1 0 0" damping="4" frictionloss="3"/>'
        '<geom type="box" size=".1 .1 .1" mass="2"/></body></worldbody></mujoco>')
    model = spec.compile()
    for force in (-11.0, 2.0, 5.0):
        data = mujoco.MjData(model)
        data.qfrc_applied[:] = force
        mujoco.mj_step(model, data, 60_000)
        sim = mb.Simulation(block, damping=4.0, friction=3.0)
        sim.step([force], 6000)
        # MuJoCo's friction is soft: what stands still with us creeps there
        assert sim.v[0] == pytest.approx(data.qvel[0], abs=2e-3)
