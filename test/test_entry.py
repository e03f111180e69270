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

"""The function in machine code as a Python caller sees it: fresh results, no leaks."""

import copy
import ctypes
import functools
import gc
import pickle
import subprocess
import sys
import threading
import tracemalloc
from types import SimpleNamespace
from typing import NamedTuple
import weakref

from multibody_ros.compiler import entry, layout
from multibody_ros.compiler.kernel import by_last_argument, Kernel
from multibody_ros.compiler.program import Input, Output, Program
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not layout.AVAILABLE, reason='not on this Python')

X = np.array([1.0, 2.0, 3.0])
Y = np.array([10.0, 20.0])
VECTOR = Program('vector', (Input('x', 3), Input('y', 2)), (Output('z', (3,)),),
                 lambda x, y: [2.0 * x[0] + y[0], x[1] * y[1], x[2]])
MATRIX = Program('matrix', (Input('x', 3),), (Output('z', (2, 3)),),
                 lambda x: [x, [2.0 * c for c in x]])
CUBE = Program('cube', (Input('x', 3),), (Output('z', (2, 1, 3)),),
               lambda x: [x, [2.0 * c for c in x]])
NUMBER = Program('number', (Input('x', 3),), (Output('z', ()),), lambda x: x[0] + x[1] * x[2])


class Several(NamedTuple):
    """Several results."""

    matrix: np.ndarray
    number: float
    vector: np.ndarray


SEVERAL = Program(
    'several', (Input('m', 1, shared=True), Input('x', 3)),
    (Output('matrix', (2, 3)), Output('number', ()), Output('vector', (3,))),
    lambda m, x: ([x, [2.0 * c for c in x]], x[0] * m[0], [c + m[0] for c in x], x[0]),
    guarded=True)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    """Keep the code of these tests apart from the user's."""
    monkeypatch.setenv('MULTIBODY_CACHE_DIR', str(tmp_path_factory.getbasetemp() / 'entry'))


def slow(*values, **named):
    """Stand for the Python function that answers what the code does not."""
    return 'slow', values, named


def compiled(program, answer=slow, shared=(), result=None):
    return Kernel(program, b'test_entry', shared, result).python_function(answer)


def several(answer=slow, factor=5.0):
    return compiled(SEVERAL, answer, [np.array([factor])], Several)


def alive():
    """Return a number that grows with every float64 array there is."""
    gc.collect()
    return sys.getrefcount(np.dtype(float))


def is_slow(answer):
    return type(answer) is tuple and answer[0] == 'slow'


def test_ready_arrays_are_computed():
    assert compiled(VECTOR)(X, Y).tolist() == [12.0, 40.0, 3.0]
    assert compiled(MATRIX)(X).tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]
    assert compiled(CUBE)(X).tolist() == [[[1.0, 2.0, 3.0]], [[2.0, 4.0, 6.0]]]


def test_a_number_comes_out_as_a_float():
    number = compiled(NUMBER)(X)
    assert type(number) is float
    assert number == 7.0


def test_several_results_come_out_as_their_named_tuple():
    result = several()(X)
    assert type(result) is Several
    assert result.matrix.tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]
    assert type(result.number) is float
    assert result.number == 5.0
    assert result.vector.tolist() == [6.0, 7.0, 8.0]
    matrix, number, vector = result
    assert matrix is result[0]
    assert len(result) == 3
    assert result._asdict()['number'] == 5.0
    with pytest.raises(TypeError, match='unhashable'):
        hash(result)


class Pair(NamedTuple):
    """Two numbers."""

    a: float
    b: float


def test_a_tuple_of_numbers_hashes_like_any_other():
    program = Program('pair', (Input('x', 2),), (Output('a', ()), Output('b', ())), lambda x: x)
    result = compiled(program, result=Pair)(Y)
    assert result == Pair(10.0, 20.0)
    assert hash(result) == hash(Pair(10.0, 20.0))


def test_a_result_is_an_ordinary_array():
    for program, arguments, shape in ((VECTOR, (X, Y), (3,)), (MATRIX, (X,), (2, 3))):
        result, like = compiled(program)(*arguments), np.empty(shape)
        assert type(result) is np.ndarray
        assert result.dtype is like.dtype
        assert result.flags.num == like.flags.num
        assert result.strides == like.strides
        assert result.base is None


class Sub(np.ndarray):
    """An array of the user's own kind."""


OTHERS = {
    'list': ([1.0, 2.0, 3.0], Y), 'tuple': (X, (1.0, 2.0)), 'number': (X, 1.0), 'none': (X, None),
    'float32': (X.astype('f4'), Y), 'integers': (np.array([1, 2, 3]), Y),
    'other byte order': (X.astype('>f8'), Y), 'strided': (np.arange(6.0)[::2], Y),
    'backwards': (X[::-1], Y), 'repeated': (np.broadcast_to(1.0, (3,)), Y),
    'unaligned': (np.frombuffer(b'0' + X.tobytes(), np.int8)[1:].view(float), Y),
    'too short': (X[:2], Y), 'too long': (np.ones(4), Y), 'empty': (X, np.empty(0)),
    'batch': (np.ones((4, 3)), Y), 'row': (X[None], Y), 'column': (X[:, None], Y),
    'no dimension': (np.array(1.0), Y), 'subclass': (X.view(Sub), Y),
    'record': (X.view(np.recarray), Y), 'masked': (np.ma.masked_array(X), Y),
    'object': (X.astype(object), Y), 'complex': (X, Y.astype(complex)), 'class': (X, np.ndarray),
    'one missing': (X,), 'none at all': (), 'one too many': (X, Y, Y),
    'not a number': (np.array([1.0, np.nan, 3.0]), Y), 'infinite': (X, np.array([1.0, np.inf])),
}


@pytest.mark.parametrize('name', OTHERS)
def test_what_is_not_ready_goes_on_with_the_same_arguments(name):
    arguments = OTHERS[name]
    word, values, named = compiled(VECTOR)(*arguments)
    assert word == 'slow'
    assert len(values) == len(arguments)
    assert all(a is b for a, b in zip(values, arguments))
    assert named == {}


def test_keywords_go_on_by_name():
    function = compiled(VECTOR)
    assert function(X, y=Y)[1] == (X,)
    assert function(X, y=Y)[2] == {'y': Y}
    _, values, named = function(x=X, y=Y)
    assert values == ()
    assert list(named) == ['x', 'y']
    assert function(X, Y, wrenches=None)[2] == {'wrenches': None}


def test_a_guard_that_fails_goes_on():
    assert is_slow(several()(-X))
    assert not is_slow(several()(X))


class Caller:
    """Callable without CPython's fast calling convention."""

    def __call__(self, *values, **named):
        return slow(*values, **named)

    def method(self, *values, **named):
        return slow(*values, **named)


@pytest.mark.parametrize('answer', [
    Caller(), Caller().method, functools.partial(slow), functools.partial(Caller()),
    functools.lru_cache(slow), lambda *values, **named: slow(*values, **named)])
def test_any_callable_may_answer(answer):
    assert is_slow(compiled(VECTOR, answer)(1.0))
    assert is_slow(compiled(VECTOR, answer)(1.0, y=2.0))


def test_an_error_of_the_answer_reaches_the_caller():
    def fail(*values):
        raise KeyError('elbow')
    function = compiled(VECTOR, fail)
    for _ in range(3):
        with pytest.raises(KeyError, match='elbow'):
            function(None)
        assert function(X, Y)[0] == 12.0


@pytest.mark.parametrize('x', [
    np.frombuffer(X.tobytes()), np.arange(12.0).reshape(4, 3)[1], np.arange(9.0)[3:6],
    np.broadcast_to(X, (3,))], ids=['bytes', 'row', 'slice', 'broadcast'])
def test_read_only_inputs_and_views_are_ready(x):
    y = Y.copy()
    y.flags.writeable = False
    result = compiled(VECTOR)(x, y)
    assert result.tolist() == [2.0 * x[0] + 10.0, 20.0 * x[1], x[2]]


def test_one_array_may_be_given_twice():
    program = Program('twice', (Input('a', 3), Input('b', 3)), (Output('c', (3,)),),
                      lambda a, b: [x * y for x, y in zip(a, b)])
    assert compiled(program)(X, X).tolist() == [1.0, 4.0, 9.0]


def test_a_result_kept_is_not_changed_by_later_calls():
    function = compiled(MATRIX)
    kept = [function(k * X) for k in range(20)]
    for k, result in enumerate(kept):
        assert result.tolist() == [(k * X).tolist(), (2.0 * k * X).tolist()]
    assert len({result.ctypes.data for result in kept}) == 20


def test_a_result_may_be_the_next_argument():
    program = Program('double', (Input('x', 3),), (Output('y', (3,)),),
                      lambda x: [x[1] + x[2], x[2] + x[0], x[0] + x[1]])
    function = compiled(program)
    x, expected = X, X
    for _ in range(20):
        x = function(x)
        expected = np.array([expected[1] + expected[2], expected[2] + expected[0],
                             expected[0] + expected[1]])
        assert x.tolist() == expected.tolist()
    assert function(function(function(X))).tolist() == [17.0, 16.0, 15.0]


HOLDERS = {
    'slice': lambda result: result[1:], 'row': lambda result: result[1],
    'transposed': lambda result: result.T, 'reshaped': lambda result: result.reshape(3, 2),
    'memory': memoryview, 'iterator': lambda result: result.flat,
    'buffer': lambda result: np.frombuffer(result), 'bits': lambda result: result.view(np.int64),
    'attribute': lambda result: result.ctypes, 'list': lambda result: [result],
    'method': lambda result: result.tolist, 'as array': np.asarray,
}


@pytest.mark.parametrize('name', HOLDERS)
def test_whatever_refers_to_a_result_keeps_it(name):
    function = compiled(MATRIX)
    function(X)
    result = function(X)
    address = result.ctypes.data
    holder = HOLDERS[name](result)
    del result
    others = [function(-X) for _ in range(5)]
    assert address not in [other.ctypes.data for other in others]
    values = (ctypes.c_double * 6).from_address(address)
    assert list(values) == [1.0, 2.0, 3.0, 2.0, 4.0, 6.0]
    del holder


def test_a_dropped_result_is_used_again():
    function = compiled(MATRIX)
    addresses = {function(k * X).ctypes.data for k in range(50)}
    assert len(addresses) == 1


def test_two_arrays_take_turns_while_the_last_result_has_a_name():
    function = compiled(MATRIX)
    addresses = []
    for k in range(50):
        result = function(k * X)
        addresses.append(result.ctypes.data)
        assert result[0].tolist() == (k * X).tolist()
    assert len(set(addresses)) == 2
    assert addresses[0] != addresses[1]


def test_named_tuples_share_nothing():
    function = several()
    first = function(X)
    second = function(2.0 * X)
    assert first.matrix.tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]
    assert second.matrix.tolist() == [[2.0, 4.0, 6.0], [4.0, 8.0, 12.0]]
    vector = first.vector
    del first, second
    function(3.0 * X)
    assert vector.tolist() == [6.0, 7.0, 8.0]


def test_a_number_kept_is_not_changed_by_later_calls():
    function = several()
    numbers = [function(k * X).number for k in range(1, 20)]
    assert numbers == [5.0 * k for k in range(1, 20)]


def test_named_tuples_kept_are_not_changed_by_later_calls():
    function = several()
    kept = [function(k * X) for k in range(1, 20)]
    assert [result.number for result in kept] == [5.0 * k for k in range(1, 20)]
    assert [result.vector[0] for result in kept] == [k + 5.0 for k in range(1, 20)]
    # a hash of the items would be out of date in a tuple used again
    assert len({id(result) for result in kept}) == 19


@pytest.mark.parametrize('held', ['whole', 'unpacked'])
def test_two_named_tuples_take_turns(held):
    function = several()
    kept = [function(X) for _ in range(3)]      # what is held for good does not stand in the way
    addresses = []
    for k in range(1, 50):
        if held == 'whole':
            result = function(k * X)
            matrix = result.matrix
        else:
            matrix, number, vector = function(k * X)
            assert [number, *vector] == [5.0 * k, *(k * X + 5.0)]
        addresses.append(matrix.ctypes.data)
        assert matrix[0].tolist() == (k * X).tolist()
    assert len(set(addresses[4:])) == 2
    assert kept[2].number == 5.0


CHANGES = {
    'reshaped': lambda a: setattr(a, 'shape', (3, 2)), 'flat': lambda a: setattr(a, 'shape', (6,)),
    'deeper': lambda a: setattr(a, 'shape', (2, 3, 1)), 'one row': lambda a: setattr(
        a, 'shape', (1, 6)),
    'wider': lambda a: a.resize((2, 5), refcheck=False),
    'narrower': lambda a: a.resize((2, 1), refcheck=False),
    'longer': lambda a: a.resize((4, 3), refcheck=False),
    'shorter': lambda a: a.resize((1, 3), refcheck=False),
    'emptied': lambda a: a.resize((0, 3), refcheck=False),
    'none left': lambda a: a.resize((2, 0), refcheck=False),
    'read only': lambda a: a.setflags(write=False),
    'unaligned': lambda a: a.setflags(align=False),
    'filled': lambda a: a.fill(12345.0),
    'swapped': lambda a: a.byteswap(inplace=True),
    'unpickled': lambda a: a.__setstate__((1, (2, 2), np.dtype(float), False, bytes(32))),
    'unpickled turned': lambda a: a.__setstate__((1, (2, 3), np.dtype(float), True, bytes(48))),
    'unpickled integers': lambda a: a.__setstate__((1, (2, 3), np.dtype('i8'), False, bytes(48))),
    'watched': weakref.ref,
}


@pytest.mark.filterwarnings('ignore:Setting the (shape|dtype|strides):DeprecationWarning')
@pytest.mark.parametrize('name', CHANGES)
@pytest.mark.parametrize('program', [MATRIX, SEVERAL], ids=['one', 'several'])
def test_a_result_changed_and_dropped_does_not_come_back(name, program):
    function = compiled(MATRIX) if program is MATRIX else several()
    for _ in range(3):
        result = function(X) if program is MATRIX else function(X).matrix
        trace = CHANGES[name](result)
        del result
        after = function(-X) if program is MATRIX else function(X).matrix * -1.0
        assert after.shape == (2, 3)
        assert after.dtype is np.dtype(float)
        assert after.flags.num == np.empty((2, 3)).flags.num
        assert after.tolist() == [[-1.0, -2.0, -3.0], [-2.0, -4.0, -6.0]]
        del trace, after


@pytest.mark.filterwarnings('ignore:Setting the (shape|dtype|strides):DeprecationWarning')
@pytest.mark.parametrize('attribute, value', [('dtype', np.int64), ('dtype', '>f8'),
                                              ('dtype', np.complex128), ('strides', (0,)),
                                              ('shape', (1, 4)), ('shape', (2, 2))])
def test_a_vector_changed_and_dropped_does_not_come_back(attribute, value):
    program = Program('four', (Input('x', 3),), (Output('y', (4,)),), lambda x: [*x, 4.0])
    function = compiled(program)
    for _ in range(3):
        result = function(X)
        setattr(result, attribute, value)
        del result
        after = function(X)
        assert after.tolist() == [1.0, 2.0, 3.0, 4.0]
        assert after.flags.num == np.empty(4).flags.num
        assert after.strides == (8,)
        del after


def test_a_weak_reference_dies_with_its_result():
    function = compiled(MATRIX)
    result = function(X)
    watch = weakref.ref(result)
    del result
    after = function(-X)
    assert watch() is None
    assert after[0, 0] == -1.0


@pytest.mark.parametrize('make', [lambda answer: compiled(MATRIX, answer), several],
                         ids=['one', 'several'])
def test_a_call_from_within_a_call_is_independent(make):
    """A result with a weak reference is dropped by the next call, which runs the callback."""
    before = alive()
    function = make(slow)
    inner = []

    def first(result):
        return result[0] if isinstance(result, tuple) else result

    def last(result):
        return result[2] if isinstance(result, tuple) else result

    for kept in (True, False):
        for place in (first, last):
            result = function(X)
            watch = weakref.ref(place(result), lambda _, kept=kept: inner.append(
                function(7.0 * X) if kept else len(function(7.0 * X))))
            del result
            outer = function(2.0 * X)
            assert watch() is None
            assert first(outer).tolist() == [[2.0, 4.0, 6.0], [4.0, 8.0, 12.0]]
            again = function(3.0 * X)
            assert first(again).tolist() == [[3.0, 6.0, 9.0], [6.0, 12.0, 18.0]]
            assert first(outer).tolist() == [[2.0, 4.0, 6.0], [4.0, 8.0, 12.0]]
            if kept:
                assert first(inner[-1]).tolist() == [[7.0, 14.0, 21.0], [14.0, 28.0, 42.0]]
    assert len(inner) == 4
    inner.clear()
    function = outer = again = None
    assert alive() == before


def counts(*objects):
    return [sys.getrefcount(x) for x in objects]


CALLS = {
    'computed': lambda f: f.vector(X, Y), 'kept': lambda f: [f.vector(X, Y) for _ in range(3)],
    'several': lambda f: f.several(X), 'several kept': lambda f: [f.several(X) for _ in range(3)],
    'number': lambda f: f.number(X), 'slow': lambda f: f.vector([1.0], Y),
    'keyword': lambda f: f.vector(X, y=Y), 'bad': lambda f: f.vector(X * np.nan, Y),
    'bad several': lambda f: f.several(-X), 'watched': lambda f: weakref.ref(f.vector(X, Y)),
    'resized': lambda f: f.matrix(X).resize((2, 9), refcheck=False),
}


@pytest.mark.parametrize('name', CALLS)
def test_no_call_leaks(name):
    functions = SimpleNamespace(vector=compiled(VECTOR), matrix=compiled(MATRIX),
                                number=compiled(NUMBER), several=several())
    call = CALLS[name]
    known = (X, Y, np.ndarray, np.dtype(float), Several, slow, *vars(functions).values())
    for _ in range(10):
        call(functions)
    gc.collect()
    tracemalloc.start()
    try:
        before, memory = counts(*known), tracemalloc.get_traced_memory()[0]
        for _ in range(500):
            call(functions)
        gc.collect()
        after, grown = counts(*known), tracemalloc.get_traced_memory()[0] - memory
    finally:
        tracemalloc.stop()
    assert after == before
    assert grown < 8 * 500


def test_a_function_gives_back_all_it_held():
    def answer(*values):
        return 0.0
    watch = weakref.ref(answer)
    shared = np.array([5.0])
    function = compiled(SEVERAL, answer, [shared], Several)
    result = function(X)
    arrays = [weakref.ref(result.matrix), weakref.ref(result.vector)]
    library = weakref.ref(function.__self__.keep[0])
    del result, answer
    assert watch() is not None
    assert arrays[0]() is not None
    del function
    gc.collect()
    assert watch() is None
    assert library() is None
    assert [array() for array in arrays] == [None, None]
    assert sys.getrefcount(shared) == 2


def test_a_function_lives_without_its_kernel():
    kernel = Kernel(VECTOR, b'test_entry')
    function = kernel.python_function(slow)
    watch = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert watch() is None
    assert function(X, Y)[0] == 12.0


def test_a_result_outlives_its_function():
    result = compiled(MATRIX)(X)
    gc.collect()
    assert result.tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]


class Owner:
    """Holds a function that refers back to it, as a robot does."""

    def __init__(self, ended=None):
        self.ended = ended
        self.function = compiled(SEVERAL, self.answer, [np.array([5.0])], Several)

    def answer(self, *values):
        return self

    def __del__(self):
        if self.ended is not None:
            self.ended.append(self.function(X).vector.tolist())


def test_a_circle_of_references_is_collected():
    ended = []
    owner = Owner(ended)
    owner.function(X)
    watch = weakref.ref(owner)
    del owner
    gc.collect()
    assert watch() is None
    assert ended == [[6.0, 7.0, 8.0]]


def test_shared_arrays_are_read_at_every_call():
    shared = np.array([5.0])
    function = compiled(SEVERAL, slow, [shared], Several)
    assert function(X).number == 5.0
    shared[0] = -2.0
    assert function(X).number == -2.0


def test_threads_may_call_at_once():
    function, failures = several(), []

    def work(factor):
        for k in range(2000):
            x = X * (factor + k % 7)
            result = function(x)
            held = result.vector
            if not (result.matrix[1] == 2.0 * x).all() or result.number != 5.0 * x[0]:
                failures.append(factor)
            del result
            function(X)
            if not (held == x + 5.0).all():
                failures.append(factor)

    threads = [threading.Thread(target=work, args=(10.0 * k + 1.0,)) for k in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []


@pytest.mark.parametrize('copied', [copy.copy, copy.deepcopy,
                                    lambda result: pickle.loads(pickle.dumps(result))])
def test_results_can_be_copied_and_pickled(copied):
    function = several()
    result = function(X)
    other = copied(result)
    assert type(other) is Several
    del result
    function(-3.0 * X)
    function(2.0 * X)
    assert other.matrix.tolist() == [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]
    assert other.number == 5.0
    assert other.vector.tolist() == [6.0, 7.0, 8.0]


def set_slot(function, name, exported):
    """Let the function find another C function in one of its slots."""
    address = ctypes.cast(getattr(ctypes.pythonapi, exported), ctypes.c_void_p).value
    function.__self__[entry.SLOTS.index(name)] = address


@pytest.mark.parametrize('name', ['PyArray_New', 'PyFloat_FromDouble', 'PyType_GenericAlloc'])
def test_no_memory_is_an_error_like_any_other(name):
    before = alive()
    function = several()
    vector = function(X).vector     # so that the matrix can be used again, the vector not
    set_slot(function, name, 'PyErr_NoMemory')
    for _ in range(3):
        with pytest.raises(MemoryError):
            function(X)
    assert vector.tolist() == [6.0, 7.0, 8.0]
    del function, vector
    assert alive() == before


def by_name(answer=slow):
    """Return a function that finds others by name, and the table it looks in."""
    table = {'vector': compiled(VECTOR), 'matrix': compiled(MATRIX), 'plain': lambda x: [x]}
    return by_last_argument('lookup', table, functools.partial(answer)), table


def test_a_function_is_found_by_the_last_argument():
    function, table = by_name()
    assert function.__name__ == 'lookup'
    assert function(X, Y, 'vector').tolist() == table['vector'](X, Y).tolist()
    assert function(X, ''.join(['mat', 'rix'])).tolist() == table['matrix'](X).tolist()
    assert function(5, 'plain') == [5]


def test_names_may_take_turns():
    function, table = by_name()
    for k in range(20):
        name = ('vector', 'matrix', 'plain')[k % 3]
        arguments = (X, Y) if name == 'vector' else (k * X,)
        assert np.array_equal(function(*arguments, name), table[name](*arguments))


def test_a_name_remembered_is_an_object_not_its_place_in_memory():
    function, table = by_name()
    for k in range(200):
        # each is made anew, mostly where the one before was
        name = ''.join(['vec' if k % 2 else 'mat', 'tor' if k % 2 else 'rix'])
        arguments = (X, Y) if k % 2 else (X,)
        assert function(*arguments, name).tolist() == table[name](*arguments).tolist()
        assert is_slow(function(X, ''.join(['el', 'bow', str(k)])))


def test_a_name_is_held_once_and_given_back():
    function, _ = by_name()
    name = ''.join(['mat', 'rix'])
    before = sys.getrefcount(name)
    for _ in range(10):
        function(X, name)
    assert sys.getrefcount(name) == before + 1
    function(X, Y, 'vector')
    assert sys.getrefcount(name) == before
    function(X, name)
    del function, _
    gc.collect()
    assert sys.getrefcount(name) == before


@pytest.mark.parametrize('arguments', [
    (), ('vector',), (X, 'elbow'), (X, None), (X, 3), (X, []), (X, X), (X, np.str_('matrix')),
    (X, b'matrix')], ids=repr)
def test_what_is_not_found_goes_to_the_answer(arguments):
    function, _ = by_name()
    assert is_slow(function(*arguments))
    assert is_slow(function(X, y='matrix'))
    assert is_slow(function(*arguments, key='matrix'))


def test_errors_and_references_pass_through_a_lookup():
    def fail(*values):
        raise KeyError('elbow')
    function, table = by_name(fail)
    with pytest.raises(KeyError, match='elbow'):
        function(X, 'elbow')
    with pytest.raises(TypeError):
        function(X, X, 'plain')
    known = (X, Y, function, table, *table.values())
    before = counts(*known)
    for _ in range(100):
        function(X, Y, 'vector')
        function(X, 'matrix')
        function(5, 'plain')
    assert counts(*known) == before
    table['vector'] = slow
    assert is_slow(function(X, Y, 'vector'))
    watch = weakref.ref(table['plain'])
    del function, table, known
    gc.collect()
    assert watch() is None


def test_the_function_has_the_name_of_its_program():
    assert compiled(VECTOR).__name__ == 'vector'
    assert 'vector' in repr(compiled(VECTOR))


END = """
import sys
import numpy as np
from multibody_ros.compiler.kernel import Kernel
from multibody_ros.compiler.program import Input, Output, Program

class Owner:
    def __init__(self):
        self.function = Kernel(Program('f', (Input('x', 2),), (Output('y', (2,)),), lambda x: x),
                               b'end').python_function(self.answer)
    def answer(self, *values):
        return self
    def __del__(self, x=np.ones(2)):
        self.function(x)

owner = Owner()
owner.itself = owner
sys.itself = Owner()
function = Owner().function
kept = function(np.ones(2)), owner.function(np.ones(2)), sys.itself.function(np.ones(2))
print('done')
"""


def test_the_interpreter_ends_quietly():
    """Objects that end with it lose their modules first."""
    done = subprocess.run([sys.executable, '-X', 'dev', '-c', END], capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, 'done\n', '')


def test_without_fields_to_read_python_answers(monkeypatch):
    monkeypatch.setattr(layout, 'AVAILABLE', False)
    kernel = Kernel(VECTOR, b'test_entry')
    assert kernel.python_function(slow) is slow
    assert kernel.run([X, Y], None)[0][0].tolist() == [12.0, 40.0, 3.0]
    assert 'entry' not in kernel.text('state')
