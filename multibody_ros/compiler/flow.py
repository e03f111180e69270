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
Programs called one after another in a loop that never leaves machine code.

A Flow says what happens in one step of time: programs are called on named buffers, repeated and
chosen between. The loop around it runs any number of steps,

    void run(i64 steps, i64 every, i64 stride, ptr shared_0, ..., ptr control, ptr state,
             ptr done, ptr stored)

for one state, or for as many as a vector register holds, one a lane. `control` moves on by
`stride` doubles a step, `state` is changed in place and copied to `stored` after each `every`
steps (0: never), `done` counts the good steps of every lane. Numbers of one lane are `width`
doubles apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from .body import Types
from .memory import Lanes
from .program import PART, Program
from .straight import function_text


@dataclass(frozen=True)
class Call:
    """A program run on buffers; an output may be one of the inputs."""

    program: Program
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class While:
    """Done once, and again while the buffer `condition` is not 0 in any lane, `limit` at most."""

    body: tuple[Node, ...]
    condition: str
    limit: int


@dataclass(frozen=True)
class If:
    """Choose `yes` where the buffer `condition` is not 0 in any lane; NaN counts as 0."""

    condition: str
    yes: tuple[Node, ...]
    no: tuple[Node, ...] = ()


Node = Call | While | If


@dataclass(frozen=True)
class Flow:
    """One step: `body` on buffers of the given sizes; it was good where `status` is 0."""

    name: str
    shared: dict[str, int]
    control: str
    state: dict[str, int]
    work: dict[str, int]
    body: tuple[Node, ...]
    status: str

    @property
    def state_size(self) -> int:
        """Count the numbers of the state."""
        return sum(self.state.values())


def flow_text(flow: Flow, fused: bool, width: int) -> str:
    """Write the loop and all programs it calls."""
    types = Types(width, fused)
    driver = _Driver(flow, types)
    text = driver.text()
    return ''.join(sorted(driver.declarations)) + _declarations(types) + text


def _declarations(types: Types) -> str:
    if types.width == 1:
        return ''
    return f'declare i1 @llvm.vector.reduce.or.v{types.width}i1(<{types.width} x i1>)\n'


class _Driver:
    """Writes the loop over time and the control flow inside a step."""

    def __init__(self, flow: Flow, types: Types) -> None:
        self.flow = flow
        self.types = types
        self.lines: list[str] = []
        self._entry: list[str] = []
        self._functions: dict[tuple[int, tuple[bool, ...]], tuple[str, str]] = {}
        self._label = 0
        self.declarations: set[str] = set()

    def text(self) -> str:
        flow, t = self.flow, self.types
        add = self.lines.extend
        for name, size in flow.work.items():
            add([f'  %b.{name} = alloca [{max(1, size)} x {t.double}], align 64'])
        offset = 0
        for name, size in flow.state.items():
            add([f'  %b.{name} = getelementptr {t.double}, ptr %state, i64 {offset}'])
            offset += size
        add(['  %any = icmp sgt i64 %steps, 0', '  br i1 %any, label %step, label %end', 'step:',
             '  %k = phi i64 [0, %entry], [%k.next, %next]',
             '  %left = phi i64 [%every, %entry], [%left.next, %next]',
             '  %place = phi ptr [%stored, %entry], [%place.next, %next]',
             '  %moved = mul i64 %k, %stride',
             f'  %b.{flow.control} = getelementptr double, ptr %control, i64 %moved'])
        self._nodes(flow.body)
        self._finish()
        body = '\n'.join(self._entry + self.lines)
        shared = ''.join(f'ptr %b.{name}, ' for name in flow.shared)
        return ('\n'.join(text for _, text in self._functions.values())
                + f'\ndefine void @run(i64 %steps, i64 %every, i64 %stride, {shared}ptr %control, '
                f'ptr %state, ptr %done, ptr %stored) {{\nentry:\n{body}\nend:\n  ret void\n}}\n')

    def _nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if isinstance(node, Call):
                self._call(node)
            elif isinstance(node, While):
                self._while(node)
            else:
                self._if(node)

    def _call(self, call: Call) -> None:
        shared = tuple(name in self.flow.shared for name in call.inputs)
        key = id(call.program), shared
        if key not in self._functions:
            name = f'f{len(self._functions)}_{call.program.name}'
            memory = Lanes(call.program, self.types, shared)
            text, declared = function_text(name, memory, PART)
            self._functions[key] = name, text
            self.declarations |= declared
        pointers = ', '.join(f'ptr %b.{name}' for name in (*call.inputs, *call.outputs))
        self.lines.append(f'  call void @{self._functions[key][0]}({pointers})')

    def _fresh(self) -> int:
        self._label += 1
        return self._label

    def _any(self, buffer: str, n: int) -> str:
        """Tell whether the buffer's first number is anything but 0 in any lane."""
        t = self.types
        self.lines += [f'  %c{n}.x = load {t.double}, ptr %b.{buffer}, align 8',
                       f'  %c{n}.lanes = fcmp one {t.double} %c{n}.x, zeroinitializer'
                       if t.width > 1 else f'  %c{n} = fcmp one double %c{n}.x, 0.0']
        if t.width > 1:
            self.lines.append(f'  %c{n} = call i1 @llvm.vector.reduce.or.v{t.width}i1('
                              f'<{t.width} x i1> %c{n}.lanes)')
        return f'%c{n}'

    def _while(self, loop: While) -> None:
        n = self._fresh()
        # the counter lives in memory: the body may have blocks of its own
        self._entry.append(f'  %w{n} = alloca i64')
        self.lines += [f'  store i64 {loop.limit}, ptr %w{n}', f'  br label %loop{n}', f'loop{n}:']
        self._nodes(loop.body)
        condition = self._any(loop.condition, n)
        self.lines += [f'  %l{n} = load i64, ptr %w{n}', f'  %m{n} = sub i64 %l{n}, 1',
                       f'  store i64 %m{n}, ptr %w{n}', f'  %p{n} = icmp sgt i64 %m{n}, 0',
                       f'  %q{n} = and i1 {condition}, %p{n}',
                       f'  br i1 %q{n}, label %loop{n}, label %left{n}', f'left{n}:']

    def _if(self, choice: If) -> None:
        n = self._fresh()
        condition = self._any(choice.condition, n)
        self.lines += [f'  br i1 {condition}, label %yes{n}, label %no{n}', f'yes{n}:']
        self._nodes(choice.yes)
        self.lines += [f'  br label %end{n}', f'no{n}:']
        self._nodes(choice.no)
        self.lines += [f'  br label %end{n}', f'end{n}:']

    def _finish(self) -> None:
        """Count the step where it was good, keep the state if it is due, go on if any is good."""
        t, size = self.types, self.flow.state_size
        one = t.bits.replace('i64', 'i1')
        self.lines += [
            f'  %status = load {t.double}, ptr %b.{self.flow.status}, align 8',
            f'  %before = load {t.double}, ptr %done, align 8',
            '  %k.double = sitofp i64 %k to double']
        if t.width > 1:
            self.lines += [
                f'  %k.first = insertelement {t.double} poison, double %k.double, i32 0',
                (f'  %k.all = shufflevector {t.double} %k.first, {t.double} poison, '
                 f'<{t.width} x i32> zeroinitializer')]
        k = '%k.all' if t.width > 1 else '%k.double'
        self.lines += [
            f'  %fine = fcmp oeq {t.double} %status, {t.number(0.0)}',
            f'  %alive = fcmp oeq {t.double} %before, {k}', f'  %good = and {one} %fine, %alive',
            f'  %plus = fadd {t.double} %before, {t.number(1.0)}',
            f'  %count = select {one} %good, {t.double} %plus, {t.double} %before',
            f'  store {t.double} %count, ptr %done, align 8', '  %left.next1 = sub i64 %left, 1',
            '  %due = icmp eq i64 %left.next1, 0',
            '  br i1 %due, label %store, label %stored.or.not', 'store:',
            ('  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %state, '
             f'i64 {8 * size * t.width}, i1 false)'), '  br label %stored.or.not',
            'stored.or.not:',
            '  %left.next = select i1 %due, i64 %every, i64 %left.next1',
            f'  %place.moved = getelementptr {t.double}, ptr %place, i64 {size}',
            '  %place.next = select i1 %due, ptr %place.moved, ptr %place',
            '  %k.next = add i64 %k, 1', '  %more = icmp slt i64 %k.next, %steps']
        if t.width > 1:
            self.lines.append(
                f'  %some = call i1 @llvm.vector.reduce.or.v{t.width}i1({one} %good)')
        some = '%some' if t.width > 1 else '%good'
        self.lines += [f'  %on = and i1 %more, {some}', '  br label %next', 'next:',
                       '  br i1 %on, label %step, label %end']
