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

import struct
from typing import Callable

from .exponential import exponential
from .expression import arguments, Recording

_TWO_OVER_PI = float.fromhex('0x1.45f306dc9c883p-1')
#: pi/2 in two doubles, for reduction with fused operations; in three of 33 bits without
_HALF_PI = (float.fromhex('0x1.921fb54442d18p+0'), float.fromhex('0x1.1a62633145c07p-54'))
_HALF_PI_SPLIT = (float.fromhex('0x1.921fb544p+0'), float.fromhex('0x1.0b4611a6p-34'),
                  float.fromhex('0x1.3198a2e037073p-69'))
#: adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits
_ROUND = 6755399441055744.0
#: minimax polynomials on [-pi/4, pi/4]: fdlibm, k_sin.c and k_cos.c
_SIN = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
        2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)
_COS = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
        -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)


class Types:
    """The words for a scalar (width 1) or a vector of `width` doubles, and for its bits."""

    def __init__(self, width: int, fused: bool) -> None:
        """Name the types; `fused` tells whether the machine multiplies and adds in one."""
        self.width = width
        self.fused = fused
        self.double = 'double' if width == 1 else f'<{width} x double>'
        self.bits = 'i64' if width == 1 else f'<{width} x i64>'
        self.suffix = 'f64' if width == 1 else f'v{width}f64'

    def splat(self, word: str, element: str) -> str:
        """Return a constant of all lanes."""
        if self.width == 1:
            return word
        return '<' + ', '.join([f'{element} {word}'] * self.width) + '>'

    def number(self, value: float) -> str:
        """Return a double constant, exact to the bit."""
        return self.splat(f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}', 'double')

    def integer(self, value: int) -> str:
        """Return a 64-bit integer constant."""
        return self.splat(str(value), 'i64')

    def declarations(self) -> str:
        """Declare the functions the code may call."""
        t, s = self.double, self.suffix
        return (f'declare {t} @llvm.fma.{s}({t}, {t}, {t})\n'
                f'declare {t} @llvm.sqrt.{s}({t})\n'
                'declare double @atan2(double, double)\n')


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


class Body:
    """Lines of one function, with the names its values go by."""

    def __init__(self, types: Types) -> None:
        """Start empty."""
        self.types = types
        self.lines: list[str] = []
        self._count = 0

    def __call__(self, text: str) -> str:
        """Add an instruction and return its result's name."""
        self._count += 1
        self.lines.append(f'  %t{self._count} = {text}')
        return f'%t{self._count}'

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """Return a * b + c, in one rounding where the machine can."""
        t = self.types
        if t.fused:
            return self(f'call {t.double} @llvm.fma.{t.suffix}'
                        f'({t.double} {a}, {t.double} {b}, {t.double} {c})')
        return self.binary('fadd', self.binary('fmul', a, b), c)

    def binary(self, word: str, a: str, b: str) -> str:
        """Return a two-operand instruction on doubles."""
        return self(f'{word} {self.types.double} {a}, {b}')

    def negate(self, a: str) -> str:
        """Return -a."""
        return self(f'fneg {self.types.double} {a}')

    def element(self, pointer: str, index: int, kind: str = 'double') -> str:
        """Return the address of an element behind a pointer."""
        return self(f'getelementptr {kind}, ptr {pointer}, i64 {index}') if index else pointer

    def polynomial(self, z: str, coefficients: tuple[float, ...]) -> str:
        """Return the value of a polynomial at z by Horner's rule, lowest coefficient first."""
        number = self.types.number
        value = number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = self.multiply_add(z, value, number(c))
        return value

    def sine_and_cosine(self, x: str) -> tuple[str, str]:
        """
        Return both, to 2 ulp and 1e-33 |x| up to |x| = 1e6; NaN and infinity give NaN.

        Cody-Waite reduction to [-pi/4, pi/4], fdlibm's polynomials, quadrant by the low bits of
        the rounded quotient.
        """
        t = self.types
        shifted = self.multiply_add(x, t.number(_TWO_OVER_PI), t.number(_ROUND))
        k = self.negate(self.binary('fsub', shifted, t.number(_ROUND)))
        r = x
        for part in _HALF_PI if t.fused else _HALF_PI_SPLIT:
            r = self.multiply_add(k, t.number(part), r)
        z = self.binary('fmul', r, r)
        sine = self.multiply_add(self.binary('fmul', z, r), self.polynomial(z, _SIN), r)
        half = self.binary('fmul', z, t.number(0.5))
        w = self.binary('fsub', t.number(1.0), half)
        lost = self.binary('fsub', self.binary('fsub', t.number(1.0), w), half)
        cosine = self.binary('fadd', w, self.multiply_add(
            self.binary('fmul', z, z), self.polynomial(z, _COS), lost))
        quadrant = self(f'bitcast {t.double} {shifted} to {t.bits}')
        odd = self(f'trunc {t.bits} {quadrant} to {t.bits.replace("i64", "i1")}')
        condition = t.bits.replace('i64', 'i1')

        def chosen(a: str, b: str) -> str:
            return self(f'select {condition} {odd}, {t.double} {a}, {t.double} {b}')

        def signed(value: str, turns: str) -> str:
            sign = self(f'and {t.bits} {turns}, {t.integer(2)}')
            sign = self(f'shl {t.bits} {sign}, {t.integer(62)}')
            bits = self(f'bitcast {t.double} {value} to {t.bits}')
            bits = self(f'xor {t.bits} {bits}, {sign}')
            return self(f'bitcast {t.bits} {bits} to {t.double}')

        next_turn = self(f'add {t.bits} {quadrant}, {t.integer(1)}')
        return signed(chosen(cosine, sine), quadrant), signed(chosen(sine, cosine), next_turn)

    def lane_by_lane(self, function: str, *operands: str) -> str:
        """Return a call of the C library's `function`, lane by lane."""
        t = self.types

        def call(*scalars: str) -> str:
            return self(f'call double @{function}('
                        + ', '.join(f'double {x}' for x in scalars) + ')')

        if t.width == 1:
            return call(*operands)
        value = 'poison'
        for lane in range(t.width):
            one = call(*[self(f'extractelement {t.double} {x}, i32 {lane}') for x in operands])
            value = self(f'insertelement {t.double} {value}, double {one}, i32 {lane}')
        return value


class Emitter:
    """Writes the operations of a recording into a body, one after the other."""

    def __init__(self, recording: Recording, body: Body, load,
                 like: Emitter | None = None) -> None:
        """
        Prepare; `load(input, index)` returns the name an input's value goes by.

        `like` is another emitter of the same recording, which has planned it already.
        """
        self.recording = recording
        self.body = body
        self.load = load
        self.fusions: dict[int, int] = like.fusions if like else fusions(recording)
        #: products that live in fused operations only
        self.absorbed: set[int] = (
            like.absorbed if like else _absorbed(recording, self.fusions))
        #: asked first for a value; None if it is to be computed here
        self.elsewhere: Callable[[int], str | None] = lambda i: None
        self.names: dict[int, str] = {}
        self._angles: dict[int, tuple[str, str]] = {}

    def name(self, i: int) -> str:
        """Return the name of value `i`, writing a product or a constant when first asked for."""
        name = self.names.get(i) or self.elsewhere(i)
        if name is None:
            operation = self.recording.operations[i]
            if operation[0] == 'constant':
                name = self.body.types.number(float.fromhex(operation[1]))
            elif operation[0] == 'input':
                name = self.load(*operation[1:])
            else:
                name = self._compute(i, operation)
        self.names[i] = name
        return name

    def _compute(self, i: int, operation: tuple) -> str:
        body, word = self.body, operation[0]
        if i in self.fusions:
            return self._fused(operation, self.fusions[i])
        if word in ('sin', 'cos'):
            angle = operation[1]
            if angle not in self._angles:
                self._angles[angle] = body.sine_and_cosine(self.name(angle))
            return self._angles[angle][word == 'cos']
        values = [self.name(k) for k in operation[1:]]
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

    def _fused(self, operation: tuple, position: int) -> str:
        """Write x*y + c, c - x*y or x*y - c; fneg goes into the instruction at no cost."""
        body = self.body
        product = self.recording.operations[operation[position]]
        x, y = self.name(product[1]), self.name(product[2])
        c = self.name(operation[3 - position])
        if operation[0] == 'subtract':
            if position == 2:
                x = body.negate(x)
            else:
                c = body.negate(c)
        return body.multiply_add(x, y, c)


_BINARY = {'add': 'fadd', 'subtract': 'fsub', 'multiply': 'fmul', 'divide': 'fdiv'}
