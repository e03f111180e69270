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

"""A Python function in machine code around a compiled one: no interpreter between call and result.

The emitted function takes CPython's fast calling convention, recognises ready float64 arrays by
reading their fields as compiled extensions do (numpy's PyArrayObject; checked once at import), runs
the code and returns fresh arrays. Anything else (lists, other dtypes, batches, keywords, wrong
lengths, results that are not good) goes to a Python callable with the same meaning and good errors.

An array returned before is used again if nobody but this function holds it any more: for the
caller it is as fresh as a new one.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import Any, Callable

import numpy as np

from .llvm import Library
from .program import Program

#: offsets in PyObject and PyArrayObject, in bytes
_TYPE, _DATA, _ND, _DIMENSIONS, _DESCR, _FLAGS = 8, 16, 24, 32, 56, 64
_READY = 0x101          # C contiguous, aligned
_FRESH = 0x507          # and F contiguous, owner of its data, writeable
_FRESH_2D = 0x505
_METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002

#: what the emitted code finds in its `self`, an array of addresses
_SLOTS = ('ndarray', 'float64', 'slow', 'PyObject_Vectorcall', 'PyArray_New', 'Py_DecRef',
          'PyFloat_FromDouble', 'result', 'PyType_GenericAlloc', 'PyTuple_SetItem')


class Context(np.ndarray):
    """The emitted function's `self`: addresses, and what must live as long as the function."""

    keep: tuple[Any, ...] = ()
    arrays: slice = slice(0, 0)

    def __del__(self) -> None:
        """Give back the arrays kept for reuse."""
        for address in self.view(np.ndarray)[self.arrays].tolist():
            if address:
                ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(address))


class _MethodDef(ctypes.Structure):
    _fields_ = [('name', ctypes.c_char_p), ('function', ctypes.c_void_p),
                ('flags', ctypes.c_int), ('doc', ctypes.c_char_p)]


def _fields_are_where_we_think() -> bool:
    """Compare the fields of an array, read from memory, with what numpy says of them."""
    if (sys.implementation.name != 'cpython' or sysconfig.get_config_var('Py_GIL_DISABLED')
            or sys.byteorder != 'little' or ctypes.sizeof(ctypes.c_void_p) != 8):
        return False
    array = np.zeros((3, 5))

    def word(offset: int, kind: Any = ctypes.c_void_p) -> Any:
        return kind.from_address(id(array) + offset).value

    return bool(
        word(_TYPE) == id(np.ndarray) and word(_DATA) == array.ctypes.data
        and word(_ND, ctypes.c_int) == 2 and word(_DESCR) == id(np.dtype(float))
        and [ctypes.c_ssize_t.from_address(word(_DIMENSIONS) + 8 * k).value for k in (0, 1)]
        == [3, 5] and word(_FLAGS, ctypes.c_int) == _FRESH_2D)


def _array_api(index: int) -> int:
    """Return a function of numpy's C interface by its place in the published table."""
    multiarray = sys.modules.get('numpy._core._multiarray_umath') \
        or sys.modules['numpy.core._multiarray_umath']
    capsule = multiarray._ARRAY_API
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_void_p.from_address(get(capsule, None) + 8 * index).value or 0


AVAILABLE = _fields_are_where_we_think()


def entry_text(program: Program) -> str:
    """Write the Python function around `@state`."""
    lines: list[str] = []
    own = [k for k, given in enumerate(program.inputs) if not given.shared]
    shared = [k for k, given in enumerate(program.inputs) if given.shared]
    place = {name: k for k, name in enumerate(_SLOTS)}
    place.update({f'shared{k}': len(_SLOTS) + n for n, k in enumerate(shared)})
    place.update({f'array{k}': len(_SLOTS) + len(shared) + k for k in range(len(program.outputs))})

    def add(*more: str) -> None:
        lines.extend(more)

    def slot(name: str, into: str) -> None:
        add(f'  %{into}.at = getelementptr ptr, ptr %context, i64 {place[name]}',
            f'  %{into} = load ptr, ptr %{into}.at')

    def field(of: str, offset: int, kind: str, into: str) -> None:
        add(f'  %{into}.at = getelementptr i8, ptr %{of}, i64 {offset}',
            f'  %{into} = load {kind}, ptr %{into}.at')

    def go_on(condition: str, label: str, otherwise: str = 'slow') -> None:
        add(f'  br i1 %{condition}, label %{label}, label %{otherwise}', f'{label}:')

    for k, output in enumerate(program.outputs):
        if output.shape:
            add(f'@shape{k} = private constant [{len(output.shape)} x i64] ['
                + ', '.join(f'i64 {n}' for n in output.shape) + ']')
    add('define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {', 'start:')
    field('self', _DATA, 'ptr', 'context')
    slot('ndarray', 'ndarray')
    slot('float64', 'float64')
    add(f'  %count.ok = icmp eq i64 %nargs, {len(own)}',
        '  %plain = icmp eq ptr %kwnames, null', '  %called = and i1 %count.ok, %plain')
    go_on('called', 'check')
    for n, k in enumerate(own):
        name = f'arg{k}'
        add(f'  %{name}.at = getelementptr ptr, ptr %args, i64 {n}',
            f'  %{name} = load ptr, ptr %{name}.at')
        field(name, _TYPE, 'ptr', f'{name}.type')
        add(f'  %{name}.array = icmp eq ptr %{name}.type, %ndarray')
        go_on(f'{name}.array', f'{name}.is.array')
        field(name, _DESCR, 'ptr', f'{name}.descr')
        field(name, _ND, 'i32', f'{name}.nd')
        field(name, _FLAGS, 'i32', f'{name}.flags')
        add(f'  %{name}.float = icmp eq ptr %{name}.descr, %float64',
            f'  %{name}.flat = icmp eq i32 %{name}.nd, 1',
            f'  %{name}.bits = and i32 %{name}.flags, {_READY}',
            f'  %{name}.ready = icmp eq i32 %{name}.bits, {_READY}',
            f'  %{name}.ok1 = and i1 %{name}.float, %{name}.flat',
            f'  %{name}.ok2 = and i1 %{name}.ok1, %{name}.ready')
        go_on(f'{name}.ok2', f'{name}.is.ready')
        field(name, _DIMENSIONS, 'ptr', f'{name}.dims')
        add(f'  %{name}.length = load i64, ptr %{name}.dims',
            f'  %{name}.fits = icmp eq i64 %{name}.length, {program.inputs[k].size}')
        go_on(f'{name}.fits', f'{name}.is.good')
        field(name, _DATA, 'ptr', f'i{k}')
    for k in shared:
        slot(f'shared{k}', f'i{k}')
    for k, output in enumerate(program.outputs):
        if output.shape:
            _reuse(k, output.shape, slot, field, add, go_on)
        else:
            add(f'  %o{k} = alloca double')
    pointers = [f'ptr %i{k}' for k in range(len(program.inputs))]
    pointers += [f'ptr %o{k}' for k in range(len(program.outputs))]
    add(f'  %status = call double @state({", ".join(pointers)})',
        '  %good = fcmp oeq double %status, 0.0')
    go_on('good', 'finish')
    _results(program, slot, add)
    add('slow:')
    slot('slow', 'callable')
    slot('PyObject_Vectorcall', 'vectorcall')
    add('  %answer = call ptr %vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr %kwnames)',
        '  ret ptr %answer', '}', '')
    return '\n'.join(lines)


def _reuse(k: int, shape: tuple[int, ...], slot: Callable, field: Callable, add: Callable,
           go_on: Callable) -> None:
    """Take the array returned before if only we hold it and it is as we made it, else a new one."""
    a = f'out{k}'
    fresh = _FRESH if len(shape) == 1 or 1 in shape else _FRESH_2D
    slot(f'array{k}', f'{a}.old')
    add(f'  %{a}.any = icmp ne ptr %{a}.old, null')
    go_on(f'{a}.any', f'{a}.look', f'{a}.make')
    add(f'  %{a}.count = load i32, ptr %{a}.old')
    field(f'{a}.old', _ND, 'i32', f'{a}.nd')
    field(f'{a}.old', _FLAGS, 'i32', f'{a}.flags')
    field(f'{a}.old', _DESCR, 'ptr', f'{a}.descr')
    add(f'  %{a}.c1 = icmp eq i32 %{a}.count, 1', f'  %{a}.c2 = icmp eq i32 %{a}.nd, {len(shape)}',
        f'  %{a}.c3 = icmp eq i32 %{a}.flags, {fresh}',
        f'  %{a}.c4 = icmp eq ptr %{a}.descr, %float64',
        f'  %{a}.c12 = and i1 %{a}.c1, %{a}.c2', f'  %{a}.c34 = and i1 %{a}.c3, %{a}.c4',
        f'  %{a}.c = and i1 %{a}.c12, %{a}.c34')
    go_on(f'{a}.c', f'{a}.measure', f'{a}.drop')
    field(f'{a}.old', _DIMENSIONS, 'ptr', f'{a}.dims')
    add(f'  %{a}.d = load i64, ptr %{a}.dims', f'  %{a}.same = icmp eq i64 %{a}.d, {shape[0]}',
        f'  br i1 %{a}.same, label %{a}.have, label %{a}.drop', f'{a}.drop:')
    slot('Py_DecRef', f'{a}.decref')
    add(f'  call void %{a}.decref(ptr %{a}.old)', f'  br label %{a}.make', f'{a}.make:')
    slot('PyArray_New', f'{a}.maker')
    add(f'  %{a}.new = call ptr %{a}.maker(ptr %ndarray, i32 {len(shape)}, ptr @shape{k}, '
        'i32 12, ptr null, ptr null, i32 0, i32 0, ptr null)',
        f'  store ptr %{a}.new, ptr %{a}.old.at', f'  %{a}.made = icmp ne ptr %{a}.new, null')
    go_on(f'{a}.made', f'{a}.have.new')
    add(f'  br label %{a}.have', f'{a}.have:',
        f'  %{a} = phi ptr [%{a}.old, %{a}.measure], [%{a}.new, %{a}.have.new]')
    field(a, _DATA, 'ptr', f'o{k}')


def _results(program: Program, slot: Callable, add: Callable) -> None:
    """Return the only output, or a named tuple of all."""
    for k, output in enumerate(program.outputs):
        if output.shape:
            add(f'  %r{k}.count = load i32, ptr %out{k}', f'  %r{k}.more = add i32 %r{k}.count, 1',
                f'  store i32 %r{k}.more, ptr %out{k}', f'  %r{k} = bitcast ptr %out{k} to ptr')
        else:
            slot('PyFloat_FromDouble', f'r{k}.maker')
            add(f'  %r{k}.value = load double, ptr %o{k}',
                f'  %r{k} = call ptr %r{k}.maker(double %r{k}.value)')
    if len(program.outputs) == 1:
        add('  ret ptr %r0')
        return
    slot('result', 'result.type')
    slot('PyType_GenericAlloc', 'result.maker')
    slot('PyTuple_SetItem', 'set')
    add(f'  %tuple = call ptr %result.maker(ptr %result.type, i64 {len(program.outputs)})')
    for k in range(len(program.outputs)):
        add(f'  %set{k} = call i32 %set(ptr %tuple, i64 {k}, ptr %r{k})')
    add('  ret ptr %tuple')


def python_function(program: Program, library: Library, slow: Callable, shared: list[np.ndarray],
                    result: type | None = None) -> Callable:
    """Return the emitted function as a Python callable.

    `slow` answers what the code does not, `shared` are the arrays of the shared inputs, `result` the
    named tuple of several outputs.
    """
    def function(name: str) -> int:
        return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0

    address = {'ndarray': id(np.ndarray), 'float64': id(np.dtype(float)), 'slow': id(slow),
               'result': id(result), 'PyArray_New': _array_api(93)}
    words = [address.get(name) or function(name) for name in _SLOTS]
    words += [array.ctypes.data for array in shared]
    context = np.array(words + [0] * len(program.outputs), dtype=np.uint64).view(Context)
    context.arrays = slice(len(words), None)
    definition = _MethodDef(program.name.encode(), library.address('entry'),
                            _METH_FASTCALL_KEYWORDS, None)
    context.keep = (library, slow, shared, result, definition)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [
        ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    emitted: Callable = make(ctypes.addressof(definition), context, None)
    return emitted
