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

"""Dual numbers against complex steps and known derivatives."""

from complex_step import Complex, derivatives, H
from multibody_ros.compiler.dual import derivative, Dual
from multibody_ros.compiler.evaluate import evaluate
from multibody_ros.compiler.expression import record
from multibody_ros.compiler.functions import (
    atan2, cos, exp, lane, side_by_side, sin, sqrt, where)
import pytest

FUNCTIONS = {
    'sum': lambda x, y: x + y + 2.0 + (1.0 + x),
    'difference': lambda x, y: x - y - 2.0 - (1.0 - x),
    'product': lambda x, y: x * y * 3.0 * (2.0 * x),
    'quotient': lambda x, y: x / y / 3.0 + 2.0 / x,
    'negative': lambda x, y: -(x * -y),
    'sine': lambda x, y: sin(x * y) * sin(y),
    'cosine': lambda x, y: cos(x * y) / cos(x),
    'power': lambda x, y: exp(x * y) / exp(-x),
    'root': lambda x, y: sqrt(x * x + y),
    'angle': lambda x, y: atan2(y, x) + atan2(2.0, x) + atan2(x * y, 3.0),
    'smaller': lambda x, y: where(x, y, x * x, y * y * y),
    'larger': lambda x, y: where(y, x, x * x, y * y * y),
    'constant branch': lambda x, y: where(x, 9.0, 1.0, x * y),
}


@pytest.mark.parametrize('name', FUNCTIONS)
@pytest.mark.parametrize('direction', [(1.0, 0.0), (0.0, 1.0), (0.3, -1.7)])
def test_derivative_equals_complex_step(name, direction):
    x, y = 0.7, 1.3
    function = FUNCTIONS[name]
    result = function(Dual(x, direction[0]), Dual(y, direction[1]))
    stepped = function(Complex(complex(x, H * direction[0])),
                       Complex(complex(y, H * direction[1])))
    assert result.value == pytest.approx(function(x, y), rel=1e-15)
    assert derivative(result) == pytest.approx(derivatives([stepped])[0], rel=1e-14, abs=1e-15)


@pytest.mark.parametrize('name', FUNCTIONS)
def test_duals_of_expressions_record_the_same_derivative(name):
    function = FUNCTIONS[name]
    recording = record(lambda x, dx: derivative(
        function(Dual(x[0], dx[0]), Dual(x[1], dx[1]))), (2, 2))
    expected = derivative(function(Dual(0.7, 0.3), Dual(1.3, -1.7)))
    assert evaluate(recording, (0.7, 1.3), (0.3, -1.7))[0] == pytest.approx(expected, rel=1e-14)


def test_duals_side_by_side_have_the_derivatives_of_each():
    def function(x, y):
        result = side_by_side([x, y, 2.0]) * 3.0 - side_by_side([y, x * y, x]) * x
        return [lane(result, k) for k in range(3)]

    x, y, dx, dy = 0.7, 1.3, 0.3, -1.7
    results = function(Dual(x, dx), Dual(y, dy))
    assert [result.value for result in results] == function(x, y)
    expected = [3.0 * dx - y * dx - x * dy, 3.0 * dy - 2.0 * x * y * dx - x * x * dy,
                -2.0 * x * dx]
    assert [derivative(result) for result in results] == pytest.approx(expected, rel=1e-14)
    recording = record(lambda x: [derivative(result) for result in function(
        x[0], Dual(x[1], 1.0))], (2,))
    assert evaluate(recording, (x, y)) == pytest.approx([-x, 3.0 - x * x, 0.0], rel=1e-14)


@pytest.mark.parametrize('name', FUNCTIONS)
def test_an_expression_meets_a_dual_as_a_constant(name):
    function = FUNCTIONS[name]
    recording = record(lambda x: [derivative(function(x[0], Dual(x[1], 1.0))),
                                  derivative(function(Dual(x[0], 1.0), x[1]))], (2,))
    expected = [derivative(function(Dual(0.7, 0.0), Dual(1.3, 1.0))),
                derivative(function(Dual(0.7, 1.0), Dual(1.3, 0.0)))]
    assert evaluate(recording, (0.7, 1.3)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize('name', FUNCTIONS)
def test_an_absent_derivative_costs_nothing(name):
    result = FUNCTIONS[name](Dual(0.7), Dual(1.3))
    assert derivative(result) == 0.0
    assert isinstance(derivative(result), float)


def test_a_structural_zero_stays_one():
    assert isinstance(0.0 * Dual(1.0, 2.0), float)
    assert isinstance(Dual(1.0, 2.0) * 0.0, float)
    assert isinstance(0.0 / Dual(1.0, 2.0), float)


@pytest.mark.parametrize('name', FUNCTIONS)
@pytest.mark.parametrize('first, second', [
    ((1.0, 0.0), (1.0, 0.0)), ((0.0, 1.0), (0.0, 1.0)), ((0.3, -1.7), (0.9, 0.4))])
def test_second_derivative_by_nesting_equals_complex_step_of_the_first(name, first, second):
    function = FUNCTIONS[name]
    x, y = (Dual(Dual(value, b), a) for value, a, b in zip((0.7, 1.3), first, second))
    result = derivative(derivative(function(x, y)))
    x, y = (Dual(Complex(complex(value, H * b)), a)
            for value, a, b in zip((0.7, 1.3), first, second))
    expected = derivatives([derivative(function(x, y))])[0]
    assert result == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize('name', FUNCTIONS)
def test_nested_duals_of_expressions_record_the_same_second_derivative(name):
    function = FUNCTIONS[name]

    def second(x, a, b):
        return derivative(derivative(function(
            *(Dual(Dual(*parts[:2]), parts[2]) for parts in zip(x, b, a)))))

    arguments = (0.7, 1.3), (0.3, -1.7), (0.9, 0.4)
    recording = record(second, (2, 2, 2))
    assert evaluate(recording, *arguments)[0] == pytest.approx(
        second(*arguments), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize('turn', [0.3, 1.2, 1.9, 2.8, -0.4, -1.3, -2.0, -3.0])
def test_an_angle_turns_as_its_point_does_in_every_quadrant(turn):
    t = Dual(turn, 1.0)
    assert derivative(atan2(2.0 * sin(t), 2.0 * cos(t))) == pytest.approx(1.0, rel=1e-15)
    assert derivative(atan2(sin(turn), cos(turn) + Dual(0.0, 1.0))) == pytest.approx(
        -sin(turn), rel=1e-15)
    assert derivative(atan2(sin(turn) + Dual(0.0, 1.0), cos(turn))) == pytest.approx(
        cos(turn), rel=1e-15)


def test_a_derivative_is_that_of_the_branch_taken():
    for x, expected in ((0.9, 2.0 * 0.9), (1.0, 3.0), (1.1, 3.0)):
        t = Dual(x, 1.0)
        assert derivative(where(t, 1.0, t * t, 3.0 * t)) == expected
        assert derivative(where(1.0, t, t * t, 3.0 * t)) == (2.0 * x if x > 1.0 else 3.0)


def test_shown_with_both_parts():
    assert repr(Dual(1.0, 2.0)) == 'Dual(1.0, 2.0)'
