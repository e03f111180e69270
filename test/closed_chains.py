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

"""Mechanisms and states for the tests of constraints."""

from __future__ import annotations

from dataclasses import replace
from math import pi
from pathlib import Path

import multibody_ros as mb
from multibody_ros import mechanisms
from multibody_ros.model.model import Attachment, Loop
from multibody_ros.simulation.constrained import ConstrainedStepper
import numpy as np
from random_trees import random_axis, random_model, random_rotation

URDF = Path(__file__).parents[1] / 'urdf'
#: shipped mechanisms, near a closed configuration
STARTS = {
    'four_bar': [1.0, -0.5, 1.5],
    'five_bar': [2.2, -1.4, 0.9, 1.4],
    'parallelogram_arm': [1.0, 1.3, 2.3, -1.3],
    'slider_crank': [0.7, -0.9, 0.7],
    'remote_2r': [0.3, 0.4, 0.7],
}
LOOPS = ('revolute', 'prismatic', 'spherical', 'fixed', 'universal', 'cylindrical', 'planar')


def shipped(name):
    """Return a shipped mechanism and a closed configuration."""
    robot = mb.load_urdf(URDF / f'{name}.urdf')
    return robot, robot.assemble(STARTS[name])


def in_python(name):
    """Return a mechanism made in Python and a closed configuration."""
    if name == 'chain':
        robot = mechanisms.four_bar_chain(3)
        return robot, chain_at(robot, 1.1)
    if name == 'bricard':
        robot = mechanisms.bricard()
        return robot, robot.assemble([0.3, 0.0, 0.0, 0.0, 0.0], ['hinge_0'])
    if name == 'disk':
        robot = mechanisms.rolling_disk_robot()
        q = robot.neutral()
        q[2:7] = 0.3, np.sin(0.6), 0.1, 0.2, np.cos(0.6)
        return robot, robot.assemble(q)
    robot = mechanisms.bead_on_wire(rate=2.0 if name == 'driven bead' else None)
    return robot, robot.assemble([0.0, 0.4, 0.2], ['turn', 'along'])


def all_mechanisms():
    """Return the names for `mechanism`."""
    return [*STARTS, 'chain', 'bricard', 'disk', 'bead', 'driven bead']


def mechanism(name):
    """Return a mechanism and a closed configuration."""
    return shipped(name) if name in STARTS else in_python(name)


def chain_at(robot, angle):
    """Return the configuration of a four-bar chain whose rods stand at `angle`."""
    q = np.full(robot.nv, angle)
    for name, place in robot.v_index.items():
        if name.startswith('coupler'):
            q[place] = -angle
    return q


def allowed(robot, q, v, t=0.0):
    """Return the velocity nearest to `v` that the constraints allow."""
    J = robot.constraint_jacobian(q, t)
    return v - np.linalg.pinv(J, 1e-10) @ robot.constraint_rate(q, v, t)


def random_loop_robot(kind, seed):
    """Return a random tree with a random loop, closed at the configuration that is returned."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 9, ('revolute', 'continuous', 'prismatic', 'floating'), mimic=0.2)
    robot = mb.Robot(model)
    q = robot.integrate(robot.neutral(), rng.normal(scale=0.5, size=robot.nv))
    first, second = rng.choice(len(model.links), 2, replace=False)
    names = [model.links[k].name for k in (first, second)]
    R = random_rotation(rng)
    p = rng.uniform(-0.3, 0.3, 3)
    # the second end is put where the first one is
    T = np.linalg.inv(robot.pose(q, names[1])) @ robot.pose(q, names[0]) @ _place(R, p)
    ends = [Attachment(names[0], _rows(R), tuple(map(float, p))),
            Attachment(names[1], _rows(T[:3, :3]), tuple(map(float, T[:3, 3])))]
    axis = tuple(map(float, random_axis(rng)))
    if kind == 'universal':
        # its axes, z and x of the loop, are square to each other where the ends coincide
        axis = (0.0, 0.0, 1.0)
    loop = Loop('closure', kind, *ends, axis)
    return mb.Robot(replace(model, loops=(loop,))), q, rng


def _place(R, p):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def _rows(R):
    return tuple(tuple(map(float, row)) for row in R)


def energy(robot, q, v):
    """Return kinetic plus potential energy."""
    return robot.kinetic_energy(q, v) + robot.potential_energy(q)


def simulated(robot, q, v, duration, dt=1e-3, tau=None, every=20, **options):
    """Return times, states, and the largest drift of energy, residual and velocity residual."""
    stepper = ConstrainedStepper(robot, **options)
    force = np.zeros(robot.nv) if tau is None else tau
    start, worst = energy(robot, q, v), np.zeros(3)
    rows = [(0.0, q, v)]
    for k in range(round(duration / dt)):
        q, v = stepper.rk4(k * dt, q, v, force, dt)
        worst[0] = max(worst[0], abs(energy(robot, q, v) - start))
        if k % every == every - 1:
            t = (k + 1) * dt
            rows.append((t, q, v))
            worst[1] = max(worst[1], np.abs(robot.constraint_residual(q, t)).max())
            worst[2] = max(worst[2], np.abs(robot.constraint_rate(q, v, t)).max())
    t, q, v = (np.array(x) for x in zip(*rows))
    return t, q, v, worst


def wrapped(angle):
    """Return an angle between -pi and pi."""
    return (np.asarray(angle) + pi) % (2 * pi) - pi
