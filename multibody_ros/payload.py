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

"""Loads that links carry, on top of the model's own parameters."""

from __future__ import annotations

import math
from typing import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arguments import known
from .model.model import IDENTITY, Mat3, ZERO
from .model.rigid import link_parameters

Array = NDArray[np.float64]


class Payloads:
    """At most one load a link, kept apart so that taking it away restores the model exactly."""

    def __init__(self, links: Sequence[str], robot: str) -> None:
        """Begin with none."""
        self._links = tuple(links)
        self._robot = robot
        self._loads: dict[str, Array] = {}

    def put(self, link: str, mass: float, com: ArrayLike, inertia: ArrayLike | None) -> None:
        """Put a load on a link; com in link axes, inertia about com in link axes."""
        known(self._robot, 'link', link, self._links)
        if not (isinstance(mass, (int, float, np.number)) and 0.0 <= mass < math.inf):
            raise ValueError('the mass of a payload must be finite and not negative, not '
                             f'{mass!r}')
        centre = np.asarray(com, dtype=np.float64)
        if centre.shape != (3,) or not np.isfinite(centre).all():
            raise ValueError(f'com must be three finite numbers in m, not {com!r}')
        x, y, z = centre.tolist()
        self._loads[link] = np.array(
            link_parameters(float(mass), (x, y, z), _matrix(inertia), IDENTITY), dtype=np.float64)

    def clear(self) -> None:
        """Take all loads away."""
        self._loads.clear()

    def items(self) -> list[tuple[str, Array]]:
        """Return the parameters of every load by link."""
        return list(self._loads.items())

    def restore(self, items: Sequence[tuple[str, Array]]) -> None:
        """Take over what `items` of another gave."""
        self._loads = dict(items)

    def added_to(self, parameters: Array) -> Array:
        """Return the link parameters (links, 10) with the loads."""
        total = parameters.copy()
        for link, load in self._loads.items():
            total[self._links.index(link)] += load
        return total


def _matrix(inertia: ArrayLike | None) -> Mat3:
    """Return a 3x3 inertia from a matrix or its six elements, if it is physically possible."""
    if inertia is None:
        return ZERO, ZERO, ZERO
    array = np.asarray(inertia, dtype=np.float64)
    if array.shape == (6,):
        xx, xy, xz, yy, yz, zz = array
        array = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if array.shape != (3, 3) or not np.isfinite(array).all() or not np.allclose(array, array.T):
        raise ValueError('the inertia of a payload must be a symmetric 3x3 matrix or '
                         f'Ixx Ixy Ixz Iyy Iyz Izz in kg m^2, not {inertia!r}')
    a, b, c = np.linalg.eigvalsh(array)
    if a < -1e-9 * c or a + b < c * (1.0 - 1e-9):
        raise ValueError('no body has the inertia of this payload: its principal moments are '
                         f'{a:.4g}, {b:.4g}, {c:.4g} and must be positive, none larger than the '
                         'sum of the others')
    x, y, z = array.tolist()
    return tuple(x), tuple(y), tuple(z)
