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

"""Robots for the tests: the files we ship, those of example-robot-data, and small ones as text."""

from __future__ import annotations

from importlib.metadata import distribution, PackageNotFoundError
from pathlib import Path

import pytest

SHIPPED = Path(__file__).parents[1] / 'urdf'
BALL = ('<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" '
        'izz="0.1"/></inertial>')
LIMIT = '<limit lower="-1" upper="1" effort="50" velocity="2"/>'


def shipped() -> list[Path]:
    """Return the robots of this package."""
    return sorted(SHIPPED.glob('*.urdf'))


def example_robots() -> list[Path]:
    """Return the URDFs of the PyPI package example-robot-data, none where it is not installed."""
    try:
        package = distribution('example-robot-data')
    except PackageNotFoundError:
        return []
    folder = Path(str(package.locate_file('cmeel.prefix/share/example-robot-data/robots')))
    return sorted(folder.glob('**/*.urdf'))


def each(paths: list[Path]) -> list[object]:
    """Make test parameters of paths, named after the files."""
    return [pytest.param(path, id=path.stem) for path in paths]


def link(name: str, inside: str = BALL) -> str:
    """Return a link element."""
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, kind: str = 'revolute', inside: str = LIMIT) -> str:
    """Return a joint element."""
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{child}"/>{inside}</joint>')


def robot(*elements: str) -> str:
    """Return a whole robot as text."""
    return '<robot name="test">' + ''.join(elements) + '</robot>'


def arm(inside: str = LIMIT, kind: str = 'revolute', ball: str = BALL) -> str:
    """Return a robot of one moving joint, `inside` the joint and `ball` the moving link."""
    return robot(link('base'), link('tip', ball), joint('hinge', 'base', 'tip', kind, inside))


def chain(length: int) -> str:
    """Return a chain of this many revolute joints."""
    parts = [link('l0', '')]
    for i in range(length):
        parts.append(link(f'l{i + 1}'))
        parts.append(joint(f'j{i}', f'l{i}', f'l{i + 1}',
                           inside='<origin xyz="0 0 0.1"/>' + LIMIT))
    return robot(*parts)
