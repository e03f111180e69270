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
A robot in absolute coordinates: the Newton-Euler form with multipliers, sparse.

[M, 0, Phi_r^T; 0, J, Pi^T; Phi_r, Pi, 0] [r''; w'; lambda] = [F; n - w x J w; gamma]
(theory.md section 7), built from the same model as the recursion and giving the same motion and
reactions.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .closure import Terms
from ..arguments import vector
from ..compiler.kernel import Kernel
from ..compiler.program import Input, Output, Program
from ..dynamics.absolute import (
    BodySpace, ends, joint_constraints, joint_coordinates, joint_positions)
from ..dynamics.bodies import lumped_bodies
from ..dynamics.constraint_terms import Structure
from ..dynamics.orientation import ORIENTATIONS
from ..dynamics.rotations import orientation_parameters, quaternion_of
from ..dynamics.sparse_kkt import sparse_solution

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]


class AbsoluteDynamics(NamedTuple):
    """[r''; w'] of every body, and one multiplier an equation."""

    acceleration: Array
    multipliers: Array


class _Map:
    """A compiled Structure: residual, sparse Jacobian, drift, gamma at a state of the bodies."""

    def __init__(self, name: str, space: BodySpace, constraints: Any) -> None:
        self.space, self.structure = space, Structure(space, constraints)
        size, entries = self.structure.size, self.structure.entries
        self.rows, self.columns = (np.array([e[k] for e in entries], dtype=int) for k in (0, 1))
        self.shape = size, space.nv
        program = Program(
            name, (Input('x', space.nq), Input('u', space.nv), Input('t', 1)),
            tuple(Output(field, (n,)) for field, n in zip(
                Terms._fields, (size, len(entries), size, size))),
            lambda x, u, t: self.structure.terms(x, u, t[0]))
        recording = program.record()
        key = hashlib.sha256(repr((recording.operations, recording.outputs)).encode()).digest()
        self._kernel = Kernel(program, key, [], Terms)

    def __call__(self, x: Array, u: Array, t: float) -> tuple[Terms, Any]:
        from scipy import sparse
        outputs, good = self._kernel.run([x, u, np.array([float(t)])], None)
        if not good:
            raise ValueError('the state of the bodies is not finite')
        terms = Terms(*outputs)
        if not np.isfinite(terms.entries).all():
            body = self.columns[int(np.argmin(np.isfinite(terms.entries)))] // 6
            raise ValueError(
                f"the orientation parameters of body '{self.space.bodies[body]}' are singular "
                'here; Euler parameters never are')
        return terms, sparse.csc_matrix((terms.entries, (self.rows, self.columns)), self.shape)


class AbsoluteMechanism:
    """
    The bodies of a robot, each with six velocities.

    x: r (3) and orientation parameters a body, u: [r' in world axes; w in body axes] a body, in
    the order of `bodies` (named after the link that hangs on the joint). Needs SciPy.
    """

    def __init__(self, robot: Robot, orientation: str = 'euler_parameters') -> None:
        """
        Take joints, loops, couplings and added constraints of a robot.

        orientation: euler_parameters, zxz, rpy or rodrigues.
        """
        if orientation not in ORIENTATIONS:
            raise ValueError(f'no orientation parameters {orientation!r}, only: '
                             + ', '.join(ORIENTATIONS))
        self.robot, self.orientation = robot, orientation
        model = robot.model
        masses, centres, inertias = lumped_bodies(
            model, robot._payloads.added_to(robot._links))
        self.space = BodySpace(model, centres, orientation)
        self.bodies: list[str] = self.space.bodies
        self._constraints = _Map('absolute_constraints', self.space,
                                 [*joint_constraints(model), *robot.constraints])
        self._coordinates = _Map('joint_rates', self.space, joint_coordinates(model))
        self._centres = centres
        self.mass = np.array([masses[b] for b in self.bodies])
        self.inertia = np.array([inertias[b] for b in self.bodies])
        self._rotor = np.array(robot._programs.tree.rotor)
        self._gravity = np.array(model.gravity)

    def state(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return x and u of a configuration and velocity of the joints."""
        robot = self.robot
        q = vector(robot.name, 'q', q, robot.nq, robot.joint_names)
        v = vector(robot.name, 'v', v, robot.nv, robot.joint_names)
        x, u = [], []
        for body in self.bodies:
            T, twist = robot.pose(q, body), robot.velocity(q, v, body)
            R = T[:3, :3]
            arm = R @ self._centres[body]
            x += [*(T[:3, 3] + arm), *orientation_parameters(self.orientation, R)]
            u += [*(twist[:3] + np.cross(twist[3:], arm)), *(R.T @ twist[3:])]
        return np.array(x), np.array(u)

    def residual(self, x: Array, t: float = 0.0) -> Array:
        """Return Phi of joints, loops and all other constraints."""
        return self._constraints(x, np.zeros(self.space.nv), t)[0].residual

    def dynamics(self, x: Array, u: Array, tau: ArrayLike | None = None,
                 t: float = 0.0) -> AbsoluteDynamics:
        """Return accelerations and multipliers under the joint torques `tau`."""
        from scipy import sparse
        terms, J = self._constraints(x, u, t)
        joints, K = self._coordinates(x, u, t)
        # a rotor behind a gear feels the joint's acceleration K u' - gamma
        reflected = sparse.diags(self._rotor)
        M = self._mass_matrix() + K.T @ reflected @ K
        force = self._forces(u) + K.T @ (self._rotor * joints.gamma)
        if tau is not None:
            force = force + K.T @ np.asarray(tau, dtype=np.float64)
        a, multipliers = sparse_solution(M, J, force, terms.gamma)
        return AbsoluteDynamics(a, multipliers)

    def joint_acceleration(self, x: Array, u: Array, acceleration: Array, t: float = 0.0) -> Array:
        """Return the accelerations of the joint coordinates."""
        joints, K = self._coordinates(x, u, t)
        return np.asarray(K @ acceleration - joints.gamma)

    def joint_velocity(self, x: Array, u: Array, t: float = 0.0) -> Array:
        """Return the velocities of the joint coordinates."""
        return np.asarray(self._coordinates(x, u, t)[1] @ u)

    def projected(self, x: Array, u: Array, t: float = 0.0,
                  tolerance: float = 1e-10) -> tuple[Array, Array]:
        """Return x and u on the constraints, as near as the masses allow."""
        M, still = self._mass_matrix(), np.zeros(self.space.nv)
        for _ in range(10):
            terms, J = self._constraints(x, u, t)
            if np.abs(terms.residual).max(initial=0.0) <= tolerance:
                break
            x = self._moved(x, sparse_solution(M, J, still, -terms.residual)[0])
        slip = J @ u + terms.drift
        return x, u + sparse_solution(M, J, still, -slip)[0]

    def rk4(self, t: float, x: Array, u: Array, tau: ArrayLike | None,
            dt: float) -> tuple[Array, Array]:
        """Advance by dt with the classical Runge-Kutta method, then project."""
        def slope(time: float, x: Array, u: Array) -> tuple[Array, Array]:
            return self._rates(x, u), self.dynamics(x, u, tau, time).acceleration

        x1, u1 = slope(t, x, u)
        x2, u2 = slope(t + 0.5 * dt, x + 0.5 * dt * x1, u + 0.5 * dt * u1)
        x3, u3 = slope(t + 0.5 * dt, x + 0.5 * dt * x2, u + 0.5 * dt * u2)
        x4, u4 = slope(t + dt, x + dt * x3, u + dt * u3)
        x = self._unit(x + dt / 6.0 * (x1 + 2.0 * (x2 + x3) + x4))
        return self.projected(x, u + dt / 6.0 * (u1 + 2.0 * (u2 + u3) + u4), t + dt)

    def reactions(self, x: Array, u: Array, tau: ArrayLike | None = None,
                  t: float = 0.0) -> dict[str, Array]:
        """
        Return {joint or loop: [force; torque]} as Robot.reactions does, motors counted in.

        On body i: force -Phi_ri^T lambda, torque -Pi_i^T lambda, about its centre of mass.
        """
        torque = np.zeros(self.robot.nv) if tau is None else np.asarray(tau, dtype=np.float64)
        a, multipliers = self.dynamics(x, u, torque, t)
        _, J = self._constraints(x, u, t)
        _, K = self._coordinates(x, u, t)
        torque = torque - self._rotor * self.joint_acceleration(x, u, a, t) \
            + self._along_joints(x, multipliers, t)
        result: dict[str, Array] = {}
        for joint in self.robot.model.joints:
            if joint.kind == 'fixed':
                continue
            wrench = np.zeros(6)
            if joint.name in self._constraints.structure.rows:
                wrench += self._on(joint.child, J, self._constraints, joint.name, -multipliers)
            if joint.name in self._coordinates.structure.rows:
                wrench += self._on(joint.child, K, self._coordinates, joint.name, torque)
            result[joint.name] = self._at(x, wrench, ends(joint)[1])
        for loop in self.robot.model.loops:
            wrench = self._on(loop.successor.link, J, self._constraints, loop.name, -multipliers)
            result[loop.name] = self._at(x, wrench, loop.successor)
        return result

    def configuration(self, x: Array) -> Array:
        """Return the joint coordinates q, angles between -pi and pi."""
        motion = self.space.motion(x.tolist(), None, 0.0)
        q = np.empty(self.robot.nq)
        for joint in self.robot.model.joints:
            if joint.name not in self.robot.q_index:
                continue
            if joint.kind == 'floating':
                (R_J, p_J), (R_C, p_C) = (
                    (np.array(R), np.array(p)) for R, p in motion.pair(*ends(joint)))
                values = [*(R_J.T @ (p_C - p_J)), *quaternion_of(R_J.T @ R_C)]
            else:
                values = joint_positions(motion, joint)
            q[self.robot.q_index[joint.name]] = values
        return q

    def _along_joints(self, x: Array, multipliers: Array, t: float) -> Array:
        """Return the joint torques of constraints that act along joints: drives, couplings."""
        total = np.zeros(self.robot.nv)
        along = [c.name for c in self.robot.constraints if c.joints]
        if along:
            J = self.robot.constraint_jacobian(self.configuration(x), t)
            for name in along:
                total -= J[self.robot._closure.structure.rows[name]].T \
                    @ multipliers[self._constraints.structure.rows[name]]
        return total

    def _on(self, link: str, matrix: Any, of: _Map, name: str, factors: Array) -> Array:
        """Return force (world axes) and torque (body axes) on a link's body of one constraint."""
        body = self.space.frames[link][0]
        if body is None:
            return np.full(6, np.nan)
        rows, i = of.structure.rows[name], 6 * self.space.index[body]
        return np.asarray(matrix[rows, i:i + 6].T @ factors[rows])

    def _at(self, x: Array, wrench: Array, end: Any) -> Array:
        """Carry a wrench from a body's centre of mass to an attachment and its axes."""
        body, R_BL, p_BL = self.space.frames[end.link]
        if body is None:
            return wrench
        i = self.space.stride * self.space.index[body]
        R = np.array(self.space.orientation.rotation(x[i + 3:i + self.space.stride].tolist()))
        R_BE = np.array(R_BL) @ np.array(end.rotation)
        arm = np.array(p_BL) + np.array(R_BL) @ np.array(end.position)
        force = R.T @ wrench[:3]
        return np.concatenate([R_BE.T @ force, R_BE.T @ (wrench[3:] - np.cross(arm, force))])

    def _mass_matrix(self) -> Any:
        from scipy import sparse
        blocks = [block for m, inertia in zip(self.mass, self.inertia)
                  for block in (m * np.eye(3), inertia)]
        return sparse.block_diag(blocks, format='csc')

    def _forces(self, u: Array) -> Array:
        w = u.reshape(-1, 6)[:, 3:]
        spin = np.einsum('nij,nj->ni', self.inertia, w)
        weight = self.mass[:, None] * self._gravity
        return np.concatenate([weight, -np.cross(w, spin)], axis=1).ravel()

    def _rates(self, x: Array, u: Array) -> Array:
        return np.array(self.space.rates(x.tolist(), u.tolist()), dtype=np.float64)

    def _moved(self, x: Array, step: Array) -> Array:
        return self._unit(x + self._rates(x, step))

    def _unit(self, x: Array) -> Array:
        if self.orientation == 'euler_parameters':
            rows = x.reshape(-1, 7)
            rows[:, 3:] /= np.linalg.norm(rows[:, 3:], axis=1, keepdims=True)
        return x
