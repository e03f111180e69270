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

"""The simulated robot: joint commands in, joint states out, in real time or in lock-step."""

from __future__ import annotations

import sys
from time import time_ns
from typing import Any, Callable

from geometry_msgs.msg import WrenchStamped
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
from .messages import JointMap, MessageError
from .observers import Observers
from .pacing import FreeRunning, LockStep
from .parameters import declare, Tuning
from .payload import PayloadParameters
from .pushes import Pushes
from .qos import DEEP, LATCHED, NEWEST, REQUEST, STREAM
from .realtime import take_priority
from .simulator_options import (
    declare_mechanism, declare_physics, declare_sensors, declare_start, FAULTS)
from .wire import Reader
from ..control import MechanismHold, SafeHold
from ..simulation import Simulation
from ..simulation.closed import ConstrainedSimulation

#: the stamp of the first state in lock-step, in ns: the same in every run, and not zero, which
#: means now in requests and no time yet in clocks
BEGINNING = 1_000_000_000


class Simulator(Node):
    """
    Owns the robot's state. When it steps is the pacing's affair, see pacing.py.

    Modes: 'held' (the joints stand still until the first command), 'commanded', 'safe hold'
    (commands stopped: the weight is carried and the motion braked), 'failed' (the motion
    diverged; ~/reset starts anew). A state's stamp is the time the node started plus the time
    simulated since, so it goes on while held, stops while paused, and goes back on reset.
    """

    def __init__(self) -> None:
        """Declare parameters, load the robot, open the topics, start the clock."""
        super().__init__('simulator')
        take_priority(self)
        declare_description(self)
        text = described_text(self)
        if not text:
            raise ValueError('no robot: set the parameter robot_description (URDF text) or '
                             'description_file (a path, or urdf/arm7.urdf)')
        self.robot = load_robot(self, text)
        self.joints = JointMap(self.robot)
        self._declare()
        self._effort = (self.robot.limits.effort if self._physics.get('torque_limits', True)
                        else np.full(self.robot.nv, np.inf))
        self._limits = self._effort.tolist()
        self.payload.take_over(lambda name: self.get_parameter(name).value, 0.0)
        self.simulation = Simulation(self.robot, *self.initial, dt=self.period / self.substeps,
                                     **self._physics)
        self.hold = (MechanismHold if self.robot.constraints else SafeHold)(
            self.robot, self.hold_rate)
        self.tau = np.zeros(self.robot.nv)
        self._fault: str = self.get_parameter('sensors.fault').value
        self._warm_up()
        self.health = Health(self, self._report)
        self.health.hardware = self.robot.name
        self.mode = self._start_mode()
        self.paused: bool = declare(self, 'start_paused', False,
                                    'start with the clock stopped, see ~/pause')
        # not the node's clock: with use_sim_time that is the /clock made of these stamps
        self._epoch = BEGINNING if self._lockstep else time_ns()
        self.ticks = 0
        self._open(text)
        self.pacing = (LockStep if self._lockstep else FreeRunning)(self)
        self._tuning.now()
        self._tuning.ready = True
        self.get_logger().info(
            f'{self.robot.name}: {self.robot.nv} joints ({", ".join(self.joints.names)}), '
            f'{1.0 / self.period:g} Hz, {"paused" if self.paused else self.mode}')

    def _declare(self) -> None:
        self._tuning = Tuning(self, self._check, self._tune)
        rate = declare(self, 'update_rate', 1000.0, 'steps and joint states per second, in Hz',
                       1.0, 10_000.0)
        self.period = 1.0 / rate
        self.substeps: int = declare(self, 'substeps', 1,
                                     'integration steps from state to state', 1, 1000)
        self._lockstep = declare(
            self, 'lockstep', False,
            'step only when the command that answers the last state is there')
        self.hold_rate = declare(
            self, 'hold_rate', 10.0, 'braking rate of the safe hold in 1/s', 0.0, 0.5 * rate)
        self._start_held = declare(
            self, 'start_held', True, 'hold the joints still until the first command')
        self._publish_clock = declare(self, 'publish_clock', False, 'publish /clock')
        pushed = declare(
            self, 'wrench_link', self.robot.link_names[-1],
            'link prepared for ~/external_wrench, empty: none; another one halts the simulation '
            'for the moment that compiling takes')
        declare(self, 'wrench_duration', 0.1,
                'seconds for which a message on ~/external_wrench acts', 1e-4, 3600.0,
                changeable=True)
        declare(self, 'step_count', 1, 'steps that one call of ~/step takes', 1, 10**9,
                changeable=True)
        self.payload = PayloadParameters(self, self.robot, 0.0)
        sensors = declare_sensors(self)
        if self.robot.constraints:
            self._physics = {**declare_mechanism(self), 'sensors': sensors}
        else:
            self._physics = {**declare_physics(self, self.robot), 'sensors': sensors,
                             'wrenches': {pushed: np.zeros(6)} if pushed else {}}
        self.initial = declare_start(self, self.robot)

    def _check(self, value: Callable[[str], Any]) -> None:
        if value('sensors.fault') not in FAULTS:
            raise ValueError('sensors.fault must be one of: ' + ', '.join(FAULTS))
        self.payload.check(value)

    def _tune(self, value: Callable[[str], Any]) -> None:
        self.pacing.tune(value)
        self.payload.take_over(value, self.simulation.t)
        self._wrench_duration = value('wrench_duration')
        self._step_count = value('step_count')
        self._fault = value('sensors.fault')

    def _warm_up(self) -> None:
        """Compile what the loop calls now: the first steps must not wait for it."""
        simulation = self.simulation
        simulation.step(self.hold.torque(0.0, simulation.q, simulation.v))
        _ = simulation.joint_wrenches
        simulation.reset(*self.initial)

    def _open(self, text: str) -> None:
        # in lock-step a recorder shall miss nothing, however fast the steps are
        self._states = self.create_publisher(JointState, 'joint_states',
                                             DEEP if self._lockstep else STREAM)
        self._description = self.create_publisher(String, 'robot_description', LATCHED)
        self._description.publish(String(data=text))
        self._observers = Observers(self, self.robot, self._publish_clock)
        self._pushes = Pushes(self.robot)
        events = self.health.watch('joint_commands')
        self._read = Reader()
        self.create_subscription(JointState, 'joint_commands', self._on_command, NEWEST,
                                 event_callbacks=events, raw=True)
        self.create_subscription(Float64MultiArray, '~/commands', self._on_array, REQUEST)
        self.create_subscription(WrenchStamped, '~/external_wrench', self._on_wrench, REQUEST)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_service(Trigger, '~/step', self._on_step)

    def timer(self, period: float, callback: Callable[[], None]) -> Any:
        """Call back every `period` seconds of the wall, not of simulated time."""
        return self.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _start_mode(self) -> str:
        return 'held' if self._start_held or self._lockstep else 'safe hold'

    @property
    def stamp(self) -> int:
        """The present of the simulation in ns."""
        return self._epoch + round(self.ticks * self.period * 1e9)

    def advance(self, steps: int) -> None:
        """Let `steps` periods pass under the present command, or in the present hold."""
        simulation = self.simulation
        try:
            for _ in range(steps if self.mode != 'held' else 0):
                if self._pushes.pending:
                    self._pushes.apply(simulation, self.stamp)
                self.payload.advance(simulation.t)
                if self.mode == 'safe hold':
                    self.tau = self.hold.torque(simulation.t, simulation.q, simulation.v)
                simulation.step(self.tau, self.substeps)
                self.ticks += 1
        except (ValueError, FloatingPointError) as error:
            self.mode = 'failed'
            self.get_logger().error(f'{error}; call ~/reset to start anew')
        if self.mode == 'held':
            self.ticks += steps
            # encoders are noisy at rest too; in lock-step no time passes while held
            simulation.measure(steps * self.substeps)

    def publish(self) -> None:
        """Publish the measured state, and what else somebody listens to."""
        ns = self.stamp
        if self._fault != 'frozen':
            self._measured = self.simulation.measured
        q, v = self._measured
        if self._fault == 'nan':
            q = np.full_like(q, np.nan)
        if self._fault != 'silent':
            self._states.publish(self.joints.encoded(ns, position=q, velocity=v,
                                                     effort=self.tau))
        self._observers.publish(ns, self.simulation)

    def _on_command(self, data: bytes) -> None:
        ns, message = self._read(data)
        try:
            tau = self.joints.read(message, 'effort')
        except MessageError as error:
            self.health.reject('joint_commands', error)
            return
        self.pacing.command(tau, ns)

    def _on_array(self, message: Float64MultiArray) -> None:
        try:
            tau = np.array(message.data, dtype=np.float64)
            if len(tau) != self.robot.nv:
                raise MessageError(f'{len(tau)} numbers for {self.robot.nv} joints: '
                                   + ', '.join(self.joints.names))
            if self._lockstep:
                raise MessageError('in lock-step a command must carry the stamp of the state it '
                                   'answers: use joint_commands')
            self.pacing.command(self.joints.finite(tau, 'effort'), 0)
        except MessageError as error:
            self.health.reject('~/commands', error)

    def accept(self, tau: np.ndarray) -> None:
        """Take over a command; a drive gives no more than its effort limit."""
        for x, limit in zip(tau.tolist(), self._limits):
            # mostly there is nothing to do, and finding that out costs less than doing it
            if x > limit or -x > limit:
                tau = np.clip(tau, -self._effort, self._effort)
                break
        self.tau = tau
        if self.mode in ('held', 'safe hold'):
            self.get_logger().info(f'command received, {self.mode} ends')
            self.mode = 'commanded'

    def _on_wrench(self, message: WrenchStamped) -> None:
        try:
            self._pushes.add(message, self.stamp, self._wrench_duration)
            self.health.accept()
        except ValueError as error:
            self.health.reject('~/external_wrench', error)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.simulation.reset(*self.initial)
        self.payload.settle()
        self._pushes.clear()
        self.tau = np.zeros(self.robot.nv)
        self.ticks = 0
        self.mode = self._start_mode()
        self.pacing.restart()
        response.success = True
        response.message = f'back at the start, {"paused" if self.paused else self.mode}'
        return response

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if self.mode == 'failed':
            response.success, response.message = False, 'the motion diverged, call ~/reset'
            return response
        self.paused = request.data
        self.pacing.restart()
        response.success, response.message = True, 'paused' if self.paused else self.mode
        return response

    def _on_step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.paused and self.mode != 'failed'
        response.message = (f'{self._step_count} steps from stamp {self.stamp} ns'
                            if response.success else 'only a paused simulation can step')
        if response.success:
            self.pacing.step(self._step_count)
        return response

    def _report(self) -> tuple[bytes, str, dict[str, object]]:
        mode = 'paused' if self.paused else self.mode
        values: dict[str, object] = {
            'mode': mode, 'simulated time': f'{self.simulation.t:.3f}', **self.pacing.report()}
        if isinstance(self.simulation, ConstrainedSimulation):
            values['constraint residual'] = f'{self.simulation.residual:.1e}'
            values['constraint drift a step'] = f'{self.simulation.drift[0]:.1e}'
        if self.mode == 'failed':
            return ERROR, 'the motion diverged', {**values, 'mode': 'failed'}
        if self.count_publishers('joint_commands') > 1:
            return WARN, 'several publishers on joint_commands', values
        return (OK if mode == 'commanded' else WARN), mode, values


def main() -> int:
    """Run the node."""
    return run_node(Simulator)


if __name__ == '__main__':
    sys.exit(main())
