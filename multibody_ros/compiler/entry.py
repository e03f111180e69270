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
A Python function in machine code around a compiled one: no interpreter between call and result.

The emitted function takes CPython's fast calling convention, recognises ready float64 arrays by
reading their fields as compiled extensions do (numpy's PyArrayObject; checked once at import),
runs the code and returns fresh arrays. Anything else (lists, other dtypes, batches, keywords,
wrong lengths, results that are not good) goes to a Python callable with the same meaning and good
errors.

The last two arrays returned are remembered, two because in `x = f(y)` the caller still holds the
last one while the next call runs. One is used again if nobody but this function holds it any
more, not even weakly, and it still is what it was: for the caller it is as fresh as a new one.
Dropping one may run Python code that calls the same function again, so a slot is emptied before
its array is dropped, looked at again after, and an array in use is held by the call that uses it.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import Any, Callable
import weakref

import numpy as np

from .program import Program

#: offsets in PyObject and PyArrayObject, in bytes
TYPE, DATA, _ND, _DIMENSIONS, _DESCR, _FLAGS, _WEAK = 8, 16, 24, 32, 56, 64, 72
_READY = 0x101          # C contiguous, aligned
_FRESH = 0x507          # and F contiguous, owner of its data, writeable
_FRESH_2D = 0x505
#: a tuple keeps its hash between length and items, -1 until asked for (since Python 3.14)
_TUPLE_HASH = 24 if tuple.__basicsize__ == 32 else None

#: what the emitted code finds in its `self`, an array of addresses
SLOTS = ('ndarray', 'float64', 'old', 'slow', 'vectorcall', 'PyArray_New', 'Py_DecRef',
         'PyFloat_FromDouble', 'result', 'PyType_GenericAlloc', 'PyTuple_SetItem')


def _fields_are_where_we_think() -> bool:
    """Compare the fields of an array, read from memory, with what numpy says of them."""
    if (sys.implementation.name != 'cpython' or sysconfig.get_config_var('Py_GIL_DISABLED')
            or sys.byteorder != 'little' or ctypes.sizeof(ctypes.c_void_p) != 8):
        return False
    array = np.zeros((3, 5))

    def word(offset: int, kind: Any = ctypes.c_void_p) -> Any:
        return kind.from_address(id(array) + offset).value

    unwatched = word(_WEAK) is None
    watch = weakref.ref(array)
    return bool(
        unwatched and word(_WEAK) == id(watch)
        and word(TYPE) == id(np.ndarray) and word(DATA) == array.ctypes.data
        and word(_ND, ctypes.c_int) == 2 and word(_DESCR) == id(np.dtype(float))
        and [ctypes.c_ssize_t.from_address(word(_DIMENSIONS) + 8 * k).value for k in (0, 1)]
        == [3, 5] and word(_FLAGS, ctypes.c_int) == _FRESH_2D)


AVAILABLE = _fields_are_where_we_think()


def address(array: np.ndarray) -> int:
    """Return where an array's numbers lie, as `array.ctypes.data` does but quicker."""
    if not AVAILABLE:
        return array.ctypes.data
    return ctypes.c_void_p.from_address(id(array) + DATA).value or 0


def entry_text(program: Program) -> str:
    """Write the Python function around `@state`."""
    lines: list[str] = []
    own = [k for k, given in enumerate(program.inputs) if not given.shared]
    shared = [k for k, given in enumerate(program.inputs) if given.shared]
    place = {name: k for k, name in enumerate(SLOTS)}
    place.update({f'shared{k}': len(SLOTS) + n for n, k in enumerate(shared)})

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
    field('self', DATA, 'ptr', 'context')
    slot('ndarray', 'ndarray')
    slot('float64', 'float64')
    slot('old', 'old')
    slot('Py_DecRef', 'release')
    add(f'  %count.ok = icmp eq i64 %nargs, {len(own)}',
        '  %plain = icmp eq ptr %kwnames, null', '  %called = and i1 %count.ok, %plain')
    go_on('called', 'check')
    for n, k in enumerate(own):
        name = f'arg{k}'
        add(f'  %{name}.at = getelementptr ptr, ptr %args, i64 {n}',
            f'  %{name} = load ptr, ptr %{name}.at')
        field(name, TYPE, 'ptr', f'{name}.type')
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
        field(name, DATA, 'ptr', f'i{k}')
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
    go_on('good', 'finish', 'bad')
    _results(program, slot, add, go_on)
    arrays = [k for k, output in enumerate(program.outputs) if output.shape]
    add('bad:', *(f'  call void %release(ptr %out{k})' for k in arrays), '  br label %slow')
    for n, k in enumerate(arrays):
        add(f'none{k}:', *(f'  call void %release(ptr %out{j})' for j in arrays[:n]),
            '  ret ptr null')
    add('slow:')
    slot('slow', 'callable')
    slot('vectorcall', 'vectorcall')
    add('  %answer = call ptr %vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr %kwnames)',
        '  ret ptr %answer', '}', '')
    return '\n'.join(lines)


def _reuse(k: int, shape: tuple[int, ...], slot: Callable, field: Callable, add: Callable,
           go_on: Callable) -> None:
    """Hold an array returned before if only we have it, as we made it, or else a new one."""
    a = f'out{k}'
    both_orders = 0 in shape or sum(n > 1 for n in shape) < 2
    # the last array's slot, then the one before: the caller may still hold the last
    add(f'  br label %{a}.look', f'{a}.look:')
    field('old', 16 * k, 'ptr', f'{a}.last')
    add(f'  %{a}.any = icmp ne ptr %{a}.last, null')
    go_on(f'{a}.any', f'{a}.is.there', f'{a}.make')
    add(f'  %{a}.last.count = load i32, ptr %{a}.last',
        f'  %{a}.free = icmp eq i32 %{a}.last.count, 1',
        f'  br i1 %{a}.free, label %{a}.test, label %{a}.turn', f'{a}.turn:')
    field('old', 16 * k + 8, 'ptr', f'{a}.before')
    add(f'  store ptr %{a}.last, ptr %{a}.before.at', f'  store ptr %{a}.before, ptr %{a}.last.at',
        f'  %{a}.second = icmp ne ptr %{a}.before, null')
    go_on(f'{a}.second', f'{a}.turned', f'{a}.make')
    add(f'  br label %{a}.test', f'{a}.test:',
        f'  %{a}.old = phi ptr [%{a}.last, %{a}.is.there], [%{a}.before, %{a}.turned]',
        f'  %{a}.count = load i32, ptr %{a}.old')
    field(f'{a}.old', _ND, 'i32', f'{a}.nd')
    field(f'{a}.old', _FLAGS, 'i32', f'{a}.flags')
    field(f'{a}.old', _DESCR, 'ptr', f'{a}.descr')
    field(f'{a}.old', _WEAK, 'ptr', f'{a}.weak')
    add(f'  %{a}.c1 = icmp eq i32 %{a}.count, 1', f'  %{a}.c2 = icmp eq i32 %{a}.nd, {len(shape)}',
        f'  %{a}.c3 = icmp eq i32 %{a}.flags, {_FRESH if both_orders else _FRESH_2D}',
        f'  %{a}.c4 = icmp eq ptr %{a}.descr, %float64',
        f'  %{a}.c5 = icmp eq ptr %{a}.weak, null',
        f'  %{a}.c12 = and i1 %{a}.c1, %{a}.c2', f'  %{a}.c34 = and i1 %{a}.c3, %{a}.c4',
        f'  %{a}.c125 = and i1 %{a}.c12, %{a}.c5', f'  %{a}.c = and i1 %{a}.c125, %{a}.c34')
    go_on(f'{a}.c', f'{a}.measure0', f'{a}.drop')
    field(f'{a}.old', _DIMENSIONS, 'ptr', f'{a}.dims')
    for n, size in enumerate(shape):
        field(f'{a}.dims', 8 * n, 'i64', f'{a}.dim{n}')
        add(f'  %{a}.same{n} = icmp eq i64 %{a}.dim{n}, {size}')
        go_on(f'{a}.same{n}', f'{a}.measure{n + 1}', f'{a}.drop')
    add(f'  br label %{a}.have', f'{a}.drop:', f'  store ptr null, ptr %{a}.last.at',
        f'  call void %release(ptr %{a}.old)', f'  br label %{a}.look', f'{a}.make:')
    slot('PyArray_New', f'{a}.maker')
    add(f'  %{a}.new = call ptr %{a}.maker(ptr %ndarray, i32 {len(shape)}, ptr @shape{k}, '
        'i32 12, ptr null, ptr null, i32 0, i32 0, ptr null)',
        f'  store ptr %{a}.new, ptr %{a}.last.at', f'  %{a}.made = icmp ne ptr %{a}.new, null')
    go_on(f'{a}.made', f'{a}.have.new', f'none{k}')
    add(f'  br label %{a}.have', f'{a}.have:',
        f'  %{a} = phi ptr [%{a}.old, %{a}.measure{len(shape)}], [%{a}.new, %{a}.have.new]',
        f'  store i32 2, ptr %{a}')
    field(a, DATA, 'ptr', f'o{k}')


def _results(program: Program, slot: Callable, add: Callable, go_on: Callable) -> None:
    """Return the only output, or a named tuple of all."""
    results = [f'out{k}' if output.shape else f'r{k}' for k, output in enumerate(program.outputs)]
    for k, output in enumerate(program.outputs):
        if not output.shape:
            slot('PyFloat_FromDouble', f'r{k}.maker')
            add(f'  %r{k}.value = load double, ptr %o{k}',
                f'  %r{k} = call ptr %r{k}.maker(double %r{k}.value)')
    if len(results) == 1:
        add(f'  ret ptr %{results[0]}')
        return
    slot('result', 'result.type')
    slot('PyType_GenericAlloc', 'result.maker')
    slot('PyTuple_SetItem', 'set')
    add(f'  %tuple = call ptr %result.maker(ptr %result.type, i64 {len(results)})',
        '  %all = icmp ne ptr %tuple, null')
    made = 'all'
    for k, output in enumerate(program.outputs):
        if not output.shape:
            add(f'  %r{k}.made = icmp ne ptr %r{k}, null',
                f'  %all{k} = and i1 %{made}, %r{k}.made')
            made = f'all{k}'
    go_on(made, 'fill', 'torn')
    if _TUPLE_HASH is not None:
        add(f'  %hash.at = getelementptr i8, ptr %tuple, i64 {_TUPLE_HASH}',
            '  store i64 -1, ptr %hash.at')
    for k, name in enumerate(results):
        add(f'  %set{k} = call i32 %set(ptr %tuple, i64 {k}, ptr %{name})')
    add('  ret ptr %tuple', 'torn:',
        *(f'  call void %release(ptr %{name})' for name in ['tuple', *results]),
        '  ret ptr null')
