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
Every control law with its trajectory on Panda, against the same law written with Pinocchio.

One call is what a control loop does in one cycle: sample the trajectory, compute the torque, guard
it; time goes on by a millisecond with every call. Both sides follow the same trajectory object,
and their torques are compared before they are timed. "bare" is Pinocchio's law without a guard.
"""

from __future__ import annotations

from typing import Any, Callable

from dynamics import agree, robot_setup
import multibody_ros as mb
from multibody_ros import control
from multibody_ros.control import trajectory
import numpy as np
import pinocchio_laws as theirs
from report import at_least, at_most, machine, parser, save, table
from timing import Call, interleaved

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
GOAL, MOST = 3.0, 20e-6
PACKAGES = ('multibody_ros', 'numpy', 'llvmlite', 'pin', 'example-robot-data')
SAFETY = control.Safety(ramp_time=0.0)
KINDS = ('ComputedTorque', 'PDGravity', 'PDPlus', 'IndependentJoint', 'AdaptiveControl',
         'GravityCompensation', 'SafeHold', 'CartesianControl', 'CartesianImpedance')


class Ticking:
    """A function of time and state, called a millisecond later every time."""

    def __init__(self, function: Callable[..., Any], q: np.ndarray, v: np.ndarray) -> None:
        """Begin at one second."""
        self.function, self.q, self.v, self.t = function, q, v, 1.0

    def __call__(self) -> Any:
        """Call it."""
        self.t = t = self.t + 1e-3
        return self.function(t, self.q, self.v)


class Bare:
    """A law of Pinocchio's side without its guard."""

    def __init__(self, law: Any) -> None:
        """Take the law."""
        self.law = law

    def torque(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque."""
        path = self.law.trajectory
        return self.law.law(q, v, path.sample(t) if path else None)[0]


def make(robot: mb.Robot, kind: str, tool: str) -> Any:
    """Return one of our laws with a trajectory that does not end while it is timed."""
    law = getattr(control, kind)
    if kind in ('GravityCompensation', 'SafeHold'):
        return law(robot, safety=SAFETY)
    rng = np.random.default_rng(1)
    if kind.startswith('Cartesian'):
        start = robot.pose(READY, tool)
        goal = start.copy()
        goal[:3, 3] += [0.05, 0.05, -0.05]
        path = trajectory.PoseTrajectory(start, goal, 0.0, 1e4)
        return law(robot, tool, path, posture=READY, safety=SAFETY)
    points = READY + rng.uniform(-0.1, 0.1, (4000, robot.nv))
    times = np.arange(4000.0)
    return law(robot, trajectory.JointTrajectory(
        times, points, trajectory.spline_velocities(times, points)), safety=SAFETY)


def main() -> None:
    """Measure and print."""
    options = parser(__doc__.split('\n')[1], KINDS).parse_args()
    setup = robot_setup('Panda')
    robot = mb.load_urdf(setup.text)
    v = 0.1 * np.random.default_rng(2).normal(size=robot.nv)
    results = []
    for kind in options.only:
        law = make(robot, kind, setup.tool)
        peer = getattr(theirs, kind)(law, setup.text)
        agree(kind, peer.torque(1.0, READY, v), law.torque(1.0, READY, v))
        path = getattr(law, 'trajectory', None)
        calls = {'ours': Ticking(law.torque, READY, v),
                 'Pinocchio': Ticking(peer.torque, READY, v),
                 'bare': Ticking(Bare(peer).torque, READY, v)}
        if path is not None:
            calls['trajectory'] = Ticking(lambda t, *_, path=path: path.sample(t), READY, v)
        times = interleaved({name: Call(call) for name, call in calls.items()},
                            0.1 if options.quick else 1.0)
        if law.stopped:
            raise RuntimeError(f'{kind} stopped while it was timed: {law.stopped}')
        results.append({'law': kind, 'seconds': times,
                        'ratio': times['Pinocchio'] / times['ours']})
    print(table(['law', 'ours us', 'of it trajectory', 'Pinocchio us', 'bare us', 'ratio', 'goal',
                 'limit us'],
                [[x['law'], 1e6 * x['seconds']['ours'], _micro(x['seconds'].get('trajectory')),
                  1e6 * x['seconds']['Pinocchio'], 1e6 * x['seconds']['bare'], x['ratio'],
                  at_least(x['ratio'], GOAL), at_most(1e6 * x['seconds']['ours'], 1e6 * MOST)]
                 for x in results]))
    save(options, 'control', {**machine(PACKAGES), 'results': results})


def _micro(seconds: float | None) -> float | None:
    return None if seconds is None else 1e6 * seconds


if __name__ == '__main__':
    main()
