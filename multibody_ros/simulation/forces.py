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
Forces in and on the joints, and the acceleration they give: theory.md sections 3, 4 and 5.

Functions over scalars, like those of dynamics/. A joint with dry friction or stops has a mode: 1
or -1 while it slides that way, 0 while it is held. A joint that is held has no acceleration,
exactly: its row and column leave the mass matrix; what holds it is the reaction.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

from .structure import Structure, WORK
from ..compiler.functions import exp, sqrt, where
from ..dynamics.crba import mass_matrix
from ..dynamics.forward import definiteness, guarded_dynamics
from ..dynamics.kinematics import pose, velocity
from ..dynamics.ltdl import coordinate_parents, factorised, solved
from ..dynamics.rnea import bias
from ..dynamics.spatial import dot, sub
from ..model.tree import Frame, Tree

#: two points nearer than this (m) have no line between them: the spring is slack
_NO_LENGTH = 1e-12


class Motion(NamedTuple):
    """The acceleration of V, the powers of WORK, the reactions of held joints, and a guard."""

    acceleration: list[Any]
    powers: list[Any]
    reactions: list[Any]
    guard: Any


class Forces(NamedTuple):
    """Generalised forces on V by cause; wrenches at frames; the powers of WORK."""

    motor: list[Any]
    damping: list[Any]
    friction: list[Any]
    springs: list[Any]
    at_frames: dict[Frame, list[Any]]
    external: dict[Frame, list[Any]]
    powers: list[Any]

    def joint_forces(self) -> list[Any]:
        """Return the sum of what acts in the joints."""
        return [a + b + c + d for a, b, c, d in zip(*self[:4])]

    def wrenches(self) -> dict[Frame, list[Any]]:
        """Return the sum of what acts at frames."""
        total = dict(self.at_frames)
        for frame, wrench in self.external.items():
            _put(total, frame, wrench)
        return total


def geared(tree: Tree, structure: Structure, values: SimpleNamespace) -> Tree:
    """Return the tree with the rotor inertias of the run-time values, none of elastic joints."""
    rotor: list[Any] = [0.0] * tree.nv
    for i, inertia in zip(structure.rotor, values.rotor):
        rotor[i] = inertia
    return replace(tree, rotor=tuple(rotor))


def forces(tree: Tree, s: Structure, values: SimpleNamespace, Q: Any, V: Any, modes: Any,
           u: Any) -> Forces:
    """Return all that acts on the robot beside its weight."""
    zero = [0.0] * s.nV
    powers: dict[str, Any] = dict.fromkeys(WORK, 0.0)
    motor, damping, friction, springs = list(zero), list(zero), list(zero), list(zero)
    for i in range(s.nv):
        place = s.nv + s.elastic.index(i) if i in s.elastic else i
        motor[place] = _limited(s, values, i, u[i], V[place])
        powers['input'] = powers['input'] + motor[place] * V[place]
    for i, b in zip(s.damped, values.damping):
        damping[i] = -(b * V[i])
    for k, i in enumerate(s.modal):
        if i in s.dry:
            friction[i] = -(modes[k] * _dry(s, values, k, V[i]))
    for e, i in enumerate(s.elastic):
        q, theta, v, omega = Q[s.position[i]], Q[s.nq + e], V[i], V[s.nv + e]
        pull = values.stiffness[e] * (q - theta)
        drag = values.coupling_damping[e] * (v - omega)
        springs[i], springs[s.nv + e] = springs[i] - pull, springs[s.nv + e] + pull
        damping[i], damping[s.nv + e] = damping[i] - drag, damping[s.nv + e] + drag
    for n, i in enumerate(s.joint_springs):
        springs[i] = springs[i] - values.joint_stiffness[n] * (
            Q[s.position[i]] - values.joint_rest[n])
        damping[i] = damping[i] - values.joint_damping[n] * V[i]
    for name, force in (('damping', damping), ('friction', friction)):
        powers[name] = -sum((f * v for f, v in zip(force, V)), 0.0)
    at_frames: dict[Frame, list[Any]] = {}
    for n, (a, b) in enumerate(s.link_springs):
        pulled, lost = _link_spring(tree, values, n, Q, V, a, b)
        _put(at_frames, a, [*pulled, 0.0, 0.0, 0.0])
        _put(at_frames, b, [*(-x for x in pulled), 0.0, 0.0, 0.0])
        powers['damping'] = powers['damping'] + lost
    external: dict[Frame, list[Any]] = {}
    for n, frame in enumerate(s.wrenches):
        wrench = values.wrench[6 * n:6 * n + 6]
        _put(external, frame, wrench)
        if frame.body >= 0:
            powers['wrenches'] = powers['wrenches'] + sum(
                (f * x for f, x in zip(wrench, velocity(tree, Q, V, frame))), 0.0)
    return Forces(motor, damping, friction, springs, at_frames, external,
                  [powers[name] for name in WORK])


def motion(tree: Tree, parameters: Any, s: Structure, values: SimpleNamespace, Q: Any, V: Any,
           modes: Any, u: Any) -> Motion:
    """Return the acceleration with the modes given."""
    tree = geared(tree, s, values)
    acting = forces(tree, s, values, Q, V, modes, u)
    q, v = Q[:s.nq], V[:s.nv]
    r, wrenches = acting.joint_forces(), acting.wrenches()
    if any(i < s.nv for i in s.modal):
        M, held_back = mass_matrix(tree, parameters, q), bias(tree, parameters, q, v, wrenches)
        rest = [x - b for x, b in zip(r, held_back)]
        free = free_factors(tree, s, M, modes)
        a = solved(free.factors, [x if f is None else f * x for x, f in zip(rest, free.mask)])
        guard = definiteness(free.M, free.factors)
        needed = [(sum((M[i][j] * a[j] for j in range(s.nv)), 0.0) - rest[i]) if i < s.nv else
                  -r[i] for i in s.modal]
    else:
        a, guard = guarded_dynamics(tree, parameters, q, v, r[:s.nv], wrenches)
        needed = [-r[i] for i in s.modal]
    for e, inertia in enumerate(values.motor_inertia):
        i = s.nv + e
        f = _free(s, modes, i)
        a = [*a, (r[i] if f is None else f * r[i]) / inertia]
    return Motion(list(a), acting.powers, needed, guard)


class Free(NamedTuple):
    """The mass matrix of the joints that are not held, its factors, and 1 or 0 for each joint."""

    M: list[list[Any]]
    factors: Any
    mask: list[Any]


def free_factors(tree: Tree, s: Structure, M: Any, modes: Any) -> Free:
    """Take the joints that are held out of the mass matrix; 1 stands on their diagonal."""
    mask = [_free(s, modes, i) for i in range(s.nv)]
    masked = [list(row) for row in M]
    for i in range(s.nv):
        for j in range(s.nv):
            for f in (mask[i], mask[j] if j != i else None):
                if f is not None:
                    masked[i][j] = f * masked[i][j]
        if mask[i] is not None:
            masked[i][i] = masked[i][i] + (1.0 - mask[i])
    return Free(masked, factorised(masked, coordinate_parents(tree)), mask)


def _free(s: Structure, modes: Any, i: int) -> Any:
    """Return 1 where coordinate `i` moves and 0 where it is held; None if it can never be."""
    return modes[s.modal.index(i)] * modes[s.modal.index(i)] if i in s.modal else None


def _limited(s: Structure, values: SimpleNamespace, i: int, torque: Any, speed: Any) -> Any:
    """Return what the motor gives: at most its effort, less the faster it already turns."""
    if not s.limited:
        return torque
    largest = least = values.effort[i]
    if s.speed_limited:
        no_load = values.no_load_speed[i]
        ahead = where(0.0, no_load - speed, (no_load - speed) / no_load, 0.0)
        behind = where(0.0, no_load + speed, (no_load + speed) / no_load, 0.0)
        largest = largest * where(ahead, 1.0, ahead, 1.0)
        least = least * where(behind, 1.0, behind, 1.0)
    torque = where(largest, torque, largest, torque)
    return where(torque, -least, -least, torque)


def _dry(s: Structure, values: SimpleNamespace, k: int, v: Any) -> Any:
    """Return the size of Coulomb's and Stribeck's friction: c + (s - c) exp(-(v / v_s)^2)."""
    c = values.coulomb[k]
    if not s.stribeck:
        return c
    x = v / values.stribeck_speed[k]
    return c + (values.stiction[k] - c) * exp(-(x * x))


def _link_spring(tree: Tree, values: SimpleNamespace, n: int, Q: Any, V: Any, a: Frame,
                 b: Frame) -> tuple[tuple[Any, ...], Any]:
    """Return the force on end `a` of a spring, in world axes, and the power its damper takes."""
    d = sub(_point(tree, Q, b), _point(tree, Q, a))
    length = sqrt(dot(d, d))
    safe = where(length, _NO_LENGTH, 1.0, length)
    rate = dot(d, sub(_speed(tree, Q, V, b), _speed(tree, Q, V, a))) / safe
    drag = values.link_damping[n] * rate
    size = (values.link_stiffness[n] * (length - values.link_length[n]) + drag) / safe
    size = where(length, _NO_LENGTH, 0.0, size)
    return tuple(size * x for x in d), where(length, _NO_LENGTH, 0.0, drag * rate)


def spring_energy(tree: Tree, s: Structure, values: SimpleNamespace, Q: Any) -> Any:
    """Return 1/2 k d^2 of all springs and elastic joints."""
    twice = 0.0
    for e, i in enumerate(s.elastic):
        twice = twice + values.stiffness[e] * _square(Q[s.position[i]] - Q[s.nq + e])
    for n, i in enumerate(s.joint_springs):
        twice = twice + values.joint_stiffness[n] * _square(
            Q[s.position[i]] - values.joint_rest[n])
    for n, (a, b) in enumerate(s.link_springs):
        d = sub(_point(tree, Q, b), _point(tree, Q, a))
        twice = twice + values.link_stiffness[n] * _square(
            sqrt(dot(d, d)) - values.link_length[n])
    return 0.5 * twice


def _point(tree: Tree, Q: Any, frame: Frame) -> Any:
    return frame.p if frame.body < 0 else pose(tree, Q, frame)[1]


def _speed(tree: Tree, Q: Any, V: Any, frame: Frame) -> Any:
    return (0.0, 0.0, 0.0) if frame.body < 0 else velocity(tree, Q, V, frame)[:3]


def _square(x: Any) -> Any:
    return x * x


def _put(wrenches: dict[Frame, list[Any]], frame: Frame, wrench: Any) -> None:
    """Add a wrench to those at a frame."""
    wrenches[frame] = [x + y for x, y in zip(wrenches.get(frame, [0.0] * 6), wrench)]
