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

"""LLVM assembly of the exponential function, for doubles and vectors of them alike."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .body import Body

#: ln 2 in two doubles, the first of 32 bits so that its multiples are exact (fdlibm, e_exp.c)
_LN2 = (float.fromhex('0x1.62e42feep-1'), float.fromhex('0x1.a39ef35793c76p-33'))
_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(14))
#: adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits
_ROUND = 6755399441055744.0
_ROUND_BITS = struct.unpack('<q', struct.pack('<d', _ROUND))[0]


def exponential(body: Body, x: str) -> str:
    """
    Return e^x to about an ulp: 0 below e^-708; NaN gives NaN.

    x = k ln 2 + r with |r| <= ln(2) / 2, Taylor's polynomial in r, k into the exponent.
    """
    t = body.types
    condition = t.bits.replace('i64', 'i1')
    shifted = body.multiply_add(x, t.number(1.0 / math.log(2.0)), t.number(_ROUND))
    k = body.negate(body.binary('fsub', shifted, t.number(_ROUND)))
    r = x
    for part in _LN2:
        r = body.multiply_add(k, t.number(part), r)
    value = body.polynomial(r, _TAYLOR)
    turns = body(f'bitcast {t.double} {shifted} to {t.bits}')
    turns = body(f'sub {t.bits} {turns}, {t.integer(_ROUND_BITS)}')
    # in two halves: e^709.7 is finite, 2^1024 has no exponent of its own
    half = body(f'ashr {t.bits} {turns}, {t.integer(1)}')
    for power in (half, body(f'sub {t.bits} {turns}, {half}')):
        bits = body(f'shl {t.bits} {power}, {t.integer(52)}')
        bits = body(f'add {t.bits} {bits}, {t.integer(1023 << 52)}')
        value = body.binary('fmul', value, body(f'bitcast {t.bits} {bits} to {t.double}'))
    for word, bound, beyond in (('olt', -708.0, 0.0), ('ogt', 709.782712893384, math.inf)):
        is_beyond = body(f'fcmp {word} {t.double} {x}, {t.number(bound)}')
        value = body(f'select {condition} {is_beyond}, {t.double} {t.number(beyond)}, '
                     f'{t.double} {value}')
    unordered = body(f'fcmp uno {t.double} {x}, {x}')
    return body(f'select {condition} {unordered}, {t.double} {x}, {t.double} {value}')
