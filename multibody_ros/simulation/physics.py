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

"""The mechanisms a user asks for, turned into a Structure and its run-time values."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import Any, Mapping, Sequence, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .structure import Structure
from ..arguments import known
from ..dynamics.spatial import add, apply
from ..model.tree import Frame

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]
Vec3 = Sequence[float]
#: from the URDF (True), off (False), one number for all joints, an array, or {joint: number}
Setting = bool | float | ArrayLike | Mapping[str, float]


@dataclass(frozen=True)
class ElasticJoint:
    """
    A spring between gear and link (theory.md section 5), all seen behind the gear.

    stiffness in N m/rad; motor_inertia B in kg m^2 (None: the URDF's N^2 J_rotor); damping of the
    spring; viscous and dry friction of the motor.
    """

    stiffness: float
    motor_inertia: float | None = None
    damping: float = 0.0
    motor_damping: float = 0.0
    motor_friction: float = 0.0


@dataclass(frozen=True)
class JointSpring:
    """A spring and damper about a joint, without torque at the position `rest`."""

    joint: str
    stiffness: float
    rest: float = 0.0
    damping: float = 0.0


@dataclass(frozen=True)
class LinkSpring:
    """A spring and damper between points (in link axes) of two links, along their line."""

    link_a: str
    link_b: str
    stiffness: float
    length: float
    point_a: Vec3 = (0.0, 0.0, 0.0)
    point_b: Vec3 = (0.0, 0.0, 0.0)
    damping: float = 0.0


@dataclass
class Physics:
    """
    Mechanisms in the joints and between links.

    damping b, friction c (Coulomb), rotor_inertia N^2 J: from the URDF unless given. stiction s
    (none: c) and stribeck_velocity v_s: tau_f = b v + sgn(v) (c + (s - c) exp(-(v/v_s)^2)).
    stops: True for the URDF's limits, or (lower, upper); restitution 0 to 1, bounces slower than
    rest_speed end. torque_limits: True for the URDF's; no_load_speed: a motor's torque falls in a
    line to zero there. wrenches: {link: [force; torque] at its origin, world axes}.
    """

    damping: Setting = True
    friction: Setting = True
    stiction: Setting = False
    stribeck_velocity: Setting = 0.01
    rotor_inertia: Setting = True
    elastic: Mapping[str, ElasticJoint | float] = field(default_factory=dict)
    springs: Sequence[JointSpring | LinkSpring] = ()
    stops: bool | tuple[ArrayLike, ArrayLike] = False
    restitution: Setting = 0.0
    rest_speed: float = 1e-3
    torque_limits: Setting = False
    no_load_speed: Setting = False
    wrenches: Mapping[str, ArrayLike] = field(default_factory=dict)

    def build(self, robot: Robot, dt: float) -> tuple[Structure, Array]:
        """Return what is to be compiled and the values it reads."""
        maker = _Maker(robot, self)
        structure = maker.structure()
        values = np.empty(structure.size)
        named = structure.named(values)
        for name, numbers in maker.values(structure, dt).items():
            getattr(named, name)[:] = numbers
        return structure, values


def checked_wrench(link: str, wrench: ArrayLike) -> Array:
    """Return a wrench of six finite numbers."""
    F = np.array(wrench, dtype=np.float64)
    if F.shape != (6,) or not np.isfinite(F).all():
        raise ValueError(f"wrench on link '{link}' must be six finite numbers, force then "
                         f'torque, not {wrench!r}')
    return F


class _Maker:
    """Reads the options of one robot; errors name option, joint and value."""

    def __init__(self, robot: Robot, physics: Physics) -> None:
        self.robot, self.physics = robot, physics
        nv = robot.nv
        self.names = [name for name, place in robot.v_index.items()
                      for _ in range(place.start, place.stop)]
        self.damping = self._setting('damping', robot.damping)
        self.coulomb = self._setting('friction', robot.friction)
        self.stiction = np.maximum(self._setting('stiction', np.zeros(nv)), self.coulomb)
        self.stribeck = self._setting('stribeck_velocity', np.full(nv, 0.01))
        rotor = np.array(robot._programs.tree.rotor, dtype=np.float64)
        self.rotor = self._setting('rotor_inertia', rotor)
        self.effort = self._setting('torque_limits', robot.limits.effort, off=math.inf)
        self.no_load = self._setting('no_load_speed', robot.limits.velocity, off=math.inf)
        self.restitution = self._setting('restitution', np.zeros(nv))
        if np.any(self.restitution > 1.0):
            self._refuse('restitution', self.restitution, self.restitution > 1.0, '0 to 1')
        if np.any(self.stribeck <= 0.0):
            self._refuse('stribeck_velocity', self.stribeck, self.stribeck <= 0.0, 'above 0')
        bad = np.isfinite(self.no_load) & ~(np.isfinite(self.effort) & (self.no_load > 0.0))
        if np.any(bad):
            self._refuse('no_load_speed', self.no_load, bad, 'above 0, with a torque limit')
        if not 0.0 <= physics.rest_speed < math.inf:
            raise ValueError('rest_speed must be a speed of 0 or more, in rad/s or m/s, not '
                             f'{physics.rest_speed!r}')
        self.elastic = {self._joint('elastic', name): x if isinstance(x, ElasticJoint)
                        else ElasticJoint(float(x)) for name, x in physics.elastic.items()}
        self.lower, self.upper = self._stops()

    def structure(self) -> Structure:
        robot, nv = self.robot, self.robot.nv
        position = [-1] * nv
        for name, place in robot.v_index.items():
            if place.stop - place.start < 6:
                start = robot.q_index[name].start
                position[place] = range(start, start + place.stop - place.start)
        elastic = sorted(robot.v_index[name].start for name in self.elastic)
        motors = [self.elastic[self.names[i]] for i in elastic]
        dry = [i for i in range(nv) if self.stiction[i] > 0.0]
        dry += [nv + e for e, motor in enumerate(motors) if motor.motor_friction > 0.0]
        stopped = [i for i in range(nv) if np.isfinite([self.lower[i], self.upper[i]]).any()]
        damped = [i for i in range(nv) if self.damping[i] > 0.0]
        damped += [nv + e for e, motor in enumerate(motors) if motor.motor_damping > 0.0]
        springs = self.physics.springs
        return Structure(
            robot.nq, nv, (*position, *range(robot.nq, robot.nq + len(elastic))), tuple(elastic),
            tuple(i for i in range(nv) if self.rotor[i] > 0.0 and i not in elastic),
            tuple(damped), tuple(sorted({*dry, *stopped})), tuple(dry), tuple(stopped),
            bool(np.any(self.stiction > self.coulomb)), bool(np.isfinite(self.effort).any()),
            bool(np.isfinite(self.no_load).any()),
            tuple(robot.v_index[self._joint('springs', x.joint)].start
                  for x in springs if isinstance(x, JointSpring)),
            tuple((self._frame(x.link_a, x.point_a), self._frame(x.link_b, x.point_b))
                  for x in springs if isinstance(x, LinkSpring)),
            tuple(self._frame(link) for link in self.physics.wrenches))

    def values(self, s: Structure, dt: float) -> dict[str, Any]:
        motors = [self.elastic[self.names[i]] for i in s.elastic]

        def extended(robot: Array, motor: Sequence[float], places: Sequence[int]) -> Array:
            return np.concatenate([robot, motor])[list(places)]

        none = [0.0] * len(motors)
        dry = [motor.motor_friction for motor in motors]
        joints = [x for x in self.physics.springs if isinstance(x, JointSpring)]
        links = [x for x in self.physics.springs if isinstance(x, LinkSpring)]
        limited = slice(None) if s.limited else slice(0)
        return {
            'dt': dt, 'rest_speed': self.physics.rest_speed, 'rotor': self.rotor[list(s.rotor)],
            'damping': extended(self.damping, [m.motor_damping for m in motors], s.damped),
            'coulomb': extended(self.coulomb, dry, s.modal),
            'stiction': extended(self.stiction, dry, s.modal),
            'stribeck_speed': extended(self.stribeck, [1.0] * len(motors), s.modal),
            'lower': extended(self.lower, [-math.inf] * len(motors), s.modal),
            'upper': extended(self.upper, [math.inf] * len(motors), s.modal),
            'restitution': extended(self.restitution, none, s.modal),
            'effort': self.effort[limited], 'no_load_speed': self.no_load[limited],
            'stiffness': [m.stiffness for m in motors],
            'coupling_damping': [m.damping for m in motors],
            'motor_inertia': [self._motor_inertia(i) for i in s.elastic],
            'joint_stiffness': [x.stiffness for x in joints],
            'joint_rest': [x.rest for x in joints], 'joint_damping': [x.damping for x in joints],
            'link_stiffness': [x.stiffness for x in links],
            'link_length': [x.length for x in links], 'link_damping': [x.damping for x in links],
            'wrench': np.concatenate([[], *(checked_wrench(link, F) for link, F in
                                            self.physics.wrenches.items())])}

    def _setting(self, option: str, urdf: Array, off: float = 0.0) -> Array:
        given = getattr(self.physics, option)
        nv, names = self.robot.nv, self.names
        if given is True or given is False:
            values = np.array(urdf if given else np.full(nv, off), dtype=np.float64)
        elif isinstance(given, Mapping):
            values = np.full(nv, off)
            for name, value in given.items():
                values[self.robot.v_index[known(
                    self.robot.name, 'joint', name, self.robot.joint_names)]] = value
        else:
            values = np.asarray(given, dtype=np.float64)
            if values.shape not in ((), (nv,)):
                raise ValueError(f'{option} must be one number or {nv} for robot '
                                 f"'{self.robot.name}' ({', '.join(names)}), not shape "
                                 f'{values.shape}')
            values = np.array(np.broadcast_to(values, (nv,)))
        bad = ~(values >= 0.0) | (np.isinf(values) & (off == 0.0))
        if np.any(bad):
            self._refuse(option, values, bad, '0 or more, and finite')
        return values

    def _refuse(self, option: str, values: Array, bad: NDArray[np.bool_], wanted: str) -> None:
        i = int(np.argmax(bad))
        raise ValueError(f"{option} of joint '{self.names[i]}' of robot '{self.robot.name}' is "
                         f'{values[i]}, it must be {wanted}')

    def _joint(self, option: str, name: str) -> str:
        known(self.robot.name, 'joint', name, self.robot.joint_names)
        place = self.robot.v_index[name]
        if place.stop - place.start != 1:
            raise ValueError(f"{option}: joint '{name}' of robot '{self.robot.name}' has "
                             f'{place.stop - place.start} freedoms, it must have one')
        return name

    def _motor_inertia(self, i: int) -> float:
        given = self.elastic[self.names[i]].motor_inertia
        inertia = self.rotor[i] if given is None else float(given)
        if not (0.0 < inertia < math.inf):
            raise ValueError(f"elastic joint '{self.names[i]}' of robot '{self.robot.name}' has a "
                             f'motor without inertia ({inertia}): give motor_inertia')
        return float(inertia)

    def _stops(self) -> tuple[Array, Array]:
        robot, stops = self.robot, self.physics.stops
        lower, upper = np.full(robot.nv, -math.inf), np.full(robot.nv, math.inf)
        if stops is False:
            return lower, upper
        given = (robot.limits.lower, robot.limits.upper) if stops is True else [
            np.asarray(x, dtype=np.float64) for x in stops]
        for x in given:
            if x.shape != (robot.nq,) or np.isnan(x).any():
                raise ValueError(f'stops must be (lower, upper) of {robot.nq} numbers each for '
                                 f"robot '{robot.name}', not shape {x.shape}")
        for name, place in robot.v_index.items():
            if place.stop - place.start == 1:
                lower[place], upper[place] = (x[robot.q_index[name]] for x in given)
        if np.any(lower >= upper):
            self._refuse('lower stop', lower, lower >= upper, 'below the upper one')
        return lower, upper

    def _frame(self, link: str, point: Vec3 = (0.0, 0.0, 0.0)) -> Frame:
        known(self.robot.name, 'link', link, self.robot.link_names)
        frame = self.robot._programs.tree.frames[link]
        x, y, z = (float(c) for c in point)
        return Frame(frame.body, frame.R, add(frame.p, apply(frame.R, (x, y, z))))
