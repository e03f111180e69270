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

"""The package as pip and colcon install it, seen from outside the checkout."""

from importlib.metadata import distribution
import os
from pathlib import Path
import re
import shutil
import site
import subprocess
import sys

from catkin_pkg.package import parse_package
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = 'multibody_ros'
NODES = ['simulator', 'computed_torque_controller', 'gravity_compensation_controller',
         'cartesian_controller', 'joint_controller', 'trajectory_publisher', 'robot_state']
SHARED = [p.relative_to(ROOT) for folder in ('launch', 'config', 'urdf')
          for p in sorted((ROOT / folder).rglob('*')) if p.is_file() and p.suffix != '.pyc']
# The ROS wheels leave these behind for their own interpreter, COVERAGE_* is pytest-cov's.
FOREIGN = re.compile('_ROS_WHEELS|LD_LIBRARY_PATH|AMENT_|COLCON_|PYTHONPATH|COVERAGE_|COV_')


def run(*command, cwd, **environment):
    """Return what a command prints, free of this process's environment."""
    clean = {k: v for k, v in os.environ.items() if not FOREIGN.match(k)}
    done = subprocess.run([str(c) for c in command], cwd=cwd, env={**clean, **environment},
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout


def sources():
    return {str(p.relative_to(ROOT)) for p in (ROOT / PACKAGE).rglob('*.py')} | {
        f'{PACKAGE}/py.typed'}


@pytest.fixture(scope='module')
def checkout(tmp_path_factory):
    """Copy what a fresh clone holds, so that building leaves nothing in this one."""
    there = tmp_path_factory.mktemp('src') / PACKAGE
    skip = shutil.ignore_patterns('.*', '__pycache__', '*.egg-info', 'build', 'install', 'log',
                                  'out')
    return Path(shutil.copytree(ROOT, there, ignore=skip))


@pytest.fixture(scope='module')
def installed(checkout, tmp_path_factory):
    """
    Install with pip into a fresh virtual environment.

    The environment borrows this one's dependencies through a path file; an editable
    install is not reached that way, so what is imported is what was installed.
    """
    prefix = tmp_path_factory.mktemp('prefix')
    run(sys.executable, '-m', 'venv', prefix, cwd=prefix)
    python = prefix / 'bin' / 'python'
    packages = run(python, '-c', 'import sysconfig; print(sysconfig.get_path("purelib"))',
                   cwd=prefix).strip()
    Path(packages, 'borrowed.pth').write_text('\n'.join(site.getsitepackages()) + '\n')
    run(python, '-m', 'pip', 'install', '--no-deps', '--no-build-isolation', checkout,
        cwd=prefix)
    return prefix


def test_pip_installs_every_module(installed):
    where = run(installed / 'bin' / 'python', '-c',
                f'import {PACKAGE}; print({PACKAGE}.__file__)', cwd=installed).strip()
    assert installed in Path(where).parents
    site_packages = Path(where).parent.parent
    assert {n for n in sources() if not (site_packages / n).is_file()} == set()


def test_pip_installs_scripts_and_share(installed):
    assert 'check' in run(installed / 'bin' / 'multibody', '--help', cwd=installed)
    assert [n for n in NODES if not os.access(installed / 'bin' / n, os.X_OK)] == []
    share = installed / 'share' / PACKAGE
    assert [str(f) for f in SHARED if not (share / f).is_file()] == []
    assert (share / 'package.xml').is_file()


def test_scripts_name_existing_functions():
    for script in distribution(PACKAGE).entry_points:
        if script.value.startswith(f'{PACKAGE}.nodes'):
            pytest.importorskip('rclpy')
        assert callable(script.load()), script


def test_library_needs_no_ros(installed):
    forbidden = 'import sys; sys.modules["rclpy"] = None; '
    run(installed / 'bin' / 'python', '-c', forbidden + f'import {PACKAGE}, {PACKAGE}.cli',
        cwd=installed)


@pytest.fixture(scope='module')
def workspace(checkout, tmp_path_factory):
    """Build with colcon in a workspace of its own."""
    there = tmp_path_factory.mktemp('ws')
    run(Path(sys.executable).parent / 'colcon', 'build', '--base-paths', checkout,
        '--event-handlers', 'console_direct+', cwd=there, COLCON_HOME=str(there / 'home'))
    return there / 'install' / PACKAGE


def test_colcon_puts_executables_where_ros2_run_looks(workspace):
    for n in [*NODES, 'multibody']:
        assert os.access(workspace / 'lib' / PACKAGE / n, os.X_OK), n


def test_colcon_installs_modules_index_and_share(workspace):
    site_packages = next(workspace.glob('lib/python*/site-packages'))
    assert {n for n in sources() if not (site_packages / n).is_file()} == set()
    share = workspace / 'share'
    assert (share / 'ament_index' / 'resource_index' / 'packages' / PACKAGE).is_file()
    assert [str(f) for f in SHARED if not (share / PACKAGE / f).is_file()] == []
    assert (share / PACKAGE / 'package.xml').is_file()


def test_manifest_agrees_with_setup():
    manifest, metadata = parse_package(str(ROOT)), distribution(PACKAGE).metadata
    assert manifest.name == metadata['Name'].replace('-', '_') == PACKAGE
    assert manifest.version == metadata['Version']
    assert manifest.licenses == [metadata.get('License-Expression') or metadata.get('License')]
    assert manifest.description == metadata['Summary']
    assert [(p.name, p.email) for p in manifest.maintainers] == [
        (metadata['Maintainer'], metadata['Maintainer-email'])]


def test_manifest_names_every_imported_ros_package():
    manifest = parse_package(str(ROOT))
    declared = {d.name for d in manifest.exec_depends}
    text = '\n'.join(p.read_text() for p in (ROOT / PACKAGE / 'nodes').rglob('*.py'))
    imported = set(re.findall(r'^\s*(?:from|import) (rclpy|[a-z_]+_msgs|[a-z_]+_srvs|'
                              r'[a-z_]+_interfaces)\b', text, re.MULTILINE))
    assert imported - declared == set()


def test_changelog_names_the_version_or_what_comes():
    heading = re.search(r'^(Forthcoming|\d+\.\d+\.\d+.*)\n-+$',
                        (ROOT / 'CHANGELOG.rst').read_text(), re.MULTILINE)
    version = parse_package(str(ROOT)).version
    assert heading and (heading[1] == 'Forthcoming' or heading[1].startswith(version))
