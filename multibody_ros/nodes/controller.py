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
from typing import Any, Callable

from builtin_interfaces.msg import Time
import numpy as np
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

from .anatomy import TermPublishers
from .description import declare_description, described_text, load_robot
from .guard import check_limits, declare_guard, safety, take_over_limits
from .health import ERROR, Health, OK, WARN
from .joint_states import JointStates
from .messages import JointMap, MessageError, time_message
from .parameters import declare, declare_names, Tuning, undeclare
from .payload import PayloadParameters
from .qos import LATCHED, NEWEST, REQUEST, STREAM
from .realtime import take_priority
from .wire import Reader

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


class Controller(LifecycleNode):
    """
    Runs when a state arrives, takes time from its stamp, answers with the same stamp.

    Configure loads the robot, activate begins at the present pose, deactivate stops answering.
    A kind of controller makes its law in `setup`, says in `begin` how it starts from a state and
    in `tune` how parameters get into the law.
    """

    def __init__(self, name: str) -> None:
        """Declare the common parameters and, with autostart, start as soon as there is a robot."""
        super().__init__(name)
        take_priority(self)
        declare_description(self)
        declare(self, 'state_timeout', 0.1,
                'seconds without a state after which this is reported; more than that from stamp '
                'to stamp is a new beginning', 0.001, 3600.0, changeable=True)
        self.carried = declare(
            self, 'robot_compensates_gravity', False,
            'the robot adds gravity torque itself: leave it out of the command')
        self.array_commands = declare(
            self, 'array_commands', False,
            "publish ~/commands as Float64MultiArray too, for ros2_control's "
            'forward_command_controller')
        self._chosen = declare_names(
            self, 'joints', 'joints to command, in the order of ~/commands; empty: all that move. '
            'The others are taken to be where joint_states saw them last')
        self.autostart = declare(self, 'autostart', True, 'configure and activate by itself')
        declare_guard(self)
        self._tuning = Tuning(self, self._check, self._take_over)
        self._lasting = self.get_parameters_by_prefix('').keys()
        self.robot: Any = None
        self.law: Any = None
        self.active = False
        self.q = self.v = np.zeros(0)
        self.t = 0.0
        self._mine: list[Callable[[], object]] = []
        self._epoch: int | None = None
        self._stamp = 0
        self._arrival = 0.0
        self._answered = 0
        self._told = ''
        self._reported = (monotonic(), 0)
        self._text = described_text(self)
        self.health = Health(self, self._report)
        if not self._text:
            self.create_subscription(String, 'robot_description', self._on_description, LATCHED,
                                     event_callbacks=self.health.watch('robot_description'))
        elif self.autostart:
            self._start()

    def setup(self) -> Any:
        """Declare what depends on the robot, open topics, return the law; part of configure."""
        raise NotImplementedError

    def begin(self) -> None:
        """Prepare the law to hold the present state; t = 0, self.q, self.v are set."""

    def tune(self, value: Callable[[str], Any]) -> None:
        """Take over parameters of this kind of controller; their ranges have been checked."""

    def publish_details(self, stamp: Time, tau: np.ndarray) -> None:
        """Publish more than the command `tau`, where somebody listens."""

    def send(self, kind: Any, topic: str, qos: QoSProfile = STREAM) -> Publisher:
        """Return a publisher that lives until the clean-up."""
        publisher = self.create_publisher(kind, topic, qos,
                                          event_callbacks=self.health.watch_listeners(topic))
        self._mine.append(lambda: self.destroy_publisher(publisher))
        return publisher

    def receive(self, kind: Any, topic: str, act: Callable[[Any], None], qos: QoSProfile,
                raw: bool = False) -> None:
        """
        Listen until the clean-up; what `act` raises ValueError for is refused and counted.

        raw: for the control loop, which gets the bytes, and whose messages are not requests.
        """
        def guarded(message: Any) -> None:
            try:
                act(message)
            except ValueError as error:
                self.health.reject(topic, error)
            else:
                if not raw:
                    self.health.accept()

        subscription = self.create_subscription(kind, topic, guarded, qos, raw=raw,
                                                event_callbacks=self.health.watch(topic))
        self._mine.append(lambda: self.destroy_subscription(subscription))

    def close_with(self, end: Callable[[], object]) -> None:
        """Call `end` at the clean-up."""
        self._mine.append(end)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot and open the topics."""
        if not self._text:
            self.get_logger().error('cannot configure: no robot_description yet, neither as a '
                                    'parameter, nor as description_file, nor on the topic')
            return FAILURE
        try:
            self.robot = load_robot(self, self._text)
            self.joints = JointMap(self.robot)
            self.commanded = JointMap(self.robot, self._chosen)
            self._states = JointStates(self.robot, self.commanded)
            self.health.hardware = self.robot.name
            self._commands = self.send(JointState, 'joint_commands')
            self._array = (self.send(Float64MultiArray, '~/commands', REQUEST)
                           if self.array_commands else None)
            self._terms = TermPublishers(self)
            self.payload = PayloadParameters(self, self.robot, 0.5)
            self.safety = safety(self, self.robot)
            self.law = self.setup()
            self._warm_up()
            self._tuning.now()
            self.payload.settle()
            self._tuning.ready = True
            service = self.create_service(Trigger, '~/resume', self._on_resume)
            self.close_with(lambda: self.destroy_service(service))
            self._read = Reader()
            self.receive(JointState, 'joint_states', self._on_state, NEWEST, raw=True)
        except Exception as error:
            # rclpy swallows what a transition raises: say it here
            self.health.reject('robot_description', error)
            self.get_logger().error(f'cannot configure: {error}')
            self._close()
            return FAILURE
        carrier = 'the robot' if self.carried else 'this controller'
        names = self.commanded.names
        self.get_logger().info(f'{self.robot.name}: {len(names)} of {self.robot.nv} joints '
                               f'({", ".join(names)}); gravity is compensated by {carrier}')
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin with the next state that arrives."""
        self._epoch = None
        self._arrival = monotonic()
        self._states.restart()
        self.active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop answering."""
        self.active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the topics, forget the robot and the parameters that depend on it."""
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
        if self.law.stopped:
            raise MessageError(f'the controller has stopped ({self.law.stopped}): call ~/resume')
        return self._epoch

    def _close(self) -> None:
        self.active = self._tuning.ready = False
        self.robot = self.law = None
        for end in self._mine:
            end()
        self._mine.clear()
        undeclare(self, self._lasting)

    def _warm_up(self) -> None:
        """Compile what the loop calls now: the first states must not wait for it."""
        self.q, self.v, self.t = self.robot.neutral(), np.zeros(self.robot.nv), 0.0
        self.begin()
        self.law.torque(0.0, self.q, self.v)
        self.robot.gravity_torque(self.q)

    def _start(self) -> None:
        if self.trigger_configure() == SUCCESS:
            self.trigger_activate()

    def _check(self, value: Callable[[str], Any]) -> None:
        self.payload.check(value)
        check_limits(value, self.robot)

    def _take_over(self, value: Callable[[str], Any]) -> None:
        self.payload.take_over(value, self.t)
        take_over_limits(value, self.robot, self.law)
        self.tune(value)
        self.state_timeout = value('state_timeout')

    def _on_description(self, message: String) -> None:
        if self.robot is not None:
            if message.data != self._text:
                self.health.reject('robot_description', 'another robot is loaded; clean up first')
            return
        self._text = message.data
        if self.autostart:
            self._start()

    def _on_resume(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._epoch = None
        response.success, response.message = True, 'holding the present pose'
        return response

    def _on_state(self, data: bytes) -> None:
        if not self.active:
            return
        ns, message = self._read(data)
        if not ns:
            raise MessageError('the stamp is zero: a controller takes its time from the states')
        if not self._states.take(message, ns):
            return
        self.q, self.v = self._states.q, self._states.v
        self._answer(ns)

    def _answer(self, ns: int) -> None:
        gap = 1e-9 * (ns - self._stamp)
        if self._epoch is None or not 0.0 <= gap <= self.state_timeout:
            if self._epoch is not None:
                self.get_logger().warning(
                    (f'{gap:.3f} s between two states' if gap > 0.0 else 'time went back')
                    + ': holding the present pose')
            self._epoch, self.t, self._told = ns, 0.0, ''
            self.payload.settle()
            self.law.start()
            self.begin()
        self._stamp, self._arrival = ns, monotonic()
        self.t = (ns - self._epoch) * 1e-9
        self.payload.advance(self.t)
        tau = self.law.torque(self.t, self.q, self.v)
        if self.law.stopped and not self._told:
            self._told = self.law.stopped
            self.get_logger().error(f'safe stop, call ~/resume to go on: {self._told}')
        if self.carried:
            tau = tau - self.robot.gravity_torque(self.q)
        tau = self.commanded.of(tau)
        self._commands.publish(self.commanded.encoded(ns, effort=tau))
        if self._array is not None:
            self._array.publish(Float64MultiArray(data=tau.tolist()))
        self._answered += 1
        stamp = time_message(ns)
        self._terms.publish(stamp)
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
        if self.law.stopped:
            return ERROR, f'safe stop: {self.law.stopped}', values
        if now - self._arrival > self.state_timeout:
            return ERROR, f'no joint state for {now - self._arrival:.1f} s', values
        if not self._chosen and self.count_publishers('joint_states') > 1:
            return WARN, 'several publishers on joint_states', values
        return OK, 'answering', values
