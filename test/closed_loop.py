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

"""Robots without friction under a control law, for the tests."""

from __future__ import annotations

from functools import cache

import multibody_ros as mb
from multibody_ros import control
import numpy as np
import pytest
from robots import example_robots, SHIPPED

PANDA_READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.02])
UR5_READY = np.array([0.2, -1.2, 1.6, -1.0, 0.9, 0.3])
READY = {'panda': PANDA_READY, 'ur5_robot': UR5_READY, 'planar_2r': np.array([0.4, 0.9])}
TOOL = {'panda': 'panda_hand', 'ur5_robot': 'tool0', 'planar_2r': 'tool'}
#: nothing but the law itself
BARE = control.Safety.pure(effort=np.inf, limit_rate=0.0)


def load(name, **options):
    """Load a robot by the name of its file, a fresh one."""
    paths = [path for path in (SHIPPED / f'{name}.urdf', *example_robots())
             if path.stem == name and path.exists()]
    if not paths:
        pytest.skip('example-robot-data is not installed')
    return mb.load_urdf(paths[0], **options)


@cache
def arm(name):
    """Return a robot that tests do not change."""
    return load(name)


def rk4(robot, q, v, torque, t, h, wrenches=None):
    """Advance by one step of the classic Runge-Kutta method; `torque(t, q, v)` at every stage."""
    def a(t, q, v):
        tau = torque(t, q, v)
        return robot.forward_dynamics(q, v, tau, wrenches) if wrenches \
            else robot.forward_dynamics(q, v, tau)

    a1 = a(t, q, v)
    v2 = v + 0.5 * h * a1
    a2 = a(t + 0.5 * h, q + 0.5 * h * v, v2)
    v3 = v + 0.5 * h * a2
    a3 = a(t + 0.5 * h, q + 0.5 * h * v2, v3)
    v4 = v + h * a3
    a4 = a(t + h, q + h * v3, v4)
    return (q + h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4),
            v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4))


class Run:
    """A law at work: one torque a step, held during the step, as on a real arm."""

    def __init__(self, robot, law, q, v=None, h=1e-3, wrenches=None, note=None):
        """Begin at rest unless told; `note()` after every torque is kept in `notes`."""
        self.robot, self.law, self.h, self.wrenches = robot, law, h, wrenches
        self.q, self.v = np.array(q), np.zeros(robot.nv) if v is None else np.array(v)
        self.k = 0
        self.taus, self.qs, self.vs = [], [], []
        self.note, self.notes = note, []

    def until(self, end):
        """Go on to the time `end`; return what was recorded so far."""
        while self.k * self.h < end - 1e-9:
            t = self.k * self.h
            tau = self.law.torque(t, self.q, self.v)
            self.taus.append(tau)
            self.qs.append(self.q)
            self.vs.append(self.v)
            if self.note:
                self.notes.append(self.note())
            self.q, self.v = rk4(self.robot, self.q, self.v, lambda *_: self.taus[-1], t, self.h,
                                 self.wrenches)
            self.k += 1
        return np.array(self.taus), np.array(self.qs), np.array(self.vs)


def state(robot, seed, speed=0.5):
    """Return a random configuration and velocity."""
    rng = np.random.default_rng(seed)
    return robot.random(rng), speed * rng.normal(size=robot.nv)


class Given:
    """A trajectory that is the same at all times."""

    def __init__(self, *values):
        """Take position, velocity, acceleration."""
        self.values = tuple(np.array(x) for x in values)

    def sample(self, t):
        """Return them."""
        return self.values
