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
Tests of controllers, anybody's: a simulated robot in lock-step, in a ROS domain of its own.

In a test file: pytest_plugins = ['multibody_ros.testing'], then use the fixture `bench`. The
simulator waits for the answer to every state, so that a test gives the same numbers on a slow
machine, on a fast one, and twice in a row. See docs/nodes.md for an example.
"""

from __future__ import annotations

from dataclasses import dataclass
import os
from pathlib import Path
import sys
from time import monotonic
from typing import Any, Callable, Iterator, Sequence
import warnings

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
import numpy as np
import pytest
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from . import load_urdf
from .nodes.executor import make_executor
from .nodes.messages import JointMap, nanoseconds, time_message, wrench_message
from .nodes.processes import free_domain, Processes
from .nodes.qos import DEEP
from .resources import resource

with warnings.catch_warnings():
    # lark, as the ROS wheels pin it, imports a module that Python deprecates
    warnings.simplefilter('ignore', DeprecationWarning)
    import rosidl_generator_py  # noqa: F401

#: seconds to wait for anything: the machine may be busy with other work
PATIENCE = 40.0
#: steps taken without waiting for the log: fewer than a topic keeps for those who are late
AT_ONCE = 500


@dataclass(frozen=True)
class Log:
    """What happened: one row a state, joints in the robot's order, t in s since the start."""

    joints: tuple[str, ...]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    effort: np.ndarray

    def assert_near(self, q: Any, tolerance: float) -> None:
        """Fail unless the last positions are within `tolerance` of `q`."""
        for name, error in zip(self.joints, self.q[-1] - np.asarray(q)):
            assert abs(error) <= tolerance, (  # noqa: S101
                f'joint {name!r} is off by {error:.4g} at {self.t[-1]:g} s, allowed is '
                f'{tolerance:g}')

    def assert_at_rest(self, speed: float = 1e-3) -> None:
        """Fail unless every joint is slower than `speed` at the end."""
        for name, v in zip(self.joints, self.v[-1]):
            assert abs(v) <= speed, (  # noqa: S101
                f'joint {name!r} still moves at {v:.4g}, allowed is {speed:g}')


class Bench(Processes):
    """Starts nodes, talks with them, and ends them."""

    def __init__(self, logs: Path) -> None:
        """Take a free domain of this machine, and a folder for the logs."""
        super().__init__()
        self.domain = free_domain()
        settings = {'ROS_DOMAIN_ID': str(self.domain), 'ROS_LOG_DIR': str(logs),
                    'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
        self._before = {name: os.environ.get(name) for name in settings}
        os.environ.update(settings)
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node('tester')
        self.executor = make_executor()
        self.executor.add_node(self.node)
        self.states: list[JointState] = self.listen(JointState, 'joint_states')
        self.reports: list[DiagnosticArray] = self.listen(DiagnosticArray, '/diagnostics')
        self.robot: Any = None
        self._clients: dict[str, Any] = {}

    def simulate(self, description: str | Path, files: Sequence[Path] = (),
                 **parameters: Any) -> Any:
        """Start the simulator, in lock-step and paused, and return its robot, its gravity too."""
        path = Path(description) if Path(description).is_file() else resource(str(description))
        self.start('simulator', {'description_file': path, 'lockstep': True,
                                 'start_paused': True, **parameters}, files)
        self._commands = self.listen(JointState, 'joint_commands')
        self._pushes = self.node.create_publisher(WrenchStamped, 'simulator/external_wrench',
                                                  DEEP)
        self._first = nanoseconds(self.wait(lambda: self.states, 'no joint state')[0].header.stamp)
        rate, gravity = self.call(
            GetParameters, 'simulator/get_parameters',
            GetParameters.Request(names=['update_rate', 'gravity'])).values
        self._rate = float(rate.double_value)
        self.robot = load_urdf(path, gravity=tuple(gravity.double_array_value))
        self._joints = JointMap(self.robot)
        return self.robot

    def run_script(self, path: str | Path, *arguments: str) -> Any:
        """Start somebody's controller: a Python file."""
        return self.run([sys.executable, str(path), *arguments], Path(path).name)

    def wait_for_commands(self) -> None:
        """Wait until the present state is answered."""
        self.wait(lambda: any(c.header.stamp == self.states[-1].header.stamp
                              for c in self._commands), 'no command answers the state')

    def advance(self, seconds: float) -> Log:
        """Let the robot move for some seconds of its time and return what happened."""
        del self.states[:-1]
        left = round(seconds * self._rate)
        while left > 0:
            left -= self._take(min(left, AT_ONCE))
        return self.log()

    def _take(self, steps: int) -> int:
        begin = nanoseconds(self.states[-1].header.stamp)
        end = begin + round(steps / self._rate * 1e9)
        self.set_parameters('simulator', step_count=steps)
        answer = self.call(Trigger, 'simulator/step', Trigger.Request())
        if not answer.success:
            raise RuntimeError(answer.message)
        self.wait(lambda: nanoseconds(self.states[-1].header.stamp) >= end - 1,
                  f'not at {1e-9 * (end - self._first):g} s')
        return steps

    def log(self) -> Log:
        """Return the states since the last call of `advance`."""
        rows = {nanoseconds(m.header.stamp): m for m in self.states
                if nanoseconds(m.header.stamp) >= self._first}
        q, v, effort = (np.array([self._joints.read(m, field) for m in rows.values()])
                        for field in ('position', 'velocity', 'effort'))
        t = 1e-9 * (np.array(list(rows)) - self._first)
        return Log(tuple(self._joints.names), t, q, v, effort)

    def push(self, link: str, force: Sequence[float] = (0.0, 0.0, 0.0),
             torque: Sequence[float] = (0.0, 0.0, 0.0), at: float = 0.0,
             seconds: float = 0.1) -> None:
        """Push a link, axes of the link, from `at` seconds after the start on."""
        message = WrenchStamped(wrench=wrench_message(np.array([*force, *torque], dtype=float)))
        message.header.frame_id = link
        message.header.stamp = time_message(self._first + round(at * 1e9))
        self.set_parameters('simulator', wrench_duration=seconds)
        self.wait(lambda: self._pushes.get_subscription_count() > 0, 'nobody can be pushed')
        self.request(self._pushes, message, 'simulator')

    def listen(self, kind: Any, topic: str, qos: QoSProfile = DEEP) -> list[Any]:
        """Return the list that fills with the messages of a topic."""
        messages: list[Any] = []
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

    def talk(self, kind: Any, topic: str) -> Any:
        """Return a publisher once somebody listens."""
        publisher = self.node.create_publisher(kind, topic, DEEP)
        self.wait(lambda: publisher.get_subscription_count() > 0, f'nobody listens to {topic}')
        return publisher

    def insist(self, publisher: Any, message: Any, done: Callable[[], Any],
               complaint: str) -> Any:
        """Publish until `done()`: a listener may not have discovered the publisher yet."""
        last = [-1.0]

        def again() -> Any:
            if monotonic() - last[0] > 0.2:
                publisher.publish(message)
                last[0] = monotonic()
            return done()

        return self.wait(again, complaint)

    def request(self, publisher: Any, message: Any, node: str) -> None:
        """Publish a request and wait until the node has taken it over."""
        name = f'/{node}'
        before = int((self.last_health(name) or self.health(name))['accepted'])
        publisher.publish(message)
        self.wait(lambda: int(self.last_health(name)['accepted']) > before,
                  f'{node} did not take over the request')

    def wait(self, done: Callable[[], Any], complaint: str, seconds: float = PATIENCE) -> Any:
        """Spin until `done()`, and return what it returned."""
        end = monotonic() + seconds
        while True:
            result = done()
            if result:
                return result
            ended = self.ended()
            if ended or monotonic() > end:
                raise AssertionError(ended or f'{complaint} after {seconds:g} s')
            self.executor.spin_once(timeout_sec=0.1)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """Return the answer of a service."""
        # kept: every new client has to be discovered, and the server may miss its first request
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(kind, name)
        self.wait(client.service_is_ready, f'no service {name}')
        future = client.call_async(request)
        return self.wait(lambda: future.done() and future.result(), f'no answer of {name}')

    def set_parameters(self, node: str, **values: Any) -> str:
        """Set parameters as a set, __ standing for a dot; return why they are refused, if so."""
        request = SetParametersAtomically.Request(parameters=[
            Parameter(name.replace('__', '.'), value=value).to_parameter_msg()
            for name, value in values.items()])
        result = self.call(SetParametersAtomically, f'{node}/set_parameters_atomically',
                           request).result
        return '' if result.successful else result.reason

    def last_health(self, name: str) -> dict[str, str]:
        """Return the newest report of a node as {key: text}, empty before there is one."""
        for status in reversed([s for m in self.reports for s in m.status]):
            if status.name == name:
                return {'message': status.message,
                        **{item.key: item.value for item in status.values}}
        return {}

    def health(self, name: str) -> dict[str, str]:
        """Return the next report of a node."""
        self.reports.clear()
        report: dict[str, str] = self.wait(lambda: self.last_health(name), f'no report of {name}')
        return report

    def __exit__(self, *_: object) -> None:
        """End the processes, then the node."""
        super().__exit__()
        self.node.destroy_node()
        rclpy.try_shutdown()
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Start a bench; everything on it ends with the test."""
    started = Bench(tmp_path)
    with started:
        yield started
