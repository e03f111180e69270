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

"""Parameters with a type, a range and a sentence; some may change while the node runs."""

from __future__ import annotations

import math
from typing import Any, Callable, Collection

from rcl_interfaces.msg import (
    FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult)
from rclpy.node import Node
from rclpy.parameter import Parameter


def declare(node: Node, name: str, default: Any, description: str, lower: float | None = None,
            upper: float | None = None, changeable: bool = False) -> Any:
    """
    Declare a parameter and return its value; it is fixed unless `changeable`.

    Its type is that of `default`; a number outside `lower` to `upper` is refused by rclpy.
    """
    if node.has_parameter(name):
        return node.get_parameter(name).value
    descriptor = ParameterDescriptor(description=description, read_only=not changeable)
    if lower is not None and upper is not None:
        if isinstance(default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(lower), to_value=int(upper))]
        else:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(lower), to_value=float(upper))]
    value = node.declare_parameter(name, default, descriptor).value
    _check_finite(name, value)
    return value


def declare_names(node: Node, name: str, description: str) -> list[str]:
    """
    Declare a fixed list of names, empty by default.

    rclpy knows no type of an empty list and gives none of a node's parameters away as long as one
    has no value: the empty list is [''] instead.
    """
    value = node.declare_parameter(name, [''], ParameterDescriptor(description=description)).value
    if value is None:
        # a file has set it to []
        node.set_parameters([Parameter(name, value=[''])])
    node.set_descriptor(name, ParameterDescriptor(
        description=description, type=Parameter.Type.STRING_ARRAY.value, read_only=True))
    return [entry for entry in value or [] if entry]


def declare_choice(node: Node, name: str, default: str, description: str,
                   choices: tuple[str, ...]) -> str:
    """Declare a fixed parameter that is one of some words."""
    value: str = declare(node, name, default, f'{description}: {", ".join(choices)}')
    if value not in choices:
        raise ValueError(f'parameter {name} is {value!r}, it must be one of: '
                         + ', '.join(choices))
    return value


def declare_per_joint(node: Node, pattern: str, joints: tuple[str, ...],
                      defaults: float | list[float], description: str, lower: float,
                      upper: float, changeable: bool = False) -> list[float]:
    """Declare one number a joint; `pattern` holds {joint}, for example 'gains.{joint}.p'."""
    each = defaults if isinstance(defaults, list) else [defaults] * len(joints)
    return [declare(node, pattern.format(joint=joint), default, f'{description} ({joint})',
                    lower, upper, changeable) for joint, default in zip(joints, each)]


def undeclare(node: Node, kept: Collection[str]) -> None:
    """
    Undeclare the changeable parameters that are not among `kept`.

    Declared again they begin with what was set when the node was started, or with their default.
    rclpy keeps what is fixed, so a fixed parameter's default must suit every robot.
    """
    for name in node.get_parameters_by_prefix(''):
        if name not in kept and not node.describe_parameter(name).read_only:
            node.undeclare_parameter(name)


class Tuning:
    """
    The parameters of a node that may change while it runs, checked and taken over as a set.

    `check` gets a function that returns the value a parameter is about to have; it raises
    ValueError to refuse them all, and changes nothing. `take_over` gets the same function once
    nobody has refused, and raises nothing.
    """

    def __init__(self, node: Node, check: Callable[[Callable[[str], Any]], None],
                 take_over: Callable[[Callable[[str], Any]], None]) -> None:
        """Refuse nothing before `ready`: parameters are still being declared."""
        self._node = node
        self._check = check
        self._take_over = take_over
        self.ready = False
        node.add_on_set_parameters_callback(self._on_set)
        node.add_post_set_parameters_callback(self._on_accepted)

    def now(self) -> None:
        """Check the values as they are and take them over."""
        self._check(self._present)
        self._take_over(self._present)

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        new = {parameter.name: parameter.value for parameter in parameters}
        try:
            for name, value in new.items():
                _check_finite(name, value)
            if self.ready:
                self._check(lambda name: new[name] if name in new else self._present(name))
        except ValueError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _on_accepted(self, _: list[Parameter]) -> None:
        if self.ready:
            self._take_over(self._present)

    def _present(self, name: str) -> Any:
        return self._node.get_parameter(name).value


def _check_finite(name: str, value: Any) -> None:
    """Complain about NaN and infinity, which pass rclpy's ranges or mean nothing."""
    several = not isinstance(value, (str, bytes)) and hasattr(value, '__iter__')
    numbers = [x for x in (value if several else [value]) if isinstance(x, float)]
    if not all(math.isfinite(x) for x in numbers):
        raise ValueError(f'parameter {name} is {value}, it must be finite')
