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
    """Declare what loads and stores narrow rows, and what adds up the lanes."""
    t, w, s = types.double, types.width, types.suffix
    return (f'declare {t} @llvm.masked.load.{s}.p0(ptr, i32, <{w} x i1>, {t})\n'
            f'declare void @llvm.masked.store.{s}.p0({t}, ptr, i32, <{w} x i1>)\n'
            f'declare double @llvm.vector.reduce.fadd.{s}(double, {t})\n')


def _mask(width: int, used: int) -> str:
    return f'<{width} x i1> <' + ', '.join(
        f'i1 {int(lane < used)}' for lane in range(width)) + '>'


def load_columns(body: Body, pointer: str, size: int, i: int) -> tuple[int, list[str]]:
    """Load the columns around `i` of `width` rows; return the first column and their names."""
    t = body.types
    start = min(i // t.width * t.width, max(0, size - t.width))
    rows = []
    for row in range(t.width):
        address = body.element(pointer, row * size + start)
        if size >= t.width:
            rows.append(body.load(address))
        else:
            rows.append(body(f'call {t.double} @llvm.masked.load.{t.suffix}.p0(ptr {address}, '
                             f'i32 8, {_mask(t.width, size)}, {t.double} zeroinitializer)'))
    return start, _transpose(body, rows)[:size]


def store_columns(body: Body, pointer: str, size: int, start: int, columns: list[str]) -> None:
    """Store columns from `start` on, as many as `width` or all there are, into `width` rows."""
    t = body.types
    columns = columns + [t.number(0.0)] * (t.width - len(columns))
    for row, value in enumerate(_transpose(body, columns)):
        address = body.element(pointer, row * size + start)
        if size >= t.width:
            body.store(value, address)
        else:
            body.lines.append(
                f'  call void @llvm.masked.store.{t.suffix}.p0({t.double} {value}, ptr {address}, '
                f'i32 8, {_mask(t.width, size)})')


def _transpose(body: Body, vectors: list[str]) -> list[str]:
    """Transpose a square of vectors by log2(width) perfect shuffles."""
    t = body.types
    half = t.width // 2
    low = [k // 2 + (k % 2) * t.width for k in range(t.width)]

    def shuffle(a: str, b: str, lanes: list[int]) -> str:
        return body(f'shufflevector {t.double} {a}, {t.double} {b}, <{t.width} x i32> <'
                    + ', '.join(f'i32 {lane}' for lane in lanes) + '>')

    for _ in range(t.width.bit_length() - 1):
        vectors = [shuffle(vectors[i], vectors[i + half], lanes) for i in range(half)
                   for lanes in (low, [lane + half for lane in low])]
    return vectors
