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

"""Scheduling ahead of ordinary processes, where the system allows it."""

from __future__ import annotations

from contextlib import suppress
import os
from typing import Any, Callable

from rclpy.node import Node

from .parameters import declare


def take_priority(node: Node,
                  schedule: Callable[[int, int, Any], None] | None = None) -> None:
    """
    Declare realtime_priority and put all threads of this process under SCHED_FIFO with it.

    The middleware's threads are there once the node is; threads that come later inherit it from
    those that start them. A node that is refused goes on as it is, with a warning. `schedule`
    is os.sched_setscheduler unless given.
    """
    priority = declare(
        node, 'realtime_priority', 0,
        'priority of the process under SCHED_FIFO, 0: none, ordinary scheduling; the system must '
        'allow it (rtprio)', 0, 98)
    if not priority:
        return
    try:
        for thread in os.listdir('/proc/self/task'):
            # a thread may have ended since
            with suppress(ProcessLookupError):
                (schedule or os.sched_setscheduler)(int(thread), os.SCHED_FIFO,
                                                    os.sched_param(priority))
    except OSError as error:
        node.get_logger().warning(
            f'realtime_priority {priority} is refused ({error.strerror}), going on with ordinary '
            f"scheduling. To allow it, add '<user> - rtprio {priority}' to "
            '/etc/security/limits.conf and log in again, or give a container '
            f'--ulimit rtprio={priority} and --cap-add SYS_NICE')
