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

"""One recorded run of the demonstration over DDS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import sys
from threading import Event
from time import monotonic
from typing import Any, Callable

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import WrenchStamped
from multibody_ros import load_urdf
import numpy as np
from rcl_interfaces.srv import SetParametersAtomically
import rclpy
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .executor import make_executor
from .messages import JointMap, time_message
from .processes import interruption_noted, Processes
from .qos import REQUEST
from .recorder import Recorder
from ..control.trajectory import SineTrajectory
from ..resources import resource

CONTROLLER = 'computed_torque_controller'
#: seconds the processes get to find each other
PATIENCE = 30.0
#: seconds from the request to the motion's start: the request must arrive before
NOTICE = 0.5
#: waypoints of the motion per second
DENSITY = 10
#: when the arm gets a load and a push, as shares of the motion; how much, as shares of its mass
#: and weight
LOAD_AT, PUSH_AT, LOAD, PUSH = 0.4, 0.7, 0.05, 0.02
#: the motion may take this many times as long as it should, on a machine with other work
SLOWEST = 10.0


@dataclass(frozen=True)
class Result:
    """What was recorded: t in s, one row a state; rates in Hz, latencies in us."""

    robot: str
    joints: tuple[str, ...]
    prismatic: tuple[bool, ...]
    t: np.ndarray
    q: np.ndarray
    error: np.ndarray
    effort: np.ndarray
    rate: float
    wanted_rate: float
    answered: float
    latency: tuple[float, float]
    #: distance of the time between two states from the period: median, 99th percentile, largest
    jitter: tuple[float, float, float]
    real_time_factor: float
    #: kg, from which time on; N, at which time
    payload: tuple[float, float]
    push: tuple[float, float]


def record(description: Path | None, seconds: float, rate: float) -> Result:
    """Let simulator and controller follow a motion; they end whatever happens."""
    path = resource('urdf/arm7.urdf') if description is None else description.resolve()
    files = [resource('config/arm7.yaml')] if description is None else []
    robot = load_urdf(path)
    with interruption_noted() as interrupted, Processes() as processes:
        processes.start('simulator', {'description_file': path, 'update_rate': rate,
                                      'payload.ramp_time': 0.5}, files)
        processes.start(CONTROLLER, files=files)
        # our own handlers: an interruption must reach the code that ends the processes
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        try:
            run = _Run(robot, processes, interrupted)
            start, took = run.follow(seconds)
        finally:
            rclpy.try_shutdown()
    return run.evaluate(start, seconds, took, rate)


class _Run:
    """The recorder, the processes it watches, the motion."""

    def __init__(self, robot: Any, processes: Processes, interrupted: Event) -> None:
        self._robot = robot
        self._joints = JointMap(robot)
        self._processes = processes
        self._interrupted = interrupted
        self._recorder = Recorder()
        self._executor = make_executor()
        self._executor.add_node(self._recorder)
        self._requests = self._recorder.create_publisher(
            JointTrajectory, f'{CONTROLLER}/joint_trajectory', REQUEST)
        self._pushes = self._recorder.create_publisher(
            WrenchStamped, 'simulator/external_wrench', REQUEST)
        self._loads = [self._recorder.create_client(
            SetParametersAtomically, f'{node}/set_parameters_atomically')
            for node in ('simulator', CONTROLLER)]
        mass = float(np.sum(robot.parameters[::10]))
        self._load, self._force = LOAD * mass, PUSH * mass * 9.81

    def follow(self, seconds: float) -> tuple[int, float]:
        """Wait for the loop, let it follow the motion; return its first stamp, seconds taken."""
        recorder = self._recorder
        _say('waiting for simulator and controller ...')
        if not self._spin(lambda: min(recorder.count('joint_states'),
                                      recorder.count('joint_commands'),
                                      self._requests.get_subscription_count(),
                                      self._pushes.get_subscription_count(),
                                      *(x.service_is_ready() for x in self._loads)) > 0,
                          PATIENCE):
            raise RuntimeError(f'no control loop after {PATIENCE:g} s: '
                               f'{recorder.count("joint_states")} joint states and '
                               f'{recorder.count("joint_commands")} commands seen')
        # past the bumpless start
        self._spin(lambda: False, 1.0)
        here, q = recorder.last('joint_states', self._joints, 'position')
        self._motion = motion(self._robot, q, seconds)
        recorder.forget()
        began = monotonic()
        start = here + round(NOTICE * 1e9)
        self._requests.publish(_request(self._joints.names, self._motion, start))
        self._pushes.publish(self._push(start + round(PUSH_AT * seconds * 1e9)))
        end = start + round(seconds * 1e9)
        loaded = False
        while recorder.last_stamp('joint_states') < end:
            if monotonic() - began > SLOWEST * (NOTICE + seconds):
                raise RuntimeError(f'less than {seconds:g} s of motion after '
                                   f'{monotonic() - began:.0f} s')
            passed = max(0.0, 1e-9 * (recorder.last_stamp('joint_states') - start))
            if passed >= LOAD_AT * seconds and not loaded:
                loaded = True
                self._give_load()
            _say(f'{passed:.0f} of {seconds:g} s, {recorder.count("joint_states")} states, '
                 f'{recorder.count("joint_commands")} commands')
            self._spin(lambda: recorder.last_stamp('joint_states') >= end, 0.2)
        took = monotonic() - began
        _say('')
        return start, took

    def _give_load(self) -> None:
        """Let the robot carry a load from now on, and the controller know of it."""
        mass = Parameter('payload.mass', value=self._load).to_parameter_msg()
        for client in self._loads:
            client.call_async(SetParametersAtomically.Request(parameters=[mass]))

    def _push(self, stamp: int) -> WrenchStamped:
        message = WrenchStamped()
        message.header.stamp = time_message(stamp)
        message.header.frame_id = self._robot.link_names[-1]
        message.wrench.force.y = self._force
        return message

    def _spin(self, done: Callable[[], bool], limit: float) -> bool:
        end = monotonic() + limit
        while not done() and monotonic() < end:
            if self._interrupted.is_set():
                raise KeyboardInterrupt
            ended = self._processes.ended()
            if ended:
                raise RuntimeError(ended)
            self._executor.spin_once(timeout_sec=0.1)
        return done()

    def evaluate(self, start: int, seconds: float, took: float, rate: float) -> Result:
        """Compare the recorded states with the motion that was asked for."""
        recorder, joints = self._recorder, self._joints
        stamps, q = recorder.read('joint_states', joints, 'position')
        _, effort = recorder.read('joint_states', joints, 'effort')
        answers, _ = recorder.read('joint_commands', joints, 'effort')
        during = (stamps >= start) & (stamps <= start + round(seconds * 1e9))
        t = (stamps[during] - start) * 1e-9
        error = np.array([self._motion.sample(x)[0] for x in t]) - q[during]
        health = recorder.health.get('/simulator', {})
        p50, p99 = (float(health.get(f'round trip {p} us', 'nan')) for p in ('p50', 'p99'))
        kinds = {joint.name: joint.kind for joint in self._robot.model.joints}
        return Result(
            self._robot.name, tuple(joints.names),
            tuple(kinds[name] == 'prismatic' for name in joints.names), t, q[during], error,
            effort[during], len(stamps) / took, rate, float(np.isin(stamps, answers).mean()),
            (p50, p99), _jitter(recorder.arrivals['joint_states'], 1.0 / rate),
            1e-9 * float(stamps[-1] - stamps[0]) / took, (self._load, LOAD_AT * seconds),
            (self._force, PUSH_AT * seconds))


def _jitter(arrivals: list[float], period: float) -> tuple[float, float, float]:
    """Return how far the times between arrivals are from the period, in us."""
    off = 1e6 * np.abs(np.diff(arrivals) - period)
    p50, p99 = np.percentile(off, [50, 99])
    return float(p50), float(p99), float(off.max())


def motion(robot: Any, centre: np.ndarray, seconds: float) -> SineTrajectory:
    """Return sines of different frequencies about `centre`, within the limits."""
    limits = robot.limits
    room = 0.9 * np.minimum(limits.upper - centre, centre - limits.lower)
    frequency = np.linspace(0.25, 0.4, robot.nv)
    # half of the speed limit leaves room for the swelling of the sines
    fastest = 0.5 * limits.velocity / (2.0 * np.pi * frequency)
    amplitude = np.clip(np.minimum(np.minimum(room, fastest), 0.6), 0.0, None)
    return SineTrajectory(centre, amplitude, frequency, ramp=min(2.0, 0.5 * seconds),
                          duration=seconds)


def _request(names: list[str], reference: SineTrajectory, start: int) -> JointTrajectory:
    message = JointTrajectory(joint_names=names)
    message.header.stamp = time_message(start)
    seconds = reference.duration
    for t in np.linspace(0.0, seconds, round(seconds * DENSITY) + 1)[1:]:
        q, v, a = reference.sample(t)
        point = JointTrajectoryPoint(
            positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist())
        sec, nanosec = divmod(round(t * 1e9), 1_000_000_000)
        point.time_from_start = Duration(sec=sec, nanosec=nanosec)
        message.points.append(point)
    return message


def _say(text: str) -> None:
    """Show progress on one line, for people only."""
    if sys.stderr.isatty():
        print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)
