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

"""The simulated robot: joint commands in, joint states out, in real time."""

from __future__ import annotations

from collections import deque
import sys
from time import monotonic

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

from .description import declare_description, described_text, load_robot
from .executor import run_node
from .health import ERROR, Health, OK, WARN
from .messages import JointMap, MessageError, nanoseconds, time_message
from .parameters import declare, declare_per_joint
from .qos import LATCHED, NEWEST, REQUEST, STREAM
from ..control import SafeHold
from ..simulation import Simulation
from ..simulation.closed import ConstrainedSimulation


class Simulator(Node):
    """
    Owns the robot's state and steps it in real time.

    Modes: 'held' (the joints stand still until the first command), 'commanded', 'safe hold'
    (commands stopped: the weight is carried and the motion braked), 'paused', 'failed' (the
    motion diverged; ~/reset starts anew). A state's stamp is the time the node started plus the
    time simulated since, so it goes on while held, stops while paused, and goes back on reset.
    """

    def __init__(self) -> None:
        """Declare parameters, load the robot, open the topics, start the clock."""
        super().__init__('simulator')
        declare_description(self)
        text = described_text(self)
        if not text:
            raise ValueError('no robot: set the parameter robot_description (URDF text) or '
                             'description_file (a path, or urdf/arm7.urdf)')
        self.robot = load_robot(self, text)
        self.joints = JointMap(self.robot)
        self._declare()
        self.simulation = Simulation(self.robot, self.initial, dt=self.period, damping=False,
                                     friction=False)
        self.hold = SafeHold(self.robot, self.hold_rate)
        self._warm_up()
        self.health = Health(self, self._report)
        self.health.hardware = self.robot.name
        self.mode = 'paused' if self.start_paused else self._start_mode()
        self.tau = np.zeros(self.robot.nv)
        self._epoch = self.get_clock().now().nanoseconds
        self._ticks = 0
        self._command_time = monotonic()
        self._anchor = monotonic()
        self._dropped = 0
        self._reported = (monotonic(), 0)
        self._sent = (0, 0.0)
        self._round_trips: deque[float] = deque(maxlen=20_000)
        self._open(text)

    def _declare(self) -> None:
        rate = declare(self, 'update_rate', 1000.0, 'steps and joint states per second, in Hz',
                       1.0, 10_000.0)
        self.period = 1.0 / rate
        self.command_timeout = declare(
            self, 'command_timeout', 0.1,
            'seconds without a command after which the safe hold begins', 0.001, 3600.0)
        self.hold_rate = declare(
            self, 'hold_rate', 10.0, 'braking rate of the safe hold in 1/s', 0.0, 0.5 * rate)
        self.catch_up = declare(
            self, 'catch_up', 0.05,
            'seconds of delay made up for by stepping faster; what is more is dropped', 0.0, 10.0)
        self.start_held = declare(
            self, 'start_held', True, 'hold the joints still until the first command')
        self.start_paused = declare(
            self, 'start_paused', False, 'start with the clock stopped, see ~/pause')
        ranges = zip(self.robot.limits.lower.tolist(), self.robot.limits.upper.tolist())
        self.initial = np.array(declare_per_joint(
            self, 'initial_positions.{joint}', self.robot.joint_names,
            [0.0 if low <= 0.0 <= high else 0.5 * (low + high) for low, high in ranges],
            'position at the start in rad or m; 0, or the middle where 0 is beyond the limits',
            -1e6, 1e6))

    def _warm_up(self) -> None:
        """Compile what the loop calls now: the first steps must not wait for it."""
        self.simulation.step(self.hold.torque(0.0, self.simulation.q, self.simulation.v))
        self.simulation.reset(self.initial)

    def _open(self, text: str) -> None:
        self._states = self.create_publisher(JointState, 'joint_states', STREAM)
        self._description = self.create_publisher(String, 'robot_description', LATCHED)
        self._description.publish(String(data=text))
        self.create_subscription(JointState, 'joint_commands', self._on_command, NEWEST)
        self.create_subscription(Float64MultiArray, '~/commands', self._on_array, REQUEST)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_timer(self.period, self._tick,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.get_logger().info(
            f'{self.robot.name}: {self.robot.nv} joints ({", ".join(self.joints.names)}), '
            f'{1.0 / self.period:g} Hz, {self.mode}')

    def _start_mode(self) -> str:
        return 'held' if self.start_held else 'safe hold'

    def _tick(self) -> None:
        """Step as often as is due: rclpy drops timer ticks that come late."""
        if self.mode in ('paused', 'failed'):
            return
        now = monotonic()
        due = int((now - self._anchor) / self.period + 0.5)
        cap = max(1, int(self.catch_up / self.period))
        if due > cap:
            self._dropped += due - cap
            self._anchor += (due - cap) * self.period
            due = cap
        if due == 0:
            return
        self._anchor += due * self.period
        if self.mode == 'commanded' and now - self._command_time > self.command_timeout:
            self.mode = 'safe hold'
            self.get_logger().warning(
                f'no command for {self.command_timeout:g} s: safe hold, gravity and damping')
        self._advance(due)
        if self.mode != 'failed':
            self._publish()

    def _advance(self, steps: int) -> None:
        simulation = self.simulation
        try:
            if self.mode == 'commanded':
                simulation.step(self.tau, steps)
            elif self.mode == 'safe hold':
                for _ in range(steps):
                    self.tau = self.hold.torque(simulation.t, simulation.q, simulation.v)
                    simulation.step(self.tau)
        except (ValueError, FloatingPointError) as error:
            self.mode = 'failed'
            self.get_logger().error(f'{error}; call ~/reset to start anew')
        self._ticks += steps

    def _publish(self) -> None:
        stamp = self._epoch + round(self._ticks * self.period * 1e9)
        self._states.publish(self.joints.message(
            time_message(stamp), position=self.simulation.q, velocity=self.simulation.v,
            effort=self.tau))
        self._sent = (stamp, monotonic())

    def _on_command(self, message: JointState) -> None:
        try:
            tau = self.joints.read(message, 'effort')
        except MessageError as error:
            self.health.reject('joint_commands', error)
            return
        stamp, sent = self._sent
        if nanoseconds(message.header.stamp) == stamp:
            self._round_trips.append(monotonic() - sent)
        self._accept(tau)

    def _on_array(self, message: Float64MultiArray) -> None:
        try:
            tau = np.array(message.data, dtype=np.float64)
            if len(tau) != self.robot.nv:
                raise MessageError(f'{len(tau)} numbers for {self.robot.nv} joints: '
                                   + ', '.join(self.joints.names))
            self._accept(self.joints.finite(tau, 'effort'))
        except MessageError as error:
            self.health.reject('~/commands', error)

    def _accept(self, tau: np.ndarray) -> None:
        """Take over a command; a drive gives no more than its effort limit."""
        self.tau = np.clip(tau, -self.robot.limits.effort, self.robot.limits.effort)
        self._command_time = monotonic()
        if self.mode in ('held', 'safe hold'):
            self.get_logger().info(f'command received, {self.mode} ends')
            self.mode = 'commanded'

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.simulation.reset(self.initial)
        self.tau = np.zeros(self.robot.nv)
        self._ticks = 0
        self._anchor = monotonic()
        self.mode = 'paused' if self.mode == 'paused' else self._start_mode()
        response.success, response.message = True, f'back at the start, {self.mode}'
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self.mode == 'failed':
            response.success, response.message = False, 'the motion diverged, call ~/reset'
            return response
        if request.data:
            self.mode = 'paused'
        elif self.mode == 'paused':
            self.mode = self._start_mode() if self.simulation.t == 0.0 else 'safe hold'
            self._anchor = monotonic()
        response.success, response.message = True, self.mode
        return response

    def _report(self) -> tuple[bytes, str, dict[str, object]]:
        now, ticks = monotonic(), self._ticks
        before, ticks_before = self._reported
        self._reported = (now, ticks)
        values: dict[str, object] = {
            'mode': self.mode, 'simulated time': f'{self.simulation.t:.3f}',
            'steps per second': f'{(ticks - ticks_before) / (now - before):.1f}',
            'steps dropped': self._dropped}
        if isinstance(self.simulation, ConstrainedSimulation):
            values['constraint residual'] = f'{self.simulation.residual:.1e}'
            values['constraint drift a step'] = f'{self.simulation.drift[0]:.1e}'
        if self._round_trips:
            p50, p99 = 1e6 * np.percentile(np.array(self._round_trips), [50, 99])
            values['round trip p50 us'], values['round trip p99 us'] = f'{p50:.0f}', f'{p99:.0f}'
        if self.mode == 'failed':
            return ERROR, 'the motion diverged', values
        if self.count_publishers('joint_commands') > 1:
            return WARN, 'several publishers on joint_commands', values
        return (OK if self.mode == 'commanded' else WARN), self.mode, values


def main() -> int:
    """Run the node."""
    return run_node(Simulator)


if __name__ == '__main__':
    sys.exit(main())
