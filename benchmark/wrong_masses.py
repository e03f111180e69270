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
Control laws on Panda when every mass in their model is 20 % too small: table, and plot in docs/.

All laws have gains for the same stiffness: 10 rad/s, critically damped. The arm itself is
simulated with the true masses, by RK4 at 1 kHz, the torque held between samples.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dynamics import robot_setup
import multibody_ros as mb
from multibody_ros import control
from multibody_ros.control.trajectory import SineTrajectory
import numpy as np
from report import parser, save, table

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
PATIENT = control.Safety(tracking=np.inf)
LAWS = {'adaptive (Slotine-Li)': control.AdaptiveControl,
        'computed torque': control.ComputedTorque, 'PD+': control.PDPlus,
        'PD with gravity': control.PDGravity, 'independent joint PD': control.IndependentJoint}
#: name: frequencies in Hz of the first and the last joint
SPEEDS = {'slow': (0.2, 0.4), 'fast': (0.6, 1.2)}
SECONDS, SHARE = 12.0, 0.8


def errors(robot: mb.Robot, law: Any, path: SineTrajectory) -> np.ndarray:
    """Return q_d - q of every millisecond."""
    simulation = mb.Simulation(robot, READY, dt=1e-3)
    rows = []
    for _ in range(round(SECONDS / 1e-3)):
        simulation.step(law.torque(simulation.t, simulation.q, simulation.v))
        rows.append(path.sample(simulation.t)[0] - simulation.q)
    return np.array(rows)


def main() -> None:
    """Simulate, print, draw."""
    options = parser(__doc__.split('\n')[1], tuple(SPEEDS)).parse_args()
    text = robot_setup('Panda').text
    robot, wrong = mb.load_urdf(text), mb.load_urdf(text)
    wrong.parameters = SHARE * wrong.parameters
    results: dict[str, dict[str, list[float]]] = {}
    curves = {}
    for speed in options.only:
        path = SineTrajectory(READY, 0.3, np.linspace(*SPEEDS[speed], robot.nv))
        for name, kind in LAWS.items():
            for model, used in (('true', robot), ('wrong', wrong)):
                e = errors(robot, kind(used, path, safety=PATIENT), path)
                late = np.sqrt(np.mean(e[len(e) // 2:]**2))
                results.setdefault(name, {}).setdefault(speed, []).append(1e3 * float(late))
                if model == 'wrong':
                    curves[speed, name] = 1e3 * np.sqrt(np.mean(e**2, axis=1))
    head = [f'{speed}, {model}' for speed in options.only for model in ('true', 'wrong')]
    print('root mean square error of the last 6 s, mrad')
    print(table(['law', *head],
                [[name, *(x for speed in options.only for x in row[speed])]
                 for name, row in results.items()]))
    draw(options.only, curves)
    save(options, 'wrong_masses', {'mrad': results})


def draw(speeds: list[str], curves: dict[tuple[str, str], np.ndarray]) -> None:
    """Write the plot of the documentation."""
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot
    picture, axes = pyplot.subplots(1, len(speeds), figsize=(5.0 * len(speeds), 3.6),
                                    sharey=True, squeeze=False)
    for axis, speed in zip(axes[0], speeds):
        for name in LAWS:
            # means over a quarter of a second are easier on the eye
            y = curves[speed, name].reshape(-1, 250).mean(axis=1)
            axis.semilogy(0.25 * np.arange(len(y)) + 0.125, y, label=name)
        axis.set_title(f'{speed}: {SPEEDS[speed][0]:g} to {SPEEDS[speed][1]:g} Hz, 0.3 rad')
        axis.set_xlabel('time, s')
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel('error over all joints, mrad')
    axes[0][-1].legend(fontsize=8)
    picture.tight_layout()
    name = Path(__file__).resolve().parents[1] / 'docs' / 'wrong_masses.png'
    picture.savefig(name, dpi=80)
    print(f'wrote {name.name}')


if __name__ == '__main__':
    main()
