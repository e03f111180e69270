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

"""Where the files shipped beside the code are: urdf/, config/, launch/."""

from __future__ import annotations

import os
from pathlib import Path
import sys


def share_directories() -> list[Path]:
    """
    Return the places the package's share files may be, most specific first.

    A source checkout has them beside the package; pip and colcon put them into
    share/multibody_ros of the prefix that holds the code (or, for colcon, of one on
    AMENT_PREFIX_PATH).
    """
    package = Path(__file__).resolve().parent
    places = [package.parent] if (package.parent / 'package.xml').is_file() else []
    prefixes = [*package.parents, *map(Path, _prefixes()), Path(sys.prefix)]
    places += [prefix / 'share' / package.name for prefix in prefixes]
    return [place for place in places if (place / 'package.xml').is_file()]


def resource(name: str) -> Path:
    """Return the path of a shipped file such as 'urdf/arm7.urdf'."""
    places = share_directories()
    for place in places:
        if (place / name).is_file():
            return place / name
    folder = Path(name).parent
    there = sorted(str(folder / f.name) for p in places for f in (p / folder).glob('*.*'))
    raise FileNotFoundError(f'multibody_ros ships no {name!r}, only: {", ".join(there)}; '
                            f'looked in: {", ".join(map(str, places)) or "no share folder found"}')


def _prefixes() -> list[str]:
    return [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
