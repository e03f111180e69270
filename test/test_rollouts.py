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

"""Rollouts: many simulations at once are the same simulations."""

from __future__ import annotations

import math

import multibody_ros as mb
import numpy as np
import pytest
from robots import SHIPPED

PHYSICS = {'friction': 0.5, 'stiction': 0.8, 'stribeck_velocity': 0.3, 'stops': True,
           'restitution': 0.4}


@pytest.fixture(scope='module')
def arm():
    return mb.load_urdf(SHIPPED / 'arm6.urdf')


def states(model, count, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([[*model.random(rng), *rng.normal(size=model.nv)] for _ in range(count)])


@pytest.mark.parametrize('count', [1, 3, 11])
@pytest.mark.parametrize('integrator', ['rk4', 'semi_implicit_euler', 'symplectic'])
def test_each_rollout_is_the_single_simulation_to_the_bit(arm, count, integrator):
    x0 = states(arm, count)
    torques = np.random.default_rng(1).normal(size=(count, 60, 6)) * 5.0
    result = mb.rollouts(arm, x0, torques, integrator=integrator, every=20, **PHYSICS)
    assert result.q.shape == result.v.shape == (count, 3, 6)
    np.testing.assert_allclose(result.t, [0.02, 0.04, 0.06])
    for row in range(count):
        sim = mb.Simulation(arm, x0[row, :6], x0[row, 6:], integrator=integrator, **PHYSICS)
        for sample in range(3):
            sim.step(torques[row, 20 * sample:20 * sample + 20], 20)
            assert np.array_equal(result.q[row, sample], sim.q)
            assert np.array_equal(result.v[row, sample], sim.v)
            assert np.array_equal(result.work[row, sample], list(sim.work.values()))


def test_threads_change_nothing(arm):
    x0, torques = states(arm, 40), np.random.default_rng(1).normal(size=(100, 6))
    one = mb.rollouts(arm, x0, torques, threads=1, **PHYSICS)
    two = mb.rollouts(arm, x0, torques, threads=2, **PHYSICS)
    assert all(np.array_equal(a, b) for a, b in zip(one, two))


def test_shapes_of_controls(arm):
    x0 = states(arm, 5)
    tau = np.random.default_rng(2).normal(size=(5, 6))
    held = mb.rollouts(arm, x0, tau, steps=30, every=0)
    full = mb.rollouts(arm, x0, np.repeat(tau[:, None], 30, axis=1), every=30)
    assert np.array_equal(held.q, full.q) and held.q.shape == (5, 1, 6)


def test_progress_is_shown(arm, capsys):
    mb.rollouts(arm, states(arm, 20), np.zeros((5, 6)), progress=True)
    shown = capsys.readouterr().err
    assert '3/3' in shown and '#' * 30 in shown


def test_divergence_of_one_leaves_the_others():
    model = mb.load_urdf(SHIPPED / 'double_pendulum.urdf')
    x0 = np.zeros((10, 4))
    x0[:, 0] = 0.3
    x0[4, 2] = 1e80
    with pytest.raises(FloatingPointError, match="in rollout 4 diverged at t = .*joint 'joint"):
        mb.rollouts(model, x0, np.zeros((50, 2)))
    result = mb.rollouts(model, x0, np.zeros((50, 2)), keep_diverged=True)
    good = np.arange(10) != 4
    assert np.isinf(result.diverged[good]).all() and result.diverged[4] < 0.05
    assert np.isnan(result.q[4, -1]).all() and np.isfinite(result.q[good]).all()
    alone = mb.rollouts(model, x0[:1], np.zeros((50, 2)))
    assert np.array_equal(result.q[9], alone.q[0])


@pytest.mark.parametrize('change, message', [
    ({'x0': np.zeros((3, 5))}, 'x0 must be rows of 6 positions and 6 velocities'),
    ({'x0': np.full((3, 12), math.nan)}, 'x0 is nan in row 0'),
    ({'controls': np.zeros((3, 5))}, 'controls must have shape'),
    ({'controls': np.full((4, 6), math.inf)}, 'controls are inf in row 0, step 0'),
    ({'dt': -1.0}, 'dt must be a positive time'), ({'every': 100}, 'every must be'),
    ({'threads': 0}, 'threads must be'), ({'integrator': 'magic'}, "no integrator 'magic', only")])
def test_bad_input(arm, change, message):
    arguments = {'x0': np.zeros((3, 12)), 'controls': np.zeros((4, 6)), **change}
    with pytest.raises(ValueError, match=message):
        mb.rollouts(arm, arguments.pop('x0'), arguments.pop('controls'), **arguments)
