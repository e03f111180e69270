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

"""Logs: what is recorded is what happened, and survives every file format."""

from __future__ import annotations

import multibody_ros as mb
from multibody_ros.simulation import ElasticJoint, Log
import numpy as np
import pytest
from robots import SHIPPED


@pytest.fixture(scope='module')
def arm():
    return mb.load_urdf(SHIPPED / 'arm6.urdf')


@pytest.fixture
def sim(arm):
    sim = mb.Simulation(arm, np.full(6, 0.3), log_every=5, friction=0.4, elastic={
        'shoulder_lift_joint': ElasticJoint(500.0, 0.2)}, wrenches={
            arm.link_names[4]: [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]})
    rng = np.random.default_rng(0)
    for _ in range(10):
        sim.step(rng.normal(size=6), 7)
    return sim


def test_log_holds_the_motion_and_its_causes(arm, sim):
    log = sim.log
    assert len(log) == 15 and log.joint_names == arm.joint_names
    np.testing.assert_allclose(log.t, 0.005 * np.arange(15), atol=1e-15)
    np.testing.assert_array_equal(log.q[-1], sim.q)
    np.testing.assert_array_equal(log.v[-1], sim.v)
    np.testing.assert_array_equal(log.a[-1], sim.a)
    np.testing.assert_allclose(log.energies[-1].sum(), sim.energy, rtol=1e-14)
    causes = (log.motor + log.damping + log.friction + log.springs + log.wrenches + log.stops
              - log.bias)
    np.testing.assert_allclose(log.inertia, causes, atol=1e-12)
    rotor = np.array(arm._programs.tree.rotor)
    rotor[np.arange(6) != 1] = 0.0
    for q, a, inertia in zip(log.q, log.a, log.inertia):
        np.testing.assert_allclose(inertia, arm.mass_matrix(q) @ a - rotor * a, atol=1e-10)


def test_velocity_in_the_log_is_the_derivative_of_position(arm):
    sim = mb.Simulation(arm, np.full(6, 0.3), log_every=1, friction=False, dt=1e-5)
    sim.step(np.zeros(6), 20)
    log = sim.log
    np.testing.assert_allclose((log.q[2:] - log.q[:-2]) / 2e-5, log.v[1:-1], atol=1e-4)
    np.testing.assert_allclose((log.v[2:] - log.v[:-2]) / 2e-5, log.a[1:-1], atol=1e-2)


@pytest.mark.parametrize('ending', ['npz', 'csv', 'mcap'])
def test_files_bring_back_every_number(sim, tmp_path, ending):
    log = sim.log
    log.save(tmp_path / f'run.{ending}')
    back = Log.load(tmp_path / f'run.{ending}')
    assert back.joint_names == log.joint_names and back.q_names == log.q_names
    assert set(back.arrays) == set(log.arrays)
    for name, array in log.arrays.items():
        if ending == 'mcap' and name == 't':
            np.testing.assert_allclose(back.t, log.t, rtol=0.0, atol=1e-9)
        else:
            np.testing.assert_array_equal(back.arrays[name], array)


def test_rosbags_reads_the_joint_states(sim, tmp_path):
    """An independent library, as rosbag2 would: schema, encoding, time, numbers."""
    from mcap.reader import make_reader
    from rosbags.typesys import get_typestore, Stores
    log = sim.log
    log.save(tmp_path / 'run.mcap')
    store = get_typestore(Stores.ROS2_JAZZY)
    count = 0
    with (tmp_path / 'run.mcap').open('rb') as file:
        reader = make_reader(file)
        assert reader.get_header().profile == 'ros2'
        for schema, channel, message in reader.iter_messages(topics=['/joint_states']):
            assert schema.name == 'sensor_msgs/msg/JointState' and schema.encoding == 'ros2msg'
            assert channel.message_encoding == 'cdr'
            state = store.deserialize_cdr(message.data, schema.name)
            assert tuple(state.name) == log.joint_names
            np.testing.assert_array_equal(state.position, log.q[count])
            np.testing.assert_array_equal(state.velocity, log.v[count])
            np.testing.assert_array_equal(state.effort, log.tau[count])
            assert message.log_time == round(log.t[count] * 1e9)
            count += 1
    assert count == len(log)


def test_errors_name_the_choices(arm, sim, tmp_path):
    with pytest.raises(ValueError, match='only: .npz, .csv, .mcap'):
        sim.log.save(tmp_path / 'run.txt')
    with pytest.raises(AttributeError, match="no 'speed', only: t, q, v"):
        _ = sim.log.speed
    with pytest.raises(ValueError, match='give log_every'):
        _ = mb.Simulation(arm).log
    (tmp_path / 'other.csv').write_text('a,b\n1,2\n')
    with pytest.raises(ValueError, match='no columns t, q and v'):
        Log.load(tmp_path / 'other.csv')
    body = mb.load_urdf(SHIPPED / 'arm6.urdf', floating_base=True)
    floating = mb.Simulation(body, log_every=1)
    floating.step(np.zeros(body.nv))
    with pytest.raises(ValueError, match='floating joint'):
        floating.log.save(tmp_path / 'run.mcap')
    floating.log.save(tmp_path / 'run.csv')
    np.testing.assert_array_equal(Log.load(tmp_path / 'run.csv').q, floating.log.q)
