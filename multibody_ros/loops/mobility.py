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
Mobility: how many freedoms, how many equations too many, and singular configurations.

theory.md section 6. The count from the rank of Phi_q is the true one at a configuration;
Gruebler's counts bodies and joints only and misses what special dimensions give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .assembly import AssemblyError
from .rows import one_state
from ..dynamics import kkt
from ..dynamics.constraints import Driven, JointCoupling, LoopClosure

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]

#: equations of joints in a plane
PLANAR = {'revolute': 2, 'continuous': 2, 'prismatic': 2, 'fixed': 3}
#: how far, in rad or m, a configuration is shaken to see whether its rank is an exception
SHAKE = 0.05
#: an angle's sine below which axes count as parallel
PARALLEL = 1e-6


@dataclass(frozen=True)
class Mobility:
    """The freedoms of a mechanism at a configuration."""

    #: velocities of the tree, equations of the constraints without driving ones, their rank
    velocities: int
    equations: int
    rank: int
    #: Gruebler's counts: 6 N_b - sum (6 - f_i), and with 3 where everything moves in a plane
    gruebler: int
    gruebler_planar: int | None
    #: freedoms at nearby configurations; more of them here means a singular configuration
    generic_freedoms: int
    #: equations that follow from those before them: (constraint, equation)
    redundant: tuple[tuple[str, str], ...]
    #: driving constraints, and freedoms that are left when they act
    driven: int
    remaining: int

    @property
    def freedoms(self) -> int:
        """True freedoms here, without drives: velocities - rank."""
        return self.velocities - self.rank

    @property
    def hyperstatic(self) -> int:
        """Degree of static indeterminacy: equations - rank."""
        return self.equations - self.rank

    @property
    def singular(self) -> bool:
        """Tell whether there are more freedoms here than nearby."""
        return self.freedoms > self.generic_freedoms

    def __str__(self) -> str:
        """Return a report for a human."""
        planar = '' if self.gruebler_planar is None else f', in its plane {self.gruebler_planar}'
        lines = [f'freedoms: {self.freedoms} ({self.velocities} velocities, {self.equations} '
                 f'equations of rank {self.rank})', f'Gruebler: {self.gruebler}{planar}']
        if self.singular:
            lines.append(f'singular configuration: {self.generic_freedoms} freedoms nearby')
        if self.redundant:
            names = ', '.join(f'{name}.{label}' for name, label in self.redundant)
            lines.append(f'hyperstatic degree {self.hyperstatic}; redundant: {names}; '
                         'single reactions are not unique')
        if self.driven:
            lines.append(f'drives: {self.driven}, freedoms left: {self.remaining}')
        return '\n'.join(lines)


def mobility_of(robot: Robot, q: ArrayLike | None, t: float) -> Mobility:
    """Count at `q`; None: at a configuration near neutral that is not singular."""
    nv = robot.nv
    here = None if q is None else one_state(robot, 'mobility', q=q)[0]
    if not robot.constraints:
        return Mobility(nv, 0, 0, nv, None, nv, (), 0, nv)
    driving = {c.name for c in robot.constraints if isinstance(c, Driven)}
    labels = robot.constraint_labels
    rows = [k for k, (name, _) in enumerate(labels) if name not in driving]
    if here is None:
        here = robot.assemble(robot.neutral(), (), t)
    generic, near = _freest(robot, here, rows, t)
    if q is None:
        here = near
    J = robot.constraint_jacobian(here, t)
    return Mobility(
        nv, len(rows), kkt.rank(J[rows]), nv - len(rows), _planar_count(robot, here), generic,
        tuple(labels[rows[k]] for k in kkt.dependent_rows(J[rows])),
        len(labels) - len(rows), nv - kkt.rank(J))


def _freest(robot: Robot, q: Array, rows: list[int], t: float) -> tuple[int, Array]:
    """Return the smallest number of freedoms around `q`, drives let go, and where it is found."""
    rng = np.random.default_rng(0)
    free = robot.undriven() if len(rows) < len(robot.constraint_labels) else robot
    best, place = robot.nv - kkt.rank(robot.constraint_jacobian(q, t)[rows]), q
    for _ in range(4):
        shaken = robot.integrate(q, rng.normal(scale=SHAKE, size=robot.nv))
        try:
            near = free.assemble(shaken, (), t)
        except AssemblyError:
            continue
        freedoms = robot.nv - kkt.rank(robot.constraint_jacobian(near, t)[rows])
        if freedoms < best:
            best, place = freedoms, near
    return best, place


def _planar_count(robot: Robot, q: Array) -> int | None:
    """Return Gruebler's count with d = 3 where all axes fit one plane, else None."""
    normal: Array | None = None
    slides: list[Array] = []
    equations = 0
    axes: list[tuple[str, Array]] = []
    for joint in robot.model.joints:
        if joint.kind in ('floating', 'planar'):
            return None
        if joint.kind != 'fixed':
            axes.append((joint.kind, robot.pose(q, joint.child)[:3, :3] @ joint.axis))
    for loop in robot.model.loops:
        if loop.kind not in PLANAR:
            return None
        equations += PLANAR[loop.kind]
        R = robot.pose(q, loop.predecessor.link)[:3, :3] @ np.array(loop.predecessor.rotation)
        if loop.kind != 'fixed':
            axes.append((loop.kind, R @ loop.axis))
    for kind, axis in axes:
        if kind == 'prismatic':
            slides.append(axis)
        elif normal is None:
            normal = axis
        elif np.linalg.norm(np.cross(normal, axis)) > PARALLEL:
            return None
    if normal is None or any(abs(normal @ axis) > PARALLEL for axis in slides):
        return None
    if any(not isinstance(c, (LoopClosure, JointCoupling, Driven)) for c in robot.constraints):
        return None
    return robot.nv - len(robot.model.couplings) - equations


def singularity_of(robot: Robot, q: ArrayLike, v: ArrayLike, t: float) -> dict[str, Any]:
    """Classify a configuration: see Robot.singularity."""
    closure = robot._closure
    q, v = one_state(robot, 'singularity', q=q, v=v)
    terms = closure.slow_terms(q, v, t)
    J = closure.jacobian(terms.entries)
    full = robot.nv - robot.mobility(q, t).generic_freedoms + sum(
        isinstance(c, Driven) for c in robot.constraints)
    full = min(full, robot.nv)
    rank = kkt.rank(J)
    s = np.linalg.svd(J, compute_uv=False)
    measure = float(s[full - 1] / s[0]) if full and s[0] > 0.0 else 1.0
    kind = 'regular'
    if rank < full:
        blocked = [_raised(J, right) for right in (-terms.drift, terms.gamma)]
        kind = 'lock-up' if any(blocked) else 'bifurcation'
    return {'kind': kind, 'rank': rank, 'full_rank': full, 'measure': measure,
            'lost': kkt.null_space(J) if rank < full else np.zeros((robot.nv, 0))}


def _raised(J: Array, right: Array) -> bool:
    """Tell whether `right` lies outside the columns of J: rank [J, right] > rank J."""
    size = float(np.linalg.norm(right))
    if size <= 1e-9:
        return False
    found = np.linalg.lstsq(J, right, rcond=kkt.RANK)[0]
    return float(np.linalg.norm(J @ found - right)) > 1e-6 * size
