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

"""Sweeps: the same numbers whatever the executor, a cluster included."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import multiprocessing
import warnings

import multibody_ros as mb
from multibody_ros.simulation import monte_carlo, Run, sweep
import numpy as np
import pytest
from robots import SHIPPED


@pytest.fixture(scope='module')
def run():
    model = mb.load_urdf(SHIPPED / 'double_pendulum.urdf')
    return Run(model, q=[1.0, 0.5], tau=[0.1, -0.1], steps=60, every=20)


def draw(rng):
    return {'friction': rng.uniform(0.0, 0.3, 2), 'mass': {'link2': rng.uniform(0.5, 2.0)},
            'command_delay': int(rng.integers(0, 4)), 'payload': {'link2': (0.3, (0, 0, -0.5))}}


def noisy(case, rng):
    return rng.normal(size=3) * case['scale']


@pytest.fixture(scope='module')
def here(run):
    return monte_carlo(run, draw, 6, seed=3)


def test_cases_differ_as_told(run):
    result = sweep(run, [{'friction': 0.0}, {'friction': 0.2}, {'mass': {'link2': 2.0}}])
    assert result['q'].shape == (3, 4, 2)
    assert (result['work'][:, -1, 3] > 0.0).tolist() == [False, True, False]
    heavy = mb.load_urdf((SHIPPED / 'double_pendulum.urdf').read_text())
    parameters = heavy.parameters.reshape(-1, 10).copy()
    parameters[heavy.link_names.index('link2')] *= 2.0
    heavy.parameters = parameters
    sim = mb.Simulation(heavy, [1.0, 0.5])
    sim.step([0.1, -0.1], 60)
    assert np.array_equal(sim.q, result['q'][2, -1])
    # the robot of the run is as it was
    assert run.robot.parameters[0] == heavy.parameters[0]
    assert np.array_equal(sweep(run, [{}])['q'][0], result['q'][0])


@pytest.mark.parametrize('executor', ['threads', 'processes'])
def test_executors_give_the_same_numbers(run, here, executor):
    if executor == 'threads':
        pool = ThreadPoolExecutor(2)
    else:
        pool = ProcessPoolExecutor(1, multiprocessing.get_context('spawn'))
    with pool:
        cases, there = monte_carlo(run, draw, 6, pool, seed=3)
    assert repr(cases) == repr(here[0])
    assert all(np.array_equal(there[name], here[1][name]) for name in there)


def test_a_dask_cluster_gives_the_same_numbers(run, here):
    with warnings.catch_warnings():
        # Dask's own use of asyncio and sockets
        warnings.simplefilter('ignore')
        from distributed import Client, LocalCluster
        with LocalCluster(n_workers=1, threads_per_worker=1, processes=True,
                          dashboard_address=None, host='127.0.0.1') as cluster:
            with Client(cluster) as client:
                executor = client.get_executor()
                _, there = monte_carlo(run, draw, 6, executor, seed=3)
                executor.shutdown()
    assert all(np.array_equal(there[name], here[1][name]) for name in there)


def test_random_numbers_depend_on_seed_and_case_only():
    cases = [{'scale': 1.0}, {'scale': 2.0}, {'scale': 1.0}]
    with ThreadPoolExecutor(2) as pool:
        there = sweep(noisy, cases, pool, seed=5)
    result = sweep(noisy, cases, seed=5)
    assert np.array_equal(there, result) and result.shape == (3, 3)
    assert not np.array_equal(result[0], result[2])
    assert not np.array_equal(result, sweep(noisy, cases, seed=6))


def test_a_failing_case_is_named(run, capsys):
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(RuntimeError, match=r"case 1 of the sweep failed: .*'elbow'"):
            sweep(run, [{}, {'friction': {'elbow': 1.0}}], pool)
        sweep(run, [{}, {}], pool, progress=True)
    assert '2/2' in capsys.readouterr().err
    with pytest.raises(ValueError, match="no link 'hand', only"):
        sweep(run, [{'mass': {'hand': 2.0}}])
