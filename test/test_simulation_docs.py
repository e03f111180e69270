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

"""docs/simulation.md: its Python runs when pasted, its table names every option."""

from __future__ import annotations

import dataclasses
from pathlib import Path
import re
import subprocess
import sys

from multibody_ros.simulation import Physics
import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / 'docs' / 'simulation.md').read_text()
BLOCKS = re.findall(r'```python\n(.*?)```', TEXT, re.DOTALL)


@pytest.mark.parametrize('block', BLOCKS, ids=range(len(BLOCKS)))
def test_python_works_when_pasted(block):
    done = subprocess.run([sys.executable, '-W', 'error', '-c', block], cwd=ROOT, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_every_option_is_explained():
    assert len(BLOCKS) == 3
    for option in dataclasses.fields(Physics):
        assert f'`{option.name}`' in TEXT, option.name
