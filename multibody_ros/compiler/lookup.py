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
A Python function in machine code that finds another by its last argument and calls that.

The last one found is remembered with the very object that named it, and called without looking.
What is not found, and calls with keywords, go to a Python callable with the same meaning.
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable

import numpy as np

from .callable import emitted_function, exported, FASTCALL_KEYWORDS, vectorcall
from .layout import DATA, FUNCTION_DEFINITION, FUNCTION_SELF, TYPE
from .llvm import Library

#: the last two are written by the function: what it found last
_SLOTS = ('table', 'str', 'slow', 'vectorcall', 'PyDict_GetItemWithError',
          # Python 3.10 exports this one, but not PyObject_Vectorcall
          'PyObject_VectorcallDict', 'Py_IncRef', 'Py_DecRef', 'PyCFunction_Type', 'last', 'code',
          'code.self')


def lookup_text() -> str:
    """Write the function; it serves every table."""
    slots = '\n'.join(
        f'  %{name}.at = getelementptr ptr, ptr %context, i64 {k}\n'
        f'  %{name} = load ptr, ptr %{name}.at' for k, name in enumerate(_SLOTS))
    return f"""
define ptr @lookup(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {{
  %data = getelementptr i8, ptr %self, i64 {DATA}
  %context = load ptr, ptr %data
{slots}
  %plain = icmp eq ptr %kwnames, null
  %some = icmp sgt i64 %nargs, 1
  %called = and i1 %plain, %some
  br i1 %called, label %check, label %other
check:
  %rest = sub i64 %nargs, 1
  %key.at = getelementptr ptr, ptr %args, i64 %rest
  %key = load ptr, ptr %key.at
  %last.key = load ptr, ptr %last
  %same = icmp eq ptr %key, %last.key
  br i1 %same, label %again, label %new
again:
  %quick = call ptr %code(ptr %code.self, ptr %args, i64 %rest, ptr null)
  ret ptr %quick
new:
  %type.at = getelementptr i8, ptr %key, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %text = icmp eq ptr %type, %str
  br i1 %text, label %look, label %other
look:
  %found = call ptr %PyDict_GetItemWithError(ptr %table, ptr %key)
  %known = icmp ne ptr %found, null
  br i1 %known, label %use, label %other
use:
  %found.type.at = getelementptr i8, ptr %found, i64 {TYPE}
  %found.type = load ptr, ptr %found.type.at
  %builtin = icmp eq ptr %found.type, %PyCFunction_Type
  br i1 %builtin, label %inspect, label %call
inspect:
  %definition.at = getelementptr i8, ptr %found, i64 {FUNCTION_DEFINITION}
  %definition = load ptr, ptr %definition.at
  %flags.at = getelementptr i8, ptr %definition, i64 16
  %flags = load i32, ptr %flags.at
  %fast = icmp eq i32 %flags, {FASTCALL_KEYWORDS}
  br i1 %fast, label %remember, label %call
remember:
  %new.code.at = getelementptr i8, ptr %definition, i64 8
  %new.code = load ptr, ptr %new.code.at
  %new.self.at = getelementptr i8, ptr %found, i64 {FUNCTION_SELF}
  %new.self = load ptr, ptr %new.self.at
  store ptr %new.code, ptr %code.at
  store ptr %new.self, ptr %code.self.at
  call void %Py_IncRef(ptr %key)
  store ptr %key, ptr %last
  %any = icmp ne ptr %last.key, null
  br i1 %any, label %forget, label %call
forget:
  call void %Py_DecRef(ptr %last.key)
  br label %call
call:
  call void %Py_IncRef(ptr %found)
  %result = call ptr %PyObject_VectorcallDict(ptr %found, ptr %args, i64 %rest, ptr null)
  call void %Py_DecRef(ptr %found)
  ret ptr %result
other:
  %answer = call ptr %vectorcall(ptr %slow, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}}
"""


def lookup_function(name: str, library: Library, table: dict[str, Any],
                    slow: Callable) -> Callable:
    """Return the emitted function as a Python callable for a table, which only grows."""
    # numpy releases what it finds in an array of objects, null or not
    last = np.empty(1, dtype=object)
    ctypes.memset(last.ctypes.data, 0, last.nbytes)
    address = {'table': id(table), 'str': id(str), 'slow': id(slow),
               'vectorcall': vectorcall(slow), 'last': last.ctypes.data,
               'PyCFunction_Type': id(type(len))}
    words = [0 if slot.startswith('code') else address.get(slot) or exported(slot)
             for slot in _SLOTS]
    return emitted_function(name, library, 'lookup', words, (table, slow, last))
