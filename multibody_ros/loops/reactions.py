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

"""Forces in constraints and joints (theory.md section 6)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .rows import one_state
from ..compiler.dual import derivative, Dual
from ..dynamics.constraints import Constraint, LoopClosure
from ..dynamics.kkt import shared_rows
from ..dynamics.spatial import add, cross

if TYPE_CHECKING:
    from ..robot import Robot, Wrenches

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Reaction:
    """
    What one constraint does.

    `generalised` is -Phi_q^T lambda in the order of v. `wrenches` {link: [force; torque] on it, at
    its origin, world axes}. `joint`, of a loop, is [force; torque] of the predecessor on the
    successor, at the successor's attachment, in its axes; None otherwise.
    """

    multipliers: Array
    generalised: Array
    wrenches: dict[str, Array] = field(default_factory=dict)
    joint: Array | None = None


@dataclass(frozen=True)
class Reactions:
    """
    The forces of a motion.

    `joints`: as Robot.joint_wrenches, the constraints' forces counted in. `not_unique`: equations
    whose multipliers other values could replace without changing the motion, because constraints
    depend on each other; what is returned is the shortest choice.
    """

    acceleration: Array
    multipliers: Array
    constraints: dict[str, Reaction]
    joints: dict[str, Array]
    not_unique: tuple[tuple[str, str], ...]


class _Pushed:
    """A motion in which one link is displaced by a small twist, all others staying."""

    def __init__(self, motion: Any, link: str, shift: tuple[float, ...],
                 turn: tuple[float, ...]) -> None:
        self.motion, self.link, self.shift, self.turn = motion, link, shift, turn
        self.t = motion.t

    def pose(self, link: str) -> Any:
        R, p = self.motion.pose(link)
        if link != self.link:
            return R, p
        columns = list(zip(*R))
        turned = [[Dual(x, dx) for x, dx in zip(column, cross(self.turn, column))]
                  for column in columns]
        return tuple(zip(*turned)), tuple(Dual(x, dx) for x, dx in zip(p, self.shift))

    def pair(self, first: Any, second: Any) -> Any:
        return tuple(_attached(self.pose(end.link), end) for end in (first, second))

    def position(self, joint: str, k: int = 0) -> Any:
        return self.motion.position(joint, k)

    def deviation(self, joint: str, wanted: Any) -> Any:
        return self.motion.deviation(joint, wanted)

    def velocity(self, link: str) -> Any:
        return (self.shift, self.turn) if link == self.link else ((0.0,) * 3, (0.0,) * 3)

    def rate(self, joint: str, k: int = 0) -> float:
        return 0.0


def _attached(pose: Any, end: Any) -> Any:
    R, p = pose
    moved = [sum((x * y for x, y in zip(row, end.position)), 0.0) for row in R]
    turned = tuple(tuple(sum((x * y for x, y in zip(row, column)), 0.0)
                         for column in zip(*end.rotation)) for row in R)
    return turned, add(p, moved)


def reactions_of(robot: Robot, q: ArrayLike, v: ArrayLike, tau: ArrayLike, t: float,
                 wrenches: Wrenches | None) -> Reactions:
    """Solve the motion and share out the multipliers."""
    q, v, tau = one_state(robot, 'reactions', q=q, v=v, tau=tau)
    a, multipliers = robot.constrained_dynamics(q, v, tau, t, wrenches)
    J = robot.constraint_jacobian(q, t)
    constraints = {}
    for constraint in robot.constraints:
        rows = robot._closure.structure.rows[constraint.name]
        constraints[constraint.name] = _reaction(
            robot, constraint, q, t, J[rows], multipliers[rows])
    joints = robot.joint_wrenches(q, v, a, wrenches)
    for reaction in constraints.values():
        for link, wrench in reaction.wrenches.items():
            robot._take_off(joints, q, link, wrench)
    labels = robot.constraint_labels
    return Reactions(a, multipliers, constraints, joints,
                     tuple(labels[k] for k in shared_rows(J)))


def _reaction(robot: Robot, constraint: Constraint, q: Array, t: float, J: Array,
              multipliers: Array) -> Reaction:
    motion = robot._closure.structure.space.motion(q.tolist(), [0.0] * robot.nv, float(t))
    wrenches = {}
    for link in dict.fromkeys(constraint.links):
        wrench = np.zeros(6)
        for k, row in enumerate(np.eye(6).tolist()):
            pushed = _Pushed(motion, link, tuple(row[:3]), tuple(row[3:]))
            if constraint.holonomic:
                rates = [derivative(x) for x in constraint.residual(pushed)]
            else:
                rest = constraint.rate(_Pushed(motion, '', (0.0,) * 3, (0.0,) * 3))
                rates = [_value(x) - _value(x_0)
                         for x, x_0 in zip(constraint.rate(pushed), rest)]
            wrench[k] = -np.dot(rates, multipliers)
        wrenches[link] = wrench
    joint = None
    if isinstance(constraint, LoopClosure):
        end = constraint.loop.successor
        T = robot.pose(q, end.link)
        R = T[:3, :3] @ np.array(end.rotation)
        force, torque = wrenches[end.link][:3], wrenches[end.link][3:]
        arm = T[:3, :3] @ np.array(end.position)
        joint = np.concatenate([R.T @ force, R.T @ (torque - np.cross(arm, force))])
    return Reaction(multipliers, -J.T @ multipliers, wrenches, joint)


def _value(x: Any) -> float:
    return float(x.value if isinstance(x, Dual) else x)
