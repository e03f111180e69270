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

"""The compiled side of a robot's constraints: terms, accelerations, projection."""

from __future__ import annotations

import hashlib
from typing import Any, Callable, NamedTuple, Sequence, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .assembly import closest
from ..arguments import complain, together, vector
from ..compiler.kernel import Kernel
from ..compiler.program import Input, Output, Program
from ..damped import singular_mass
from ..dynamics import elimination, kkt
from ..dynamics.constraint_terms import Structure
from ..dynamics.constraints import Constraint, JointCoupling, LoopClosure
from ..dynamics.motion import JointSpace
from ..model.model import ModelError
from ..programs import Programs

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]

#: configurations that are looked at to find equations that follow from others
CONFIGURATIONS = 3


class Terms(NamedTuple):
    """Phi, the entries of Phi_q that can differ from zero, Phi_t, gamma."""

    residual: Array
    entries: Array
    drift: Array
    gamma: Array


class ConstrainedDynamics(NamedTuple):
    """Accelerations, and one multiplier an equation: the reaction is -Phi_q^T multipliers."""

    acceleration: Array
    multipliers: Array


class Projection(NamedTuple):
    """
    Steps of q and v back onto the constraints, and the squared lengths of both errors.

    `regularity` goes to 0, with the square of the distance, towards a singular configuration.
    """

    position: Array
    velocity: Array
    residual: float
    slip: float
    regularity: float


class Closure:
    """The constraints of one robot, compiled."""

    def __init__(self, robot: Robot, constraints: Sequence[Constraint]) -> None:
        """Record the constraints of the model and the given ones; names must be unique."""
        self.robot = robot
        programs = robot._programs
        space = JointSpace(programs.tree, robot.model)
        own = [*(LoopClosure(loop) for loop in robot.model.loops),
               *(JointCoupling(coupling, space.above) for coupling in robot.model.couplings)]
        self.constraints = tuple(c for c in (*own, *constraints))
        _check_names(robot, self.constraints)
        self.structure = Structure(space, self.constraints)
        self.size = self.structure.size
        self.active = np.array(self.structure.active, dtype=int)
        self._rows, self._columns = (
            np.array([entry[k] for entry in self.structure.entries], dtype=int) for k in (0, 1))
        program = self._program('constraint_terms', 'q v', self.structure.terms, [
            (self.size,), (len(self._rows),), (self.size,), (self.size,)], Terms)
        recording = program.record()
        self._key = programs.key + hashlib.sha256(
            repr((recording.operations, recording.outputs)).encode()).digest()
        self._kernel = Kernel(program, self._key, [], Terms)
        self.terms: Callable[[Array, Array, Array], Terms] = self._kernel.python_function(
            self.slow_terms)
        self.structure.kept = self._independent_rows()
        #: equations follow from others wherever the mechanism is: multipliers are not unique
        self.redundant = len(self.structure.kept) < len(self.active)
        self._key += repr(self.structure.kept).encode()
        self._dynamics_kernel = self._guarded(
            'constrained_dynamics', 'q v tau', elimination.constrained_dynamics,
            [(robot.nv,), (self.size,)], ConstrainedDynamics)
        self._projection_kernel = self._guarded(
            'projection', 'q v', elimination.projection,
            [(robot.nv,), (robot.nv,), (), (), ()], Projection)

    def _program(self, name: str, words: str, function: Callable[..., Any],
                 shapes: Sequence[tuple[int, ...]], result: Any, guarded: bool = False,
                 parameters: int = 0) -> Program:
        robot = self.robot
        inputs = [Input('parameters', parameters, shared=True)] if parameters else []
        inputs += [Input(word, robot.nq if word == 'q' else robot.nv) for word in words.split()]
        return Program(
            name, (*inputs, Input('t', 1)),
            tuple(Output(field, shape) for field, shape in zip(result._fields, shapes)),
            lambda *x: function(*x[:-1], x[-1][0]), guarded)

    def _guarded(self, name: str, words: str, function: Callable[..., Any],
                 shapes: Sequence[tuple[int, ...]], result: Any) -> Kernel:
        programs: Programs = self.robot._programs

        def recorded(parameters: Any, *x: Any) -> Any:
            return function(self.structure, programs.tree, programs._blocks(parameters), *x)

        size = self.robot._shared.size
        return Kernel(self._program(name, words, recorded, shapes, result, True, size),
                      self._key, [self.robot._shared], result)

    def _independent_rows(self) -> list[int]:
        """
        Return active rows that determine the motion at a configuration without features.

        Closed as far as can be from shaken neutral ones, the one of largest rank is taken.
        """
        robot, rng = self.robot, np.random.default_rng(0)
        best: list[int] = []
        for _ in range(CONFIGURATIONS):
            q = robot.integrate(robot.neutral(), rng.normal(scale=0.3, size=robot.nv))
            q = closest(self, q, np.arange(robot.nv), 0.0, 1e-10)[0]
            terms = self.terms(q, np.zeros(robot.nv), np.zeros(1))
            rows = kkt.independent_rows(self.jacobian(terms.entries)[self.active])
            if len(rows) > len(best):
                best = rows
        return [int(self.active[k]) for k in sorted(best)]

    def fast_dynamics(self) -> Callable[..., ConstrainedDynamics]:
        """Return the quickest function (q, v, tau, [t]) -> a, active multipliers."""
        return self._dynamics_kernel.python_function(self.slow_dynamics)

    def fast_projection(self) -> Callable[..., Projection]:
        """Return the quickest function (q, v, [t]) -> Projection."""
        return self._projection_kernel.python_function(self.slow_projection)

    def jacobian(self, entries: Array) -> Array:
        """Return Phi_q, size x nv, from its entries."""
        J = np.zeros((*entries.shape[:-1], self.size, self.robot.nv))
        J[..., self._rows, self._columns] = entries
        return J

    def arrays(self, t: ArrayLike, **inputs: ArrayLike) -> tuple[list[Array], tuple[int, ...]]:
        """Return inputs and time as rows with common batch axes."""
        robot = self.robot
        times = np.asarray(t, dtype=np.float64)
        given = [vector(robot.name, name, value, robot.nq if name == 'q' else robot.nv,
                        robot.joint_names) for name, value in inputs.items()]
        return together([*given, times if times.shape == (1,) else times[..., None]])

    def slow_terms(self, q: ArrayLike, v: ArrayLike, t: ArrayLike) -> Terms:
        """Answer for batches, lists and what is not good."""
        arrays, batch = self.arrays(t, q=q, v=v)
        outputs, good = self._kernel.run(arrays, len(arrays[0]) if batch else None)
        if not good:
            self._complain(dict(zip(('q', 'v', 't'), arrays)))
        return Terms(*(x.reshape(*batch, x.shape[-1]) for x in outputs))

    def slow_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike,
                      t: ArrayLike) -> ConstrainedDynamics:
        """Answer for batches and lists, and rank-revealing where rows depend on each other."""
        arrays, batch = self.arrays(t, q=q, v=v, tau=tau)
        outputs, good = self._dynamics_kernel.run(arrays, len(arrays[0]) if batch else None)
        if not good:
            q, v, tau, t = arrays
            self._complain({'q': q, 'v': v, 'tau': tau, 't': t})
            terms = self.slow_terms(q, v, t[..., 0])
            J, gamma = self.jacobian(terms.entries), terms.gamma
            Q = tau - self.robot.bias_torque(q, v)
            a, multipliers = self.solution(q, J[..., self.active, :], Q, gamma[..., self.active])
            outputs = [a, self._all_rows(multipliers)]
        return ConstrainedDynamics(*(x.reshape(*batch, x.shape[-1]) for x in outputs))

    def slow_projection(self, q: ArrayLike, v: ArrayLike, t: ArrayLike) -> Projection:
        """Answer for one state where rows depend on each other."""
        arrays, _ = self.arrays(t, q=q, v=v)
        outputs, good = self._projection_kernel.run(arrays, None)
        if not good:
            self._complain(dict(zip(('q', 'v', 't'), arrays)))
            return self.full_projection(*arrays)
        return self._projection_kernel.pack(outputs)  # type: ignore[no-any-return]

    def full_projection(self, q: Array, v: Array, t: Array) -> Projection:
        """Return the steps that do the best for all equations, by singular values."""
        terms = self.terms(q, v, t)
        J = self.jacobian(terms.entries)
        slip = J @ v + terms.drift
        M = self.robot.mass_matrix(q)
        return Projection(
            kkt.projection_step(M, J, terms.residual), kkt.projection_step(M, J, slip),
            float(terms.residual @ terms.residual), float(slip @ slip),
            kkt.regularity(J[self.structure.kept]))

    def solution(self, q: Array, J: Array, Q: Array, gamma: Array) -> tuple[Array, Array]:
        """Solve the equations of motion by singular values."""
        try:
            return kkt.constrained_solution(self.robot.mass_matrix(q), J, Q, gamma)
        except np.linalg.LinAlgError:
            raise singular_mass(self.robot, q) from None

    def shortest(self, motion: ConstrainedDynamics, q: ArrayLike,
                 t: ArrayLike) -> ConstrainedDynamics:
        """Return the motion with the shortest multipliers of the same generalised reaction."""
        terms = self.slow_terms(q, np.zeros(self.robot.nv), t)
        J = self.jacobian(terms.entries)
        J_t = np.swapaxes(J, -1, -2)
        reaction = J_t @ motion.multipliers[..., None]
        return ConstrainedDynamics(
            motion.acceleration, (np.linalg.pinv(J_t, kkt.RANK) @ reaction)[..., 0])

    def _all_rows(self, multipliers: Array) -> Array:
        rows = np.zeros((*multipliers.shape[:-1], self.size))
        rows[..., self.active] = multipliers
        return rows

    def _complain(self, inputs: dict[str, Array]) -> None:
        t = inputs.pop('t')
        complain(self.robot.name, self.robot._coordinates, inputs)
        if not np.isfinite(t).all():
            raise ValueError(f'the time t must be finite, not {t.ravel().tolist()}')


def _check_names(robot: Robot, constraints: Sequence[Constraint]) -> None:
    seen: set[str] = set()
    for constraint in constraints:
        if constraint.name in seen:
            raise ModelError(f"robot '{robot.name}' has two constraints '{constraint.name}'")
        seen.add(constraint.name)
        for kind, names, choices in (('link', constraint.links, robot.link_names),
                                     ('joint', constraint.joints,
                                      [j.name for j in robot.model.joints])):
            for name in names:
                if name not in choices:
                    raise ModelError(
                        f"constraint '{constraint.name}': robot '{robot.name}' has no {kind} "
                        f"'{name}', only: " + ', '.join(choices))
