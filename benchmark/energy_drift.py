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
Energy drift of every integrator over 1,000 s of a double pendulum: the plot of the docs.

    python benchmark/energy_drift.py [--output docs/energy_drift.png]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import multibody_ros as mb
import numpy as np

ROOT = Path(__file__).parents[1]
INTEGRATORS = ('euler', 'semi_implicit_euler', 'symplectic', 'rk4', 'adaptive')
TIME, SAMPLES, DT = 1000.0, 1000, 1e-3


def drift(robot: mb.Robot, integrator: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times and the relative error of the energy."""
    sim = mb.Simulation(robot, [0.9, -0.4], dt=DT, integrator=integrator)
    scale = abs(sim.energy - mb.Simulation(robot, [0.0, 0.0]).energy)
    begun, t, error = sim.energy, [], []
    for _ in range(SAMPLES):
        sim.step(np.zeros(2), round(TIME / SAMPLES / DT))
        t.append(sim.t)
        error.append(max(abs(sim.energy - begun) / scale, 1e-16))
    return np.array(t), np.array(error)


def main() -> None:
    """Simulate, print the largest errors, draw."""
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--output', type=Path, default=ROOT / 'docs' / 'energy_drift.png')
    output = parser.parse_args().output
    robot = mb.load_urdf(ROOT / 'urdf' / 'double_pendulum.urdf')
    figure, axes = plt.subplots(figsize=(7, 4))
    for integrator in INTEGRATORS:
        t, error = drift(robot, integrator)
        print(f'{integrator:20} at 10 s {error[:10].max():.1e}, at 1000 s {error.max():.1e}',
              flush=True)
        axes.plot(t, error, linewidth=0.8, label=integrator)
    axes.set_yscale('log')
    axes.set_xlabel('time in s')
    axes.set_ylabel('energy error / initial energy')
    axes.set_title(f'double pendulum, dt = {DT:g} s (adaptive: tolerance 1e-9)')
    axes.legend(ncols=2, fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(output, dpi=110)


if __name__ == '__main__':
    main()
