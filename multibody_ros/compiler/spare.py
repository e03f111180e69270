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

"""
Arrays of earlier results that nobody holds any more, to be filled again.

The system hands out large pieces of memory page by page when they are first written, which costs
a good part of what computing the numbers does. An array is used again only if nothing but this
refers to it, not even weakly, so for the caller it is as fresh as a new one.
"""

from __future__ import annotations

from collections import deque
import sys
from typing import Any
import weakref

import numpy as np

#: two, because in `x = f(y)` the caller still holds the last one while the next call runs
COUNT = 2
#: larger arrays are not held on to
LARGEST = 1 << 24


def _holders(held: Any) -> int:
    """Count who holds an object, as seen from here."""
    return sys.getrefcount(held)


def _alone() -> int:
    held = object()
    return _holders(held)


_ALONE = _alone()


class Spare:
    """Arrays of one kind of result; threads may ask at the same time."""

    def __init__(self) -> None:
        """Start with none."""
        self._arrays: deque[np.ndarray] = deque(maxlen=COUNT)

    def array(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return an array of any numbers, which nobody else has."""
        for _ in range(COUNT):
            try:
                # who takes one out has it for himself: threads do not meet
                array = self._arrays.popleft()
            except IndexError:
                break
            if (array.shape == shape and _holders(array) == _ALONE
                    and not weakref.getweakrefcount(array) and _as_made(array)):
                return array
            self._arrays.append(array)
        return np.empty(shape)

    def keep(self, array: np.ndarray) -> None:
        """Remember an array that is handed to a caller."""
        if array.nbytes <= LARGEST:
            self._arrays.append(array)


def _as_made(array: np.ndarray) -> bool:
    """Tell whether a caller left an array as numpy makes them."""
    flags = array.flags
    return bool(array.dtype is _FLOAT and flags.c_contiguous and flags.owndata
                and flags.writeable and flags.aligned)


_FLOAT = np.dtype(float)
