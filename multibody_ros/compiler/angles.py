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

"""
Sines and cosines side by side: the angles among the inputs are known from the start.

One run through the polynomials then serves eight joints. In the code for a batch the lanes are
taken by the states already, so this is for the code of one state.
"""

from __future__ import annotations

from .expression import Recording, referring

#: angles of one vector; where the registers hold fewer numbers LLVM takes several
GROUP = 8


def with_angles_side_by_side(recording: Recording) -> Recording:
    """Return the same recording, the sines and cosines of inputs as lanes of vectors."""
    operations = recording.operations
    # inputs stand first on a tape
    inputs = next(i for i, operation in enumerate(operations) if operation[0] != 'input')
    angles = list(dict.fromkeys(operation[1] for operation in operations[inputs:]
                                if operation[0] in ('sin', 'cos') and operation[1] < inputs))
    vectors: list[tuple] = []
    lanes: dict[tuple[str, int], tuple] = {}
    for group in (angles[k:k + GROUP] for k in range(0, len(angles), GROUP)):
        if len(group) == 1:
            continue
        pack = inputs + len(vectors)
        vectors += [('pack', *group), ('sin', pack), ('cos', pack)]
        for lane, angle in enumerate(group):
            lanes['sin', angle] = ('lane', pack + 1, lane)
            lanes['cos', angle] = ('lane', pack + 2, lane)

    def moved(operation: tuple) -> tuple:
        return lanes.get(operation[:2]) or referring(operation, place)

    def place(i: int) -> int:
        return i if i < inputs else i + len(vectors)

    return Recording([*operations[:inputs], *vectors, *map(moved, operations[inputs:])],
                     [place(i) for i in recording.outputs])
