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

"""The one guard that stands between every control law and the motors."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any, Mapping, NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .bounds import bound
from .state import State
from .vectors import add, clamped, magnitude, minus, times, Vector
from ..compiler.functions import where

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]

#: a sum of torques beyond this, in N m, is treated as not finite
HUGE = 1e300


class Torque(NamedTuple):
    """A torque term by term, in N m or N, order of v: the sum of the terms is the torque."""

    inertia: Array
    coriolis: Array
    gravity: Array
    friction: Array
    payload: Array
    feedback: Array
    feedforward: Array
    posture: Array
    avoidance: Array
    limiter: Array

    @property
    def total(self) -> Array:
        """The torque."""
        return np.asarray(np.sum(self, axis=0))


@dataclass(frozen=True)
class Safety:
    """
    What a law may never do, whatever its input; all of it is on by default.

    effort: torque limits in N m or N, one or one a velocity coordinate; none: those of the URDF.
    rise_time: seconds in which the torque may go from nothing to its limit, 0: no limit.
    ramp_time: seconds in which a law takes over from holding the weight, 0: at once.
    limit_rate: 1/s; near a joint limit the joint comes to rest at this rate, 0: no avoidance.
    tracking: rad or m beyond the error at the start at which a law stops; none: the law's own.
    stop_rate: 1/s; the rate at which a stopped arm comes to rest.
    """

    effort: ArrayLike | None = None
    rise_time: float = 0.05
    ramp_time: float = 0.5
    limit_rate: float = 20.0
    tracking: ArrayLike | None = None
    stop_rate: float = 10.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ('rise_time', 'ramp_time', 'limit_rate', 'stop_rate'):
            value = getattr(self, name)
            if not (value >= 0.0 and math.isfinite(value)):
                raise ValueError(f'{name} must be finite and not negative, not {value}')

    @classmethod
    def pure(cls, **others: Any) -> Safety:
        """Return a guard without memory: the torque is a function of time and state alone."""
        return cls(**{'rise_time': 0.0, 'ramp_time': 0.0, 'tracking': math.inf, **others})

    def efforts(self, robot: Robot) -> Array:
        """Return the torque limits of a robot, infinite where there is none."""
        if self.effort is None:
            return robot.limits.effort
        return bound(robot, 'effort', self.effort)

    def rates(self, robot: Robot) -> Array:
        """Return the limits of the torques' rates, in N m/s or N/s."""
        if self.rise_time == 0.0:
            return np.full(robot.nv, math.inf)
        return self.efforts(robot) / self.rise_time

    def stops(self, robot: Robot) -> list[tuple[int, int, float, float]]:
        """Return (index in v, index in q, lower, upper) of the joints that have limits."""
        limits = robot.limits
        places = [(robot.v_index[name], robot.q_index[name]) for name in robot.joint_names]
        found = [(v.start, q.start, float(limits.lower[q.start]), float(limits.upper[q.start]))
                 for v, q in places if v.stop - v.start == q.stop - q.start == 1]
        return [stop for stop in found if math.isfinite(stop[2]) or math.isfinite(stop[3])]


def protected(state: State, law: Mapping[str, Vector], running: Any, weight: Any,
              stop_rate: Any) -> dict[str, Vector]:
    """
    Return the terms of a law that takes over, or of the safe stop where it is not `running`.

    With `weight` growing from 0 to 1 the feedback grows into the weight carried: no jump. The
    safe stop is M (-stop_rate v) + C v + g: the arm comes to rest and is not dropped.
    """
    nothing: Vector = [0.0] * len(state.v)
    share = running * weight
    terms: dict[str, Vector] = dict.fromkeys(Torque._fields, nothing)
    for name in ('inertia', 'friction'):
        if name in law:
            terms[name] = times(running, law[name])
    for name in ('feedback', 'feedforward', 'posture'):
        if name in law:
            terms[name] = times(share, law[name])
    for name, held in (('coriolis', state.coriolis), ('gravity', state.gravity)):
        own = law.get(name, nothing)
        terms[name] = held if own is held else add(held, times(share, minus(own, held)))
    brake = (running - 1.0) * stop_rate
    terms['feedback'] = add(terms['feedback'], times(brake, state.inertia(state.v)))
    return terms


def avoidance(state: State, tau: Vector, stops: list[tuple[int, int, float, float]],
              rate: float) -> Vector:
    """
    Return the torque that keeps joints within their limits; none while nothing threatens.

    The acceleration that `tau` gives is bounded by q'' <= r^2 (upper - q) - 2 r q', and likewise
    below: then h = upper - q obeys (d/dt + r)^2 h >= 0, and a joint that can still be braked never
    crosses its limit (an exponential control barrier function: Nguyen and Sreenath, 2016).
    """
    change: list[Any] = [0.0] * len(state.v)
    a = state.response(minus(minus(tau, state.coriolis), state.gravity))
    for v, q, lower, upper in stops:
        bound = a[v]
        for side, sign in ((lower, -1.0), (upper, 1.0)):
            if math.isfinite(side):
                most = rate * rate * (side - state.q[q]) - 2.0 * rate * state.v[v]
                bound = where(sign * most, sign * bound, most, bound)
        change[v] = bound - a[v]
    return state.inertia(change)


def limited(tau: Vector, before: Vector, reach: Vector, effort: Vector) -> Vector:
    """Return `tau` within `reach` of the torque `before` and within the limits `effort`."""
    return [clamped(clamped(x, b - r, b + r), -e, e)
            for x, b, r, e in zip(tau, before, reach, effort)]


def finite(tau: Vector) -> Any:
    """Return a number that is positive where all of `tau` is finite."""
    total: Any = 0.0
    for x in tau:
        total = total + magnitude(x)
    return where(total, HUGE, 1.0, -1.0)
