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
The control laws of this package as one writes them in Python with Pinocchio and numpy.

Written for speed: data made beforehand, the quickest numpy way to each term, the operational space
inverse without damping. The guard does what control.Safety does once a law has taken over: finite
check, tracking limit, joint limits, torque rate and torque limits. The torque's anatomy, which our
laws always give, is left out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pinocchio as pin


class Guard:
    """The guard around a law; a law has `law(q, v, reference)` that returns torque and error."""

    def __init__(self, ours: Any, text: str) -> None:
        """Take the gains and limits of one of our laws, and the robot as text."""
        self.ours = ours
        self.model = pin.buildModelFromXML(text)
        self.data = self.model.createData()
        robot, safety = ours.robot, ours.safety
        self.trajectory = getattr(ours, 'trajectory', None)
        self.lower, self.upper = robot.limits.lower, robot.limits.upper
        self.effort, self.rate = safety.efforts(robot), safety.rates(robot)
        self.square, self.twice = safety.limit_rate**2, 2.0 * safety.limit_rate
        self.limit = np.full(ours._limit.shape, 1e9)
        self.before, self.t = np.zeros(robot.nv), -math.inf

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque."""
        model, data = self.model, self.data
        tau, e = self.law(q, v, self.trajectory.sample(t) if self.trajectory else None)
        if not math.isfinite(q.dot(q) + v.dot(v) + tau.dot(tau)):
            raise ValueError('not finite')
        if e is not None and (np.abs(e) > self.limit).any():
            raise ValueError('tracking error')
        a = pin.aba(model, data, q, v, tau)
        damping = self.twice * v
        most = self.square * (self.upper - q) - damping
        least = self.square * (self.lower - q) - damping
        if (a > most).any() or (a < least).any():
            change = np.minimum(np.maximum(a, least), most) - a
            tau = tau + pin.rnea(model, data, q, np.zeros_like(v), change) \
                - pin.computeGeneralizedGravity(model, data, q)
        reach = self.rate * (t - self.t)
        tau = np.minimum(np.maximum(tau, self.before - reach), self.before + reach)
        tau = np.minimum(np.maximum(tau, -self.effort), self.effort)
        self.before, self.t = tau, t
        return tau


class ComputedTorque(Guard):
    """M (a_d + kd e' + kp e) + C v + g."""

    def law(self, q: Any, v: Any, reference: Any) -> Any:
        """Return the torque and the error."""
        q_d, v_d, a_d = reference
        e = q_d - q
        return pin.rnea(self.model, self.data, q, v, a_d + self.kd * (v_d - v) + self.kp * e), e

    def __init__(self, ours: Any, text: str) -> None:
        """Copy the gains."""
        super().__init__(ours, text)
        self.kp, self.kd = ours.kp.copy(), ours.kd.copy()


class PDGravity(ComputedTorque):
    """kp e + kd e' + g."""

    def law(self, q: Any, v: Any, reference: Any) -> Any:
        """Return the torque and the error."""
        q_d, v_d, _ = reference
        e = q_d - q
        g = pin.computeGeneralizedGravity(self.model, self.data, q)
        return g + self.kp * e + self.kd * (v_d - v), e


class PDPlus(ComputedTorque):
    """M a_d + C(q, v) v_d + g + kp e + kd e'."""

    def law(self, q: Any, v: Any, reference: Any) -> Any:
        """Return the torque and the error."""
        q_d, v_d, a_d = reference
        e, e_dot = q_d - q, v_d - v
        C = pin.computeCoriolisMatrix(self.model, self.data, q, v)
        forward = pin.rnea(self.model, self.data, q, v, a_d) + C.dot(e_dot)
        return forward + self.kp * e + self.kd * e_dot, e


class IndependentJoint(ComputedTorque):
    """kp e + kd e'."""

    def law(self, q: Any, v: Any, reference: Any) -> Any:
        """Return the torque and the error."""
        q_d, v_d, _ = reference
        e = q_d - q
        return self.kp * e + self.kd * (v_d - v), e


class AdaptiveControl(Guard):
    """Y pi_hat + K s, pi_hat' = Gamma Y^T s, velocity products by three regressors."""

    def __init__(self, ours: Any, text: str) -> None:
        """Begin with the true parameters."""
        super().__init__(ours, text)
        self.L, self.K = ours.convergence.copy(), ours.damping_gain.copy()
        self.estimate = np.concatenate(
            [inertia.toDynamicParameters() for inertia in self.model.inertias[1:]])
        self.gamma = np.full(self.estimate.size, 1e-6)
        self.none = np.zeros(self.model.nv)

    def law(self, q: Any, v: Any, reference: Any) -> Any:
        """Return the torque and the error."""
        q_d, v_d, a_d = reference
        e, e_dot = q_d - q, v_d - v
        v_r, a_r = v_d + self.L * e, a_d + self.L * e_dot
        s, none, Y = v_r - v, self.none, self.regressor
        total = Y(q, 0.5 * (v + v_r), a_r) - Y(q, 0.5 * (v - v_r), none) + Y(q, none, none)
        tau = total.dot(self.estimate) + self.K * s
        self.estimate = self.estimate + 1e-3 * (self.gamma * s.dot(total))
        return tau, e

    def regressor(self, q: Any, v: Any, a: Any) -> Any:
        """Return a copy of Y."""
        return pin.computeJointTorqueRegressor(self.model, self.data, q, v, a).copy()


class GravityCompensation(Guard):
    """g - D v."""

    def __init__(self, ours: Any, text: str) -> None:
        """Copy the damping."""
        super().__init__(ours, text)
        self.damping = ours.damping.copy()

    def law(self, q: Any, v: Any, reference: Any) -> Any:
        """Return the torque and no error."""
        g = pin.computeGeneralizedGravity(self.model, self.data, q)
        return g - self.damping * v, None


class SafeHold(Guard):
    """M (-rate v) + C v + g."""

    def law(self, q: Any, v: Any, reference: Any) -> Any:
        """Return the torque and no error."""
        return pin.rnea(self.model, self.data, q, v, -10.0 * v), None


class CartesianControl(Guard):
    """J^T Mx (x_d'' + kd e' + kp e - J' v) + C v + g, and a posture in the null space."""

    def __init__(self, ours: Any, text: str) -> None:
        """Copy the gains, find the frame."""
        super().__init__(ours, text)
        self.frame = self.model.getFrameId(ours.link, pin.BODY)
        self.kp, self.kd = ours.kp.copy(), ours.kd.copy()
        self.posture = ours.posture.copy()
        self.posture_kp, self.posture_kd = ours.posture_kp.copy(), ours.posture_kd.copy()

    def task(self, q: Any, v: Any, reference: Any) -> Any:
        """Return J, J' v, the error and its rate, Mx."""
        model, data, frame = self.model, self.data, self.frame
        pose_d, twist_d, _ = reference
        pin.computeJointJacobiansTimeVariation(model, data, q, v)
        pin.updateFramePlacement(model, data, frame)
        aligned = pin.LOCAL_WORLD_ALIGNED
        J = pin.getFrameJacobian(model, data, frame, aligned)
        drift = pin.getFrameJacobianTimeVariation(model, data, frame, aligned).dot(v)
        place = data.oMf[frame]
        e = np.empty(6)
        e[:3] = pose_d[:3, 3] - place.translation
        e[3:] = pin.log3(pose_d[:3, :3].dot(place.rotation.T))
        inverse = pin.computeMinverse(model, data, q)
        Mx = np.linalg.inv(J.dot(inverse).dot(J.T))
        return J, drift, e, twist_d - J.dot(v), Mx

    def law(self, q: Any, v: Any, reference: Any) -> Any:
        """Return the torque and the error."""
        J, drift, e, e_dot, Mx = self.task(q, v, reference)
        wanted = reference[2] + self.kd * e_dot + self.kp * e - drift
        rest = self.posture_kp * (self.posture - q) - self.posture_kd * v
        # one call for M a_n + C v + g
        tau = pin.rnea(self.model, self.data, q, v, rest)
        return tau + J.T.dot(Mx.dot(wanted - J.dot(rest))), e


class CartesianImpedance(CartesianControl):
    """J^T (K e + D e') + g, damped in the null space."""

    def __init__(self, ours: Any, text: str) -> None:
        """Copy stiffness and damping, isotropic for rotations."""
        Guard.__init__(self, ours, text)
        self.frame = self.model.getFrameId(ours.link, pin.BODY)
        self.K, self.D = ours.stiffness.copy(), ours.damping.copy()
        self.posture_kd = ours.posture_kd.copy()

    def law(self, q: Any, v: Any, reference: Any) -> Any:
        """Return the torque and the error."""
        J, _, e, e_dot, Mx = self.task(q, v, reference)
        rest = -self.posture_kd * v
        tau = pin.rnea(self.model, self.data, q, np.zeros_like(v), rest)
        force = self.K.dot(e) + self.D.dot(e_dot) - Mx.dot(J.dot(rest))
        return tau + J.T.dot(force), e
