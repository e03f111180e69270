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

"""Whether the robot's dynamics make sense: mass matrix and gravity over random configurations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, Protocol, Sequence

import numpy as np

from .finding import choices, Finding

#: random configurations: for gravity, and how many numbers of mass matrices are looked at
SAMPLES = 512
MATRICES = 64
#: smallest eigenvalue of M, scaled to a unit diagonal, below which M counts as singular
SINGULAR = 1e-12
#: a robot of more velocities than this is not compiled just to be examined
LARGEST = 300


class Examinable(Protocol):
    """The part of Robot that the doctor uses."""

    nv: int

    @property
    def joint_names(self) -> Sequence[str]:
        """Names of the moving joints."""

    @property
    def v_index(self) -> Mapping[str, slice]:
        """Slices of v by joint."""

    @property
    def limits(self) -> Any:
        """Limits; `effort` is one number a velocity."""

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Return a configuration within the limits."""

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return M."""

    def gravity_torque(self, q: np.ndarray) -> np.ndarray:
        """Return g."""

    @property
    def constraints(self) -> Sequence[Any]:
        """Loops, couplings and other constraints."""

    def mobility(self) -> Any:
        """Return freedoms, Gruebler's counts, redundant equations."""


@dataclass(frozen=True)
class Motion:
    """What random configurations say about a robot."""

    findings: tuple[Finding, ...] = ()
    #: eigenvalues of M over the configurations, and the joint that moves least (SI units)
    mass_matrix: dict[str, Any] | None = None
    #: joint name -> largest |gravity torque| of its coordinates, N m or N
    gravity: dict[str, float] = field(default_factory=dict)


def examine_motion(robot: Examinable, places: Mapping[str, str]) -> Motion:
    """Look at mass matrix and gravity load; `places` names a joint's element in the file."""
    if robot.nv == 0:
        return Motion((Finding('note', 'robot', 'nothing moves: there is no mass matrix'),))
    rng = np.random.default_rng(0)
    samples = [robot.random(rng) for _ in range(SAMPLES)]
    # An eigenvalue problem costs nv^3.
    count = max(4, min(MATRICES, 2000 // robot.nv))
    masses = np.array([robot.mass_matrix(q) for q in samples[:count]])
    gravity = np.array([robot.gravity_torque(q) for q in samples])
    if not (np.isfinite(masses).all() and np.isfinite(gravity).all()):
        return Motion((Finding('error', 'mass matrix', 'is not finite, or gravity is not',
                               'look for numbers far too large'),))
    owner = {index: name for name in robot.joint_names
             for index in range(*robot.v_index[name].indices(robot.nv))}
    gravity[np.abs(gravity) < 1e-12 * np.abs(gravity).max()] = 0.0
    loads = {name: float(np.abs(gravity[:, robot.v_index[name]]).max())
             for name in robot.joint_names}
    effort = np.asarray(robot.limits.effort, dtype=float)
    findings = (*_mass_findings(masses, owner, places),
                *_gravity_findings(gravity, effort, owner, places))
    return Motion(findings, _eigenvalues(masses, owner), loads)


def _eigenvalues(masses: np.ndarray, owner: dict[int, str]) -> dict[str, Any]:
    values, vectors = np.linalg.eigh(masses)
    worst = int(values[:, 0].argmin())
    return {
        'configurations': len(masses),
        'smallest_eigenvalue': float(values[worst, 0]),
        'of_joint': owner[int(np.abs(vectors[worst, :, 0]).argmax())],
        'largest_eigenvalue': float(values[:, -1].max()),
    }


def _mass_findings(masses: np.ndarray, owner: dict[int, str],
                   places: Mapping[str, str]) -> Iterator[Finding]:
    diagonal = np.abs(np.diagonal(masses, axis1=1, axis2=2)).max(axis=0)
    empty = diagonal <= SINGULAR * diagonal.max()
    for name in dict.fromkeys(owner[int(index)] for index in np.flatnonzero(empty)):
        yield Finding('error', places[name], 'moves no mass and no inertia: the mass '
                      'matrix is singular', 'give the links it carries an <inertial>, give its '
                      'motor a rotor inertia, or make it fixed')
    rest = np.flatnonzero(~empty)
    if not len(rest):
        return
    part = masses[:, rest][:, :, rest]
    scale = 1.0 / np.sqrt(diagonal[rest])
    values, vectors = np.linalg.eigh(part * scale[:, None] * scale)
    worst = int(values[:, 0].argmin())
    if values[worst, 0] < SINGULAR:
        vector = np.abs(vectors[worst, :, 0])
        names = dict.fromkeys(owner[int(rest[k])]
                              for k in np.flatnonzero(vector > 0.1 * vector.max()))
        yield Finding('error', 'mass matrix', 'is not positive definite: there is a motion '
                      'without inertia of ' + choices((places[name] for name in names), limit=6),
                      'give the links between them an <inertial>, and correct impossible ones')


def _gravity_findings(gravity: np.ndarray, effort: np.ndarray, owner: dict[int, str],
                      places: Mapping[str, str]) -> Iterator[Finding]:
    largest = np.abs(gravity).max(axis=0)
    for index in map(int, np.flatnonzero((effort > 0.0) & (effort < largest))):
        share = np.mean(np.abs(gravity[:, index]) > effort[index])
        yield Finding('warning', places[owner[index]],
                      f'the effort limit {effort[index]:.4g} is below the gravity load, which '
                      f'reaches {largest[index]:.4g} and exceeds it in {share:.0%} of '
                      f'{len(gravity)} random configurations',
                      'check the masses and <limit effort>, or avoid these poses')
