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

"""The FollowJointTrajectory action, where control_msgs is installed (it is not on PyPI)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Sequence

from builtin_interfaces.msg import Time
import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse

from .messages import MessageError, nanoseconds

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

NAME = '~/follow_joint_trajectory'
#: error codes of the action's result
SUCCESSFUL, INVALID_GOAL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = 0, -1, -4, -5
#: m and rad within which a goal counts as reached where it does not say, a tenth of the tracking
#: errors at which laws stop; friction leaves errors that a tighter one would take for failures
LINEAR, ANGULAR = 0.01, 0.05
#: seconds a goal may take beyond its time where it does not say
PATIENCE = 2.0
#: seconds of the states' time from feedback to feedback
FEEDBACK = 0.05


class DeferredServer(ActionServer):
    """
    Marks a goal as executing and runs nothing until there is a result.

    The usual coroutine that awaits the result would be asked in vain by the executor whenever
    it has nothing else to do: measured, the node took nearly three times its processor time.
    """

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Run what brings the result, nothing at the acceptance."""
        if execute_callback is not None:
            super().notify_execute(goal_handle, execute_callback)


@dataclass
class Goal:
    """What is being followed; tolerances one a joint that is commanded, in their order."""

    handle: Any
    trajectory: Any
    path: np.ndarray
    goal: np.ndarray
    patience: float
    #: t of the next feedback
    due: float


def verdict(t: float, end: float, names: Sequence[str], error: np.ndarray, goal: Goal,
            stopped: str) -> tuple[int, str] | None:
    """Return error code and text once a goal is over, None while it goes on."""
    size = np.abs(error)
    if stopped:
        return PATH_TOLERANCE_VIOLATED, stopped
    for code, allowed, due, where in (
            (PATH_TOLERANCE_VIOLATED, goal.path, t <= end, 'on the way'),
            (GOAL_TOLERANCE_VIOLATED, goal.goal, t > end + goal.patience,
             f'{goal.patience:g} s after the end')):
        if due and (size > allowed).any():
            k = int(np.argmax(size > allowed))
            return code, (f'joint {names[k]!r} is {size[k]:.3g} off {where}, allowed is '
                          f'{allowed[k]:g}')
    if t >= end and (size <= goal.goal).all():
        return SUCCESSFUL, f'reached, largest error {size.max():.3g}'
    return None


def tolerances(field: str, given: Any, names: Sequence[str], defaults: np.ndarray) -> np.ndarray:
    """Return position tolerances by joint; 0 leaves the default, a negative one allows all."""
    allowed = defaults.copy()
    for item in given:
        if item.name not in names:
            raise MessageError(f'{field} names joint {item.name!r}, there are only: '
                               + ', '.join(names))
        if not np.isfinite([item.position, item.velocity, item.acceleration]).all():
            raise MessageError(f'{field} of joint {item.name!r} is not finite')
        if item.velocity > 0.0 or item.acceleration > 0.0:
            raise MessageError(f'{field} of joint {item.name!r} limits velocity or acceleration: '
                               'only positions are checked')
        if item.position:
            allowed[names.index(item.name)] = item.position if item.position > 0.0 else np.inf
    return allowed


class FollowAction:
    """Serves ~/follow_joint_trajectory; without control_msgs one line says it does not."""

    def __init__(self, controller: Any) -> None:
        """Open the action."""
        self._controller = controller
        self._goal: Goal | None = None
        if FollowJointTrajectory is None:
            controller.get_logger().info(
                f'no {NAME} action: control_msgs is not installed')
            return
        sliding = {j.name for j in controller.robot.model.joints if j.kind == 'prismatic'}
        self._reached = np.array([LINEAR if name in sliding else ANGULAR
                                  for name in controller.commanded.names])
        self._server = DeferredServer(
            controller, FollowJointTrajectory, NAME, self._begin, goal_callback=self._on_goal,
            handle_accepted_callback=self._begin,
            cancel_callback=lambda _: CancelResponse.ACCEPT)
        controller.close_with(self._server.destroy)

    def watch(self, stamp: Time) -> None:
        """Look after every state whether the goal is over."""
        if self._goal is None:
            return
        goal, controller = self._goal, self._controller
        law = controller.law
        if law.trajectory is not goal.trajectory:
            self.end('another trajectory has taken over')
        elif goal.handle.is_cancel_requested:
            controller.halt()
            self.end('cancelled')
        else:
            result = verdict(controller.t, float(goal.trajectory.times[-1]),
                             controller.commanded.names, controller.commanded.of(law.error),
                             goal, law.stopped)
            if controller.t >= goal.due - 1e-9 or result is not None:
                goal.due = controller.t + FEEDBACK
                goal.handle.publish_feedback(self._feedback(stamp))
            if result is not None:
                self._goal = None
                self._answer(goal.handle, *result)

    def end(self, reason: str) -> None:
        """Give up the present goal, if there is one."""
        goal, self._goal = self._goal, None
        if goal is not None:
            self._answer(goal.handle, INVALID_GOAL, reason)

    def _on_goal(self, _: Any) -> GoalResponse:
        try:
            self._controller.beginning()
        except MessageError as error:
            self._controller.health.reject(NAME, error)
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _begin(self, handle: Any) -> None:
        handle.execute()
        controller, request = self._controller, handle.request
        names = controller.commanded.names
        try:
            if request.multi_dof_trajectory.points:
                raise MessageError('multi_dof_trajectory has points, there are only joints of '
                                   'one coordinate: ' + ', '.join(names))
            path = tolerances('path_tolerance', request.path_tolerance, names,
                              np.full(len(names), np.inf))
            reached = tolerances('goal_tolerance', request.goal_tolerance, names, self._reached)
            controller.follow(request.trajectory)
        except ValueError as error:
            # a refusal before the acceptance could not say why
            controller.health.reject(NAME, error)
            self._answer(handle, INVALID_GOAL, str(error))
            return
        controller.health.accept()
        self.end('another goal has taken over')
        patience = 1e-9 * nanoseconds(request.goal_time_tolerance)
        self._goal = Goal(handle, controller.law.trajectory, path, reached,
                          patience if patience > 0.0 else PATIENCE, controller.t)

    def _answer(self, handle: Any, code: int, text: str) -> None:
        """End a goal with a result."""
        def finish(handle: Any) -> Any:
            if code == SUCCESSFUL:
                handle.succeed()
            elif handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return FollowJointTrajectory.Result(error_code=code, error_string=text)

        self._server.notify_execute(handle, finish)

    def _feedback(self, stamp: Time) -> Any:
        controller, joints = self._controller, self._controller.commanded
        q, v, _ = controller.law.trajectory.sample(controller.t)
        feedback = FollowJointTrajectory.Feedback(joint_names=joints.names)
        feedback.header.stamp = stamp
        for point, positions, velocities in (
                (feedback.desired, q, v), (feedback.actual, controller.q, controller.v),
                (feedback.error, controller.law.error, v - controller.v)):
            point.positions = joints.of(positions).tolist()
            point.velocities = joints.of(velocities).tolist()
        return feedback
