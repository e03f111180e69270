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

"""What all controllers share: a lifecycle node that answers every joint state with a command."""

from __future__ import annotations

from time import monotonic
from typing import Any

from builtin_interfaces.msg import Time
import numpy as np
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

from .description import declare_description, described_text, load_robot
from .health import ERROR, Health, OK, WARN
from .messages import JointMap, MessageError, nanoseconds
from .parameters import declare
from .qos import LATCHED, NEWEST, REQUEST, STREAM
from ..control.bounds import bounded
from ..control.trajectory import minimum_jerk

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class Controller(LifecycleNode):
    """
    Runs when a state arrives, takes time from its stamp, answers with the same stamp.

    Configure loads the robot, activate begins at the present pose, deactivate stops answering.
    A kind of controller says in `setup` what it needs of the robot, in `begin` how it starts from
    a state, and has its law in `self.law`.
    """

    def __init__(self, name: str) -> None:
        """Declare the common parameters and, with autostart, start as soon as there is a robot."""
        super().__init__(name)
        declare_description(self)
        self.state_timeout = declare(
            self, 'state_timeout', 0.1,
            'seconds without a state after which this is reported; more than that from stamp to '
            'stamp is a new beginning', 0.001, 3600.0)
        self.ramp_time = declare(
            self, 'ramp_time', 0.5,
            'seconds in which feedback grows from nothing to full after the start', 0.0, 60.0)
        self.carried = declare(
            self, 'robot_compensates_gravity', False,
            'the robot adds gravity torque itself: leave it out of the command')
        self.array_commands = declare(
            self, 'array_commands', False,
            "publish ~/commands as Float64MultiArray too, for ros2_control's "
            'forward_command_controller')
        self.autostart = declare(self, 'autostart', True, 'configure and activate by itself')
        self.robot: Any = None
        self.law: Any = None
        self.active = False
        self.q = self.v = np.zeros(0)
        self.t = 0.0
        self._epoch: int | None = None
        self._stamp = 0
        self._arrival = 0.0
        self._answered = 0
        self._reported = (monotonic(), 0)
        self._text = described_text(self)
        self.health = Health(self, self._report)
        if not self._text:
            self.create_subscription(String, 'robot_description', self._on_description, LATCHED)
        elif self.autostart:
            self._start()

    def setup(self) -> None:
        """Declare what depends on the robot and open topics; called by configure."""
        raise NotImplementedError

    def begin(self) -> None:
        """Make the law that holds the present state; t = 0, self.q, self.v are set."""
        raise NotImplementedError

    def publish_details(self, stamp: Time, tau: np.ndarray) -> None:
        """Publish more than the command, where somebody listens."""

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot and open the topics."""
        if not self._text:
            self.get_logger().error('cannot configure: no robot_description yet, neither as a '
                                    'parameter, nor as description_file, nor on the topic')
            return FAILURE
        try:
            self.robot = load_robot(self, self._text)
            self.joints = JointMap(self.robot)
            self.health.hardware = self.robot.name
            self._commands = self.create_publisher(JointState, 'joint_commands', STREAM)
            self._array = (self.create_publisher(Float64MultiArray, '~/commands', REQUEST)
                           if self.array_commands else None)
            self.setup()
            self._warm_up()
            self.create_subscription(JointState, 'joint_states', self._on_state, NEWEST)
        except Exception as error:
            # rclpy swallows what a transition raises: say it here
            self.get_logger().error(f'cannot configure: {error}')
            self._close()
            return FAILURE
        carrier = 'the robot' if self.carried else 'this controller'
        self.get_logger().info(f'{self.robot.name}: {self.robot.nv} joints '
                               f'({", ".join(self.joints.names)}); gravity is compensated by '
                               f'{carrier}')
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin with the next state that arrives."""
        self._epoch = None
        self._arrival = monotonic()
        self.active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop answering."""
        self.active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the topics and forget the robot."""
        self._close()
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop answering for good."""
        self.active = False
        return SUCCESS

    def beginning(self) -> int:
        """Return the stamp of t = 0 in ns; nothing can be asked of a controller before."""
        if not self.active or self._epoch is None:
            raise MessageError('the controller is not active or has seen no joint state')
        return self._epoch

    def _close(self) -> None:
        self.active = False
        self.robot = self.law = None
        for subscription in list(self.subscriptions):
            if not subscription.topic_name.endswith('robot_description'):
                self.destroy_subscription(subscription)
        for publisher in list(self.publishers):
            if publisher.topic_name.endswith('joint_commands') or \
                    publisher.topic_name.startswith(self.get_fully_qualified_name()):
                self.destroy_publisher(publisher)

    def _warm_up(self) -> None:
        """Compile what the loop calls now: the first states must not wait for it."""
        self.q, self.v = self.robot.neutral(), np.zeros(self.robot.nv)
        self.begin()
        self.law.torque(0.0, self.q, self.v)
        self.robot.bias_torque(self.q, self.v)
        self.robot.gravity_torque(self.q)

    def _start(self) -> None:
        if self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def _on_description(self, message: String) -> None:
        if self.robot is not None:
            if message.data != self._text:
                self.health.reject('robot_description', 'another robot is loaded; clean up first')
            return
        self._text = message.data
        if self.autostart:
            self._start()

    def _on_state(self, message: JointState) -> None:
        if not self.active:
            return
        try:
            self.q = self.joints.read(message, 'position')
            self.v = self.joints.read(message, 'velocity')
            self._answer(message.header.stamp)
        except MessageError as error:
            self.health.reject('joint_states', error)
        except ValueError as error:
            self.health.reject('command', error)

    def _answer(self, stamp: Time) -> None:
        ns = nanoseconds(stamp)
        gap = 1e-9 * (ns - self._stamp)
        if self._epoch is None or not 0.0 <= gap <= self.state_timeout:
            if self._epoch is not None:
                self.get_logger().warning(
                    (f'{gap:.3f} s between two states' if gap > 0.0 else 'time went back')
                    + ': holding the present pose')
            self._epoch, self.t = ns, 0.0
            self.begin()
        self._stamp, self._arrival = ns, monotonic()
        self.t = (ns - self._epoch) * 1e-9
        tau = self.law.torque(self.t, self.q, self.v)
        if self.t < self.ramp_time:
            # M a + (C v + g) with a growing from zero: bumpless whatever the law
            s = minimum_jerk(self.t / self.ramp_time)[0]
            tau = bounded(self.robot, s * tau + (1.0 - s) * self.robot.bias_torque(self.q, self.v),
                          self.t)
        if self.carried:
            tau = tau - self.robot.gravity_torque(self.q)
        self._commands.publish(self.joints.message(stamp, effort=tau))
        if self._array is not None:
            self._array.publish(Float64MultiArray(data=tau.tolist()))
        self._answered += 1
        self.publish_details(stamp, tau)

    def _report(self) -> tuple[bytes, str, dict[str, object]]:
        now = monotonic()
        before, answered = self._reported
        self._reported = (now, self._answered)
        values: dict[str, object] = {
            'active': self.active,
            'commands per second': f'{(self._answered - answered) / (now - before):.1f}'}
        if not self.active:
            return WARN, 'not active', values
        if now - self._arrival > self.state_timeout:
            return ERROR, f'no joint state for {now - self._arrival:.1f} s', values
        return OK, 'answering', values
