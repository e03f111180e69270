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

"""Flows and the exponential function: what the compiler adds for simulations, without robots."""

from __future__ import annotations

import math

from multibody_ros.compiler.evaluate import evaluate
from multibody_ros.compiler.expression import record
from multibody_ros.compiler.flow import Call, Flow, If, While
from multibody_ros.compiler.functions import exp, where
from multibody_ros.compiler.kernel import Kernel
from multibody_ros.compiler.machine import aligned, lanes, Machine
from multibody_ros.compiler.program import Input, Output, Program
import numpy as np
import pytest


def program(name, function, inputs, outputs):
    return Program(name, tuple(Input(x, n) for x, n in inputs),
                   tuple(Output(x, (n,)) for x, n in outputs), function)


def run(flow, width, state, control, shared, steps, every=0):
    """Return the state, the good steps and the samples of `width` lanes."""
    memory = aligned(flow.state_size, width)
    memory[:] = state
    u, done = aligned(*control.shape), aligned(width)
    u[:] = control
    stored = aligned(steps // every if every else 1, flow.state_size, width)
    arrays = [np.array(x, dtype=float) for x in shared]
    Machine(flow, flow.name.encode()).function(width)(
        steps, every, control[0].size if len(control) > 1 else 0, *(x.ctypes.data for x in arrays),
        u.ctypes.data, memory.ctypes.data, done.ctypes.data, stored.ctypes.data)
    return memory, done, stored


def collatz():
    """Return a flow whose step is a whole Collatz sequence: loops and choices, lane by lane."""
    def half(x, n):
        y = 0.5 * x[0]
        # whole numbers up to 2^52: adding and taking away 2^52 rounds
        rounded = (y + 2.0 ** 52) - 2.0 ** 52
        even = where((y - rounded) * (y - rounded), 0.01, 1.0, 0.0)
        on = where(1.5, x[0], 1.0, 0.0)
        after = where(0.5, even, y, 3.0 * x[0] + 1.0)
        return where(0.5, on, after, x[0]), n[0] + on, where(1.5, where(
            0.5, on, after, x[0]), 1.0, 0.0)

    def start(u, k):
        return u[0], k[0] + 1.0, 0.0

    def finish(n, total, scale):
        return total[0] + scale[0] * n[0], 0.0

    return Flow(
        'collatz', {'scale': 1}, 'u', {'total': 1, 'k': 1},
        {'x': 1, 'n': 1, 'more': 1, 'bad': 1}, (
            Call(program('start', start, [('u', 1), ('k', 1)], [('x', 1), ('k', 1), ('n', 1)]),
                 ('u', 'k'), ('x', 'k', 'n')),
            While((Call(program('half', half, [('x', 1), ('n', 1)],
                                [('x', 1), ('n', 1), ('more', 1)]),
                        ('x', 'n'), ('x', 'n', 'more')),), 'more', 1000),
            Call(program('finish', finish, [('n', 1), ('total', 1), ('scale', 1)],
                         [('total', 1), ('bad', 1)]),
                 ('n', 'total', 'scale'), ('total', 'bad'))), 'bad')


def length(x):
    count = 0
    while x > 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        count += 1
    return count


@pytest.mark.parametrize('width', [1, lanes()])
def test_loops_run_until_every_lane_is_done(width):
    numbers = np.arange(2, 2 + 5 * width).reshape(5, 1, width)
    state, done, stored = run(collatz(), width, 0.0, numbers, [[2.0]], 5, every=2)
    lengths = 2.0 * np.array([[length(int(x)) for x in row[0]] for row in numbers])
    assert np.array_equal(state[0], lengths.sum(axis=0)) and (state[1] == 5.0).all()
    assert (done == 5.0).all()
    assert np.array_equal(stored[:, 0], lengths.cumsum(axis=0)[[1, 3]])


@pytest.mark.parametrize('width', [1, lanes()])
def test_a_bad_lane_stops_counting_and_the_others_go_on(width):
    def step(x, u):
        return x[0] + u[0], where(x[0] + u[0], 2.5, 0.0, math.nan)

    flow = Flow('limit', {}, 'u', {'x': 1}, {'bad': 1}, (
        Call(program('step', step, [('x', 1), ('u', 1)], [('x', 1), ('bad', 1)]), ('x', 'u'),
             ('x', 'bad')),), 'bad')
    control = np.full((1, 1, width), 0.1)
    control[0, 0, 0] = 1.0
    state, done, _ = run(flow, width, 0.0, control, [], 10)
    assert done[0] == 2.0 and (done[1:] == 10.0).all()
    assert state[0, 0] == (3.0 if width == 1 else 10.0)


@pytest.mark.parametrize('width', [1, lanes()])
@pytest.mark.parametrize('value, expected', [(0.0, -1.0), (2.0, 1.0), (math.nan, -1.0)])
def test_choice(width, value, expected):
    def give(number):
        def function(x):
            return x[0] * 0.0 + number, 0.0
        function.__name__ = f'give{int(number) + 1}'
        return Call(program(function.__name__, function, [('c', 1)], [('r', 1), ('bad', 1)]),
                    ('c',), ('r', 'bad'))

    flow = Flow(f'choice{width}', {}, 'u', {'c': 1, 'r': 1}, {'bad': 1},
                (If('c', (give(1.0),), (give(-1.0),)),), 'bad')
    state = np.zeros((2, width))
    state[0, -1] = value
    result, done, _ = run(flow, width, state, np.zeros((1, 1, width)), [], 1)
    assert (result[1] == expected).all() and (done == 1.0).all()


def test_long_programs_of_one_flow_do_not_mix():
    """Programs of several thousand operations are cut into parts, each with its own names."""
    def long(sign):
        def function(x):
            y = x[0]
            for k in range(3500):
                y = y + sign * (1.0 + k) / (y * y + 2.0)
            return y, 0.0
        return program(f'long{int(sign + 1)}', function, [('x', 1)], [('y', 1), ('bad', 1)])

    up, down = long(1.0), long(-1.0)
    flow = Flow('long', {}, 'u', {'x': 1, 'y': 1, 'z': 1}, {'bad': 1}, (
        Call(up, ('x',), ('y', 'bad')), Call(down, ('x',), ('z', 'bad'))), 'bad')
    state, _, _ = run(flow, 1, [[1.5], [0.0], [0.0]], np.zeros((1, 1, 1)), [], 1)
    assert state[1, 0] == pytest.approx(up.function([1.5])[0], rel=1e-13)
    assert state[2, 0] == pytest.approx(down.function([1.5])[0], rel=1e-13)


def test_exponential_to_two_ulps():
    kernel = Kernel(program('exponential', lambda x: [exp(x[0])], [('x', 1)], [('y', 1)]), b'e')
    x = np.concatenate([np.random.default_rng(0).uniform(-707.0, 709.7, 20_000),
                        [0.0, -0.0, 1e-300, 709.78, -707.9]])[:, None]
    (y,), good = kernel.run([x], len(x))
    np.testing.assert_allclose(y, np.exp(x), rtol=2.0 * np.finfo(float).eps)
    one = [kernel.run([row], None)[0][0][0] for row in x[:100]]
    assert good and np.array_equal(one, y[:100, 0])


@pytest.mark.parametrize('x, expected', [(-1e4, 0.0), (1e4, math.inf), (0.0, 1.0),
                                         (-math.inf, 0.0), (math.inf, math.inf)])
def test_exponential_at_the_ends(x, expected):
    kernel = Kernel(program('exponential', lambda x: [exp(x[0])], [('x', 1)], [('y', 1)]), b'e')
    (y,), _ = kernel.run([np.array([x])], None)
    assert y[0] == expected == exp(x)
    assert evaluate(record(lambda x: exp(x[0]), (1,)), (x,))[0] == expected


def test_exponential_of_nan_is_nan():
    kernel = Kernel(program('exponential', lambda x: [exp(x[0])], [('x', 1)], [('y', 1)]), b'e')
    (y,), good = kernel.run([np.array([math.nan])], None)
    assert math.isnan(y[0]) and not good and math.isnan(exp(math.nan))
