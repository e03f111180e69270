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

"""Vectors and matrices of any scalars: lists of floats compute, lists of expressions record."""

from __future__ import annotations

from typing import Any, Sequence

from ..compiler.functions import where

Vector = Sequence[Any]
Matrix = Sequence[Vector]


def dot(x: Vector, y: Vector) -> Any:
    """Return the scalar product."""
    total: Any = 0.0
    for a, b in zip(x, y):
        total = total + a * b
    return total


def add(*vectors: Vector) -> Vector:
    """Return the sum of vectors."""
    total, *others = vectors
    for other in others:
        total = [a + b for a, b in zip(total, other)]
    return list(total)


def minus(x: Vector, y: Vector) -> Vector:
    """Return x - y."""
    return [a - b for a, b in zip(x, y)]


def times(k: Any, x: Vector) -> Vector:
    """Return x times a number, or entry by entry times a vector."""
    factors = k if isinstance(k, (list, tuple)) else [k] * len(x)
    return [a * b for a, b in zip(factors, x)]


def apply(A: Matrix, x: Vector) -> Vector:
    """Return A x."""
    return [dot(row, x) for row in A]


def apply_transposed(A: Matrix, x: Vector) -> Vector:
    """Return A^T x."""
    return [dot(column, x) for column in zip(*A)]


def product(A: Matrix, B: Matrix) -> Matrix:
    """Return A B."""
    columns = list(zip(*B))
    return [[dot(row, column) for column in columns] for row in A]


def minimum(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers."""
    return where(a, b, a, b)


def maximum(a: Any, b: Any) -> Any:
    """Return the larger of two numbers."""
    return where(a, b, b, a)


def magnitude(a: Any) -> Any:
    """Return |a|."""
    return where(a, 0.0, -a, a)


def clamped(x: Any, lower: Any, upper: Any) -> Any:
    """Return x brought between two bounds."""
    return minimum(maximum(x, lower), upper)
