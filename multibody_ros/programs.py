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
What is compiled for a robot: the textbook's functions with the arrays they read and write.

The tree the algorithms run on is rewritten first (frames turned, parameters regrouped), which
costs nothing at run time and changes no result. The inertial parameters are an input that all
states of a batch share, so that a payload or an identified parameter needs no recompilation.
"""

from __future__ import annotations

from functools import cached_property
import hashlib
from typing import Any, Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiler.functions import where
from .compiler.program import Input, Output, Program
from .dynamics import (
    cartesian, coriolis, crba, derivatives, energy, forward, kinematics, manifold, regressor, rnea)
from .model.coordinates import Coordinates
from .model.frames import turned_frames
from .model.lump import tree_of
from .model.model import Model
from .model.regroup import moved_parameters, regrouped
from .model.tree import Tree

Array = NDArray[np.float64]


class CartesianDynamics(NamedTuple):
    """
    Mx x'' + Cx x' + gx = F of a link's origin, [linear; angular], world axes.

    `consistent_inverse` is Jbar = M^-1 J^T Mx. `singularity` is the reciprocal norm of the inverse
    of the dimensionless mobility: 0 at a singularity; below dynamics.cartesian.DAMPED_BELOW the
    directions that are being lost are damped.
    """

    mass: Array
    coriolis: Array
    gravity: Array
    jacobian: Array
    jacobian_dot: Array
    consistent_inverse: Array
    singularity: float


#: name -> function(tree, parameters, ...), its inputs, the shape of its output
TREE: dict[str, tuple[Callable[..., Any], str, str]] = {
    'inverse_dynamics': (rnea.inverse_dynamics, 'q v a', 'nv'),
    'forward_dynamics': (forward.guarded_dynamics, 'q v tau', 'nv'),
    'bias_torque': (rnea.bias, 'q v', 'nv'),
    'gravity_torque': (crba.gravity, 'q', 'nv'),
    'mass_matrix': (crba.mass_matrix, 'q', 'nv nv'),
    'coriolis_matrix': (coriolis.coriolis_matrix, 'q v', 'nv nv'),
    'kinetic_energy': (energy.kinetic_energy, 'q v', ''),
    'potential_energy': (energy.potential_energy, 'q', ''),
    'momentum': (energy.momentum, 'q v', '6'),
    'inverse_dynamics_derivative': (
        derivatives.inverse_dynamics_derivative, 'q v a dq dv da', 'nv'),
}
#: name -> function(tree, ..., frame), its inputs, the shape of its output
FRAME: dict[str, tuple[Callable[..., Any], str, str]] = {
    'velocity': (kinematics.velocity, 'q v', '6'),
    'jacobian': (kinematics.jacobian, 'q', '6 nv'),
    'jacobian_dot': (kinematics.jacobian_dot, 'q v', '6 nv'),
}
#: functions whose length grows as the square of the number of joints
QUADRATIC = ('mass_matrix', 'coriolis_matrix', 'regressor', 'cartesian_dynamics')


class Programs:
    """The programs of one model."""

    def __init__(self, model: Model, coordinates: Coordinates) -> None:
        """Rewrite the model's tree for cheap evaluation."""
        self.model = model
        self.coordinates = coordinates
        self.tree = turned_frames(tree_of(model))
        self.sizes = {'nv': self.tree.nv, 'nq': self.tree.nq}
        self._moved = [moved_parameters(body) for body in self.tree.bodies]

    @cached_property
    def key(self) -> bytes:
        """What tells this robot's code from that of others: the geometry, but not the masses."""
        tree, turning = self.tree, sorted(self.coordinates.continuous())
        geometry = repr((tree.bodies, tree.gravity, tree.rotor, turning))
        return hashlib.sha256(geometry.encode()).digest()

    @cached_property
    def whole_tree(self) -> Tree:
        """The tree in the file's own frames, fixed joints as bodies: for the forces in joints."""
        return tree_of(self.model, lump_fixed=False)

    def parameters(self, links: Array) -> Array:
        """Return what the programs take, for the (links, 10) parameters of the links."""
        return regrouped(self.tree, self.tree.body_parameters(links)).ravel()

    def whole_parameters(self, links: Array) -> Array:
        """Return the same for the program `joint_wrenches`."""
        return self.whole_tree.body_parameters(links).ravel()

    def of_tree(self, name: str) -> Program:
        """Return a program of the table TREE."""
        function, inputs, shape = TREE[name]
        return self._program(name, inputs, [('result', shape)], lambda p, *x: function(
            self.tree, self._blocks(p), *x), guarded=name == 'forward_dynamics')

    def of_frame(self, name: str, link: str) -> Program:
        """Return a program of the table FRAME for a link."""
        function, inputs, shape = FRAME[name]
        frame = self.tree.frames[link]
        return self._program(name, inputs, [('result', shape)],
                             lambda p, *x: function(self.tree, *x, frame))

    def pose(self, link: str) -> Program:
        """Return the program of a link's 4x4 pose."""
        def function(_: Any, q: Any) -> Any:
            R, p = kinematics.pose(self.tree, q, self.tree.frames[link])
            return [[*row, x] for row, x in zip(R, p)], (0.0, 0.0, 0.0, 1.0)
        return self._program('pose', 'q', [('result', '4 4')], function)

    def cartesian_dynamics(self, link: str) -> Program:
        """Return the program of a link's operational-space dynamics."""
        shapes = ('6 6', '6 6', '6', '6 nv', '6 nv', 'nv 6', '')
        frame = self.tree.frames[link]
        return self._program(
            'cartesian_dynamics', 'q v', list(zip(CartesianDynamics._fields, shapes)),
            lambda p, q, v: cartesian.cartesian_dynamics(self.tree, self._blocks(p), q, v, frame),
            guarded=True)

    def regressor(self) -> Program:
        """Return the program of the regressor of all links."""
        return self._program(
            'regressor', 'q v a', [('result', f'nv {10 * len(self.model.links)}')],
            lambda _, *x: regressor.link_regressor(self.tree, *x))

    def joint_wrenches(self) -> Program:
        """Return the program of the wrenches of all bodies of `whole_tree`."""
        tree = self.whole_tree
        return self._program(
            'joint_wrenches', 'q v a', [('result', f'{len(tree.bodies)} 6')],
            lambda p, *x: rnea.joint_wrenches(tree, _rows(p), *x), 10 * len(tree.bodies))

    def integrate(self) -> Program:
        """Return the program of a motion along a velocity for one second."""
        return self._program('integrate', 'q dq', [('result', 'nq')],
                             lambda _, *x: manifold.integrate(self.tree, *x))

    def difference(self) -> Program:
        """Return the program of the way from one configuration to another."""
        return self._program(
            'difference', 'q q', [('result', 'nv')],
            lambda _, *x: manifold.difference(self.tree, self.coordinates.continuous(), *x))

    def _program(self, name: str, inputs: str, outputs: list[tuple[str, str]],
                 function: Callable[..., Any], parameters: int | None = None,
                 guarded: bool = False) -> Program:
        """Return a program of `function(parameters, *inputs)`; quaternions must not vanish."""
        words = inputs.split()
        if parameters is None:
            parameters = 10 * (len(self.tree.bodies) + 1)
        quaternions = self.coordinates.quaternions()

        def checked(p: Any, *x: Any) -> Any:
            result = function(p, *x)
            if not guarded and not quaternions:
                return result
            guard = result[-1] if guarded else 1.0
            for place in quaternions if 'q' in words else ():
                for q, word in zip(x, words):
                    if word == 'q':
                        square = sum((c * c for c in q[place]), 0.0)
                        guard = where(0.0, square, guard, -1.0)
            return (result[:-1] if guarded else result), guard

        sizes = [self.sizes['nq' if word == 'q' else 'nv'] for word in words]
        own = (Input(f'{word}{k}', size) for k, (word, size) in enumerate(zip(words, sizes)))
        return Program(
            name, (Input('parameters', parameters, shared=True), *own),
            tuple(Output(output, tuple(
                self.sizes[word] if word in self.sizes else int(word) for word in shape.split()))
                for output, shape in outputs),
            checked, guarded or bool(quaternions))

    def _blocks(self, parameters: Any) -> list[tuple[Any, ...]]:
        """Return the ten parameters of every body and of the world, the regrouped ones zero."""
        rows = _rows(parameters)
        return [tuple(0.0 if k in moved else x for k, x in enumerate(row))
                for row, moved in zip(rows, [*self._moved, ()])]


def _rows(flat: Any) -> list[Any]:
    return [flat[k:k + 10] for k in range(0, len(flat), 10)]
