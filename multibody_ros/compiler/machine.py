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
A flow made callable: compiled when first used, for one state and for a vector of states.

Through ctypes a call takes longer than a step of an arm. `Steps` calls as compiled extensions are
called; it keeps Python's lock, so it is meant for a few steps.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from . import cache as files
from . import kernel
from . import layout
from .callable import emitted_function, exported
from .flow import Flow, flow_text
from .llvm import compile_text, fused, identity, Library, vector_width

Array = NDArray[np.float64]
#: steps for which Python's lock may be kept
FEW = 4


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
                    flow.name.encode(), kernel._python(),
                    repr((flow.shared, flow.state, flow.work)).encode(), self._key])).hexdigest()
                image = files.read(key)
                if image is None:
                    text = flow_text(flow, fused(), width)
                    if layout.AVAILABLE and width == 1:
                        text += _call_text(len(flow.shared) + 4)
                    image = compile_text(text)
                    files.write(key, image)
                library = Library(image)
                pointers = [ctypes.c_void_p] * (len(flow.shared) + 4)
                function: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3, *pointers)(
                    library.address('run'))
                # the code lives as long as whoever can call it
                function.library = library
                self._functions[width] = function
            return self._functions[width]


class Steps:
    """`run` (see flow.py) for one state, bound to the arrays that stay."""

    def __init__(self, run: Any, shared: list[int], state: int, done: int) -> None:
        """Take `run`, as `Machine.function` returns it, and addresses."""
        self._run, self._shared, self._state, self._done = run, shared, state, done
        self._call: Any = None
        if layout.AVAILABLE:
            words = [0, 0, 0, *shared, 0, state, done, 0, exported('Py_IncRef'), id(None)]
            self._call = emitted_function('steps', run.library, 'call', words, ())
            self._words: Any = self._call.__self__.data
            self._control = 3 + len(shared)

    def __call__(self, steps: int, every: int, stride: int, control: int, stored: int) -> None:
        """Take `steps` steps."""
        if self._call is None or steps > FEW:
            self._run(steps, every, stride, *self._shared, control, self._state, self._done,
                      stored)
            return
        words, k = self._words, self._control
        words[0], words[1], words[2], words[k], words[k + 3] = (
            steps, every, stride, control, stored)
        self._call()


def _call_text(pointers: int) -> str:
    """Write a Python function without arguments around `run`, which finds all in its `self`."""
    words = [('i64', '%steps'), ('i64', '%every'), ('i64', '%stride'),
             *(('ptr', f'%p{k}') for k in range(pointers))]
    lines = [f'  %a = getelementptr i8, ptr %self, i64 {layout.DATA}',
             '  %words = load ptr, ptr %a']
    for k, (kind, name) in enumerate([*words, ('ptr', '%hold'), ('ptr', '%none')]):
        lines += [f'  %a{k} = getelementptr i64, ptr %words, i64 {k}',
                  f'  {name} = load {kind}, ptr %a{k}']
    arguments = ', '.join(f'{kind} {name}' for kind, name in words)
    return '\n'.join(['define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {', *lines,
                      f'  call void @run({arguments})', '  call void %hold(ptr %none)',
                      '  ret ptr %none', '}', ''])


def aligned(*shape: int) -> Array:
    """Return zeros that start where a vector register's worth of memory does."""
    count = int(np.prod(shape))
    memory = np.zeros(count + 8)
    skip = -memory.ctypes.data // 8 % 8
    return memory[skip:skip + count].reshape(shape)


def lanes() -> int:
    """Return how many states a vector register holds."""
    return vector_width()
