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
Directional derivatives of inverse and forward dynamics, exact, by dual numbers.

The direction (dq, dv, da) has nv components each; dq moves q on the configuration manifold like
a velocity does: `integrate(q, dq e)`.
"""

from .crba import mass_matrix
from .forward import forward_dynamics
from .ltdl import coordinate_parents, factorised, solved
from .rnea import inverse_dynamics
from .spatial import apply, rotation_of_quaternion
from ..compiler.dual import derivative, Dual, is_number, is_zero


def position_rates(tree, q, v):
    """Return dq/dt, nq components, of coordinates `q` moving at the velocity `v`."""
    rates = [0.0] * tree.nq
    for body in tree.bodies:
        if body.kind == 'floating':
            linear = tuple(v[body.v:body.v + 3])
            x, y, z, w = quaternion = q[body.q + 3:body.q + 7]
            a, b, c = (0.5 * rate for rate in v[body.v + 3:body.v + 6])
            rates[body.q:body.q + 3] = apply(rotation_of_quaternion(quaternion), linear)
            # 1/2 quaternion * (angular velocity, 0)
            rates[body.q + 3:body.q + 7] = (w * a + (y * c - z * b), w * b + (z * a - x * c),
                                            w * c + (x * b - y * a), -(x * a + y * b + z * c))
        else:
            rates[body.q] = v[body.v]
    return rates


def inverse_dynamics_derivative(tree, parameters, q, v, a, dq, dv, da, wrenches=None):
    """Return d tau along (dq, dv, da); wrenches are held in world axes."""
    rates = position_rates(tree, q, dq)
    constants = [_duals(block) for block in parameters]
    held = {frame: _duals(wrench) for frame, wrench in (wrenches or {}).items()}
    tau = inverse_dynamics(
        tree, constants, _duals(q, rates), _duals(v, dv), _duals(a, da), held)
    return [derivative(t) for t in tau]


def forward_dynamics_derivative(tree, parameters, q, v, tau, dq, dv, dtau, wrenches=None):
    """Return da along (dq, dv, dtau): M da = dtau - d ID(q, v, a) at the acceleration a."""
    a = forward_dynamics(tree, parameters, q, v, tau, wrenches)
    shift = inverse_dynamics_derivative(
        tree, parameters, q, v, a, dq, dv, [0.0] * tree.nv, wrenches)
    factors = factorised(mass_matrix(tree, parameters, q), coordinate_parents(tree))
    return solved(factors, [t - s for t, s in zip(dtau, shift)])


def _duals(values, derivatives=None):
    """Return duals; numbers that do not change stay numbers, so that zeros fold."""
    derivatives = [0.0] * len(values) if derivatives is None else derivatives
    return [x if is_number(x) and is_zero(dx) else Dual(x, dx)
            for x, dx in zip(values, derivatives)]
