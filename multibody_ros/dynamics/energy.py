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
Energies and momentum, summed from the leaves to the root.

`parameters` may have one entry more than there are bodies: the fixed base, which has weight.
"""

from .kinematics import body_velocities, local_placements
from .rnea import wrench_in_parent
from .spatial import add, dot, momentum_of, scale, turned, ZERO


def kinetic_energy(tree, parameters, q, v):
    """Return 1/2 v.M v of bodies and rotors, in joules."""
    velocities = body_velocities(tree, q, v)
    twice = 0.0
    for i in range(len(tree.bodies)):
        linear, angular = velocities[i]
        p, spin = momentum_of(parameters[i], linear, angular)
        twice = twice + (dot(linear, p) + dot(angular, spin))
    for rotor, rate in zip(tree.rotor, v):
        twice = twice + rotor * (rate * rate)
    return 0.5 * twice


def potential_energy(tree, parameters, q):
    """Return -sum m g.r_c, in joules, zero at the world origin."""
    moments = [(block[0], tuple(block[1:4])) for block in parameters]
    if len(moments) == len(tree.bodies):
        moments.append((0.0, ZERO))
    for i, (turn, p) in reversed(list(enumerate(local_placements(tree, q)))):
        m, h = moments[i]
        m_parent, h_parent = moments[tree.bodies[i].parent]
        h = add(turned(turn, h), scale(m, p))
        moments[tree.bodies[i].parent] = m_parent + m, add(h_parent, h)
    return -dot(tree.gravity, moments[-1][1])


def momentum(tree, parameters, q, v):
    """Return [linear; angular] about the world origin, in world axes."""
    velocities = body_velocities(tree, q, v)
    sums = [momentum_of(parameters[i], *velocities[i]) for i in range(len(tree.bodies))]
    sums.append((ZERO, ZERO))
    for i, place in reversed(list(enumerate(local_placements(tree, q)))):
        parent = tree.bodies[i].parent
        p, spin = wrench_in_parent(place, *sums[i])
        sums[parent] = add(sums[parent][0], p), add(sums[parent][1], spin)
    return [*sums[-1][0], *sums[-1][1]]
