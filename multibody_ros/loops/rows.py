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

"""States for functions that numpy solves: checked, row by row, or one only."""

from __future__ import annotations

from typing import Any, Callable, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import complain, together, vector

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


def checked(robot: Robot, **inputs: ArrayLike) -> tuple[list[Array], tuple[int, ...]]:
    """Return finite inputs (q, and others of nv entries) as rows, and their batch axes."""
    arrays = [vector(robot.name, name, value, robot.nq if name == 'q' else robot.nv,
                     robot.joint_names) for name, value in inputs.items()]
    complain(robot.name, robot._coordinates, dict(zip(inputs, arrays)))
    return together(arrays)


def one_state(robot: Robot, function: str, **inputs: ArrayLike) -> list[Array]:
    """Return finite inputs of one state; a batch is refused."""
    arrays, batch = checked(robot, **inputs)
    if batch:
        raise ValueError(f"{function} of robot '{robot.name}' takes one state, not a batch of "
                         f'shape {batch}: call it for every row')
    return arrays


def row_by_row(robot: Robot, function: Callable[..., tuple[Array, ...]],
               **inputs: ArrayLike) -> list[Any]:
    """Return the results of a function of one state for all states of a batch, stacked."""
    arrays, batch = checked(robot, **inputs)
    if not batch:
        return list(function(*arrays))
    results = [function(*row) for row in zip(*arrays)]
    if not results:
        raise ValueError(f"a batch for robot '{robot.name}' must have rows, not shape {batch}")
    if len({tuple(x.shape for x in result) for result in results}) > 1:
        raise ValueError(f"robot '{robot.name}' does not have as many freedoms in all rows of the "
                         'batch: call the function for every row')
    return [np.array(x).reshape(*batch, *x[0].shape) for x in zip(*results)]
