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

"""A law's equations as machine code for one robot, with errors that name the culprit."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bounds import first_bad
from ..arguments import complain, vector
from ..compiler.interpreter import Interpreted
from ..compiler.kernel import Kernel
from ..compiler.program import Program
from ..damped import singular_mass

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]

#: velocities above which a law is computed without being compiled
LARGE = 60


class Compiled:
    """Callable with the program's own inputs; the parameters and settings are read in place."""

    def __init__(self, robot: Robot, program: Program, key: str, settings: Array,
                 result: type) -> None:
        """Compile a program whose first inputs are the parameters, the settings, q and v."""
        self._robot = robot
        self._program = program
        self._key = robot._programs.key + key.encode()
        self._settings = settings
        self._result = result
        self._kernel = self._made(robot._shared)
        self.function = self._kernel.python_function(self._slow)

    def loaded(self) -> bool:
        """Tell whether the robot carries a payload."""
        return bool(self._robot._payloads.items())

    def bare(self, *values: ArrayLike) -> Any:
        """Compute as if the robot carried no payload."""
        robot = self._robot
        self._bare.shared[0][:] = robot._programs.parameters(robot._links)
        return self._bare.pack(self._bare.run(self._arrays(values), None)[0])

    @cached_property
    def _bare(self) -> Kernel | Interpreted:
        return self._made(self._robot._shared.copy())

    def _made(self, parameters: Array) -> Kernel | Interpreted:
        kind = Interpreted if self._robot.nv > LARGE else Kernel
        return kind(self._program, self._key, [parameters, self._settings], self._result)

    def _slow(self, *values: ArrayLike) -> Any:
        """Answer what the machine code leaves: lists, other types, and all that is wrong."""
        arrays = self._arrays(values)
        outputs, good = self._kernel.run(arrays, None)
        if not good:
            self._explain(arrays, outputs[0])
        return self._kernel.pack(outputs)

    def _arrays(self, values: tuple[ArrayLike, ...]) -> list[Array]:
        robot = self._robot
        arrays = []
        for given, value in zip(self._kernel.own, values):
            names = robot.joint_names if given.name in ('q', 'v') else ()
            array = vector(robot.name, given.name, value, given.size, names)
            if array.ndim != 1:
                raise ValueError(f'{given.name} must be one vector, not shape {array.shape}: a '
                                 'control law follows one robot')
            arrays.append(array)
        return arrays

    def _explain(self, arrays: list[Array], tau: Array) -> None:
        """Say what is not finite: the state, the reference, or the torque itself."""
        robot, name = self._robot, self._program.name
        complain(robot.name, robot._coordinates, {'q': arrays[0], 'v': arrays[1]})
        for given, array in zip(self._kernel.own[3:], arrays[3:]):
            if not np.isfinite(array).all():
                index = int(np.argmin(np.isfinite(array)))
                raise ValueError(f'{given.name} is {array[index]} at entry {index} in {name} of '
                                 f"robot '{robot.name}'")
        if np.linalg.eigvalsh(robot.mass_matrix(arrays[0])).min() <= 0.0:
            raise singular_mass(robot, arrays[0])
        value = first_bad(robot, tau) if not np.isfinite(tau).all() else 'beyond all bounds'
        raise ValueError(f"the torque of {name} for robot '{robot.name}' is {value}")
