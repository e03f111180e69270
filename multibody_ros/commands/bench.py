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

"""`multibody bench`: how long this robot's functions take on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from timeit import Timer
from typing import Any, Callable

import numpy as np

from .options import add_robot, between
from ..compiler.interpreter import Interpreted
from ..model.terminal import table
from ..robot import load_urdf, Robot

Calls = dict[str, Callable[[], Any]]
#: states of a batch
BATCH = 4096
#: turns of which the quickest counts: the others were disturbed
TURNS = 10


def add_bench_options(parser: argparse.ArgumentParser) -> None:
    """Say what `multibody bench` understands."""
    add_robot(parser)
    parser.add_argument('--seconds', type=between(1e-4, 60.0), default=0.1,
                        help='time for each number (default: %(default)g)')


def bench(options: argparse.Namespace) -> str:
    """Time the functions and return the table."""
    before = perf_counter()
    robot = load_urdf(options.robot)
    rng = np.random.default_rng(0)
    q = robot.random(rng)
    v, a = rng.normal(size=(2, robot.nv))
    tau = robot.inverse_dynamics(q, v, a)
    ready = perf_counter() - before
    link = robot.link_names[-1]
    inputs = {'inverse_dynamics': (q, v, a), 'forward_dynamics': (q, v, tau), 'mass_matrix': (q,),
              'gravity_torque': (q,), 'jacobian': (q, link), 'cartesian_dynamics': (q, v, link)}
    compiled = {name: _call(getattr(robot, name), *x) for name, x in inputs.items()}
    if robot.constraints:
        compiled['constrained_dynamics'] = _call(robot.constrained_dynamics, q, v, tau)
    columns = {'compiled': compiled, 'interpreted': _interpreted(robot, inputs)}
    peer, note = _pinocchio(options.robot, robot, link)
    if peer:
        columns['Pinocchio'] = peer
    rows = [{'function': name, **{column: _nanoseconds(calls.get(name), options.seconds)
                                  for column, calls in columns.items()}} for name in compiled]
    many = [np.tile(x, (BATCH, 1)) for x in (q, v, a)]
    whole = _nanoseconds(_call(robot.inverse_dynamics, *many), options.seconds)
    lines = table(rows, f"robot '{robot.name}', {robot.nv} velocities, link '{link}': "
                        'nanoseconds a call')
    lines.append(f'inverse_dynamics in a batch of {BATCH}: {(whole or 0) / BATCH:.3g} a state')
    lines.append(f'first torque after {ready:.2g} s, the file read, the code compiled or cached')
    return '\n'.join(lines + note)


def _call(function: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
    return lambda: function(*inputs)


def _nanoseconds(call: Callable[[], Any] | None, seconds: float) -> int | None:
    """Return the time of a call, the least of some turns."""
    if call is None:
        return None
    # the first call may compile
    call()
    timer = Timer(call)
    count, spent = 1, timer.timeit(1)
    while spent < 0.1 * seconds / TURNS:
        count *= 4
        spent = timer.timeit(count)
    count = max(1, round(count * seconds / TURNS / spent))
    return round(1e9 * min(timer.repeat(TURNS if spent < seconds else 1, count)) / count)


def _interpreted(robot: Robot, inputs: dict[str, Any]) -> Calls:
    """Return the same functions run by Python on floats: what the compiler is worth."""
    calls = {}
    for name, given in inputs.items():
        *arrays, link = given if isinstance(given[-1], str) else (*given, None)
        kernel = robot._kernel(name, link)
        plain = Interpreted(kernel.program, b'', kernel.shared, kernel.result)
        calls[name] = _call(plain.run, arrays, None)
    return calls


def _pinocchio(file: Path, robot: Robot, link: str) -> tuple[Calls, list[str]]:
    """Return Pinocchio's functions where it is installed, and a note where it cannot compare."""
    try:
        import pinocchio as pin
    except ImportError:
        return {}, ['Pinocchio, to compare with, is not installed: pip install pin']
    try:
        model = pin.buildModelFromXML(file.read_text(encoding='utf-8'))
    except (RuntimeError, ValueError) as error:
        return {}, [f'Pinocchio cannot read the file: {error}']
    if model.nv != robot.nv or not model.existFrame(link):
        return {}, [f'Pinocchio reads another robot from the file: {model.nv} velocities']
    v = a = np.ones(model.nv)
    data, q = model.createData(), pin.integrate(model, pin.neutral(model), v)
    frame = model.getFrameId(link)
    return {'inverse_dynamics': _call(pin.rnea, model, data, q, v, a),
            'forward_dynamics': _call(pin.aba, model, data, q, v, a),
            'mass_matrix': _call(pin.crba, model, data, q),
            'gravity_torque': _call(pin.computeGeneralizedGravity, model, data, q),
            'jacobian': _call(pin.computeFrameJacobian, model, data, q, frame,
                              pin.LOCAL_WORLD_ALIGNED)}, []
