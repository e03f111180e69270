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

"""Sensors: resolution, differences, noise, delay."""

from __future__ import annotations

import multibody_ros as mb
from multibody_ros.simulation import Sensors
import numpy as np
import pytest
from robots import SHIPPED


@pytest.fixture(scope='module')
def model():
    return mb.load_urdf(SHIPPED / 'double_pendulum.urdf')


def run(model, steps=50, **sensors):
    sim = mb.Simulation(model, [1.0, 0.5], sensors=Sensors(**sensors))
    true, seen = [(sim.q, sim.v)], [sim.measured]
    for _ in range(steps):
        sim.step(np.zeros(2))
        true.append((sim.q, sim.v))
        seen.append(sim.measured)
    return np.array(true), np.array(seen)


def test_sensors_are_perfect_by_default(model):
    true, seen = run(model)
    assert np.array_equal(true, seen)


def test_encoders_count(model):
    true, seen = run(model, resolution=1e-3)
    np.testing.assert_allclose(seen[:, 0] / 1e-3, np.round(true[:, 0] / 1e-3), atol=1e-9)
    assert np.abs(seen[:, 0] - true[:, 0]).max() <= 0.5e-3 + 1e-12
    assert np.array_equal(seen[:, 1], true[:, 1])


def test_velocity_is_a_difference_of_counts(model):
    _, seen = run(model, resolution=1e-4, differences=True)
    np.testing.assert_allclose(seen[1:, 1], np.diff(seen[:, 0], axis=0) / 1e-3, atol=1e-12)


def test_delay_in_whole_steps(model):
    true, seen = run(model, delay=4)
    assert np.array_equal(seen[4:], true[:-4])
    assert np.array_equal(seen[:4], np.repeat(true[:1], 4, axis=0))


def test_noise_has_its_deviation_and_its_seed(model):
    true, seen = run(model, 2000, position_noise=0.01, velocity_noise=0.2, seed=7)
    error = (seen - true)[1:]
    np.testing.assert_allclose(error.std(axis=(0, 2)), [0.01, 0.2], rtol=0.05)
    np.testing.assert_allclose(error.mean(axis=(0, 2)), 0.0, atol=0.015)
    assert np.array_equal(run(model, 20, position_noise=0.01, seed=7)[1],
                          run(model, 20, position_noise=0.01, seed=7)[1])
    assert not np.array_equal(run(model, 20, position_noise=0.01, seed=7)[1],
                              run(model, 20, position_noise=0.01, seed=8)[1])


def test_measuring_does_not_touch_the_motion(model):
    assert np.array_equal(run(model)[0], run(model, resolution=0.1, position_noise=1.0)[0])


@pytest.mark.parametrize('name, value', [('resolution', -1.0), ('delay', -1), ('delay', 1.5),
                                         ('position_noise', float('nan'))])
def test_bad_sensors(name, value):
    with pytest.raises(ValueError, match=f'sensors: {name} must be'):
        Sensors(**{name: value})


@pytest.mark.parametrize('name', ['double_pendulum', 'five_bar'])
def test_state_that_stays_is_measured_again(name):
    """The sensors of a tree and of a mechanism draw new noise, the state keeps its numbers."""
    sim = mb.Simulation(mb.load_urdf(SHIPPED / f'{name}.urdf'), sensors=Sensors(
        position_noise=0.1, seed=3))
    q = sim.q
    first = sim.measured[0]
    sim.measure()
    second = sim.measured[0]
    assert not np.any(first == second) and sim.t == 0.0
    np.testing.assert_array_equal(sim.q, q)
    sim.reset()
    np.testing.assert_array_equal(sim.measured[0], first)


def test_mechanism_is_measured_at_every_step():
    """Encoder counts, and velocities that are their differences, two steps late."""
    options = {'q': [2.2, -1.4234, 0.9, 1.4382], 'dt': 1e-3}
    robot = mb.load_urdf(SHIPPED / 'five_bar.urdf')
    sim = mb.Simulation(robot, **options, sensors=Sensors(
        resolution=1e-3, differences=True, delay=2))
    plain = mb.Simulation(robot, **options)
    tau = [1.0, 0.0, -1.0, 0.0]
    sim.step(tau, 40)
    plain.step(tau, 37)
    before = np.round(plain.q / 1e-3)
    plain.step(tau)
    q, v = sim.measured
    np.testing.assert_allclose(q / 1e-3, np.round(plain.q / 1e-3))
    np.testing.assert_allclose(v, np.round(plain.q / 1e-3) - before, atol=1e-9)
    np.testing.assert_array_equal(plain.measured[0], plain.q)
