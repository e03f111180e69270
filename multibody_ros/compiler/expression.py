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
Expressions that record themselves: scalars whose arithmetic goes onto a tape.

Every operation is looked up before it is written (hash-consing), so equal terms are computed once.
Constants are plain Python floats until they meet an expression, so folding needs no rules of its
own; what has a zero factor vanishes. Signs are pulled outwards: a-b and b-a, or sin(x) and
sin(-x), share their work.
"""

from __future__ import annotations

from typing import Callable, Sequence, Union

Scalar = Union[float, 'Expression']


class Tape:
    """The operations of one recording, in order; an operation is named by its position."""

    def __init__(self) -> None:
        """Start empty."""
        self.operations: list[tuple] = []
        self.expressions: list[Expression] = []
        self._known: dict[tuple, Expression] = {}

    def write(self, *operation) -> Expression:
        """Return the expression of an operation, the earlier one if it stands there already."""
        known = self._known.get(operation)
        if known is None:
            known = Expression(self, len(self.operations), operation, self._width(operation))
            self.operations.append(operation)
            self.expressions.append(known)
            self._known[operation] = known
        return known

    def _width(self, operation: tuple) -> int:
        """Count the scalars that lie side by side in a result."""
        if operation[0] in ('pack', 'lane'):
            return len(operation) - 1 if operation[0] == 'pack' else 0
        return max((self.expressions[k].width for k in arguments(operation)), default=0)

    def has(self, *operation) -> bool:
        """Tell whether this very operation has been written."""
        return operation in self._known

    def constant(self, value: float) -> Expression:
        """Return `value` as an expression; told apart by sign so that -0.0 survives."""
        return self.write('constant', float(value).hex())

    def lift(self, value: Scalar) -> Expression:
        """Return `value`, a number or an expression, as an expression of this tape."""
        return value if isinstance(value, Expression) else self.constant(value)


class Expression:
    """
    A scalar known by how it is computed.

    Where it meets a scalar built on expressions, a dual number, that one's rules hold.
    """

    __slots__ = ('index', 'operation', 'tape', 'width')

    def __init__(self, tape: Tape, index: int, operation: tuple, width: int) -> None:
        """Refer to the operation at `index` of `tape`; `width` scalars side by side, 0 for one."""
        self.tape = tape
        self.index = index
        self.operation = operation
        self.width = width

    def _argument(self, position: int) -> Expression:
        """Return the expression that the operation's argument refers to."""
        return self.tape.expressions[self.operation[position]]

    @property
    def _negated(self) -> bool:
        return self.operation[0] == 'negate'

    def __neg__(self) -> Expression:
        """Return the negative; two signs cancel."""
        if self._negated:
            return self._argument(1)
        return self.tape.write('negate', self.index)

    def __add__(self, other: Scalar) -> Scalar:
        """Return the sum."""
        if not isinstance(other, Expression):
            if not isinstance(other, (float, int)):
                return NotImplemented
            if other == 0.0:
                return self
            other = self.tape.constant(other)
        if other._negated:
            return self - other._argument(1)
        if self._negated:
            return other - self._argument(1)
        a, b = self.index, other.index
        return self.tape.write('add', a, b) if a <= b else self.tape.write('add', b, a)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        """Return the difference."""
        if not isinstance(other, Expression):
            return self + -other if isinstance(other, (float, int)) else NotImplemented
        if other is self:
            return 0.0
        if other._negated:
            return self + other._argument(1)
        if self._negated:
            return -(self._argument(1) + other)
        if self.tape.has('subtract', other.index, self.index):
            return -self.tape.write('subtract', other.index, self.index)
        return self.tape.write('subtract', self.index, other.index)

    def __rsub__(self, other: float) -> Scalar:
        """Return the difference."""
        if other == 0.0:
            return -self
        return self.tape.constant(other) - self

    def __mul__(self, other: Scalar) -> Scalar:
        """Return the product."""
        if not isinstance(other, Expression):
            if not isinstance(other, (float, int)):
                return NotImplemented
            if other == 0.0:
                return 0.0
            if other == 1.0:
                return self
            if other < 0.0:
                return -(self * -other)
            other = self.tape.constant(other)
        if self._negated:
            return -(self._argument(1) * other)
        if other._negated:
            return -(self * other._argument(1))
        a, b = self.index, other.index
        return self.tape.write('multiply', a, b) if a <= b else self.tape.write('multiply', b, a)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        """Return the quotient."""
        if not isinstance(other, Expression):
            if not isinstance(other, (float, int)):
                return NotImplemented
            if other == 1.0:
                return self
            other = self.tape.constant(other)
        if self._negated:
            return -(self._argument(1) / other)
        if other._negated:
            return -(self / other._argument(1))
        return self.tape.write('divide', self.index, other.index)

    def __rtruediv__(self, other: float) -> Scalar:
        """Return the quotient."""
        if other == 0.0:
            return 0.0
        return self.tape.constant(other) / self

    def sqrt(self) -> Expression:
        """Return the square root."""
        return self.tape.write('sqrt', self.index)

    def sin(self) -> Expression:
        """Return the sine."""
        if self._negated:
            return -self._argument(1).sin()
        return self.tape.write('sin', self.index)

    def cos(self) -> Expression:
        """Return the cosine."""
        if self._negated:
            return self._argument(1).cos()
        return self.tape.write('cos', self.index)

    def exp(self) -> Expression:
        """Return e to this power."""
        return self.tape.write('exp', self.index)

    def atan2(self, x: Scalar) -> Expression:
        """Return the angle of the point (`x`, self)."""
        if not isinstance(x, (Expression, float, int)):
            return x.ratan2(self)
        return self.tape.write('atan2', self.index, self.tape.lift(x).index)

    def ratan2(self, y: Scalar) -> Expression:
        """Return the angle of the point (self, `y`)."""
        return self.tape.lift(y).atan2(self)

    def where(self, a: Scalar, b: Scalar, yes: Scalar, no: Scalar) -> Scalar:
        """Return `yes` where `a` < `b`, else `no`."""
        if yes is no:
            return yes
        for scalar in (a, b, yes, no):
            if not isinstance(scalar, (Expression, float, int)):
                return scalar.where(a, b, yes, no)
        return self.tape.write('where', *(self.tape.lift(x).index for x in (a, b, yes, no)))

    def side_by_side(self, scalars: Sequence[Scalar]) -> Expression:
        """Return one expression for all `scalars`, a vector; if they are all of one, that."""
        for scalar in scalars:
            if not isinstance(scalar, (Expression, float, int)):
                return scalar.side_by_side(scalars)
        lifted = [self.tape.lift(scalar) for scalar in scalars]
        if lifted[0].operation[0] == 'lane':
            vector = lifted[0]._argument(1)
            if lifted == [vector.lane(k) for k in range(vector.width)]:
                return vector
        return self.tape.write('pack', *(x.index for x in lifted))

    def lane(self, k: int) -> Expression:
        """Return one of the scalars side by side; a scalar stands for as many as there are."""
        if not self.width:
            return self
        if self.operation[0] == 'pack':
            return self._argument(1 + k)
        return self.tape.write('lane', self.index, k)

    def __lt__(self, other: Scalar) -> bool:
        """Refuse: a recording knows no values."""
        raise TypeError('expressions cannot be compared while recording; use where(a, b, yes, no)')

    __le__ = __gt__ = __ge__ = __lt__

    def __bool__(self) -> bool:
        """Refuse: a recording knows no values."""
        return self < self


class Recording:
    """The operations that lead from inputs to outputs, and nothing else."""

    def __init__(self, operations: Sequence[tuple], outputs: Sequence[int]) -> None:
        """Keep those of `operations` that `outputs`, positions among them, depend on, in order."""
        needed = bytearray(len(operations))
        stack = list(outputs)
        while stack:
            i = stack.pop()
            if not needed[i]:
                needed[i] = 1
                stack.extend(arguments(operations[i]))
        place: dict[int, int] = {}
        self.operations: list[tuple] = []
        for i, operation in enumerate(operations):
            if needed[i]:
                place[i] = len(self.operations)
                self.operations.append(referring(operation, place.__getitem__))
        self.outputs = [place[i] for i in outputs]

    def count(self) -> dict[str, int]:
        """Return how often each operation occurs."""
        counts: dict[str, int] = {}
        for operation in self.operations:
            counts[operation[0]] = counts.get(operation[0], 0) + 1
        return counts


def arguments(operation: tuple) -> tuple:
    """Return the positions an operation refers to."""
    return operation[1:{'input': 1, 'constant': 1, 'lane': 2}.get(operation[0])]


def referring(operation: tuple, place: Callable[[int], int]) -> tuple:
    """Return an operation whose arguments have moved to other positions."""
    used = [place(k) for k in arguments(operation)]
    return (operation[0], *used, *operation[1 + len(used):])


def flatten(nested) -> list:
    """Return the scalars of nested lists and tuples in order."""
    if isinstance(nested, (list, tuple)):
        return [scalar for item in nested for scalar in flatten(item)]
    return [nested]


def record(function: Callable, sizes: Sequence[int]) -> Recording:
    """
    Run `function` on one list of expressions per input and keep what it did.

    `sizes` are the lengths of the inputs. The outputs are the scalars that `function` returns,
    nested in lists and tuples as it likes.
    """
    tape = Tape()
    inputs = [[tape.write('input', k, i) for i in range(size)] for k, size in enumerate(sizes)]
    outputs = [tape.lift(scalar).index for scalar in flatten(function(*inputs))]
    return Recording(tape.operations, outputs)
