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

"""Control laws without a target: carry the weight, come to rest."""

from __future__ import annotations

from typing import Mapping, TYPE_CHECKING

from numpy.typing import ArrayLike

from .bounds import gain, single
from .friction import smooth_friction
from .law import Law, Outcome, Setting
from .safety import Safety
from .state import State
from .vectors import times, Vector

if TYPE_CHECKING:
    from ..robot import Robot


class GravityCompensation(Law):
    """
    The weight carried, the arm free to be led by hand.

    tau = g(q) - D q'. Closed loop: M q'' + C q' + D q' = 0, so that d/dt T = -q'.D q' <= 0.
    """

    mechanism_law = 'MechanismGravityCompensation'
    damping = Setting(gain)

    def __init__(self, robot: Robot, damping: ArrayLike = 0.0, *, friction: float = 0.0,
                 safety: Safety | None = None) -> None:
        """
        Take `damping` in N m s/rad or N s/m, one number or one a velocity coordinate.

        `friction` is the share of the URDF's friction that is made up for, 0 to below 1: with all
        of it the least push would never end.
        """
        if not 0.0 <= friction < 1.0:
            raise ValueError(f'friction must be a share from 0 to below 1, not {friction}')
        self._friction = friction > 0.0
        super().__init__(
            robot, safety, {'damping': damping, 'viscous': friction * robot.damping,
                            'coulomb': friction * robot.friction}, {}, kind=repr(self._friction))

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Write the law."""
        none = [0.0] * len(x.v)
        terms = {'gravity': x.gravity, 'coriolis': none,
                 'feedback': times(-1.0, times(k['damping'], x.v))}
        if self._friction:
            terms['friction'] = smooth_friction(k['viscous'], k['coulomb'], x.v)
        return Outcome(terms)


class SafeHold(Law):
    """
    The safe stop that does not drop the arm: the weight carried, the motion braked.

    tau = M(q) (-rate q') + C q' + g. Closed loop: q'' = -rate q', every joint comes to rest with
    the same time constant 1/rate whatever inertia it moves.
    """

    mechanism_law = 'MechanismHold'
    rate = Setting(single)

    def __init__(self, robot: Robot, rate: float = 10.0, *,
                 safety: Safety | None = None) -> None:
        """Take the braking `rate` in 1/s."""
        safe = Safety.pure() if safety is None else safety
        super().__init__(robot, safe, {'rate': rate}, {})

    def equations(self, x: State, k: Mapping[str, Vector], *reference: Vector) -> Outcome:
        """Write the law."""
        brake = times(-1.0 * k['rate'][0], x.inertia(x.v))
        return Outcome({'coriolis': x.coriolis, 'gravity': x.gravity, 'feedback': brake})
