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

"""What the commands share: a robot by its name or file, numbers within bounds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Callable

from ..resources import share_directories


def add_robot(parser: argparse.ArgumentParser) -> None:
    """Take a robot."""
    parser.add_argument('robot', type=robot_file, metavar='ROBOT',
                        help='URDF file, or the name of a robot of this package, such as arm7')


def robot_file(text: str) -> Path:
    """Return the file of a robot, given as such or as the name of a shipped one."""
    path = Path(text)
    if path.is_file():
        return path
    shipped = {file.stem: file for place in share_directories()
               for file in sorted((place / 'urdf').glob('*.urdf'))}
    if text not in shipped:
        raise argparse.ArgumentTypeError(f'no file {text!r}, and of that name no robot of this '
                                         'package, only: ' + ', '.join(shipped))
    return shipped[text]


def between(lower: float, upper: float) -> Callable[[str], float]:
    """Return what reads a number within bounds."""
    def number(text: str) -> float:
        value = float(text)
        if not lower <= value <= upper:
            raise argparse.ArgumentTypeError(f'{text} is not between {lower:g} and {upper:g}')
        return value

    return number
