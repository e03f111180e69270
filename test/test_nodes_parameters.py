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

"""Parameters that change while a controller runs, its life cycle, and where its robot is from."""

from __future__ import annotations

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from multibody_ros import load_urdf
from multibody_ros.nodes.qos import LATCHED
import numpy as np
import pinocchio as pin
import pytest
from rcl_interfaces.srv import GetParameters
from ros_loop import CONFIG, FRICTIONLESS, JOINTS, START, trajectory, URDF, values
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

NODE = 'computed_torque_controller'


def test_gains_change_while_running(loop):
    """Four times as stiff: a quarter as far off under the same push, M K_p e = J^T F."""
    loop.closed(NODE, **FRICTIONLESS)
    loop.push('tool', force=(0.5, 0.0, 0.0), at=0.6, seconds=100.0)
    soft = loop.advance(2.0).q[-1] - START
    assert loop.set_parameters(NODE, **{f'gains__{name}__p': 400.0 for name in JOINTS},
                               **{f'gains__{name}__d': 40.0 for name in JOINTS}) == ''
    stiff = loop.advance(1.0).q[-1] - START
    np.testing.assert_allclose(stiff, 0.25 * soft, atol=0.02 * np.abs(soft).max())
    assert np.abs(soft).max() > 0.001


def test_parameters_are_refused_as_a_set_and_with_a_reason(loop):
    loop.closed(NODE)
    good = {'gains__joint1__p': 50.0}
    for bad, reason in [({'gains__joint2__p': -1.0}, 'gains.joint2.p'),
                        ({'gains__joint2__p': float('nan')}, 'nan'),
                        ({'payload__link': 'hand'}, "has no link 'hand'"),
                        ({'payload__inertia': [1.0, 0.0, 0.0, 0.1, 0.0, 0.1]}, 'no body has'),
                        ({'payload__com': [0.0, 0.1]}, 'payload.com takes 3 numbers'),
                        ({'max_effort__joint1': 1000.0}, 'the URDF allows 180'),
                        ({'gravity': [0.0, 0.0, 1.0]}, 'gravity'),
                        ({'gains__joint2__p': 'stiff'}, 'type')]:
        answer = loop.set_parameters(NODE, **good, **bad)
        assert reason.lower() in answer.lower(), (bad, answer)
    # nothing of the sets was taken over: joint1 still comes to rest as it did
    values_now = loop.call(GetParameters, f'{NODE}/get_parameters', GetParameters.Request(
        names=['gains.joint1.p', 'payload.mass'])).values
    assert [v.double_value for v in values_now] == [100.0, 0.0]


def test_refused_set_leaves_the_torque_as_it_was(loop):
    """A payload that comes with a limit beyond the URDF's is not carried either."""
    node = 'gravity_compensation_controller'
    loop.closed(node, {'payload.ramp_time': 0.0})
    before = loop.advance(0.05)
    for bad in ({'max_effort__joint1': 1e6}, {'damping__joint1': -1.0}):
        assert loop.set_parameters(node, payload__mass=3.0, max_effort__joint2=1.0, **bad) != ''
        after = loop.advance(0.05)
        # friction holds the arm, so the weight to carry stays the same
        np.testing.assert_allclose(after.effort[-1], before.effort[-1], atol=1e-9)
    assert loop.set_parameters(node, payload__mass=3.0) == ''
    assert np.abs(loop.advance(0.05).effort[-1] - before.effort[-1]).max() > 1.0


def test_refused_set_does_not_slow_the_simulator_down(loop):
    """Half taken over, a second of the robot's time would last a quarter of an hour."""
    loop.start('simulator', files=[CONFIG])
    loop.wait(lambda: loop.states, 'no state')
    answer = loop.set_parameters('simulator', real_time_factor=0.001, payload__link='hand')
    assert "has no link 'hand'" in answer
    loop.pass_time(1.0)


def test_effort_limit_changes_while_running(loop):
    loop.closed('gravity_compensation_controller', **FRICTIONLESS)
    assert loop.set_parameters('gravity_compensation_controller', max_effort__joint2=20.0) == ''
    log = loop.advance(0.3)
    assert np.abs(log.effort[5:, 1]).max() == 20.0
    assert np.abs(log.q[-1, 1] - START[1]) > 0.01


def test_payload_ramps_in(loop, peer):
    """The torque goes from the bare arm's weight to the loaded arm's in half a second."""
    model, _ = peer
    loop.closed('gravity_compensation_controller', {'payload.ramp_time': 0.5}, start_held=True)
    loop.advance(0.1)
    assert loop.set_parameters('gravity_compensation_controller', payload__mass=0.05,
                               payload__link='link7') == ''
    log = loop.advance(0.6)
    point = pin.Inertia(0.05, np.zeros(3), np.zeros((3, 3)))
    model.appendBodyToJoint(7, point, pin.SE3.Identity())
    loaded = pin.computeGeneralizedGravity(model, model.createData(), START)
    bare = pin.computeGeneralizedGravity(*peer_of(), START)
    # friction holds the arm: the same pose throughout
    np.testing.assert_array_equal(log.q[-1], START)
    np.testing.assert_allclose(log.effort[1], bare, atol=1e-9)
    np.testing.assert_allclose(log.effort[251], 0.5 * (bare + loaded), atol=1e-2)
    np.testing.assert_allclose(log.effort[-1], loaded, atol=1e-9)


def peer_of():
    model = pin.buildModelFromUrdf(str(URDF))
    return model, model.createData()


def test_life_cycle_over_services(loop):
    loop.simulate(URDF, [CONFIG], resend_period=0.05)
    commands = loop.listen(JointState, 'joint_commands')
    loop.start(NODE, {'autostart': False}, [CONFIG])

    def change(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        return loop.call(ChangeState, f'{NODE}/change_state', request).success

    def state():
        return loop.call(GetState, f'{NODE}/get_state', GetState.Request()).current_state.label

    assert state() == 'unconfigured'
    # the description comes on the latched topic
    loop.wait(lambda: change(Transition.TRANSITION_CONFIGURE), 'cannot be configured')
    assert state() == 'inactive' and not commands
    assert change(Transition.TRANSITION_ACTIVATE)
    loop.wait(lambda: commands, 'no command')
    assert change(Transition.TRANSITION_DEACTIVATE)
    loop.health('/simulator')
    commands.clear()
    resent = int(loop.health('/simulator')['states resent'])
    loop.wait(lambda: int(loop.health('/simulator')['states resent']) > resent + 2, 'no state')
    assert not commands and state() == 'inactive'
    assert change(Transition.TRANSITION_CLEANUP)
    assert change(Transition.TRANSITION_CONFIGURE)
    assert change(Transition.TRANSITION_ACTIVATE)
    loop.wait(lambda: commands, 'no command after the second start')
    # a new description is refused while active
    description = loop.node.create_publisher(String, 'robot_description', LATCHED)
    other = URDF.with_name('arm6.urdf').read_text()
    loop.refused(description, String(data=other), f'/{NODE}', 'another robot is loaded')
    assert state() == 'active'
    assert change(Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert state() == 'finalized'


@pytest.mark.parametrize('node', [NODE, 'cartesian_controller'])
def test_after_the_clean_up_another_robot_may_come(loop, node):
    """Limits, gains and links are those of the new robot; what was set at the start holds."""
    description = loop.node.create_publisher(String, 'robot_description', LATCHED)
    description.publish(String(data=URDF.read_text()))
    loop.start(node, {'state_timeout': 3600.0, 'max_torque_rate.joint1': 1e5})
    loop.wait(lambda: loop.last_health(f'/{node}').get('active') == 'True', 'does not start')
    assert loop.set_parameters(node, max_effort__joint1=1.0) == ''
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
        request = ChangeState.Request(transition=Transition(id=transition))
        assert loop.call(ChangeState, f'{node}/change_state', request).success
    small = URDF.with_name('planar_2r.urdf')
    description.publish(String(data=small.read_text()))
    loop.wait(lambda: loop.health(f'/{node}')['active'] == 'True', 'does not take another robot')
    limits = loop.call(GetParameters, f'{node}/get_parameters', GetParameters.Request(
        names=['max_effort.joint1', 'max_torque_rate.joint1'])).values
    assert [v.double_value for v in limits] == [load_urdf(small).limits.effort[0], 1e5]
    commands = loop.listen(JointState, 'joint_commands')
    state = JointState(name=['joint1', 'joint2'], position=[0.3, 0.4], velocity=[0.0, 0.0])
    state.header.stamp.sec = 5
    loop.insist(loop.talk(JointState, 'joint_states'), state, lambda: commands, 'no answer')
    assert commands[0].name == ['joint1', 'joint2']


def test_malformed_description_is_explained_and_a_good_one_heals(loop, capfd):
    description = loop.node.create_publisher(String, 'robot_description', LATCHED)
    description.publish(String(data='<robot name="broken"><link/></robot>'))
    loop.start(NODE, {'state_timeout': 3600.0})
    report = loop.wait(lambda: loop.last_health(f'/{NODE}').get('last rejection'), 'no report')
    assert report.startswith('robot_description rejected')
    assert loop.last_health(f'/{NODE}')['active'] == 'False'
    description.publish(String(data=URDF.read_text()))
    loop.wait(lambda: loop.last_health(f'/{NODE}')['active'] == 'True', 'does not start')
    assert 'Traceback' not in capfd.readouterr().err


def test_description_from_a_parameter_and_gravity_of_a_tilted_base(loop, peer):
    """On a wall gravity points along the base's x: the torque is that of the turned arm."""
    model, data = peer
    text = URDF.read_text().replace('\n', ' ')
    loop.start('gravity_compensation_controller', {
        'robot_description': f"'{text}'", 'gravity': [9.81, 0.0, 0.0], 'ramp_time': 0.0})
    commands = loop.listen(JointState, 'joint_commands')
    publisher = loop.talk(JointState, 'joint_states')
    state = JointState(name=JOINTS, position=START.tolist(), velocity=[0.0] * 7)
    state.header.stamp.sec = 5
    command = loop.insist(publisher, state, lambda: commands, 'no answer')[-1]
    model.gravity.linear = np.array([9.81, 0.0, 0.0])
    np.testing.assert_allclose(values([command], 'effort', JOINTS)[0],
                               pin.computeGeneralizedGravity(model, data, START), atol=1e-9)


def test_robot_that_carries_itself_gets_no_gravity_torque(loop):
    """The robot's firmware adds gravity: what is left of the command for an arm at rest is 0."""
    loop.start('gravity_compensation_controller', {
        'description_file': URDF, 'robot_compensates_gravity': True})
    commands = loop.listen(JointState, 'joint_commands')
    publisher = loop.talk(JointState, 'joint_states')
    state = JointState(name=JOINTS, position=START.tolist(), velocity=[0.0] * 7)
    state.header.stamp.sec = 5
    command = loop.insist(publisher, state, lambda: commands, 'no answer')[-1]
    np.testing.assert_allclose(command.effort, 0.0, atol=1e-12)


def test_safe_stop_and_resume(loop):
    """An arm that is held fast far from its target stops; on request it goes on from there."""
    loop.closed(NODE, {'tracking_tolerance': 0.05, 'friction_compensation': False}, **FRICTIONLESS)
    publisher = loop.talk(JointTrajectory, f'{NODE}/joint_trajectory')
    loop.push('tool', force=(0.0, 150.0, 0.0), at=0.6, seconds=1.0)
    log = loop.advance(3.0)
    assert 'safe stop: tracking error' in loop.health(f'/{NODE}')['message']
    log.assert_at_rest()
    loop.refused(publisher, trajectory(0.0, 1, START), f'/{NODE}', 'call ~/resume')
    from std_srvs.srv import Trigger
    assert loop.call(Trigger, f'{NODE}/resume', Trigger.Request()).success
    loop.advance(0.1)
    assert loop.health(f'/{NODE}')['message'] == 'answering'
    loop.request(publisher, trajectory(0.0, 1, START), NODE)
    loop.advance(2.0).assert_near(START, 0.01)
