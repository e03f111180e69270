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

"""Random robots for the tests: all joint kinds, possible inertias, URDF text of them."""

from __future__ import annotations

import math

from multibody_ros.model.model import Joint, Link, Mimic, Model
import numpy as np

SCALAR_KINDS = ('revolute', 'continuous', 'prismatic')
KINDS = (*SCALAR_KINDS, 'revolute', 'fixed', 'planar', 'floating')


def random_rotation(rng):
    """Return a rotation, one in three times by right angles only."""
    if rng.random() < 1 / 3:
        rows = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], (3, 1))
        return rows * np.linalg.det(rows).round()
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.linalg.det(Q).round()


def random_axis(rng):
    """Return a unit vector, often along a coordinate axis, either way."""
    if rng.random() < 0.6:
        return rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)]
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def random_link(rng, name):
    """Return a link of five random mass points: any such inertia is physically possible."""
    mass = rng.uniform(0.1, 1.0, size=5)
    r = rng.uniform(-0.3, 0.3, size=(5, 3))
    S = np.einsum('k,ki,kj->ij', mass, r, r)
    inertia = np.trace(S) * np.eye(3) - S
    elements = inertia[np.triu_indices(3)]
    return Link(name, (float(mass.sum()), *map(float, mass @ r), *map(float, elements)))


def random_model(rng, joints, kinds=KINDS, mimic=0.15, branching=0.3, rotors=True):
    """
    Return a tree of `joints` joints; a share `mimic` of the scalar ones follow another.

    Without `branching` it is a chain.
    """
    parents = [max(0, k - int(rng.geometric(1 - branching)))
               if not branching or rng.random() < 0.8
               else int(rng.integers(k)) for k in range(1, joints + 1)]
    parents[0] = 0
    children = [[k for k in range(1, joints + 1) if parents[k - 1] == p]
                for p in range(joints + 1)]
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack += reversed(children[order[-1]])
    links = [random_link(rng, f'link{k:03}') for k in order]
    made = []
    for k in order[1:]:
        made.append(_random_joint(rng, k, parents[k - 1], kinds, mimic, made, rotors))
    gravity = tuple(map(float, rng.normal(size=3) * 5))
    return Model('random', tuple(links), tuple(made), gravity)


def _random_joint(rng, k, parent, kinds, mimic, made, rotors):
    kind = str(rng.choice(kinds))
    leaders = [j.name for j in made if j.kind in SCALAR_KINDS and j.mimic is None]
    follows = None
    if kind in SCALAR_KINDS and leaders and rng.random() < mimic:
        follows = Mimic(str(rng.choice(leaders)), *map(float, rng.uniform(-1.5, 1.5, 2)))
    geared = rotors and kind in SCALAR_KINDS and rng.random() < 0.3
    return Joint(
        f'joint{k:03}', kind, f'link{parent:03}', f'link{k:03}',
        tuple(tuple(map(float, row)) for row in random_rotation(rng)),
        tuple(map(float, rng.uniform(-0.5, 0.5, 3) * (rng.random(3) < 0.7))),
        tuple(map(float, random_axis(rng))),
        rotor_inertia=1e-4 if geared else 0.0, gear_ratio=50.0 if geared else 1.0, mimic=follows)


def body_parameters(tree, model):
    """Return the parameters of the bodies as the dynamics functions take them."""
    links = np.array([link.parameters for link in model.links])
    return [tuple(map(float, row)) for row in tree.body_parameters(links)]


def random_state(rng, tree):
    """Return q (unit quaternions), v, a as lists of floats."""
    q = rng.uniform(-1.5, 1.5, tree.nq)
    for body in tree.bodies:
        if body.kind == 'floating':
            q[body.q + 3:body.q + 7] /= np.linalg.norm(q[body.q + 3:body.q + 7])
    return [x.tolist() for x in (q, rng.normal(size=tree.nv), rng.normal(size=tree.nv))]


def rpy(R):
    """Return URDF's angles of a rotation."""
    R = np.asarray(R)
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    if math.hypot(R[0, 0], R[1, 0]) < 1e-9:
        return 0.0, pitch, math.atan2(-R[0, 1], R[1, 1])
    return math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])


def urdf_of(model):
    """Return the model as URDF text."""
    lines = [f'<robot name="{model.name}">']
    for link in model.links:
        m, *rest = link.parameters
        c = np.array(rest[:3]) / m if m else np.zeros(3)
        I_o = np.zeros((3, 3))
        I_o[np.triu_indices(3)] = rest[3:]
        I_c = I_o - m * (c @ c * np.eye(3) - np.outer(c, c))
        numbers = ' '.join(
            f'i{"xyz"[i]}{"xyz"[j]}="{float(I_c[i, j])!r}"'
            for i in range(3) for j in range(i, 3))
        lines += [f'<link name="{link.name}"><inertial><origin xyz="{_text(c)}"/>'
                  f'<mass value="{m!r}"/><inertia {numbers}/></inertial></link>']
    for joint in model.joints:
        lines += [f'<joint name="{joint.name}" type="{joint.kind}">'
                  f'<parent link="{joint.parent}"/><child link="{joint.child}"/>'
                  f'<origin xyz="{_text(joint.position)}" rpy="{_text(rpy(joint.rotation))}"/>'
                  f'<axis xyz="{_text(joint.axis)}"/>'
                  '<limit lower="-9" upper="9" effort="99" velocity="99"/>']
        if joint.mimic:
            lines += [f'<mimic joint="{joint.mimic.joint}" '
                      f'multiplier="{joint.mimic.multiplier!r}" offset="{joint.mimic.offset!r}"/>']
        lines += ['</joint>']
    return '\n'.join([*lines, '</robot>'])


def _text(vector):
    return ' '.join(repr(float(x)) for x in vector)
