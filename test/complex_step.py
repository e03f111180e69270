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

"""A complex scalar for exact numerical derivatives: f'(x) = Im f(x + i h) / h, h tiny."""

import cmath

H = 1e-30


class Complex:
    """Complex arithmetic with the methods compiler.functions asks for."""

    def __init__(self, z):
        """Hold a complex number."""
        self.z = complex(z)

    def __neg__(self):
        """Return the negative."""
        return Complex(-self.z)

    def __add__(self, other):
        """Return the sum."""
        return Complex(self.z + _z(other))

    __radd__ = __add__

    def __sub__(self, other):
        """Return the difference."""
        return Complex(self.z - _z(other))

    def __rsub__(self, other):
        """Return the difference."""
        return Complex(_z(other) - self.z)

    def __mul__(self, other):
        """Return the product."""
        return Complex(self.z * _z(other))

    __rmul__ = __mul__

    def __truediv__(self, other):
        """Return the quotient."""
        return Complex(self.z / _z(other))

    def __rtruediv__(self, other):
        """Return the quotient."""
        return Complex(_z(other) / self.z)

    def sin(self):
        """Return the sine."""
        return Complex(cmath.sin(self.z))

    def cos(self):
        """Return the cosine."""
        return Complex(cmath.cos(self.z))

    def sqrt(self):
        """Return the square root."""
        return Complex(cmath.sqrt(self.z))

    def exp(self):
        """Return e to this power."""
        return Complex(cmath.exp(self.z))

    def atan2(self, x):
        """Return the angle; right of the imaginary axis only, enough for a test."""
        return Complex(cmath.atan(self.z / _z(x)))

    def ratan2(self, y):
        """Return the angle of the point (self, `y`)."""
        return Complex(y).atan2(self)

    def where(self, a, b, yes, no):
        """Return one branch by the real parts."""
        return Complex(_z(yes) if _z(a).real < _z(b).real else _z(no))


def _z(x):
    return x.z if isinstance(x, Complex) else complex(x)


def stepped(x, direction):
    """Return the list x + i h direction."""
    return [Complex(complex(value, H * d)) for value, d in zip(x, direction)]


def derivatives(values):
    """Return the derivatives of results of stepped inputs."""
    return [_z(value).imag / H for value in values]
