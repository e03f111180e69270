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

"""Rows of a batch in memory, columns of it in registers: loading, storing, transposing."""

from __future__ import annotations

from .body import Body, Types


def declarations(types: Types) -> str:
    """Declare what loads narrow rows, and what adds up the lanes."""
    half = types.width // 2
    return (f'declare <{half} x double> @llvm.masked.load.v{half}f64.p0(ptr, i32, '
            f'<{half} x i1>, <{half} x double>)\n'
            f'declare double @llvm.vector.reduce.fadd.{types.suffix}(double, {types.double})\n')


def _mask(width: int, used: int) -> str:
    return f'<{width} x i1> <' + ', '.join(
        f'i1 {int(lane < used)}' for lane in range(width)) + '>'


def load_columns(body: Body, pointer: str, size: int, i: int) -> tuple[int, list[str]]:
    """
    Load the columns around `i` of `width` rows; return the first column and their names.

    Half a row at a time: joining the halves of two rows is part of the load, so that only two
    squares of half the size, side by side in the vectors, are left to transpose.
    """
    t, half = body.types, body.types.width // 2
    start = min(i // t.width * t.width, max(0, size - t.width))
    columns = []
    for first in range(start, min(size, start + t.width), half):
        rows = [_load(body, body.element(pointer, row * size + first), half, size - first)
                for row in range(t.width)]
        lanes = ', '.join(f'i32 {k}' for k in range(t.width))
        kind = f'<{half} x double>'
        joined = [body(f'shufflevector {kind} {rows[k]}, {kind} {rows[k + half]}, '
                       f'<{t.width} x i32> <{lanes}>') for k in range(half)]
        columns += _transpose(body, joined)
    return start, columns[:size]


def _load(body: Body, address: str, count: int, there: int) -> str:
    """Load `count` numbers, of which only the first `there` may be touched."""
    kind = f'<{count} x double>'
    if there >= count:
        return body(f'load {kind}, ptr {address}, align 8')
    return body(f'call {kind} @llvm.masked.load.v{count}f64.p0(ptr {address}, i32 8, '
                f'{_mask(count, there)}, {kind} zeroinitializer)')


def store_columns(body: Body, pointer: str, size: int, start: int, columns: list[str]) -> None:
    """Store columns from `start` on, as many as `width` or all there are, into `width` rows."""
    t, half = body.types, body.types.width // 2
    for first in range(0, len(columns), half):
        some = columns[first:first + half]
        joined = _transpose(body, some + [t.number(0.0)] * (half - len(some)))
        for k, value in enumerate(joined):
            for lane, row in ((0, k), (half, k + half)):
                address = body.element(pointer, row * size + start + first)
                body.store_lanes(value, lane, len(some), address)


def _transpose(body: Body, vectors: list[str]) -> list[str]:
    """Transpose squares of vectors, side by side if they are wider, by perfect shuffles."""
    t, n = body.types, len(vectors)
    low = [first + k // 2 + (k % 2) * t.width for first in range(0, t.width, n) for k in range(n)]

    def shuffle(a: str, b: str, lanes: list[int]) -> str:
        return body(f'shufflevector {t.double} {a}, {t.double} {b}, <{t.width} x i32> <'
                    + ', '.join(f'i32 {lane}' for lane in lanes) + '>')

    for _ in range(n.bit_length() - 1):
        vectors = [shuffle(vectors[i], vectors[i + n // 2], lanes) for i in range(n // 2)
                   for lanes in (low, [lane + n // 2 for lane in low])]
    return vectors
