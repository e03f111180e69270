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

"""`multibody simulate`: let a robot move, and tell what became of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .options import add_robot, between
from ..arguments import known
from ..control import GravityCompensation, MechanismGravityCompensation, Safety
from ..control.bounds import joint_at
from ..model.terminal import table
from ..robot import load_urdf, Robot
from ..simulation import Log, Simulation
from ..simulation.engine import Energies
from ..simulation.recorder import entries

Array = NDArray[np.float64]
Torque = Callable[[float, Array, Array], Array]
#: a run longer than this is a slip of the pen
MOST_STEPS = 10_000_000
LAWS = ('none', 'gravity_compensation')


def add_simulate_options(parser: argparse.ArgumentParser) -> None:
    """Say what `multibody simulate` understands."""
    add_robot(parser)
    parser.add_argument('--seconds', type=between(1e-9, 1e6), default=5.0,
                        help='length of the motion (default: %(default)g)')
    parser.add_argument('--dt', type=between(1e-9, 1e3), default=1e-3,
                        help='length of a step in seconds (default: %(default)g)')
    parser.add_argument('--integrator', default='rk4',
                        help='euler, semi_implicit_euler, rk4, symplectic or adaptive; with loops '
                             'rk4 or semi_implicit_euler (default: %(default)s)')
    parser.add_argument('--start', action='append', default=[], metavar='JOINT=POSITION',
                        help='where a joint begins, in rad or m, commas between the coordinates '
                             'of one joint; may be repeated (default: neutral). Loops are closed '
                             'around these joints')
    parser.add_argument('--law', choices=LAWS, default='none',
                        help='none lets the robot fall (default), gravity_compensation holds it')
    parser.add_argument('--no-friction', action='store_true',
                        help="leave the URDF's damping and friction out")
    parser.add_argument('--csv', type=_csv, default=None, metavar='FILE',
                        help='write t, q, v and tau, one row a step')


class Peak(NamedTuple):
    """The largest speed, the entry of v it belongs to, and when it was reached."""

    speed: float = 0.0
    place: int = 0
    t: float = 0.0


def simulate(options: argparse.Namespace) -> str:
    """Run the simulation and return the report."""
    robot = load_urdf(options.robot)
    steps = round(options.seconds / options.dt)
    if not 1 <= steps <= MOST_STEPS:
        raise ValueError(f'{options.seconds:g} s in steps of {options.dt:g} s: the number of '
                         f'steps must be 1 to {MOST_STEPS}')
    real = not options.no_friction
    sim = Simulation(robot, _start(robot, options.start), dt=options.dt,
                     integrator=options.integrator, damping=real, friction=real)
    before = sim.energies
    rows, peak = _moved(sim, _law(robot, options.law), steps, options.csv is not None)
    if options.csv:
        _write(robot, options.csv, np.array(rows))
    law = 'no torques' if options.law == 'none' else 'gravity compensated'
    title = (f"robot '{robot.name}', {law}: {sim.t:g} s in {steps} steps of {options.dt:g} s, "
             f'{options.integrator}')
    return '\n'.join(_report(sim, title, before, peak))


def _moved(sim: Any, torque: Torque, steps: int, keep: bool) -> tuple[list[Array], Peak]:
    """Go on by some steps; return t, q, v, tau of every one if asked, and the largest speed."""
    rows, peak = [], Peak()
    for k in range(steps + 1):
        tau = torque(sim.t, sim.q, sim.v)
        if keep:
            rows.append(np.concatenate([[sim.t], sim.q, sim.v, tau]))
        if k < steps:
            sim.step(tau)
            speeds = np.abs(sim.v)
            place = int(speeds.argmax()) if len(speeds) else 0
            if len(speeds) and speeds[place] > peak.speed:
                peak = Peak(float(speeds[place]), place, sim.t)
    return rows, peak


def _report(sim: Any, title: str, before: Energies, peak: Peak) -> list[str]:
    """Return the lines that tell what became of the energy, the loops and the speed."""
    pairs = zip(('kinetic', 'potential', 'total'), (before.kinetic, before.gravity, sum(before)),
                (sim.energies.kinetic, sim.energies.gravity, sim.energy))
    lines = table([{'energy, J': name, 'start': x, 'end': y, 'change': y - x}
                   for name, x, y in pairs], title)
    lines.append(f'drift: {sim.balance:.3g} J that work and losses do not explain')
    if sim.robot.constraints:
        lines.append(f'loops: open by {sim.residual:.3g} m or rad at the end')
    lines.append(f'largest speed: {peak.speed:.4g} rad/s or m/s of joint '
                 f"'{joint_at(sim.robot, peak.place)}' at {peak.t:g} s" if peak.speed else
                 'nothing moved: it is in balance, or friction holds it (see --start)')
    return lines


def _start(robot: Robot, given: list[str]) -> Array:
    """Return the configuration that --start asks for."""
    q = robot.neutral()
    names = []
    for text in given:
        name, equals, numbers = text.rpartition('=')
        if not equals:
            raise ValueError(f'--start takes JOINT=POSITION, not {text!r}')
        place = robot.q_index[known(robot.name, 'joint', name, robot.joint_names)]
        try:
            values = [float(x) for x in numbers.split(',')]
        except ValueError:
            raise ValueError(f'--start {text}: {numbers!r} is no number') from None
        if len(values) != place.stop - place.start:
            raise ValueError(f"--start {text}: joint '{name}' takes {place.stop - place.start} "
                             f'numbers, not {len(values)}')
        q[place] = values
        names.append(name)
    return robot.assemble(q, names)


def _law(robot: Robot, name: str) -> Torque:
    if name == 'none':
        none = np.zeros(robot.nv)
        return lambda t, q, v: none
    law: Any = MechanismGravityCompensation(robot) if robot.constraints \
        else GravityCompensation(robot, safety=Safety.pure())
    torque: Torque = law.torque
    return torque


def _csv(text: str) -> Path:
    path = Path(text)
    if path.suffix != '.csv' or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f'{text!r} must end in .csv and lie in a folder that '
                                         'is there')
    return path


def _write(robot: Robot, path: Path, rows: Array) -> None:
    t, q, v, tau = np.split(rows, np.cumsum([1, robot.nq, robot.nv]), axis=1)
    Log(entries(robot.v_index), entries(robot.q_index),
        {'t': t[:, 0], 'q': q, 'v': v, 'tau': tau}).save(path)
