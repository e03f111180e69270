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

"""Links that fixed joints hold together, as bodies with a centre of mass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .absolute import link_frames
from ..model.model import Model

Array = NDArray[np.float64]


def lumped_bodies(
        model: Model,
        parameters: Array) -> tuple[dict[str, float], dict[str, Array], dict[str, Array]]:
    """
    Return mass, centre (axes of the body's first link) and inertia about it of every body.

    parameters: ten a link, in the order of the model.
    """
    frames, bodies = link_frames(model)
    sums = {body: np.zeros(10) for body in bodies}
    for link, row in zip(model.links, parameters):
        body, R, p = frames[link.name]
        if body is not None:
            sums[body] += _moved_parameters(row, np.array(R), np.array(p))
    masses, centres, inertias = {}, {}, {}
    for body, total in sums.items():
        m = total[0]
        c = total[1:4] / m if m else np.zeros(3)
        masses[body], centres[body] = float(m), c
        inertias[body] = _matrix(total[4:]) - m * (c @ c * np.eye(3) - np.outer(c, c))
    return masses, centres, inertias


def _moved_parameters(row: Array, R: Array, p: Array) -> Array:
    """Return m, m c, I of a link about the origin and in the axes of its body's first link."""
    m, h = row[0], R @ row[1:4]
    moved = h + m * p
    turned = R @ _matrix(row[4:]) @ R.T
    # I + m |p|^2 1 - m p p^T and the mixed terms of the parallel-axis theorem
    shift = (m * (p @ p) + 2.0 * (h @ p)) * np.eye(3) - m * np.outer(p, p) \
        - np.outer(h, p) - np.outer(p, h)
    return np.array([m, *moved, *(turned + shift)[np.triu_indices(3)]])


def _matrix(six: Array) -> Array:
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
