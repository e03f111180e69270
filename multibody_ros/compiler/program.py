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
Whole functions around straight-line code: for one state, and for a batch of states.

    double state(ptr in_0, ..., ptr out_0, ...)           one state
    double batch(i64 rows, ptr in_0, ..., ptr out_0, ...) `rows` states, at least one vector full

Rows are contiguous. Each returns 0, or NaN if an input is not finite or the program's guard is not
positive: then the results are not to be used.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Callable, Iterator, Sequence

from .emit import Body, Emitter, Types
from .expression import arguments, flatten, record, Recording
from .functions import where
from .rows import declarations, load_columns, store_columns

#: operations of one function; more go into functions of their own, called one after the other:
#: LLVM's time grows faster than linearly with the length of a block
PART = 3000


@dataclass(frozen=True)
class Input:
    """A vector that goes in; a shared one is the same for all states of a batch."""

    name: str
    size: int
    shared: bool = False


@dataclass(frozen=True)
class Output:
    """An array that comes out; shape () is a single number."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Count the numbers in it."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Program:
    """
    What to compile: a function of scalars, and the arrays it reads and writes.

    With `guarded` the function returns one scalar more than the outputs hold, positive where the
    outputs are good.
    """

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    function: Callable
    guarded: bool = False

    def record(self) -> Recording:
        """Run the function on expressions; the last output is the guard's share of the status."""
        def outputs(*inputs):
            *values, guard = flatten(self.function(*inputs)) + ([] if self.guarded else [1.0])
            size = sum(output.size for output in self.outputs)
            if len(values) != size:
                raise TypeError(f"program '{self.name}' returns {len(values)} numbers, "
                                f'its outputs hold {size}')
            return values, where(0.0, guard, 0.0, math.nan)
        return record(outputs, [x.size for x in self.inputs])

    def pointers(self) -> str:
        """List the parameters of the compiled function."""
        return ', '.join([f'ptr noalias readonly %i{k}' for k in range(len(self.inputs))]
                         + [f'ptr noalias %o{k}' for k in range(len(self.outputs))])

    def places(self) -> Iterator[tuple[int, int]]:
        """Go through the outputs' numbers: (output, index)."""
        for k, output in enumerate(self.outputs):
            yield from ((k, i) for i in range(output.size))


def state_text(program: Program, fused: bool) -> str:
    """Write the function for one state."""
    types = Types(1, fused)
    recording = program.record()
    body = Body(types)

    def load(k: int, i: int) -> str:
        return body(f'load double, ptr {body.element(f"%i{k}", i)}')

    def store(values: Sequence[str]) -> None:
        for (k, i), value in zip(program.places(), values):
            body.lines.append(f'  store double {value}, ptr {body.element(f"%o{k}", i)}')

    head = f'define double @state({program.pointers()}) {{'
    return types.declarations() + _function(program, recording, body, head, load, store)


def batch_text(program: Program, fused: bool, width: int) -> str:
    """Write the function for a batch, `width` states at a time."""
    types = Types(width, fused)
    recording = program.record()
    body = Body(types)
    loaded: dict[tuple[int, int], str] = {}

    def load(k: int, i: int) -> str:
        if program.inputs[k].shared:
            value = body(f'load double, ptr {body.element(f"%i{k}", i)}')
            first = body(f'insertelement {types.double} poison, double {value}, i32 0')
            return body(f'shufflevector {types.double} {first}, {types.double} poison, '
                        f'<{width} x i32> zeroinitializer')
        if (k, i) not in loaded:
            start, columns = load_columns(body, f'%i{k}', program.inputs[k].size, i)
            loaded.update({(k, start + j): name for j, name in enumerate(columns)})
        return loaded[k, i]

    def store(values: Sequence[str]) -> None:
        values = list(values)
        for k, output in enumerate(program.outputs):
            own, values = values[:output.size], values[output.size:]
            store_columns(body, f'%o{k}', own)

    head = f'define internal {types.double} @block({program.pointers()}) {{'
    return (types.declarations() + declarations(types)
            + _function(program, recording, body, head, load, store) + _loop(program, types))


def _function(program: Program, recording: Recording, body: Body, head: str, load: Callable,
              store: Callable) -> str:
    """Write the computation between loading and storing, in parts if it is long."""
    types = body.types
    totals = [types.number(0.0)] * 4
    count = 0
    for k, given in enumerate(program.inputs):
        for i in range(0 if given.shared else given.size):
            totals[count % 4] = body.multiply_add(load(k, i), types.number(0.0), totals[count % 4])
            count += 1
    if len(recording.operations) <= PART:
        emitter = Emitter(recording, body, load)
        for i in range(len(recording.operations)):
            if i not in emitter.absorbed:
                emitter.name(i)
        values = [emitter.name(i) for i in recording.outputs]
        parts = ''
    else:
        parts, values = in_parts(recording, body, load)
    store(values[:-1])
    status = values[-1]
    for total in totals:
        status = body.binary('fadd', status, total)
    return '\n'.join([parts + head, *body.lines, f'  ret {types.double} {status}', '}', ''])


def in_parts(recording: Recording, body: Body, load: Callable) -> tuple[str, list[str]]:
    """Write functions of PART operations that hand values on through an array."""
    types = body.types
    operations = recording.operations
    plan = Emitter(recording, Body(types), load)
    absorbed, fused = plan.absorbed, plan.fusions
    part_of = [i // PART for i in range(len(operations))]
    slots: dict[int, int] = {}
    for i, operation in enumerate(operations):
        if i in absorbed:
            continue
        used = list(arguments(operation))
        if i in fused:
            product = used.pop(fused[i] - 1)
            used += arguments(operations[product])
        for k in used:
            if operations[k][0] == 'input' or (
                    part_of[k] != part_of[i] and operations[k][0] != 'constant'):
                slots.setdefault(k, len(slots))
    for k in recording.outputs:
        if operations[k][0] != 'constant':
            slots.setdefault(k, len(slots))

    work = body(f'alloca [{max(1, len(slots))} x {types.double}], align 64')
    for k, slot in slots.items():
        if operations[k][0] == 'input':
            body.lines.append(_slot_store(body, load(*operations[k][1:]), work, slot))
    texts = []
    for part in range(part_of[-1] + 1):
        inner = Body(types)
        emitter = Emitter(recording, inner, load, plan)
        first, last = part * PART, min((part + 1) * PART, len(operations))

        def handed_on(k: int, inner: Body = inner, first: int = first) -> str | None:
            if k not in slots or (k >= first and operations[k][0] != 'input'):
                return None
            address = inner.element('%work', slots[k], types.double)
            return inner(f'load {types.double}, ptr {address}')

        emitter.elsewhere = handed_on
        for i in range(first, last):
            if i not in absorbed and operations[i][0] not in ('input', 'constant'):
                name = emitter.name(i)
                if i in slots:
                    inner.lines.append(_slot_store(inner, name, '%work', slots[i]))
        texts += [f'define internal void @part{part}(ptr %work) noinline {{', *inner.lines,
                  '  ret void', '}', '']
        body.lines.append(f'  call void @part{part}(ptr {work})')
    values = [
        types.number(float.fromhex(operations[k][1])) if operations[k][0] == 'constant'
        else body(f'load {types.double}, ptr {body.element(work, slots[k], types.double)}')
        for k in recording.outputs]
    return '\n'.join(texts), values


def _slot_store(body: Body, value: str, work: str, slot: int) -> str:
    t = body.types
    return f'  store {t.double} {value}, ptr {body.element(work, slot, t.double)}'


def _loop(program: Program, types: Types) -> str:
    """Write the loop over blocks; the last block is moved back so that it is full."""
    t, w = types.double, types.width
    names = [f'%i{k}' for k in range(len(program.inputs))]
    names += [f'%o{k}' for k in range(len(program.outputs))]
    strides = [0 if x.shared else x.size for x in program.inputs]
    strides += [x.size for x in program.outputs]
    moved = '\n'.join(
        f'  %s{n} = mul i64 %row, {stride}\n'
        f'  %p{n} = getelementptr double, ptr {name}, i64 %s{n}'
        for n, (name, stride) in enumerate(zip(names, strides)))
    call = ', '.join(f'ptr %p{n}' for n in range(len(names)))
    return f"""
define double @batch(i64 %rows, {program.pointers()}) {{
entry:
  %last = sub i64 %rows, {w}
  br label %next
next:
  %wanted = phi i64 [0, %entry], [%after, %next]
  %total = phi {t} [zeroinitializer, %entry], [%sum, %next]
  %full = icmp sle i64 %wanted, %last
  %row = select i1 %full, i64 %wanted, i64 %last
{moved}
  %status = call {t} @block({call})
  %sum = fadd {t} %total, %status
  %after = add i64 %wanted, {w}
  %more = icmp slt i64 %after, %rows
  br i1 %more, label %next, label %done
done:
  %value = call reassoc double @llvm.vector.reduce.fadd.{types.suffix}(double 0.0, {t} %sum)
  ret double %value
}}
"""
