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

"""The words of LLVM assembly: types, instructions, and functions made of instructions."""

from __future__ import annotations

import struct
from typing import Sequence

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
        """Declare the functions on this type."""
        t, s = self.double, self.suffix
        return (f'declare {t} @llvm.fma.{s}({t}, {t}, {t})\n'
                f'declare {t} @llvm.sqrt.{s}({t})\n')

    def library(self) -> str:
        """Declare the functions of the C library."""
        return 'declare double @atan2(double, double)\n'


class Body:
    """Lines of one function, with the names its values go by."""

    def __init__(self, types: Types, lines: list[str] | None = None) -> None:
        """Start empty, or go on with the lines of another body."""
        self.types = types
        self.lines: list[str] = [] if lines is None else lines

    def side_by_side(self, count: int) -> Body:
        """Return the same body for vectors of `count` scalars, or a power of two above."""
        return Body(Types(1 << (count - 1).bit_length(), self.types.fused), self.lines)

    def __call__(self, text: str) -> str:
        """Add an instruction and return its result's name."""
        name = f'%t{len(self.lines)}'
        self.lines.append(f'  {name} = {text}')
        return name

    def load(self, address: str) -> str:
        """Return what is at an address."""
        return self(f'load {self.types.double}, ptr {address}, align 8')

    def store(self, value: str, address: str) -> None:
        """Write a value to an address."""
        self.lines.append(f'  store {self.types.double} {value}, ptr {address}, align 8')

    def packed(self, scalars: Sequence[str]) -> str:
        """Return a vector of scalars, zero behind them."""
        value = 'zeroinitializer'
        for lane, scalar in enumerate(scalars):
            value = self(f'insertelement {self.types.double} {value}, double {scalar}, i32 {lane}')
        return value

    def spread(self, scalar: str) -> str:
        """Return a vector of one scalar everywhere."""
        t = self.types
        first = self(f'insertelement {t.double} poison, double {scalar}, i32 0')
        return self(f'shufflevector {t.double} {first}, {t.double} poison, '
                    f'<{t.width} x i32> zeroinitializer')

    def store_lanes(self, value: str, first: int, count: int, address: str) -> None:
        """Write `count` lanes of a vector from `first` on."""
        t, done = self.types, 0
        while done < count:
            # the largest power of two that is left
            width = 1 << ((count - done).bit_length() - 1)
            lanes = ', '.join(f'i32 {first + done + k}' for k in range(width))
            part = self(f'shufflevector {t.double} {value}, {t.double} poison, '
                        f'<{width} x i32> <{lanes}>')
            self.lines.append(f'  store <{width} x double> {part}, '
                              f'ptr {self.element(address, done)}, align 8')
            done += width

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
        cosine = self.polynomial(z, (1.0, -0.5, *_COS))
        quadrant = self(f'bitcast {t.double} {shifted} to {t.bits}')
        odd = self(f'trunc {t.bits} {quadrant} to {t.bits.replace("i64", "i1")}')
        condition = t.bits.replace('i64', 'i1')

        def chosen(a: str, b: str) -> str:
            return self(f'select {condition} {odd}, {t.double} {a}, {t.double} {b}')

        def signed(value: str, turns: str) -> str:
            sign = self(f'shl {t.bits} {turns}, {t.integer(62)}')
            sign = self(f'and {t.bits} {sign}, {t.integer(-2 ** 63)}')
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
