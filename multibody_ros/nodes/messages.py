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

"""Messages to arrays and back. Joints are matched by name, never by their place in a message."""

from __future__ import annotations

from array import array
import math
from typing import Any, Callable, Sequence

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose, Twist, Wrench
import numpy as np
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from .wire import Writer
from ..arguments import known


class MessageError(ValueError):
    """A message cannot be used; the text says why."""


class JointMap:
    """Joints of one robot as JointState carries them, one number each, in the order of names."""

    def __init__(self, robot: Any, chosen: Sequence[str] = ()) -> None:
        """
        Take the joints `chosen`, none: all that move, in the robot's order.

        Robots with joints of several coordinates, which JointState cannot carry, are refused.
        """
        for name, place in robot.q_index.items():
            if place.stop - place.start != 1:
                raise ValueError(f'joint {name!r} of robot {robot.name!r} has several '
                                 'coordinates, JointState carries one number a joint')
        for name in chosen:
            known(robot.name, 'joint', name, robot.joint_names)
            if chosen.count(name) > 1:
                raise ValueError(f'joint {name!r} is chosen twice')
        self.names = list(chosen or robot.joint_names)
        #: where they are in the robot's vectors; none: all, in its order
        self.places = ([robot.joint_names.index(name) for name in chosen] if chosen else None)
        endless = {joint.name for joint in robot.model.joints if joint.kind == 'continuous'}
        #: places of the joints that turn without end
        self.turning = [i for i, name in enumerate(self.names) if name in endless]
        self._writers: dict[tuple[str, ...], Writer | None] = {}
        self._last_names: list[str] | None = None
        self._order = np.arange(len(self.names))
        self._in_order = True
        self._numbers = np.zeros(len(self.names))
        self._memory: Any = self._numbers.data

    def of(self, values: np.ndarray) -> np.ndarray:
        """Return the entries of these joints of one of the robot's vectors."""
        return values if self.places is None else values[self.places]

    def among(self, values: np.ndarray | int, others: np.ndarray) -> np.ndarray:
        """Return a vector of the robot: `values` of these joints, the rest as in `others`."""
        full = others.copy()
        full[slice(None) if self.places is None else self.places] = values
        return full

    def read(self, message: JointState, field: str,
             instead: Callable[[], np.ndarray] | None = None) -> np.ndarray:
        """
        Return `field` of `message` in the order of names, every entry finite.

        Where an entry is NaN that of `instead()`, if given, takes its place.
        """
        given = getattr(message, field)
        if len(given) != len(message.name):
            raise MessageError(f'{field} has {len(given)} entries for {len(message.name)} names')
        order = self.order(message.name)
        if self._in_order:
            # through plain memory: half of numpy's time for so few numbers
            self._memory[:] = given
            values = self._numbers.copy()
        else:
            values = np.array(given, dtype=np.float64)[order]
        # a sum is finite only if every term is, and quicker than a look at every number
        if math.isfinite(sum(given)):
            return values
        if instead is not None:
            values = np.where(np.isnan(values), instead(), values)
        return self.finite(values, field)

    def rows(self, message: JointTrajectory, field: str) -> np.ndarray | None:
        """Return `field` of all points, one row a point, order of names; none given: None."""
        rows = [np.array(getattr(point, field), dtype=np.float64) for point in message.points]
        sizes = {len(row) for row in rows}
        if sizes <= {0}:
            return None
        if sizes != {len(message.joint_names)}:
            raise MessageError(f'every point needs {len(message.joint_names)} {field}, '
                               f'they have {sorted(sizes)}')
        order = self.order(message.joint_names)
        return np.array([self.finite(row[order], field) for row in rows])

    def finite(self, values: np.ndarray, field: str) -> np.ndarray:
        """Return `values` (order of names) or complain about the first that is not finite."""
        if not np.isfinite(values).all():
            index = int(np.argmin(np.isfinite(values)))
            raise MessageError(f'{field} of joint {self.names[index]!r} is {values[index]}')
        return values

    def order(self, names: list[str]) -> np.ndarray:
        """Return where in `names` each of the joints is; names of others are extra."""
        if names != self._last_names:
            place = {name: i for i, name in enumerate(names)}
            if len(place) != len(names):
                twice = next(n for n in names if names.count(n) > 1)
                raise MessageError(f'joint {twice!r} is named twice')
            missing = [name for name in self.names if name not in place]
            if missing:
                raise MessageError(f'joints missing: {", ".join(missing)}; '
                                   f'named are: {", ".join(names) or "none"}')
            self._order = np.array([place[name] for name in self.names], dtype=int)
            self._in_order = list(names) == self.names
            self._last_names = list(names)
        return self._order

    def encoded(self, ns: int, **fields: np.ndarray) -> bytes | JointState:
        """Return the same as `message` for the time `ns`, ready to be sent."""
        key = tuple(fields)
        if key not in self._writers:
            try:
                self._writers[key] = Writer(self.names, key)
            except ValueError:
                self._writers[key] = None
        writer = self._writers[key]
        if writer is None:
            return self.message(time_message(ns), **fields)
        return writer(ns, fields.values())

    def message(self, stamp: Time, **fields: np.ndarray) -> JointState:
        """Return a JointState with `fields` (position, velocity, effort) in the order of names."""
        # an array is taken over as it is; anything else rclpy checks entry by entry
        message = JointState(name=self.names, **{
            field: array('d', values.tobytes()) for field, values in fields.items()})
        message.header.stamp = stamp
        return message


def nanoseconds(stamp: Any) -> int:
    """Return a stamp or duration as whole nanoseconds."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def time_message(ns: int) -> Time:
    """Return whole nanoseconds as a stamp."""
    return Time(sec=ns // 1_000_000_000, nanosec=ns % 1_000_000_000)


def pose_matrix(pose: Pose) -> np.ndarray:
    """Return the 4x4 matrix of `pose`; the quaternion is normalised, a vanishing one refused."""
    p, o = pose.position, pose.orientation
    numbers = np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
    if not np.isfinite(numbers).all():
        raise MessageError(f'pose holds numbers that are not finite: {numbers.tolist()}')
    length = float(np.linalg.norm(numbers[3:]))
    if length < 1e-6:
        raise MessageError(f'orientation {numbers[3:].tolist()} is no quaternion: length '
                           f'{length:g}')
    x, y, z, w = numbers[3:] / length
    T = np.eye(4)
    T[:3, 3] = numbers[:3]
    T[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                 [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                 [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
    return T


def pose_message(T: np.ndarray, half_turn: np.ndarray) -> Pose:
    """Return the pose of matrix `T`; `half_turn` is its rotation vector."""
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = T[:3, 3].tolist()
    angle = float(np.linalg.norm(half_turn))
    x, y, z = (0.5 * np.sinc(0.5 * angle / np.pi) * half_turn).tolist()
    o = pose.orientation
    o.x, o.y, o.z, o.w = x, y, z, float(np.cos(0.5 * angle))
    return pose


def wrench_vector(wrench: Wrench) -> np.ndarray:
    """Return [force; torque] of a message, every number finite."""
    return _six_finite('wrench', wrench.force, wrench.torque)


def wrench_message(vector: np.ndarray) -> Wrench:
    """Return [force; torque] as a message."""
    wrench = Wrench()
    f, m = wrench.force, wrench.torque
    f.x, f.y, f.z, m.x, m.y, m.z = vector.tolist()
    return wrench


def twist_vector(twist: Twist) -> np.ndarray:
    """Return [linear; angular] of a message, every number finite."""
    return _six_finite('twist', twist.linear, twist.angular)


def _six_finite(kind: str, a: Any, b: Any) -> np.ndarray:
    """Return the numbers of two vectors, or say what `kind` of message holds a bad one."""
    numbers = np.array([a.x, a.y, a.z, b.x, b.y, b.z])
    if not np.isfinite(numbers).all():
        raise MessageError(f'{kind} holds numbers that are not finite: {numbers.tolist()}')
    return numbers


def twist_message(R: np.ndarray, vector: np.ndarray) -> Twist:
    """Return [linear; angular] as a message, its axes turned by `R`."""
    twist = Twist()
    n, w = twist.linear, twist.angular
    n.x, n.y, n.z = (R @ vector[:3]).tolist()
    w.x, w.y, w.z = (R @ vector[3:]).tolist()
    return twist
