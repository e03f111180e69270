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
from time import monotonic
from typing import Any, Callable

from builtin_interfaces.msg import Duration
from multibody_ros import load_urdf
import numpy as np
import rclpy
from rclpy.signals import SignalHandlerOptions
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from .executor import make_executor
from .messages import JointMap
from .processes import Processes
from .qos import REQUEST
from .recorder import Recorder
from ..control.trajectory import SineTrajectory

CONTROLLER = 'computed_torque_controller'
#: seconds the processes get to find each other
PATIENCE = 30.0
#: waypoints of the motion per second
DENSITY = 10


@dataclass(frozen=True)
class Result:
    """What was recorded: t in s, one row a state, in rad or N m; rates in Hz, latencies in us."""

    joints: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    error: np.ndarray
    effort: np.ndarray
    rate: float
    wanted_rate: float
    answered: float
    latency: tuple[str, str]


def motion(robot: Any, seconds: float) -> SineTrajectory:
    """Return sines of different frequencies in the middle of the joint ranges."""
    limits = robot.limits
    middle = 0.5 * (limits.lower + limits.upper)
    centre = np.where(np.isfinite(middle), middle, 0.0)
    room = np.minimum(0.4 * (limits.upper - limits.lower), 0.6)
    return SineTrajectory(centre, room, np.linspace(0.25, 0.4, robot.nv),
                          ramp=min(2.0, 0.5 * seconds), duration=seconds)


def record(description: Path, seconds: float, rate: float) -> Result:
    """Let simulator and controller follow the motion; they end whatever happens."""
    robot = load_urdf(description)
    joints = JointMap(robot)
    reference = motion(robot, seconds)
    parameters = {'description_file': description.resolve(), 'update_rate': float(rate)}
    parameters.update({f'initial_positions.{name}': float(x)
                       for name, x in zip(joints.names, reference.centre)})
    with Processes() as processes:
        processes.start('simulator', parameters)
        processes.start(CONTROLLER, {})
        # our own handlers: Ctrl-C must reach the code that ends the processes
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        recorder = Recorder(CONTROLLER)
        executor = make_executor()
        executor.add_node(recorder)

        def spin(done: Callable[[], bool], limit: float) -> bool:
            end = monotonic() + limit
            while not done() and monotonic() < end:
                ended = processes.ended()
                if ended:
                    raise RuntimeError(ended)
                executor.spin_once(timeout_sec=0.1)
            return done()

        try:
            _say('waiting for simulator and controller ...')
            if not spin(lambda: recorder.count('desired_state') > 0, PATIENCE):
                raise RuntimeError(f'no control loop after {PATIENCE:g} s: '
                                   f'{recorder.count("joint_states")} joint states and '
                                   f'{recorder.count("joint_commands")} commands seen')
            publisher = recorder.create_publisher(
                JointTrajectory, f'{CONTROLLER}/joint_trajectory', REQUEST)
            if not spin(lambda: publisher.get_subscription_count() > 0, PATIENCE):
                raise RuntimeError(f'{CONTROLLER} does not listen to ~/joint_trajectory')
            # past the bumpless start, and a full report of the rate
            spin(lambda: False, 1.0)
            recorder.forget()
            begin = monotonic()
            publisher.publish(_message(joints.names, reference, seconds))
            for second in range(int(seconds)):
                _say(f'{second} of {seconds:g} s, {recorder.count("joint_states")} states, '
                     f'{recorder.count("joint_commands")} commands')
                spin(lambda: False, begin + second + 1 - monotonic())
            spin(lambda: False, begin + seconds + 0.2 - monotonic())
            took = monotonic() - begin
            _say('')
        finally:
            recorder.destroy_node()
            rclpy.try_shutdown()
    return _evaluate(recorder, joints, took, rate)


def _evaluate(recorder: Recorder, joints: JointMap, took: float, rate: float) -> Result:
    stamps, q = recorder.read('joint_states', joints, 'position')
    _, effort = recorder.read('joint_states', joints, 'effort')
    answers, desired = recorder.read('desired_state', joints, 'position')
    if not len(answers):
        raise RuntimeError('the controller never answered')
    both, of_state, of_answer = np.intersect1d(stamps, answers, return_indices=True)
    if not len(both):
        raise RuntimeError('no command answers a recorded state')
    health = recorder.health.get('/simulator', {})
    latency = tuple(health.get(f'round trip {p} us', 'unknown') for p in ('p50', 'p99'))
    return Result(tuple(joints.names), (both - both[0]) * 1e-9, q[of_state],
                  desired[of_answer] - q[of_state], effort[of_state], len(stamps) / took, rate,
                  len(both) / len(stamps), (latency[0], latency[1]))


def _message(names: list[str], reference: SineTrajectory, seconds: float) -> JointTrajectory:
    message = JointTrajectory(joint_names=names)
    for t in np.linspace(0.0, seconds, round(seconds * DENSITY) + 1)[1:]:
        q, v, a = reference.sample(t)
        point = JointTrajectoryPoint(
            positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist())
        point.time_from_start = Duration(sec=int(t), nanosec=round((t % 1.0) * 1e9))
        message.points.append(point)
    return message


def _say(text: str) -> None:
    """Show progress on one line, for people only."""
    if sys.stderr.isatty():
        print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)
