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

import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

import pytest

ROOT = Path(__file__).resolve().parent.parent


def demo(*options, screen=subprocess.PIPE, **more):
    """Start the demonstration in a terminal session of its own, without a display."""
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


@pytest.mark.parametrize('progress', ['waiting for', '1 of 60 s'])
def test_ctrl_c_leaves_no_process(tmp_path, progress):
    terminal, screen = os.openpty()
    process = demo('--seconds', '60', '--plot', str(tmp_path / 'motion.png'), screen=screen,
                   TMPDIR=str(tmp_path))
    os.close(screen)
    try:
        shown = read(terminal, progress)
        started = nodes(process.pid)
        assert len(started) == 2
        # what a terminal does: the signal goes to the whole foreground group
        os.killpg(process.pid, signal.SIGINT)
        shown += read(terminal)
        assert process.wait(30) == 130, shown
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
        os.close(terminal)
    assert 'interrupted, all processes ended' in shown
    assert 'Traceback' not in shown
    assert [child for child in started if Path(f'/proc/{child}').exists()] == []
    assert list(tmp_path.glob('multibody_demo_*')) == []


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
