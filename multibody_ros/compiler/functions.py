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
Elementary functions over any scalar: a float computes, an expression records, a dual derives.

A scalar that is not a plain number carries the function as a method of the same name.

Scalars that go through the same arithmetic, such as the rows of a matrix, can be put side by side:
one instruction then computes all of them.
"""

import math
import operator

#: the logarithm of the largest double
_LARGEST = 709.782712893384


def sin(x):
    """Sine of `x` in radians."""
    return math.sin(x) if isinstance(x, (float, int)) else x.sin()


def cos(x):
    """Cosine of `x` in radians."""
    return math.cos(x) if isinstance(x, (float, int)) else x.cos()


def sqrt(x):
    """Return the non-negative square root of `x`."""
    return math.sqrt(x) if isinstance(x, (float, int)) else x.sqrt()


def exp(x):
    """Return e to the power `x`; infinity where that is too large for a double."""
    if not isinstance(x, (float, int)):
        return x.exp()
    return math.exp(x) if not x > _LARGEST else math.inf


def atan2(y, x):
    """Angle of the point (`x`, `y`), in radians from -pi to pi."""
    if isinstance(y, (float, int)) and isinstance(x, (float, int)):
        return math.atan2(y, x)
    return y.atan2(x) if not isinstance(y, (float, int)) else x.ratan2(y)


def where(a, b, yes, no):
    """Return `yes` where `a` < `b`, else `no`; both branches are evaluated."""
    if isinstance(a, (float, int)) and isinstance(b, (float, int)):
        return yes if a < b else no
    return (b if isinstance(a, (float, int)) else a).where(a, b, yes, no)


def side_by_side(scalars):
    """Return one that stands for all `scalars`; sums and products with it are lane by lane."""
    first = scalars[0]
    if len(scalars) == 1 or all(isinstance(x, (float, int)) and x == first for x in scalars):
        return first
    for x in scalars:
        if hasattr(x, 'side_by_side'):
            return x.side_by_side(scalars)
    return Lanes(scalars)


def lane(x, k):
    """Return number `k` of what was put side by side; a scalar is the same in every lane."""
    return x.lane(k) if hasattr(x, 'lane') else x


class Lanes:
    """Scalars side by side, where they are not recorded."""

    def __init__(self, scalars):
        """Hold the scalars."""
        self.scalars = tuple(scalars)

    def lane(self, k):
        """Return one of them."""
        return self.scalars[k]

    def __add__(self, other):
        """Return the sums."""
        return self._with(other, operator.add)

    __radd__ = __add__

    def __sub__(self, other):
        """Return the differences."""
        return self._with(other, operator.sub)

    def __rsub__(self, other):
        """Return the differences."""
        return self._with(other, lambda x, y: y - x)

    def __mul__(self, other):
        """Return the products."""
        return self._with(other, operator.mul)

    __rmul__ = __mul__

    def _with(self, other, operation):
        if hasattr(other, 'side_by_side'):
            return operation(other.side_by_side(self.scalars), other)
        return side_by_side([operation(x, lane(other, k)) for k, x in enumerate(self.scalars)])
