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

"""Pinocchio's answer to the same question, in our order of coordinates."""

from __future__ import annotations

import numpy as np
import pinocchio as pin


class Peer:
    """A Pinocchio model and the map between its coordinates and those of a tree."""

    def __init__(self, tree, urdf, floating_base=False, gravity=(0.0, 0.0, -9.81)):
        """Build Pinocchio's model of the URDF text."""
        root = (pin.JointModelFreeFlyer(), 'floating_base') if floating_base else ()
        self.model = pin.buildModelFromXML(urdf, *root, mimic=True)
        self.model.gravity.linear = np.array(gravity)
        self.data = self.model.createData()
        self.tree = tree
        self.order = np.zeros(tree.nv, int)
        self.places = []
        for body in tree.bodies:
            joint = self.model.joints[self.model.getJointId(body.joint)]
            if joint.shortname() != 'JointModelMimic':
                self.places.append((body.q, joint.idx_q, joint.nq))
                self.order[body.v:body.v + joint.nv] = joint.idx_v + np.arange(joint.nv)

    def q(self, q):
        """Return Pinocchio's q; continuous joints are cosine and sine there."""
        result = pin.neutral(self.model)
        for ours, theirs, nq in self.places:
            result[theirs:theirs + nq] = (
                (np.cos(q[ours]), np.sin(q[ours])) if nq == 2 else q[ours:ours + nq])
        return result

    def v(self, v):
        """Return Pinocchio's v."""
        result = np.zeros(self.model.nv)
        result[self.order] = v
        return result

    def inverse_dynamics(self, q, v, a, wrenches=None):
        """Return tau; wrenches: {link: [force; torque] in world axes}."""
        external = [pin.Force.Zero() for _ in self.model.joints]
        if wrenches:
            pin.framesForwardKinematics(self.model, self.data, self.q(q))
        for link, wrench in (wrenches or {}).items():
            frame = self.model.getFrameId(link, pin.BODY)
            place = self.data.oMf[frame]
            local = pin.Force(place.rotation.T @ wrench[:3], place.rotation.T @ wrench[3:])
            joint = self.model.frames[frame].parentJoint
            external[joint] += self.model.frames[frame].placement.act(local)
        return pin.rnea(self.model, self.data, self.q(q), self.v(v), self.v(a),
                        external)[self.order]

    def joint_wrenches(self):
        """Return {joint: [force; torque]} of the last inverse dynamics."""
        return {name: self.data.f[self.model.getJointId(name)].vector
                for name in self.model.names[1:]}

    def mass_matrix(self, q):
        """
        Return M; by unit accelerations where joints mimic.

        With two followers on one path Pinocchio 4.1's own crba and rnea disagree.
        """
        if len(self.places) < len(self.model.joints) - 1:
            still = np.zeros(self.tree.nv)
            held = self.inverse_dynamics(q, still, still)
            return np.array([self.inverse_dynamics(q, still, unit) - held
                             for unit in np.eye(self.tree.nv)]).T
        M = np.triu(pin.crba(self.model, self.data, self.q(q)))
        return (M + np.triu(M, 1).T)[np.ix_(self.order, self.order)]

    def forward_dynamics(self, q, v, tau):
        """Return a; no mimic joints."""
        return pin.aba(self.model, self.data, self.q(q), self.v(v), self.v(tau))[self.order]

    def jacobians(self, q, v, link):
        """Return J and its rate."""
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.q(q), self.v(v))
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        frame = self.model.getFrameId(link, pin.BODY)
        kind = pin.LOCAL_WORLD_ALIGNED
        # with one coordinate Pinocchio drops an axis
        return (pin.getFrameJacobian(
                    self.model, self.data, frame, kind).reshape(6, -1)[:, self.order],
                pin.getFrameJacobianTimeVariation(
                    self.model, self.data, frame, kind).reshape(6, -1)[:, self.order])

    def regressor(self, q, v, a):
        """Return the regressor of (m, h, I) a body, by joint name, no mimic joints."""
        Y = pin.computeJointTorqueRegressor(
            self.model, self.data, self.q(q), self.v(v), self.v(a))[self.order]
        return {name: Y[:, 10 * k:10 * k + 10] for k, name in enumerate(self.model.names[1:])}

    def energies(self, q, v):
        """Return kinetic and potential energy of what moves."""
        return (pin.computeKineticEnergy(self.model, self.data, self.q(q), self.v(v)),
                pin.computePotentialEnergy(self.model, self.data, self.q(q)))

    def pose(self, q, link):
        """Return the 4x4 placement of a link."""
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return self.data.oMf[self.model.getFrameId(link, pin.BODY)].homogeneous

    def integrate(self, q, v):
        """Return Pinocchio's q after one second at the velocity v."""
        return pin.integrate(self.model, self.q(q), self.v(v))

    def inverse_dynamics_derivatives(self, q, v, a):
        """Return the derivatives of tau with respect to q and v."""
        pin.computeRNEADerivatives(self.model, self.data, self.q(q), self.v(v), self.v(a))
        order = np.ix_(self.order, self.order)
        return self.data.dtau_dq[order], self.data.dtau_dv[order]

    def forward_dynamics_derivatives(self, q, v, tau):
        """Return the derivatives of the acceleration with respect to q, v and tau."""
        pin.computeABADerivatives(self.model, self.data, self.q(q), self.v(v), self.v(tau))
        order = np.ix_(self.order, self.order)
        M_inverse = np.triu(self.data.Minv) + np.triu(self.data.Minv, 1).T
        return self.data.ddq_dq[order], self.data.ddq_dv[order], M_inverse[order]
