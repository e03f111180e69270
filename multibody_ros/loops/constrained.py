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

"""The part of Robot that knows constraints: closed loops, couplings, driven joints, rolling."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Callable, Mapping, Sequence, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .assembly import assembled, held_coordinates
from .mobility import Mobility, mobility_of, singularity_of
from .reactions import Reactions, reactions_of
from .rows import checked, row_by_row
from ..arguments import known, vector
from ..dynamics import kkt
from ..dynamics.constraints import Constraint, Driven

if TYPE_CHECKING:
    from .closure import Closure, ConstrainedDynamics, Terms
    from ..robot import Robot, Wrenches

Array = NDArray[np.float64]
#: the default time, and the array the compiled code takes for it
_NEVER = 0.0
_START = np.zeros(1)


class Constrained:
    """
    Methods of a robot with constraints.

    Where there are none they answer too, with no equations; only `singularity` has no meaning.
    All but `mobility`, `singularity` and `reactions` take a batch.

    t, in seconds, matters only where a constraint names the time. Multipliers are one an
    equation, in the order of `constraint_labels`.
    """

    _extra: tuple[Constraint, ...] = ()

    @cached_property
    def _closure(self: Any) -> Closure:
        from .closure import Closure
        if not (self.model.loops or self.model.couplings or self._extra):
            raise ValueError(f"robot '{self.name}' has no constraints: its file has no <loop> and "
                             'no <coupling>, and with_constraints was not used')
        return Closure(self, self._extra)

    @property
    def constraints(self: Any) -> tuple[Constraint, ...]:
        """The constraints: loops and couplings of the file, then those added in Python."""
        if not (self.model.loops or self.model.couplings or self._extra):
            return ()
        return self._closure.constraints  # type: ignore[no-any-return]

    @property
    def constraint_labels(self) -> list[tuple[str, str]]:
        """(constraint, equation) of every row: x y z shifts, rx ry rz rotations in loop axes."""
        return self._closure.structure.labels() if self.constraints else []

    def with_constraints(self: Any, *constraints: Constraint) -> Robot:
        """Return this robot with more constraints (see dynamics.constraints)."""
        return _rebuilt(self, (*self._extra, *constraints))

    def constraint_residual(self: Any, q: ArrayLike, t: ArrayLike = 0.0) -> Array:
        """Return Phi(q, t): metres and radians, zero where the constraints hold."""
        return np.asarray(self._terms(q, np.zeros(self.nv), t).residual)

    def constraint_jacobian(self: Any, q: ArrayLike, t: ArrayLike = 0.0) -> Array:
        """Return Phi_q, equations x nv: the velocities allowed satisfy Phi_q v = -Phi_t."""
        return self._matrix(self._terms(q, np.zeros(self.nv), t))  # type: ignore[no-any-return]

    def _terms(self: Any, q: ArrayLike, v: ArrayLike, t: ArrayLike) -> Terms:
        from .closure import Terms
        if self.constraints:
            return self._closure.terms(q, v, _row(t))  # type: ignore[no-any-return]
        none = np.zeros((*checked(self, q=q, v=v)[1], 0))
        return Terms(none, none, none, none)

    def _matrix(self: Any, terms: Terms) -> Array:
        """Return Phi_q."""
        return np.asarray(self._closure.jacobian(terms.entries)) if self.constraints \
            else np.zeros((*terms.entries.shape, self.nv))

    def constraint_rate(self: Any, q: ArrayLike, v: ArrayLike, t: ArrayLike = 0.0) -> Array:
        """Return d Phi/dt = Phi_q v + Phi_t, and A^T v + a_0 of Pfaffian constraints."""
        terms = self._terms(q, v, t)
        J = self._matrix(terms)
        return np.asarray((J @ np.asarray(v, dtype=np.float64)[..., None])[..., 0] + terms.drift)

    def constraint_gamma(self: Any, q: ArrayLike, v: ArrayLike, t: ArrayLike = 0.0) -> Array:
        """Return gamma: accelerations that keep the constraints satisfy Phi_q a = gamma."""
        return np.asarray(self._terms(q, v, t).gamma)

    def assemble(self: Any, q: ArrayLike, fixed: Sequence[str] | Mapping[str, Any] | None = None,
                 t: float = 0.0, tolerance: float = 1e-12) -> Array:
        """
        Return a configuration near `q` that satisfies the constraints.

        fixed: joints that keep their position in `q`, or {joint: position}. None: the joints the
        file calls independent. Raises AssemblyError, with the best that was found, where nothing
        fits.
        """
        return assembled(self, q, fixed, t, tolerance)

    def velocity_analysis(self: Any, q: ArrayLike, rates: Mapping[str, Any] | None = None,
                          t: float = 0.0) -> Array:
        """Return the smallest v with Phi_q v = -Phi_t and the given {joint: velocity}."""
        terms = self._terms(q, np.zeros(self.nv), t)
        return np.asarray(self._analysis(self._matrix(terms), -terms.drift, rates, 'velocity'))

    def acceleration_analysis(self: Any, q: ArrayLike, v: ArrayLike,
                              accelerations: Mapping[str, Any] | None = None,
                              t: float = 0.0) -> Array:
        """Return the smallest a with Phi_q a = gamma and the given joint accelerations."""
        terms = self._terms(q, v, t)
        return np.asarray(self._analysis(self._matrix(terms), terms.gamma, accelerations,
                                         'acceleration'))

    def _analysis(self: Any, J: Array, right: Array, given: Mapping[str, Any] | None,
                  what: str) -> Any:
        batch = right.shape[:-1]
        held, values = held_coordinates(self, given or {}, batch)
        free = np.setdiff1d(np.arange(self.nv), held)
        result = np.zeros((*batch, self.nv))
        result[..., held] = values
        right = right[..., None] - J @ result[..., None]
        part = np.linalg.pinv(J[..., free], kkt.RANK) @ right
        result[..., free] = part[..., 0]
        left = np.abs(J[..., free] @ part - right).max(axis=(-2, -1), initial=0.0)
        size = np.maximum(1.0, np.abs(right).max(axis=(-2, -1), initial=0.0))
        if (left > 1e-8 * size).any():
            raise ValueError(f"robot '{self.name}' cannot move so: no {what} satisfies the "
                             f'constraints with {dict(given or {})} (left over: '
                             f'{left.max():.3g}); a locked configuration, or too many joints'
                             ' given')
        return result

    def constrained_dynamics(self: Any, q: ArrayLike, v: ArrayLike, tau: ArrayLike,
                             t: ArrayLike = _NEVER,
                             wrenches: Wrenches | None = None) -> ConstrainedDynamics:
        """
        Return accelerations and multipliers: M a + C v + g = tau - Phi_q^T multipliers.

        The state is taken as it is; where constraints depend on each other the multipliers are
        the shortest of all possible ones.
        """
        if wrenches:
            tau = vector(self.name, 'tau', tau, self.nv, self.joint_names) \
                + self._generalised(q, wrenches)
        if not self.constraints:
            a = self.forward_dynamics(q, v, tau)
            return _result(a, np.zeros((*a.shape[:-1], 0)))
        motion = self._fast_dynamics(q, v, tau, _START if t is _NEVER else t)
        if self._closure.redundant:
            return self._closure.shortest(motion, q, t)  # type: ignore[no-any-return]
        return motion  # type: ignore[no-any-return]

    @cached_property
    def _fast_dynamics(self) -> Callable[..., ConstrainedDynamics]:
        return self._closure.fast_dynamics()

    def null_space(self: Any, q: ArrayLike, independent: Sequence[str] | None = None,
                   t: float = 0.0) -> Array:
        """
        Return B, nv x freedoms, with Phi_q B = 0 (theory.md section 6).

        With independent joints named (or called so by the file) v = B v_i: coordinate
        partitioning, B = [-Phi_qd^-1 Phi_qi; 1]. Otherwise the columns are orthonormal.
        """
        names = self.independent_joints if independent is None else independent
        return np.asarray(row_by_row(self, lambda q: (self._basis(q, names, t),), q=q)[0])

    def _basis(self: Any, q: Array, names: Sequence[str], t: float) -> Array:
        J = self.constraint_jacobian(q, t)
        basis = kkt.null_space(J)
        if not names:
            return basis
        chosen = held_coordinates(self, dict.fromkeys(names, 0.0))[0]
        part = basis[chosen]
        if part.shape[0] != part.shape[1] or np.linalg.cond(part) > 1.0 / kkt.RANK:
            raise ValueError(f"the joints {', '.join(names)} do not determine the motion of robot "
                             f"'{self.name}' here, which has {basis.shape[1]} freedoms")
        return np.asarray(basis @ np.linalg.inv(part))

    def reduced_dynamics(self: Any, q: ArrayLike, v: ArrayLike, tau: ArrayLike,
                         independent: Sequence[str] | None = None, t: float = 0.0) -> Array:
        """
        Return the accelerations without multipliers, from B^T (M a - Q) = 0.

        a = B z + c with Phi_q c = gamma; B as in `null_space`. The same as constrained_dynamics.
        """
        def solved(q: Array, v: Array, tau: Array) -> tuple[Array]:
            return (self._reduced(q, v, tau, independent, t),)

        return np.asarray(row_by_row(self, solved, q=q, v=v, tau=tau)[0])

    def _reduced(self: Any, q: Array, v: Array, tau: Array, independent: Sequence[str] | None,
                 t: float) -> Array:
        B = self.null_space(q, independent, t)
        J = self.constraint_jacobian(q, t)
        c = np.linalg.lstsq(J, self.constraint_gamma(q, v, t), rcond=kkt.RANK)[0]
        M = self.mass_matrix(q)
        Q = tau - self.bias_torque(q, v)
        return np.asarray(c + B @ np.linalg.solve(B.T @ M @ B, B.T @ (Q - M @ c)))

    @property
    def independent_joints(self: Any) -> list[str]:
        """The joints the file marks independent="true"."""
        return [joint.name for joint in self.model.joints if joint.independent]

    def constrained_inverse_dynamics(self: Any, q: ArrayLike, v: ArrayLike, a: ArrayLike,
                                     actuated: Sequence[str] | None = None,
                                     t: float = 0.0) -> ConstrainedDynamics:
        """
        Return the torques of the actuated joints, zero at the others, and the multipliers.

        M a + C v + g = tau - Phi_q^T multipliers; with more actuators than freedoms the shortest
        tau. actuated: joint names; None: those the file calls independent, else all.
        """
        names = actuated if actuated is not None else self.independent_joints or self.joint_names
        for name in names:
            known(self.name, 'joint', name, self.joint_names)

        def solved(q: Array, v: Array, a: Array) -> tuple[Array, Array]:
            return self._actuated(q, v, a, names, t)  # type: ignore[no-any-return]

        return _result(*row_by_row(self, solved, q=q, v=v, a=a))

    def _actuated(self: Any, q: Array, v: Array, a: Array, names: Sequence[str],
                  t: float) -> tuple[Array, Array]:
        needed = self.inverse_dynamics(q, v, a)
        J = self.constraint_jacobian(q, t)
        B = kkt.null_space(J)
        chosen = [k for name in names for k in range(self.nv)[self.v_index[name]]]
        tau = np.zeros(self.nv)
        tau[chosen] = np.linalg.lstsq(B[chosen].T, B.T @ needed, rcond=kkt.RANK)[0]
        left = B.T @ (needed - tau)
        if np.abs(left).max(initial=0.0) > 1e-9 * max(1.0, float(np.abs(needed).max())):
            raise ValueError(
                f"the joints {', '.join(names)} cannot give robot '{self.name}' this "
                f'acceleration: {len(chosen)} torques for {B.shape[1]} freedoms; name other '
                'actuated joints')
        return tau, -np.linalg.lstsq(J.T, needed - tau, rcond=kkt.RANK)[0]

    def undriven(self: Any) -> Robot:
        """Return this robot without its driving constraints."""
        rest = [c for c in self._extra if not isinstance(c, Driven)]
        return _rebuilt(self, rest)

    def mobility(self: Any, q: ArrayLike | None = None, t: float = 0.0) -> Mobility:
        """Return freedoms, Gruebler's counts, redundant equations at `q` (None: assembled)."""
        return mobility_of(self, q, t)

    def singularity(self: Any, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> dict[str, Any]:
        """
        Tell what kind of configuration `q` is for the motion `v`.

        kind: 'regular'; 'lock-up' where the drives ask for a motion (nu = -Phi_t, or gamma) that
        rank Phi_q no longer allows; 'bifurcation' where it goes on, but not in one way only. Also
        `measure`, the smallest singular value of Phi_q that a regular configuration has, relative
        to the largest, and `lost`, all velocities Phi_q admits there, in columns.
        """
        return singularity_of(self, q, v, t)

    def reactions(self: Any, q: ArrayLike, v: ArrayLike, tau: ArrayLike, t: float = 0.0,
                  wrenches: Wrenches | None = None) -> Reactions:
        """Return the forces in constraints and joints of the motion under `tau`."""
        return reactions_of(self, q, v, tau, t, wrenches)


def _rebuilt(robot: Any, constraints: Sequence[Constraint]) -> Robot:
    rebuild, (model, source, links, payloads, _) = robot.__reduce__()
    result: Robot = rebuild(model, source, links.copy(), payloads, constraints)
    return result


def _row(values: ArrayLike) -> Array:
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def _result(first: Array, second: Array) -> ConstrainedDynamics:
    from .closure import ConstrainedDynamics
    return ConstrainedDynamics(first, second)
