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

"""Nodes with a law in joint coordinates: they follow joint trajectories and references."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from builtin_interfaces.msg import Time
import numpy as np
from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from .controller import Controller
from .follow_action import FollowAction
from .messages import MessageError
from .observers import listened
from .parameters import declare, declare_per_joint
from .qos import REQUEST, TARGET
from .trajectory_request import followed
from ..control.trajectory import JointTrajectory

#: seconds in which a reference comes to rest on request
HALT = 0.5


class Accompanied:
    """
    A trajectory of some joints as a law for all of them follows it.

    The reference of the others, which somebody else moves, is the state they are in: they have no
    error that the joints at hand would have to make up for.
    """

    def __init__(self, own: JointTrajectory, controller: Controller) -> None:
        """Take the trajectory of the joints that the controller commands."""
        self._own, self._controller = own, controller
        self.times = own.times
        self.effort = None if own.effort is None else self._effort

    def sample(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return q, v, a of all joints."""
        seen, joints = self._controller, self._controller.commanded
        q, v, a = self._own.sample(t)
        return joints.among(q, seen.q), joints.among(v, seen.v), joints.among(a, 0.0 * seen.v)

    def _effort(self, t: float) -> np.ndarray:
        own: Any = self._own.effort
        return self._controller.commanded.among(own(t), 0.0 * self._controller.v)


class JointLawController(Controller):
    """Holds the pose it finds, then follows ~/joint_trajectory or ~/reference."""

    #: setting of the law: (parameter, what it is)
    gains: Mapping[str, tuple[str, str]] = {}

    def make_law(self) -> Any:
        """Return the law with its own gains."""
        raise NotImplementedError

    def setup(self) -> Any:
        """Make the law, declare its gains and open the topics."""
        self._horizon = declare(
            self, 'reference_time', 0.05,
            'seconds in which a message on ~/reference is reached', 0.001, 60.0)
        law = self.make_law()
        for setting, (pattern, description) in self.gains.items():
            declare_per_joint(self, pattern, self.robot.joint_names,
                              np.asarray(getattr(law, setting)).tolist(), description, 0.0, 1e9,
                              changeable=True)
        self._desired = self.send(JointState, '~/desired_state')
        self.receive(JointTrajectoryMessage, '~/joint_trajectory', self.follow, REQUEST)
        self.receive(JointState, '~/reference', self._on_reference, TARGET)
        self._action = FollowAction(self)
        return law

    def tune(self, value: Callable[[str], Any]) -> None:
        """Take over the gains."""
        for setting, (pattern, _) in self.gains.items():
            setattr(self.law, setting, [value(pattern.format(joint=joint))
                                        for joint in self.robot.joint_names])

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop answering, give up a goal."""
        self._action.end('the controller was deactivated')
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop answering for good, give up a goal."""
        if self.active:
            self._action.end('the controller was shut down')
        return super().on_shutdown(state)

    def begin(self) -> None:
        """Hold the present pose."""
        self._action.end('the controller begins anew, at the pose it finds')
        self._take(JointTrajectory([0.0], [self.commanded.of(self.q)]))

    def follow(self, message: JointTrajectoryMessage) -> None:
        """Take over a trajectory, from the present reference on."""
        epoch = self.beginning()
        self._take(followed(message, self.commanded, self.robot, self._reference, self.t, epoch))

    def halt(self) -> None:
        """Bring the reference to rest."""
        q, v, _ = self._reference.sample(self.t)
        goal = JointTrajectory([self.t + HALT], [self._rest(q, v)], [0.0 * v], [0.0 * v])
        self._take(self._reference.replaced(self.t, goal))

    def _take(self, reference: JointTrajectory) -> None:
        """Let the law follow a trajectory of the joints that are commanded."""
        self._reference = reference
        self.law.trajectory = (reference if self.commanded.places is None
                               else Accompanied(reference, self))

    def _rest(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return where a joint at `q` with velocity `v` comes to rest."""
        limits = self.robot.limits
        return np.clip(q + 0.5 * HALT * v, *map(self.commanded.of, (limits.lower, limits.upper)))

    def publish_details(self, stamp: Time, tau: np.ndarray) -> None:
        """Publish the reference the command was made for."""
        self._action.watch(stamp)
        if listened(self._desired):
            q, v, _ = self._reference.sample(self.t)
            self._desired.publish(self.commanded.message(stamp, position=q, velocity=v,
                                                         effort=tau))

    def _on_reference(self, message: JointState) -> None:
        self.beginning()
        joints, limits = self.commanded, self.robot.limits
        q = joints.read(message, 'position')
        v = joints.read(message, 'velocity') if len(message.velocity) else np.zeros_like(q)
        lower, upper = joints.of(limits.lower), joints.of(limits.upper)
        outside = (q < lower) | (q > upper)
        if outside.any():
            k = int(np.argmax(outside))
            raise MessageError(f'joint {joints.names[k]!r} at {q[k]:g} is outside '
                               f'{lower[k]:g} to {upper[k]:g}')
        # where no other reference follows, the motion comes to rest
        reached, none = self.t + self._horizon, np.zeros_like(q)
        goal = JointTrajectory([reached, reached + HALT], [q, self._rest(q, v)], [v, none],
                               [none, none])
        self._take(self._reference.replaced(self.t, goal, continuous=joints.turning))
