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
from typing import Callable

from .body import Types
from .expression import flatten, record, Recording
from .functions import where
from .memory import Batch, OneState
from .straight import function_text

#: operations of one function; more go into functions of their own, called one after the other:
#: LLVM's time grows faster than linearly with the length of a block
PART = 6000


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


def state_text(program: Program, fused: bool) -> str:
    """Write the function for one state."""
    text, declared = function_text('state', OneState(program, Types(1, fused)), PART)
    return ''.join(sorted(declared)) + text


def batch_text(program: Program, fused: bool, width: int) -> str:
    """Write the function for a batch, `width` states at a time."""
    memory = Batch(program, Types(width, fused))
    text, declared = function_text('block', memory, PART)
    return ''.join(sorted(declared)) + text + _loop(memory)


def _loop(memory: Batch) -> str:
    """Write the loop over blocks; the last block is moved back so that it is full."""
    program, types = memory.program, memory.types
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
define double @batch(i64 %rows, {memory.pointers()}) {{
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
