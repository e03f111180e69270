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

What is not found, and calls with keywords, go to a Python callable with the same meaning.
"""

from __future__ import annotations

from typing import Any, Callable

from .callable import emitted_function, exported, vectorcall
from .layout import DATA, TYPE
from .llvm import Library

_SLOTS = ('table', 'str', 'slow', 'vectorcall', 'PyDict_GetItemWithError', 'PyObject_Vectorcall',
          'Py_IncRef', 'Py_DecRef')


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
  %type.at = getelementptr i8, ptr %key, i64 {TYPE}
  %type = load ptr, ptr %type.at
  %text = icmp eq ptr %type, %str
  br i1 %text, label %look, label %other
look:
  %found = call ptr %PyDict_GetItemWithError(ptr %table, ptr %key)
  %known = icmp ne ptr %found, null
  br i1 %known, label %use, label %other
use:
  call void %Py_IncRef(ptr %found)
  %result = call ptr %PyObject_Vectorcall(ptr %found, ptr %args, i64 %rest, ptr null)
  call void %Py_DecRef(ptr %found)
  ret ptr %result
other:
  %answer = call ptr %vectorcall(ptr %slow, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}}
"""


def lookup_function(name: str, library: Library, table: dict[str, Any],
                    slow: Callable) -> Callable:
    """Return the emitted function as a Python callable for a table of functions."""
    address = {'table': id(table), 'str': id(str), 'slow': id(slow),
               'vectorcall': vectorcall(slow)}
    words = [address.get(slot) or exported(slot) for slot in _SLOTS]
    return emitted_function(name, library, 'lookup', words, (table, slow))
