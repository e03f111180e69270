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

"""Compiled programs against Python floats: one state, batches, vectors of any width, threads."""

import ctypes
from fractions import Fraction
import math
import os
import runpy
import subprocess
import sys
from types import SimpleNamespace
from typing import NamedTuple

from hypothesis import given, settings, strategies as st
import llvmlite
from multibody_ros.compiler import (
    kernel as kernel_module, llvm as llvm_module, program as program_module)
from multibody_ros.compiler.emit import fusions
from multibody_ros.compiler.evaluate import evaluate
from multibody_ros.compiler.expression import flatten
from multibody_ros.compiler.functions import (
    atan2, cos, lane, side_by_side, sin, sqrt, where)
from multibody_ros.compiler.interpreter import Interpreted
from multibody_ros.compiler.kernel import Kernel, set_threads
from multibody_ros.compiler.llvm import compile_text, Library, vector_width
from multibody_ros.compiler.program import batch_text, Input, Output, Program, state_text
import numpy as np
import pytest

WIDTHS = (2, 4, 8)
FUSED = pytest.mark.parametrize('fused', [True, False], ids=['fused', 'unfused'])
#: rows before and behind the results that nothing may touch
MARGIN = 3
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-300, -1e300, 5e-324, math.pi, 7.25, -2.5]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """Let every test compile for itself."""
    monkeypatch.setenv('MULTIBODY_CACHE_DIR', str(tmp_path))


class Compiled:
    """A program compiled by hand: for one state (width 1) or for batches of any vector width."""

    def __init__(self, program, fused, width=1):
        self.program = program
        self.batch = width > 1
        text = batch_text(program, fused, width) if self.batch else state_text(program, fused)
        self.library = Library(compile_text(text))
        arrays = [ctypes.c_void_p] * (len(program.inputs) + len(program.outputs))
        head = [ctypes.c_int64] if self.batch else []
        self.function = ctypes.CFUNCTYPE(ctypes.c_double, *head, *arrays)(
            self.library.address('batch' if self.batch else 'state'))

    def __call__(self, *inputs):
        """Run on rows; return the outputs, and the status of each row or of the batch."""
        inputs = [np.ascontiguousarray(x, dtype=float) for x in inputs]
        rows = next(len(x) for x, i in zip(inputs, self.program.inputs) if not i.shared)
        buffers = [np.full((rows + 2 * MARGIN, *o.shape), 12345.0) for o in self.program.outputs]
        outputs = [buffer[MARGIN:-MARGIN] for buffer in buffers]
        starts = np.array([x.ctypes.data for x in (*inputs, *outputs)])
        if self.batch:
            status = self.function(rows, *starts.tolist())
        else:
            strides = np.array([0 if i.shared else 8 * i.size for i in self.program.inputs]
                               + [8 * o.size for o in self.program.outputs])
            status = [self.function(*(starts + row * strides).tolist()) for row in range(rows)]
        for buffer in buffers:
            assert (buffer[:MARGIN] == 12345.0).all()
            assert (buffer[-MARGIN:] == 12345.0).all()
        return outputs, status


def vectors(function, size, outputs, guarded=False):
    """Return a program of one vector to one vector."""
    return Program('test', (Input('x', size),), (Output('y', (outputs,)),), function, guarded)


def same_bits(a, b):
    return np.array_equal(np.asarray(a).view(np.int64), np.asarray(b).view(np.int64))


def same_numbers(a, b):
    """Compare; NaN equals NaN, and the sign of zero is not looked at."""
    return np.array_equal(a, b, equal_nan=True)


OPERATIONS = {
    'add': lambda a, b: a + b, 'subtract': lambda a, b: a - b, 'multiply': lambda a, b: a * b,
    'divide': lambda a, b: a / b, 'negate': lambda a, b: -a, 'sqrt': lambda a, b: sqrt(a),
    'atan2': atan2, 'where': lambda a, b: where(a, b, a, b),
    'add constant': lambda a, b: a + 0.1, 'subtract constant': lambda a, b: a - 0.1,
    'subtract from constant': lambda a, b: 0.1 - a, 'multiply constant': lambda a, b: a * -0.1,
    'divide by constant': lambda a, b: a / 0.3, 'divide constant': lambda a, b: 0.3 / a,
    'where constant': lambda a, b: where(a, 0.7, 2.0, b),
    'atan2 of constant': lambda a, b: atan2(0.5, a),
    'atan2 by constant': lambda a, b: atan2(a, -2.0),
}


@FUSED
@pytest.mark.parametrize('width', (1, *WIDTHS))
def test_every_operation_gives_what_python_gives(width, fused):
    program = vectors(lambda x: [f(*x) for f in OPERATIONS.values()], 2, len(OPERATIONS))
    pairs = np.array([(a, b) for a in SPECIAL for b in SPECIAL])
    [result], status = Compiled(program, fused, width)(pairs)
    assert not np.any(status)
    recording = program.record()
    for row, pair in zip(result, pairs):
        for name, one, expected in zip(OPERATIONS, row, evaluate(recording, pair)):
            assert same_numbers(one, expected), (name, pair, one, expected)


@FUSED
@pytest.mark.parametrize('width', (1, *WIDTHS))
def test_sine_and_cosine_are_exact_to_two_units_in_the_last_place(width, fused):
    rng = np.random.default_rng(1)
    turns = np.concatenate([np.arange(-9.0, 10.0), rng.integers(-636619, 636620, 600)])
    near = turns * (math.pi / 2.0)
    x = np.concatenate([
        rng.uniform(-1e6, 1e6, 2000), rng.uniform(-10.0, 10.0, 2000), SPECIAL[:6], [1e6, -1e6],
        10.0 ** rng.uniform(-300, 0, 100), near, np.nextafter(near, np.inf),
        np.nextafter(near, -np.inf), turns * (math.pi / 4.0)])
    x = x[np.abs(x) <= 1e6]
    program = vectors(lambda x: [sin(x[0]), cos(x[0])], 1, 2)
    [result], status = Compiled(program, fused, width)(x[:, None])
    assert not np.any(status)
    for function, column in ((math.sin, 0), (math.cos, 1)):
        expected = np.array([function(value) for value in x])
        # two doubles hold pi/2 to 1e-33 of its size: what is left shows next to a zero
        allowed = 2.0 * np.spacing(np.abs(expected)) + 1e-33 * np.abs(x)
        share = np.abs(result[:, column] - expected) / allowed
        assert share.max() <= 1.0, (x[share.argmax()], share.max())


@FUSED
def test_sine_and_cosine_of_infinity_are_not_numbers(fused):
    program = vectors(lambda x: [sin(1.0 / x[0]), cos(1.0 / x[0])], 1, 2)
    [result], status = Compiled(program, fused)([[0.0]])
    assert status == [0.0]
    assert np.isnan(result).all()


def test_products_and_sums_are_rounded_once_where_fused():
    program = vectors(lambda x: [x[0] * x[1] + x[2], x[0] * x[1] - x[2], x[2] - x[0] * x[1]], 3, 3)
    a = 1.0 + 2.0**-30
    [fused], _ = Compiled(program, True)([[a, a, -(1.0 + 2.0**-29)]])
    [unfused], _ = Compiled(program, False)([[a, a, -(1.0 + 2.0**-29)]])
    assert fused[0, 0] == 2.0**-60
    assert unfused[0, 0] == 0.0
    assert fused[0, 1] == -fused[0, 2] == unfused[0, 1] == -unfused[0, 2]


class Guarded(NamedTuple):
    """What the guarded program returns."""

    y: np.ndarray
    z: float


GUARDED = Program('guarded', (Input('x', 3), Input('m', 2, shared=True), Input('unused', 2)),
                  (Output('y', (2,)), Output('z', ())),
                  lambda x, m, unused: ([x[0] * m[0], x[1]], x[2], x[0] - m[1]), guarded=True)


@FUSED
@pytest.mark.parametrize('width', (1, 8))
def test_an_input_that_is_not_finite_gives_a_bad_status(width, fused):
    call = Compiled(GUARDED, fused, width)
    x, m, unused = np.ones((19, 3)), np.zeros(2), np.ones((19, 2))
    for array in (x, unused):
        for place in np.ndindex(array.shape):
            for bad in (math.nan, math.inf, -math.inf):
                array[place] = bad
                assert np.isnan(call(x, m, unused)[1]).any(), place
            array[place] = 1.0
    assert not np.any(call(x, m, unused)[1])


@FUSED
@pytest.mark.parametrize('width', (1, 8))
def test_a_guard_that_is_not_positive_gives_a_bad_status(width, fused):
    call = Compiled(GUARDED, fused, width)
    unused = np.ones((19, 2))
    for row in range(19):
        for limit, good in ((0.0, True), (0.999, True), (1.0, False), (2.0, False)):
            x = np.full((19, 3), 5.0)
            x[row, 0] = 1.0
            outputs, status = call(x, np.array([3.0, limit]), unused)
            assert not np.any(status) == good
            assert same_numbers(outputs[0][:, 0], 3.0 * x[:, 0])
    assert np.isnan(call(np.ones((19, 3)), np.array([1.0, math.nan]), unused)[1]).any()


def test_results_that_overflow_are_left_to_the_caller():
    [result], status = Compiled(vectors(lambda x: [x[0] * x[0]], 1, 1), True)([[1e200]])
    assert status == [0.0]
    assert result[0, 0] == math.inf


def mixed(sizes, outputs, shared=3):
    """Return a program of inputs and outputs of given sizes that uses them all, with sines."""
    def function(m, *inputs):
        terms = [x for given in inputs for x in given]
        base = sum((sin(x) * m[k % shared] for k, x in enumerate(terms)), m[0])
        return [[base * (k + 1.5) - cos(terms[k % len(terms)]) * m[1] + sqrt(2.0 + sin(base))
                 for k in range(size)] for size in outputs]
    return Program(
        'mixed', (Input('m', shared, shared=True),
                  *(Input(f'x{k}', size) for k, size in enumerate(sizes))),
        tuple(Output(f'y{k}', (size,)) for k, size in enumerate(outputs)), function)


@FUSED
@pytest.mark.parametrize('width', WIDTHS)
def test_batch_equals_state_bit_for_bit(width, fused):
    rng = np.random.default_rng(width)
    shapes = [((1,), (1,)), ((width - 1, 1), (width + 1,)), ((width,), (width, width - 1)),
              ((width + 1, 2), (2 * width,)), ((2 * width + 1,), (2 * width + 3, 1))]
    for sizes, outputs in shapes:
        program = mixed(sizes, outputs)
        state, batch = Compiled(program, fused), Compiled(program, fused, width)
        for rows in range(width, 3 * width + 2):
            inputs = [rng.normal(size=3), *(rng.normal(size=(rows, size)) for size in sizes)]
            one, statuses = state(*inputs)
            many, status = batch(*inputs)
            assert not any(statuses)
            assert status == 0.0
            for a, b in zip(one, many):
                assert same_bits(a, b), (sizes, outputs, rows)


@FUSED
@pytest.mark.parametrize('count, runs', [(1, 1), (2, 1), (7, 1), (8, 1), (9, 2), (20, 3)])
def test_sines_of_inputs_are_computed_side_by_side(count, runs, fused):
    """One run through the polynomials serves eight angles; lanes and batches give the same."""
    program = Program('angles', (Input('x', count), Input('y', 1)), (Output('z', (2 * count,)),),
                      lambda x, y: [f(a) * y[0] + cos(2.0 * y[0]) for a in x for f in (sin, cos)])
    rng = np.random.default_rng(count)
    x, y = rng.normal(scale=10.0, size=(16, count)), rng.normal(size=(16, 1))
    [one], _ = Compiled(program, fused)(x, y)
    [many], _ = Compiled(program, fused, 8)(x, y)
    assert same_bits(one, many)
    np.testing.assert_allclose(one[:, 1::2], np.cos(x) * y + np.cos(2.0 * y), rtol=0, atol=1e-14)
    # a quadrant is looked up for every run, one of them for the angle that is no input
    assert state_text(program, fused).count('= trunc ') == runs + 1


@pytest.mark.parametrize('sizes, outputs', [((3,), (2, 5)), ((8, 8), (8,)), ((11, 1), (17,))])
def test_kernel_gives_the_same_for_a_batch_and_for_its_rows(sizes, outputs):
    rng = np.random.default_rng(3)
    result = NamedTuple('Result', [(f'y{k}', object) for k in range(len(outputs))])
    shared = rng.normal(size=3)
    kernel = Kernel(mixed(sizes, outputs), b'', [shared], result if len(outputs) > 1 else None)
    for rows in range(3 * vector_width() + 2):
        inputs = [rng.normal(size=(rows, size)) for size in sizes]
        many, good = kernel.run(inputs, rows)
        assert good
        assert [y.shape for y in many] == [(rows, size) for size in outputs]
        for row in range(rows):
            one, good = kernel.run([np.ascontiguousarray(x[row]) for x in inputs], None)
            assert good
            assert all(same_bits(a, b[row]) for a, b in zip(one, many))


def test_shared_inputs_are_read_at_every_call():
    shared = np.array([1.0, 2.0, 3.0])
    program = Program('scaled', (Input('m', 3, shared=True), Input('x', 1)),
                      (Output('y', (3,)),), lambda m, x: [x[0] * c for c in m])
    kernel = Kernel(program, b'', [shared])
    rows = vector_width() + 1
    for factor in (1.0, -2.0):
        shared[:] = [factor, 2.0 * factor, 3.0 * factor]
        assert same_numbers(kernel.run([np.array([5.0])], None)[0][0], 5.0 * shared)
        assert same_numbers(kernel.run([np.full((rows, 1), 5.0)], rows)[0][0],
                            np.tile(5.0 * shared, (rows, 1)))


def test_a_kernel_tells_of_one_bad_row_in_a_batch():
    kernel = Kernel(GUARDED, b'', [np.array([1.0, 0.0])], Guarded)
    for rows in (1, 2, vector_width() - 1, vector_width(), 3 * vector_width() + 1):
        x, unused = np.ones((rows, 3)), np.ones((rows, 2))
        assert kernel.run([x, unused], rows)[1] is True
        x[-1, 0] = -1.0
        assert kernel.run([x, unused], rows)[1] is False
    packed = kernel.pack(kernel.run([np.array([2.0, 3.0, 4.0]), np.zeros(2)], None)[0])
    assert isinstance(packed, Guarded)
    assert packed.y.tolist() == [2.0, 3.0]
    assert type(packed.z) is float


def test_a_program_whose_function_does_not_fit_its_outputs_is_refused():
    with pytest.raises(TypeError, match="'test' returns 2 numbers, its outputs hold 3"):
        Kernel(vectors(lambda x: [x[0], x[0]], 1, 3), b'').text('state')


def test_a_named_tuple_belongs_to_several_outputs():
    with pytest.raises(TypeError, match="'guarded' has 2 outputs"):
        Kernel(GUARDED, b'', [np.zeros(2)])
    with pytest.raises(TypeError, match="'test' has 1 outputs"):
        Kernel(vectors(lambda x: x, 1, 1), b'', [], Guarded)


#: random graphs: (operation, where its arguments stand among the values so far)
STEPS = st.lists(st.tuples(
    st.sampled_from(['add', 'subtract', 'multiply', 'divide', 'negate', 'sqrt', 'atan2', 'where']),
    *[st.integers(0, 10**6)] * 4), min_size=1, max_size=60)
CONSTANTS = st.lists(st.floats(-4.0, 4.0), max_size=4)
ROWS = st.lists(st.tuples(*[st.floats(-1e3, 1e3)] * 4), min_size=9, max_size=9)


def graph(steps, constants, sines=False):
    """Return a program of four inputs that takes the steps and returns its last six values."""
    def function(x):
        values = [*x, *constants]
        for name, *places in steps:
            a, b, yes, no = (values[place % len(values)] for place in places)
            if name == 'divide' and isinstance(b, float):
                b = b or 1.0
            if name == 'sqrt' and isinstance(a, float):
                a = abs(a)
            value = {
                'add': lambda a, b, *_: a + b, 'subtract': lambda a, b, *_: a - b,
                'multiply': lambda a, b, *_: a * b, 'divide': lambda a, b, *_: a / b,
                'negate': lambda a, *_: -a, 'sqrt': lambda a, *_: sqrt(a),
                'atan2': lambda a, b, *_: atan2(a, b), 'where': where}[name](a, b, yes, no)
            if sines and places[0] % 3 == 0 and not isinstance(value, float):
                value = sin(value) if places[0] % 2 else cos(value)
            values.append(value)
        return ([0.0] * 6 + values)[-6:]
    return vectors(function, 4, 6)


def rounded_once(recording, x):
    """Evaluate with exact rational arithmetic wherever a product and a sum are fused."""
    chosen = fusions(recording)
    values = []
    for i, (name, *places) in enumerate(recording.operations):
        if i in chosen:
            position = chosen[i]
            a, b = (values[k] for k in recording.operations[places[position - 1]][1:])
            c = values[places[2 - position]]
            if name == 'subtract':
                a, c = (-a, c) if position == 2 else (a, -c)
            values.append(fused_multiply_add(a, b, c))
        elif name in ('input', 'constant'):
            values += evaluate(SimpleNamespace(operations=[(name, *places)], outputs=[0]), x)
        else:
            count = len(places)
            step = [*(('input', 0, k) for k in range(count)), (name, *range(count))]
            values += evaluate(SimpleNamespace(operations=step, outputs=[count]),
                               [values[k] for k in places])
    return [values[k] for k in recording.outputs]


def fused_multiply_add(a, b, c):
    """Return a * b + c, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    total = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(total) if total else a * b + c
    except OverflowError:
        return math.copysign(math.inf, total)


@settings(max_examples=60, deadline=None)
@given(STEPS, CONSTANTS, ROWS)
def test_random_graphs_give_what_python_gives(steps, constants, rows):
    program = graph(steps, constants)
    recording = program.record()
    [unfused], _ = Compiled(program, False)(rows)
    [fused], _ = Compiled(program, True)(rows)
    for row, x in enumerate(rows):
        assert same_numbers(unfused[row], evaluate(recording, x)[:-1])
        assert same_numbers(fused[row], rounded_once(recording, x)[:-1])


@settings(max_examples=25, deadline=None)
@given(STEPS, CONSTANTS, ROWS, st.booleans(), st.sampled_from(WIDTHS), st.integers(1, 9))
def test_random_graphs_give_the_same_in_batches_and_in_parts(
        steps, constants, rows, fused, width, part):
    program = graph(steps, constants, sines=True)
    [expected], _ = Compiled(program, fused)(rows)
    [batch], _ = Compiled(program, fused, width)(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program_module, 'PART', part)
        [parts], _ = Compiled(program, fused)(rows)
        [batch_in_parts], _ = Compiled(program, fused, width)(rows)
    for result in (batch, parts, batch_in_parts):
        assert same_numbers(result, expected)


def long_program():
    """Return a program of several parts: powers of a matrix with entries that turn."""
    def function(x, m):
        A = [[sin(x[i]) * m[j] + cos(x[j]) for j in range(5)] for i in range(5)]
        B = A
        for _ in range(25):
            B = [[sum((B[i][k] * A[k][j] for k in range(5)), 0.0) / 4.0 for j in range(5)]
                 for i in range(5)]
        return B, A[0][0]
    return Program('long', (Input('x', 5), Input('m', 5, shared=True)),
                   (Output('B', (5, 5)), Output('a', ())), function)


def test_a_program_of_several_parts_gives_what_one_part_gives(monkeypatch):
    program, fused = long_program(), True
    monkeypatch.setattr(program_module, 'PART', len(program.record().operations) // 8)
    rng = np.random.default_rng(0)
    x, m = rng.normal(size=(2 * vector_width() + 1, 5)), rng.normal(size=5)
    results = [Compiled(program, fused)(x, m), Compiled(program, fused, vector_width())(x, m)]
    assert '@state_part2' in state_text(program, fused)
    monkeypatch.setattr(program_module, 'PART', 10**9)
    assert '@state_part0' not in state_text(program, fused)
    results.append(Compiled(program, fused)(x, m))
    for outputs, status in results:
        assert not np.any(status)
        assert same_bits(outputs[0], results[0][0][0])
        assert same_bits(outputs[1], results[0][0][1])
    x[-1, -1] = math.nan
    assert np.isnan(Compiled(program, fused)(x, m)[1][-1])


def vector_program(count):
    """Return a program that solves and multiplies with `count` rows side by side."""
    def function(x, m):
        rows = [side_by_side([x[k] * m[i] + i for i in range(count)]) for k in range(4)]
        rows.append(side_by_side([float(i) for i in range(count)]))
        for k in range(4):
            rows[k + 1] = rows[k + 1] - rows[k] * lane(rows[k], count - 1) * 0.1
        weighted = [sqrt(x[0] * x[0] + 1.0) * row + 0.25 for row in rows]
        turned = [where(lane(row, 0), 0.5, row, row * 2.0 - 1.0) for row in weighted]
        return ([[lane(row, i) for i in range(count)] for row in turned],
                [lane(rows[k], k % count) for k in range(5)], m[0], x)
    return Program('lanes', (Input('x', 4), Input('m', count, shared=True)),
                   (Output('a', (5, count)), Output('b', (5,)), Output('c', ()),
                    Output('x', (4,))), function)


@FUSED
@pytest.mark.parametrize('count', [1, 2, 3, 6, 8, 9])
def test_scalars_side_by_side_give_what_each_gives_alone(count, fused, monkeypatch):
    program = vector_program(count)
    recording = program.record()
    rng = np.random.default_rng(count)
    x, m = rng.normal(size=(11, 4)), rng.normal(size=count)
    results = [Compiled(program, fused)(x, m), Compiled(program, fused, 4)(x, m),
               Compiled(program, fused, 8)(x, m)]
    monkeypatch.setattr(program_module, 'PART', 7)
    results += [Compiled(program, fused)(x, m), Compiled(program, fused, 4)(x, m)]
    for outputs, status in results:
        assert not np.any(status)
        for output, expected in zip(outputs, results[0][0]):
            assert same_bits(output, expected)
    for row in range(11):
        expected = [value.item() for output in results[0][0] for value in output[row].ravel()]
        assert evaluate(recording, x[row], m)[:-1] == pytest.approx(expected, rel=1e-13)
        plain = flatten(program.function(x[row].tolist(), m.tolist()))
        assert plain == pytest.approx(expected, rel=1e-13)


def test_threads_give_what_one_thread_gives(monkeypatch):
    program = mixed((7, 7), (7,))
    rng = np.random.default_rng(4)
    rows = 2 * kernel_module.ROWS_PER_THREAD + 5
    inputs = [rng.normal(size=(rows, 7)) for _ in range(2)]
    kernel = Kernel(program, b'', [rng.normal(size=3)])
    [expected], good = kernel.run(inputs, rows)
    assert good
    parts = []
    pool = kernel_module._pool(os.getpid())

    def watched(function, firsts, lasts):
        parts.extend(zip(firsts, lasts))
        return pool.map(function, firsts, lasts)

    monkeypatch.setattr(kernel_module, '_pool', lambda process: SimpleNamespace(map=watched))
    monkeypatch.setattr(kernel_module, '_threads', 1)
    set_threads(2)
    [result], good = kernel.run(inputs, rows)
    assert good
    assert len(parts) == 2
    assert same_bits(result, expected)
    inputs[1][-1, 3] = math.inf
    assert not kernel.run(inputs, rows)[1]
    small = kernel_module.ROWS_PER_THREAD
    kernel.run([x[:small] for x in inputs], small)
    assert len(parts) == 4


@pytest.mark.parametrize('count', [0, -1, 1.5, None, '2'])
def test_a_number_of_threads_that_is_none_is_refused(count):
    with pytest.raises(ValueError, match='number of threads must be a whole number above 0'):
        set_threads(count)


FORK = """
import os
import sys
import numpy as np
from multibody_ros.compiler.kernel import Kernel, set_threads
from multibody_ros.compiler.program import Input, Output, Program
set_threads(2)
x = np.random.default_rng(0).normal(size=(4096, 3))

def kernel(factor):
    return Kernel(Program('scaled', (Input('x', 3),), (Output('y', (3,)),),
                          lambda x: [factor * c for c in x]), str(factor).encode())

old = kernel(2.0)
function = old.python_function(None)
old.run([x], 4096)
child = os.fork()
if not child:
    good = ((old.run([x], 4096)[0][0] == 2.0 * x).all() and (function(x[0]) == 2.0 * x[0]).all()
            and (kernel(3.0).run([x], 4096)[0][0] == 3.0 * x).all())
    os._exit(0 if good else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_computes_and_compiles():
    subprocess.run([sys.executable, '-W', 'ignore', '-c', FORK], check=True, timeout=60)


def test_an_llvmlite_that_is_too_old_is_named(monkeypatch):
    monkeypatch.setattr(llvmlite.binding, 'llvm_version_info', (15, 0, 7))
    monkeypatch.setattr(llvmlite, '__version__', '0.44.0')
    with pytest.raises(ImportError, match='llvmlite 0.44.0 is too old .* 0.45 or newer'):
        runpy.run_path(llvm_module.__file__)


def test_interpreted_answers_as_compiled():
    shared = np.array([1.5, 0.5])
    compiled = Kernel(GUARDED, b'', [shared], Guarded)
    interpreted = Interpreted(GUARDED, b'', [shared], Guarded)
    rng = np.random.default_rng(6)
    for rows in (None, 3, 20):
        head = () if rows is None else (rows,)
        for low in (1.0, -1.0):
            inputs = [rng.uniform(low, 2.0, size=(*head, 3)), rng.normal(size=(*head, 2))]
            expected, good = compiled.run(inputs, rows)
            result, also = interpreted.run(inputs, rows)
            assert good == also
            assert all(same_numbers(a, b) for a, b in zip(result, expected))
    assert interpreted.pack(interpreted.run([np.ones(3), np.ones(2)], None)[0]).z == 1.0
    assert not interpreted.run([np.full(3, math.nan), np.ones(2)], None)[1]
    assert interpreted.python_function(print) is print


@pytest.mark.parametrize('function', [lambda x: 1.0 / x[0], lambda x: sqrt(x[1])])
def test_interpreted_marks_what_cannot_be_computed(function):
    [result], good = Interpreted(vectors(function, 2, 1), b'').run([np.array([0.0, -1.0])], None)
    assert not good
    assert np.isnan(result).all()
