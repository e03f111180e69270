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

"""Elastic joints: theory.md section 5."""

from __future__ import annotations

import math

import multibody_ros as mb
from multibody_ros.simulation import ElasticJoint
import numpy as np
import pytest
from robots import SHIPPED


@pytest.fixture(scope='module')
def wheel():
    """Return a wheel of inertia 0.1 kg m^2 on an axle."""
    return mb.load_urdf(SHIPPED / 'flexible_joint.urdf')


@pytest.mark.parametrize('stiffness, motor', [(50.0, None), (1000.0, 0.5)])
def test_resonance_of_two_inertias(wheel, stiffness, motor):
    J = 0.02 if motor is None else motor
    rate = math.sqrt(stiffness * (1.0 / 0.1 + 1.0 / J))
    period = 2.0 * math.pi / rate
    sim = mb.Simulation(wheel, [0.3], dt=period / 2000,
                        elastic={'axle': ElasticJoint(stiffness, motor)})
    sim.reset([0.3], theta=[0.0])
    mean = 0.1 * 0.3 / (0.1 + J)
    for quarter, sign in ((500, 0.0), (500, -1.0), (1000, 1.0)):
        sim.step([0.0], quarter)
        twist = sim.q[0] - sim.theta[0]
        assert twist == pytest.approx(0.3 * sign, abs=1e-9)
    # the common momentum is zero: the centre of inertia has not moved
    centre = (0.1 * sim.q[0] + J * sim.theta[0]) / (0.1 + J)
    assert centre == pytest.approx(mean, abs=1e-12)
    assert abs(sim.balance) < 1e-9


def test_static_twist_is_torque_over_stiffness():
    model = mb.load_urdf(SHIPPED / 'pendulum.urdf')
    sim = mb.Simulation(model, [0.4], damping=2.0, elastic={'joint1': ElasticJoint(
        200.0, 0.1, damping=2.0, motor_friction=20.0)})
    sim.step([0.0], 20_000)
    assert sim.sticking == ('joint1',) and sim.theta[0] == 0.4 and sim.omega[0] == 0.0
    assert 200.0 * (sim.theta[0] - sim.q[0]) == pytest.approx(
        model.gravity_torque(sim.q)[0], rel=1e-9)


def test_a_very_stiff_joint_moves_like_a_rigid_one(wheel):
    rigid = mb.Simulation(wheel, rotor_inertia=0.05)
    stiff = mb.Simulation(wheel, dt=1e-5, elastic={'axle': ElasticJoint(1e5, 0.05, 20.0)})
    rigid.step([0.3], 200)
    stiff.step([0.3], 20_000)
    assert stiff.q[0] == pytest.approx(rigid.q[0], rel=1e-3)
    assert stiff.v[0] == pytest.approx(rigid.v[0], rel=1e-3)


def test_torque_acts_on_the_motor_first(wheel):
    sim = mb.Simulation(wheel, elastic={'axle': ElasticJoint(10.0, 0.05)})
    sim.step([1.0], 0)
    sim.step([1.0], 1)
    np.testing.assert_allclose(sim.omega, [1.0 / 0.05 * 1e-3], rtol=1e-3)
    assert 0.0 < sim.q[0] < 1e-3 * sim.theta[0]


def test_divergence_of_a_motor_is_named(wheel):
    sim = mb.Simulation(wheel, [0.1], dt=0.1, elastic={'axle': ElasticJoint(1e6, 1e-4)})
    sim.reset([0.1], theta=[0.0])
    with pytest.raises(FloatingPointError, match="diverged at t = .*joint 'axle'"):
        sim.step([0.0], 1000)
