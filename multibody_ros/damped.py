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

"""What to do where the equations lose rank: a damped inverse, or an error with a name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dynamics.cartesian import DAMPED_BELOW
from .model.model import ModelError

Array = NDArray[np.float64]


def damped_dynamics(robot: Any, q: Array, v: Array, link: str,
                    outputs: list[Array]) -> list[Array]:
    """
    Return the operational-space terms with the inverse of A = J M^-1 J^T damped.

    Rows of `outputs` that are regular stay as they are.
    """
    if q.ndim == 1:
        return [np.asarray(term) for term in _damped(robot, q, v, link)]
    for row in np.flatnonzero(~(outputs[-1] > DAMPED_BELOW)):
        for term, value in zip(outputs, _damped(robot, q[row], v[row], link)):
            term[row] = value
    return outputs


def _damped(robot: Any, q: Array, v: Array, link: str) -> tuple[Any, ...]:
    """Return Mx, Cx, gx, J, J', Jbar and the singularity measure of one state."""
    M = robot.mass_matrix(q)
    J, J_dot = robot.jacobian(q, link), robot.jacobian_dot(q, v, link)
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise singular_mass(robot, q) from None
    half = np.linalg.solve(L, J.T)
    response = np.linalg.solve(L.T, half).T
    A = half.T @ half
    Mx, measure = damped_inverse(A)
    J_bar = response.T @ Mx
    Cx = Mx @ (response @ robot.coriolis_matrix(q, v) - J_dot) @ J_bar
    return Mx, Cx, J_bar.T @ robot.gravity_torque(q), J, J_dot, J_bar, measure


def damped_inverse(A: Array) -> tuple[Array, float]:
    """
    Return the inverse of a mobility, damped along the directions it loses, and the measure.

    In dimensionless form (see cartesian.singularity) an eigenvalue x of at least e = DAMPED_BELOW
    is inverted as it is; below, 1/x becomes x / (x^2 + e^2 (1 - x^2/e^2)^2), which leaves 1/x with
    the same value and slope at e and goes to 0 with x: nothing jumps, what is lost carries no
    force.
    """
    linear, angular = np.trace(A[:3, :3]) / 3.0, np.trace(A[3:, 3:]) / 3.0
    s = np.sqrt([linear] * 3 + [angular] * 3)
    s[s == 0.0] = 1.0
    values, vectors = np.linalg.eigh(A / np.outer(s, s))
    x = np.maximum(values, 0.0)
    e = DAMPED_BELOW
    missing = np.maximum(0.0, 1.0 - (x / e)**2)
    inverse = x / (x**2 + (e * missing)**2)
    Mx = (vectors * inverse) @ vectors.T / np.outer(s, s)
    regular = x > np.finfo(float).tiny
    measure = 1.0 / float(np.linalg.norm(1.0 / x)) if regular.all() else 0.0
    return 0.5 * (Mx + Mx.T), measure


def singular_mass(robot: Any, q: Array) -> ModelError:
    """Return the error that names the joints which move no mass."""
    M = robot.mass_matrix(np.atleast_2d(q))
    scale = np.sqrt(np.maximum(np.diagonal(M, axis1=1, axis2=2), 1e-300))
    values, vectors = np.linalg.eigh(M / (scale[:, :, None] * scale[:, None, :]))
    row = int(values[:, 0].argmin())
    share = np.abs(vectors[row, :, 0])
    diagonal = np.diagonal(M[row])
    light = (share > 0.1 * share.max()) | (diagonal <= 1e-12 * diagonal.max())
    names = [name for name, place in robot.v_index.items() if light[place].any()]
    return ModelError(
        f"robot '{robot.name}': the mass matrix is singular, "
        f'{", ".join(map(repr, names))} {"moves" if len(names) == 1 else "move"} no mass; give '
        'the links carried an <inertial>, the motors a rotor inertia, or make a joint fixed')
