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

"""What a run of the demonstration looked like: a table and a plot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .demo_run import Result


def table(result: Result) -> str:
    """Return rate, latency and the tracking error of every joint as text."""
    width = max(5, *(len(name) for name in result.joints))
    lines = [
        f'{"rate":<22}{result.rate:8.1f} Hz of {result.wanted_rate:g} Hz wanted',
        f'{"states answered":<22}{100.0 * result.answered:8.1f} %',
        f'{"state to command p50":<22}{result.latency[0]:>8} us',
        f'{"state to command p99":<22}{result.latency[1]:>8} us',
        '',
        f'{"joint":<{width}}   error rms     error max     way          largest torque']
    for i, name in enumerate(result.joints):
        e = np.abs(result.error[:, i])
        lines.append(
            f'{name:<{width}}   {np.sqrt(np.mean(e**2)):.2e} rad  {e.max():.2e} rad  '
            f'{np.ptp(result.q[:, i]):7.3f} rad  {np.abs(result.effort[:, i]).max():8.2f} N m')
    return '\n'.join(lines)


def plot(result: Result, path: Path) -> None:
    """Write a PNG of motion, error and torque over time; needs matplotlib, no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(10, 9), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(3, 1, sharex=True)
    panels = ((result.q, 'position / rad'), (1e6 * result.error, 'tracking error / microrad'),
              (result.effort, 'torque / N m'))
    for axis, (values, label) in zip(axes, panels):
        axis.plot(result.t, values, linewidth=1.0)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend(result.joints, ncols=4, fontsize='small', loc='upper right')
    axes[0].set_title(f'computed torque over ROS 2, {result.rate:.0f} Hz')
    axes[-1].set_xlabel('time / s')
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
