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
reading their fields as compiled extensions do (see layout.py), runs the code and returns fresh
arrays (see results.py). Anything else (lists, other dtypes, batches, keywords, wrong lengths,
results that are not good) goes to a Python callable with the same meaning and good errors.
"""

from __future__ import annotations

from .layout import DATA, DESCR, DIMENSIONS, FLAGS, ND, READY, TYPE
from .program import Program
from .results import Results

SLOTS = ('ndarray', 'float64', 'old', 'slow', 'vectorcall', 'PyArray_New', 'Py_DecRef',
         'PyFloat_FromDouble', 'result', 'PyType_GenericAlloc')


class Code:
    """Lines of the function, and the words they are written in."""

    def __init__(self, slots: tuple[str, ...]) -> None:
        """Start empty; `slots` name what lies in the function's context."""
        self.lines: list[str] = []
        self._place = {name: k for k, name in enumerate(slots)}

    def add(self, *lines: str) -> None:
        """Add lines."""
        self.lines.extend(lines)

    def slot(self, name: str, into: str) -> None:
        """Load a word of the context."""
        self.add(f'  %{into}.slot = getelementptr ptr, ptr %context, i64 {self._place[name]}',
                 f'  %{into} = load ptr, ptr %{into}.slot')

    def field(self, of: str, offset: int, kind: str, into: str) -> None:
        """Load a field of an object; its address goes by the name of the field with .at."""
        self.add(f'  %{into}.at = getelementptr i8, ptr %{of}, i64 {offset}',
                 f'  %{into} = load {kind}, ptr %{into}.at')

    def go_on(self, condition: str, label: str, otherwise: str = 'slow') -> None:
        """Go on at `label` if a condition holds."""
        self.add(f'  br i1 %{condition}, label %{label}, label %{otherwise}', f'{label}:')


def entry_text(program: Program) -> str:
    """Write the Python function around `@state`."""
    own = [k for k, given in enumerate(program.inputs) if not given.shared]
    shared = [k for k, given in enumerate(program.inputs) if given.shared]
    code = Code((*SLOTS, *(f'shared{k}' for k in shared)))
    results = Results(program, code)
    results.constants()
    code.add('define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {', 'start:')
    results.room()
    code.field('self', DATA, 'ptr', 'context')
    code.slot('ndarray', 'ndarray')
    code.slot('float64', 'float64')
    code.slot('old', 'old')
    code.slot('Py_DecRef', 'release')
    code.add(f'  %count.ok = icmp eq i64 %nargs, {len(own)}',
             '  %plain = icmp eq ptr %kwnames, null', '  %called = and i1 %count.ok, %plain')
    code.go_on('called', 'check')
    for n, k in enumerate(own):
        _argument(code, n, k, program.inputs[k].size)
    for k in shared:
        code.slot(f'shared{k}', f'i{k}')
    results.prepare()
    pointers = [f'ptr %i{k}' for k in range(len(program.inputs))]
    pointers += [f'ptr %o{k}' for k in range(len(program.outputs))]
    code.add(f'  %status = call double @state({", ".join(pointers)})',
             '  %good = fcmp oeq double %status, 0.0')
    code.go_on('good', 'finish', 'bad')
    results.finish()
    code.add('bad:')
    results.give_up()
    code.add('  br label %slow', 'slow:')
    code.slot('slow', 'callable')
    code.slot('vectorcall', 'vectorcall')
    code.add('  %answer = call ptr %vectorcall(ptr %callable, ptr %args, i64 %nargs, '
             'ptr %kwnames)', '  ret ptr %answer', '}', '')
    return '\n'.join(code.lines)


def _argument(code: Code, position: int, k: int, size: int) -> None:
    """Take the numbers of a float64 vector of this size that is ready to be read."""
    name = f'arg{k}'
    code.add(f'  %{name}.place = getelementptr ptr, ptr %args, i64 {position}',
             f'  %{name} = load ptr, ptr %{name}.place')
    code.field(name, TYPE, 'ptr', f'{name}.type')
    code.add(f'  %{name}.array = icmp eq ptr %{name}.type, %ndarray')
    code.go_on(f'{name}.array', f'{name}.is.array')
    code.field(name, DESCR, 'ptr', f'{name}.descr')
    code.field(name, ND, 'i32', f'{name}.nd')
    code.field(name, FLAGS, 'i32', f'{name}.flags')
    code.add(f'  %{name}.float = icmp eq ptr %{name}.descr, %float64',
             f'  %{name}.flat = icmp eq i32 %{name}.nd, 1',
             f'  %{name}.bits = and i32 %{name}.flags, {READY}',
             f'  %{name}.ready = icmp eq i32 %{name}.bits, {READY}',
             f'  %{name}.ok1 = and i1 %{name}.float, %{name}.flat',
             f'  %{name}.ok2 = and i1 %{name}.ok1, %{name}.ready')
    code.go_on(f'{name}.ok2', f'{name}.is.ready')
    code.field(name, DIMENSIONS, 'ptr', f'{name}.dims')
    code.add(f'  %{name}.length = load i64, ptr %{name}.dims',
             f'  %{name}.fits = icmp eq i64 %{name}.length, {size}')
    code.go_on(f'{name}.fits', f'{name}.is.good')
    code.field(name, DATA, 'ptr', f'i{k}')
