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

"""Where the fields of Python's and numpy's objects are, checked once at import."""

from __future__ import annotations

import builtins
import ctypes
import sys
import sysconfig
from typing import Any
import weakref

import numpy as np

TYPE, DATA, ND, DIMENSIONS, DESCR, FLAGS, WEAK = 8, 16, 24, 32, 56, 64, 72
READY = 0x101          # C contiguous, aligned
FRESH = 0x507          # and F contiguous, owner of its data, writeable
FRESH_2D = 0x505
FLOAT_VALUE = 16
FUNCTION_DEFINITION, FUNCTION_SELF = 16, 24
TUPLE_ITEMS = tuple.__basicsize__
#: newer interpreters keep the hash in a tuple
TUPLE_HASH = 24 if TUPLE_ITEMS == 32 else None


def _fields_are_where_we_think() -> bool:
    """Compare fields read from memory with what Python and numpy say of them."""
    if (sys.implementation.name != 'cpython' or sysconfig.get_config_var('Py_GIL_DISABLED')
            or sys.byteorder != 'little' or ctypes.sizeof(ctypes.c_void_p) != 8):
        return False
    array = np.zeros((3, 5))

    def word(offset: int, kind: Any = ctypes.c_void_p, of: object = array) -> Any:
        return kind.from_address(id(of) + offset).value

    unwatched = word(WEAK) is None
    watch = weakref.ref(array)
    number = float(array.size)
    definition = word(FUNCTION_DEFINITION, of=abs)
    return bool(
        unwatched and word(WEAK) == id(watch)
        and word(TYPE) == id(np.ndarray) and word(DATA) == array.ctypes.data
        and word(ND, ctypes.c_int) == 2 and word(DESCR) == id(np.dtype(float))
        and [ctypes.c_ssize_t.from_address(word(DIMENSIONS) + 8 * k).value for k in (0, 1)]
        == [3, 5] and word(FLAGS, ctypes.c_int) == FRESH_2D
        and word(FLOAT_VALUE, ctypes.c_double, number) == number
        and word(TUPLE_ITEMS + 8, of=(array, number)) == id(number)
        and ctypes.c_char_p.from_address(definition).value == b'abs'
        and word(FUNCTION_SELF, of=abs) == id(builtins))


AVAILABLE = _fields_are_where_we_think()


def address(array: np.ndarray) -> int:
    """Return where an array's numbers lie, as `array.ctypes.data` does but quicker."""
    if not AVAILABLE:
        return array.ctypes.data
    return ctypes.c_void_p.from_address(id(array) + DATA).value or 0
