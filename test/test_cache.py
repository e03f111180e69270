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

"""The code cache on disk: what is found again, what is refused, what is never written."""

import logging
import os
from pathlib import Path
import subprocess
import sys

import llvmlite
import llvmlite.binding as llvm
from multibody_ros import load_urdf
from multibody_ros.compiler import cache, kernel as kernel_module, layout
from multibody_ros.compiler.kernel import Kernel
from multibody_ros.compiler.program import Input, Output, Program
import numpy as np
import pytest
from robots import joint, LIMIT, link, robot

KEY = 'ab' * 32


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """Start as a new process does, nothing said yet; return what is said."""
    messages = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: messages.append(record.getMessage())
    logging.getLogger('multibody_ros').addHandler(handler)
    monkeypatch.setattr(cache, '_told', False)
    yield messages
    logging.getLogger('multibody_ros').removeHandler(handler)


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Return a cache directory of the test's own, not made yet."""
    monkeypatch.setenv('MULTIBODY_CACHE_DIR', str(tmp_path / 'cache'))
    return tmp_path / 'cache'


@pytest.fixture
def compilations(monkeypatch):
    """Return a list that grows with each compilation."""
    texts = []
    compile_text = kernel_module.compile_text

    def watched(text):
        texts.append(text)
        return compile_text(text)

    monkeypatch.setattr(kernel_module, 'compile_text', watched)
    return texts


def program(name='program', size=2):
    """Return a program that doubles a vector."""
    return Program(name, (Input('x', size),), (Output('y', (size,)),),
                   lambda x: [2.0 * c for c in x])


def works(kernel):
    """Use the code for one state and for a batch."""
    size = kernel.own[0].size
    x = np.arange(20.0 * size).reshape(20, size)
    [one], good = kernel.run([x[1]], None)
    [many], all_good = kernel.run([x], 20)
    return good and all_good and (one == 2.0 * x[1]).all() and (many == 2.0 * x).all()


def files(folder):
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_code_is_found_again(folder, compilations, told):
    assert works(Kernel(program(), b'key'))
    assert len(compilations) == 2
    assert len(files(folder)) == 2
    assert works(Kernel(program(), b'key'))
    assert len(compilations) == 2
    assert told == []


def test_the_entry_function_is_found_again(compilations):
    functions = [Kernel(program(), b'key').python_function(None) for _ in range(2)]
    assert len(compilations) == 1
    assert [f(np.ones(2)).tolist() for f in functions] == [[2.0, 2.0]] * 2


DAMAGE = {
    'empty': lambda content: b'',
    'truncated': lambda content: content[:-1],
    'head only': lambda content: content[:30],
    'one bit': lambda content: content[:200] + bytes([content[200] ^ 1]) + content[201:],
    'longer': lambda content: content + bytes(1),
    'no head': lambda content: content[60:],
    'zeros': lambda content: bytes(len(content)),
    'foreign': lambda content: b'#!/bin/sh\nexit 1\n',
}


@pytest.mark.parametrize('name', DAMAGE)
def test_damaged_code_is_compiled_anew(name, folder, compilations, told):
    works(Kernel(program(), b'key'))
    whole = {path: path.read_bytes() for path in files(folder)}
    for path, content in whole.items():
        path.write_bytes(DAMAGE[name](content))
    assert works(Kernel(program(), b'key'))
    assert len(compilations) == 4
    assert len(told) == 1
    assert told[0].endswith('.o is damaged: compiling anew')
    assert {path: path.read_bytes() for path in files(folder)} == whole


def test_code_under_another_name_is_refused(folder, compilations, told):
    one, other = Kernel(program('one'), b'key'), Kernel(program('other', 3), b'key')
    works(one)
    first = files(folder)
    works(other)
    for path, wrong in zip([p for p in files(folder) if p not in first], first):
        path.write_bytes(wrong.read_bytes())
    assert works(Kernel(program('other', 3), b'key'))
    assert len(compilations) == 6
    assert len(told) == 1


def test_what_is_written_is_read():
    cache.write(KEY, b'code')
    assert cache.read(KEY) == b'code'
    cache.write(KEY, b'other')
    assert cache.read(KEY) == b'other'
    assert cache.read('cd' * 32) is None


def test_the_directory_is_the_users_alone(folder):
    cache.write(KEY, b'code')
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o077 for path in files(folder)] == [0]


@pytest.mark.parametrize('mode', [0o770, 0o707, 0o777, 0o720])
def test_a_directory_others_can_write_is_refused(mode, folder, compilations, told):
    works(Kernel(program(), b'key'))
    folder.chmod(mode)
    before = {path: path.stat().st_mtime_ns for path in files(folder)}
    assert works(Kernel(program(), b'key'))
    assert len(compilations) == 4
    assert told == [f'cannot read the code cache ({folder} can be written by other users): '
                    'compiling instead']
    assert {path: path.stat().st_mtime_ns for path in files(folder)} == before


def test_a_directory_of_another_user_is_refused(folder, monkeypatch, told):
    cache.write(KEY, b'code')
    with monkeypatch.context() as patch:
        patch.setattr(os, 'getuid', lambda: os.geteuid() + 1)
        assert cache.read(KEY) is None
        cache.write(KEY, b'other')
    assert cache.read(KEY) == b'code'
    assert len(told) == 1


def test_a_missing_directory_is_made(monkeypatch, tmp_path, told):
    deep = tmp_path / 'not' / 'yet' / 'there'
    monkeypatch.setenv('MULTIBODY_CACHE_DIR', str(deep))
    assert works(Kernel(program(), b'key'))
    assert len(files(deep)) == 2
    assert told == []


def impossible(tmp_path):
    """Return directories that cannot be used."""
    (tmp_path / 'file').write_text('a file')
    (tmp_path / 'loop').symlink_to(tmp_path / 'loop')
    return {'a file': tmp_path / 'file', 'below a file': tmp_path / 'file' / 'cache',
            'endless link': tmp_path / 'loop', 'too long': tmp_path / ('x' * 300),
            'no place for files': Path('/proc/self/cache')}


@pytest.mark.parametrize('name', [
    'a file', 'below a file', 'endless link', 'too long', 'no place for files'])
def test_an_impossible_directory_costs_only_time(name, tmp_path, monkeypatch, compilations, told):
    monkeypatch.setenv('MULTIBODY_CACHE_DIR', str(impossible(tmp_path)[name]))
    for _ in range(2):
        assert works(Kernel(program(), b'key'))
    assert len(compilations) == 4
    assert len(told) == 1
    assert (tmp_path / 'file').read_text() == 'a file'


def refuse(*arguments, **named):
    raise PermissionError(13, 'Permission denied')


@pytest.mark.parametrize('call', ['tempfile.mkstemp', 'os.replace'])
def test_a_directory_that_cannot_be_written_costs_only_time(call, folder, monkeypatch, told):
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(call, refuse)
    for _ in range(2):
        assert works(Kernel(program(), b'key'))
    assert told == ['cannot write the code cache ([Errno 13] Permission denied): '
                    'robots are compiled at every start']
    assert files(folder) == []


def test_a_read_only_directory_is_read(folder, monkeypatch, compilations, told):
    works(Kernel(program(), b'key'))
    folder.chmod(0o500)
    monkeypatch.setattr('tempfile.mkstemp', refuse)     # the mode does not keep root from writing
    assert works(Kernel(program(), b'key'))
    assert len(compilations) == 2
    assert told == []
    assert works(Kernel(program(), b'other'))
    assert len(compilations) == 4
    assert len(told) == 1


class Full:
    """A file on a disk without room."""

    def __init__(self, handle, mode):
        os.close(handle)

    def __enter__(self):
        return self

    def write(self, content):
        raise OSError(28, 'No space left on device')

    def __exit__(self, *error):
        return False


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch, told):
    monkeypatch.setattr(os, 'fdopen', Full)
    cache.write(KEY, b'code')
    assert files(folder) == []
    assert 'No space left on device' in told[0]


def test_the_directory_is_chosen_by_the_environment(monkeypatch, tmp_path):
    assert cache.directory() == tmp_path / 'cache'
    for unset in ('', None):
        if unset is None:
            monkeypatch.delenv('MULTIBODY_CACHE_DIR')
        else:
            monkeypatch.setenv('MULTIBODY_CACHE_DIR', unset)
        monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'xdg'))
        assert cache.directory() == tmp_path / 'xdg' / 'multibody_ros'
        monkeypatch.setenv('XDG_CACHE_HOME', '')
        monkeypatch.setenv('HOME', str(tmp_path / 'home'))
        assert cache.directory() == tmp_path / 'home' / '.cache' / 'multibody_ros'


def test_a_user_without_a_home_computes(monkeypatch, compilations, told):
    monkeypatch.delenv('MULTIBODY_CACHE_DIR')
    monkeypatch.delenv('XDG_CACHE_HOME', raising=False)

    def homeless():
        raise RuntimeError('Could not determine home directory.')

    monkeypatch.setattr(Path, 'home', homeless)
    assert works(Kernel(program(), b'key'))
    assert len(compilations) == 2
    assert told == ['cannot read the code cache (Could not determine home directory.): '
                    'compiling instead']


def make(folder, key, size, age):
    """Write a file last used `age` seconds ago."""
    path = folder / key
    path.write_bytes(bytes(size))
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))
    return path


def test_the_files_unused_for_longest_go_first(folder, monkeypatch):
    monkeypatch.setattr(cache, 'LIMIT', 3000)
    folder.mkdir(mode=0o700)
    old = [make(folder, f'{k:064x}.o', 1000, 100 - k) for k in range(4)]
    part = make(folder, f'{9:064x}.abc.part', 1000, 5000)
    cache.write(KEY, bytes(500))
    assert [path.exists() for path in old] == [False, False, True, True]
    assert not part.exists()
    assert cache.read(KEY) == bytes(500)


def test_reading_counts_as_use(folder, monkeypatch):
    keys = [f'{k:064x}' for k in range(3)]
    for k, key in enumerate(keys):
        cache.write(key, bytes(1000))
        path = folder / f'{key}.o'
        os.utime(path, (0, 1000 + k))
    assert cache.read(keys[0]) == bytes(1000)
    monkeypatch.setattr(cache, 'LIMIT', 3500)
    cache.write(KEY, bytes(1000))
    assert [cache.read(key) is not None for key in keys] == [True, False, True]


def test_files_that_are_not_ours_stay(folder, monkeypatch):
    monkeypatch.setattr(cache, 'LIMIT', 0)
    folder.mkdir(mode=0o700)
    theirs = [make(folder, name, 1000, 5000) for name in ('main.o', 'notes.txt', 'ab' * 32)]
    cache.write(KEY, b'code')
    assert files(folder) == sorted(theirs)


def test_a_file_deleted_meanwhile_does_not_matter(folder, monkeypatch, told):
    monkeypatch.setattr(cache, 'LIMIT', 0)
    unlink = Path.unlink

    def twice(path):
        unlink(path)
        unlink(path)

    monkeypatch.setattr(Path, 'unlink', twice)
    cache.write(KEY, b'code')
    assert files(folder) == []
    assert told == []


def keys_of(kernel, monkeypatch):
    """Return the names under which the code of a kernel is looked for."""
    keys = []
    with monkeypatch.context() as patch:
        patch.setattr(cache, 'read', keys.append)
        patch.setattr(cache, 'write', lambda key, image: None)
        kernel._library('state')
        kernel._library('batch')
    return keys


def test_the_name_depends_on_all_that_decides_the_code(monkeypatch):
    def keys(key=b'key', **changes):
        named = {'name': 'program', 'size': 2, **changes}
        return keys_of(Kernel(program(**named), key), monkeypatch)

    seen = keys()
    assert keys() == seen
    assert len(set(seen)) == 2
    variants = [keys(b'other'), keys(name='other'), keys(size=3)]
    for target, value in (
            ('identity', lambda: 'another CPU'), ('_source', lambda: b'other source'),
            ('_python', lambda: b'another Python')):
        with monkeypatch.context() as patch:
            patch.setattr(kernel_module, target, value)
            variants.append(keys())
    with monkeypatch.context() as patch:
        patch.setattr(sys.implementation, 'cache_tag', 'cpython-399')
        variants.append(keys())
    with monkeypatch.context() as patch:
        patch.setattr(layout, 'AVAILABLE', not layout.AVAILABLE)
        variants.append(keys())
    everything = [key for pair in [seen, *variants] for key in pair]
    assert len(set(everything)) == len(everything)


def arm(moved, offset):
    """Return an arm of two joints and a flange, one of them moved."""
    def origin(name):
        return f'<origin xyz="0.1 {0.25 + (name == moved) * offset!r} 0" rpy="0.3 0.2 0"/>'

    return load_urdf(robot(
        link('base'), link('upper'), link('lower'), link('flange'),
        joint('shoulder', 'base', 'upper', inside=origin('shoulder') + LIMIT),
        joint('elbow', 'upper', 'lower', inside=origin('elbow') + LIMIT),
        joint('flange', 'lower', 'flange', 'fixed', inside=origin('flange'))))


def results(arm):
    """Return what functions of all kinds of programs give."""
    q, v, a = np.array([0.3, -0.2]), np.array([0.7, 0.4]), np.array([-0.1, 0.9])
    return [arm.inverse_dynamics(q, v, a), arm.forward_dynamics(q, v, a), arm.mass_matrix(q),
            arm.regressor(q, v, a), arm.pose(q, 'flange'), arm.jacobian(q, 'flange'),
            *arm.joint_wrenches(q, v, a).values()]


@pytest.mark.parametrize('moved', ['shoulder', 'elbow', 'flange'])
def test_robots_that_differ_in_the_last_digits_share_no_code(moved, monkeypatch, tmp_path):
    results(arm(moved, 0.0))
    after = results(arm(moved, 1e-12))
    monkeypatch.setenv('MULTIBODY_CACHE_DIR', str(tmp_path / 'fresh'))
    alone = results(arm(moved, 1e-12))
    for one, other in zip(after, alone):
        assert np.array_equal(one, other)


def test_the_machine_is_named_by_cpu_and_versions():
    words = kernel_module.identity()
    for part in (llvmlite.__version__, llvm.get_host_cpu_name(), llvm.get_default_triple(),
                 str(llvm.llvm_version_info)):
        assert part in words


def test_a_change_of_any_module_that_records_changes_the_name(tmp_path, monkeypatch):
    package = tmp_path / 'package'
    for name in ('robot.py', 'compiler/kernel.py', 'dynamics/rnea.py', 'model/urdf.py',
                 'simulation/integrators.py'):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text('x = 1\n')
    monkeypatch.setattr(kernel_module, '__file__', str(package / 'compiler' / 'kernel.py'))
    source = kernel_module._source.__wrapped__
    seen = {source()}
    for path in sorted(package.rglob('*.py')):
        path.write_text('x = 2\n')
        seen.add(source())
    assert len(seen) == 6


RUN = """
import sys
import numpy as np
from multibody_ros.compiler.kernel import Kernel
from multibody_ros.compiler.program import Input, Output, Program

def function(x):
    for _ in range(100):
        x = [x[1] * 0.5 + x[0], x[0] * 0.25 - x[1]]
    return x

kernel = Kernel(Program('race', (Input('x', 2),), (Output('y', (2,)),), function), b'race')
print('ready', flush=True)
sys.stdin.readline()
x = np.random.default_rng(0).normal(size=(64, 2))
print(kernel.run([x], 64)[0][0].tobytes().hex(), kernel.run([x[3]], None)[0][0].tobytes().hex())
"""


def test_processes_may_compile_the_same_at_once(folder):
    processes = [subprocess.Popen([sys.executable, '-c', RUN], stdin=subprocess.PIPE, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                 for _ in range(4)]
    try:
        for process in processes:
            assert process.stdout.readline() == 'ready\n'
        for process in processes:
            process.stdin.write('go\n')
            process.stdin.flush()
        results = [process.communicate(timeout=60) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert len(set(results)) == 1
    assert results[0][1] == ''
    assert [path.suffix for path in files(folder)] == ['.o', '.o']


def test_nothing_is_written_into_the_package(folder):
    package = Path(kernel_module.__file__).parent.parent

    def state():
        return {path: path.stat().st_mtime_ns for path in package.rglob('*')
                if '__pycache__' not in path.parts and path.suffix not in ('.py', '')}

    before = state()
    works(Kernel(program(), b'key'))
    assert state() == before
    assert not folder.is_relative_to(package)
