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

"""Control laws in joint coordinates that follow a trajectory, with e = q_d - q."""

from __future__ import annotations

from typing import Mapping, NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bounds import gain
from .friction import smooth_friction
from .law import Law, Outcome, Setting
from .safety import Safety
from .state import State
from .trajectory import JointTrajectory, Trajectory
from .vectors import add, minus, times, Vector
from ..arguments import complain, vector

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]
#: tracking errors at which a law stops, in rad and m
TURN, SLIDE = 0.5, 0.1


class JointLaw(Law):
    """A law with gains on the error and its rate."""

    kp = Setting(gain)
    kd = Setting(gain)

    def __init__(self, robot: Robot, trajectory: Trajectory | None, kp: ArrayLike,
                 kd: ArrayLike, friction: bool, safety: Safety | None) -> None:
        """Take a trajectory in the order of q; none: hold the pose of the first call."""
        self._friction = friction
        super().__init__(
            robot, safety, {'kp': kp, 'kd': kd, 'damping': robot.damping,
                            'coulomb': robot.friction},
            {'q_d': robot.nq, 'v_d': robot.nv, 'a_d': robot.nv, 'effort_d': robot.nv},
            robot.nv, error_limits(robot), kind=repr(friction))
        self._no_effort = np.zeros(robot.nv)
        self.trajectory = trajectory

    def reference(self, t: float, q: Array) -> tuple[Array, ...]:
        """Return q, v, a and the effort to feed forward."""
        trajectory = self.trajectory
        if trajectory is None:
            here = vector(self.robot.name, 'q', q, self.robot.nq, self.robot.joint_names)
            complain(self.robot.name, self.robot._coordinates, {'q': here})
            trajectory = self.trajectory = self._held = JointTrajectory([t], [here])
        effort = getattr(trajectory, 'effort', None)
        return *trajectory.sample(t), self._no_effort if effort is None else effort(t)

    def fed(self, k: Mapping[str, Vector], v_d: Vector, effort_d: Vector) -> dict[str, Vector]:
        """Return the terms that are fed forward without regard to the model."""
        if not self._friction:
            return {'feedforward': effort_d}
        return {'feedforward': effort_d,
                'friction': smooth_friction(k['damping'], k['coulomb'], v_d)}


class ComputedTorque(JointLaw):
    """
    Inverse dynamics of the reference acceleration plus feedback.

    tau = M(q) (q_d'' + K_d e' + K_p e) + C q' + g + friction at q_d'. Closed loop, as long as no
    limit is met: e'' + K_d e' + K_p e = 0, every joint on its own.
    """

    mechanism_law = 'MechanismComputedTorque'

    def __init__(self, robot: Robot, trajectory: Trajectory | None = None,
                 kp: ArrayLike = 100.0, kd: ArrayLike = 20.0, *,
                 natural_frequency: float | None = None, damping_ratio: float = 1.0,
                 friction: bool = True, safety: Safety | None = None) -> None:
        """
        Take gains `kp` in 1/s^2 and `kd` in 1/s, one number or one a velocity coordinate.

        A `natural_frequency` in rad/s, with a `damping_ratio`, gives all joints the same gains
        instead. With `friction` that of the URDF, made smooth about rest, is fed forward.
        """
        if natural_frequency is not None:
            kp, kd = natural_frequency**2, 2.0 * damping_ratio * natural_frequency
        super().__init__(robot, trajectory, kp, kd, friction, safety)

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Write the law."""
        q_d, v_d, a_d, effort_d = reference
        e, e_dot = x.way_to(q_d), minus(v_d, x.v)
        feedback = x.inertia(add(times(k['kd'], e_dot), times(k['kp'], e)))
        return Outcome({'inertia': x.inertia(a_d), 'coriolis': x.coriolis, 'gravity': x.gravity,
                        'feedback': feedback, **self.fed(k, v_d, effort_d)}, e)


class StiffnessLaw(JointLaw):
    """A law whose gains are stiffness and damping: N m/rad and N m s/rad, or N/m and N s/m."""

    def __init__(self, robot: Robot, trajectory: Trajectory | None = None,
                 kp: ArrayLike | None = None, kd: ArrayLike | None = None, *,
                 friction: bool = False, safety: Safety | None = None) -> None:
        """
        Take gains, one number or one a velocity coordinate.

        Gains not given make every joint on its own, with the inertia M_ii it has in the middle of
        its range, a critically damped oscillator of 10 rad/s.
        """
        if kp is None or kd is None:
            inertia = np.diagonal(robot.mass_matrix(middle(robot)))
            kp = 100.0 * inertia if kp is None else kp
            kd = 20.0 * inertia if kd is None else kd
        super().__init__(robot, trajectory, kp, kd, friction, safety)

    def spring(self, x: State, k: Mapping[str, Vector], q_d: Vector,
               v_d: Vector) -> tuple[Vector, Vector]:
        """Return e and K_p e + K_d e'."""
        e = x.way_to(q_d)
        return e, add(times(k['kp'], e), times(k['kd'], minus(v_d, x.v)))


class PDGravity(StiffnessLaw):
    """
    A spring and a damper at every joint, the weight carried.

    tau = K_p e + K_d e' + g(q). Closed loop for a q_d at rest: M q'' + C q' + K_d q' = K_p e, the
    energy 1/2 q'.M q' + 1/2 e.K_p e never grows (Takegaki and Arimoto, 1981).
    """

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Write the law."""
        q_d, v_d, _, effort_d = reference
        e, feedback = self.spring(x, k, q_d, v_d)
        return Outcome({'gravity': x.gravity, 'feedback': feedback,
                        **self.fed(k, v_d, effort_d)}, e)


class PDPlus(StiffnessLaw):
    """
    A spring and a damper about the motion the model foresees.

    tau = M q_d'' + C(q, q') q_d' + g + K_p e + K_d e'. Closed loop: M e'' + (C + K_d) e' + K_p e
    = 0, with d/dt (1/2 e'.M e' + 1/2 e.K_p e) = -e'.K_d e' (Paden and Panja, 1988).
    """

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Write the law."""
        q_d, v_d, a_d, effort_d = reference
        e, feedback = self.spring(x, k, q_d, v_d)
        return Outcome({'inertia': x.inertia(a_d), 'coriolis': x.coriolis_with(v_d),
                        'gravity': x.gravity, 'feedback': feedback,
                        **self.fed(k, v_d, effort_d)}, e)


class Disturbances(NamedTuple):
    """
    One joint at a time, seen from the motor of gear ratio N (theory.md section 3).

    motor torque = inertia motor'' + acceleration + velocity + gravity: the inertia is the rotor's
    and the arm's M_ii / N^2, the rest is what other joints' accelerations, velocity products and
    the weight add.
    """

    inertia: Array
    acceleration: Array
    velocity: Array
    gravity: Array


class IndependentJoint(StiffnessLaw):
    """
    A spring and a damper at every joint and nothing else: the baseline.

    tau = K_p e + K_d e'. Closed loop: M_ii e_i'' + K_d e_i' + K_p e_i = disturbances, see
    `disturbances`; they shrink with the gear ratio.
    """

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Write the law."""
        q_d, v_d, _, effort_d = reference
        e, feedback = self.spring(x, k, q_d, v_d)
        return Outcome({'feedback': feedback, **self.fed(k, v_d, effort_d)}, e)

    def disturbances(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Disturbances:
        """Return what disturbs the motors when the arm accelerates by `a`."""
        robot = self.robot
        joints = {joint.name: joint for joint in robot.model.joints}
        N = np.ones(robot.nv)
        for name, place in robot.v_index.items():
            N[place] = joints[name].gear_ratio if name in joints else 1.0
        M, g = robot.mass_matrix(q), robot.gravity_torque(q)
        diagonal = np.diagonal(M)
        others = M @ np.asarray(a, dtype=np.float64) - diagonal * a
        return Disturbances(diagonal / N**2, others / N, (robot.bias_torque(q, v) - g) / N, g / N)


def middle(robot: Robot) -> Array:
    """Return the middle of the joint ranges, neutral where there is none."""
    q, limits = robot.neutral(), robot.limits
    both = np.isfinite(limits.lower) & np.isfinite(limits.upper)
    q[both] = 0.5 * (limits.lower[both] + limits.upper[both])
    return q


def error_limits(robot: Robot) -> Array:
    """Return the tracking errors at which a law stops, order of v."""
    slides = {joint.name for joint in robot.model.joints if joint.kind == 'prismatic'}
    limits = np.full(robot.nv, TURN)
    for name in slides & set(robot.joint_names):
        limits[robot.v_index[name]] = SLIDE
    return limits
