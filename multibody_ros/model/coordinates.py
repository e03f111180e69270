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

"""How a robot's numbers are ordered: names, slices of q and v, limits, configurations."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from .finding import choices
from .model import COORDINATES, Joint, Model, ModelError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """Bounds of positions (order of q), velocities, efforts (order of v); SI, inf where none."""

    lower: Array
    upper: Array
    velocity: Array
    effort: Array


class Index(dict[str, slice]):
    """Slices by joint name; a name that is none is answered with those that are."""

    def __init__(self, robot: str) -> None:
        """Begin empty."""
        super().__init__()
        self._robot = robot

    def __missing__(self, name: str) -> slice:
        """Refuse."""
        raise ModelError(f"robot '{self._robot}' has no joint {name!r}, only: "
                         + choices(self, str(name)))


class Coordinates:
    """Coordinates of a model: one entry a joint that moves and follows no other."""

    def __init__(self, model: Model) -> None:
        """Give numbers to the joints in the model's order."""
        self._joints = [j for j in model.joints if j.kind != 'fixed' and j.mimic is None]
        self._followers = [(j, j.mimic) for j in model.joints if j.mimic is not None]
        self.names = tuple(joint.name for joint in self._joints)
        self.q_index, self.v_index = Index(model.name), Index(model.name)
        self.nq = self.nv = 0
        for joint in self._joints:
            nq, nv = COORDINATES[joint.kind]
            self.q_index[joint.name] = slice(self.nq, self.nq + nq)
            self.v_index[joint.name] = slice(self.nv, self.nv + nv)
            self.nq, self.nv = self.nq + nq, self.nv + nv

    def continuous(self) -> frozenset[int]:
        """Return the indices in q of joints that turn without end."""
        return frozenset(self.q_index[joint.name].start for joint in self._joints
                         if joint.kind == 'continuous')

    def quaternions(self) -> list[slice]:
        """Return where in q the quaternions are."""
        places = (self.q_index[joint.name] for joint in self._joints if joint.kind == 'floating')
        return [slice(place.start + 3, place.stop) for place in places]

    def limits(self) -> Limits:
        """Return the limits of all coordinates, read-only."""
        return Limits(*(_constant([getattr(joint, name) for joint in self._joints for _ in
                                   range(COORDINATES[joint.kind][kind])])
                        for name, kind in (('lower', 0), ('upper', 0), ('velocity', 1),
                                           ('effort', 1))))

    def damping(self) -> Array:
        """Return the damping of every velocity; a follower moving at r v adds r^2 times its."""
        return self._losses('damping', 2)

    def friction(self) -> Array:
        """Return the friction of every velocity; a follower moving at r v adds |r| times its."""
        return self._losses('friction', 1)

    def _losses(self, attribute: str, power: int) -> Array:
        total = [getattr(joint, attribute) for joint in self._joints
                 for _ in range(COORDINATES[joint.kind][1])]
        for joint, mimic in self._followers:
            place = self.v_index[mimic.joint].start
            total[place] += abs(mimic.multiplier) ** power * getattr(joint, attribute)
        return _constant(total)

    def neutral(self) -> Array:
        """Return the configuration of zeros, floating joints unturned."""
        q = np.zeros(self.nq)
        for place in self.quaternions():
            q[place.stop - 1] = 1.0
        return q

    def random(self, rng: np.random.Generator) -> Array:
        """
        Return a configuration within the limits, uniformly distributed.

        Without limits an angle is drawn from -pi to pi, a length from -1 to 1 m, an orientation
        from all orientations.
        """
        q = np.empty(self.nq)
        for joint in self._joints:
            place = self.q_index[joint.name]
            if joint.kind == 'floating':
                quaternion = rng.normal(size=4)
                q[place] = [*rng.uniform(-1.0, 1.0, 3), *quaternion / np.linalg.norm(quaternion)]
            elif joint.kind == 'planar':
                q[place] = rng.uniform(-1.0, 1.0, 3) * [1.0, 1.0, math.pi]
            else:
                q[place] = rng.uniform(*_range(joint))
        return q


def _range(joint: Joint) -> tuple[float, float]:
    """Return finite bounds; a side without limit lies one unit beyond zero or the other side."""
    unit = 1.0 if joint.kind == 'prismatic' else math.pi
    lower, upper = joint.lower, joint.upper
    if not math.isfinite(lower):
        lower = -unit if not math.isfinite(upper) else min(-unit, upper - unit)
    if not math.isfinite(upper):
        upper = max(unit, lower + unit)
    return lower, max(lower, upper)


def _constant(values: list[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
