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

"""Forward dynamics: the mass matrix factorised, or articulated bodies on long chains."""

import math

from .aba import articulated_bodies
from .crba import mass_matrix
from .kinematics import motion_axes
from .ltdl import coordinate_parents, factorised, solved
from .rnea import bias
from ..compiler.functions import where

#: coordinates on one path from which the quadratic mass matrix costs more than linear recursion
LONG_CHAIN = 10
#: a pivot this much smaller than the element it stems from is a rounding error
SINGULAR = 1e-13


def forward_dynamics(tree, parameters, q, v, tau, wrenches=None):
    """Acceleration under the generalised forces `tau` and external wrenches (see rnea)."""
    return guarded_dynamics(tree, parameters, q, v, tau, wrenches)[0]


def guarded_dynamics(tree, parameters, q, v, tau, wrenches=None):
    """Return `forward_dynamics`, and a number that is positive where it can be trusted."""
    if not takes_articulated_bodies(tree):
        return factorised_dynamics(tree, parameters, q, v, tau, wrenches)
    a = articulated_bodies(tree, parameters, q, v, tau, wrenches)
    # a joint without inertia divides by zero, and its acceleration is not finite
    return a, 1.0 + sum((where(x * x, math.inf, 0.0, math.nan) for x in a), 0.0)


def factorised_dynamics(tree, parameters, q, v, tau, wrenches=None):
    """Solve M a = tau - bias; the second result is the definiteness of M."""
    M = mass_matrix(tree, parameters, q)
    factors = factorised(M, coordinate_parents(tree))
    held = bias(tree, parameters, q, v, wrenches)
    return solved(factors, [t - b for t, b in zip(tau, held)]), definiteness(M, factors)


def definiteness(M, factors, coordinates=None):
    """
    Return a number that is positive where M is positive definite beyond rounding errors.

    Only the pivots of `coordinates` are looked at, by default all.
    """
    total = 0.0
    for k in range(len(M)) if coordinates is None else coordinates:
        ratio = M[k][k] * factors[1][k]
        total = total + where(0.0, ratio, ratio, math.nan)
    return where(total, 1.0 / SINGULAR, 1.0, -1.0)


def takes_articulated_bodies(tree):
    """Tell which of the two algorithms is the quicker one."""
    return longest_path(tree) > LONG_CHAIN and not has_mimic(tree)


def longest_path(tree):
    """Return the largest number of velocity coordinates between the root and any body."""
    lengths = {-1: 0}
    for i, body in enumerate(tree.bodies):
        lengths[i] = lengths[body.parent] + len(motion_axes(body))
    return max(lengths.values())


def has_mimic(tree):
    """Tell whether two joints share a coordinate."""
    coordinates = [body.v for body in tree.bodies]
    return len(set(coordinates)) < len(coordinates)
