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
LLVM assembly of a recording: straight-line code over doubles or over SIMD vectors of them.

The same text serves both, only the type differs, and products and sums are fused here and not by
LLVM, so that the code for one state and the code for a batch give the same bits.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

from .body import Body
from .exponential import exponential
from .expression import arguments, Recording

#: what a value goes by: one name, or in a batch one for each scalar that lies side by side
Name = str | tuple[str, ...]


def fusions(recording: Recording) -> dict[int, int]:
    """
    Choose for sums the product to take in: {sum: position of the product's argument}.

    A product goes into a fused operation where all that use it are sums, so that none is computed
    twice for nothing.
    """
    operations = recording.operations
    only_in_sums = [operation[0] == 'multiply' for operation in operations]
    for operation in operations:
        if operation[0] not in ('add', 'subtract'):
            for k in arguments(operation):
                only_in_sums[k] = False
    for k in recording.outputs:
        only_in_sums[k] = False
    chosen = {}
    for i, operation in enumerate(operations):
        if operation[0] in ('add', 'subtract') and operation[1] != operation[2]:
            for position in (2, 1):
                if only_in_sums[operation[position]]:
                    chosen[i] = position
                    break
    return chosen


def _absorbed(recording: Recording, fused: dict[int, int]) -> set[int]:
    """Return the products that no operation asks for by themselves."""
    operations = recording.operations
    asked = set(recording.outputs)
    for i, operation in enumerate(operations):
        for position, k in enumerate(arguments(operation), 1):
            if fused.get(i) != position:
                asked.add(k)
    return {operations[i][position] for i, position in fused.items()} - asked


class Plan:
    """What is decided about a recording before it is written."""

    def __init__(self, recording: Recording) -> None:
        """Choose the fused operations, find the vectors."""
        self.operations = recording.operations
        self.outputs = recording.outputs
        self.fusions = fusions(recording)
        #: products that live in fused operations only
        self.absorbed = _absorbed(recording, self.fusions)
        #: how many scalars lie side by side in a value, 0 for a scalar
        self.widths: list[int] = []
        for word, *rest in self.operations:
            self.widths.append(
                len(rest) if word == 'pack' else 0 if word in ('lane', 'input', 'constant')
                else max(self.widths[k] for k in rest))

    def used(self, i: int) -> list[int]:
        """Return the values that must be there when operation `i` is written."""
        used = list(arguments(self.operations[i]))
        if i in self.fusions:
            product = used.pop(self.fusions[i] - 1)
            used += arguments(self.operations[product])
        return [self.source(k) for k in used]

    def source(self, i: int) -> int:
        """Return the value itself, or the vector it is a lane of."""
        return self.operations[i][1] if self.operations[i][0] == 'lane' else i


class Emitter:
    """
    Writes the operations of a recording into a body, one after the other.

    A vector is one vector in the code for one state, and a tuple of names in that for a batch.
    """

    def __init__(self, plan: Plan, body: Body, load: Callable[[int, int], str]) -> None:
        """Prepare; `load(input, index)` returns the name an input's value goes by."""
        self.plan = plan
        self.body = body
        self.load = load
        #: asked first for a value; None if it is to be computed here
        self.elsewhere: Callable[[int], Name | None] = lambda i: None
        self.names: dict[int, Name] = {}
        self._angles: dict[str, tuple[str, str]] = {}
        self._spread: dict[tuple[int, int], str] = {}
        self._in_memory: dict[int, str] = {}

    def name(self, i: int) -> Any:
        """Return the name of value `i`, writing a product or a constant when first asked for."""
        name = self.names.get(i) or self.elsewhere(i)
        if name is None:
            operation = self.plan.operations[i]
            if operation[0] == 'constant':
                name = self.body.types.number(float.fromhex(operation[1]))
            elif operation[0] == 'input':
                name = self.load(*operation[1:])
            elif operation[0] == 'lane':
                name = self._lane(*operation[1:])
            elif self.plan.widths[i]:
                name = self._vector(i, operation)
            else:
                name = self._compute(self.body, i, operation, self.name)
        self.names[i] = name
        return name

    def _vector(self, i: int, operation: tuple) -> Name:
        """Write an operation on scalars that lie side by side."""
        width = self.plan.widths[i]
        body = self.body.side_by_side(width)
        if self.body.types.width > 1:
            if operation[0] == 'pack':
                return tuple(self.name(k) for k in operation[1:])
            return tuple(self._compute(self.body, i, operation, partial(self._one, lane))
                         for lane in range(width))
        if operation[0] == 'pack':
            return body.packed([self.name(k) for k in operation[1:]])

        def value(k: int) -> str:
            key = k, width
            if self.plan.widths[k]:
                return str(self.name(k))
            if key not in self._spread:
                self._spread[key] = body.spread(self.name(k))
            return self._spread[key]

        return self._compute(body, i, operation, value)

    def _one(self, lane: int, k: int) -> str:
        """Return the name of one lane of value `k` in a batch."""
        return str(self.name(k)[lane] if self.plan.widths[k] else self.name(k))

    def _lane(self, vector: int, lane: int) -> str:
        """Take a scalar out of a vector: through memory, from where it can be spread at once."""
        name = self.name(vector)
        if isinstance(name, tuple):
            return name[lane]
        if self.plan.widths[vector] <= 4:
            body = self.body.side_by_side(self.plan.widths[vector])
            return body(f'extractelement {body.types.double} {name}, i32 {lane}')
        if vector not in self._in_memory:
            body = self.body.side_by_side(self.plan.widths[vector])
            self._in_memory[vector] = body(f'alloca {body.types.double}, align 64')
            body.store(name, self._in_memory[vector])
        return self.body.load(self.body.element(self._in_memory[vector], lane))

    def _compute(self, body: Body, i: int, operation: tuple, value: Callable[[int], str]) -> str:
        word = operation[0]
        if i in self.plan.fusions:
            return self._fused(body, operation, self.plan.fusions[i], value)
        values = [value(k) for k in operation[1:]]
        if word in ('sin', 'cos'):
            angle, = values
            if angle not in self._angles:
                self._angles[angle] = body.sine_and_cosine(angle)
            return self._angles[angle][word == 'cos']
        if word in _BINARY:
            return body.binary(_BINARY[word], *values)
        if word == 'negate':
            return body.negate(*values)
        t = body.types
        if word == 'sqrt':
            return body(f'call {t.double} @llvm.sqrt.{t.suffix}({t.double} {values[0]})')
        if word == 'exp':
            return exponential(body, values[0])
        if word == 'atan2':
            return body.lane_by_lane('atan2', *values)
        a, b, yes, no = values
        less = body(f'fcmp olt {t.double} {a}, {b}')
        return body(f'select {t.bits.replace("i64", "i1")} {less}, '
                    f'{t.double} {yes}, {t.double} {no}')

    def _fused(self, body: Body, operation: tuple, position: int,
               value: Callable[[int], str]) -> str:
        """Write x*y + c, c - x*y or x*y - c; fneg goes into the instruction at no cost."""
        product = self.plan.operations[operation[position]]
        x, y, c = value(product[1]), value(product[2]), value(operation[3 - position])
        if operation[0] == 'subtract':
            if position == 2:
                x = body.negate(x)
            else:
                c = body.negate(c)
        return body.multiply_add(x, y, c)


_BINARY = {'add': 'fadd', 'subtract': 'fsub', 'multiply': 'fmul', 'divide': 'fdiv'}
