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
Dual numbers over any scalar: exact derivatives by forward mode.

A Dual carries a value and its derivative along one direction; both may be floats or expressions.
A derivative that is not there is the float 0.0, and what it multiplies folds away.
"""

from __future__ import annotations

from . import functions as f


class Dual:
    """value + derivative * e, with e^2 = 0."""

    __slots__ = ('derivative', 'value')

    def __init__(self, value, derivative=0.0):
        """Hold a value and its derivative."""
        self.value = value
        self.derivative = derivative

    def __repr__(self):
        """Show both parts."""
        return f'Dual({self.value!r}, {self.derivative!r})'

    def __neg__(self):
        """Return the negative."""
        return Dual(-self.value, -self.derivative)

    def __add__(self, other):
        """Return the sum."""
        x, dx = parts(other)
        return Dual(self.value + x, self.derivative + dx)

    __radd__ = __add__

    def __sub__(self, other):
        """Return the difference."""
        x, dx = parts(other)
        return Dual(self.value - x, self.derivative - dx)

    def __rsub__(self, other):
        """Return the difference."""
        return -self + other

    def __mul__(self, other):
        """Return the product; a structural zero stays one."""
        if is_zero(other):
            return 0.0
        x, dx = parts(other)
        return Dual(self.value * x, _term(self.value, dx) + _term(x, self.derivative))

    __rmul__ = __mul__

    def __truediv__(self, other):
        """Return the quotient."""
        x, dx = parts(other)
        value = self.value / x
        rise = self.derivative - _term(value, dx)
        return Dual(value, 0.0 if is_zero(rise) else rise / x)

    def __rtruediv__(self, other):
        """Return the quotient."""
        if is_zero(other):
            return 0.0
        value = other / self.value
        return Dual(value, -_term(self.derivative, value / self.value))

    def sin(self):
        """Return the sine."""
        return Dual(f.sin(self.value), _term(f.cos(self.value), self.derivative))

    def cos(self):
        """Return the cosine."""
        return Dual(f.cos(self.value), -_term(f.sin(self.value), self.derivative))

    def sqrt(self):
        """Return the square root."""
        root = f.sqrt(self.value)
        if is_zero(self.derivative):
            return Dual(root)
        return Dual(root, 0.5 * self.derivative / root)

    def exp(self):
        """Return e to this power."""
        value = f.exp(self.value)
        return Dual(value, _term(value, self.derivative))

    def atan2(self, x):
        """Return the angle of the point (`x`, self)."""
        return angle(self, x)

    def ratan2(self, y):
        """Return the angle of the point (self, `y`)."""
        return angle(y, self)

    def where(self, a, b, yes, no):
        """Return `yes` where `a` < `b`, else `no`, with the derivative of the one returned."""
        (a, _), (b, _), (yes, d_yes), (no, d_no) = parts(a), parts(b), parts(yes), parts(no)
        derivative = 0.0 if is_zero(d_yes) and is_zero(d_no) else f.where(a, b, d_yes, d_no)
        return Dual(f.where(a, b, yes, no), derivative)

    def side_by_side(self, scalars):
        """Return one dual for all `scalars`."""
        values, derivatives = zip(*map(parts, scalars))
        return Dual(f.side_by_side(values), f.side_by_side(derivatives))

    def lane(self, k):
        """Return one of the duals side by side."""
        return Dual(f.lane(self.value, k), f.lane(self.derivative, k))


def parts(x):
    """Return value and derivative of a dual, or of any other scalar, which is constant."""
    return (x.value, x.derivative) if isinstance(x, Dual) else (x, 0.0)


def derivative(x):
    """Return the derivative of a scalar."""
    return parts(x)[1]


def angle(y, x):
    """Return atan2 of two scalars at least one of which is dual."""
    (y, dy), (x, dx) = parts(y), parts(x)
    rise = _term(x, dy) - _term(y, dx)
    return Dual(f.atan2(y, x), 0.0 if is_zero(rise) else rise / (x * x + y * y))


def is_number(x):
    """Tell whether a scalar is a plain number."""
    return isinstance(x, (float, int))


def is_zero(x):
    """Tell whether a scalar is the structural zero."""
    return is_number(x) and x == 0.0


def _term(x, dx):
    """Return the product of a value and a derivative, nothing when the derivative is absent."""
    return 0.0 if is_zero(dx) else x * dx
