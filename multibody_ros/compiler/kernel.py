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

"""A program made callable: compiled when first used, for one state and for batches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import ctypes
from functools import cache
import hashlib
import os
from pathlib import Path
import sys
import threading
from typing import Any, Callable, Sequence

import numpy as np

from . import cache as files
from . import layout
from .callable import python_function
from .entry import entry_text
from .llvm import compile_text, fused, identity, Library, vector_width
from .lookup import lookup_function, lookup_text
from .program import batch_text, Program, state_text
from .spare import Spare

#: rows a thread should have at least, so that starting it pays
ROWS_PER_THREAD = 1024
_threads = 1


def set_threads(count: int) -> None:
    """Use up to `count` native threads for large batches; 1, the default, for none but this."""
    global _threads
    if not isinstance(count, int) or count < 1:
        raise ValueError(f'the number of threads must be a whole number above 0, not {count!r}')
    _threads = count


@cache
def _source() -> bytes:
    """Return the digest of this package's own code: whatever it records depends on it."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob('*.py')):
        if path.parent.name not in ('nodes', 'trajectory'):
            digest.update(path.read_bytes())
    return digest.digest()


def _python() -> bytes:
    """Name what the entry function's text depends on: the interpreter's objects."""
    return f'{sys.implementation.cache_tag} {layout.AVAILABLE}'.encode()


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the threads of this process (a forked child has none of its parent's)."""
    return ThreadPoolExecutor(os.cpu_count() or 1, 'multibody')


def _loaded(key: list[bytes], text: Callable[[], str]) -> Library:
    """Return the code of LLVM assembly: from disk, or from the compiler."""
    name = hashlib.sha256(b'\0'.join(
        [identity().encode(), _source(), _python(), *key])).hexdigest()
    image = files.read(name)
    if image is None:
        image = compile_text(text())
        files.write(name, image)
    return Library(image)


@cache
def _lookup() -> Library:
    return _loaded([b'lookup'], lookup_text)


def by_last_argument(name: str, table: dict[str, Any], slow: Callable) -> Callable:
    """Return the quickest callable for a table of functions; `slow` answers all it does not."""
    return lookup_function(name, _lookup(), table, slow) if layout.AVAILABLE else slow


class Kernel:
    """A compiled program."""

    def __init__(self, program: Program, key: bytes, shared: Sequence[np.ndarray] = (),
                 result: type | None = None) -> None:
        """
        Prepare `program`; `key` tells apart programs of one name whose functions differ.

        `shared` are the arrays of the shared inputs, read at every call; `result` is the named
        tuple for programs of several outputs.
        """
        if (result is None) != (len(program.outputs) == 1):
            raise TypeError(f"program '{program.name}' has {len(program.outputs)} outputs: "
                            'a named tuple belongs to several')
        self.program = program
        self.shared = list(shared)
        self.result = result
        self.own = [given for given in program.inputs if not given.shared]
        self._key = key
        self._lock = threading.Lock()
        self._loaded: dict[str, Library] = {}
        self._functions: dict[str, Callable] = {}
        self._spare = [Spare() for _ in program.outputs]

    def _library(self, kind: str) -> Library:
        """Return the code of one kind ('state' or 'batch'): from memory, disk or the compiler."""
        with self._lock:
            if kind not in self._loaded:
                program = self.program
                shapes = repr((program.name, program.inputs, program.outputs)).encode()
                self._loaded[kind] = _loaded(
                    [kind.encode(), shapes, self._key], lambda: self.text(kind))
            return self._loaded[kind]

    def text(self, kind: str) -> str:
        """Return the LLVM assembly."""
        if kind == 'batch':
            return batch_text(self.program, fused(), vector_width())
        text = state_text(self.program, fused())
        return text + entry_text(self.program) if layout.AVAILABLE else text

    def _function(self, kind: str) -> Callable:
        if kind not in self._functions:
            arrays = [ctypes.c_void_p] * (len(self.program.inputs) + len(self.program.outputs))
            head = [ctypes.c_int64] if kind == 'batch' else []
            self._functions[kind] = ctypes.CFUNCTYPE(ctypes.c_double, *head, *arrays)(
                self._library(kind).address(kind))
        return self._functions[kind]

    def python_function(self, slow: Callable) -> Callable:
        """Return the quickest callable for one state; `slow` answers all it does not."""
        if not layout.AVAILABLE:
            return slow
        return python_function(
            self.program, self._library('state'), slow, self.shared, self.result)

    def run(self, inputs: Sequence[np.ndarray], rows: int | None) -> tuple[list[np.ndarray], bool]:
        """
        Run on contiguous float64 arrays; `rows` is the batch size, None for one state.

        Returns the outputs, and whether all of them are good.
        """
        given = iter(inputs)
        shared = iter(self.shared)
        arrays = [next(shared) if x.shared else next(given) for x in self.program.inputs]
        if rows is None:
            outputs = [np.empty(output.shape) for output in self.program.outputs]
            addresses = [layout.address(array) for array in (*arrays, *outputs)]
            return outputs, self._function('state')(*addresses) == 0.0
        outputs = [spare.array((rows, *output.shape))
                   for spare, output in zip(self._spare, self.program.outputs)]
        good = self._run_rows([layout.address(array) for array in (*arrays, *outputs)], rows)
        for spare, output in zip(self._spare, outputs):
            spare.keep(output)
        return outputs, good

    def _run_rows(self, addresses: list[int], rows: int) -> bool:
        """Run on rows of arrays, a vector full at a time, in as many threads as are wanted."""
        count = max(1, min(_threads, rows // ROWS_PER_THREAD))
        if count == 1 and rows >= vector_width():
            return self._function('batch')(rows, *addresses) == 0.0
        strides = [0 if x.shared else 8 * x.size for x in self.program.inputs]
        strides += [8 * x.size for x in self.program.outputs]

        def from_row(row: int) -> list[int]:
            return [x + row * stride for x, stride in zip(addresses, strides)]

        if rows < vector_width():
            state = self._function('state')
            statuses = [state(*from_row(row)) for row in range(rows)]
            return not any(statuses)
        batch = self._function('batch')

        def part(first: int, last: int) -> float:
            return batch(last - first, *from_row(first))

        bounds = [rows * k // count for k in range(count + 1)]
        # all of them: the arrays are not to be left while a thread still writes
        statuses = list(_pool(os.getpid()).map(part, bounds[:-1], bounds[1:]))
        return not any(statuses)

    def pack(self, outputs: list[Any]) -> Any:
        """Return the outputs as the caller sees them."""
        values = [x.item() if x.ndim == 0 else x for x in outputs]
        return values[0] if self.result is None else self.result(*values)
