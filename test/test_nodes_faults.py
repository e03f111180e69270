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

"""What goes wrong in practice: bad messages, silence, death, time, QoS, floods."""

from __future__ import annotations

from multibody_ros import load_urdf
from multibody_ros.nodes.messages import time_message
from multibody_ros.nodes.qos import NEWEST
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_loop import CONFIG, JOINTS, stamp, START, trajectory, URDF, values
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

NODE = 'computed_torque_controller'
STILL = np.zeros(7)


def command(names, effort):
    return JointState(name=names, effort=list(effort))


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


def test_bad_states_are_refused_and_silence_is_reported(loop):
    """The tester is the robot; a controller that gets nothing it can use says so, and recovers."""
    loop.start(NODE, {'description_file': URDF, 'state_timeout': 1.5}, [CONFIG])
    commands = loop.listen(JointState, 'joint_commands')
    publisher = loop.talk(JointState, 'joint_states')

    def state(ns, q=START, v=STILL, names=JOINTS):
        message = JointState(name=names, position=list(q), velocity=list(v))
        message.header.stamp = time_message(ns)
        return message

    for message, reason in [
            (state(0), 'the stamp is zero'),
            (state(10**9, names=JOINTS[:6], q=START[:6], v=np.zeros(6)), 'joints missing: joint7'),
            (state(10**9, q=np.full(7, np.nan)), "position of joint 'joint1' is nan"),
            (state(10**9, v=np.full(7, np.inf)), "velocity of joint 'joint1' is inf"),
            (state(10**9, v=np.zeros(3)), 'velocity has 3 entries for 7 names')]:
        loop.refused(publisher, message, f'/{NODE}', reason)
    assert not commands
    loop.insist(publisher, state(2 * 10**9), lambda: commands, 'no answer')
    loop.wait(lambda: 'no joint state for' in loop.health(f'/{NODE}')['message'], 'no complaint')
    # it goes on as soon as there is a state again: a new beginning, at the pose it finds
    commands.clear()
    loop.insist(publisher, state(100 * 10**9, START + 0.2), lambda: commands, 'no recovery')
    first = values(commands[-1:], 'effort', JOINTS)[0]
    assert np.abs(first).max() < 60.0
    # time jumps back: the same
    commands.clear()
    loop.insist(publisher, state(50 * 10**9, START + 0.2), lambda: commands, 'no recovery')
    np.testing.assert_array_equal(values(commands[-1:], 'effort', JOINTS)[0], first)
    assert loop.health(f'/{NODE}')['message'] == 'answering'


def test_velocities_not_given_are_estimated_joint_by_joint(loop):
    """The damping of each joint tells which velocity the controller believes in."""
    node, damping = 'gravity_compensation_controller', 2.0
    loop.start(node, {'description_file': URDF, 'state_timeout': 3600.0, 'ramp_time': 0.0,
                      'rise_time': 0.0, **{f'damping.{name}': damping for name in JOINTS}})
    commands = loop.listen(JointState, 'joint_commands')
    publisher = loop.talk(JointState, 'joint_states')

    def answer(ns, q, v):
        state = JointState(name=JOINTS, position=q.tolist(), velocity=list(v))
        state.header.stamp = time_message(ns)
        loop.insist(publisher, state, lambda: [c for c in commands
                                               if c.header.stamp == state.header.stamp],
                    'no answer')
        return values(commands[-1:], 'effort', JOINTS)[0]

    robot = load_urdf(URDF)
    q, v, way = START, np.full(7, 0.1), np.linspace(-0.01, 0.01, 7)
    nan = np.full(7, np.nan)
    some = np.where(np.arange(7) % 2, 0.1, np.nan)
    for k, (given, believed) in enumerate([
            (nan, STILL), (nan, way / 0.1), ([], way / 0.1), (v, v),
            (some, np.where(np.arange(7) % 2, 0.1, way / 0.1))]):
        effort = answer(10**9 + k * 10**8, q, given)
        np.testing.assert_allclose(effort, robot.gravity_torque(q) - damping * believed,
                                   atol=1e-6)
        q = q + way
    assert loop.health(f'/{node}')['rejected'] == '0'


def test_arm_is_held_safely_when_the_controller_is_killed(loop):
    loop.start('simulator', {'command_timeout': 0.5}, [CONFIG])
    child = loop.start(NODE, {'state_timeout': 5.0, 'tracking_tolerance': 5.0}, [CONFIG])
    publisher = loop.talk(JointTrajectory, f'{NODE}/joint_trajectory')
    now = stamp(loop.pass_time(1.0)[-1])
    loop.insist(publisher, trajectory(now, 4, START + 0.8),
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
    loop.start(NODE, {'state_timeout': 5.0}, [CONFIG])
    loop.wait(lambda: loop.health('/simulator')['mode'] == 'commanded', 'not taken over')
    after = values(loop.pass_time(0.5), 'position', JOINTS)
    np.testing.assert_allclose(after, values(states[-1:], 'position', JOINTS) + 0.0 * after,
                               atol=5e-3)


def test_simulator_is_restarted_and_reset_under_a_running_controller(loop):
    first = loop.start('simulator', {'lockstep': True, 'initial_positions.joint1': 0.7}, [CONFIG])
    loop.start(NODE, {'state_timeout': 10.0}, [CONFIG])
    loop.wait(lambda: loop.states and stamp(loop.states[-1]) > 1.3, 'the loop is not closed')
    # time goes back on reset: the controller holds the pose at the start
    assert loop.call(Trigger, 'simulator/reset', Trigger.Request()).success
    loop.states.clear()
    loop.wait(lambda: loop.states and stamp(loop.states[-1]) > 1.3, 'no life after the reset')
    assert abs(loop.states[-1].position[0] - 0.7) < 0.01
    loop.forget(first)
    first.kill()
    first.wait()
    loop.states.clear()
    loop.start('simulator', {'lockstep': True}, [CONFIG])
    loop.wait(lambda: loop.states and stamp(loop.states[-1]) > 1.3, 'no life after the restart')
    np.testing.assert_allclose(values(loop.states[-1:], 'position', JOINTS)[0], START, atol=0.01)
    assert float(loop.health(f'/{NODE}')['commands per second']) > 0.0


def test_two_publishers_are_reported(loop):
    loop.closed(NODE)
    second = loop.node.create_publisher(JointState, 'joint_commands', 10)
    states = loop.node.create_publisher(JointState, 'joint_states', 10)
    for node, topic in (('simulator', 'joint_commands'), (NODE, 'joint_states')):
        loop.wait(lambda node=node, topic=topic: loop.health(f'/{node}')['message']
                  == f'several publishers on {topic}', f'{node} does not tell')
    loop.node.destroy_publisher(second)
    loop.node.destroy_publisher(states)


def test_qos_mismatch_is_reported(loop):
    loop.closed(NODE)
    # an unreliable request cannot reach a node that wants it for sure
    loop.node.create_publisher(JointTrajectory, f'{NODE}/joint_trajectory', NEWEST)
    report = loop.wait(lambda: loop.last_health(f'/{NODE}').get('QoS mismatches'), 'no report')
    assert report == ('a publisher of ~/joint_trajectory cannot connect: its QoS differs in '
                      'reliability')
    # somebody who expects old commands gets none at all
    loop.node.create_subscription(
        JointState, 'joint_commands', print,
        QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    loop.wait(lambda: 'a subscriber of joint_commands cannot connect: its QoS differs in '
              'durability' in loop.last_health(f'/{NODE}')['QoS mismatches'], 'no report')


def test_description_that_is_not_latched_is_reported(loop):
    loop.start(NODE)
    loop.node.create_publisher(String, 'robot_description', 10)
    loop.wait(lambda: 'differs in durability' in loop.last_health(f'/{NODE}').get(
        'QoS mismatches', ''), 'no report')


@pytest.mark.parametrize('topic', ['joint_commands', 'joint_states'])
def test_burst_of_ten_thousand_messages_is_survived(loop, topic):
    """Half of them are garbage; afterwards everything works as before."""
    loop.closed(NODE)
    publisher = loop.talk(JointState, topic)
    for k in range(10_000):
        message = command(JOINTS, [np.nan] * 7) if k % 2 else command(JOINTS, [1000.0] * 7)
        message.header.stamp = time_message(k)
        publisher.publish(message)
    loop.node.destroy_publisher(publisher)
    loop.health('/simulator')
    loop.states[:] = [m for m in loop.states if len(m.position)]
    log = loop.advance(0.5)
    log.assert_near(START, 0.01)
    rejected = {node: int(loop.health(f'/{node}')['rejected']) for node in ('simulator', NODE)}
    assert rejected['simulator' if topic == 'joint_commands' else NODE] > 0


@pytest.mark.parametrize(('node', 'parameters', 'reason'), [
    (NODE, {'gains.joint1.p': -3.0}, 'gains.joint1.p'),
    ('cartesian_controller', {'end_effector_frame': 'hand'}, "no link 'hand'"),
    ('joint_controller', {'law': 'magic'}, 'must be one of: independent_joint'),
    (NODE, {'gravity': [0.0, 9.81]}, 'gravity must have three numbers')])
def test_controller_says_why_it_cannot_be_configured(loop, capfd, node, parameters, reason):
    loop.start(node, {'description_file': URDF, **parameters})
    report = loop.wait(lambda: loop.last_health(f'/{node}').get('last rejection'), 'no report')
    assert reason in report
    assert loop.last_health(f'/{node}')['active'] == 'False'
    assert 'Traceback' not in capfd.readouterr().err


def test_sensor_faults_lead_to_a_safe_hold_and_are_got_over(loop):
    """Encoders that tell nonsense, or nothing: no command; afterwards all is as before."""
    loop.start('simulator', {'command_timeout': 0.5}, [CONFIG])
    loop.start(NODE, {'state_timeout': 5.0, 'tracking_tolerance': 5.0}, [CONFIG])
    for fault in ('nan', 'silent'):
        loop.wait(lambda: loop.health('/simulator')['mode'] == 'commanded', 'not commanded')
        assert loop.set_parameters('simulator', sensors__fault=fault) == ''
        loop.wait(lambda: loop.health('/simulator')['mode'] == 'safe hold', 'no safe hold')
        assert loop.set_parameters('simulator', sensors__fault='none') == ''
    loop.wait(lambda: loop.health('/simulator')['mode'] == 'commanded', 'no recovery')
    assert 'must be one of' in loop.set_parameters('simulator', sensors__fault='magic')
    np.testing.assert_allclose(values(loop.pass_time(0.1)[-1:], 'position', JOINTS)[0], START,
                               atol=5e-3)


def test_noisy_coarse_late_sensors_do_not_upset_the_loop(loop):
    loop.closed(NODE, **{'sensors.resolution': 1e-4, 'sensors.position_noise': 1e-4,
                         'sensors.velocity_noise': 1e-2, 'sensors.delay': 2})
    log = loop.advance(1.0)
    counts = log.q / 1e-4
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
    assert np.std(log.v, axis=0).min() > 5e-3
    log.assert_near(START, 0.01)
