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

"""The README's promises: its Python runs, its files exist, what it shows is what comes out."""

from pathlib import Path
import re
import subprocess
import sys

from multibody_ros.cli import main
import pytest
from robots import SHIPPED

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / 'README.md').read_text()


def blocks(language):
    return re.findall(rf'```{language}\n(.*?)```', README, re.DOTALL)


def test_python_works_when_pasted():
    for block in blocks('python'):
        done = subprocess.run([sys.executable, '-c', block], cwd=ROOT, text=True,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


def test_check_prints_what_is_shown(capsys):
    (shown,) = blocks('text')
    assert main(['check', str(SHIPPED / 'arm7.urdf')]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    lines = [line.rstrip() for line in shown.splitlines() if line and line[0] not in '$.']
    assert [line for line in lines if line not in printed] == []


def test_make_targets_exist():
    targets = re.findall(r'^([a-z]+):', (ROOT / 'Makefile').read_text(), re.MULTILINE)
    for block in blocks('sh'):
        for target in re.findall(r'^make ([a-z]+)', block, re.MULTILINE):
            assert target in targets


@pytest.mark.parametrize('document', ['README.md', *(
    f'docs/{p.name}' for p in sorted((ROOT / 'docs').glob('*.md')))])
def test_links_lead_somewhere(document):
    path = ROOT / document
    for target in re.findall(r'\]\(([^)#]+)', path.read_text()):
        if '://' not in target:
            assert (path.parent / target).is_file(), target


def test_launch_files_exist():
    for name in re.findall(r'[a-z_]+\.launch\.py', README):
        assert (ROOT / 'launch' / name).is_file(), name
