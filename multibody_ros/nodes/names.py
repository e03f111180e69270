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

"""Names of joints and links as parts of topic names, which may hold less than URDF names do."""

from __future__ import annotations

import re
from typing import Iterable


def topic_tokens(names: Iterable[str]) -> dict[str, str]:
    """
    Return the part of a topic's name that stands for each of `names`, no two alike.

    A name that is a token of ROS already stands for itself. In others every character but
    letters, digits and _ of ASCII becomes _, and where the result begins with no letter an n is
    put in front (a leading _ would hide the topic): 'left.elbow' becomes left_elbow, '1st-joint'
    n1st_joint. What is taken gets the first free number from 2 on: left_elbow_2.
    """
    wanted = {name: _token(name) for name in names}
    tokens = {name: token for name, token in wanted.items() if name == token}
    taken = set(tokens.values())
    for name, token in wanted.items():
        if name not in tokens:
            number, free = 2, token
            while free in taken:
                number, free = number + 1, f'{token}_{number}'
            tokens[name] = free
            taken.add(free)
    return tokens


def _token(name: str) -> str:
    if re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', name):
        return name
    token = re.sub('[^A-Za-z0-9_]', '_', name)
    return token if token[:1].isalpha() else f'n{token}'
