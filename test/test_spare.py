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

"""Results of batches as a caller sees them: fresh, though their memory may have served before."""

import gc
import threading
import weakref

from multibody_ros.compiler import spare
from multibody_ros.compiler.kernel import Kernel
from multibody_ros.compiler.program import Input, Output, Program
import numpy as np
import pytest

ROWS = np.arange(300.0).reshape(100, 3)
DOUBLE = Program('double', (Input('x', 3),), (Output('y', (3,)),), lambda x: [2.0 * a for a in x])


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    """Compile once for all tests here."""
    monkeypatch.setenv('MULTIBODY_CACHE_DIR', str(tmp_path_factory.getbasetemp() / 'spare'))


@pytest.fixture
def double():
    kernel = Kernel(DOUBLE, b'test_spare')

    def function(x):
        (result,), good = kernel.run([x], len(x))
        assert good
        return result
    return function


def test_results_kept_are_not_changed_by_later_calls(double):
    kept = [double(k * ROWS) for k in range(10)]
    for k, result in enumerate(kept):
        np.testing.assert_array_equal(result, 2.0 * k * ROWS)


def test_two_arrays_take_turns_while_the_last_result_has_a_name(double):
    addresses = []
    for k in range(20):
        result = double(k * ROWS)
        addresses.append(result.ctypes.data)
        np.testing.assert_array_equal(result, 2.0 * k * ROWS)
    assert len(set(addresses)) == 2


@pytest.mark.parametrize('hold', [
    lambda a: a[3:], lambda a: a.T, memoryview, lambda a: a.reshape(-1), lambda a: [a],
    lambda a: a.flat, lambda a: np.frombuffer(a)],
    ids=['slice', 'transposed', 'memory', 'flat', 'list', 'iterator', 'buffer'])
def test_whatever_refers_to_a_result_keeps_it(double, hold):
    double(ROWS)
    result = double(ROWS)
    address, holder = result.ctypes.data, hold(result)
    del result
    others = [double(-ROWS) for _ in range(5)]
    assert address not in [other.ctypes.data for other in others]
    del holder


@pytest.mark.parametrize('change', [
    lambda a: a.setflags(write=False), lambda a: a.resize((100, 2), refcheck=False),
    lambda a: a.resize((200, 3), refcheck=False), lambda a: a.fill(np.nan)],
    ids=['read only', 'narrower', 'longer', 'filled'])
def test_a_result_changed_and_dropped_does_no_harm(double, change):
    for _ in range(3):
        result = double(ROWS)
        change(result)
        del result
        after = double(-ROWS)
        assert after.flags.writeable
        np.testing.assert_array_equal(after, -2.0 * ROWS)
        del after


def test_a_weak_reference_never_sees_another_result(double):
    result = double(ROWS)
    watch = weakref.ref(result)
    del result
    for _ in range(3):
        after = double(-ROWS)
        assert after is not watch()
        del after


def test_a_result_may_be_the_next_argument(double):
    x = ROWS
    for k in range(1, 10):
        x = double(x)
        np.testing.assert_array_equal(x, 2.0 ** k * ROWS)


def test_batches_of_other_sizes_get_arrays_of_their_own(double):
    for rows in (100, 7, 100, 50, 7, 1):
        np.testing.assert_array_equal(double(ROWS[:rows].copy()), 2.0 * ROWS[:rows])


def test_large_results_are_given_back(double, monkeypatch):
    monkeypatch.setattr(spare, 'LARGEST', ROWS.nbytes - 1)
    result = double(ROWS)
    watch = weakref.ref(result)
    del result
    gc.collect()
    assert watch() is None


def test_threads_may_call_at_once(double):
    failures = []

    def work(factor):
        for k in range(200):
            x = (factor + k) * ROWS
            if not (double(x) == 2.0 * x).all():
                failures.append(factor)

    threads = [threading.Thread(target=work, args=(1000.0 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
