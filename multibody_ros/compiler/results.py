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
The results of an emitted Python function (see entry.py): fresh for the caller, mostly not new.

The last two results returned are remembered, two because in `x = f(y)` the caller still holds the
last one while the next call runs. One is used again if nobody but this function holds it any
more, or any array in it, not even weakly, and it still is what it was: for the caller it is as
fresh as a new one (Python's own zip treats its tuples so). Dropping one may run Python code that
calls the same function again, so a slot is emptied before what is in it is dropped, looked at
again after, and what is in use is held by the call that uses it.
"""

from __future__ import annotations

from typing import Any

from .layout import (
    DATA, DESCR, DIMENSIONS, FLAGS, FLOAT_VALUE, FRESH, FRESH_2D, ND, TUPLE_HASH, TUPLE_ITEMS,
    WEAK)
from .program import Output, Program


class Results:
    """Writes how results are found or made, `prepare`, and returned, `finish`."""

    def __init__(self, program: Program, code: Any) -> None:
        """Take the outputs, and the code to go on with."""
        self.code = code
        self.outputs = program.outputs
        self.arrays = [k for k, output in enumerate(program.outputs) if output.shape]
        self.numbers = [k for k, output in enumerate(program.outputs) if not output.shape]
        self.together = len(program.outputs) > 1

    def constants(self) -> None:
        """Write the shapes of the arrays."""
        for k in self.arrays:
            shape = self.outputs[k].shape
            self.code.add(f'@shape{k} = private constant [{len(shape)} x i64] ['
                          + ', '.join(f'i64 {n}' for n in shape) + ']')

    def room(self) -> None:
        """Make room for single numbers."""
        self.code.add(*(f'  %o{k} = alloca double' for k in self.numbers))

    def prepare(self) -> None:
        """Hold a result returned before if only we have it, as we made it, or else a new one."""
        if not self.arrays and not self.together:
            return
        add, go_on = self.code.add, self.code.go_on
        add('  br label %again', 'again:', '  br label %look', 'look:',
            '  %n = phi i64 [0, %again], [1, %busy.first]',
            '  %old.at = getelementptr ptr, ptr %old, i64 %n', '  %found = load ptr, ptr %old.at',
            '  %any = icmp ne ptr %found, null')
        go_on('any', 'is.there', 'busy')
        add('  %found.count = load i32, ptr %found', '  %found.free = icmp eq i32 %found.count, 1')
        go_on('found.free', 'is.free', 'busy')
        if self.together:
            for k in self.arrays:
                self.code.field('found', TUPLE_ITEMS + 8 * k, 'ptr', f'old{k}')
                add(f'  %old{k}.count = load i32, ptr %old{k}',
                    f'  %old{k}.free = icmp eq i32 %old{k}.count, 1')
            self._all([f'old{k}.free' for k in self.arrays], 'items.free', 'busy')
        else:
            add(*(f'  %old{k} = getelementptr i8, ptr %found, i64 0' for k in self.arrays))
        for k in self.arrays:
            self._header(k)
        self._all([f'old{k}.{c}' for k in self.arrays
                   for c in ('nd.ok', 'flags.ok', 'descr.ok', 'weak.ok')], 'measure', 'drop')
        for k in self.arrays:
            self.code.field(f'old{k}', DIMENSIONS, 'ptr', f'old{k}.dims')
            for n, size in enumerate(self.outputs[k].shape):
                self.code.field(f'old{k}.dims', 8 * n, 'i64', f'old{k}.dim{n}')
                add(f'  %old{k}.same{n} = icmp eq i64 %old{k}.dim{n}, {size}')
        self._all([f'old{k}.same{n}' for k in self.arrays
                   for n in range(len(self.outputs[k].shape))], 'reuse', 'drop')
        add('  store i32 2, ptr %found', '  br label %ready',
            'drop:', '  store ptr null, ptr %old.at', '  call void %release(ptr %found)',
            '  br label %again',
            'busy:', '  %first = icmp eq i64 %n, 0',
            '  br i1 %first, label %busy.first, label %make', 'busy.first:', '  br label %look',
            'make:')
        self._make()
        add('ready:', '  %result = phi ptr [%found, %reuse], [%new, %remembered]')
        for k in self.arrays:
            if self.together:
                self.code.field('result', TUPLE_ITEMS + 8 * k, 'ptr', f'out{k}')
            else:
                add(f'  %out{k} = getelementptr i8, ptr %result, i64 0')
            self.code.field(f'out{k}', DATA, 'ptr', f'o{k}')

    def finish(self) -> None:
        """Return the only output, or the named tuple of all."""
        code, add = self.code, self.code.add
        for k in self.numbers:
            add(f'  %number{k} = load double, ptr %o{k}')
        if not self.together:
            if self.numbers:
                code.slot('PyFloat_FromDouble', 'number')
                add('  %result = call ptr %number(double %number0)')
            add('  ret ptr %result')
            return
        if self.numbers:
            code.slot('PyFloat_FromDouble', 'number')
        for k in self.numbers:
            code.field('result', TUPLE_ITEMS + 8 * k, 'ptr', f'float{k}')
            add(f'  %float{k}.count = load i32, ptr %float{k}',
                f'  %float{k}.free = icmp eq i32 %float{k}.count, 1',
                f'  br i1 %float{k}.free, label %overwrite{k}, label %replace{k}',
                f'overwrite{k}:',
                f'  %float{k}.value = getelementptr i8, ptr %float{k}, i64 {FLOAT_VALUE}',
                f'  store double %number{k}, ptr %float{k}.value', f'  br label %done{k}',
                f'replace{k}:', f'  %new{k} = call ptr %number(double %number{k})',
                f'  %new{k}.made = icmp ne ptr %new{k}, null')
            code.go_on(f'new{k}.made', f'put{k}', 'torn')
            add(f'  store ptr %new{k}, ptr %float{k}.at',
                f'  call void %release(ptr %float{k})', f'  br label %done{k}', f'done{k}:')
        if TUPLE_HASH is not None:
            add(f'  %hash.at = getelementptr i8, ptr %result, i64 {TUPLE_HASH}',
                '  store i64 -1, ptr %hash.at')
        add('  ret ptr %result')
        if self.numbers:
            add('torn:', '  call void %release(ptr %result)', '  ret ptr null')

    def give_up(self) -> None:
        """Let go of what `prepare` holds."""
        if self.arrays or self.together:
            self.code.add('  call void %release(ptr %result)')

    def _header(self, k: int) -> None:
        """Compare the fields of an array with those it had when it was made."""
        shape = self.outputs[k].shape
        both_orders = 0 in shape or sum(n > 1 for n in shape) < 2
        for name, offset, kind, value in (
                ('nd', ND, 'i32', len(shape)), ('flags', FLAGS, 'i32', FRESH if both_orders
                                                else FRESH_2D),
                ('descr', DESCR, 'ptr', '%float64'), ('weak', WEAK, 'ptr', 'null')):
            self.code.field(f'old{k}', offset, kind, f'old{k}.{name}')
            self.code.add(f'  %old{k}.{name}.ok = icmp eq {kind} %old{k}.{name}, {value}')

    def _all(self, conditions: list[str], label: str, otherwise: str) -> None:
        """Go on where all conditions hold."""
        total = conditions[0] if conditions else None
        for n, condition in enumerate(conditions[1:]):
            self.code.add(f'  %{label}.{n} = and i1 %{total}, %{condition}')
            total = f'{label}.{n}'
        if total is None:
            self.code.add(f'  br label %{label}', f'{label}:')
        else:
            self.code.go_on(total, label, otherwise)

    def _make(self) -> None:
        """Make a result, remember it as the last one and forget the one before the last."""
        code, add = self.code, self.code.add
        if self.together:
            code.slot('result', 'result.type')
            code.slot('PyType_GenericAlloc', 'tuple.maker')
            add(f'  %new = call ptr %tuple.maker(ptr %result.type, i64 {len(self.outputs)})',
                '  %new.made = icmp ne ptr %new, null')
            code.go_on('new.made', 'fill', 'none')
            for k, output in enumerate(self.outputs):
                self._item(k, output)
        else:
            self._array(0, 'new')
            code.go_on('new.made', 'fill', 'none')
        add('  store i32 2, ptr %new')
        code.field('old', 8, 'ptr', 'before')
        add('  %last = load ptr, ptr %old', '  store ptr %last, ptr %before.at',
            '  store ptr %new, ptr %old', '  %forgotten = icmp ne ptr %before, null',
            '  br i1 %forgotten, label %forget, label %remembered', 'forget:',
            '  call void %release(ptr %before)', '  br label %remembered',
            *(['half:', '  call void %release(ptr %new)', '  br label %none']
              if self.together else []),
            'none:', '  ret ptr null', 'remembered:', '  br label %ready')

    def _array(self, k: int, into: str) -> None:
        """Make an array."""
        self.code.slot('PyArray_New', f'{into}.maker')
        self.code.add(
            f'  %{into} = call ptr %{into}.maker(ptr %ndarray, i32 {len(self.outputs[k].shape)}, '
            f'ptr @shape{k}, i32 12, ptr null, ptr null, i32 0, i32 0, ptr null)',
            f'  %{into}.made = icmp ne ptr %{into}, null')

    def _item(self, k: int, output: Output) -> None:
        """Make an item of the tuple, which takes it over."""
        if output.shape:
            self._array(k, f'item{k}')
        else:
            self.code.slot('PyFloat_FromDouble', f'item{k}.maker')
            self.code.add(f'  %item{k} = call ptr %item{k}.maker(double 0.0)',
                          f'  %item{k}.made = icmp ne ptr %item{k}, null')
        self.code.go_on(f'item{k}.made', f'fill{k}', 'half')
        self.code.add(f'  %item{k}.at = getelementptr i8, ptr %new, i64 {TUPLE_ITEMS + 8 * k}',
                      f'  store ptr %item{k}, ptr %item{k}.at')
