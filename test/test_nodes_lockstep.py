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

"""Lock-step: step k+1 begins only when the command that answers state k is there."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
from multibody_ros.nodes.qos import NEWEST
import numpy as np
import pinocchio as pin
from ros_loop import CONFIG, FRICTIONLESS, JOINTS, Loop, stamp, START, trajectory, URDF
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory


def test_same_run_twice_is_bit_identical(tmp_path):
    """With noise, a trajectory, a push and a payload that the controller does not know of."""
    logs = []
    for _ in range(2):
        with Loop(tmp_path) as loop:
            loop.closed('computed_torque_controller', **{'sensors.position_noise': 1e-5})
            publisher = loop.talk(JointTrajectory, 'computed_torque_controller/joint_trajectory')
            loop.request(publisher, trajectory(1.1, 1, START + 0.4), 'computed_torque_controller')
            loop.push('tool', force=(5.0, 0.0, -30.0), at=0.5, seconds=0.2)
            loop.advance(0.75)
            assert loop.set_parameters('simulator', payload__mass=0.5) == ''
            logs.append(loop.advance(0.75))
    first, second = logs
    assert len(first.t) == 751
    for field in ('t', 'q', 'v', 'effort'):
        assert getattr(first, field).tobytes() == getattr(second, field).tobytes(), field


def test_killed_controller_is_replaced_without_a_lost_step(loop):
    child = loop.closed('computed_torque_controller')
    publisher = loop.talk(JointTrajectory, 'computed_torque_controller/joint_trajectory')
    loop.request(publisher, trajectory(0.0, 1, START + 0.3), 'computed_torque_controller')
    before = loop.advance(0.5)
    loop.forget(child)
    child.kill()
    child.wait()
    loop.start('computed_torque_controller', {'state_timeout': 3600.0}, [CONFIG])
    after = loop.advance(2.0)
    # time stood still while nobody answered, and the new one holds the pose it found
    np.testing.assert_array_equal(after.q[0], before.q[-1])
    np.testing.assert_allclose(np.diff(after.t), 1e-3, atol=1e-9)
    stopping = after.q[-1] - before.q[-1]
    assert (np.abs(stopping) < 0.2).all()
    after.assert_at_rest()


def test_clock_shows_the_states_stamps(loop):
    loop.closed('gravity_compensation_controller', publish_clock=True)
    clocks = loop.listen(Clock, '/clock', NEWEST)
    loop.wait(lambda: clocks, 'no clock')
    loop.advance(0.1)
    last = loop.states[-1].header.stamp
    loop.wait(lambda: clocks[-1].clock == last, 'the clock is not at the last state')
    stamps = {(m.header.stamp.sec, m.header.stamp.nanosec) for m in loop.states}
    assert {(c.clock.sec, c.clock.nanosec) for c in clocks if c.clock.sec == last.sec} & stamps


def test_reactions_at_rest(loop, peer):
    """The first joint's bearing carries what hangs on it."""
    model, _ = peer
    loop.closed('gravity_compensation_controller', **FRICTIONLESS)
    wrenches = loop.listen(WrenchStamped, 'simulator/joint_wrenches/joint1')
    loop.wait(lambda: wrenches, 'no reactions')
    loop.advance(0.2)
    loop.wait(lambda: stamp(wrenches[-1]) == stamp(loop.states[-1]), 'no last reaction')
    force = wrenches[-1].wrench.force
    mass = sum(inertia.mass for inertia in model.inertias[1:])
    np.testing.assert_allclose([force.x, force.y, force.z], [0.0, 0.0, 9.81 * mass], atol=1e-5)
    assert wrenches[-1].header.frame_id == 'link1'


def test_energies_are_those_of_the_state(loop):
    """Of an arm that was pushed and swings; what it gained is the work done on it."""
    loop.closed('gravity_compensation_controller', **FRICTIONLESS)
    robot = loop.robot
    energies = loop.listen(Float64MultiArray, 'simulator/energies')
    loop.wait(lambda: energies, 'no energies')
    loop.push('tool', force=(20.0, -10.0, 5.0), at=0.05, seconds=0.1)
    log = loop.advance(0.3)
    expected = np.array([[robot.kinetic_energy(q, v), robot.potential_energy(q)]
                         for q, v in zip(log.q, log.v)])
    assert expected[-1, 0] > 0.01
    assert abs(expected[-1, 1] - expected[0, 1]) > 0.01
    # the message has no stamp: the last one must be that of the last state, every other one that
    # of some state
    loop.wait(lambda: np.allclose(energies[-1].data[:2], expected[-1], rtol=1e-9, atol=0.0),
              'the last energies are not those of the last state')
    told = np.array([m.data for m in energies])
    apart = np.abs(told[:, None, :2] - expected[None]).max(axis=2).min(axis=1)
    np.testing.assert_allclose(apart, 0.0, atol=1e-9)
    np.testing.assert_array_equal(told[:, 2], 0.0)
    np.testing.assert_allclose(told[:, 3], 0.0, atol=1e-6)
    assert [d.label for d in energies[-1].layout.dim] == [
        'kinetic', 'gravity', 'springs', 'balance']


def test_payload_known_to_the_controller_is_carried(loop, peer):
    model, data = peer
    load = {'payload.mass': 2.0, 'payload.com': [0.0, 0.0, 0.05]}
    loop.closed('gravity_compensation_controller', load, **{**FRICTIONLESS, **load})
    log = loop.advance(1.0)
    log.assert_near(START, 1e-6)
    tool = model.getFrameId('tool')
    model.appendBodyToJoint(
        model.frames[tool].parentJoint, pin.Inertia(2.0, np.array([0.0, 0.0, 0.05]),
                                                    np.zeros((3, 3))),
        model.frames[tool].placement)
    weight = pin.computeGeneralizedGravity(model, model.createData(), START)
    np.testing.assert_allclose(log.effort[-1], weight, atol=1e-6)
    # once the robot drops the load, the controller carries too much: the arm rises, and a
    # controller that learns of it holds again, after a ramp without a jump
    assert loop.set_parameters('simulator', payload__mass=0.0) == ''
    assert loop.set_parameters('gravity_compensation_controller', payload__mass=0.0) == ''
    log = loop.advance(2.0)
    bare = pin.computeGeneralizedGravity(*[pin.buildModelFromUrdf(str(URDF)), data], log.q[-2])
    steps = np.abs(np.diff(log.effort, axis=0)).max(axis=0)
    assert (steps < 0.02 * np.abs(weight).max()).all()
    assert np.abs(log.v[0:100]).max() > 1e-4
    np.testing.assert_allclose(log.effort[-1] + damping() * log.v[-2], bare, atol=1e-3)


def damping():
    return np.array([2.0, 2.0, 1.0, 1.0, 0.2, 0.2, 0.05])


def test_push_acts_while_it_lasts_and_on_the_link_named(loop, peer):
    """Impulse and momentum: M dv = J^T F dt for a short push on an arm at rest."""
    model, data = peer
    loop.closed('gravity_compensation_controller', **FRICTIONLESS)
    F = np.array([20.0, -10.0, 5.0])
    loop.push('tool', force=F, at=0.01, seconds=0.005)
    log = loop.advance(0.015)
    J = pin.computeFrameJacobian(model, data, START, model.getFrameId('tool'), pin.LOCAL)[:3]
    dv = np.linalg.solve(pin.crba(model, data, START), J.T @ F * 0.005)
    np.testing.assert_allclose(log.v[:10], 0.0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(log.v[-1], dv, rtol=0.05, atol=0.02 * np.abs(dv).max())
    publisher = loop.talk(WrenchStamped, 'simulator/external_wrench')
    message = WrenchStamped()
    message.header.frame_id = 'hand'
    loop.refused(publisher, message, '/simulator', "has no link 'hand'")


def test_commands_without_a_stamp_are_refused(loop):
    loop.simulate(URDF, [CONFIG])
    publisher = loop.talk(Float64MultiArray, 'simulator/commands')
    loop.refused(publisher, Float64MultiArray(data=[0.0] * 7), '/simulator', 'in lock-step')
    # a command for another state than the last one is not an answer
    commands = loop.talk(JointState, 'joint_commands')
    loop.insist(commands, JointState(name=JOINTS, effort=[1.0] * 7),
                lambda: int(loop.last_health('/simulator')['commands for other states']) > 0,
                'not counted')
    assert stamp(loop.states[-1]) == 1.0
