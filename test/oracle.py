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
Lagrange's equations with homogeneous transforms (theory.md section 2): slow and independent.

Straight from the Model, with kinematics of its own and numpy; nothing of dynamics/ or of the tree
is used. Joints of one coordinate, planar ones (three in a row) and mimic; no floating joints.
"""

from __future__ import annotations

import numpy as np


class Lagrange:
    """D_ij, D_ijk and D_i of a model at q, and what follows from them."""

    def __init__(self, model, q):
        """Place all links at q and differentiate the placements twice."""
        self.model = model
        self.index = coordinate_indices(model)
        self.n = sum(3 if j.kind == 'planar' else 1 for j in model.joints if j.name in self.index)
        self.T = {model.links[0].name: np.eye(4)}
        #: per link: [(coordinate, ratio, generator in the world)], root first
        self.generators = {model.links[0].name: []}
        for joint in model.joints:
            T = self.T[joint.parent] @ placement(joint.rotation, joint.position)
            along = list(self.generators[joint.parent])
            for coordinate, ratio, offset, generator in self._freedoms(joint):
                along.append((coordinate, ratio, T @ generator @ np.linalg.inv(T)))
                T = T @ exponential(generator, ratio * q[coordinate] + offset)
            self.T[joint.child], self.generators[joint.child] = T, along

    def _freedoms(self, joint):
        if joint.kind == 'fixed':
            return []
        if joint.kind == 'planar':
            first = self.index[joint.name]
            x, y = plane(np.array(joint.axis))
            generators = (sliding(x), sliding(y), turning(joint.axis))
            return [(first + k, 1.0, 0.0, g) for k, g in enumerate(generators)]
        generator = (sliding if joint.kind == 'prismatic' else turning)(joint.axis)
        if joint.mimic:
            leader = self.index[joint.mimic.joint]
            return [(leader, joint.mimic.multiplier, joint.mimic.offset, generator)]
        return [(self.index[joint.name], 1.0, 0.0, generator)]

    def first(self, link):
        """Return dT/dq_i, n x 4 x 4."""
        result = np.zeros((self.n, 4, 4))
        for i, ratio, W in self.generators[link]:
            result[i] += ratio * W @ self.T[link]
        return result

    def second(self, link):
        """Return d2T/dq_i dq_j, n x n x 4 x 4."""
        result = np.zeros((self.n, self.n, 4, 4))
        along = self.generators[link]
        for a, (i, ratio_i, W_i) in enumerate(along):
            for b, (j, ratio_j, W_j) in enumerate(along):
                outer_first = W_i @ W_j if a <= b else W_j @ W_i
                result[i, j] += ratio_i * ratio_j * outer_first @ self.T[link]
        return result

    def rotors(self):
        """Return the reflected rotor inertia of every coordinate."""
        result = np.zeros(self.n)
        for joint in self.model.joints:
            if joint.rotor_inertia:
                leader = joint.mimic.joint if joint.mimic else joint.name
                ratio = joint.mimic.multiplier if joint.mimic else 1.0
                result[self.index[leader]] += (ratio * joint.gear_ratio) ** 2 * joint.rotor_inertia
        return result

    def mass_matrix(self):
        """Return D_ij."""
        M = np.diag(self.rotors())
        for link in self.model.links:
            dT = self.first(link.name)
            M += np.einsum('jab,bc,iac->ij', dT, pseudo_inertia(link), dT)
        return M

    def coriolis_matrix(self, v):
        """Return sum_k D_ijk v_k: with these, Christoffel's symbols."""
        C = np.zeros((self.n, self.n))
        for link in self.model.links:
            along = np.einsum('jkab,k->jab', self.second(link.name), v)
            C += np.einsum('jab,bc,iac->ij', along, pseudo_inertia(link), self.first(link.name))
        return C

    def gravity(self):
        """Return D_i."""
        g = np.array([*self.model.gravity, 0.0])
        return -sum(np.einsum('a,iab,b->i', g, self.first(link.name), pseudo_inertia(link)[:, 3])
                    for link in self.model.links)

    def inverse_dynamics(self, v, a):
        """Return tau."""
        return self.mass_matrix() @ a + self.coriolis_matrix(v) @ v + self.gravity()

    def potential_energy(self):
        """Return -sum m g.r_c of all links, the fixed ones too."""
        g = np.array([*self.model.gravity, 0.0])
        return -sum(g @ self.T[link.name] @ pseudo_inertia(link)[:, 3]
                    for link in self.model.links)

    def momentum(self, v):
        """Return [linear; angular] about the world origin."""
        total = np.zeros(6)
        for link in self.model.links:
            T_dot = np.einsum('iab,i->ab', self.first(link.name), v)
            Q = T_dot @ pseudo_inertia(link) @ self.T[link.name].T
            total += [*Q[:3, 3], *axial(Q[:3, :3] - Q[:3, :3].T)]
        return total

    def jacobian(self, link):
        """Return the 6 x n Jacobian of the link's origin, world axes."""
        return self._columns(self.first(link), np.linalg.inv(self.T[link]))

    def jacobian_dot(self, link, v):
        """Return its time derivative: that of (dT/dq_i) T^-1, and of its origin's column."""
        inverse = np.linalg.inv(self.T[link])
        first = self.first(link)
        rate = np.einsum('ijab,j->iab', self.second(link), v)
        T_dot = np.einsum('iab,i->ab', first, v)
        turning_rate = rate @ inverse - first @ inverse @ T_dot @ inverse
        return np.array([[*d[:3, 3], *axial((w - w.T)[:3, :3]) / 2]
                         for d, w in zip(rate, turning_rate)]).reshape(-1, 6).T

    @staticmethod
    def _columns(first, inverse):
        return np.array([[*d[:3, 3], *axial(((d @ inverse) - (d @ inverse).T)[:3, :3]) / 2]
                         for d in first]).reshape(-1, 6).T


def coordinate_indices(model):
    """Return {joint: its first coordinate}."""
    index, n = {}, 0
    for joint in model.joints:
        if joint.kind != 'fixed' and joint.mimic is None:
            index[joint.name] = n
            n += 3 if joint.kind == 'planar' else 1
    return index


def placement(R, p):
    """Return the homogeneous transform."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def turning(axis):
    """Return the generator of rotations about a unit axis."""
    x, y, z = axis
    return np.array([[0, -z, y, 0], [z, 0, -x, 0], [-y, x, 0, 0], [0, 0, 0, 0.0]])


def sliding(axis):
    """Return the generator of translations."""
    generator = np.zeros((4, 4))
    generator[:3, 3] = axis
    return generator


def exponential(generator, x):
    """Return exp(generator x); the cube of a turning generator is its negative."""
    if generator[:3, :3].any():
        return np.eye(4) + np.sin(x) * generator + (1 - np.cos(x)) * generator @ generator
    return np.eye(4) + x * generator


def plane(normal):
    """Return x and y carried along when z is turned to the normal by the shortest arc."""
    axis = np.cross([0.0, 0.0, 1.0], normal)
    if normal[2] == -1.0:
        return np.array([1.0, 0, 0]), np.array([0, -1.0, 0])
    size = np.linalg.norm(axis)
    if size == 0.0:
        return np.eye(3)[0], np.eye(3)[1]
    R = exponential(turning(axis / size), np.arctan2(size, normal[2]))[:3, :3]
    return R[:, 0], R[:, 1]


def pseudo_inertia(link):
    """Return integral X X^T dm, X homogeneous."""
    m, *h = link.parameters[:4]
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = link.parameters[4:]
    inertia += np.triu(inertia, 1).T
    J = np.zeros((4, 4))
    J[:3, :3] = np.trace(inertia) / 2 * np.eye(3) - inertia
    J[:3, 3] = J[3, :3] = h
    J[3, 3] = m
    return J


def axial(A):
    """Return the vector of a skew matrix."""
    return np.array([A[2, 1], A[0, 2], A[1, 0]])
