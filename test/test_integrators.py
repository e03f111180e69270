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

"""Integrators: orders of convergence, closed-form motions, conserved quantities."""

from __future__ import annotations

import math

import multibody_ros as mb
import numpy as np
import pytest
from robots import SHIPPED
from scipy.special import ellipk

ORDERS = {'euler': 1.0, 'semi_implicit_euler': 1.0, 'rk4': 4.0, 'symplectic': 2.0}


@pytest.fixture(scope='module')
def double_pendulum():
    return mb.load_urdf(SHIPPED / 'double_pendulum.urdf')


@pytest.fixture(scope='module')
def free_body():
    return mb.load_urdf(SHIPPED / 'free_body.urdf', gravity=(0, 0, 0))


def end(model, integrator, dt, q, v, time):
    sim = mb.Simulation(model, q, v, dt=dt, integrator=integrator, friction=False,
                        damping=False)
    sim.step(np.zeros(model.nv), round(time / dt))
    return np.concatenate([sim.q, sim.v])


@pytest.mark.parametrize('integrator', ORDERS)
def test_order_of_convergence(double_pendulum, integrator):
    start = [1.0, -0.5], [0.3, 0.8]
    steps = (4e-3, 2e-3, 1e-3) if integrator != 'rk4' else (8e-3, 4e-3, 2e-3)
    exact = end(double_pendulum, 'rk4', 1e-4, *start, 0.8)
    errors = [np.abs(end(double_pendulum, integrator, dt, *start, 0.8) - exact).max()
              for dt in steps]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, ORDERS[integrator], atol=0.15)


def test_order_four_on_a_floating_base():
    model = mb.load_urdf(SHIPPED / 'arm7.urdf', floating_base=True)
    rng = np.random.default_rng(3)
    q, v = model.random(rng), rng.normal(size=model.nv)
    exact = end(model, 'rk4', 1e-4, q, v, 0.2)
    errors = [np.abs(end(model, 'rk4', dt, q, v, 0.2) - exact).max() for dt in (4e-3, 2e-3)]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)


@pytest.mark.parametrize('amplitude', [0.1, 2.0, 3.1])
def test_pendulum_period_is_the_elliptic_integral(amplitude):
    model = mb.load_urdf(SHIPPED / 'pendulum.urdf')
    torque = model.gravity_torque(np.array([0.5 * math.pi]))[0]
    rate = math.sqrt(torque / model.mass_matrix(np.zeros(1))[0, 0])
    quarter = ellipk(math.sin(0.5 * amplitude) ** 2) / rate
    sim = mb.Simulation(model, [amplitude], dt=quarter / 4000)
    sim.step([0.0], 4000)
    # a quarter of the period later the pendulum hangs down at its greatest speed
    assert sim.q[0] == pytest.approx(0.0, abs=1e-10 * amplitude)
    assert sim.v[0] == pytest.approx(-2.0 * rate * math.sin(0.5 * amplitude), rel=1e-10)
    sim.step([0.0], 12000)
    assert sim.q[0] == pytest.approx(amplitude, abs=1e-9)


def test_torque_free_body_keeps_energy_and_momentum_and_flips(free_body):
    spin = np.array([1e-3, 3.0, 1e-3])
    v = np.concatenate([[0.2, -0.1, 0.3], spin])
    sim = mb.Simulation(free_body, v=v, dt=1e-3)
    momentum, energy = free_body.momentum(sim.q, sim.v), sim.energy
    about_y = []
    for _ in range(600):
        sim.step(np.zeros(6), 50)
        about_y.append(sim.v[4])
        np.testing.assert_allclose(free_body.momentum(sim.q, sim.v), momentum, atol=1e-9)
        assert sim.energy == pytest.approx(energy, rel=1e-11)
        assert np.linalg.norm(sim.q[3:]) == pytest.approx(1.0, abs=1e-14)
    # Dzhanibekov's effect: the spin about the intermediate axis turns over again and again
    assert min(about_y) < -2.9 and max(about_y[100:]) > 2.9


def test_symplectic_energy_error_is_bounded(double_pendulum):
    def errors(integrator):
        sim = mb.Simulation(double_pendulum, [0.6, -0.3], dt=1e-2, integrator=integrator)
        start, result = sim.energy, []
        for _ in range(2000):
            sim.step(np.zeros(2), 5)
            result.append(abs(sim.energy - start))
        return np.array(result)

    symplectic, euler = errors('symplectic'), errors('euler')
    assert symplectic[1000:].max() < 1.2 * symplectic[:1000].max()
    assert euler[1000:].max() > 5.0 * euler[:100].max()


def test_symplectic_motion_is_reversible(double_pendulum):
    sim = mb.Simulation(double_pendulum, [1.0, 0.5], [0.5, -2.0], dt=5e-3,
                        integrator='symplectic')
    sim.step(np.zeros(2), 200)
    back = mb.Simulation(double_pendulum, sim.q, -sim.v, dt=5e-3, integrator='symplectic')
    back.step(np.zeros(2), 200)
    np.testing.assert_allclose(back.q, [1.0, 0.5], atol=1e-10)
    np.testing.assert_allclose(back.v, [-0.5, 2.0], atol=1e-10)


def test_symplectic_refuses_floating_joints(free_body):
    with pytest.raises(ValueError, match="'symplectic' works on robots without floating joints"):
        mb.Simulation(free_body, integrator='symplectic')


def test_one_call_of_many_steps_is_many_calls(double_pendulum):
    one = mb.Simulation(double_pendulum, [1.0, 0.5], friction=0.2)
    many = mb.Simulation(double_pendulum, [1.0, 0.5], friction=0.2)
    torques = np.random.default_rng(0).normal(size=(100, 2))
    one.step(torques, 100)
    for tau in torques:
        many.step(tau)
    assert np.array_equal(one.q, many.q) and np.array_equal(one.v, many.v)
    assert one.t == many.t == pytest.approx(0.1)


def test_adaptive_error_is_below_the_tolerance(double_pendulum):
    start = [1.0, -0.5], [0.3, 0.8]
    exact = end(double_pendulum, 'rk4', 5e-5, *start, 2.0)
    for tolerance in (1e-6, 1e-10):
        sim = mb.Simulation(double_pendulum, *start, dt=0.5, integrator='adaptive',
                            tolerance=tolerance)
        sim.step(np.zeros(2), 4)
        assert np.abs(np.concatenate([sim.q, sim.v]) - exact).max() < 100.0 * tolerance


def test_dense_output_passes_through_the_motion(double_pendulum):
    sim = mb.Simulation(double_pendulum, [1.0, 0.2], dt=0.1, integrator='adaptive')
    sim.step(np.zeros(2), 3)
    fine = mb.Simulation(double_pendulum, [1.0, 0.2], dt=1e-4)
    fine.step(np.zeros(2), 1234)
    q, v = sim.at(0.1234)
    np.testing.assert_allclose(q, fine.q, atol=1e-8)
    np.testing.assert_allclose(v, fine.v, atol=1e-7)
    with pytest.raises(ValueError, match='after the last step'):
        sim.at(0.4)
    with pytest.raises(ValueError, match="'rk4' has no dense output"):
        fine.at(0.1)


def test_adaptive_friction_and_stops_agree_with_small_steps(double_pendulum):
    physics = {'friction': [0.5, 0.2], 'stops': ([-1.0, -1.0], [2.0, 1.0]), 'restitution': 0.5}
    adaptive = mb.Simulation(double_pendulum, [1.9, 0.0], [1.0, 1.0], dt=0.1,
                             integrator='adaptive', **physics)
    small = mb.Simulation(double_pendulum, [1.9, 0.0], [1.0, 1.0], dt=1e-4, **physics)
    for _ in range(4):
        adaptive.step(np.zeros(2), 1)
        small.step(np.zeros(2), 1000)
        np.testing.assert_allclose(adaptive.q, small.q, atol=1e-6)
        np.testing.assert_allclose(adaptive.v, small.v, atol=1e-5)
        assert abs(adaptive.balance) < 1e-8
    assert small.work['stops'] > 0.01


def test_adaptive_torque_free_body(free_body):
    sim = mb.Simulation(free_body, v=[0.1, 0.2, 0.3, 1e-3, 3.0, 1e-3], dt=1.0,
                        integrator='adaptive', tolerance=1e-11)
    momentum = free_body.momentum(sim.q, sim.v)
    sim.step(np.zeros(6), 10)
    np.testing.assert_allclose(free_body.momentum(sim.q, sim.v), momentum, atol=1e-8)
    assert np.linalg.norm(sim.q[3:]) == pytest.approx(1.0, abs=1e-15)
