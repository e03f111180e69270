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

"""The emitted entry function (see entry.py) as a Python callable."""

from __future__ import annotations

import ctypes
from functools import cache
import sys
from typing import Any, Callable

import numpy as np

from .entry import SLOTS
from .llvm import Library
from .program import Program

FASTCALL_KEYWORDS = 0x0080 | 0x0002
#: in PyTypeObject: where objects of the type keep the function that calls them (PEP 590)
_VECTORCALL_OFFSET, _HAS_VECTORCALL = 56, 1 << 11

_NEW_FUNCTION = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ('PyCFunction_NewEx', ctypes.pythonapi))


class Context(np.ndarray):
    """The emitted function's `self`: addresses, and what must live as long as the function."""

    keep: tuple[Any, ...] = ()


class _MethodDef(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('function', ctypes.c_void_p),
                ('flags', ctypes.c_int), ('doc', ctypes.c_char_p)]


@cache
def exported(name: str) -> int:
    """Return the address of a function of Python's C interface."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


@cache
def _array_api(index: int) -> int:
    """Return that of a function of numpy's C interface by its place in the published table."""
    multiarray = sys.modules.get('numpy._core._multiarray_umath') \
        or sys.modules['numpy.core._multiarray_umath']
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ('PyCapsule_GetPointer', ctypes.pythonapi))
    return ctypes.c_void_p.from_address(get(multiarray._ARRAY_API, None) + 8 * index).value or 0


def vectorcall(function: Any) -> int | None:
    """Return the address of what calls a function fast, None if it has none (PEP 590)."""
    if not type(function).__flags__ & _HAS_VECTORCALL:
        return None
    offset = ctypes.c_ssize_t.from_address(id(type(function)) + _VECTORCALL_OFFSET).value
    return ctypes.c_void_p.from_address(id(function) + offset).value


def python_function(program: Program, library: Library, slow: Callable, shared: list[np.ndarray],
                    result: type | None = None) -> Callable:
    """
    Return the emitted function as a Python callable.

    `slow` answers what the code does not, `shared` are the arrays of the shared inputs, `result`
    the named tuple of several outputs.
    """
    if vectorcall(slow) is None:
        def answer(*values: Any, **named: Any) -> Any:
            return slow(*values, **named)
    else:
        answer = slow
    # results to use again: numpy releases what it finds in an array of objects, null or not
    old = np.empty(2, dtype=object)
    ctypes.memset(old.ctypes.data, 0, old.nbytes)
    address = {'ndarray': id(np.ndarray), 'float64': id(np.dtype(float)), 'slow': id(answer),
               'vectorcall': vectorcall(answer), 'result': id(result), 'old': old.ctypes.data,
               'PyArray_New': _array_api(93)}
    words = [address.get(name) or exported(name) for name in SLOTS]
    words += [array.ctypes.data for array in shared]
    return emitted_function(program.name, library, 'entry', words,
                            (answer, tuple(shared), result, old))


def emitted_function(name: str, library: Library, symbol: str, words: list[int],
                     keep: tuple[Any, ...]) -> Callable:
    """Return a function of a library as a Python callable that finds `words` in its `self`."""
    context = np.array(words, dtype=np.uint64).view(Context)
    definition = _MethodDef(name.encode(), library.address(symbol), FASTCALL_KEYWORDS, None)
    context.keep = (library, *keep, definition)
    emitted: Callable = _NEW_FUNCTION(ctypes.addressof(definition), context, None)
    return emitted
