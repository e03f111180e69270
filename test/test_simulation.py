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

"""The simulation against other engines, its power balance, its errors."""

from __future__ import annotations

import math
import re

import multibody_ros as mb
from multibody_ros.simulation import ElasticJoint, JointSpring, LinkSpring
import numpy as np
import pinocchio as pin
import pytest
from robots import example_robots, joint, link, robot, SHIPPED

PANDA = [path for path in example_robots() if path.stem == 'panda'][0]
EVERYTHING = {
    'damping': 0.5, 'friction': 0.4, 'stiction': 0.7, 'stribeck_velocity': 0.5,
    'rotor_inertia': 0.05, 'torque_limits': 8.0, 'no_load_speed': 5.0, 'stops': True,
    'restitution': 0.4,
    'elastic': {'joint2': ElasticJoint(800.0, 0.3, 0.2, 0.1, 0.05), 'joint5': 100.0},
    'springs': [JointSpring('joint4', 5.0, 0.4, 0.1), LinkSpring(
        'base_link', 'link4', 60.0, 0.4, (0.1, 0.2, 0.1), (0.0, 0.05, 0.0), 0.5)],
    'wrenches': {'link3': [1.0, -2.0, 3.0, 0.1, 0.2, -0.3],
                 'link7': [0.5, 1.0, -1.0, 0.0, 0.0, 0.1]},
}


@pytest.fixture(scope='module')
def panda_text():
    """Return the arm of Panda: the fingers, coupled by mimic, are fixed for engines without."""
    text = re.sub(r'<(visual|collision)\b.*?</\1>', '', PANDA.read_text(), flags=re.S)
    text = re.sub(r'<mimic[^>]*/>', '', text)
    return text.replace('type="prismatic"', 'type="fixed"')


@pytest.fixture(scope='module')
def panda(panda_text):
    return mb.load_urdf(panda_text)


@pytest.fixture(scope='module')
def arm():
    return mb.load_urdf(SHIPPED / 'arm7.urdf')


@pytest.fixture(scope='module')
def start(panda):
    rng = np.random.default_rng(1)
    return panda.random(rng), rng.normal(size=7), rng.normal(size=7) * 3.0


def test_same_motion_as_mujoco(panda, panda_text, start):
    import mujoco
    model = mujoco.MjSpec.from_string(panda_text).compile()
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= (mujoco.mjtDisableBit.mjDSBL_LIMIT.value
                               | mujoco.mjtDisableBit.mjDSBL_CONTACT.value)
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    data = mujoco.MjData(model)
    q, v, tau = start
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
    mujoco.mj_step(model, data, 1000)
    sim = mb.Simulation(panda, q, v, damping=False, friction=False)
    sim.step(tau, 1000)
    np.testing.assert_allclose(sim.q, data.qpos, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(sim.v, data.qvel, rtol=0.0, atol=1e-9)


def test_same_motion_as_runge_kutta_on_pinocchio(panda, panda_text, start):
    model = pin.buildModelFromXML(panda_text)
    data = model.createData()
    q, v, tau = start
    h = 1e-3

    def rate(x):
        return np.concatenate([x[7:], pin.aba(model, data, x[:7], x[7:], tau)])

    x = np.concatenate([q, v])
    for _ in range(1000):
        k1 = rate(x)
        k2 = rate(x + 0.5 * h * k1)
        k3 = rate(x + 0.5 * h * k2)
        x = x + h / 6.0 * (k1 + 2.0 * (k2 + k3) + rate(x + h * k3))
    sim = mb.Simulation(panda, q, v, damping=False, friction=False)
    sim.step(tau, 1000)
    np.testing.assert_allclose(np.concatenate([sim.q, sim.v]), x, rtol=0.0, atol=1e-10)


def test_power_balance_with_every_mechanism(arm):
    """d/dt (T + V) = tau.v + wrenches - losses, integrated and at every instant."""
    sim = mb.Simulation(arm, np.array([0.2, 0.4, -0.3, 0.9, 0.2, 0.5, 0.1]),
                        np.array([0.5, -0.4, 0.8, 1.0, -0.7, 0.3, 0.9]), dt=5e-5, **EVERYTHING)
    arm.set_payload('link7', 1.0, (0.0, 0.02, 0.05))
    sim.reset(sim.q, sim.v)
    rng = np.random.default_rng(2)
    held, lost = set(), dict.fromkeys(('damping', 'friction', 'stops'), 0.0)
    for _ in range(60):
        sim.step(rng.normal(size=7) * 10.0, 400)
        assert abs(sim.balance) < 1e-9
        held.update(sim.sticking)
        for name in lost:
            assert sim.work[name] >= lost[name]
            lost[name] = sim.work[name]
        anatomy = sim.anatomy
        np.testing.assert_allclose(
            anatomy.inertia, anatomy.motor + anatomy.damping + anatomy.friction + anatomy.springs
            + anatomy.wrenches + anatomy.stops - anatomy.bias, atol=1e-12)
        bare = anatomy.acceleration[:7]
        M = arm.mass_matrix(sim.q)
        rotor = np.where(np.isin(np.arange(7), sim.structure.elastic), 0.0, 0.05)
        np.testing.assert_allclose(anatomy.inertia[:7], M @ bare + rotor * bare, atol=1e-9)
    arm.clear_payload()
    assert held and all(x > 0.0 for x in lost.values())
    assert all(sim.work[name] != 0.0 for name in ('input', 'wrenches'))


@pytest.mark.parametrize('integrator', ['rk4', 'symplectic'])
def test_energy_is_conserved_without_losses(panda, start, integrator):
    q, v, _ = start
    sim = mb.Simulation(panda, q, 0.3 * v, dt=2e-4, integrator=integrator, damping=False,
                        friction=False)
    energy = sim.energy
    sim.step(np.zeros(7), 2000)
    assert sim.energy == pytest.approx(energy, abs=1e-9 if integrator == 'rk4' else 1e-3)
    assert sim.work == dict.fromkeys(sim.work, 0.0)


def test_urdf_friction_is_used_and_can_be_switched_off(arm):
    q, v = arm.neutral(), np.full(7, 0.5)
    tau = arm.inverse_dynamics(q, v, np.zeros(7))
    rough = mb.Simulation(arm, q, v)
    rough.step(tau)
    np.testing.assert_allclose(rough.anatomy.friction, -arm.friction)
    np.testing.assert_allclose(rough.anatomy.damping, -arm.damping * rough.v)
    smooth = mb.Simulation(arm, q, v, damping=False, friction=False)
    smooth.step(tau)
    np.testing.assert_allclose(smooth.a, arm.forward_dynamics(smooth.q, smooth.v, tau), atol=1e-9)
    assert (rough.v < smooth.v).all()


def test_reflected_rotor_inertia(arm):
    geared = mb.load_urdf(SHIPPED / 'geared_arm.urdf')
    tau = np.array([1.0, -2.0, 0.5])
    with_rotor = mb.Simulation(geared, damping=False, friction=False)
    with_rotor.step(tau)
    with_rotor.reset()
    np.testing.assert_allclose(with_rotor.a, geared.forward_dynamics(
        geared.neutral(), np.zeros(3), np.zeros(3)), rtol=1e-12)
    without = mb.Simulation(geared, damping=False, friction=False, rotor_inertia=False)
    rotor = np.array(geared._programs.tree.rotor)
    assert (rotor > 0.1).all()
    M = geared.mass_matrix(geared.neutral()) - np.diag(rotor)
    np.testing.assert_allclose(
        without.a, np.linalg.solve(M, -geared.gravity_torque(geared.neutral())), rtol=1e-9)


def test_external_wrench_is_jacobian_transposed_times_wrench(arm):
    F, q = np.array([3.0, -1.0, 2.0, 0.2, 0.1, -0.4]), np.full(7, 0.4)
    sim = mb.Simulation(arm, q, friction=False)
    sim.set_wrench('link5', F)
    np.testing.assert_allclose(sim.anatomy.wrenches, arm.jacobian(q, 'link5').T @ F, atol=1e-12)
    np.testing.assert_allclose(
        sim.a, arm.forward_dynamics(q, np.zeros(7), np.zeros(7), {'link5': F}), rtol=1e-9)
    sim.step(np.zeros(7), 10)
    t = sim.t
    sim.set_wrench('link5', np.zeros(6))
    assert sim.t == t and not sim.anatomy.wrenches.any()


def test_payload_acts_at_once():
    arm = mb.load_urdf(SHIPPED / 'arm7.urdf')
    sim = mb.Simulation(arm, np.full(7, 0.3), friction=False)
    before = sim.a
    arm.set_payload('link7', 2.0, (0.0, 0.0, 0.1))
    np.testing.assert_allclose(sim.a, arm.forward_dynamics(sim.q, sim.v, np.zeros(7)), rtol=1e-9)
    assert np.abs(sim.a - before).max() > 0.1


def test_spring_between_links_is_an_oscillator():
    mass = ('<inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
            '</inertial>')
    model = mb.load_urdf(robot(link('base', ''), link('block', mass), joint(
        'slide', 'base', 'block', 'prismatic', '<axis xyz="1 0 0"/>')))
    k, d, length = 50.0, 1.2, 0.3
    sim = mb.Simulation(model, [0.5], springs=[LinkSpring('base', 'block', k, length, damping=d)])
    sim.step([0.0], 700)
    decay = d / 4.0
    rate = math.sqrt(k / 2.0 - decay ** 2)
    x = 0.2 * math.exp(-decay * 0.7) * (
        math.cos(rate * 0.7) + decay / rate * math.sin(rate * 0.7))
    assert sim.q[0] - length == pytest.approx(x, abs=1e-10)


def test_motor_torque_is_limited_and_falls_with_speed(arm):
    wheel = mb.load_urdf(robot(link('base', ''), link('wheel'), joint(
        'axle', 'base', 'wheel', 'continuous', '<axis xyz="0 0 1"/>')))
    inertia = wheel.mass_matrix(np.zeros(1))[0, 0]
    limited = mb.Simulation(wheel, torque_limits=2.0)
    limited.step([50.0])
    assert limited.anatomy.motor[0] == 2.0
    motor = mb.Simulation(wheel, torque_limits=2.0, no_load_speed=10.0)
    motor.step([50.0], 500)
    # J v' = T (1 - v / v0)
    assert motor.v[0] == pytest.approx(
        10.0 * (1.0 - math.exp(-2.0 * 0.5 / (inertia * 10.0))), rel=1e-9)
    # braking, the motor has all its torque
    motor.step([-50.0])
    assert motor.anatomy.motor[0] == -2.0


@pytest.mark.parametrize('value, message', [
    ([0.0] * 6, r"tau must have 7 entries for robot 'arm7' \(joint1, .*not shape \(6,\)"),
    ([0, 0, math.nan, 0, 0, 0, 0], "tau is nan at joint 'joint3' of robot 'arm7'"),
    ([0, 0, 0, 0, 0, 0, -math.inf], "tau is -inf at joint 'joint7'")])
def test_bad_torques(arm, value, message):
    sim = mb.Simulation(arm)
    sim.step(np.ones(7), 5)
    before = sim.q, sim.t
    with pytest.raises(ValueError, match=message):
        sim.step(value)
    assert np.array_equal(sim.q, before[0]) and sim.t == before[1]
    sim.step(np.ones(7))


@pytest.mark.parametrize('arguments, message', [
    ({'dt': 0.0}, 'dt must be a positive time'), ({'dt': -1e-3}, 'dt must be a positive time'),
    ({'dt': math.nan}, 'dt must be a positive time'),
    ({'integrator': 'rk5'}, "no integrator 'rk5', only: .*rk4"),
    ({'q': [0.0] * 6}, 'q must have 7 entries'),
    ({'v': [math.nan] * 7}, "v is nan at joint 'joint1'"),
    ({'q': [9.0] + [0.0] * 6, 'stops': True}, "q of joint 'joint1' .* beyond its stops"),
    ({'friction': -1.0}, "friction of joint 'joint1' .* must be 0 or more"),
    ({'friction': {'elbow': 1.0}}, "no joint 'elbow', only: joint1"),
    ({'damping': [1.0, 2.0]}, 'damping must be one number or 7'),
    ({'restitution': 2.0, 'stops': True}, "restitution of joint 'joint1' .* 0 to 1"),
    ({'elastic': {'joint1': 5.0}, 'rotor_inertia': False}, 'motor without inertia'),
    ({'wrenches': {'hand': [0.0] * 6}}, "no link 'hand', only"),
    ({'wrenches': {'link1': [0.0] * 5}}, "wrench on link 'link1' must be six finite"),
    ({'stops': ([0.0] * 7, [0.0] * 7)}, 'lower stop of joint .* below the upper one'),
    ({'no_load_speed': 1.0}, 'no_load_speed of joint .* torque limit'),
    ({'command_delay': -1}, 'command_delay must be a whole number')])
def test_bad_settings(arm, arguments, message):
    with pytest.raises(ValueError, match=message):
        mb.Simulation(arm, **arguments)


def test_divergence_names_time_and_joint_and_reset_helps():
    model = mb.load_urdf(SHIPPED / 'double_pendulum.urdf')
    sim = mb.Simulation(model, [0.5, 0.5], damping=300.0, dt=0.1)
    with pytest.raises(FloatingPointError,
                       match=r"robot '\w+' diverged at t = [\d.]+ s: \w+ .* at joint 'joint[12]'"):
        sim.step(np.zeros(2), 1000)
    assert sim.t == 0.0 and np.array_equal(sim.q, [0.5, 0.5])
    sim.reset([0.1, 0.1])
    calm = mb.Simulation(model, [0.5, 0.5], damping=300.0, dt=1e-4)
    calm.step(np.zeros(2), 1000)
    assert np.isfinite(calm.q).all()


def test_state_is_a_copy(arm):
    sim = mb.Simulation(arm)
    q = sim.q
    q += 1.0
    assert not sim.q.any()


def test_commands_come_late_by_whole_steps(arm):
    late = mb.Simulation(arm, friction=False, command_delay=3)
    prompt = mb.Simulation(arm, friction=False)
    torques = np.random.default_rng(0).normal(size=(10, 7))
    for tau in torques:
        late.step(tau)
    prompt.step(np.concatenate([np.zeros((3, 7)), torques[:7]]), 10)
    assert np.array_equal(late.q, prompt.q)
    late.reset()
    late.step(torques, 10)
    assert np.array_equal(late.q, prompt.q)
