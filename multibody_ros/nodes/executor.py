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

"""The loop every node of this package runs in."""

from __future__ import annotations

import signal
import sys
from threading import Event
from typing import Any, Callable

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

try:
    from rclpy.experimental.events_executor import EventsExecutor
except ImportError:
    EventsExecutor = None


def make_executor() -> Executor:
    """Return the executor with the least latency this rclpy has (see docs, half as much)."""
    return SingleThreadedExecutor() if EventsExecutor is None else EventsExecutor()


def run_node(make_node: Callable[[], Node], args: list[str] | None = None) -> int:
    """
    Make a node, spin it until Ctrl-C, SIGTERM or shutdown, and return the exit status.

    rclpy's own signal handlers close the context under a callback that is publishing; these let
    it finish.
    """
    asked_to_end = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked_to_end.set())
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    node: Any = None
    try:
        node = make_node()
        executor = make_executor()
        executor.add_node(node)
        # EventsExecutor.spin() burns a core and runs nothing in the wheels, spin_once() works
        while rclpy.ok() and not asked_to_end.is_set():
            executor.spin_once(timeout_sec=0.5)
    except ExternalShutdownException:
        pass
    except (ValueError, OSError, ParameterException) as error:
        print(f'{make_node.__name__}: {error}', file=sys.stderr)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    return getattr(node, 'exit_status', 0)
