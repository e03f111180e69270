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

"""The simulator node with a mechanism that is no tree."""

import multibody_ros as mb
from multibody_ros.resources import resource
import numpy as np
import pytest
from ros_loop import Loop, stamp, values
from sensor_msgs.msg import JointState

URDF = resource('urdf/five_bar.urdf')
JOINTS = ['left_motor', 'left_elbow', 'right_motor', 'right_elbow']
START = dict(zip(JOINTS, (2.2, -1.4, 0.9, 1.4)))


@pytest.mark.parametrize(('urdf', 'start'), [(URDF, START), (resource('urdf/arm7.urdf'), {})])
def test_sensors_are_noisy_while_the_joints_are_held(tmp_path, urdf, start):
    """Of a mechanism as of a tree: every state is measured anew."""
    with Loop(tmp_path) as loop:
        loop.start('simulator', {
            'description_file': urdf, 'update_rate': 200.0, 'sensors.position_noise': 0.01,
            'sensors.resolution': 0.001,
            **{f'initial_positions.{name}': x for name, x in start.items()}})
        loop.wait(lambda: len(loop.states) > 200, 'no states')
        q = np.array([m.position for m in loop.states])
    np.testing.assert_allclose(np.std(q, axis=0), 0.01, rtol=0.3)
    np.testing.assert_allclose(q / 0.001, np.round(q / 0.001), atol=1e-6)


@pytest.mark.parametrize('node, law', [
    ('computed_torque_controller', 'MechanismComputedTorque'),
    ('gravity_compensation_controller', 'MechanismGravityCompensation')])
def test_controllers_for_trees_refuse_a_mechanism_and_say_why(tmp_path, node, law):
    with Loop(tmp_path) as loop:
        loop.start(node, {'description_file': str(URDF)})
        reason = loop.wait(lambda: loop.last_health(f'/{node}').get('last rejection'), 'no report')
    assert "is for trees: robot 'five_bar'" in reason and law in reason


def test_five_bar_stays_closed_and_moves_under_its_motors(tmp_path):
    robot = mb.load_urdf(URDF)
    with Loop(tmp_path) as loop:
        loop.start('simulator', {
            'description_file': str(URDF), 'update_rate': 200.0, 'command_timeout': 5.0,
            **{f'initial_positions.{name}': x for name, x in START.items()}})
        loop.wait(lambda: loop.states, 'no state')
        held = values(loop.pass_time(0.2), 'position', JOINTS)
        q = robot.assemble([START[name] for name in JOINTS], ())
        np.testing.assert_allclose(held[-1], q, atol=1e-6)
        commands = loop.talk(JointState, 'joint_commands')
        message = JointState(name=JOINTS, effort=[3.0, 0.0, -3.0, 0.0])
        loop.insist(commands, message, lambda: abs(
            values(loop.states[-1:], 'position', JOINTS)[0] - q).max() > 0.05, 'it does not move')
        moved = values(loop.states, 'position', JOINTS)
        assert stamp(loop.states[-1]) > 0.2
        assert 0.0 <= float(loop.health('/simulator')['constraint residual']) < 1e-9
    assert np.abs([robot.constraint_residual(row) for row in moved]).max() < 1e-9
