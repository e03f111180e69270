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

"""Requests to controllers: trajectories, references, wrenches; what the torque is made of."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
from multibody_ros.control import Torque
import numpy as np
import pinocchio as pin
import pytest
from ros_loop import (
    CONFIG, FRICTIONLESS, JOINTS, minimum_jerk, stamp, START, trajectory, URDF, values)
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

NODE = 'computed_torque_controller'


def test_trajectory_is_replaced_without_a_jump(loop):
    loop.closed(NODE)
    publisher = loop.talk(JointTrajectory, f'{NODE}/joint_trajectory')
    desired = loop.listen(JointState, f'{NODE}/desired_state')
    loop.wait(lambda: desired, 'no desired state')
    loop.request(publisher, trajectory(0.0, 1, START + 0.5), NODE)
    loop.advance(0.6)
    # turn round in the middle of the motion
    loop.request(publisher, trajectory(0.0, 1, START), NODE)
    loop.advance(1.5)
    loop.wait(lambda: stamp(desired[-1]) == stamp(loop.states[-1]), 'no last reference')
    rows = sorted({stamp(m): m for m in desired}.items())
    t = np.array([time for time, _ in rows])
    q, v = (values([m for _, m in rows], field, JOINTS) for field in ('position', 'velocity'))
    assert np.abs(np.diff(q, axis=0)).max() < 2e-3
    assert np.abs(np.diff(v, axis=0)).max() < 0.02
    assert v.max() > 0.5 and v.min() < -0.5
    np.testing.assert_allclose(q[-1], START, atol=1e-12)
    # the velocity that is published is the derivative of the position that is
    middle = np.diff(t) < 1.5e-3
    np.testing.assert_allclose((np.diff(q, axis=0) / np.diff(t)[:, None])[middle],
                               (0.5 * (v[1:] + v[:-1]))[middle], atol=1e-4)


def test_bad_trajectories_are_refused(loop):
    loop.closed(NODE)
    publisher = loop.talk(JointTrajectory, f'{NODE}/joint_trajectory')
    loop.advance(0.5)
    late = trajectory(0.3, 1, START)
    ends = trajectory(0.0, 1, START)
    ends.points[0].velocities = [0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    unordered = trajectory(0.0, 1, START)
    unordered.points.append(unordered.points[0])
    short = trajectory(0.0, 1, START)
    short.points[0].accelerations = [0.0] * 3
    for message, reason in [
            (trajectory(0.0, 1, START + np.eye(7)[1] * 9), "joint 'joint2' at 9.5 is outside"),
            (trajectory(0.0, 1, np.where(START == 0.5, np.nan, START)), "'joint2' is nan"),
            (trajectory(0.0, 1, START[:6], JOINTS[:6]), 'joints missing: joint7'),
            (JointTrajectory(joint_names=JOINTS), 'no points'), (late, 'no point lies ahead'),
            (ends, "the last point must be at rest, but joint 'joint2'"),
            (unordered, 'times must increase'), (short, 'every point needs 7 accelerations')]:
        loop.refused(publisher, message, f'/{NODE}', reason)
    np.testing.assert_allclose(loop.advance(0.2).q[-1], START, atol=1e-6)


def test_effort_of_trajectory_points_is_fed_forward(loop):
    """Joint 7 pushes against nothing but friction: a torque below it does not move the arm."""
    loop.closed(NODE)
    publisher = loop.talk(JointTrajectory, f'{NODE}/joint_trajectory')
    forward = loop.listen(JointState, f'{NODE}/terms/feedforward')
    loop.wait(lambda: forward, 'no terms')
    message = trajectory(0.0, 1, START)
    message.points[0].effort = [0.0] * 6 + [0.1]
    loop.request(publisher, message, NODE)
    log = loop.advance(2.0)
    loop.wait(lambda: stamp(forward[-1]) == stamp(loop.states[-1]), 'no last term')
    np.testing.assert_allclose(forward[-1].effort, [0.0] * 6 + [0.1], atol=1e-12)
    np.testing.assert_allclose(log.effort[-1, 6] - log.effort[100, 6], 0.1, atol=0.01)


def test_terms_add_up_to_the_command(loop, peer):
    loop.closed(NODE, {'payload.mass': 1.0})
    terms = {name: loop.listen(JointState, f'{NODE}/terms/{name}') for name in Torque._fields}
    commands = loop.listen(JointState, 'joint_commands')
    publisher = loop.talk(JointTrajectory, f'{NODE}/joint_trajectory')
    loop.wait(lambda: all(terms.values()), 'no terms')
    loop.request(publisher, trajectory(0.0, 1, START + 0.5), NODE)
    log = loop.advance(0.8)

    def at_end(messages):
        last = loop.states[-1].header.stamp
        return next((m for m in reversed(messages) if m.header.stamp == last), None)

    loop.wait(lambda: all(at_end(m) for m in (commands, *terms.values())), 'no last terms')
    rows = {name: np.array(at_end(messages).effort) for name, messages in terms.items()}
    np.testing.assert_allclose(sum(rows.values()), at_end(commands).effort, atol=1e-9)
    np.testing.assert_allclose(rows['gravity'], pin.computeGeneralizedGravity(*peer, log.q[-1]),
                               atol=1e-9)
    assert np.abs(rows['payload']).max() > 1.0


def test_reference_is_followed(loop):
    """Who streams positions and velocities gets a motion that follows them."""
    loop.closed(NODE, {'reference_time': 0.02, 'friction_compensation': False}, **FRICTIONLESS)
    publisher = loop.talk(JointState, f'{NODE}/reference')
    loop.advance(0.6)
    way = np.array([0.2, 0.0, 0.0, 0.1, 0.0, 0.0, -0.1])
    for k in range(1, 26):
        s, slope = minimum_jerk(k / 25), (minimum_jerk(k / 25 + 1e-6)
                                          - minimum_jerk(k / 25 - 1e-6)) / 2e-6
        q, v = START + way * s, way * slope / 0.5
        loop.request(publisher, JointState(name=JOINTS[::-1], position=q[::-1].tolist(),
                                           velocity=v[::-1].tolist()), NODE)
        log = loop.advance(0.02)
        np.testing.assert_allclose(log.q[-1], q, atol=0.03)
    loop.advance(0.5).assert_near(START + way, 0.02)
    loop.refused(publisher, JointState(name=JOINTS, position=(START + 9.0).tolist()), f'/{NODE}',
                 "joint 'joint1' at 9 is outside")


def test_target_wrench_is_exerted(loop, peer):
    """A free arm that pushes down with F along the force direction feels J^T F on top."""
    model, data = peer
    loop.closed('cartesian_controller', {
        'force_directions': 'z', 'nullspace.stiffness': 0.0, 'nullspace.damping': 0.0})
    publisher = loop.talk(WrenchStamped, 'cartesian_controller/target_wrench')
    forward = loop.listen(JointState, 'cartesian_controller/terms/feedforward')
    loop.wait(lambda: forward, 'no terms')
    loop.advance(0.6)
    message = WrenchStamped()
    message.header.frame_id = 'base_link'
    message.wrench.force.z = -5.0
    loop.request(publisher, message, 'cartesian_controller')
    log = loop.advance(0.001)
    loop.wait(lambda: stamp(forward[-1]) == stamp(loop.states[-1]), 'no last term')
    J = pin.computeFrameJacobian(model, data, log.q[-1], model.getFrameId('tool'),
                                 pin.LOCAL_WORLD_ALIGNED)
    np.testing.assert_allclose(forward[-1].effort, J.T @ [0, 0, -5.0, 0, 0, 0], atol=1e-9)
    message.header.frame_id = 'world'
    loop.refused(publisher, message, '/cartesian_controller', "frame_id 'world' is no link")


def test_impedance_gives_way_like_a_spring(loop, peer):
    """In equilibrium the force is stiffness times displacement, directions apart."""
    loop.closed('cartesian_controller', {
        'law': 'impedance', 'stiffness.linear': 500.0, 'damping.linear': 60.0,
        'nullspace.damping': 20.0}, **FRICTIONLESS)
    loop.advance(0.6)
    model, data = peer
    tool = model.getFrameId('tool')
    pin.framesForwardKinematics(model, data, START)
    start = data.oMf[tool].copy()
    loop.push('tool', force=start.rotation.T @ [0.0, 5.0, 0.0], at=0.6, seconds=60.0)
    log = loop.advance(4.0)
    pin.framesForwardKinematics(model, data, log.q[-1])
    way = data.oMf[tool].translation - start.translation
    np.testing.assert_allclose(way, [0.0, 0.01, 0.0], atol=1e-3)
    publisher = loop.talk(WrenchStamped, 'cartesian_controller/target_wrench')
    message = WrenchStamped()
    message.header.frame_id = 'tool'
    loop.refused(publisher, message, '/cartesian_controller', 'set force_directions')


@pytest.mark.parametrize('law', ['independent_joint', 'pd_gravity', 'pd_plus', 'adaptive'])
def test_joint_controller_goes_to_the_target(loop, law):
    gravity = {'gravity': [0.0, 0.0, 0.0]} if law == 'independent_joint' else {}
    loop.simulate(URDF, [CONFIG], **FRICTIONLESS, **gravity)
    feed = {} if law == 'adaptive' else {'friction_compensation': False}
    loop.start('joint_controller', {'law': law, 'state_timeout': 3600.0, **feed, **gravity},
               [CONFIG])
    loop.wait_for_commands()
    publisher = loop.talk(JointTrajectory, 'joint_controller/joint_trajectory')
    loop.request(publisher, trajectory(0.0, 2, START + 0.2), 'joint_controller')
    loop.advance(3.0).assert_near(START + 0.2, 0.05)
