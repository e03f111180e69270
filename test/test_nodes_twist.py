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

"""Twists as targets of the Cartesian controller, over DDS and in lock-step."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped, TwistStamped
from multibody_ros.nodes.messages import pose_message
import numpy as np
import pinocchio as pin
import pytest
from ros_loop import FRICTIONLESS

NODE = 'cartesian_controller'


@pytest.fixture
def arm(loop, peer):
    """Return an arm under control, its ramp over, and publishers of both kinds of targets."""
    loop.closed(NODE, {'friction_compensation': False}, **FRICTIONLESS)
    loop.advance(0.6)
    return Arm(loop, *peer)


class Arm:
    """The tool of the arm."""

    def __init__(self, loop, model, data):
        self.loop, self.model, self.data = loop, model, data
        self.tool = model.getFrameId('tool')
        self.twists = loop.talk(TwistStamped, f'{NODE}/target_twist')
        self.poses = loop.talk(PoseStamped, f'{NODE}/target_pose')

    def pose(self, q):
        pin.framesForwardKinematics(self.model, self.data, q)
        return self.data.oMf[self.tool].copy()

    def velocities(self, log):
        """Return the tool's velocity at every state, [linear; angular], world axes."""
        rows = []
        for q, v in zip(log.q, log.v):
            pin.forwardKinematics(self.model, self.data, q, v)
            pin.updateFramePlacements(self.model, self.data)
            rows.append(pin.getFrameVelocity(self.model, self.data, self.tool,
                                             pin.LOCAL_WORLD_ALIGNED).vector)
        return np.array(rows)

    def ask(self, twist, frame='base_link'):
        self.loop.request(self.twists, message(twist, frame), NODE)

    def go(self, pose, frame='base_link'):
        target = PoseStamped(pose=pose_message(pose.homogeneous, pin.log3(pose.rotation)))
        target.header.frame_id = frame
        self.loop.request(self.poses, target, NODE)


def message(twist, frame='base_link'):
    made = TwistStamped()
    made.header.frame_id = frame
    n, w = made.twist.linear, made.twist.angular
    n.x, n.y, n.z, w.x, w.y, w.z = map(float, twist)
    return made


def test_tool_moves_with_the_twist_and_stops_without(arm):
    """
    Renewed ten times in a second, then no more.

    It starts and stops in 0.1 s, evenly, and goes on for 0.25 s after the last message: the way is
    that of 0.9 s + 0.25 s at full speed.
    """
    loop = arm.loop
    start = arm.pose(loop.log().q[-1])
    twist = np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.3])
    for k in range(10):
        arm.ask(twist)
        log = loop.advance(0.1)
        if 2 < k:
            np.testing.assert_allclose(arm.velocities(log)[::10] - twist, 0.0, atol=0.01)
    log = loop.advance(1.5)
    # the tool: the elbow may still swing back, in the null space
    np.testing.assert_allclose(arm.velocities(log)[-1], 0.0, atol=1e-4)
    end = arm.pose(log.q[-1])
    np.testing.assert_allclose(end.translation - start.translation, [0.0, 0.115, 0.0], atol=1e-3)
    np.testing.assert_allclose(pin.log3(end.rotation @ start.rotation.T), [0.0, 0.0, 0.345],
                               atol=3e-3)


def test_twist_is_along_the_axes_of_its_frame(arm):
    loop = arm.loop
    start = arm.pose(loop.log().q[-1])
    arm.ask([0.0, 0.0, 0.1, 0.0, 0.0, 0.0], 'tool')
    loop.advance(0.2)
    arm.ask([0.0, 0.0, 0.1, 0.0, 0.0, 0.0], 'tool')
    way = arm.pose(loop.advance(1.5).q[-1]).translation - start.translation
    # 0.2 s + 0.25 s along the tool's own axis
    np.testing.assert_allclose(start.rotation.T @ way, [0.0, 0.0, 0.045], atol=1e-3)
    # which is not one of the base's
    assert np.linalg.norm(way[:2]) > 0.01 and abs(way[2]) > 0.01


def test_bad_twists_are_refused(arm):
    loop = arm.loop
    before = loop.log().q[-1]
    for bad, reason in [
            (message([0.1] * 6, 'map'), "frame_id 'map' is no link of 'arm7', only: base_link"),
            (message([0.1] * 6, ''), "frame_id '' is no link"),
            (message([0.1, np.nan, 0.0, 0.0, 0.0, 0.0]), 'twist holds numbers that are not'),
            (message([0.0, 0.0, 0.0, np.inf, 0.0, 0.0]), 'twist holds numbers that are not')]:
        loop.refused(arm.twists, bad, f'/{NODE}', reason)
    loop.advance(0.3).assert_near(before, 1e-3)
    for bad in ({'twist_timeout': 0.0}, {'max_acceleration__linear': -1.0},
                {'twist_timeout': float('nan')}):
        assert next(iter(bad)).split('__')[0] in loop.set_parameters(NODE, **bad)


def test_twist_and_pose_take_over_from_each_other_without_a_jump(arm):
    """The tool's velocity changes no faster than max_acceleration, whatever takes over."""
    loop = arm.loop
    start = arm.pose(loop.log().q[-1])
    speeds, logs = [], []

    def advance(seconds):
        logs.append(loop.advance(seconds))
        speeds.append(arm.velocities(logs[-1])[1:])

    goal = start.copy()
    goal.translation += [0.0, -0.1, 0.1]
    assert loop.set_parameters(NODE, twist_timeout=2.0, max_acceleration__linear=0.5) == ''
    # much too fast
    arm.ask([0.0, 5.0, 0.0, 0.0, 0.0, 0.0])
    advance(0.8)
    arm.go(goal)
    advance(1.2)
    assert np.linalg.norm(speeds[-1][-1][:3]) > 0.1
    arm.ask([0.0, 0.0, -0.1, 0.0, 0.0, 0.0])
    advance(0.6)
    arm.go(goal)
    advance(4.0)
    every = np.vstack(speeds)[:, :3]
    assert 0.24 < np.linalg.norm(every, axis=1).max() < 0.26
    changes = np.linalg.norm(np.diff(every, axis=0), axis=1) / 1e-3
    assert changes.max() < 0.75
    np.testing.assert_allclose(arm.pose(logs[-1].q[-1]).homogeneous, goal.homogeneous, atol=1e-3)
