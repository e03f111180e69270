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
from xml.etree import ElementTree

from geometry_msgs.msg import PoseStamped, TwistStamped
from multibody_ros.nodes.messages import pose_matrix, time_message
import numpy as np
import pinocchio as pin
import pytest
from ros_loop import (
    CONFIG, FRICTIONLESS, JOINTS, minimum_jerk, stamp, START, trajectory, URDF, values)
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

FRICTION = np.array([float(e.get('friction')) for e in ElementTree.parse(URDF).iter('dynamics')])


def command(names, effort):
    return JointState(name=names, effort=list(effort))


def test_computed_torque_tracks_the_trajectory(loop, peer):
    loop.closed('computed_torque_controller')
    publisher = loop.talk(JointTrajectory, 'computed_torque_controller/joint_trajectory')
    way = np.array([0.8, -0.4, 0.6, 0.7, -0.9, -0.5, 1.0])
    # the names in the message are not in the robot's order
    order = [3, 0, 6, 1, 5, 2, 4]
    begin = stamp(loop.states[-1]) + 0.5
    loop.request(publisher, trajectory(begin, 2, (START + way)[order], [JOINTS[k] for k in order]),
                 'computed_torque_controller')
    log = loop.advance(3.0)
    reference = START + way * minimum_jerk((log.t - 0.5) / 2.0)[:, None]
    assert np.abs(log.q - reference).max() < 0.01
    # at rest what is left of the error is what dry friction holds: M K_p e <= friction
    e = START + way - log.q[-1]
    M = pin.crba(*peer, log.q[-1])
    assert (np.abs(M @ (100.0 * e)) <= FRICTION + 1e-3).all()


def test_gravity_compensation_keeps_the_arm_where_it_is_let_go(loop, peer):
    loop.closed('gravity_compensation_controller', **FRICTIONLESS)
    log = loop.advance(2.0)
    assert np.abs(log.q - START).max() < 1e-6
    # it is the torque that carries the arm, not a brake
    np.testing.assert_allclose(log.effort[-1], pin.computeGeneralizedGravity(*peer, START),
                               atol=1e-6)


def test_cartesian_motion_reaches_the_pose(loop, peer):
    model, data = peer
    loop.closed('cartesian_controller', {'friction_compensation': False}, **FRICTIONLESS)
    publisher = loop.talk(PoseStamped, 'cartesian_controller/target_pose')
    poses = loop.listen(PoseStamped, 'cartesian_controller/current_pose')
    twists = loop.listen(TwistStamped, 'cartesian_controller/current_twist')
    loop.wait(lambda: poses and twists, 'no current_pose')
    tool = model.getFrameId('tool')
    pin.framesForwardKinematics(model, data, START)
    goal = data.oMf[tool] * pin.SE3(pin.exp3(np.array([0.2, -0.3, 0.1])), np.zeros(3))
    goal.translation += [0.1, 0.15, -0.1]
    message = PoseStamped()
    message.header.frame_id = 'base_link'
    p, o = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = goal.translation.tolist()
    o.x, o.y, o.z, o.w = pin.Quaternion(goal.rotation).coeffs().tolist()
    loop.request(publisher, message, 'cartesian_controller')
    log = loop.advance(4.0)
    pin.framesForwardKinematics(model, data, log.q[-1])
    reached = data.oMf[tool]
    np.testing.assert_allclose(reached.homogeneous, goal.homogeneous, atol=1e-3)
    loop.wait(lambda: poses[-1].header.stamp == loop.states[-1].header.stamp, 'no last pose')
    np.testing.assert_allclose(pose_matrix(poses[-1].pose), reached.homogeneous, atol=1e-9)
    assert poses[-1].header.frame_id == 'base_link'
    moving = next(t for t in reversed(twists) if abs(t.twist.linear.y) > 0.02)
    k = int(np.argmin(np.abs(log.t - (stamp(moving) - 1.0))))
    pin.forwardKinematics(model, data, log.q[k], log.v[k])
    pin.updateFramePlacements(model, data)
    expected = pin.getFrameVelocity(model, data, tool, pin.LOCAL_WORLD_ALIGNED)
    v, w = moving.twist.linear, moving.twist.angular
    np.testing.assert_allclose([v.x, v.y, v.z, w.x, w.y, w.z], expected.vector, atol=1e-9)
    # what cannot be reached is refused: a frame nobody knows, a quaternion that is none
    message.header.frame_id = 'map'
    loop.refused(publisher, message, '/cartesian_controller', "frame_id 'map' is no link")
    message.header.frame_id = 'base_link'
    o.x = o.y = o.z = o.w = 0.0
    loop.refused(publisher, message, '/cartesian_controller', 'is no quaternion')


def test_controller_answers_states_of_any_order(loop, peer):
    """The tester is the robot: shuffled names, a gripper the model does not have."""
    loop.start('gravity_compensation_controller', {
        'description_file': URDF, 'ramp_time': 0.0, 'rise_time': 0.0, 'limit_rate': 0.0,
        'array_commands': True}, [CONFIG])
    commands = loop.listen(JointState, 'joint_commands')
    arrays = loop.listen(Float64MultiArray, 'gravity_compensation_controller/commands')
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
        message.header.stamp = time_message((1000 + k) * 1_000_000)
        tau = values([answer(message)], 'effort', JOINTS)[0]
        np.testing.assert_allclose(tau, pin.computeGeneralizedGravity(*peer, q), atol=1e-9)
    # the same for ros2_control, in the robot's order
    loop.wait(lambda: any(list(a.data) == tau.tolist() for a in arrays), 'no array')
    # without velocities they are taken from the positions: these joints move, and are damped
    message = JointState(name=JOINTS, position=(q + 0.001).tolist())
    message.header.stamp = time_message(1005 * 1_000_000)
    damping = np.array([2.0, 2.0, 1.0, 1.0, 0.2, 0.2, 0.05])
    np.testing.assert_allclose(
        values([answer(message)], 'effort', JOINTS)[0],
        pin.computeGeneralizedGravity(*peer, q + 0.001) - damping, atol=1e-6)


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
    # one step at a time
    assert loop.call(Trigger, 'simulator/step', Trigger.Request()).success
    loop.wait(lambda: stamp(loop.states[-1]) == pytest.approx(last + 1e-3, abs=2e-6), 'no step')
    assert loop.call(Trigger, 'simulator/reset', Trigger.Request()).success
    loop.states.clear()
    assert loop.call(SetBool, 'simulator/pause', SetBool.Request(data=False)).success
    assert not loop.call(Trigger, 'simulator/step', Trigger.Request()).success
    state = loop.wait(lambda: loop.states, 'no state after the pause')[0]
    assert stamp(state) < last
    np.testing.assert_allclose(values([state], 'position', JOINTS)[0], START, atol=1e-9)


def test_real_time_factor_stretches_time(loop):
    """Half the time passes, whatever the machine does: compared within one run."""
    loop.start('simulator', {'real_time_factor': 0.5, 'catch_up': 10.0}, [CONFIG])
    loop.wait(lambda: loop.states, 'no state')
    first = loop.health('/simulator')
    assert float(first['real-time factor']) < 0.75
    assert loop.set_parameters('simulator', real_time_factor=2000.0)
    assert loop.set_parameters('simulator', real_time_factor=0.05) == ''
    loop.health('/simulator')
    assert float(loop.health('/simulator')['real-time factor']) < 0.1


def test_ctrl_c_ends_every_node_cleanly(loop, capfd):
    kinds = ['computed_torque_controller', 'gravity_compensation_controller',
             'cartesian_controller', 'joint_controller', 'robot_state']
    children = [loop.start(kind, files=[CONFIG]) for kind in ('simulator', *kinds)]
    for kind in ('/simulator', *(f'/{kind}' for kind in kinds)):
        loop.wait(lambda kind=kind: loop.last_health(kind).get('message', 'not active') not in (
            'not active', 'no robot_description yet'), f'{kind} is not up')
    for child in children:
        child.send_signal(signal.SIGINT)
    assert [child.wait(20) for child in children] == [0] * len(children)
    assert 'Traceback' not in capfd.readouterr().err


@pytest.mark.parametrize(('parameters', 'reason'), [
    ({}, 'set the parameter robot_description'),
    ({'description_file': 'urdf/none.urdf'}, "ships no 'urdf/none.urdf', only: urdf/arm6.urdf"),
    ({'robot_description': '"<robot>"'}, 'not well-formed XML'),
    ({'description_file': URDF, 'update_rate': -5.0}, 'update_rate'),
    ({'description_file': URDF, 'physics.integrator': 'magic'}, 'one of: '),
    ({'description_file': URDF, 'initial_positions.joint2': 3.0}, 'joint2')])
def test_simulator_says_why_it_cannot_start(loop, capfd, parameters, reason):
    assert loop.start('simulator', parameters).wait(30) == 1
    printed = capfd.readouterr().err
    assert reason in printed
    assert 'Traceback' not in printed


def test_two_robots_in_namespaces_do_not_meet(loop):
    sides = ('left', 'right')
    states = {side: loop.listen(JointState, f'{side}/joint_states') for side in sides}
    for side in sides:
        loop.start('simulator', {'lockstep': True}, [CONFIG], namespace=f'/{side}')
        loop.start('computed_torque_controller', {'state_timeout': 3600.0}, [CONFIG],
                   namespace=f'/{side}')
    publisher = loop.talk(JointTrajectory, 'left/computed_torque_controller/joint_trajectory')
    loop.insist(publisher, trajectory(0.0, 0.5, START + 0.2),
                lambda: states['left'] and abs(states['left'][-1].position[0] - 0.2) < 0.01,
                'the left arm does not move')
    loop.wait(lambda: states['right'] and stamp(states['right'][-1]) > 1.5, 'no state')
    np.testing.assert_allclose(values(states['right'][-1:], 'position', JOINTS)[0], START,
                               atol=1e-6)
