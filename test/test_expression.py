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

"""Expressions: what is recorded, what is shared, what folds away."""

import math

from hypothesis import given, settings, strategies as st
from multibody_ros.compiler.evaluate import evaluate
from multibody_ros.compiler.expression import Expression, flatten, record, Tape
from multibody_ros.compiler.functions import atan2, cos, sin, sqrt, where
import numpy as np
import pytest

FINITE = st.floats(-1e3, 1e3)


def operations(function, inputs=2):
    """Return how often each operation occurs in a function of one vector, inputs apart."""
    counts = record(function, (inputs,)).count()
    counts.pop('input', None)
    return counts


def value(function, *x):
    """Return the only output of a function of one vector."""
    [result] = evaluate(record(function, (len(x),)), x)
    return result


@pytest.fixture
def x():
    return Tape().write('input', 0, 0)


@pytest.mark.parametrize('function', [
    lambda x: x[0] + x[1], lambda x: x[0] - x[1], lambda x: x[0] * x[1], lambda x: x[0] / x[1],
    lambda x: -x[0], lambda x: sqrt(x[0]), lambda x: sin(x[0]), lambda x: cos(x[0]),
    lambda x: atan2(x[0], x[1]), lambda x: where(x[0], x[1], x[0], x[1])])
def test_equal_terms_are_computed_once(function):
    assert sum(operations(lambda x: [function(x), function(x)]).values()) == 1


def test_sums_and_products_commute():
    assert operations(lambda x: [x[0] + x[1], x[1] + x[0]]) == {'add': 1}
    assert operations(lambda x: [x[0] * x[1], x[1] * x[0]]) == {'multiply': 1}
    assert operations(lambda x: [x[0] / x[1], x[1] / x[0]]) == {'divide': 2}


def test_a_constant_is_written_once():
    assert operations(lambda x: [x[0] + 2.5, x[1] * 2.5, x[0] / 2.5])['constant'] == 1


@pytest.mark.parametrize('function', [
    lambda x: x + 0.0, lambda x: 0.0 + x, lambda x: x - 0.0, lambda x: x * 1.0, lambda x: 1.0 * x,
    lambda x: x / 1.0, lambda x: x + 0, lambda x: x * 1, lambda x: -(0.0 - x),
    lambda x: -(x * -1.0), lambda x: x / 1, lambda x: where(x, 2.0, x, x),
    lambda x: where(1.0, 2.0, x, 7.0), lambda x: where(2.0, 1.0, 7.0, x)])
def test_neutral_operations_leave_no_trace(function, x):
    assert function(x) is x


@pytest.mark.parametrize('function', [
    lambda x: x * 0.0, lambda x: 0.0 * x, lambda x: x * -0.0, lambda x: 0.0 / x, lambda x: x - x,
    lambda x: x * 0])
def test_a_zero_factor_vanishes(function, x):
    result = function(x)
    assert isinstance(result, float)
    assert result == 0.0


def test_constants_fold_before_they_meet_an_expression():
    assert operations(lambda x: x[0] * (2.0 * sin(0.5) + sqrt(4.0))) == {
        'constant': 1, 'multiply': 1}


@pytest.mark.parametrize('pair, shared', [
    (lambda a, b: [a - b, b - a], 'subtract'),
    (lambda a, b: [a * b, -a * b], 'multiply'),
    (lambda a, b: [a * b, a * -b], 'multiply'),
    (lambda a, b: [a * 2.0, a * -2.0], 'multiply'),
    (lambda a, b: [a / b, -a / b], 'divide'),
    (lambda a, b: [a / b, a / -b], 'divide'),
    (lambda a, b: [a + b, -a - b], 'add'),
    (lambda a, b: [sin(a), sin(-a)], 'sin'),
])
def test_a_sign_is_pulled_out_and_the_work_shared(pair, shared):
    counts = operations(lambda x: pair(*x))
    counts.pop('constant', None)
    assert counts == {shared: 1, 'negate': 1}
    one, other = evaluate(record(lambda x: pair(*x), (2,)), (0.7, 1.9))
    assert one == -other != 0.0


def test_two_signs_cancel():
    assert operations(lambda x: [x[0] * x[1], -x[0] * -x[1]]) == {'multiply': 1}
    assert operations(lambda x: [x[0] / x[1], -x[0] / -x[1]]) == {'divide': 1}
    assert operations(lambda x: [cos(x[0]), cos(-x[0])]) == {'cos': 1}
    assert operations(lambda x: [x[0] - x[1], x[0] + -x[1], -x[1] + x[0]]) == {'subtract': 1}
    assert operations(lambda x: [x[0] + x[1], x[0] - -x[1]]) == {'add': 1}


@settings(deadline=None)
@given(FINITE, FINITE.filter(bool))
def test_signs_keep_the_value(a, b):
    for function in (lambda x: -x[0] + x[1], lambda x: -x[0] - x[1], lambda x: x[0] - -x[1],
                     lambda x: -x[0] * x[1], lambda x: -x[0] / -x[1], lambda x: x[0] * -3.0,
                     lambda x: 2.0 - -x[0], lambda x: -2.0 / -x[1], lambda x: sin(-x[0]),
                     lambda x: cos(-x[0]), lambda x: -x[0] - 1.5, lambda x: 1.5 - x[0]):
        assert value(function, a, b) == function((a, b))


def test_negative_zero_survives_as_a_constant():
    zero, negative = evaluate(record(lambda x: [0.0, -0.0], (0,)))
    assert math.copysign(1.0, zero) == 1.0
    assert math.copysign(1.0, negative) == -1.0
    assert value(lambda x: atan2(-0.0, x[0]), -1.0) == -math.pi
    assert value(lambda x: atan2(0.0, x[0]), -1.0) == math.pi


@pytest.mark.parametrize('constant', [math.nan, math.inf, -math.inf, 5e-324, 1 / 3, -0.1])
@pytest.mark.parametrize('function', [
    lambda c, x: c, lambda c, x: x + c, lambda c, x: c + x, lambda c, x: x - c, lambda c, x: c - x,
    lambda c, x: x * c, lambda c, x: c * x, lambda c, x: x / c, lambda c, x: c / x,
    lambda c, x: where(x, c, c, x), lambda c, x: where(c, x, c, x)])
def test_constants_of_any_kind_give_what_floats_give(function, constant):
    result, expected = value(lambda x: function(constant, x[0]), 0.75), function(constant, 0.75)
    assert result == expected or math.isnan(result) and math.isnan(expected)


def test_selection_takes_yes_where_a_is_less():
    def choose(x):
        return where(x[0], x[1], 1.0, 2.0)
    assert value(choose, 1.0, 2.0) == 1.0
    assert value(choose, 2.0, 1.0) == 2.0
    assert value(choose, 1.0, 1.0) == 2.0
    assert value(choose, math.nan, 1.0) == 2.0
    assert value(choose, 1.0, math.nan) == 2.0


@pytest.mark.parametrize('ask', [
    lambda x: x < 1.0, lambda x: x > 1.0, lambda x: x <= 1.0, lambda x: x >= 1.0,
    lambda x: 1.0 < x, lambda x: x < x, bool, lambda x: 1.0 if x else 2.0,
    lambda x: max(x, 1.0), lambda x: min(x, x), lambda x: sorted([x, x])])
def test_a_recording_refuses_to_be_compared(ask, x):
    with pytest.raises(TypeError, match=r'use where\(a, b, yes, no\)'):
        ask(x)


@pytest.mark.parametrize('convert', [float, int, math.sin, round])
def test_a_recording_refuses_to_become_a_number(convert, x):
    with pytest.raises(TypeError):
        convert(x)


def test_numbers_of_numpy_are_constants():
    recording = record(lambda x: [np.float64(2.0) * x[0], x[0] + np.float64(0.5),
                                  np.float64(3.0) - x[0], np.float64(1.0) / x[0],
                                  x[0] * np.int64(3), np.int64(3) - x[0]], (1,))
    assert evaluate(recording, (4.0,)) == [8.0, 4.5, -1.0, 0.25, 12.0, -1.0]
    assert all(isinstance(name, str) for name, *_ in recording.operations)


def test_only_what_the_outputs_need_is_kept():
    def function(x):
        sqrt(x[0]) / (x[1] + 17.0)
        return [x[1] * x[1]]
    recording = record(function, (2,))
    assert recording.operations == [('input', 0, 1), ('multiply', 0, 0)]
    assert recording.outputs == [1]


def test_outputs_may_repeat_and_may_be_inputs_or_constants():
    recording = record(lambda x, y: [x[1], 3.0, x[1], y[0], x[0] + y[0], 3.0], (2, 1))
    assert evaluate(recording, (1.0, 2.0), (5.0,)) == [2.0, 3.0, 2.0, 5.0, 6.0, 3.0]
    assert recording.count() == {'input': 3, 'constant': 1, 'add': 1}


def test_arguments_come_before_what_uses_them():
    recording = record(lambda x: [sin(x[1]) * x[0], x[2] - sin(x[1]) / 3.0], (3,))
    for i, (name, *rest) in enumerate(recording.operations):
        if name not in ('input', 'constant'):
            assert all(k < i for k in rest)


def test_nesting_is_flattened_in_order():
    assert flatten([1, (2, [3, (4,)]), [], 5]) == [1, 2, 3, 4, 5]
    assert flatten(7) == [7]
    assert evaluate(record(lambda x: ([x[0], (x[1],)], x[0]), (2,)), (1.0, 2.0)) == [1.0, 2.0, 1.0]


def test_what_is_computed_may_be_given_to_python_functions(x):
    assert isinstance(sum([x, x * x], 0.0), Expression)
    assert isinstance(math.prod([x, x]), Expression)


@pytest.mark.parametrize('function', [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b,
    lambda a, b: -a, lambda a, b: sqrt(a), lambda a, b: sin(a), lambda a, b: cos(b),
    atan2, lambda a, b: where(a, b, a, b), lambda a, b: 2.0 - a, lambda a, b: 2.0 / b,
    lambda a, b: atan2(2.0, b), lambda a, b: atan2(a, -3.0)])
@settings(deadline=None)
@given(a=st.floats(0.0, 1e3), b=FINITE.filter(lambda b: abs(b) > 1e-3))
def test_a_recording_gives_what_the_function_gives(function, a, b):
    assert value(lambda x: function(*x), a, b) == function(a, b)


def test_division_by_zero_and_roots_of_negatives_give_no_error():
    """The branch that is not taken is evaluated too."""
    assert value(lambda x: where(x[0], 1.0, 5.0, 1.0 / x[0]), 0.0) == 5.0
    assert value(lambda x: where(x[0], 1.0, 5.0, sqrt(x[0])), -1.0) == 5.0
    assert value(lambda x: where(x[0], math.inf, 5.0, sin(x[0])), -math.inf) == 5.0
    assert value(lambda x: 1.0 / x[0], -0.0) == -math.inf
    assert math.isnan(value(lambda x: x[0] / x[1], 0.0, 0.0))
    assert math.isnan(value(lambda x: sqrt(x[0]), -1.0))
