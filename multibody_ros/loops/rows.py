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

"""States for functions that numpy solves."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
