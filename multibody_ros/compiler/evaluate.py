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

"""A recording run on Python floats: slow, and the reference for the compiled code."""

from __future__ import annotations

import math
import operator
from typing import Any, Callable, Sequence

import numpy as np

from .expression import Recording


def evaluate(recording: Recording, *inputs: Sequence[float]) -> list[float]:
    """Return the outputs of a recording."""
    values: list[Any] = []
    compute: dict[str, Callable] = {
        'input': lambda k, i: float(inputs[k][i]), 'constant': float.fromhex,
        'lane': lambda k, lane: values[k][lane], 'pack': lambda *ks: tuple(values[k] for k in ks),
    }
    with np.errstate(all='ignore'):
        for name, *rest in recording.operations:
            if name in compute:
                values.append(compute[name](*rest))
            else:
                values.append(_computed(_ON_VALUES[name], [values[k] for k in rest]))
    return [values[k] for k in recording.outputs]


def _computed(function: Callable, values: list[Any]) -> Any:
    """Return the function's value, on vectors lane by lane."""
    widths = {len(x) for x in values if isinstance(x, tuple)}
    if not widths:
        return function(*values)
    width, = widths
    return tuple(function(*(x[k] if isinstance(x, tuple) else x for x in values))
                 for k in range(width))


#: where Python raises an error the machine goes on: 1/0 is infinite, the root of -1 not a number
_ON_VALUES: dict[str, Callable] = {
    'add': operator.add, 'subtract': operator.sub, 'multiply': operator.mul,
    'divide': lambda a, b: float(np.divide(a, b)), 'negate': operator.neg,
    'sqrt': lambda x: float(np.sqrt(x)),
    'sin': lambda x: math.sin(x) if math.isfinite(x) else math.nan,
    'cos': lambda x: math.cos(x) if math.isfinite(x) else math.nan,
    'exp': lambda x: float(np.exp(x)), 'atan2': math.atan2,
    'where': lambda a, b, yes, no: yes if a < b else no,
}
