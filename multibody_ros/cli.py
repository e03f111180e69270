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

"""The command line: `multibody check`, `demo`, `simulate` and `bench`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import sys
from typing import Callable, Sequence

from .commands.bench import add_bench_options, bench
from .commands.simulate import add_simulate_options, simulate
from .model.doctor import diagnose, unreadable
from .model.document import read_source, SIZE_LIMIT
from .model.model import ModelError
from .model.motion_check import Examinable
from .nodes.demo import add_demo_options, run_demo


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog='multibody', description='Robot dynamics from a URDF.')
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    check_parser = commands.add_parser(
        'check', help='examine a robot file',
        description='Examine a URDF. Exit status 1 when it has errors.')
    check_parser.add_argument('file', help='URDF file, or - for standard input')
    check_parser.add_argument('--json', action='store_true', help='print JSON instead of text')
    demo_parser = commands.add_parser(
        'demo', help='an arm tracks a motion over ROS 2',
        description='Run simulator and computed torque controller as two ROS 2 processes, let the '
                    'arm track a motion, print a table and draw a plot.')
    add_demo_options(demo_parser)
    simulate_parser = commands.add_parser(
        'simulate', help='let a robot move',
        description='Let a robot fall, or hold it, and print energies, drift and the largest '
                    'speed. Exit status 1 when the motion fails.')
    add_simulate_options(simulate_parser)
    bench_parser = commands.add_parser(
        'bench', help="time a robot's functions",
        description="Time a robot's functions on this machine: compiled, run by Python itself, "
                    'and by Pinocchio where it is installed.')
    add_bench_options(bench_parser)
    options = parser.parse_args(arguments)
    if options.command == 'demo':
        return run_demo(options)
    if options.command == 'check':
        return check(options.file, options.json)
    return _run({'simulate': simulate, 'bench': bench}[options.command], options)


def _run(command: Callable[[argparse.Namespace], str], options: argparse.Namespace) -> int:
    """Print what a command returns; an error is one line, and status 1."""
    try:
        text = command(options)
    except KeyboardInterrupt:
        print(f'multibody {options.command}: interrupted', file=sys.stderr)
        return 130
    except (ValueError, ArithmeticError, OSError) as error:
        print(f'multibody {options.command}: {error}', file=sys.stderr)
        return 1
    _show(text)
    return 0


def check(file: str, as_json: bool) -> int:
    """Print the doctor's report on a file; return 1 when there are errors, else 0."""
    def load() -> Examinable:
        # Imported when needed: a file that cannot be read does not need the compiler.
        from . import load_urdf
        return load_urdf(source)

    try:
        # Read once: the file may be a pipe.
        source = _standard_input() if file == '-' else read_source(Path(file))
    except ModelError as error:
        report = unreadable(error)
    else:
        report = diagnose(source, load)
    colour = sys.stdout.isatty() and 'NO_COLOR' not in os.environ
    _show(report.to_json() if as_json else report.to_text(colour))
    return 0 if report.ok else 1


def _show(text: str) -> None:
    # A name in any script must not fail on a terminal that cannot show it.
    if hasattr(sys.stdout, 'reconfigure'):
        sys.stdout.reconfigure(errors='backslashreplace')
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # Whoever reads this (head, less) has seen enough; Python's own flush must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise ModelError('standard input is closed')
    return sys.stdin.buffer.read(SIZE_LIMIT + 1)


if __name__ == '__main__':
    sys.exit(main())
