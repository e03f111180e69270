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

"""The robot at one state, over any scalars: what the control laws are written with."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .vectors import add, apply, Matrix, minus, times, Vector
from ..dynamics import crba, forward, kinematics, ltdl, manifold, rnea
from ..programs import Programs


class State:
    """M, C v, g, and the kinematics of links, each recorded when first asked for."""

    def __init__(self, programs: Programs, parameters: Any, q: Vector, v: Vector) -> None:
        """Take the tree's `parameters` (see Programs), the configuration and the velocity."""
        self.tree = programs.tree
        self.q, self.v = q, v
        self._continuous = programs.coordinates.continuous()
        self._parameters = programs._blocks(parameters)

    @cached_property
    def M(self) -> Matrix:
        """The mass matrix."""
        return crba.mass_matrix(self.tree, self._parameters, self.q)

    @cached_property
    def factors(self) -> Any:
        """The factors of M, see ltdl."""
        return ltdl.factorised(self.M, ltdl.coordinate_parents(self.tree))

    @cached_property
    def definiteness(self) -> Any:
        """Positive where M can be inverted."""
        return forward.definiteness(self.M, self.factors)

    @cached_property
    def gravity(self) -> Vector:
        """The torques g(q) that hold the robot at rest."""
        return crba.gravity(self.tree, self._parameters, self.q)

    @cached_property
    def coriolis(self) -> Vector:
        """The torques C(q, v) v."""
        return minus(self._bias(self.v), self.gravity)

    def coriolis_with(self, v: Vector) -> Vector:
        """
        Return C(q, self.v) v, Christoffel's, for another velocity.

        C(q, x) y is bilinear and symmetric in x and y, so with c(x) = C(q, x) x it is
        c((x + y) / 2) - c((x - y) / 2), where gravity cancels.
        """
        return minus(self._bias(times(0.5, add(self.v, v))),
                     self._bias(times(0.5, minus(self.v, v))))

    def inertia(self, a: Vector) -> Vector:
        """Return M a."""
        return apply(self.M, a)

    def response(self, tau: Vector) -> Vector:
        """Return M^-1 tau."""
        return ltdl.solved(self.factors, tau)

    def way_to(self, q: Vector) -> Vector:
        """Return the velocity that leads from here to the configuration `q` in one second."""
        return manifold.difference(self.tree, self._continuous, self.q, q)

    def pose(self, link: str) -> tuple[Matrix, Vector]:
        """Return R_WB and p_WB of a link."""
        R, p = kinematics.pose(self.tree, self.q, self.tree.frames[link])
        return R, p

    def jacobian(self, link: str) -> Matrix:
        """Return J of a link's origin, world axes, 6 x nv."""
        return kinematics.jacobian(self.tree, self.q, self.tree.frames[link])

    def jacobian_dot(self, link: str) -> Matrix:
        """Return its time derivative."""
        return kinematics.jacobian_dot(self.tree, self.q, self.v, self.tree.frames[link])

    def _bias(self, v: Vector) -> Vector:
        return rnea.bias(self.tree, self._parameters, self.q, v)
