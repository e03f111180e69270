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

"""The demonstration as a user runs it."""

from __future__ import annotations

from contextlib import contextmanager
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

from multibody_ros.nodes.reaper import left
import pytest

ROOT = Path(__file__).resolve().parent.parent


def demo(*options, screen=subprocess.PIPE, sigint=signal.default_int_handler, **more):
    """Start the demonstration in a terminal session of its own, without a display."""
    # a process inherits signals as ignored: SIGINT from those that scripts start in the
    # background, SIGHUP from nohup, and the tests may have been started so
    before = {number: signal.signal(number, action) for number, action in (
        (signal.SIGINT, sigint), (signal.SIGHUP, signal.SIG_DFL))}
    try:
        return start(options, screen, more)
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def start(options, screen, more):
    environment = {k: v for k, v in os.environ.items() if k not in ('DISPLAY', 'WAYLAND_DISPLAY')}
    return subprocess.Popen(
        [sys.executable, '-m', 'multibody_ros.cli', 'demo', *options], cwd=ROOT,
        env={**environment, **more}, text=True, start_new_session=True, stdout=subprocess.PIPE,
        stderr=screen)


def children(pid):
    """Return {pid: command line} of the child processes."""
    found = {}
    for status in Path('/proc').glob('[0-9]*/stat'):
        try:
            parent = int(status.read_text().rpartition(')')[2].split()[1])
            if parent == pid:
                found[int(status.parent.name)] = (status.parent / 'cmdline').read_text()
        except OSError:
            continue
    return found


def read(terminal, wanted=None):
    """Return what appears on a terminal until `wanted` does, or until all have left it."""
    shown = ''
    end = time.monotonic() + 60.0
    while wanted is None or wanted not in shown:
        assert time.monotonic() < end, shown
        try:
            shown += os.read(terminal, 4096).decode()
        except OSError:
            assert wanted is None, shown
            break
    return shown


def nodes(pid):
    return [child for child, line in children(pid).items() if 'multibody_ros.nodes' in line]


def test_demo_prints_a_table_and_draws_a_plot(tmp_path):
    plot = tmp_path / 'new' / 'motion.png'
    process = demo('--seconds', '4', '--rate', '250', '--plot', str(plot))
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, out + err
    assert re.search(r'^rate +[\d.]+ Hz', out, re.MULTILINE)
    assert re.search(r'^round trip +\d+ us', out, re.MULTILINE)
    assert re.search(r'^jitter +\d+ us', out, re.MULTILINE)
    assert re.search(r'^real time +[\d.]+ ', out, re.MULTILINE)
    assert re.search(r'kg more at the last link from 1.6 s on, a push of [\d.]+ N at 2.8 s', out)
    for k in range(1, 8):
        rms, largest, way = map(float, re.search(
            rf'^joint{k} +([\d.]+) mrad +([\d.]+) mrad +([\d.]+) rad', out, re.MULTILINE).groups())
        assert 0.0 < rms < largest < 50.0
        assert way > 0.3
    assert plot.read_bytes().startswith(b'\x89PNG\r\n')
    assert str(plot) in out


def running(pids):
    """Return those that have not ended; one that nobody has asked for its status has."""
    states = {}
    for pid in pids:
        try:
            states[pid] = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
        except OSError:
            continue
    return [pid for pid, state in states.items() if state != 'Z']


def wait_for_end(pids):
    end = time.monotonic() + 30.0
    while running(pids):
        assert time.monotonic() < end, f'{running(pids)} still run'
        time.sleep(0.05)


@contextmanager
def shown_demo(tmp_path, progress, **more):
    """Start a long demonstration on a terminal; yield process, terminal, what is shown, nodes."""
    terminal, screen = os.openpty()
    process = demo('--seconds', '60', '--plot', str(tmp_path / 'motion.png'), screen=screen,
                   TMPDIR=str(tmp_path), **more)
    os.close(screen)
    started = []
    try:
        shown = read(terminal, progress)
        # a process that is about to become another program has no command line for a moment
        started += nodes(process.pid)
        while len(started) < 2 and process.poll() is None:
            started[:] = nodes(process.pid)
        assert len(started) == 2, shown
        yield process, terminal, shown, started
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)
        wait_for_end(started)


@pytest.mark.parametrize('sigint', [signal.default_int_handler, signal.SIG_IGN])
@pytest.mark.parametrize('progress', ['waiting for', '1 of 60 s'])
def test_ctrl_c_leaves_no_process(tmp_path, progress, sigint):
    with shown_demo(tmp_path, progress, sigint=sigint) as (process, terminal, shown, started):
        # what a terminal does: the signal goes to the whole foreground group
        os.killpg(process.pid, signal.SIGINT)
        shown += read(terminal)
        assert process.wait(30) == 130, shown
        assert running(started) == []
    assert 'interrupted, all processes ended' in shown
    assert 'Traceback' not in shown
    assert list(tmp_path.glob('multibody_demo_*')) == []


@pytest.mark.parametrize(('number', 'status'), [
    (signal.SIGHUP, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_demo_that_is_ended_otherwise_leaves_no_process(tmp_path, number, status):
    """Where the terminal is closed, the demo asked to end, or killed."""
    with shown_demo(tmp_path, '0 of 60 s') as (process, _, _, started):
        os.killpg(process.pid, number)
        assert process.wait(30) == status
        wait_for_end(started)


def test_children_of_a_killed_process_end():
    """Those of strangers too, who know nothing of their parent, and those deaf to SIGTERM."""
    child = 'import os, time; print(os.getpid(), flush=True); time.sleep(1000)'
    deaf = f'import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {child}'
    parent = subprocess.Popen([sys.executable, '-c', f"""
import sys, time
from multibody_ros.nodes.processes import Processes
processes = Processes()
for code in ({child!r}, {deaf!r}):
    processes.run([sys.executable, '-c', code], 'child')
time.sleep(1000)"""], cwd=ROOT, text=True, stdout=subprocess.PIPE)
    try:
        pids = [int(parent.stdout.readline()) for _ in range(2)]
        helpers = list(children(parent.pid))
    finally:
        parent.kill()
        parent.communicate(timeout=30)
    wait_for_end([*pids, *helpers])


def test_reaper_ends_what_has_not_ended():
    assert left(['+12', '+3', '-12', '+45']) == {3, 45}


@pytest.mark.parametrize(('options', 'reason'), [
    (['--seconds', '1'], '1 is not between 2 and 3600'),
    (['--rate', 'fast'], "'fast'"),
    (['--domain-id', '102'], 'invalid choice: 102')])
def test_demo_says_what_is_wrong(options, reason):
    process = demo(*options)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert reason in err


def test_demo_names_a_description_that_is_not_there(tmp_path):
    process = demo('--description', str(tmp_path / 'robot.urdf'))
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert str(tmp_path / 'robot.urdf') in err
    assert 'Traceback' not in err
