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

"""Nodes as processes of their own in a ROS domain of their own, and a node that watches them."""

from __future__ import annotations

from time import monotonic
import warnings

from diagnostic_msgs.msg import DiagnosticArray
from multibody_ros.nodes.executor import make_executor
from multibody_ros.nodes.messages import nanoseconds
from multibody_ros.nodes.processes import free_domain, Processes
from multibody_ros.nodes.recorder import DEEP
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

with warnings.catch_warnings():
    # lark, as the ROS wheels pin it, imports a module that Python deprecates
    warnings.simplefilter('ignore', DeprecationWarning)
    import rosidl_generator_py  # noqa: F401

#: the machine may be busy with other work: nothing here may depend on how fast it is
PATIENT = {'command_timeout': 5.0, 'state_timeout': 5.0}


class Loop(Processes):
    """Starts nodes, talks with them, and ends them."""

    def __init__(self, monkeypatch, folder):
        """Take a free domain and a folder for the logs."""
        super().__init__()
        self.domain = free_domain()
        monkeypatch.setenv('ROS_DOMAIN_ID', str(self.domain))
        monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        monkeypatch.setenv('ROS_LOG_DIR', str(folder))
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node('tester')
        self.executor = make_executor()
        self.executor.add_node(self.node)
        self.states = self.listen(JointState, 'joint_states')
        self.reports = self.listen(DiagnosticArray, '/diagnostics')

    def listen(self, kind, topic):
        """Return the list that fills with the messages of a topic."""
        messages = []
        self.node.create_subscription(kind, topic, messages.append, DEEP)
        return messages

    def talk(self, kind, topic):
        """Return a publisher once somebody listens."""
        publisher = self.node.create_publisher(kind, topic, DEEP)
        self.wait(lambda: publisher.get_subscription_count() > 0, f'nobody listens to {topic}')
        return publisher

    def insist(self, publisher, message, done, complaint):
        """Publish until `done()`: a listener may not have discovered the publisher yet."""
        last = [-1.0]

        def again():
            if monotonic() - last[0] > 0.2:
                publisher.publish(message)
                last[0] = monotonic()
            return done()

        return self.wait(again, complaint)

    def wait(self, done, complaint, seconds=30.0):
        """Spin until `done()`, and return what it returned."""
        end = monotonic() + seconds
        while True:
            result = done()
            if result:
                return result
            assert self.ended() is None, self.ended()
            assert monotonic() < end, f'{complaint} after {seconds:g} s'
            self.executor.spin_once(timeout_sec=0.1)

    def call(self, kind, name, request):
        """Return the answer of a service."""
        client = self.node.create_client(kind, name)
        self.wait(client.service_is_ready, f'no service {name}')
        future = client.call_async(request)
        return self.wait(lambda: future.done() and future.result(), f'no answer of {name}')

    def pass_time(self, seconds):
        """Return the states of the next `seconds` of the robot's own time."""
        self.states.clear()
        self.wait(lambda: self.states and stamp(self.states[-1]) - stamp(self.states[0])
                  >= seconds, 'the joint states stopped', 30.0 + seconds)
        return list(self.states)

    def last_health(self, name):
        """Return the newest report of a node as {key: text}, empty before there is one."""
        for status in reversed([s for m in self.reports for s in m.status]):
            if status.name == name:
                return {item.key: item.value for item in status.values}
        return {}

    def health(self, name):
        """Return the next report of a node."""
        self.reports.clear()
        return self.wait(lambda: self.last_health(name), f'no report of {name}')

    def refused(self, publisher, message, name, reason):
        """Publish until the node has counted a refusal for this reason."""
        before = int((self.last_health(name) or self.health(name))['rejected'])

        def counted():
            report = self.last_health(name)
            return int(report['rejected']) > before and reason in report['last rejection']

        self.insist(publisher, message, counted, f'{reason!r} was not counted')

    def __exit__(self, *_):
        """End the processes, then the node."""
        super().__exit__()
        self.node.destroy_node()
        rclpy.try_shutdown()


def stamp(message):
    """Return the stamp in seconds."""
    return 1e-9 * nanoseconds(message.header.stamp)


def values(messages, field, names):
    """Return one row a message, columns as in `names`."""
    return np.array([[dict(zip(m.name, getattr(m, field)))[name] for name in names]
                     for m in messages])
