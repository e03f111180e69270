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

"""Position analysis: Newton's method with line search on Phi(q, t) = 0."""

from __future__ import annotations

from typing import Any, Mapping, Sequence, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import complain, known, vector
from ..dynamics import kkt
from ..model.model import ModelError

if TYPE_CHECKING:
    from .closure import Closure, Terms
    from ..robot import Robot

Array = NDArray[np.float64]

#: steps of one attempt; attempts, the later ones from shaken configurations
STEPS = 100
ATTEMPTS = 8


class AssemblyError(ModelError):
    """No configuration was found; `q` is the best one, `residual` what it leaves."""

    def __init__(self, message: str, q: Array, residual: Array) -> None:
        """Keep the best attempt."""
        super().__init__(message)
        self.q, self.residual = q, residual


def assembled(robot: Robot, q: ArrayLike, fixed: Sequence[str] | Mapping[str, Any] | None,
              t: float, tolerance: float) -> Array:
    """Return a configuration near `q` on the constraints; see Robot.assemble."""
    start = vector(robot.name, 'q', q, robot.nq, robot.joint_names).copy()
    if start.ndim != 1:
        return np.array([assembled(robot, row, fixed, t, tolerance) for row in start])
    names = robot.independent_joints if fixed is None else list(fixed)
    for name in names:
        known(robot.name, 'joint', name, robot.joint_names)
        if isinstance(fixed, Mapping):
            place = robot.q_index[name]
            start[place] = _of_joint(name, fixed[name], place.stop - place.start)
    complain(robot.name, robot._coordinates, {'q': start})
    if not robot.constraints:
        return start
    held, _ = held_coordinates(robot, dict.fromkeys(names, 0.0))
    free = np.setdiff1d(np.arange(robot.nv), held)
    rng = np.random.default_rng(0)
    best, smallest = start, np.inf
    for attempt in range(ATTEMPTS):
        shaken = start
        if attempt:
            shake = np.zeros(robot.nv)
            shake[free] = rng.normal(scale=0.1 * 2.0 ** (attempt - 1), size=len(free))
            shaken = robot.integrate(start, shake)
        found, left = closest(robot._closure, shaken, free, t, tolerance)
        if left < smallest:
            best, smallest = found, left
        if smallest <= tolerance:
            return best
    raise _not_assembled(robot, best, t, names)


def held_coordinates(robot: Robot, given: Mapping[str, Any],
                     batch: tuple[int, ...] = ()) -> tuple[NDArray[np.int_], Array]:
    """Return the indices in v of joints and the values given for them, in every row."""
    places: list[int] = []
    values = [np.zeros((*batch, 0))]
    for name, value in given.items():
        known(robot.name, 'joint', name, robot.joint_names)
        own = range(robot.nv)[robot.v_index[name]]
        places += own
        values.append(_of_joint(name, value, len(own), batch))
    return np.array(places, dtype=int), np.concatenate(values, axis=-1)


def _of_joint(name: str, value: ArrayLike, size: int, batch: tuple[int, ...] = ()) -> Array:
    """Return what is given for a joint, a number or one a coordinate of it, for every row."""
    array = np.asarray(value, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"joint '{name}' is given {array}, which is not finite")
    if size == 1 and batch and array.shape == batch:
        array = array[..., None]
    if array.shape not in ((), (size,), (*batch, size)):
        raise ValueError(f"joint '{name}' takes one number" + f' or {size}' * (size > 1)
                         + f' or one a row, shape {batch}' * bool(batch)
                         + f', not shape {array.shape}')
    return np.broadcast_to(array, (*batch, size))


def closest(closure: Closure, q: Array, free: NDArray[np.int_], t: float,
            tolerance: float) -> tuple[Array, float]:
    """
    Go downhill on |Phi|^2 from `q`; return where it ends and the largest residual there.

    `free` are the indices in v that may move.
    """
    robot = closure.robot
    still, time = np.zeros(robot.nv), np.array([float(t)])
    terms = closure.terms(q, still, time)
    for _ in range(STEPS):
        phi = terms.residual
        if np.abs(phi).max(initial=0.0) <= tolerance:
            break
        J = closure.jacobian(terms.entries)[:, free]
        for direction, share in ((_newton(J, phi), 1e-2), (_damped(J, phi), 1e-9)):
            step = np.zeros(robot.nv)
            # nobody knows the way further than about a radian
            step[free] = direction / max(1.0, float(np.abs(direction).max(initial=0.0)))
            found = _searched(closure, q, step, phi, time, share)
            if found is not None:
                break
        if found is None:
            break
        q, terms = found
    return q, float(np.abs(terms.residual).max(initial=0.0))


def _newton(J: Array, phi: Array) -> Array:
    """Return the shortest step to where the tangents vanish."""
    return np.asarray(-np.linalg.lstsq(J, phi, rcond=kkt.RANK)[0])


def _damped(J: Array, phi: Array) -> Array:
    """Return Levenberg's step with |Phi| as damping: downhill also where nothing fits."""
    damping = float(np.linalg.norm(phi)) * np.eye(J.shape[1])
    return np.asarray(-np.linalg.solve(J.T @ J + damping, J.T @ phi))


def _searched(closure: Closure, q: Array, step: Array, phi: Array, time: Array,
              share: float) -> tuple[Array, Terms] | None:
    """Halve the step, at most 12 times, until |Phi|^2 falls by a share of it a full step."""
    for k in range(12):
        tried = closure.robot.integrate(q, 0.5 ** k * step)
        terms = closure.terms(tried, np.zeros(len(step)), time)
        if terms.residual @ terms.residual < (1.0 - share * 0.5 ** k) * (phi @ phi):
            return tried, terms
    return None


def _not_assembled(robot: Robot, q: Array, t: float, names: Sequence[str]) -> AssemblyError:
    residual = robot.constraint_residual(q, t)
    worst = int(np.abs(residual).argmax())
    constraint, label = robot.constraint_labels[worst]
    held = f' with {", ".join(names)} held' if names else ''
    return AssemblyError(
        f"robot '{robot.name}' cannot be assembled{held}: '{constraint}' stays open by "
        f'{abs(residual[worst]):.3g} (equation {label}) at the best configuration found; start '
        'nearer to a closed one, hold fewer joints, or check the lengths', q, residual)
