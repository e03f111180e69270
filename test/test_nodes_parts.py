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

"""Controllers of some of the joints, and states that come in parts."""

from __future__ import annotations

from multibody_ros import load_urdf
from multibody_ros.nodes.joint_states import JointStates
from multibody_ros.nodes.messages import JointMap, MessageError, nanoseconds, time_message
import numpy as np
import pytest
from rcl_interfaces.srv import GetParameters
from ros_loop import GRIPPER, JOINTS, START, trajectory, URDF
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

ARM, FINGER = '1st-joint', 'finger.joint'
NODE = 'computed_torque_controller'


@pytest.fixture(scope='module')
def robot():
    return load_urdf(GRIPPER)


def state(seconds, velocity=(), **positions):
    names = {'arm': ARM, 'finger': FINGER, 'wheel': 'wheel'}
    message = JointState(name=[names[key] for key in positions],
                         position=list(positions.values()), velocity=list(velocity))
    message.header.stamp = time_message(round(seconds * 1e9))
    return message


def take(states, message):
    return states.take(message, nanoseconds(message.header.stamp))


def test_states_of_other_joints_are_those_seen_last(robot):
    states = JointStates(robot, JointMap(robot, [ARM]))
    assert take(states, state(1.0, arm=0.3))
    np.testing.assert_array_equal(states.q, [0.3, 0.0])
    assert not take(states, state(1.1, [0.2], finger=0.01))
    np.testing.assert_array_equal([states.q, states.v], [[0.3, 0.01], [0.0, 0.2]])
    # each joint has its own clock: the arm moved 0.1 rad in 0.2 s
    assert take(states, state(1.2, wheel=7.0, arm=0.4))
    np.testing.assert_allclose([states.q, states.v], [[0.4, 0.01], [0.5, 0.2]])
    assert not take(states, state(1.3, [np.nan], finger=0.03))
    np.testing.assert_allclose([states.q, states.v], [[0.4, 0.03], [0.5, 0.1]])
    assert take(states, state(1.4, [1.0, 2.0], finger=0.04, arm=0.5))
    np.testing.assert_array_equal([states.q, states.v], [[0.5, 0.04], [2.0, 1.0]])


def test_joints_to_command_come_together(robot):
    whole, both = (JointStates(robot, JointMap(robot, names)) for names in ((), (FINGER, ARM)))
    for states in (whole, both):
        with pytest.raises(MessageError, match='joints missing: 1st-joint; named are: finger'):
            take(states, state(1.0, finger=0.0))
    arm = JointStates(robot, JointMap(robot, [ARM]))
    for bad, reason in [(state(1.0, wheel=1.0), 'joints missing: 1st-joint; named are: wheel'),
                        (state(1.0, finger=np.nan), "position of joint 'finger.joint' is nan"),
                        (state(1.0, [np.inf], finger=0.0), "velocity of joint 'finger.joint'")]:
        with pytest.raises(MessageError, match=reason):
            take(arm, bad)
    np.testing.assert_array_equal([arm.q, arm.v], np.zeros((2, 2)))


@pytest.mark.parametrize(('names', 'reason'), [
    (['elbow'], "has no joint 'elbow', only: 1st-joint, finger.joint"),
    (['force.sensor'], "has no joint 'force.sensor'"), ([ARM, ARM], 'is chosen twice')])
def test_joints_that_cannot_be_commanded_are_refused(robot, names, reason):
    with pytest.raises(ValueError, match=reason):
        JointMap(robot, names)


def test_arm_and_gripper_have_drivers_of_their_own(loop, tmp_path, robot):
    """The arm's torque knows where the gripper is; the gripper gets none, and is no error."""
    path = tmp_path / 'gripper.urdf'
    path.write_text(GRIPPER)
    loop.start(NODE, {'description_file': path, 'joints': [ARM], 'state_timeout': 3600.0,
                      'array_commands': True})
    commands = loop.listen(JointState, 'joint_commands')
    desired = loop.listen(JointState, f'{NODE}/desired_state')
    inertia = loop.listen(JointState, f'{NODE}/terms/inertia')
    arm, gripper = (loop.talk(JointState, 'joint_states') for _ in range(2))

    def answer(message):
        loop.insist(arm, message, lambda: [c for c in commands if c.header == message.header],
                    'no answer')
        assert commands[-1].name == [ARM] and len(commands[-1].effort) == 1
        return commands[-1].effort[0]

    assert answer(state(1.0, [0.0], arm=0.1)) == pytest.approx(
        robot.gravity_torque(np.array([0.1, 0.0]))[0], rel=1e-12)
    # far from where it was: with a reference of its own it would pull at the arm
    loop.insist(gripper, state(2.0, [0.0], finger=0.05), lambda: answer(
        state(2.0 + 1e-3 * len(commands), [0.0], arm=0.1)) == pytest.approx(
        robot.gravity_torque(np.array([0.1, 0.05]))[0], rel=1e-12), 'the gripper is not seen')
    # a request names the arm alone
    requests = loop.talk(JointTrajectory, f'{NODE}/joint_trajectory')
    loop.request(requests, trajectory(0.0, 1.0, [0.2], [ARM]), NODE)
    loop.wait(lambda: answer(state(5.0 + 1e-3 * len(commands), [0.0], arm=0.1)) and inertia
              and desired and desired[-1].position[0] == pytest.approx(0.2), 'no reference')
    assert desired[-1].name == inertia[-1].name == [ARM]
    report = loop.health(f'/{NODE}')
    assert (report['message'], report['rejected']) == ('answering', '0')


def test_joints_are_refused_with_the_choices(loop):
    loop.start(NODE, {'description_file': URDF, 'joints': ['joint1', 'elbow']})
    report = loop.wait(lambda: loop.last_health(f'/{NODE}').get('last rejection'), 'no report')
    assert "has no joint 'elbow', only: joint1, joint2" in report


@pytest.mark.parametrize('given', [{}, {'joints': []}, {'joints': ['joint2', 'joint1']}])
def test_joints_are_a_fixed_list(loop, given):
    """They can be read, along with all other parameters, and not changed."""
    loop.start(NODE, {'description_file': URDF, **given})
    loop.wait(lambda: loop.last_health(f'/{NODE}').get('active') == 'True', 'does not start')
    answer = loop.call(GetParameters, f'{NODE}/get_parameters', GetParameters.Request(
        names=['joints', 'gains.joint1.p'])).values
    assert answer[0].string_array_value == (given.get('joints') or [''])
    assert answer[1].double_value == 100.0
    assert 'read-only' in loop.set_parameters(NODE, joints=['joint3'])


def test_tool_needs_all_joints_that_move_it(loop):
    node = 'cartesian_controller'
    loop.start(node, {'description_file': URDF, 'joints': JOINTS[:6]})
    report = loop.wait(lambda: loop.last_health(f'/{node}').get('last rejection'), 'no report')
    assert "'tool' is moved by joints that are not among `joints`: joint7" in report


def test_link_is_guided_by_the_joints_that_move_it(loop):
    """The wrist is somebody else's: no pull on it, and none of it in the arm's torque."""
    node = 'cartesian_controller'
    robot = load_urdf(URDF)
    loop.start(node, {'description_file': URDF, 'end_effector_frame': 'link5', 'ramp_time': 0.0,
                      'rise_time': 0.0, 'joints': JOINTS[:5], 'state_timeout': 3600.0})
    commands = loop.listen(JointState, 'joint_commands')
    publisher = loop.talk(JointState, 'joint_states')
    for second, q in ((5, START), (6, START + 0.3 * (np.arange(7) > 4))):
        message = JointState(name=JOINTS, position=q.tolist(), velocity=[0.0] * 7)
        message.header.stamp.sec = second
        loop.insist(publisher, message, lambda message=message: [
            c for c in commands if c.header == message.header], 'no answer')
        assert commands[-1].name == JOINTS[:5]
        np.testing.assert_allclose(commands[-1].effort, robot.gravity_torque(q)[:5], atol=1e-9)
