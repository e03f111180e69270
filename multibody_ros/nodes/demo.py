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

"""The demonstration: simulator and controller as two processes, an arm that tracks a motion."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import signal
import sys
import tempfile

import numpy as np

from ..resources import resource

#: tracking worse than this many rad, or a smaller part of the states answered, is a failure
TOLERANCE = 0.01
ANSWERED = 0.8


def run(argv: list[str]) -> int:
    """Run the demonstration with command line `argv` and return the exit status."""
    options = _options(argv)
    environment = {
        # low domain ids only: the ports of those above 101 collide with ephemeral ones on Linux
        'ROS_DOMAIN_ID': str(options.domain_id or 1 + os.getpid() % 100),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    signal.signal(signal.SIGTERM, _interrupt)
    with tempfile.TemporaryDirectory(prefix='multibody_demo_') as logs:
        os.environ.update(environment, ROS_LOG_DIR=logs)
        try:
            from .demo_run import record
        except ImportError as error:
            print(f'multibody demo: ROS 2 is not there ({error}); source a ROS 2 installation '
                  "or: pip install 'multibody_ros[ros]'", file=sys.stderr)
            return 2
        try:
            result = record(options.description, options.seconds, options.rate)
        except KeyboardInterrupt:
            print('\nmultibody demo: interrupted, all processes ended', file=sys.stderr)
            return 130
        except (RuntimeError, OSError, ValueError) as error:
            print(f'\nmultibody demo: {error}', file=sys.stderr)
            return 1
    from .demo_report import plot, table
    print(table(result))
    try:
        plot(result, options.plot)
        print(f'plot: {options.plot.resolve()}')
    except ImportError as error:
        print(f'no plot: {error}')
    worst = float(np.abs(result.error).max())
    if worst > TOLERANCE or result.answered < ANSWERED:
        print(f'multibody demo: tracking failed: error up to {worst:.3g} rad (allowed '
              f'{TOLERANCE:g}), {100.0 * result.answered:.0f} % of the states answered (wanted '
              f'{100.0 * ANSWERED:.0f} %)', file=sys.stderr)
        return 1
    return 0


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog='multibody demo',
        description='Run simulator and computed torque controller as two ROS 2 processes, let '
                    'the arm track a motion, print a table and draw a plot.')
    parser.add_argument('--seconds', type=float, default=10.0,
                        help='length of the motion (default: %(default)g)')
    parser.add_argument('--rate', type=float, default=1000.0,
                        help='control rate in Hz (default: %(default)g)')
    parser.add_argument('--description', type=Path, default=None,
                        help='URDF file (default: the shipped arm7.urdf)')
    parser.add_argument('--plot', type=Path, default=Path('multibody_demo.png'),
                        help='PNG to write (default: %(default)s)')
    parser.add_argument('--domain-id', type=int, default=0,
                        help='ROS domain to use (default: one of our own)')
    options = parser.parse_args(argv)
    if options.description is None:
        options.description = resource('urdf/arm7.urdf')
    if not 2.0 <= options.seconds <= 3600.0:
        parser.error('--seconds must lie between 2 and 3600')
    if not 1.0 <= options.rate <= 10_000.0:
        parser.error('--rate must lie between 1 and 10000')
    if not 0 <= options.domain_id <= 101:
        parser.error('--domain-id must lie between 1 and 101')
    return options


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == '__main__':
    sys.exit(run(sys.argv[1:]))
