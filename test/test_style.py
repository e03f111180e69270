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

"""The linters: ruff, mypy, and the rules of ament's own, which are not on PyPI."""

from pathlib import Path
import subprocess
import sys

from catkin_pkg.package import parse_package
import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = [f for f in ('multibody_ros', 'test', 'launch', 'benchmark') if (ROOT / f).is_dir()]
SOURCES = [ROOT / 'setup.py', *sorted(p for f in FOLDERS for p in (ROOT / f).rglob('*.py'))]
HEADER = '\n'.join(SOURCES[0].read_text().splitlines()[:13]) + '\n'


def run(*command):
    """Fail with the tool's own report unless it ends with success."""
    done = subprocess.run([sys.executable, '-m', *command], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        pytest.fail(done.stdout, pytrace=False)


def name(path):
    return str(path.relative_to(ROOT))


def test_ruff():
    run('ruff', 'check', '--no-cache', '--quiet', '.')


@pytest.mark.timeout(600)
def test_mypy():
    run('mypy')


def test_flake8():
    run('flake8', 'setup.py', *FOLDERS)


def test_pep257():
    run('pydocstyle', 'setup.py', *FOLDERS)


def test_copyright():
    assert HEADER.startswith('# Copyright 2026 multibody_ros developers\n#\n# Licensed under')
    assert HEADER.endswith('# limitations under the License.\n')
    assert [name(p) for p in SOURCES if not p.read_text().startswith(HEADER)] == []
    assert 'Version 2.0, January 2004' in (ROOT / 'LICENSE').read_text()


def test_package_xml():
    warnings = []
    parse_package(str(ROOT), warnings=warnings).validate(warnings=warnings)
    assert warnings == []


def test_sources_are_ascii():
    assert [name(p) for p in SOURCES if not p.read_bytes().isascii()] == []


def test_modules_are_short():
    long = {name(p): len(p.read_text().splitlines()) - len(HEADER.splitlines())
            for p in SOURCES if 'multibody_ros' in p.relative_to(ROOT).parts}
    assert {n: lines for n, lines in long.items() if lines > 300} == {}
