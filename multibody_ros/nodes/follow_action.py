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

from typing import Any

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.task import Future

try:
    from control_msgs.action import FollowJointTrajectory
except ImportError:
    FollowJointTrajectory = None

#: error codes of the action's result
SUCCESSFUL, INVALID_GOAL, GOAL_TOLERANCE_VIOLATED = 0, -1, -5
#: rad or m within which a goal counts as reached, and seconds it may take beyond its time
TOLERANCE, PATIENCE = 0.01, 2.0


def verdict(t: float, end: float, error: float, tolerance: float, patience: float,
            stopped: str) -> tuple[int, str] | None:
    """Return error code and text once a goal is over, None while it goes on."""
    if stopped:
        return GOAL_TOLERANCE_VIOLATED, stopped
    if t >= end and error <= tolerance:
        return SUCCESSFUL, f'reached, error {error:.3g}'
    if t > end + patience:
        return GOAL_TOLERANCE_VIOLATED, (f'error {error:.3g} is still above {tolerance:g} '
                                         f'{patience:g} s after the end')
    return None


class FollowAction:
    """Serves ~/follow_joint_trajectory; without control_msgs one line says it does not."""

    def __init__(self, controller: Any) -> None:
        """Open the action."""
        self._controller = controller
        self._goal: tuple[Any, Any, Future] | None = None
        if FollowJointTrajectory is None:
            controller.get_logger().info(
                'no ~/follow_joint_trajectory action: control_msgs is not installed')
            return
        server = ActionServer(
            controller, FollowJointTrajectory, '~/follow_joint_trajectory', self._execute,
            goal_callback=lambda _: GoalResponse.ACCEPT if controller.active
            else GoalResponse.REJECT,
            cancel_callback=lambda _: CancelResponse.ACCEPT)
        controller.close_with(server.destroy)

    def watch(self) -> None:
        """Look after every state whether the goal is over."""
        if self._goal is None:
            return
        handle, trajectory, over = self._goal
        controller = self._controller
        law = controller.law
        if law.trajectory is not trajectory:
            result: tuple[int, str] | None = (INVALID_GOAL, 'another trajectory has taken over')
        elif handle.is_cancel_requested:
            controller.halt()
            result = (INVALID_GOAL, 'cancelled')
        else:
            result = verdict(controller.t, float(trajectory.times[-1]),
                             float(np.abs(law.error).max()),
                             *_tolerances(handle.request), law.stopped)
        if result is not None:
            self._goal = None
            over.set_result(result)

    async def _execute(self, handle: Any) -> Any:
        result = FollowJointTrajectory.Result()
        try:
            self._controller.follow(handle.request.trajectory)
        except ValueError as error:
            result.error_code, result.error_string = INVALID_GOAL, str(error)
            handle.abort()
            return result
        if self._goal is not None:
            self._goal[2].set_result((INVALID_GOAL, 'another goal has taken over'))
        over = Future()
        self._goal = (handle, self._controller.law.trajectory, over)
        result.error_code, result.error_string = await over
        if result.error_code == SUCCESSFUL:
            handle.succeed()
        elif handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        return result


def _tolerances(goal: Any) -> tuple[float, float]:
    """Return the goal's tolerance and time, ours where it leaves them open."""
    given = [t.position for t in goal.goal_tolerance if t.position > 0.0]
    time = goal.goal_time_tolerance.sec + 1e-9 * goal.goal_time_tolerance.nanosec
    return (min(given) if given else TOLERANCE), (time if time > 0.0 else PATIENCE)
