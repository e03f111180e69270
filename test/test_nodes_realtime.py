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

"""realtime_priority: granted, refused, out of range."""

from __future__ import annotations

import os
import subprocess
import sys

from multibody_ros.nodes.realtime import take_priority
import pytest
from rcl_interfaces.srv import DescribeParameters
from ros_loop import CONFIG

NODES = ['simulator', 'computed_torque_controller', 'gravity_compensation_controller',
         'cartesian_controller', 'joint_controller', 'robot_state']
#: runs Python without the right to real-time scheduling, whoever starts it: without
#: CAP_SYS_NICE (23) in what a new program may get (PR_CAPBSET_DROP is 24), without rtprio
FORBIDDEN = """
import ctypes, os, resource, sys
ctypes.CDLL(None).prctl(24, 23, 0, 0, 0)
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
TRIAL = 'import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(7))'


def scheduling(child):
    """Return {(policy, priority)} of the threads of a process."""
    threads = [int(t) for t in os.listdir(f'/proc/{child.pid}/task')]
    return {(os.sched_getscheduler(t), os.sched_getparam(t).sched_priority) for t in threads}


def test_all_threads_are_scheduled(loop):
    """Those of the middleware, too, which exist once there is a node."""
    given = []
    loop.node.declare_parameter('realtime_priority', 42)
    take_priority(loop.node, lambda *arguments: given.append(arguments))
    assert {thread for thread, _, _ in given} == {int(t) for t in os.listdir('/proc/self/task')}
    assert len(given) > 1
    assert {(policy, p.sched_priority) for _, policy, p in given} == {(os.SCHED_FIFO, 42)}


def test_nothing_is_scheduled_without_it(loop):
    take_priority(loop.node, lambda *_: pytest.fail('scheduled'))


def test_priority_is_taken_where_it_is_allowed(loop, capfd):
    trial = subprocess.run([sys.executable, '-c', TRIAL], stderr=subprocess.DEVNULL)
    if trial.returncode:
        pytest.skip('this system does not allow real-time scheduling')
    child = loop.start('simulator', {'realtime_priority': 7}, [CONFIG])
    loop.wait(lambda: loop.states, 'no state')
    assert scheduling(child) == {(os.SCHED_FIFO, 7)}
    assert 'realtime_priority' not in capfd.readouterr().err


def test_refusal_is_explained_and_the_node_goes_on(loop, capfd):
    child = loop.run([sys.executable, '-c', FORBIDDEN, '-m', 'multibody_ros.nodes.simulator',
                      '--ros-args', '--params-file', str(CONFIG), '-p', 'realtime_priority:=7'],
                     'simulator')
    loop.wait(lambda: loop.states, 'no state')
    assert scheduling(child) == {(os.SCHED_OTHER, 0)}
    printed = capfd.readouterr().err
    assert 'realtime_priority 7 is refused (Operation not permitted)' in printed
    assert "'<user> - rtprio 7' to /etc/security/limits.conf" in printed


def test_priority_beyond_its_range_is_refused(loop, capfd):
    child = loop.start('simulator', {'realtime_priority': 99}, [CONFIG])
    assert child.wait(30) == 1
    loop.forget(child)
    assert 'realtime_priority' in capfd.readouterr().err


def test_every_node_with_a_loop_has_the_parameter(loop):
    for node in NODES:
        loop.start(node, files=[CONFIG])
    for node in NODES:
        request = DescribeParameters.Request(names=['realtime_priority'])
        told = loop.call(DescribeParameters, f'{node}/describe_parameters', request)
        limits = told.descriptors[0].integer_range[0]
        assert (limits.from_value, limits.to_value) == (0, 98)
        assert told.descriptors[0].read_only
