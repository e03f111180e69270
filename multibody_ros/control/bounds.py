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

from ..model.finding import choices

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


def gain(robot: Robot, name: str, values: ArrayLike) -> Array:
    """Return one non-negative gain a velocity coordinate from a number or a vector of nv."""
    array = _spread(robot, name, values)
    if not np.isfinite(array).all():
        raise ValueError(f'{name} must be finite, but is {first_bad(robot, array)}')
    return array


def bound(robot: Robot, name: str, values: ArrayLike) -> Array:
    """Return the same, where infinity is allowed: no limit."""
    array = _spread(robot, name, values)
    if np.isnan(array).any():
        raise ValueError(f'{name} must be a number, but is {first_bad(robot, array)}')
    return array


def six(robot: Robot, name: str, values: ArrayLike) -> Array:
    """Return six non-negative numbers, [linear; angular], from one or six."""
    array = wrench(robot, name, values)
    if (array < 0.0).any():
        raise ValueError(f'{name} must be one or six non-negative numbers, not {values!r}')
    return array


def wrench(robot: Robot, name: str, values: ArrayLike) -> Array:
    """Return six numbers, [linear; angular], from one or six."""
    array = _numbers(name, values)
    if array.shape not in ((), (6,)) or not np.isfinite(array).all():
        raise ValueError(f'{name} must be one or six finite numbers, [linear; angular], not '
                         f'{values!r}')
    return np.broadcast_to(array, (6,)).copy()


def single(robot: Robot, name: str, values: ArrayLike) -> Array:
    """Return one non-negative number."""
    array = _numbers(name, values)
    if array.size != 1 or not (np.isfinite(array).all() and array.min() >= 0.0):
        raise ValueError(f'{name} must be one number, finite and not negative, not {values!r}')
    return array.reshape(1).copy()


def positive(robot: Robot, name: str, values: ArrayLike) -> Array:
    """Return one positive number."""
    array = single(robot, name, values)
    if array[0] == 0.0:
        raise ValueError(f'{name} must be positive, not 0')
    return array


def matrix(robot: Robot, name: str, values: ArrayLike) -> Array:
    """Return a symmetric 6x6 matrix without negative eigenvalues from one, six or 36 numbers."""
    array = _numbers(name, values)
    if array.shape in ((), (6,)):
        array = np.diag(np.broadcast_to(array, (6,)))
    if array.shape != (6, 6) or not np.isfinite(array).all() or not np.allclose(array, array.T) \
            or np.linalg.eigvalsh(array)[0] < -1e-9 * np.abs(array).max():
        raise ValueError(f'{name} must be six non-negative numbers or a symmetric 6x6 matrix '
                         f'without negative eigenvalues, not {values!r}')
    return array


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f'{name} must hold numbers, not {values!r}') from None


def _spread(robot: Robot, name: str, values: ArrayLike) -> Array:
    array = _numbers(name, values)
    if array.shape not in ((), (robot.nv,)):
        raise ValueError(f"{name} must be a number or {robot.nv} numbers for robot '{robot.name}' "
                         f'({choices(robot.joint_names)}), not of shape {array.shape}')
    array = np.broadcast_to(array, (robot.nv,)).copy()
    if (array < 0.0).any():
        worst = int(np.argmax(array < 0.0))
        raise ValueError(f'{name} must not be negative, but is {array[worst]:g} at joint '
                         f"'{joint_at(robot, worst)}'")
    return array
