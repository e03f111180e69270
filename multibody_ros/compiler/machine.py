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

"""A flow made callable: compiled when first used, for one state and for a vector of states."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from . import cache as files
from . import kernel
from .flow import Flow, flow_text
from .llvm import compile_text, fused, identity, Library, vector_width

Array = NDArray[np.float64]


class Machine:
    """A compiled flow."""

    def __init__(self, flow: Flow, key: bytes) -> None:
        """Prepare; `key` tells apart flows of one name whose programs differ."""
        self.flow = flow
        self._key = key
        self._lock = threading.Lock()
        self._functions: dict[int, Callable[..., None]] = {}

    def function(self, width: int) -> Callable[..., None]:
        """Return `run` (see flow.py) for `width` lanes: from memory, disk or the compiler."""
        with self._lock:
            if width not in self._functions:
                flow = self.flow
                key = hashlib.sha256(b'\0'.join([
                    b'flow', str(width).encode(), identity().encode(), kernel._source(),
                    flow.name.encode(),
                    repr((flow.shared, flow.state, flow.work)).encode(), self._key])).hexdigest()
                image = files.read(key)
                if image is None:
                    image = compile_text(flow_text(flow, fused(), width))
                    files.write(key, image)
                library = Library(image)
                pointers = [ctypes.c_void_p] * (len(flow.shared) + 4)
                function: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3, *pointers)(
                    library.address('run'))
                # the code lives as long as whoever can call it
                function.library = library
                self._functions[width] = function
            return self._functions[width]


def aligned(*shape: int) -> Array:
    """Return zeros that start where a vector register's worth of memory does."""
    count = int(np.prod(shape))
    memory = np.zeros(count + 8)
    skip = -memory.ctypes.data // 8 % 8
    return memory[skip:skip + count].reshape(shape)


def lanes() -> int:
    """Return how many states a vector register holds."""
    return vector_width()
