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

"""A program run by Python itself: for programs too long to be worth compiling."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from .expression import flatten
from .program import Program


class Interpreted:
    """Answers as a Kernel does, by running the program's function on floats."""

    def __init__(self, program: Program, key: bytes, shared: Sequence[np.ndarray] = (),
                 result: type | None = None) -> None:
        """Take the same as a Kernel."""
        self.program = program
        self.shared = list(shared)
        self.result = result
        self.own = [given for given in program.inputs if not given.shared]

    def python_function(self, slow: Callable) -> Callable:
        """Return `slow`: there is nothing quicker."""
        return slow

    def run(self, inputs: Sequence[np.ndarray], rows: int | None) -> tuple[list[np.ndarray], bool]:
        """Run on float64 arrays; `rows` is the batch size, None for one state."""
        head = () if rows is None else (rows,)
        outputs = [np.empty(head + output.shape) for output in self.program.outputs]
        good = all(np.isfinite(x).all() for x in inputs)
        if good:
            for row in range(1 if rows is None else rows):
                good &= self._one([x if rows is None else x[row] for x in inputs],
                                  [x if rows is None else x[row, ...] for x in outputs])
        return outputs, bool(good)

    def _one(self, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> bool:
        given, shared = iter(inputs), iter(self.shared)
        lists = [(next(shared) if x.shared else next(given)).tolist() for x in self.program.inputs]
        try:
            values = flatten(self.program.function(*lists))
        except (ArithmeticError, ValueError):   # what machine code would make infinite or NaN
            for output in outputs:
                output[...] = np.nan
            return False
        good = not self.program.guarded or values.pop() > 0.0
        for output in outputs:
            output.reshape(-1)[:] = values[:output.size]
            values = values[output.size:]
        return good

    def pack(self, outputs: list[Any]) -> Any:
        """Return the outputs as the caller sees them."""
        values = [x.item() if x.ndim == 0 else x for x in outputs]
        return values[0] if self.result is None else self.result(*values)
