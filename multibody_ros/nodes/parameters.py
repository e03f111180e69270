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

"""Parameters with a type, a range and a sentence."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node


def declare(node: Node, name: str, default: Any, description: str, lower: float | None = None,
            upper: float | None = None) -> Any:
    """
    Declare a parameter that is fixed once the node runs, and return its value.

    Its type is that of `default`; a number outside `lower` to `upper` is refused by rclpy.
    """
    if node.has_parameter(name):
        return node.get_parameter(name).value
    descriptor = ParameterDescriptor(description=description, read_only=True)
    if lower is not None and upper is not None:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(lower), to_value=float(upper))]
    return node.declare_parameter(name, default, descriptor).value


def declare_per_joint(node: Node, pattern: str, joints: tuple[str, ...],
                      defaults: float | list[float], description: str, lower: float,
                      upper: float) -> list[float]:
    """Declare one number a joint; `pattern` holds {joint}, for example 'gains.{joint}.p'."""
    each = defaults if isinstance(defaults, list) else [defaults] * len(joints)
    return [declare(node, pattern.format(joint=joint), default, f'{description} ({joint})',
                    lower, upper) for joint, default in zip(joints, each)]
