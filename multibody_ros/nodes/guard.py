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

"""The guard of the control laws (see control.Safety) as parameters."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from rclpy.node import Node

from .parameters import declare, declare_per_joint
from ..control import Safety

#: a limit this large is none
LARGE = 1e9


def declare_guard(node: Node) -> None:
    """Declare what does not depend on the robot."""
    declare(node, 'ramp_time', 0.5,
            'seconds in which a law takes over from holding the weight', 0.0, 60.0)
    declare(node, 'rise_time', 0.05,
            'seconds in which the torque may go from nothing to its limit, 0: at once', 0.0, 60.0)
    declare(node, 'limit_rate', 20.0,
            'rate in 1/s at which a joint comes to rest before a limit, 0: limits are ignored',
            0.0, 1000.0)
    declare(node, 'stop_rate', 10.0, 'rate in 1/s at which the safe stop brakes', 0.0, 1000.0)
    declare(node, 'tracking_tolerance', 0.0,
            "tracking error in rad or m that brings on the safe stop, 0: the law's own",
            0.0, LARGE)


def safety(node: Node, robot: Any) -> Safety:
    """Declare the limits of the joints and return the guard."""
    efforts = np.minimum(robot.limits.effort, LARGE)
    declare_per_joint(node, 'max_effort.{joint}', robot.joint_names, efforts.tolist(),
                      'torque limit in N m or N, at most that of the URDF', 0.0, LARGE, True)
    value = {name: node.get_parameter(name).value for name in
             ('ramp_time', 'rise_time', 'limit_rate', 'stop_rate', 'tracking_tolerance')}
    rise = value['rise_time']
    rates = np.minimum(efforts / rise, LARGE) if rise > 0.0 else np.full(robot.nv, LARGE)
    declare_per_joint(node, 'max_torque_rate.{joint}', robot.joint_names, rates.tolist(),
                      'how fast the torque may change in N m/s or N/s', 0.0, LARGE, True)
    return Safety(ramp_time=value['ramp_time'], rise_time=rise, limit_rate=value['limit_rate'],
                  stop_rate=value['stop_rate'], tracking=value['tracking_tolerance'] or None)


def check_limits(value: Callable[[str], Any], robot: Any) -> None:
    """Complain about a joint limit beyond that of the URDF."""
    joints = robot.joint_names
    efforts = np.array([value(f'max_effort.{joint}') for joint in joints])
    allowed = np.minimum(robot.limits.effort, LARGE)
    if np.any(efforts > allowed):
        k = int(np.argmax(efforts > allowed))
        raise ValueError(f'max_effort.{joints[k]} is {efforts[k]:g}, the URDF allows '
                         f'{allowed[k]:g}')


def take_over_limits(value: Callable[[str], Any], robot: Any, law: Any) -> None:
    """Give the law the joint limits of the parameters."""
    joints = robot.joint_names
    law.effort = [value(f'max_effort.{joint}') for joint in joints]
    law.rates = [value(f'max_torque_rate.{joint}') for joint in joints]
