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
        f'{result.robot}: {result.t[-1]:.1f} s of computed torque over ROS 2, two processes',
        f'{result.payload[0]:.2f} kg more at the last link from {result.payload[1]:.1f} s on, a '
        f'push of {result.push[0]:.1f} N at {result.push[1]:.1f} s', '',
        f'rate        {result.rate:7.1f} Hz   of {result.wanted_rate:g} Hz wanted',
        f'answered    {100.0 * result.answered:7.1f} %    of the states got a command',
        f'round trip  {result.latency[0]:7.0f} us   from state to command, the median',
        f'            {result.latency[1]:7.0f} us   at the 99th percentile',
        f'jitter      {result.jitter[0]:7.0f} us   from period to period, the median',
        f'            {result.jitter[1]:7.0f} us   at the 99th percentile, '
        f'{result.jitter[2]:.0f} at most',
        f'real time   {result.real_time_factor:7.3f}      simulated seconds per second', '',
        f'{"joint":<{width}}  {"error rms":>13}  {"error max":>13}  {"way":>10}  {"effort":>14}']
    for i, name in enumerate(result.joints):
        e = 1e3 * np.abs(result.error[:, i])
        unit, load = ('m', 'N') if result.prismatic[i] else ('rad', 'N m')
        lines.append(
            f'{name:<{width}}  {np.sqrt(np.mean(e**2)):8.4f} m{unit:<3}  {e.max():8.4f} m{unit:<3}'
            f'  {np.ptp(result.q[:, i]):6.3f} {unit:<3}'
            f'  {np.abs(result.effort[:, i]).max():10.2f} {load:<3}')
    return '\n'.join(lines)


def plot(result: Result, path: Path) -> None:
    """Write a PNG of motion, error and effort over time; needs matplotlib, no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(10, 9), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(3, 1, sharex=True)
    unit, load = (('m', 'N') if all(result.prismatic) else ('rad or m', 'N m or N')
                  if any(result.prismatic) else ('rad', 'N m'))
    panels = ((result.q, f'position ({unit})'),
              (1e3 * result.error, f'tracking error (10$^{{-3}}$ {unit})'),
              (result.effort, f'effort ({load})'))
    for axis, (values, label) in zip(axes, panels):
        lines = axis.plot(result.t, values, linewidth=1.2)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        axis.margins(x=0.0)
        for moment in (result.payload[1], result.push[1]):
            axis.axvline(moment, color='0.6', linewidth=0.8, linestyle=':')
    figure.legend(lines, result.joints, loc='outside right upper', frameon=False)
    axes[0].set_title(f'{result.robot}: computed torque over ROS 2 at {result.rate:.0f} Hz')
    axes[-1].set_xlabel('time (s)')
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
