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

"""Where simulations begin: states in the order of the compiled code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .structure import Structure, WORK

if TYPE_CHECKING:
    from ..robot import Robot

Array = NDArray[np.float64]

#: rad, m, rad/s, m/s: beyond this a motion has diverged
ABSURD = 1e9


def first_states(robot: Robot, s: Structure, values: Array, Q: Array, V: Array) -> Array:
    """
    Return Q, V, m, w as rows for rows of positions and velocities.

    A joint at rest is held where friction can hold it; the first step finds out whether it does.
    """
    named = s.named(values)
    modes = np.sign(V[:, list(s.modal)])
    for k, i in enumerate(s.modal):
        if i in s.stopped:
            position = Q[:, s.position[i]]
            beyond = ~((named.lower[k] <= position) & (position <= named.upper[k]))
            if beyond.any():
                row = int(np.argmax(beyond))
                of_row = f' in row {row}' if len(Q) > 1 else ''
                raise ValueError(
                    f"q of joint '{joint_of(robot, s, i)}' of robot '{robot.name}' is "
                    f'{position[row]:g}{of_row}, beyond its stops {named.lower[k]:g} to '
                    f'{named.upper[k]:g}')
        if i not in s.dry:
            modes[modes[:, k] == 0.0, k] = 1.0
    return np.concatenate([Q, V, modes, np.zeros((len(Q), len(WORK)))], axis=1)


def joint_of(robot: Robot, s: Structure, i: int) -> str:
    """Return the joint of an entry of V."""
    if i >= robot.nv:
        i = s.elastic[i - robot.nv]
    return next(name for name, place in robot.v_index.items() if place.start <= i < place.stop)


def place_of(robot: Robot, s: Structure, name: str, index: int) -> str:
    """Return where an entry of q, v, theta, omega, Q or V is, in words."""
    positions = name in ('q', 'Q')
    for joint, place in (robot.q_index if positions else robot.v_index).items():
        if place.start <= index < place.stop and name not in ('theta', 'omega'):
            return f"joint '{joint}'"
    size = (robot.nq if positions else robot.nv) if name in ('Q', 'V') else 0
    return f"the motor of joint '{joint_of(robot, s, s.elastic[index - size])}'"


def divergence(robot: Robot, s: Structure, state: Array, t: float, dt: float,
               whose: str = '') -> FloatingPointError:
    """Return the error of a step to time `t` that ended in `state`."""
    advice = f'take a smaller dt than {dt:g} s'
    Q, V = state[:s.nQ], state[s.nQ:s.nQ + s.nV]
    for name, values in (('Q', Q), ('V', V)):
        bad = ~(np.abs(values) < ABSURD)
        if bad.any():
            index = int(np.argmax(bad))
            word = 'position' if name == 'Q' else 'velocity'
            return FloatingPointError(
                f"the motion of robot '{robot.name}'{whose} diverged at t = {t:g} s: {word} "
                f'{values[index]:g} at {place_of(robot, s, name, index)}; {advice}')
    return FloatingPointError(f"the mass matrix of robot '{robot.name}'{whose} became singular at "
                              f't = {t:g} s; {advice}')


def vector_of(robot: Robot, s: Structure, name: str, values: ArrayLike, size: int) -> Array:
    """Return `size` finite numbers as an array of its own."""
    array = np.array(values, dtype=np.float64)
    if array.shape != (size,):
        raise ValueError(f"{name} must have {size} entries for robot '{robot.name}' "
                         f"({', '.join(robot.joint_names)}), not shape {array.shape}")
    if not np.isfinite(array).all():
        index = int(np.argmin(np.isfinite(array)))
        raise ValueError(f'{name} is {array[index]} at {place_of(robot, s, name, index)} of robot '
                         f"'{robot.name}'")
    return array


def torque_rows(robot: Robot, s: Structure, tau: ArrayLike, steps: int) -> Array:
    """Return torques as rows of an array of their own: one for all steps, or one a step."""
    array = np.array(tau, dtype=np.float64, ndmin=2)
    if array.shape != (steps, robot.nv) and (array.shape != (1, robot.nv) or np.ndim(tau) != 1):
        raise ValueError(f"tau must have {robot.nv} entries for robot '{robot.name}' "
                         f"({', '.join(robot.joint_names)}), or {steps} rows of them, not shape "
                         f'{np.shape(tau)}')
    # a sum of squares is finite only if every term is, and this one is quick
    if not math.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():
        bad = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        at = f' in step {bad[0]}' if np.ndim(tau) == 2 else ''
        raise ValueError(f"tau is {array[bad]} at {place_of(robot, s, 'v', bad[-1])}{at} of robot "
                         f"'{robot.name}'")
    return array
