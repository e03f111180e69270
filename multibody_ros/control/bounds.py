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

"""Checks of numbers, and errors that name the joint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


def first_bad(robot: Robot, values: Array) -> str:
    """Name the first joint whose entry in `values` (order of v) is not finite, with the value."""
    index = int(np.argmin(np.isfinite(values)))
    return f"{values[index]} at joint '{joint_at(robot, index)}'"


def joint_at(robot: Robot, index: int) -> str:
    """Return the joint that entry `index` of v belongs to."""
    for name in robot.joint_names:
        place = robot.v_index[name]
        if place.start <= index < place.stop:
            return name
    raise ValueError(f'robot {robot.name!r} has {robot.nv} velocities, entry {index} is none')


def gain(robot: Robot, name: str, values: ArrayLike, infinite: bool = False) -> Array:
    """Return one non-negative gain a velocity coordinate from a number or a vector of nv."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (robot.nv,)):
        raise ValueError(f'{name} must be a number or {robot.nv} numbers, not {array.shape}')
    array = np.broadcast_to(array, (robot.nv,)).copy()
    if np.isnan(array).any() or not (infinite or np.isfinite(array).all()):
        raise ValueError(f'{name} is {first_bad(robot, array)}')
    if (array < 0.0).any():
        raise ValueError(f'{name} must not be negative, but holds {array.min():g}')
    return array


def six(name: str, values: ArrayLike, infinite: bool = False) -> Array:
    """Return six non-negative numbers, [linear; angular], from one or six."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (6,)) or np.isnan(array).any() or (array < 0.0).any() \
            or not (infinite or np.isfinite(array).all()):
        raise ValueError(f'{name} must be one or six non-negative numbers, not {values!r}')
    return np.broadcast_to(array, (6,)).copy()
