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

"""
FollowJointTrajectory, the whole life of a goal.

control_msgs is not on PyPI: without it stand-ins take the place of its messages and of rclpy's
action server, the controller and its topics are real. With it the same goes over DDS, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from builtin_interfaces.msg import Duration
from multibody_ros.nodes import follow_action
from multibody_ros.nodes.computed_torque_controller import ComputedTorqueController
from multibody_ros.nodes.messages import time_message
from multibody_ros.nodes.qos import LATCHED
import numpy as np
import pytest
from rclpy.action import CancelResponse, GoalResponse
from ros_loop import JOINTS, START, trajectory, URDF
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from trajectory_msgs.msg import (
    JointTrajectory, JointTrajectoryPoint, MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint)

NODE = 'computed_torque_controller'
WAY = np.array([0.3, 0.0, 0.0, 0.2, 0.0, 0.0, -0.1])
SUCCEEDED, CANCELED, ABORTED = (
    GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)


@dataclass
class Tolerance:
    name: str = ''
    position: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0


@dataclass
class Request:
    trajectory: Any = field(default_factory=JointTrajectory)
    multi_dof_trajectory: Any = field(default_factory=MultiDOFJointTrajectory)
    path_tolerance: Any = ()
    goal_tolerance: Any = ()
    goal_time_tolerance: Any = field(default_factory=Duration)


@dataclass
class Result:
    error_code: int = 0
    error_string: str = ''


@dataclass
class Feedback:
    header: Any = field(default_factory=Header)
    joint_names: Any = ()
    desired: Any = field(default_factory=JointTrajectoryPoint)
    actual: Any = field(default_factory=JointTrajectoryPoint)
    error: Any = field(default_factory=JointTrajectoryPoint)


class Handle:
    """A goal as the server sees it, with what its client would get."""

    def __init__(self, request):
        self.request = request
        self.is_cancel_requested = False
        self.status = GoalStatus.STATUS_ACCEPTED
        self.feedback = []
        self.publish_feedback = self.feedback.append
        self.result = None

    def execute(self):
        self.status = GoalStatus.STATUS_EXECUTING

    def succeed(self):
        self.status = SUCCEEDED

    def canceled(self):
        assert self.is_cancel_requested
        self.status = CANCELED

    def abort(self):
        self.status = ABORTED

    def ended(self):
        """Return status, error code and text."""
        return self.status, self.result.error_code, self.result.error_string


class Server:
    """Does with goals what rclpy's server does."""

    def __init__(self, node, kind, name, execute_callback, *, goal_callback,
                 handle_accepted_callback, cancel_callback):
        assert (node.get_name(), name) == (NODE, '~/follow_joint_trajectory')
        self._decide, self._accept = goal_callback, handle_accepted_callback
        self._cancel = cancel_callback
        node.server = self

    def send(self, request):
        """Return the handle of an accepted goal, None of a rejected one."""
        if self._decide(request) == GoalResponse.REJECT:
            return None
        handle = Handle(request)
        self._accept(handle)
        return handle

    def cancel(self, handle):
        assert self._cancel(handle) == CancelResponse.ACCEPT
        handle.is_cancel_requested = True

    def notify_execute(self, handle, execute_callback):
        assert handle.result is None
        handle.result = execute_callback(handle)

    def destroy(self):
        self._accept = None


class Plant:
    """A robot that is where the reference is, or a given way off, and its controller."""

    def __init__(self, loop):
        self.loop = loop
        self.controller = ComputedTorqueController()
        loop.executor.add_node(self.controller)
        self.server = None
        self._t = 1.0
        self._commands = loop.listen(JointState, 'joint_commands')
        self._description = loop.node.create_publisher(String, 'robot_description', LATCHED)

    def start(self):
        """Load the robot and begin."""
        self._description.publish(String(data=URDF.read_text()))
        self.loop.wait(lambda: self.controller.active, 'the controller does not start')
        self.server = self.controller.server
        self._states = self.loop.talk(JointState, 'joint_states')
        self._send(START, 0.0 * START)

    def run(self, seconds, off=0.0, step=0.05):
        """Let time pass; the first joint is `off` from the reference."""
        for _ in range(round(seconds / step)):
            self._t += step
            q, v, _ = self.reference(step)
            self._send(q - off * np.eye(7)[0], v)

    def reference(self, ahead=0.0):
        return self.controller.law.trajectory.sample(self.controller.t + ahead)

    def _send(self, q, v):
        state = JointState(name=JOINTS, position=q.tolist(), velocity=v.tolist())
        state.header.stamp = time_message(round(self._t * 1e9))
        self.loop.insist(self._states, state, lambda: any(
            c.header.stamp == state.header.stamp for c in self._commands), 'no answer')

    def jump(self, seconds):
        """Lose the states of some seconds."""
        self._t += seconds
        self._send(START, 0.0 * START)


@pytest.fixture
def plant(loop, monkeypatch):
    real = follow_action.FollowJointTrajectory
    monkeypatch.setattr(follow_action, 'FollowJointTrajectory', real or SimpleNamespace(
        Goal=Request, Result=Result, Feedback=Feedback))
    monkeypatch.setattr(follow_action, 'DeferredServer', Server)
    made = Plant(loop)
    yield made
    loop.executor.remove_node(made.controller)
    made.controller.destroy_node()


def tolerance(**fields):
    """Return a JointTolerance, the real one where there is one."""
    try:
        from control_msgs.msg import JointTolerance
    except ImportError:
        JointTolerance = Tolerance
    return JointTolerance(**fields)


def request(seconds=1.0, way=WAY, **fields):
    """Ask for START plus a way."""
    return follow_action.FollowJointTrajectory.Goal(
        trajectory=trajectory(0.0, seconds, START + way), **fields)


def test_goal_is_reached_with_feedback_on_the_way(plant):
    plant.start()
    handle = plant.server.send(request())
    assert handle.status == GoalStatus.STATUS_EXECUTING and handle.result is None
    plant.run(0.9, off=0.02)
    assert handle.result is None
    assert len(handle.feedback) == 18
    for message in handle.feedback:
        assert list(message.joint_names) == JOINTS
        desired, actual, error = (np.array(getattr(message, name).positions)
                                  for name in ('desired', 'actual', 'error'))
        np.testing.assert_allclose(error, desired - actual, atol=1e-12)
        np.testing.assert_allclose(error, 0.02 * np.eye(7)[0], atol=1e-12)
        assert message.header.stamp.sec in (1, 2)
        np.testing.assert_allclose(np.array(message.desired.velocities)
                                   - message.actual.velocities, message.error.velocities)
    assert np.diff([m.desired.positions[0] for m in handle.feedback]).min() > 0.0
    plant.run(0.2)
    assert handle.ended() == (SUCCEEDED, 0, 'reached, largest error 0')
    np.testing.assert_allclose(plant.reference()[0], START + WAY, atol=1e-12)
    # nothing more is said about a goal that is over
    count = len(handle.feedback)
    plant.run(0.2)
    assert len(handle.feedback) == count


def test_goal_of_some_joints(plant):
    """The others are nobody's goal: they stay where they are, and no feedback names them."""
    plant.controller._chosen = ['joint2', 'joint1']
    plant.start()
    handle = plant.server.send(request())
    plant.run(0.9, off=0.02)
    assert list(handle.feedback[-1].joint_names) == ['joint2', 'joint1']
    np.testing.assert_allclose(handle.feedback[-1].error.positions, [0.0, 0.02], atol=1e-12)
    plant.run(0.2)
    assert handle.ended() == (SUCCEEDED, 0, 'reached, largest error 0')
    np.testing.assert_allclose(plant.reference()[0], START + WAY * (np.arange(7) < 2), atol=1e-12)


def test_goals_are_refused_with_the_reason(plant):
    plant.start()
    plant.controller.trigger_deactivate()
    assert plant.server.send(request()) is None
    assert 'not active' in plant.controller.health.last_reason
    plant.controller.trigger_activate()
    plant.jump(0.01)
    several = request()
    several.multi_dof_trajectory.points.append(MultiDOFJointTrajectoryPoint())
    for bad, reason in [
            (request(way=9.0 + WAY), "joint 'joint1' at 9.3 is outside"),
            (follow_action.FollowJointTrajectory.Goal(), 'no points'),
            (several, 'multi_dof_trajectory has points'),
            (request(path_tolerance=[tolerance(name='elbow', position=0.1)]),
             "path_tolerance names joint 'elbow', there are only: joint1, joint2"),
            (request(goal_tolerance=[tolerance(name='joint2', velocity=0.1)]),
             "goal_tolerance of joint 'joint2' limits velocity"),
            (request(goal_tolerance=[tolerance(name='joint2', position=float('nan'))]),
             "goal_tolerance of joint 'joint2' is not finite")]:
        before = plant.controller.law.trajectory
        status, code, text = plant.server.send(bad).ended()
        assert (status, code) == (ABORTED, -1) and reason in text
        assert reason in plant.controller.health.last_reason
        assert plant.controller.law.trajectory is before
    assert plant.controller.health.rejected == 7


def test_cancelled_goal_comes_to_rest_and_is_held(plant):
    plant.start()
    handle = plant.server.send(request())
    plant.run(0.5)
    q, v, _ = plant.reference()
    assert v[0] > 0.3
    plant.server.cancel(handle)
    plant.run(0.05)
    assert handle.ended() == (CANCELED, -1, 'cancelled')
    plant.run(0.6)
    rest, none, _ = plant.reference()
    # on the way it was on, and no farther than it takes to stop
    assert (np.abs(rest - q) <= 0.5 * np.abs(v) + 1e-9).all() and rest[0] > q[0]
    assert not none.any()
    plant.run(0.5)
    np.testing.assert_array_equal(plant.reference()[0], rest)


def test_goal_is_replaced_by_a_newer_one_and_by_the_topic(plant):
    plant.start()
    first = plant.server.send(request())
    plant.run(0.4)
    before = plant.reference()
    second = plant.server.send(request(way=-WAY))
    assert first.ended() == (ABORTED, -1, 'another goal has taken over')
    # from the reference at hand, not from anew
    for old, new in zip(before, plant.reference()):
        np.testing.assert_allclose(new, old, atol=1e-9)
    # a goal that is refused takes nothing over
    plant.server.send(follow_action.FollowJointTrajectory.Goal())
    plant.run(0.2)
    assert second.result is None
    publisher = plant.loop.talk(JointTrajectory, f'{NODE}/joint_trajectory')
    plant.loop.request(publisher, trajectory(0.0, 1, START), NODE)
    plant.run(0.05)
    assert second.ended() == (ABORTED, -1, 'another trajectory has taken over')
    plant.run(1.0)
    np.testing.assert_allclose(plant.reference()[0], START, atol=1e-12)


def test_tolerance_on_the_way(plant):
    plant.start()
    handle = plant.server.send(request(path_tolerance=[
        tolerance(name='joint2', position=0.01), tolerance(name='joint1', position=0.1)]))
    plant.run(0.4, off=0.09)
    assert handle.result is None
    plant.run(0.05, off=0.12)
    assert handle.ended() == (
        ABORTED, -4, "joint 'joint1' is 0.12 off on the way, allowed is 0.1")


def test_safe_stop_ends_the_goal(plant):
    plant.start()
    handle = plant.server.send(request())
    plant.run(0.1, off=0.6)
    status, code, text = handle.ended()
    assert (status, code) == (ABORTED, -4) and 'tracking error' in text
    assert plant.server.send(request()) is None
    assert 'call ~/resume' in plant.controller.health.last_reason


@pytest.mark.parametrize(('given', 'off', 'code'), [
    ([], 0.04, 0), ([], 0.06, -5), ([('joint1', 0.1)], 0.06, 0), ([('joint1', -1.0)], 0.4, 0),
    ([('joint2', 0.1)], 0.06, -5), ([('joint1', 0.01)], 0.02, -5)])
def test_tolerance_at_the_goal(plant, given, off, code):
    plant.start()
    handle = plant.server.send(request(
        0.3, goal_time_tolerance=Duration(nanosec=200_000_000),
        goal_tolerance=[tolerance(name=name, position=size) for name, size in given]))
    plant.run(0.25, off)
    assert handle.result is None
    plant.run(0.1, off)
    if code:
        assert handle.result is None
        plant.run(0.25, off)
        assert handle.ended()[0] == ABORTED
        assert f"joint 'joint1' is {off:g} off 0.2 s after the end" in handle.ended()[2]
    assert handle.result.error_code == code
    assert handle.status == (ABORTED if code else SUCCEEDED)


def test_end_of_the_life_cycle_and_a_new_beginning_end_the_goal(plant):
    plant.start()
    handle = plant.server.send(request())
    plant.run(0.1)
    plant.jump(5.0)
    assert handle.ended() == (
        ABORTED, -1, 'the controller begins anew, at the pose it finds')
    handle = plant.server.send(request())
    plant.controller.trigger_deactivate()
    assert handle.ended() == (ABORTED, -1, 'the controller was deactivated')
    plant.controller.trigger_activate()
    plant.jump(0.01)
    handle = plant.server.send(request())
    plant.controller.trigger_shutdown()
    assert handle.ended() == (ABORTED, -1, 'the controller was shut down')


def test_goals_over_dds(loop):
    """Reached, cancelled, replaced, refused: as a client of the real action sees it."""
    action = pytest.importorskip('control_msgs.action', reason='control_msgs is not on PyPI')
    from rclpy.action import ActionClient
    loop.closed(NODE)
    client = ActionClient(loop.node, action.FollowJointTrajectory,
                          f'{NODE}/follow_joint_trajectory')
    loop.wait(client.server_is_ready, 'no action')
    feedback = []
    statuses = loop.listen(GoalStatusArray, f'{NODE}/follow_joint_trajectory/_action/status')

    def send(goal):
        sent = client.send_goal_async(goal, feedback_callback=feedback.append)
        handle = loop.wait(lambda: sent.done() and sent.result(), 'no answer')
        assert handle.accepted
        return handle, handle.get_result_async()

    def ended(result):
        answer = loop.wait(lambda: result.done() and result.result(), 'no result')
        return answer.status, answer.result.error_code, answer.result.error_string

    _, result = send(request())
    loop.wait(lambda: any(s.status == GoalStatus.STATUS_EXECUTING
                          for m in statuses for s in m.status_list), 'not executed')
    loop.advance(1.5).assert_near(START + WAY, 0.02)
    status, code, text = ended(result)
    assert (status, code) == (SUCCEEDED, 0) and 'reached' in text
    loop.wait(lambda: len(feedback) > 15, 'no feedback')
    handle, result = send(request(way=0.0 * WAY))
    loop.advance(0.5)
    asked = handle.cancel_goal_async()
    loop.wait(asked.done, 'no answer')
    loop.advance(1.0).assert_at_rest()
    assert ended(result) == (CANCELED, -1, 'cancelled')
    _, first = send(request())
    _, second = send(request(way=0.0 * WAY))
    loop.advance(1.5).assert_near(START, 0.02)
    assert ended(first) == (ABORTED, -1, 'another goal has taken over')
    assert ended(second)[0] == SUCCEEDED
    _, result = send(request(way=9.0 + WAY))
    assert "joint 'joint1' at 9.3 is outside" in ended(result)[2]
    client.destroy()
