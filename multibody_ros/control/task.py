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

"""What control laws of one link's pose share: directions, errors, a posture in the null space."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bounds import gain, positive
from .law import Law, Setting
from .rotation import log_rotation, rotation_vector
from .safety import Safety
from .singular import damped_inverse, typical_mobility
from .state import State
from .trajectory import PoseTrajectory, Trajectory
from .vectors import add, apply, apply_transposed, Matrix, minus, product, times, Vector
from ..arguments import known
from ..dynamics.cartesian import mobility

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]
DIRECTIONS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
GROUPS = {'pose': DIRECTIONS, 'position': DIRECTIONS[:3], 'orientation': DIRECTIONS[3:]}
#: tracking errors at which a law stops, in m and rad
LINEAR, ANGULAR = 0.1, 0.5
#: the share of the usual mobility below which a direction counts as being lost
USUAL_SHARE = 0.3


def pose_error(T_WB: Array, T_WD: Array) -> Array:
    """Return what carries B to D: [way; rotation vector of R_WD R_WB^T], world axes."""
    turn = log_rotation(T_WD[:3, :3] @ T_WB[:3, :3].T)
    return np.concatenate([T_WD[:3, 3] - T_WB[:3, 3], turn])


class TaskLaw(Law):
    """A law that guides a link along chosen directions; the rest of the arm keeps a posture."""

    posture_kp = Setting(gain)
    posture_kd = Setting(gain)
    damped_below = Setting(positive)

    def __init__(self, robot: Robot, link: str, trajectory: Trajectory | None,
                 settings: Mapping[str, ArrayLike], posture: ArrayLike | None,
                 posture_kp: ArrayLike, posture_kd: ArrayLike, directions: str | Sequence[str],
                 axes: ArrayLike | None, damped_below: float | None, safety: Safety | None,
                 tracking: ArrayLike | None = None, kind: str = '') -> None:
        """
        Take the `link` to guide and a `trajectory` of poses; none: hold the pose first seen.

        `directions` are 'pose', 'position', 'orientation' or some of x y z rx ry rz, along world
        axes, or along the columns of the rotation matrix `axes`. `posture_kp` in 1/s^2 pulls
        towards the configuration `posture`, `posture_kd` in 1/s brakes, both in the null space.
        `damped_below` is where singularities begin, see damped_inverse; not given: a share of what
        is usual for the arm.
        """
        self.link = known(robot.name, 'link', link, robot.link_names)
        self.rows = chosen(directions)
        self._turned = axes is not None
        self._posture = posture is not None
        target = np.asarray(robot.neutral() if posture is None else posture, dtype=np.float64)
        if target.shape != (robot.nq,):
            raise ValueError(f'posture must have {robot.nq} entries, not {target.shape}')
        if damped_below is None:
            damped_below = USUAL_SHARE * typical_mobility(robot, link, self.rows)
        limits = np.array([LINEAR] * 3 + [ANGULAR] * 3) if tracking is None else tracking
        super().__init__(
            robot, safety, {
                **settings, 'posture': target, 'damped_below': damped_below,
                'posture_kp': posture_kp, 'posture_kd': posture_kd,
                'axes': _rotation(np.eye(3) if axes is None else axes)},
            {'pose_d': 16, 'twist_d': 6, 'rate_d': 6}, 6, limits, 1,
            repr((robot._programs.tree.frames[link], self.rows, self._turned, self._posture,
                  kind)))
        self.trajectory = trajectory

    @property
    def posture(self) -> Array | None:
        """The configuration the null space is pulled to."""
        return self._settings['posture'] if self._posture else None

    @property
    def margin(self) -> float:
        """How far the last state was from a singularity: from 1 on nothing is damped."""
        return float(self._latest[-1])

    def reference(self, t: float, q: Array) -> tuple[Array, ...]:
        """Return pose, twist and its rate."""
        trajectory = self.trajectory
        if trajectory is None:
            here = self.robot.pose(q, self.link)
            trajectory = self.trajectory = self._held = PoseTrajectory(here, here)
        pose, twist, rate = trajectory.sample(t)
        return np.asarray(pose).reshape(16), twist, rate

    def errors(self, x: State, k: Mapping[str, Vector], pose_d: Vector) -> Vector:
        """Return the way to the target, [linear; angular], along the law's axes."""
        R, p = x.pose(self.link)
        R_d = [pose_d[4 * i:4 * i + 3] for i in range(3)]
        way = [pose_d[4 * i + 3] - p[i] for i in range(3)]
        turn = rotation_vector(product(R_d, list(zip(*R))))
        return self.along(k, [*way, *turn])

    def along(self, k: Mapping[str, Vector], twist: Vector) -> Vector:
        """Return a vector [linear; angular] of the world along the law's axes."""
        if not self._turned:
            return twist
        axes = [k['axes'][3 * i:3 * i + 3] for i in range(3)]
        return [*apply_transposed(axes, twist[:3]), *apply_transposed(axes, twist[3:])]

    def jacobians(self, x: State, k: Mapping[str, Vector]) -> tuple[Matrix, Vector]:
        """Return the chosen rows of J, and of J' v."""
        J, J_dot = x.jacobian(self.link), x.jacobian_dot(self.link)
        columns = [self.along(k, column) for column in zip(*J)]
        drift = self.along(k, apply(J_dot, x.v))
        return ([[column[i] for column in columns] for i in self.rows],
                [drift[i] for i in self.rows])

    def mass(self, x: State, k: Mapping[str, Vector], J: Matrix) -> tuple[Matrix, Any]:
        """Return Mx along the chosen directions, damped near singularities, and the margin."""
        A, _ = mobility(x.factors, J)
        groups = [[n for n, i in enumerate(self.rows) if i // 3 == part] for part in (0, 1)]
        return damped_inverse(A, [group for group in groups if group], k['damped_below'][0])

    def null_space(self, x: State, k: Mapping[str, Vector], J: Matrix, Mx: Matrix) -> Vector:
        """Return N M a_n = M a_n - J^T Mx J a_n for the acceleration a_n towards the posture."""
        a = times(-1.0, times(k['posture_kd'], x.v))
        if self._posture:
            a = add(a, times(k['posture_kp'], x.way_to(k['posture'])))
        return minus(x.inertia(a), apply_transposed(J, apply(Mx, apply(J, a))))

    def _error_name(self, index: int) -> str:
        return f"link '{self.link}' along {DIRECTIONS[index]}"


def chosen(directions: str | Sequence[str]) -> tuple[int, ...]:
    """Return the rows of J that directions stand for."""
    names = GROUPS.get(directions, (directions,)) if isinstance(directions, str) else directions
    unknown = [name for name in names if name not in DIRECTIONS]
    if unknown or not names or len(set(names)) < len(names):
        raise ValueError(f'directions must be pose, position, orientation or some of '
                         f'{" ".join(DIRECTIONS)}, not {directions!r}')
    return tuple(sorted(DIRECTIONS.index(name) for name in names))


def _rotation(axes: ArrayLike) -> Array:
    R = np.asarray(axes, dtype=np.float64)
    if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6):
        raise ValueError(f'axes must be a rotation matrix, not {axes!r}')
    return R
