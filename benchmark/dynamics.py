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
Dynamics of trees, this package against its peers, in one interleaved run (`make bench`).

Every result is compared with the peers' before it is timed. All read the same URDF texts: UR5,
Panda with its fingers fixed, Talos (32 joints) on a fixed base, without friction.
"""

from __future__ import annotations

from importlib.metadata import distribution
from importlib.util import find_spec
import math
import os
from pathlib import Path
import sys
import tempfile
import time
from typing import Any, Sequence
import xml.etree.ElementTree as ElementTree

import multibody_ros as mb
from multibody_ros.compiler.llvm import vector_width
import numpy as np
from peers import available, FORWARD, INVERSE, missing, Ours, QUANTITIES, Setup, SPACE
from report import at_least, at_most, figure, machine, parser, save, table
from timing import fresh_process, interleaved

SECTIONS = ('calls', 'batch', 'chain', 'start')
#: name: (file of example-robot-data, tool, goal for single calls)
ROBOTS = {'UR5': ('ur_description/urdf/ur5_robot.urdf', 'tool0', 3.0),
          'Panda': ('panda_description/urdf/panda.urdf', 'panda_hand', 3.0),
          'Talos': ('talos_data/robots/talos_reduced.urdf', 'gripper_left_base_link', 2.0)}
SPACE_GOAL = 30.0
BATCH_GOAL = {8: 40.0, 4: 20.0}
COLD_GOAL, WARM_GOAL = 0.5, 0.15
ROWS = 4096
LENGTHS = (1, 3, 10, 30, 100, 300, 1000)
#: the longest chain for a peer: Pinocchio's Data holds tensors of joints^3, 32 GB at 1000
CHAIN_PEERS = {'Pinocchio': 300, 'MuJoCo': 1000}
#: growth that counts as linear: caches make a call cheaper while everything fits
LINEAR = 1.2
#: largest difference of results that may be timed, relative
AGREEMENT = 1e-9
#: what some libraries read differently from others, or not at all
LEFT_OUT = ('visual', 'collision', 'transmission', 'gazebo', 'dynamics', 'mimic',
            'safety_controller')

OURS = 'multibody_ros'
PACKAGES = ('multibody_ros', 'numpy', 'llvmlite', 'pin', 'mujoco', 'drake', 'pybullet',
            'example-robot-data')
MINE = """
import multibody_ros as mb
robot = mb.load_urdf(arguments[0])
robot.inverse_dynamics(*np.zeros((3, arguments[1])))
"""
PINOCCHIO = """
import pinocchio as pin
model = pin.buildModelFromUrdf(arguments[0])
pin.rnea(model, model.createData(), *np.zeros((3, arguments[1])))
"""
MUJOCO = """
import mujoco
model = mujoco.MjModel.from_xml_path(arguments[0])
mujoco.mj_inverse(model, mujoco.MjData(model))
"""
NOTHING = 'Python and numpy'
#: library: (its module, code of a fresh process)
START = {f'{OURS}, cold': (OURS, MINE), f'{OURS}, warm': (OURS, MINE),
         'Pinocchio': ('pinocchio', PINOCCHIO), 'MuJoCo': ('mujoco', MUJOCO),
         NOTHING: ('numpy', '')}


def robot_setup(name: str) -> Setup:
    """Return a robot of the PyPI package example-robot-data."""
    file, tool, _ = ROBOTS[name]
    folder = distribution('example-robot-data').locate_file(
        'cmeel.prefix/share/example-robot-data/robots')
    robot = ElementTree.parse(Path(str(folder)) / file).getroot()
    for element in list(robot.iter()):
        for tag in LEFT_OUT:
            for child in element.findall(tag):
                element.remove(child)
    for joint in robot.findall('joint'):
        if joint.get('name', '').startswith('panda_finger'):
            joint.set('type', 'fixed')
    return Setup(ElementTree.tostring(robot, encoding='unicode'), tool)


def chain(length: int) -> Setup:
    """Return a chain of revolute joints, no two alike in geometry."""
    rng = np.random.default_rng(1)
    parts = ['<robot name="chain"><link name="l0"/>']
    for i in range(length):
        axis = ' '.join(str(int(i % 3 == k)) for k in range(3))
        angles = ' '.join(f'{x:.3f}' for x in rng.uniform(-1.0, 1.0, 3))
        parts.append(
            f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/>'
            f'<origin xyz="0.1 0 0.05" rpy="{angles}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="100" velocity="10"/></joint>'
            f'<link name="l{i + 1}"><inertial><origin xyz="0.05 0.01 0.02"/><mass value="1"/>'
            '<inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.012" iyz="0" izz="0.015"/>'
            '</inertial></link>')
    return Setup(''.join(parts) + '</robot>', f'l{length}')


def state(robot: mb.robot.Robot, rows: tuple[int, ...] = ()) -> list[np.ndarray]:
    """Return q, v, a, tau: a random motion and the torques that make it."""
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.0, 1.0, (*rows, robot.nq))
    v, a = rng.normal(size=(2, *rows, robot.nv))
    return [q, v, a, robot.inverse_dynamics(q, v, a)]


def agree(what: str, theirs: Any, ours: Any) -> None:
    """Exit if two results differ: numbers that are wrong need no timing."""
    error = np.abs(theirs - ours).max() / np.abs(ours).max()
    if not error <= AGREEMENT:
        sys.exit(f'{what} differs from ours by {error:.1e}: nothing to compare')


def agree_in_space(what: str, theirs: Any, ours: Any, robot: mb.robot.Robot,
                   q: np.ndarray, v: np.ndarray) -> None:
    """Compare the operational-space terms that the peer has."""
    force = (ours.consistent_inverse.T @ (robot.bias_torque(q, v) - robot.gravity_torque(q))
             - ours.mass @ (ours.jacobian_dot @ v))
    for term, value in theirs._asdict().items():
        if value is not None:
            agree(f'{what}, {term}', value,
                  force if term == 'force' else getattr(ours, term))


def fastest(times: dict[str, float], partial: Sequence[str] = ()) -> float | None:
    """Return how many times faster we are than the fastest peer that does the whole job."""
    peers = [x for name, x in times.items() if name != OURS and name not in partial]
    return min(peers) / times[OURS] if peers else None


def measure_calls(seconds: float) -> list[dict[str, Any]]:
    """Time single calls."""
    results = []
    for name, (_, _, goal) in ROBOTS.items():
        setup = robot_setup(name)
        ours = Ours(setup)
        q, v, a, tau = state(ours.robot)
        partial: list[str] = []
        calls = {quantity: {OURS: call} for quantity, call in ours.calls(q, v, a, tau).items()}
        for kind in available():
            peer = kind(setup, ours.robot.joint_names)
            for quantity, call in peer.calls(q, v, a, tau).items():
                what = f'{kind.__name__}: {quantity} of {name}'
                mine, result = calls[quantity][OURS](), peer.ours(quantity, call())
                if quantity == SPACE:
                    agree_in_space(what, result, mine, ours.robot, q, v)
                    if result.coriolis is None:
                        partial.append(kind.__name__)
                else:
                    agree(what, result, mine)
                calls[quantity][kind.__name__] = call
        for quantity in QUANTITIES:
            times = interleaved(calls[quantity], seconds)
            lacking = partial if quantity == SPACE else []
            results.append({'robot': name, 'quantity': quantity, 'seconds': times,
                            'ratio': fastest(times, lacking), 'partial': lacking,
                            'goal': SPACE_GOAL if quantity == SPACE else goal})
    return results


def measure_batch(seconds: float) -> list[dict[str, Any]]:
    """Time inverse dynamics of many states in one thread, per state."""
    results = []
    for name in ROBOTS:
        setup = robot_setup(name)
        ours = Ours(setup)
        q, v, a, tau = state(ours.robot, (ROWS,))
        calls = {OURS: ours.batch(q, v, a)}
        for kind in available():
            peer = kind(setup, ours.robot.joint_names)
            calls[kind.__name__] = peer.batch(q, v, a)
            agree(f'{kind.__name__}: batch of {name}',
                  peer.ours(INVERSE, calls[kind.__name__]()), tau)
        times = {key: x / ROWS for key, x in interleaved(calls, seconds, 50).items()}
        results.append({'robot': name, 'quantity': f'batch of {ROWS}, a state', 'seconds': times,
                        'ratio': fastest(times), 'goal': BATCH_GOAL.get(vector_width())})
    return results


def measure_chain(seconds: float, lengths: tuple[int, ...]) -> list[dict[str, Any]]:
    """Time inverse and forward dynamics of long chains, and their compilation."""
    results = []
    for length in lengths:
        with tempfile.TemporaryDirectory() as empty:
            os.environ['MULTIBODY_CACHE_DIR'] = empty
            print(f'chain of {length} ...', file=sys.stderr)
            setup = chain(length)
            loading, ours = _timed(Ours, setup)
            first, (q, v, a, tau) = _timed(state, ours.robot)
            second, acceleration = _timed(_forward, ours.robot, q, v, tau)
            del os.environ['MULTIBODY_CACHE_DIR']
        # the mass matrix of a long chain is ill-conditioned: the torques are compared
        agree(f'forward dynamics of a chain of {length}',
              ours.robot.inverse_dynamics(q, v, acceleration), tau)
        mine = ours.calls(q, v, a, tau)
        calls = {quantity: {OURS: mine[quantity]} for quantity in (INVERSE, FORWARD)}
        for kind in available():
            if length <= CHAIN_PEERS.get(kind.__name__, 0):
                peer = kind(setup, ours.robot.joint_names)
                theirs = peer.calls(q, v, a, tau)
                agree(f'{kind.__name__}: a chain of {length}',
                      peer.ours(INVERSE, theirs[INVERSE]()), tau)
                for quantity in calls:
                    calls[quantity][kind.__name__] = theirs[quantity]
        for quantity, compiling in ((INVERSE, first), (FORWARD, second)):
            times = interleaved(calls[quantity], seconds, 50)
            results.append({'joints': length, 'quantity': quantity, 'seconds': times,
                            'ratio': fastest(times), 'load': loading, 'compile': compiling})
    return results


def _timed(function: Any, *arguments: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def _forward(robot: mb.robot.Robot, *arrays: np.ndarray) -> np.ndarray:
    """Look the method up here: that compiles it."""
    return robot.forward_dynamics(*arrays)


def exponent(results: list[dict[str, Any]], quantity: str, key: Any) -> float | None:
    """Return p of time ~ joints^p, fitted to chains of 30 joints and more."""
    points = [(math.log(r['joints']), math.log(key(r))) for r in results
              if r['quantity'] == quantity and r['joints'] >= 30]
    return float(np.polyfit(*zip(*points), 1)[0]) if len(points) > 1 else None


def measure_start(runs: int) -> list[dict[str, Any]]:
    """Time fresh processes from numpy on to the first inverse dynamics, and their memory."""
    results = []
    for name in ROBOTS:
        setup = robot_setup(name)
        with tempfile.TemporaryDirectory() as folder:
            file, warm = Path(folder, 'robot.urdf'), Path(folder, 'warm')
            file.write_text(setup.text)
            size = mb.load_urdf(setup.text).nv
            best: dict[str, list[float]] = {}
            # packages are installed with their bytecode; a checkout may lack it
            environment = {'PYTHONDONTWRITEBYTECODE': '',
                           'PYTHONPYCACHEPREFIX': str(Path(folder, 'bytecode'))}
            for run in range(runs + 1):
                for library, (module, code) in START.items():
                    if not find_spec(module):
                        continue
                    cache = Path(folder, f'cold{run}') if library.endswith('cold') else warm
                    process = fresh_process(code, [str(file), size], {
                        **environment, 'MULTIBODY_CACHE_DIR': str(cache)})
                    old = best.setdefault(library, list(process))
                    best[library] = [min(x) for x in zip(old, process)]
        results.append({'robot': name,
                        'seconds': {key: x[0] for key, x in best.items()},
                        'memory': {key: x[1] for key, x in best.items()}})
    return results


def show_calls(results: list[dict[str, Any]]) -> None:
    """Print single calls or batches."""
    names = [OURS, *(kind.__name__ for kind in available())]

    def cell(r: dict[str, Any], name: str) -> str | None:
        mark = '*' if name in r.get('partial', ()) else ''
        return f"{1e9 * r['seconds'][name]:.{int(r['seconds'][name] < 1e-7)}f}{mark}" \
            if name in r['seconds'] else None

    print(table(['robot', 'ns a call', *names, 'ratio', 'goal'], [
        [r['robot'], r['quantity'], *(cell(r, name) for name in names), r['ratio'],
         at_least(r['ratio'], r['goal']) if r['goal'] and r['ratio'] else None]
        for r in results]))
    if any(r.get('partial') for r in results):
        print('* gives the Coriolis force only, not the matrix Cx: not counted in the ratio')


def show_chain(results: list[dict[str, Any]]) -> None:
    """Print times and growth."""
    names = [name for name in (OURS, *CHAIN_PEERS) if name in results[0]['seconds']]
    rows = [[r['quantity'], r['joints'],
             *(1e6 * r['seconds'][name] if name in r['seconds'] else None for name in names),
             r['ratio'], r['compile'], r['load']] for r in results]
    print(table(['us a call', 'joints', *names, 'ratio', 'compiled in, s', 'loaded in, s'],
                sorted(rows, key=lambda row: row[0])))
    for quantity in (INVERSE, FORWARD):
        run = exponent(results, quantity, lambda r: r['seconds'][OURS])
        compiling = exponent(results, quantity, lambda r: r['compile'])
        if run is not None and compiling is not None:
            print(f'{quantity}: time grows as joints^{run:.2f} (goal {at_most(run, LINEAR)}), '
                  f'compile time as joints^{compiling:.2f}')


def show_start(results: list[dict[str, Any]]) -> None:
    """Print first results and memory."""
    rows = []
    for r in results:
        for library in r['seconds']:
            seconds = r['seconds'][library]
            # an arm's start has a goal, a humanoid's is shown
            goal = {f'{OURS}, cold': COLD_GOAL, f'{OURS}, warm': WARM_GOAL}.get(library)
            rows.append([r['robot'], library, None if library == NOTHING else seconds,
                         r['memory'][library] / 1e6,
                         at_most(seconds, goal) if goal and r['robot'] != 'Talos' else None])
    print(table(['robot', 'fresh process', 's to first result', 'peak MB', 'goal, s'], rows))


def draw(content: dict[str, Any]) -> None:
    """Draw bars of the calls and lines of the chains."""
    calls, chains = content.get('calls', []) + content.get('batch', []), content.get('chain', [])
    if not calls and not chains:
        return
    names = [OURS, *(kind.__name__ for kind in available())]
    with figure('dynamics.png', 2, 8.0) as (left, right):
        for k, name in enumerate(names):
            bars = [(i + 0.8 * k / len(names), 1e9 * r['seconds'][name])
                    for i, r in enumerate(calls) if name in r['seconds']]
            if bars:
                left.bar(*zip(*bars), width=0.8 / len(names), align='edge', label=name)
            for quantity, style in ((INVERSE, '-o'), (FORWARD, '--s')):
                points = [(r['joints'], 1e6 * r['seconds'][name]) for r in chains
                          if r['quantity'] == quantity and name in r['seconds']]
                if points:
                    right.loglog(*zip(*points), style, color=f'C{k}', label=f'{name}, {quantity}')
        left.set_visible(bool(calls))
        right.set_visible(bool(chains))
        if calls:
            left.set_yscale('log')
            left.set_ylabel('ns a call')
            left.set_xticks([i + 0.4 for i in range(len(calls))],
                            [f"{r['robot']}: {r['quantity']}" for r in calls], rotation=90,
                            fontsize=7)
            left.legend(fontsize=7)
        if chains:
            right.set_xlabel('joints of a chain')
            right.set_ylabel('us a call')
            right.legend(fontsize=7)


def main() -> None:
    """Measure, print, draw, save."""
    options = parser(__doc__.splitlines()[0], SECTIONS).parse_args()
    share = 0.1 if options.quick else 1.0
    content: dict[str, Any] = {'machine': machine(PACKAGES), 'vector_width': vector_width()}
    about = content['machine']
    print(f"{about['cpu']}, {about['cores']} cores, SIMD width {vector_width()}, "
          f"Python {about['python']}")
    print(', '.join(f'{name} {version}' for name, version in about['packages'].items() if version))
    for name in missing():
        print(f'not installed, so not compared: {name}')
    measures = {
        'calls': (lambda: measure_calls(share), show_calls),
        'batch': (lambda: measure_batch(2.0 * share), show_calls),
        'chain': (lambda: measure_chain(0.5 * share, LENGTHS[:5] if options.quick else LENGTHS),
                  show_chain),
        'start': (lambda: measure_start(2 if options.quick else 7), show_start)}
    for section in options.only:
        measure, show = measures[section]
        content[section] = measure()
        print()
        show(content[section])
    print()
    draw(content)
    save(options, 'dynamics', content)


if __name__ == '__main__':
    main()
