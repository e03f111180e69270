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
Cost of constrained steps against the number of loops, and ten seconds of the 40-window chain.

    python benchmark/loops.py [--output docs/loops.png] [--windows 1 2 5 10 20 40]

The chain is the N-four-bar mechanism of the IFToMM benchmarks: 2 N + 1 rods of 1 m and 1 kg,
upright, pushed at 5 rad/s. It goes round and passes its singular position twice a turn.
"""

from __future__ import annotations

import argparse
from math import pi
from pathlib import Path
import time
from typing import Any, Callable, NamedTuple

import matplotlib
from multibody_ros import mechanisms, Robot
from multibody_ros.dynamics import kkt
from multibody_ros.loops.absolute import AbsoluteMechanism
from multibody_ros.simulation.constrained import ConstrainedStepper
import numpy as np

ROOT = Path(__file__).parents[1]
DT, DURATION, RATE = 1e-3, 10.0, -5.0
#: windows above which the sparse and the dense form, shown for comparison, take too long
COMPARED = 20


class Row(NamedTuple):
    """One chain: seconds to load, seconds a call, and the run."""

    windows: int
    load: float
    dynamics: float
    step: float
    dense: float
    absolute: float
    run: float
    energy: float
    residual: float


def started(windows: int) -> tuple[Robot, np.ndarray, np.ndarray]:
    """Return the chain, upright and pushed."""
    robot = mechanisms.four_bar_chain(windows)
    q = np.full(robot.nv, pi / 2)
    for name, place in robot.v_index.items():
        if name.startswith('coupler'):
            q[place] = -pi / 2
    return robot, q, robot.velocity_analysis(q, {'rod_0': RATE})


def seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """Return the best time of one call in runs of a tenth of a second."""
    function(*arguments)
    begun = time.perf_counter()
    function(*arguments)
    count = max(1, int(0.1 / max(time.perf_counter() - begun, 1e-7)))
    best = np.inf
    for _ in range(3):
        begun = time.perf_counter()
        for _ in range(count):
            function(*arguments)
        best = min(best, (time.perf_counter() - begun) / count)
    return best


def energy(robot: Robot, q: np.ndarray, v: np.ndarray) -> float:
    """Return kinetic plus potential energy."""
    return float(robot.kinetic_energy(q, v) + robot.potential_energy(q))


def measured(windows: int) -> Row:
    """Measure one chain."""
    begun = time.perf_counter()
    robot, q, v = started(windows)
    stepper, tau = ConstrainedStepper(robot), np.zeros(robot.nv)
    stepper.rk4(0.0, q, v, tau, DT)
    compiled = time.perf_counter() - begun
    start = energy(robot, q, v)

    def dense() -> Any:
        J, gamma = robot.constraint_jacobian(q), robot.constraint_gamma(q, v)
        return kkt.constrained_solution(
            robot.mass_matrix(q), J, tau - robot.bias_torque(q, v), gamma)

    absolute = np.nan
    if windows <= COMPARED:
        bodies = AbsoluteMechanism(robot)
        absolute = seconds(bodies.dynamics, *bodies.state(q, v))
    row = Row(windows, compiled, seconds(robot.constrained_dynamics, q, v, tau),
              seconds(stepper.rk4, 0.0, q, v, tau, DT),
              seconds(dense) if windows <= COMPARED else np.nan, absolute, 0.0, 0.0, 0.0)
    begun = time.perf_counter()
    lost = left = 0.0
    for k in range(round(DURATION / DT)):
        q, v = stepper.rk4(k * DT, q, v, tau, DT)
        lost = max(lost, abs(energy(robot, q, v) - start) / start)
        if k % 100 == 0:
            left = max(left, float(np.abs(robot.constraint_residual(q)).max()))
    return row._replace(run=time.perf_counter() - begun, energy=lost, residual=left)


def drawn(rows: list[Row], output: Path) -> None:
    """Draw the cost of a call against the number of loops."""
    matplotlib.use('Agg')
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(7, 4.4), layout='constrained')
    loops = [row.windows for row in rows]
    for name, label in (('step', 'RK4 step, stabilised and projected'),
                        ('dynamics', 'constrained_dynamics (compiled)'),
                        ('dense', 'the same by singular values (numpy)'),
                        ('absolute', 'the same in absolute coordinates (SciPy, sparse)')):
        axes.loglog(loops, [1e6 * getattr(row, name) for row in rows], 'o-', label=label)
    axes.set_xlabel('loops of the four-bar chain')
    axes.set_ylabel('microseconds a call')
    figure.legend(loc='outside upper center', ncols=2, fontsize=8)
    axes.grid(alpha=0.3, which='both')
    figure.savefig(output, dpi=110)


def main() -> None:
    """Measure, print a table, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[1])
    parser.add_argument('--output', type=Path, default=ROOT / 'docs' / 'loops.png')
    parser.add_argument('--windows', type=int, nargs='+', default=[1, 2, 5, 10, 20, 40])
    options = parser.parse_args()
    print(f'{"loops":>5} {"links":>5} {"load, s":>8} {"dynamics":>9} {"RK4 step":>9} {"SVD":>9} '
          f'{"absolute":>9} us; {DURATION:g} s of motion: {"s":>5} {"energy":>8} {"residual":>9}')
    rows = []
    for windows in options.windows:
        row = measured(windows)
        rows.append(row)
        times = row.dynamics, row.step, row.dense, row.absolute
        calls = ' '.join(f'{1e6 * x:9.2f}' for x in times)
        print(f'{windows:5} {2 * windows + 1:5} {row.load:8.2f} {calls} {row.run:23.2f} '
              f'{row.energy:8.1e} {row.residual:9.1e}', flush=True)
    drawn(rows, options.output)


if __name__ == '__main__':
    main()
