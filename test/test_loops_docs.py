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

"""What docs/loops.md shows runs, and every function it names exists."""

from pathlib import Path
import re
import subprocess
import sys

import multibody_ros as mb

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / 'docs' / 'loops.md').read_text()


def test_python_works_when_pasted():
    for block in re.findall(r'```python\n(.*?)```', TEXT, re.DOTALL):
        done = subprocess.run([sys.executable, '-c', block], cwd=ROOT, text=True,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()


def test_functions_of_the_table_exist():
    names = [name for row in re.findall(r'^\| (`.*?) \|', TEXT, re.MULTILINE)
             for name in re.findall(r'`(\w+)', row)]
    assert len(names) > 10
    assert [name for name in names if not hasattr(mb.Robot, name)] == []


def test_xml_closes_a_loop():
    (block,) = re.findall(r'```xml\n(.*?)```', TEXT, re.DOTALL)
    loop = block[:block.index('<coupling')]
    shown = (ROOT / 'urdf' / 'four_bar.urdf').read_text()
    robot = mb.load_urdf(re.sub('<loop.*</loop>', lambda _: loop, shown, flags=re.DOTALL))
    assert robot.model.loops == mb.load_urdf(shown).model.loops
