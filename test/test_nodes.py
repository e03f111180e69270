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

"""The control loop over DDS, between real processes."""

from __future__ import annotations

import signal

from geometry_msgs.msg import PoseStamped
from multibody_ros import load_urdf
from multibody_ros.nodes.messages import pose_matrix, time_message
from multibody_ros.resources import resource
import numpy as np
import pinocchio as pin
import pytest
from ros_loop import Loop, PATIENT, stamp, values
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

CONFIG = resource('config/arm7.yaml')
URDF = resource('urdf/arm7.urdf')
JOINTS = [f'joint{k}' for k in range(1, 8)]
START = np.array([0.0, 0.5, 0.0, -1.4, 0.0, 0.9, 0.0])


@pytest.fixture
def loop(monkeypatch, tmp_path):
    with Loop(monkeypatch, tmp_path) as nodes:
        yield nodes


@pytest.fixture
def peer():
    model = pin.buildModelFromUrdf(str(URDF))
    return model, model.createData()


def closed(loop, controller):
    """Start simulator and controller and wait until the loop is closed."""
    loop.start('simulator', {'command_timeout': PATIENT['command_timeout']}, [CONFIG])
    child = loop.start(controller, {'state_timeout': PATIENT['state_timeout']}, [CONFIG])
    commands = loop.listen(JointState, 'joint_commands')
    loop.wait(lambda: commands, 'no command')
    return child


def trajectory(start, seconds, goal, names):
    """Ask for rest at `goal`, `seconds` after the stamp `start`."""
    point = JointTrajectoryPoint(positions=goal)
    point.time_from_start.sec = seconds
    message = JointTrajectory(joint_names=names, points=[point])
    message.header.stamp = time_message(round(start * 1e9))
    return message


def command(names, effort):
    return JointState(name=names, effort=list(effort))


def test_computed_torque_tracks_the_trajectory(loop):
    closed(loop, 'computed_torque_controller')
    publisher = loop.talk(JointTrajectory, 'computed_torque_controller/joint_trajectory')
    begin = stamp(loop.pass_time(0.1)[-1]) + 0.5
    way = np.array([0.8, -0.4, 0.6, 0.7, -0.9, -0.5, 1.0])
    # the names in the message are not in the robot's order
    order = [3, 0, 6, 1, 5, 2, 4]
    request = trajectory(begin, 2, (START + way)[order].tolist(), [JOINTS[k] for k in order])
    loop.insist(publisher, request, lambda: stamp(loop.states[-1]) > begin - 0.1, 'no states')
    states = loop.pass_time(3.0)
    q = values(states, 'position', JOINTS)
    s = np.clip((np.array([stamp(m) for m in states]) - begin) / 2.0, 0.0, 1.0)[:, None]
    # rest to rest in a quintic is the minimum-jerk profile
    reference = START + way * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)
    assert np.abs(q - reference).max() < 0.03
    np.testing.assert_allclose(q[-1], START + way, atol=1e-3)
    assert loop.health('/simulator')['mode'] == 'commanded'


def test_gravity_compensation_keeps_the_arm_where_it_is_let_go(loop, peer):
    closed(loop, 'gravity_compensation_controller')
    states = loop.pass_time(2.0)
    assert np.abs(values(states, 'position', JOINTS) - START).max() < 1e-6
    # it is the torque that carries the arm, not a brake
    weight = pin.computeGeneralizedGravity(*peer, START)
    np.testing.assert_allclose(values(states[-1:], 'effort', JOINTS)[0], weight, atol=1e-6)
    assert loop.health('/simulator')['mode'] == 'commanded'


def test_cartesian_motion_reaches_the_pose(loop, peer):
    model, data = peer
    closed(loop, 'cartesian_controller')
    publisher = loop.talk(PoseStamped, 'cartesian_controller/target_pose')
    poses = loop.listen(PoseStamped, 'cartesian_controller/current_pose')
    loop.wait(lambda: poses and loop.states, 'no current_pose')
    tool = model.getFrameId('tool')
    pin.framesForwardKinematics(model, data, START)
    goal = data.oMf[tool] * pin.SE3(pin.exp3(np.array([0.2, -0.3, 0.1])), np.zeros(3))
    goal.translation += [0.1, 0.15, -0.1]
    message = PoseStamped()
    message.header.frame_id = 'base_link'
    p, o = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = goal.translation.tolist()
    o.x, o.y, o.z, o.w = pin.Quaternion(goal.rotation).coeffs().tolist()
    way = loop.states[-1].position[0]
    loop.insist(publisher, message, lambda: abs(loop.states[-1].position[0] - way) > 1e-3,
                'the arm does not move')
    states = loop.pass_time(4.0)
    pin.framesForwardKinematics(model, data, values(states[-1:], 'position', JOINTS)[0])
    reached = data.oMf[tool]
    np.testing.assert_allclose(reached.homogeneous, goal.homogeneous, atol=1e-3)
    np.testing.assert_allclose(pose_matrix(poses[-1].pose), reached.homogeneous, atol=1e-3)
    assert poses[-1].header.frame_id == 'base_link'
    # what cannot be reached is refused: a frame nobody knows, a quaternion that is none
    message.header.frame_id = 'map'
    loop.refused(publisher, message, '/cartesian_controller', "frame_id 'map' is no link")
    message.header.frame_id = 'base_link'
    o.x = o.y = o.z = o.w = 0.0
    loop.refused(publisher, message, '/cartesian_controller', 'is no quaternion')


def test_controller_answers_states_of_any_order(loop, peer):
    """The tester is the robot: shuffled names, a gripper the model does not have."""
    loop.start('gravity_compensation_controller',
               {'description_file': URDF, 'ramp_time': 0.0}, [CONFIG])
    commands = loop.listen(JointState, 'joint_commands')
    publisher = loop.talk(JointState, 'joint_states')

    def answer(state):
        return loop.insist(publisher, state, lambda: next(
            (c for c in commands if c.header.stamp == state.header.stamp), None), 'no answer')

    rng = np.random.default_rng(1)
    for k in range(5):
        q = rng.uniform(-1.5, 1.5, 7)
        names = [*JOINTS, 'finger']
        order = rng.permutation(8)
        everything = np.append(q, np.nan)
        message = JointState(name=[names[i] for i in order], position=everything[order].tolist(),
                             velocity=np.where(order < 7, 0.0, np.nan).tolist())
        # far enough apart for every state to be a new beginning: no torque rate is limited
        message.header.stamp = time_message(1_000_000_000 * (k + 1))
        np.testing.assert_allclose(values([answer(message)], 'effort', JOINTS)[0],
                                   pin.computeGeneralizedGravity(*peer, q), atol=1e-9)


def test_simulator_takes_commands_by_name(loop):
    loop.start('simulator', {'command_timeout': 60.0}, [CONFIG])
    publisher = loop.talk(JointState, 'joint_commands')
    effort = np.array([1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 1000.0])
    order = [6, 2, 0, 5, 1, 4, 3]
    message = command([JOINTS[k] for k in order] + ['finger'], np.append(effort[order], np.nan))
    states = loop.insist(publisher, message,
                         lambda: [m for m in loop.states if any(m.effort)], 'no effort')
    # the last joint's drive gives no more than its limit
    np.testing.assert_array_equal(values(states[:1], 'effort', JOINTS)[0],
                                  np.append(effort[:6], 40.0))


def test_bad_commands_are_refused_and_counted(loop):
    loop.start('simulator', files=[CONFIG])
    publisher = loop.talk(JointState, 'joint_commands')
    arrays = loop.talk(Float64MultiArray, 'simulator/commands')
    zeros = np.zeros(7)
    bad = [
        (command(JOINTS, np.where(np.arange(7) == 3, np.nan, zeros)), "joint 'joint4' is nan"),
        (command(JOINTS, np.where(np.arange(7) == 0, -np.inf, zeros)), "joint 'joint1' is -inf"),
        (command(JOINTS, zeros[:6]), 'effort has 6 entries for 7 names'),
        (command(JOINTS[:6], zeros[:6]), 'joints missing: joint7'),
        (command([*JOINTS, 'joint1'], np.zeros(8)), "'joint1' is named twice"),
        (command([], []), 'joints missing: joint1'),
        (Float64MultiArray(data=[1.0] * 8), '8 numbers for 7 joints'),
        (Float64MultiArray(data=[np.nan] * 7), "joint 'joint1' is nan")]
    for message, reason in bad:
        loop.refused(arrays if isinstance(message, Float64MultiArray) else publisher, message,
                     '/simulator', reason)
    assert loop.last_health('/simulator')['mode'] == 'held'
    np.testing.assert_array_equal(values(loop.states[-1:], 'position', JOINTS)[0], START)


def test_arm_is_held_safely_when_the_controller_is_killed(loop):
    loop.start('simulator', {'command_timeout': 0.5}, [CONFIG])
    child = loop.start('computed_torque_controller', {'state_timeout': 5.0}, [CONFIG])
    publisher = loop.talk(JointTrajectory, 'computed_torque_controller/joint_trajectory')
    now = stamp(loop.pass_time(1.0)[-1])
    loop.insist(publisher, trajectory(now, 4, (START + 0.8).tolist(), JOINTS),
                lambda: np.abs(loop.states[-1].velocity).max() > 0.1, 'the arm does not move')
    child.kill()
    child.wait()
    loop.forget(child)
    loop.wait(lambda: loop.health('/simulator')['mode'] == 'safe hold', 'no safe hold')
    states = loop.pass_time(1.5)
    # neither falling nor drifting: the brake's time constant is 0.1 s
    assert np.abs(values(states[-1:], 'velocity', JOINTS)).max() < 1e-3
    assert np.ptp(values(states[-200:], 'position', JOINTS), axis=0).max() < 1e-3
    # a new controller takes over from where the arm is, without a jump
    loop.start('computed_torque_controller', {'state_timeout': 5.0}, [CONFIG])
    loop.wait(lambda: loop.health('/simulator')['mode'] == 'commanded', 'not taken over')
    after = values(loop.pass_time(0.5), 'position', JOINTS)
    np.testing.assert_allclose(after, values(states[-1:], 'position', JOINTS) + 0.0 * after,
                               atol=2e-3)


def test_pause_and_reset(loop):
    loop.start('simulator', {'start_held': False, 'command_timeout': 60.0}, [CONFIG])
    publisher = loop.talk(JointState, 'joint_commands')
    loop.insist(publisher, command(JOINTS, np.zeros(7)),
                lambda: loop.states and np.abs(loop.states[-1].velocity).max() > 0.1,
                'the arm does not fall')
    assert loop.call(SetBool, 'simulator/pause', SetBool.Request(data=True)).success
    loop.health('/simulator')
    last = stamp(loop.states[-1])
    loop.health('/simulator')
    assert stamp(loop.states[-1]) == last
    assert loop.call(Trigger, 'simulator/reset', Trigger.Request()).success
    loop.states.clear()
    assert loop.call(SetBool, 'simulator/pause', SetBool.Request(data=False)).success
    state = loop.wait(lambda: loop.states, 'no state after the pause')[0]
    assert stamp(state) < last
    np.testing.assert_allclose(values([state], 'position', JOINTS)[0], START, atol=1e-9)


def test_ctrl_c_ends_every_node_cleanly(loop, capfd):
    children = [loop.start('simulator', files=[CONFIG])]
    children += [loop.start(f'{kind}_controller', files=[CONFIG])
                 for kind in ('computed_torque', 'gravity_compensation', 'cartesian')]
    loop.wait(lambda: len({s.name for m in loop.reports for s in m.status
                           if s.message in ('commanded', 'answering',
                                            'several publishers on joint_commands')}) == 4,
              'not all are up')
    for child in children:
        child.send_signal(signal.SIGINT)
    assert [child.wait(20) for child in children] == [0, 0, 0, 0]
    assert 'Traceback' not in capfd.readouterr().err


@pytest.mark.parametrize(('parameters', 'reason'), [
    ({}, 'set the parameter robot_description'),
    ({'description_file': 'urdf/none.urdf'}, "ships no 'urdf/none.urdf', only: urdf/arm6.urdf"),
    ({'robot_description': '"<robot>"'}, 'not well-formed XML'),
    ({'description_file': URDF, 'update_rate': -5.0}, 'update_rate')])
def test_simulator_says_why_it_cannot_start(loop, capfd, parameters, reason):
    assert loop.start('simulator', parameters).wait(30) == 1
    printed = capfd.readouterr().err
    assert reason in printed
    assert 'Traceback' not in printed


def test_robot_in_a_namespace_keeps_its_parameters(loop):
    loop.start('simulator', files=[CONFIG], namespace='/left')
    states = loop.listen(JointState, 'left/joint_states')
    loop.wait(lambda: states, 'no state')
    np.testing.assert_array_equal(values(states[:1], 'position', JOINTS)[0], START)
    assert list(load_urdf(URDF).joint_names) == states[0].name
