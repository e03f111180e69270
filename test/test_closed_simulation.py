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

"""Simulation and control of mechanisms through the public interface."""

from closed_chains import shipped
import multibody_ros as mb
from multibody_ros.control.closed import MechanismComputedTorque, MechanismGravityCompensation
from multibody_ros.control.law import MECHANISM_LAWS
from multibody_ros.dynamics.constraints import Driven
import numpy as np
import pytest
from robots import SHIPPED


class Sines:
    """Sines about a place."""

    def __init__(self, centre):
        """Take the centre."""
        self.centre = np.asarray(centre)

    def sample(self, t):
        """Return q, v, a."""
        s, c = np.sin(2.0 * t), np.cos(2.0 * t)
        return self.centre + 0.2 * (1.0 - c), 0.4 * s * np.ones(2), 0.8 * c * np.ones(2)


def independent(robot, q):
    return np.array([q[robot.q_index[name].start] for name in robot.independent_joints])


@pytest.mark.parametrize('name', ['four_bar', 'five_bar', 'parallelogram_arm', 'slider_crank',
                                  'remote_2r'])
def test_simulation_keeps_the_loop_closed(name):
    robot, q = shipped(name)
    sim = mb.Simulation(robot, q, damping=False)
    start = sim.energy
    sim.step(np.zeros(robot.nv), 200)
    assert sim.t == pytest.approx(0.2)
    assert sim.residual < 1e-10
    assert np.abs(sim.v).max() > 0.1
    assert sim.energy == pytest.approx(start, rel=1e-8)
    np.testing.assert_allclose(
        sim.a, robot.constrained_dynamics(sim.q, sim.v, np.zeros(robot.nv)).acceleration)
    sim.reset(q)
    assert sim.t == 0.0
    np.testing.assert_allclose(sim.q, q, atol=1e-12)


def test_damper_in_the_file_takes_energy_out():
    robot, q = shipped('four_bar')
    sim = mb.Simulation(robot, q)
    energies = [sim.energy]
    for _ in range(20):
        sim.step(np.zeros(3), 50)
        energies.append(sim.energy)
    assert (np.diff(energies) < 0.0).all()


def test_power_balance_with_motor_damper_and_push():
    robot, q = shipped('four_bar')
    sim = mb.Simulation(robot, q)
    sim.set_wrench('rocker', [4.0, 0.0, 2.0, 0.0, 0.3, 0.0])
    sim.step([1.5, 0.0, 0.0], 400)
    pushed = sim.q
    assert abs(sim.energy - mb.Simulation(robot, q).energy) > 0.1
    # the trapezoidal rule with steps of 1 ms
    assert sim.balance == pytest.approx(0.0, abs=1e-4)
    sim.reset(q)
    sim.set_wrench('rocker', np.zeros(6))
    sim.step([1.5, 0.0, 0.0], 400)
    assert np.abs(sim.q - pushed).max() > 0.01
    with pytest.raises(mb.ModelError, match="no link 'tip'"):
        sim.set_wrench('tip', np.zeros(6))


def test_start_off_the_constraints_is_closed_first():
    robot, q = shipped('five_bar')
    sim = mb.Simulation(robot, q + 0.05, v=[1.0, 0.0, 0.0, 0.0])
    assert sim.residual < 1e-11
    np.testing.assert_allclose(robot.constraint_rate(sim.q, sim.v), 0.0, atol=1e-12)


def test_drift_is_reported():
    robot, q = shipped('four_bar')
    v = robot.velocity_analysis(q, {'crank_joint': 8.0})
    loose = mb.Simulation(robot, q, v, dt=5e-3, project=False, baumgarte=0.0)
    tight = mb.Simulation(robot, q, v, dt=5e-3)
    for sim in (loose, tight):
        sim.step(np.zeros(3), 200)
    assert loose.residual == pytest.approx(loose.drift[0], rel=1.0) and loose.residual > 1e-6
    assert tight.residual < 1e-11 < tight.drift[0]


def test_driven_joint_in_the_simulation():
    robot, q = shipped('slider_crank')
    driven = robot.with_constraints(Driven('crank_joint', lambda t: 0.7 + 2.0 * t))
    sim = mb.Simulation(driven, q)
    sim.step(np.zeros(3), 500)
    assert sim.q[0] == pytest.approx(0.7 + 2.0 * 0.5, abs=1e-11)
    assert set(sim.reactions.constraints) == {'closure', 'driven crank_joint'}


def test_other_integrators_are_refused_by_name():
    robot, q = shipped('four_bar')
    with pytest.raises(ValueError, match="no integrator 'adaptive' for robot 'four_bar', which"):
        mb.Simulation(robot, q, integrator='adaptive')
    with pytest.raises(ValueError, match='tau must have 3 entries'):
        mb.Simulation(robot, q).step([0.0])


@pytest.mark.parametrize('name', ['five_bar', 'parallelogram_arm'])
def test_computed_torque_with_passive_joints_follows(name):
    robot, q = shipped(name)
    path = Sines(independent(robot, q))
    law = MechanismComputedTorque(robot, path)
    # starts 0.05 rad off: the error decays as e'' + 20 e' + 100 e = 0
    start = robot.assemble(q, dict(zip(robot.independent_joints, independent(robot, q) + 0.05)))
    sim = mb.Simulation(robot, start, damping=False, friction=False, forces=law.torque)
    for _ in range(4):
        sim.step(np.zeros(4), 100)
        t = sim.t
        error = independent(robot, sim.q) - path.sample(t)[0]
        # critically damped, from rest: e = e0 (1 + 10 t) exp(-10 t)
        np.testing.assert_allclose(error, 0.05 * (1 + 10 * t) * np.exp(-10 * t), atol=2e-6)


@pytest.mark.parametrize('name', ['five_bar', 'parallelogram_arm'])
def test_gravity_compensation_with_passive_joints_brings_it_to_rest(name):
    robot, q = shipped(name)
    law = MechanismGravityCompensation(robot, damping=5.0)
    v = robot.velocity_analysis(q, dict.fromkeys(robot.independent_joints, 0.5))
    sim = mb.Simulation(robot, q, v)
    kinetic = [robot.kinetic_energy(sim.q, sim.v)]
    for _ in range(150):
        sim.step(law.torque(sim.t, sim.q, sim.v), 2)
        kinetic.append(robot.kinetic_energy(sim.q, sim.v))
    assert (np.diff(kinetic) < 1e-12).all()
    assert kinetic[-1] < 1e-2 * kinetic[0]


@pytest.mark.parametrize('name, told', [
    ('GravityCompensation', 'there is MechanismGravityCompensation'),
    ('ComputedTorque', 'there is MechanismComputedTorque'), ('SafeHold', 'there is MechanismHold'),
    *((name, 'there is none of this kind, only: MechanismComputedTorque, ')
      for name in ('PDGravity', 'PDPlus', 'IndependentJoint', 'AdaptiveControl'))])
def test_laws_for_trees_refuse_loops_and_name_the_law_to_use(name, told):
    robot, _ = shipped('five_bar')
    with pytest.raises(ValueError, match=f"{name} is for trees: robot 'five_bar' has the "
                                         f'constraints closure, .*{told}'):
        getattr(mb.control, name)(robot)


@pytest.mark.parametrize('name', ['CartesianControl', 'CartesianImpedance'])
def test_laws_of_a_link_refuse_loops(name):
    robot, _ = shipped('five_bar')
    with pytest.raises(ValueError, match=f'{name} is for trees.*there is none of this kind'):
        getattr(mb.control, name)(robot, robot.link_names[-1])


def test_names_of_the_laws_for_mechanisms_are_theirs():
    assert all(hasattr(mb.control, name) for name in MECHANISM_LAWS)


def test_hold_brakes_the_independent_joints_and_carries_the_weight():
    """Independent velocities fade as exp(-rate t), passive joints get no torque."""
    robot = mb.load_urdf(SHIPPED / 'five_bar.urdf')
    law = mb.control.MechanismHold(robot, 8.0)
    q = robot.assemble([2.2, -1.4, 0.9, 1.4], ())
    places = [robot.v_index[name].start for name in robot.independent_joints]
    v = robot.velocity_analysis(q, dict(zip(robot.independent_joints, (0.5, -0.3))))
    sim = mb.Simulation(robot, q, v, dt=1e-3, damping=False, friction=False)
    for _ in range(300):
        tau = law.torque(sim.t, sim.q, sim.v)
        passive = np.delete(tau, places)
        assert not passive.any()
        sim.step(tau)
    # torques are held for a step: the rate is met to first order in dt
    np.testing.assert_allclose(sim.v[places], v[places] * np.exp(-8.0 * sim.t), rtol=0.03)
