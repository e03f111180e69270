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

"""Whether the masses and inertias of a file can belong to real bodies."""

from __future__ import annotations

import math
from statistics import median
from typing import Iterator

import numpy as np

from .document import Element
from .finding import Finding, place
from .schema import number_problem, numbers, shape_findings

KEYS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
#: relative size of a violation that the rounding of a file's decimals explains
ROUNDING = 1e-3
#: no body is this much lighter or heavier than the robot's typical link
MASS_RATIO = 1e4
#: radius of gyration (m) below which an inertia is too small for its mass
SMALL_RADIUS = 1e-3
#: and below which it is a zero that went through somebody's arithmetic
ZERO_RADIUS = 1e-6
#: kg in a cube as long as the robot (m) that no robot has: twice that of water
DENSE = 2000.0


def inertia_findings(root: Element) -> Iterator[Finding]:
    """Yield what is impossible or unlikely about every <inertial>."""
    masses = []
    size = _size(root)
    inertials = []
    for link in root.findall('link'):
        inertial = link.find('inertial')
        if inertial is not None and not any(shape_findings(inertial, link)):
            inertials.append((link, inertial))
            masses.append(numbers(inertial.at('mass').get('value'))[0])
    typical = median([m for m in masses if m > 0.0] or [1.0])
    if sum(masses) > DENSE * size ** 3:
        yield Finding('warning', place(root), f'the links weigh {sum(masses):.4g} kg in all, the '
                      f'robot measures about {size:.2g} m', 'check the units: kg and m')
    lumped = {joint.at('child').get('link') for joint in root.findall('joint')
              if joint.get('type') == 'fixed'}
    for (link, inertial), mass in zip(inertials, masses):
        yield from _mass_findings(link, inertial, mass, typical)
        yield from _centre_findings(link, inertial, mass, size)
        inertia = inertial.find('inertia')
        if inertia is not None:
            where = place(link, inertia)
            I_c = matrix_of(inertia)
            if np.abs(I_c).max() > abs(mass) * ZERO_RADIUS ** 2:
                yield from _matrix_findings(where, mass, I_c, size)
                continue
        else:
            where = place(link, inertial)
        if mass > 0.0:
            # On a link that does not move on its own a point mass does no harm.
            yield Finding('note' if link.get('name') in lumped else 'warning', where,
                          'has mass but no inertia: a point mass',
                          'give the inertia about the centre of mass')


def matrix_of(inertia: Element) -> np.ndarray:
    """Return the 3x3 matrix of an <inertia> element."""
    xx, xy, xz, yy, yz, zz = (numbers(inertia.get(key, '0'))[0] for key in KEYS)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def triangle_margin(I_c: np.ndarray) -> float:
    """Return (I1 + I2 - I3) / I3 of the principal moments I1 <= I2 <= I3; negative: impossible."""
    I1, I2, I3 = np.linalg.eigvalsh(I_c)
    return float((I1 + I2 - I3) / I3) if I3 > 0.0 else 0.0


def nearest_valid(I_c: np.ndarray) -> np.ndarray:
    """
    Return the nearest inertia that a body can have.

    The second moments S = tr(I)/2 1 - I must be positive semi-definite; negative eigenvalues are
    raised to a millionth of the largest, so that the result survives being printed.
    """
    S = 0.5 * np.trace(I_c) * np.eye(3) - I_c
    values, axes = np.linalg.eigh(S)
    values = np.maximum(values, 1e-6 * max(values.max(), 0.0))
    S = axes @ np.diag(values) @ axes.T
    return np.asarray(np.trace(S) * np.eye(3) - S)


def _size(root: Element) -> float:
    """Return the length scale of the robot: its joint offsets added up, at least half a metre."""
    total = 0.0
    for joint in root.findall('joint'):
        xyz = joint.at('origin').get('xyz')
        if not number_problem(xyz, 3):
            total += math.hypot(*numbers(xyz))
    return max(total, 0.5)


def _mass_findings(
        link: Element, inertial: Element, mass: float, typical: float) -> Iterator[Finding]:
    where = place(link, inertial, inertial.at('mass'))
    if mass < 0.0:
        yield Finding('error', where, f'the mass is negative: {mass:g} kg', 'give it in kg')
    elif mass == 0.0 and np.any(matrix_of(inertial.at('inertia'))):
        yield Finding('warning', where, 'the mass is zero but the inertia is not',
                      'give the mass, or remove <inertial>')
    elif mass > 0.0 and not 1.0 / MASS_RATIO < mass / typical < MASS_RATIO:
        yield Finding('warning', where, f'{mass:g} kg is orders of magnitude away from the '
                      f'typical link of {typical:g} kg', 'check the unit: kg')


def _centre_findings(
        link: Element, inertial: Element, mass: float, size: float) -> Iterator[Finding]:
    origin = inertial.find('origin')
    if origin is None or not origin.get('xyz') or mass == 0.0:
        return
    distance = math.hypot(*numbers(origin.get('xyz')))
    if distance > 2.0 * size:
        yield Finding('warning', place(link, inertial, origin),
                      f'the centre of mass is {distance:g} m from the link origin, the whole '
                      f'robot measures about {size:.2g} m', 'check the unit: m, not mm')


def _matrix_findings(
        where: str, mass: float, I_c: np.ndarray, size: float) -> Iterator[Finding]:
    lowest, _, largest = np.linalg.eigvalsh(I_c)
    margin = triangle_margin(I_c)
    scale = max(abs(lowest), abs(largest))
    if lowest < -ROUNDING * scale or largest <= 0.0:
        yield Finding('error', where, f'is not positive definite: principal moments '
                      f'{_principal(I_c)} kg m^2', _offer(I_c))
    elif margin < -1e-9:
        severity = 'error' if margin < -ROUNDING else 'warning'
        yield Finding(severity, where, f'breaks the triangle inequality: principal moments '
                      f'{_principal(I_c)} kg m^2, the largest exceeds the sum of the others by '
                      f'{-margin:.2%}', _offer(I_c))
    elif lowest <= 1e-9 * scale:
        yield Finding('warning', where, f'is singular: principal moments {_principal(I_c)} '
                      'kg m^2', 'a real body has three positive moments')
    if mass > 0.0 and largest > 0.0:
        radius = math.sqrt(largest) / math.sqrt(mass)
        if not SMALL_RADIUS < radius < 3.0 * size:
            yield Finding(
                'warning', where, f'is orders of magnitude off for {mass:g} kg: the radius of '
                f'gyration is {radius:.2g} m, the robot measures about {size:.2g} m',
                'check the unit: kg m^2, about the centre of mass')


def _principal(I_c: np.ndarray) -> str:
    return ' '.join(f'{value:.4g}' for value in np.linalg.eigvalsh(I_c))


def _offer(I_c: np.ndarray) -> str:
    valid = nearest_valid(I_c)
    if not np.any(valid):
        return 'give the inertia about the centre of mass in kg m^2'
    values = valid[np.triu_indices(3)]
    attributes = ' '.join(f'{key}="{value:.9g}"' for key, value in zip(KEYS, values))
    return f'the nearest valid one is <inertia {attributes}/>'
