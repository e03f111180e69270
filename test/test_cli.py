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

"""The command line as a user sees it: `multibody check`, `simulate`, `bench`."""

import json
import os
import re
import shlex
import subprocess
import sys

import multibody_ros as mb
import pytest
from robots import arm, link, robot, SHIPPED

ARM = SHIPPED / 'arm7.urdf'
BROKEN = arm('<limit lower="1" upper="-1" effort="1" velocity="1"/>')
COMMAND = [sys.executable, '-m', 'multibody_ros.cli']


def run(*arguments, stdin=b'', **environment):
    """Return exit status, standard output and standard error."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], input=stdin, capture_output=True,
        env={**os.environ, 'PYTHONUTF8': '1', **environment})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_good_robot_ends_with_status_zero_and_a_readable_report():
    status, output, errors = run('check', ARM)
    assert (status, errors) == (0, '')
    first, *_, last = output.splitlines()
    assert first.split() == ['robot', 'arm7'] and last == '0 errors, 0 warnings, 0 notes'
    for words in ('17.7 kg', '7 revolute, 2 fixed', 'nq 7, nv 7, mobility 7', 'eigenvalues',
                  'triangle', 'damping of 7, friction of 7', 'without mass: flange, tool'):
        assert words in output
    assert '\033' not in output


def test_errors_end_with_status_one(tmp_path):
    path = tmp_path / 'broken.urdf'
    path.write_text(BROKEN)
    status, output, errors = run('check', path)
    assert (status, errors) == (1, '')
    assert "ERROR   joint 'hinge' <limit> (line 1): the limits are reversed" in output
    assert '     -> exchange them' in output
    assert output.endswith('1 error, 0 warnings, 0 notes\n')


def test_warnings_end_with_status_zero():
    status, output, _ = run('check', '-', stdin=arm('').encode())
    assert status == 0 and '1 warning' in output


@pytest.mark.parametrize('text, ok', [(ARM.read_text(), True), (BROKEN, False),
                                      (robot(link('a'), link('b')), False), ('<robot', False)])
def test_json_has_the_same_shape_and_status_for_every_file(text, ok):
    status, output, errors = run('check', '--json', '-', stdin=text.encode())
    report = json.loads(output)
    assert (status, report['ok'], errors) == (not ok, ok, '')
    assert set(report) == {
        'ok', 'readable', 'summary', 'mass_matrix', 'findings', 'links', 'joints'}
    assert ok or {'severity', 'element', 'message', 'advice'} == set(report['findings'][0])


def test_numbers_of_the_json_are_those_of_the_file():
    report = json.loads(run('check', '--json', ARM)[1])
    second = report['joints'][1]
    assert (second['joint'], second['lower'], second['effort'], second['damping']) == (
        'joint2', -2.09, 180.0, 0.8)
    assert report['links'][1]['centre'] == pytest.approx([0.0, -0.02, 0.1])
    assert report['summary']['total_mass'] == pytest.approx(17.7)
    assert 0.0 < report['mass_matrix']['smallest_eigenvalue'] < 0.01


def test_standard_input_is_the_same_as_the_file():
    assert run('check', '-', stdin=ARM.read_bytes()) == run('check', ARM)


def test_pipe_given_as_a_file_is_read_once():
    command = f'{shlex.join(COMMAND)} check <(cat {shlex.quote(str(ARM))})'
    done = subprocess.run(['bash', '-c', command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, '')
    assert done.stdout == run('check', ARM)[1]


@pytest.mark.parametrize('name, words', [
    ('missing.urdf', 'there is no URDF file'), ('.', 'directory'), ('', 'directory'),
    ('x' * 5000, 'too long')])
def test_what_cannot_be_read_is_an_error_without_traceback(name, words, tmp_path):
    status, output, errors = run('check', tmp_path / name if name else name)
    assert (status, errors) == (1, '')
    assert words in output and 'the file cannot be loaded' in output


def test_closed_standard_input_is_an_error_without_traceback():
    done = subprocess.run(['bash', '-c', f'{shlex.join(COMMAND)} check - <&-'],
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, '')
    assert 'standard input is closed' in done.stdout


def test_reader_that_leaves_early_is_no_error():
    command = shlex.join([*COMMAND, 'check', '--json', str(ARM)])
    done = subprocess.run(['bash', '-c', command + ' | true; echo ${PIPESTATUS[0]}'],
                          capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ('0\n', '')


@pytest.mark.parametrize('arguments', [[], ['chek', ARM], ['check'], ['check', '--xml', ARM]])
def test_wrong_use_ends_with_status_two_and_the_usage(arguments):
    status, output, errors = run(*arguments)
    assert (status, output) == (2, '') and errors.startswith('usage: multibody')


def test_help_tells_the_exit_status():
    status, output, _ = run('check', '--help')
    assert status == 0 and 'Exit status 1' in output and '--json' in output


def test_names_of_any_script_reach_a_terminal_that_has_only_ascii():
    text = arm().replace('hinge', '\u8098')
    status, output, errors = run('check', '-', stdin=text.encode(), PYTHONUTF8='0',
                                 PYTHONIOENCODING='ascii')
    assert (status, errors) == (0, '') and r'\u8098' in output
    assert '\u8098' in run('check', '-', stdin=text.encode())[1]


def terminal(*arguments, **environment):
    """Return what the command writes to a terminal."""
    pty = pytest.importorskip('pty')
    reader, writer = pty.openpty()
    process = subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=writer,
                               env={**os.environ, **environment})
    os.close(writer)
    output = b''
    try:
        while chunk := os.read(reader, 4096):
            output += chunk
    except OSError:  # how Linux tells that the other side is closed
        pass
    finally:
        os.close(reader)
        process.wait(60)
    return output.decode()


def test_findings_are_coloured_on_a_terminal_only(tmp_path):
    path = tmp_path / 'broken.urdf'
    path.write_text(BROKEN)
    assert '\033[31mERROR' in terminal('check', path)
    assert '\033' not in terminal('check', path, NO_COLOR='1')


def test_check_runs_where_nothing_can_be_written(tmp_path):
    folder = tmp_path / 'cache'
    folder.mkdir()
    blocked = folder / 'file'
    blocked.write_text('not a folder')
    status, output, _ = run('check', ARM, MULTIBODY_CACHE_DIR=str(blocked / 'cache'))
    assert status == 0 and '0 errors' in output


def test_simulated_fall_keeps_its_energy_and_its_motion_is_written(tmp_path):
    path = tmp_path / 'motion.csv'
    status, output, errors = run('simulate', 'double_pendulum', '--seconds', 0.5, '--no-friction',
                                 '--start', 'joint1=0.7', '--csv', path)
    assert (status, errors) == (0, '')
    first, *_ = output.splitlines()
    assert first == "robot 'double_pendulum', no torques: 0.5 s in 500 steps of 0.001 s, rk4"
    drift = float(re.search(r'drift: (\S+) J', output)[1])
    assert abs(drift) < 1e-6 and 'largest speed: ' in output
    log = mb.simulation.Log.load(path)
    robot = mb.load_urdf(SHIPPED / 'double_pendulum.urdf')
    assert (len(log), log.t[-1], log.q[0, 0]) == (501, 0.5, 0.7) and not log.tau.any()
    energy = [robot.kinetic_energy(log.q, log.v)[k] + robot.potential_energy(log.q)[k]
              for k in (0, -1)]
    assert energy[0] == pytest.approx(energy[1], abs=1e-6)


@pytest.mark.parametrize('name', ['arm7', 'five_bar'])
def test_gravity_compensation_holds_trees_and_mechanisms(name):
    status, output, errors = run('simulate', name, '--law', 'gravity_compensation', '--seconds',
                                 0.1, '--integrator', 'semi_implicit_euler')
    assert (status, errors) == (0, '')
    change = float(re.search(r'total .* (\S+)\n', output)[1])
    assert abs(change) < 1e-9
    assert ('loops: open by' in output) == (name == 'five_bar')


@pytest.mark.parametrize('arguments, status, words', [
    (['nix'], 2, "no file 'nix', and of that name no robot of this package, only: arm6, arm7"),
    (['arm7', '--dt', '0'], 2, '0 is not between'),
    (['arm7', '--csv', 'motion.txt'], 2, "'motion.txt' must end in .csv"),
    (['arm7', '--dt', '10'], 1, 'the number of steps must be 1 to'),
    (['arm7', '--start', 'joint1'], 1, "--start takes JOINT=POSITION, not 'joint1'"),
    (['arm7', '--start', 'elbow=1'], 1, "has no joint 'elbow', only: joint1"),
    (['arm7', '--start', 'joint1=1,2'], 1, "joint 'joint1' takes 1 numbers, not 2"),
    (['arm7', '--start', 'joint1=x'], 1, "'x' is no number"),
    (['arm7', '--start', 'joint1=nan'], 1, "q is nan at joint 'joint1'"),
    (['arm7', '--integrator', 'leap'], 1, "no integrator 'leap', only: euler")])
def test_wrong_wishes_of_a_simulation_are_explained_without_traceback(arguments, status, words):
    ended, output, errors = run('simulate', *arguments)
    assert (ended, output) == (status, '')
    assert words in errors and 'Traceback' not in errors


def test_motion_that_diverges_ends_with_status_one(tmp_path):
    status, output, errors = run('simulate', 'double_pendulum', '--integrator', 'euler', '--dt',
                                 0.5, '--seconds', 500, '--no-friction', '--start', 'joint1=1')
    assert (status, output) == (1, '')
    assert "multibody simulate: the motion of robot 'double_pendulum' diverged" in errors


@pytest.mark.parametrize('robot', [ARM, 'five_bar', 'free_body'])
def test_bench_times_every_function(robot):
    status, output, errors = run('bench', robot, '--seconds', 0.001)
    assert (status, errors) == (0, '')
    head, *rows = output.splitlines()[1:8 + (robot == 'five_bar')]
    assert head.split()[:3] == ['function', 'compiled', 'interpreted']
    assert [row.split()[0] for row in rows] == [
        'inverse_dynamics', 'forward_dynamics', 'mass_matrix', 'gravity_torque', 'jacobian',
        'cartesian_dynamics', *['constrained_dynamics'] * (robot == 'five_bar')]
    assert all(int(row.split()[1]) > 0 for row in rows)
    assert all(int(row.split()[2]) > 0 for row in rows[:6])
    assert 'in a batch of 4096' in output
