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
One function of straight-line code: loads, operations in order, stores as soon as they can be.

A long one is written in parts, functions called one after the other that hand values on through
an array: LLVM's time grows faster than linearly with the length of a function.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from .angles import with_angles_side_by_side
from .body import Body
from .emit import Emitter, Plan
from .memory import Block, OneState

if TYPE_CHECKING:
    from .program import Program


def function_text(name: str, memory: OneState, part: int) -> tuple[str, set[str]]:
    """Write a program as a function, in parts of `part` operations; and what it declares."""
    program, types = memory.program, memory.types
    recording = program.record()
    if types.width == 1:
        recording = with_angles_side_by_side(recording)
    plan = Plan(recording)
    body = Body(types)
    totals = [] if memory.late else _totals(program, body)
    order = [i for i, operation in enumerate(plan.operations)
             if i not in plan.absorbed and operation[0] not in ('input', 'constant', 'lane')]
    parts = [order[k:k + part] for k in range(0, max(1, len(order)), part)]
    writer = _Writer(plan, memory, parts)
    status = plan.outputs[-1]
    texts = []
    if len(parts) == 1:
        value = writer.write(body, 0).name(status)
    else:
        pointers = ', '.join([f'ptr %i{k}' for k in range(len(program.inputs))]
                             + [f'ptr %o{k}' for k in range(len(program.outputs))])
        work = body(f'alloca [{max(1, writer.size)} x {types.double}], align 64')
        for k in range(len(parts)):
            texts.append(writer.part(k, f'{name}_part{k}'))
            body.lines.append(f'  call void @{name}_part{k}({pointers}, ptr {work})')
        value = writer.handed(body, status, work)
    for total in totals:
        value = body.binary('fadd', value, total)
    result = '  ret void' if memory.late else f'  ret {types.double} {value}'
    return '\n'.join([*texts, f'define {memory.signature(name)} {{', *body.lines, result, '}',
                      '']), memory.declarations(plan)


def _totals(program: Program, body: Body) -> list[str]:
    """Write sums that are 0, or NaN if an input of any state here is not finite."""
    width = body.types.width
    numbers = [body.load(body.element(f'%i{k}', i * width)) for k, given
               in enumerate(program.inputs) if not given.shared for i in range(given.size)]
    totals = numbers[:4]
    for k, number in enumerate(numbers[4:]):
        totals[k % 4] = body.binary('fadd', totals[k % 4], number)
    return [body.binary('fsub', total, total) for total in totals]


class _Writer:
    """Writes parts of a plan."""

    def __init__(self, plan: Plan, memory: OneState, parts: list[list[int]]) -> None:
        """Find out what is stored when, and what one part hands on to another."""
        self.plan, self.memory, self.parts = plan, memory, parts
        self.part_of = {i: k for k, part in enumerate(parts) for i in part}
        #: {operation: blocks that can be stored once it is written}; -1: at the start
        self.due: dict[int, list[Block]] = {}
        self.slots: dict[int, int] = {}
        self.size = 0
        for part in parts if len(parts) > 1 else ():
            for i in part:
                for k in plan.used(i):
                    self._hand(k, self.part_of[i])
        for block in memory.blocks(plan):
            sources = [plan.source(k) for k in block.values]
            last = max((k for k in sources if k in self.part_of), default=-1)
            if memory.late and parts[-1]:
                last = parts[-1][-1]
            self.due.setdefault(last, []).append(block)
            for k in sources:
                self._hand(k, self.part_of.get(last, 0))
        self._hand(plan.outputs[-1], len(parts))

    def _hand(self, value: int, part: int) -> None:
        """Give a value that another part computes a place in the array."""
        if self.part_of.get(value, part) != part and value not in self.slots:
            self.slots[value] = self.size
            width = self.plan.widths[value]
            if width and self.memory.types.width == 1:
                width = Body(self.memory.types).side_by_side(width).types.width
            self.size += width or 1

    def write(self, body: Body, part: int) -> Emitter:
        """Write one part into a body."""
        emitter = Emitter(self.plan, body, self.memory.loader(body))
        if len(self.parts) > 1:
            emitter.elsewhere = lambda i: (
                self.handed(body, i) if self.part_of.get(i, part) != part else None)
        for i in [*([] if part else [-1]), *self.parts[part]]:
            if i >= 0:
                name = emitter.name(i)
                if i in self.slots and len(self.parts) > 1:
                    self._keep(body, i, name)
            ready = [(block, [emitter.name(k) for k in block.values])
                     for block in self.due.get(i, ())]
            for block, names in ready:
                self.memory.store(body, block, names)
        return emitter

    def part(self, part: int, name: str) -> str:
        """Return the function of one part."""
        body = Body(self.memory.types)
        self.write(body, part)
        return '\n'.join([f'define internal void @{name}({self.memory.pointers()}, '
                          'ptr noalias %work) noinline {', *body.lines, '  ret void', '}', ''])

    def _keep(self, body: Body, value: int, name: Any) -> None:
        """Hand a value on."""
        address = body.element('%work', self.slots[value], self.memory.types.double)
        if isinstance(name, tuple):
            for lane, one in enumerate(name):
                body.store(one, body.element(address, lane, self.memory.types.double))
        elif self.plan.widths[value]:
            body.side_by_side(self.plan.widths[value]).store(name, address)
        else:
            body.store(name, address)

    def handed(self, body: Body, value: int, work: str = '%work') -> Any:
        """Return a value that another part computed."""
        types = self.memory.types
        operation = self.plan.operations[value]
        if operation[0] == 'constant':
            return types.number(float.fromhex(operation[1]))
        address = body.element(work, self.slots[value], types.double)
        width = self.plan.widths[value]
        if width and types.width > 1:
            return tuple(body.load(body.element(address, lane, types.double))
                         for lane in range(width))
        return (body.side_by_side(width) if width else body).load(address)
