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

"""Where a node gets its robot from: a parameter, a file, or the latched topic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from multibody_ros import load_urdf
from rclpy.node import Node

from .parameters import declare
from ..resources import resource


def declare_description(node: Node) -> None:
    """Declare the parameters that say which robot this is."""
    declare(node, 'robot_description', '', 'URDF text; empty: take description_file')
    declare(node, 'description_file', '',
            'URDF file, a path or a shipped file such as urdf/arm7.urdf; empty: take the '
            'robot_description topic')
    declare(node, 'gravity', [0.0, 0.0, -9.81],
            'acceleration of gravity in m/s^2, axes of the base; three numbers')


def described_text(node: Node) -> str:
    """Return the URDF text of the parameters, empty when they name none."""
    text: str = node.get_parameter('robot_description').value
    name: str = node.get_parameter('description_file').value
    if text or not name:
        return text
    path = Path(name).expanduser()
    return (path if path.is_file() else resource(name)).read_text(encoding='utf-8')


def load_robot(node: Node, text: str) -> Any:
    """Return the robot of the URDF `text` under the node's gravity."""
    gravity = list(node.get_parameter('gravity').value)
    if len(gravity) != 3:
        raise ValueError(f'parameter gravity must have three numbers, not {gravity}')
    return load_urdf(text, gravity=tuple(gravity))
